/* asm.h - the second lowering: one wave-level kernel printed as AMDGPU
 * assembly with registers of our own choice.
 *
 * names: a name for each assignment; tidy: values computed once, outside loops;
 * sink: in the branch that uses them;
 * select: machine operations over virtual registers; join: copies that need no
 * register; quad: descriptors in place; sched, order: matrix and other operations
 * side by side, what memory waits for first; reads: proves that each reads what it
 * read; regs: registers, never spilled; waits: counters and wait states; away: what
 * hardly ever runs goes behind the end; print: the text. LLVM only assembles. What an
 * operation has no row for is UNSUPPORTED. */
#ifndef KN_ASM_H
#define KN_ASM_H

#include "../../ir/ir.h"
#include "../isa/isa.h"

enum kn_asm_class { KN_ASM_S, KN_ASM_V, KN_ASM_A, KN_ASM_CLASSES };

/* Accumulators, in dwords of a lane: so few leave VGPRs enough for all else; so many
 * AGPRs there are. */
enum { KN_ASM_FEW = 64, KN_ASM_AGPRS = 256 };
/* Operations looked at for the next of a run. */
enum { KN_ASM_NEAR = 20, KN_ASM_FAR = 32 };

enum kn_asm_kind {
    KN_ASM_NONE,
    KN_ASM_REG,              /* dwords sub .. sub+n-1 of virtual register v */
    KN_ASM_IMM,              /* 32 bits */
    KN_ASM_M0,
    KN_ASM_LABEL             /* branch target v */
};

struct kn_asm_opnd {
    uint8_t kind, sub, n;
    uint8_t fresh;           /* this write begins the register's value */
    int32_t v;
    uint8_t abs;             /* a source's sign is left out */
    uint8_t all;             /* its one dword is every element */
};

enum kn_asm_what { KN_ASM_INST, KN_ASM_AT, KN_ASM_EDGE };
enum { KN_ASM_MAXOPND = 6 };

struct kn_asm_op {
    uint8_t what;            /* instruction; label o[0] is here; nothing moves
                              * across */
    uint8_t nopnd, ndst;     /* destinations come first */
    uint8_t early;           /* the result is written while sources are read */
    uint8_t cbsz, blgp;      /* formats of a matrix instruction */
    uint8_t dpp;             /* its first source comes from other lanes */
    uint8_t rare;            /* a branch around what hardly ever runs */
    uint8_t byte;            /* of its destination, the only one it writes; 0: none */
    uint16_t isa;            /* KN_I_* */
    struct kn_asm_opnd o[KN_ASM_MAXOPND];
    const char *mods;        /* text behind the operands, may be NULL */
    uint8_t vm, lgkm;        /* of s_waitcnt, else 63 and 15 */
    uint32_t from;           /* operation of the kernel */
    uint32_t number;         /* its place before it was moved, from 1 */
};

struct kn_asm_reg {
    uint8_t cls, n, align;
    uint8_t parts;           /* each is written once, the first first */
    uint8_t spare;           /* registers behind it that nobody else has */
    int16_t at;              /* first physical register, -1: none yet */
};

struct kn_asm {
    struct kn_ctx *c;
    const struct kn_fn *f;   /* the tidied kernel */
    const uint32_t *from;    /* its operation -> the given kernel's */
    struct kn_asm_op *op;
    size_t nop, capop;
    struct kn_asm_reg *reg;
    size_t nreg, capreg;
    uint32_t nlabel;
    uint32_t order;          /* runs in the order of their latencies: so many operations
                              * are looked at; 0: they are not */
    bool chains, filled;     /* what is across lanes so, too, and twice as many; some was */
    uint32_t few;            /* so many accumulators at most are in VGPRs */
    uint32_t accumulators;   /* dwords of them a lane */
    uint32_t used[KN_ASM_CLASSES];  /* registers in all, after allocation */
    uint32_t limit[KN_ASM_CLASSES]; /* a wave has */
};

/* The kernel with a name for each assignment of a value that does not outlive
 * the straight run it is assigned in. */
const struct kn_fn *kn_asm_names(struct kn_ctx *c, const struct kn_fn *f);

/* The kernel with every pure value computed once and as far out as it can be,
 * constants folded into LDS addresses and dead operations gone. (*from)[i] is
 * the operation of f that operation i of the result stands for. */
struct kn_fn *kn_asm_tidy(struct kn_ctx *c, const struct kn_fn *f,
                          uint32_t **from);

/* Values of a tidied kernel that are used in one branch alone are computed there,
 * in front of their first use; not in its loops. from[] follows. */
void kn_asm_sink(struct kn_ctx *c, struct kn_fn *f, uint32_t *from);

/* Sums that begin at zero begin in their first matrix instruction. */
void kn_asm_begin_sums(struct kn_fn *f, uint32_t *from);

/* Machine operations of a->f. UNSUPPORTED names an operation without a row. */
kiln_status kn_asm_select(struct kn_asm *a);

/* Descriptors of buffers that advance are where address and size are. */
void kn_asm_quads(struct kn_asm *a);

/* Copies of scalars that can share a register with what they copy are gone;
 * after allocation, those that got the same one. */
void kn_asm_join(struct kn_asm *a);
void kn_asm_drop_moves(struct kn_asm *a);

/* Spreads what is no matrix instruction between those that are; fill: around
 * waits and barriers. */
void kn_asm_schedule(struct kn_asm *a);
/* Operations from .. to, a straight run, by when each can issue; far:
 * for what memory is asked, whatever else waits. */
void kn_asm_order(struct kn_asm *a, size_t from, size_t to, bool far);
bool kn_asm_fills_chains(const struct kn_asm *a, size_t from, size_t to);
uint32_t kn_asm_cycles(const struct kn_asm *a, const struct kn_asm_op *x); /* of the pipe */
void kn_asm_fill(struct kn_asm *a);

/* Packed f32 as single operations, of those that find room beside matrix runs. */
void kn_asm_part_packed(struct kn_asm *a);

/* What each operation reads, by its number, which it gets here. */
struct kn_asm_reads {
    uint64_t *of;
    size_t n;
};
struct kn_asm_reads kn_asm_note_reads(struct kn_asm *a);

/* FINDING, with the operation, if one reads what another wrote than it did. */
kiln_status kn_asm_same_reads(struct kn_asm *a, const struct kn_asm_reads *before);

bool kn_asm_is_matrix(const struct kn_asm_op *x);

static inline bool
kn_asm_is_partial(const struct kn_asm_op *x)
{
    return x->byte || kn_isa[x->isa].flags & KN_IF_PARTIAL;
}

/* What was in its destination, or a part of it, stays. */
static inline bool
kn_asm_keeps(const struct kn_asm_op *x)
{
    return kn_asm_is_partial(x) || kn_isa[x->isa].flags & KN_IF_RMW ||
           (x->ndst && kn_isa[x->isa].atomic);
}

/* A load that goes to LDS, whose place is in M0. */
static inline bool
kn_asm_fills_lds(const struct kn_asm_op *x)
{
    return kn_isa[x->isa].unit == KN_U_VMEM && x->nopnd == 3;
}

/* What ends a run in which operations change places. */
bool kn_asm_is_edge(const struct kn_asm_op *x);
/* Must x, written before y, stay before it? */
bool kn_asm_depends(const struct kn_asm_op *x, const struct kn_asm_op *y);

/* Fills reg[].at, used[] and limit[]. The class of which there are too few, or
 * KN_ASM_CLASSES. */
enum kn_asm_class kn_asm_allocate(struct kn_asm *a);

/* Waits for LDS and scalar loads, and s_nop for what the hardware does not
 * interlock (isa/hazard.def). */
void kn_asm_wait(struct kn_asm *a);

/* What hardly ever runs is behind the end; after waits, whose ways do not change. */
void kn_asm_away(struct kn_asm *a);

void kn_asm_print(const struct kn_asm *a, struct kn_buf *out);

/* The text with words in the place of what it repeats, as LLVM assembled it,
 * or `text` itself where that is not worth it. */
kiln_status kn_asm_words(struct kn_ctx *c, const struct kn_fn *f,
                         const char *text, const char **out);

/* Assembly text of the kernel, and its object as kn_emit gives it. */
kiln_status kn_asm_text(struct kn_ctx *c, const struct kn_fn *f,
                        struct kn_buf *out);

/* Successor of operation n besides n + 1: the place of its label, or -1. ends:
 * n + 1 is none. at[] is by label. */
int64_t kn_asm_target(const struct kn_asm *a, size_t n, const uint32_t *at,
                      bool *ends);
uint32_t *kn_asm_labels(const struct kn_asm *a);

/* Byte of LDS where slot operand r begins. */
uint32_t kn_asm_slot(const struct kn_fn *f, kn_ref r);

#endif
