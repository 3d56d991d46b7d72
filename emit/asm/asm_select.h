/* asm_select.h - shared by the asm_select*.c files: where values live and how
 * machine operations are made. */
#ifndef KN_ASM_SELECT_H
#define KN_ASM_SELECT_H

#include "asm.h"

enum { KN_ASM_HELD = 20 };   /* constants in vector registers: those of an erf, and a few */

struct select {
    struct kn_asm *a;
    const struct kn_fn *f;
    const struct kn_ins *i;  /* being selected */
    size_t at;               /* its number */
    struct kn_asm_opnd *val; /* by value; kind NONE: not seen yet */
    uint8_t *cls;            /* by value */
    uint32_t *uses, *times;  /* by value */
    bool *narrow;            /* by value: the sign extension of 32 bits */
    bool *part;              /* by operation: made in one behind it */
    uint32_t *whole;         /* by operation: 1 + the part it makes too */
    kn_ref scc;              /* condition SCC holds right now, or 0 */
    struct kn_asm_held {
        int32_t value;
        struct kn_asm_opnd r;
    } literal[16], held[KN_ASM_HELD],  /* scalars, vectors that hold constants in this
                              * run */
      masks[8];              /* masks, by the value that is a condition */
    uint32_t nliteral, nheld, nmasks;
    struct {
        kn_ref of;           /* accumulators; 0: none of this run */
        size_t at;           /* the last operation that read them */
        struct kn_asm_opnd r; /* vector registers that have them */
    } copy;
    struct kn_asm_opnd lanes[4];     /* masks of this run: bit of the number */
    struct {
        int32_t next, end, head;     /* labels; -1: none */
    } open[32];
    int nopen, loop[32], nloops;
    struct kn_asm_opnd kernarg, workgroup[3], workitem;  /* along x, y, z */
    kiln_status status;
};

typedef void kn_select_fn(struct select *);

static inline struct kn_asm_opnd
kn_imm(int32_t v)
{
    return (struct kn_asm_opnd){ .kind = KN_ASM_IMM, .n = 1, .v = v };
}

/* Dwords first .. first+n-1 of a register operand, or a constant as it is. */
static inline struct kn_asm_opnd
kn_part(struct kn_asm_opnd r, uint32_t first, uint32_t n)
{
    if (r.kind == KN_ASM_REG) {
        r.sub = (uint8_t)(r.sub + first);
        r.n = (uint8_t)n;
    }
    return r;
}

/* The same as a write that begins the value. */
static inline struct kn_asm_opnd
kn_begin(struct kn_asm_opnd r)
{
    r.fresh = 1;
    return r;
}

struct kn_asm_opnd kn_asm_new(struct kn_asm *a, enum kn_asm_class cls,
                              uint32_t n);
struct kn_asm_op *kn_asm_add(struct select *s, uint16_t isa, uint8_t ndst,
                             const struct kn_asm_opnd *o, size_t n);
/* One instruction: destinations first. */
#define ADD(s, id, ndst, ...) \
    kn_asm_add(s, KN_I_##id, ndst, (struct kn_asm_opnd[]){ __VA_ARGS__ }, \
               sizeof((struct kn_asm_opnd[]){ __VA_ARGS__ }) / \
               sizeof(struct kn_asm_opnd))

/* Operand `a` of the operation; a constant as a number of its type. */
struct kn_asm_opnd kn_asm_arg(struct select *s, int a);
/* Where the result goes. */
struct kn_asm_opnd kn_asm_dst(struct select *s);
uint32_t kn_asm_dwords(struct kn_type t);
enum kn_asm_class kn_asm_cls(const struct select *s, struct kn_asm_opnd o);
static inline bool
kn_asm_is_scalar(const struct select *s, struct kn_asm_opnd o)
{
    return kn_asm_cls(s, o) == KN_ASM_S;
}

static inline const struct kn_type *
kn_asm_type(const struct select *s, kn_ref r)
{
    return &kn_val(s->f, r)->type;
}

/* Values of 64 bits. */
static inline bool
kn_asm_is_wide(const struct select *s, kn_ref r)
{
    uint8_t e = kn_asm_type(s, r)->elem;

    return e == KN_T_i64 || e == KN_T_ptr;
}

/* Half h of a 64-bit operand; constants are sign-extended. */
static inline struct kn_asm_opnd
kn_half(struct kn_asm_opnd o, int h)
{
    if (o.kind == KN_ASM_IMM)
        return kn_imm(h ? o.v >> 31 : o.v);
    return kn_part(o, (uint32_t)h, 1);
}

/* Condition `a` of the operation as a mask of lanes. */
struct kn_asm_opnd kn_asm_mask(struct select *s, int a);
/* The operand in a vector (scalar) register, copied if it is in another. */
struct kn_asm_opnd kn_asm_vector(struct select *s, struct kn_asm_opnd o);
/* The same, of a constant once in a run: nobody may write it. */
struct kn_asm_opnd kn_asm_held(struct select *s, struct kn_asm_opnd o);
/* An f32's bits as f16, twice for n of more than one; none but a normal number. */
struct kn_asm_opnd kn_asm_halves(struct select *s, int32_t bits, uint32_t n);
struct kn_asm_opnd kn_asm_scalar(struct select *s, struct kn_asm_opnd o);
void kn_asm_copy(struct select *s, struct kn_asm_opnd to,
                 struct kn_asm_opnd from);
/* asm_fold.c: which operations are one instruction with one behind them; and
 * whether this one is, or has been made with its part. */
void kn_asm_pair(struct select *s);
bool kn_asm_in_pair(struct select *s);
bool kn_asm_is_part(const struct select *s);
const struct kn_ins *kn_asm_part_of(const struct select *s);
/* A vector operation; its operands are made such as the hardware reads. */
void kn_asm_valu(struct select *s, uint16_t isa, const struct kn_asm_opnd *o,
                 size_t n);
#define VALU(s, id, ...) \
    kn_asm_valu(s, KN_I_##id, (struct kn_asm_opnd[]){ __VA_ARGS__ }, \
                sizeof((struct kn_asm_opnd[]){ __VA_ARGS__ }) / \
                sizeof(struct kn_asm_opnd))
const char *kn_asm_mods(struct select *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void kn_asm_lack(struct select *s, const char *what);
void kn_asm_label(struct select *s, int32_t label);
void kn_asm_edge(struct select *s);

/* asm_rows.def: the operations this path has. */
#define ROW(id) kn_select_fn select_##id;
#include "asm_rows.def"
#undef ROW

#endif
