/* mfma_table.c - rows of mfma.def, operand formats, register layouts. */
#include "mfma.h"

const struct kn_mfma kn_mfma_rows[] = {
#define X(name, m, n, k, blocks, a, b, targets, sparse) \
    {#name, m, n, k, blocks, KN_MT_##a, KN_MT_##b, KN_MF_##targets, sparse},
#include "mfma.def"
#undef X
};
const unsigned kn_mfma_nrows = sizeof kn_mfma_rows / sizeof kn_mfma_rows[0];

static bool
has_target(const struct kn_mfma *r, kiln_target t)
{
    return r->targets >> t & 1;
}

const struct kn_mfma *
kn_mfma_find(kiln_target t, const char *mnemonic)
{
    for (unsigned i = 0; i < kn_mfma_nrows; i++)
        if (has_target(&kn_mfma_rows[i], t) &&
            !strcmp(kn_mfma_rows[i].mnemonic, mnemonic))
            return &kn_mfma_rows[i];
    return NULL;
}

const struct kn_mfma *
kn_mfma_of(kiln_target t, unsigned op)
{
    enum {
#define X(name, ...) ROW_##name,
#include "mfma.def"
#undef X
    };
    static const uint8_t row_of[] = {
#define X(name, ...) [KN_I_##name] = ROW_##name + 1,
#include "mfma.def"
#undef X
    };
    unsigned row = op < sizeof row_of ? row_of[op] : 0;

    if (!row || !has_target(&kn_mfma_rows[row - 1], t))
        return NULL;
    return &kn_mfma_rows[row - 1];
}

static bool
is_f8f6f4(const struct kn_mfma *r)
{
    return r->a == KN_MT_F8F6F4;
}

enum kn_num
kn_mfma_format(const struct kn_mfma_job *j, bool b)
{
    /* cbsz and blgp of f8f6f4, LLVM AMDGPUUsage and CDNA4 ISA 7.1.5 */
    static const uint8_t f8f6f4[8] = {KN_NUM_E4M3, KN_NUM_E5M2, KN_NUM_E2M3,
                                      KN_NUM_E3M2, KN_NUM_E2M1};

    switch (b ? j->row->b : j->row->a) {
    case KN_MT_F16:
        return KN_NUM_F16;
    case KN_MT_BF16:
        return KN_NUM_BF16;
    case KN_MT_FP8:
        return kn_num_fp8(j->target);
    case KN_MT_BF8:
        return kn_num_bf8(j->target);
    default:
        return (enum kn_num)f8f6f4[(b ? j->blgp : j->cbsz) & 7];
    }
}

unsigned
kn_mfma_bits(const struct kn_mfma_job *j, bool b)
{
    switch (b ? j->row->b : j->row->a) {
    case KN_MT_F64:
        return 64;
    case KN_MT_F32:
    case KN_MT_XF32:
        return 32;
    case KN_MT_I8:
        return 8;
    default:
        return kn_num_format[kn_mfma_format(j, b)].bits;
    }
}

unsigned
kn_mfma_aregs(const struct kn_mfma_job *j)
{
    const struct kn_mfma *r = j->row;
    unsigned stored = r->m * r->k * r->blocks / (r->sparse ? 2 : 1);

    return stored * kn_mfma_bits(j, false) / (64 * 32);
}

unsigned
kn_mfma_bregs(const struct kn_mfma_job *j)
{
    const struct kn_mfma *r = j->row;

    return r->n * r->k * r->blocks * kn_mfma_bits(j, true) / (64 * 32);
}

unsigned
kn_mfma_dregs(const struct kn_mfma *r)
{
    return r->m * r->n * r->blocks / 64 * (r->a == KN_MT_F64 ? 2 : 1);
}

const char *
kn_mfma_check(const struct kn_mfma_job *j)
{
    const struct kn_mfma *r = j->row;

    if (j->neg && r->a != KN_MT_F64)
        return "neg";
    if (is_f8f6f4(r))
        return j->cbsz > 4 || j->blgp > 4 ? "operand format" : NULL;
    if (r->sparse && !j->index)
        return "sparse index operand";
    if (r->sparse || r->a == KN_MT_F64) /* cbsz, abid: the set, or nothing */
        return j->blgp ? "blgp" : NULL;
    if ((j->cbsz || j->abid) && r->blocks == 1)
        return "cbsz or abid";
    if (1u << j->cbsz > r->blocks || j->abid >= 1u << j->cbsz)
        return "cbsz or abid beyond the blocks";
    if (j->blgp && r->blocks == 1 && r->a != KN_MT_F32)
        return "blgp";
    return NULL;
}

static struct kn_mfma_layout
make_layout(unsigned rows, unsigned blocks, unsigned k, bool halves)
{
    unsigned groups = 64 / (rows * blocks);
    struct kn_mfma_layout l = {(uint8_t)rows, (uint8_t)blocks, 0, 0};

    l.kl = (uint8_t)(k / groups / (halves ? 2 : 1));
    l.half = (uint8_t)(halves ? k / 2 : 0);
    return l;
}

/* Registers 0-3 of an 8-bit f8f6f4 operand hold k of the first half, 4-7 the
 * same k of the second; 4- and 6-bit operands are consecutive. */
struct kn_mfma_layout
kn_mfma_layout_a(const struct kn_mfma_job *j)
{
    const struct kn_mfma *r = j->row;

    return make_layout(r->m, r->blocks, r->sparse ? r->k / 2u : r->k,
                       is_f8f6f4(r) && kn_mfma_bits(j, false) == 8);
}

/* B of the sparse forms that only gfx950 has comes in two halves too
 * (measured on silicon: one-hot probes of 16x16x64_f16 and 16x16x128_fp8). */
struct kn_mfma_layout
kn_mfma_layout_b(const struct kn_mfma_job *j)
{
    const struct kn_mfma *r = j->row;
    bool halves = is_f8f6f4(r) ? kn_mfma_bits(j, true) == 8
                               : r->sparse && r->targets == KN_MF_GFX950;

    return make_layout(r->n, r->blocks, r->k, halves);
}

struct kn_mfma_at
kn_mfma_locate(const struct kn_mfma_layout *l, unsigned row, unsigned k,
               unsigned block)
{
    unsigned first = 0;

    if (l->half && k >= l->half) {
        k -= l->half;
        first = l->kl;
    }
    return (struct kn_mfma_at){
        (uint8_t)(row + l->rows * (block + l->blocks * (k / l->kl))),
        (uint8_t)(first + k % l->kl)};
}

/* CDNA3 ISA 7.1.4.2: h rows of a column are in consecutive elements of one
 * lane, the next h rows in the lane where the next columns (or, when a block
 * has few of them, the next blocks) would be, and what does not fit in the
 * lanes in the following elements. */
struct kn_mfma_at
kn_mfma_locate_d(const struct kn_mfma *r, unsigned i, unsigned j,
                 unsigned block)
{
    unsigned h = r->a == KN_MT_F64 ? 1 : 4;
    unsigned lanes = r->m * r->n / h;
    unsigned bi = lanes >= 64 ? 1 : 64 / lanes;
    unsigned mi = 64 / bi / r->n;
    unsigned g = r->m / (h * mi);

    return (struct kn_mfma_at){
        (uint8_t)(j + r->n * (block % bi + bi * (i / h % mi))),
        (uint8_t)(i % h + h * (i / (h * mi) + g * (block / bi)))};
}

uint8_t
kn_mfma_scale(const struct kn_mfma_job *j, bool b, unsigned i, unsigned q)
{
    const uint32_t *words = b ? j->sb : j->sa;
    unsigned byte = b ? j->sb_byte : j->sa_byte;

    if (!words)
        return 127;
    return (uint8_t)(words[i + (b ? j->row->n : j->row->m) * q] >> 8 * byte);
}
