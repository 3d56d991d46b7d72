/* lower.h - shared by the lower_*.c files: state of one module, and the
 * helpers that build instructions. */
#ifndef KN_LOWER_H
#define KN_LOWER_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "../emit.h"

struct lower {
    struct kn_ctx *c;
    const struct kn_fn *f;
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    LLVMDIBuilderRef di;
    LLVMValueRef fn;
    LLVMTypeRef i1, i8, i16, i32, i64, f32, p1, p3, p5, p8, nothing;
    LLVMTypeRef elem[KN_NELEM];
    LLVMValueRef *val;       /* by value: SSA value, or its alloca */
    bool *in_memory;         /* by value: assigned more than once */
    bool settled;            /* KN_EMIT_SETTLED */
    bool stages;             /* `landed` registers wait to be stored to LDS */
    LLVMValueRef *slot;      /* LDS globals, by slot number */
    LLVMMetadataRef *scope;  /* alias scope, by slot number */
    uint32_t *first_slot;    /* LDS tile -> slot number */
    uint32_t nslots;
    unsigned kind_scope, kind_noalias, kind_invariant;
    LLVMBasicBlockRef loop_exit[32];
    struct {
        LLVMBasicBlockRef next, end;  /* `else` block or NULL, block behind */
        LLVMBasicBlockRef head;       /* of a loop, NULL for an if */
    } open[32];
    int nopen, nloops;
};

/* Ends the call of kn_emit: INTERNAL, this LLVM does not have what we name. The
 * way out is that of exhausted memory. */
_Noreturn void low_lacks(struct lower *l, const char *what, const char *name);
LLVMTypeRef low_type(struct lower *l, struct kn_type t);
/* Operand `a` of i as a value of type `want` (constants are splat to it). */
LLVMValueRef low_arg(struct lower *l, const struct kn_ins *i, int a,
                     LLVMTypeRef want);
/* Operand with its own type; a constant takes the type of the result. */
LLVMValueRef low_get(struct lower *l, const struct kn_ins *i, int a);
void low_set(struct lower *l, const struct kn_ins *i, LLVMValueRef v);
/* The type of i's result. */
LLVMTypeRef low_result(struct lower *l, const struct kn_ins *i);
/* The first active lane's value, uniform. */
LLVMValueRef low_first_lane(struct lower *l, LLVMValueRef v);
/* What the hardware says of this thread: an intrinsic without arguments. */
LLVMValueRef low_id(struct lower *l, const char *name);
/* The number of this wave in the workgroup, uniform. */
LLVMValueRef low_wave(struct lower *l);
/* Waits for every matrix result. */
void low_settle(struct lower *l);
LLVMBasicBlockRef low_block(struct lower *l, const char *name);
LLVMValueRef low_i32(struct lower *l, int64_t v);

/* Calls intrinsic `name` overloaded on `ov`; arguments are bitcast to the
 * parameter types where they differ. */
struct low_call {
    const char *name;
    LLVMTypeRef ov[2];
    unsigned nov;
    LLVMValueRef arg[10];
    unsigned narg;
};
LLVMValueRef low_intrinsic(struct lower *l, const struct low_call *call);

LLVMValueRef low_slot(struct lower *l, kn_ref r);
void low_alias(struct lower *l, LLVMValueRef ins, kn_ref slot);

/* One lower function per WAVE and BOTH row of ops.def. */
#define KN_LOWER_TILE(id)
#define KN_LOWER_WAVE(id) void lower_##id(struct lower *, const struct kn_ins *);
#define KN_LOWER_BOTH(id) KN_LOWER_WAVE(id)
#define KN_LOWER_SHORT(id)
#define OP(id, text, level, ...) KN_LOWER_##level(id)
#include "../../ir/ops.def"
#undef OP

#endif
