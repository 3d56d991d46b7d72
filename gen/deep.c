/* deep.c - which problems the schedule `deep` of the assembly lowering can do,
 * and for which of those it is chosen. */
#include "gemv.h"
#include "instantiate.h"

/* 6-bit types, of which `deep` copies lines once that others copy twice. */
static bool
six_bits(const kiln_problem *p)
{
    return kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6;
}

/* What keeps a 256x256 tile from the schedule `deep` and the assembly lowering,
 * whose operations emit/asm_rows.def lists; NULL if nothing does. */
const char *
kn_deep_lacks(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_shape s = kn_shape_of(p, g);
    bool wide = p->target == KILN_GFX950, i8 = p->a == KILN_I8;

    return p->family == KILN_MOE ? "experts"
         : g->split_k > 1 ? "split-K"
         : g->cus && (!wide || p->group_flags & KILN_TAIL_ZERO ||
                      (p->scale == KILN_SCALE_MX32 &&
                       (p->scale_layout || p->layout != KILN_NT ||
                        p->family == KILN_BATCHED)))
             ? "a persistent grid"
         : p->scale == KILN_SCALE_BLOCK128 ? "scales of 128-blocks"
         : p->scale_layout && !kn_pairs(p, g) ? "these shuffled scales"
         : kn_dequant(p) || kn_prequant(p) ? "conversion of operands"
         : wide && p->layout == KILN_TN && kn_elems[s.ta].bits == 8 && !i8
             ? "registers for 8-bit floats transposed"
         : p->layout != KILN_NT && p->scale == KILN_SCALE_MX32 &&
                   g->domain.ktail
             ? "registers for scales and a K tail where B is transposed"
         : kn_direct(p, g) != wide || g->domain.align_a < 4 ||
                   g->domain.align_b < 4
             ? "operands that are not copied to LDS as they are"
         : p->scale == KILN_SCALE_MX32 && !p->scale_layout && !kn_super(p, g)
             ? "scales that do not come 16 bytes a row"
         : g->domain.vec != 4 && p->beta ? "C at unaligned addresses"
         : six_bits(p) && !kn_lines(p, g)
             ? "a K tail of 6-bit types, or K tiles of theirs that are not 128"
         : NULL;
}

/* Rows of both operands along K that do not begin where lines of 128 bytes do:
 * half of the copies take a line more, the memory queue is full, and a second
 * wave a SIMD has products where a single one stands (docs/timing.md). */
static bool
straddles(const kiln_problem *p)
{
    int64_t a = p->lda * kn_type_bits[p->a], b = p->ldb * kn_type_bits[p->b];

    return p->layout == KILN_NT && (a % 1024 || b % 1024);
}

/* Asked for, or where the model says that it wins: dense products, however
 * short K is; with tensor and row scales, whose epilogue takes longer here, of
 * a long K (8192x8192x4096 fp8: 226 us, pingpong 214); of 6-bit types from four
 * K tiles on, wherever rows begin. gfx942 is without another loop that reads
 * while it multiplies: from four K tiles on. */
bool
kn_deep_pays(const kiln_problem *p, const struct kn_config *g)
{
    bool old = p->target == KILN_GFX942;
    int64_t least = p->scale == KILN_SCALE_ROW ? 16384
                  : p->scale == KILN_SCALE_TENSOR ? 8192
                  : six_bits(p) ? 512 : 0;

    return g->lowering == KN_LOWERING_ASM || g->schedule == KN_SCHED_DEEP ||
           (old && (!p->k || p->k >= 4 * g->bk)) ||
           (!old && p->family != KILN_MOE &&
            (six_bits(p) || !straddles(p)) &&
            (!p->k || p->k >= least));
}
