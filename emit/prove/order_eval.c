/* order_eval.c - the operations of order_ops.def on one lane. */
#include "order_impl.h"

static uint64_t
bits(uint64_t x, uint64_t at, uint64_t width)
{
    return width >= 64 ? x >> at : x >> at & ((1ull << width) - 1);
}

static int32_t
signed_bits(uint32_t x, uint64_t at, uint64_t width)
{
    uint32_t r = (uint32_t)bits(x, at, width);

    if (!width || width >= 32)
        return width ? (int32_t)x >> at : 0;
    return (int32_t)(r << (32 - width)) >> (32 - width);
}

static uint32_t
permuted(uint64_t ab, uint32_t select)
{
    uint32_t r = 0;

    for (unsigned k = 0; k < 4; k++) {
        unsigned s = select >> k * 8 & 0xff;
        uint64_t byte = s < 8 ? ab >> s * 8 & 0xff : s == 12 ? 0
                      : s > 12 ? 0xff : ab >> ((s - 8) * 2 + 1) * 8 >> 7 & 1
                      ? 0xff : 0;

        r |= (uint32_t)byte << k * 8;
    }
    return r;
}

/* v_bitop3: bit 4a + 2b + c of the table for bits a, b, c. */
static uint32_t
table(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
    uint32_t r = 0;

    for (unsigned k = 0; k < 8; k++)
        if (t >> k & 1)
            r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}

static uint32_t
below(uint64_t mask, unsigned lane)
{
    return (uint32_t)__builtin_popcountll(mask & ((1ull << lane) - 1));
}

/* What an operation reads beyond its sources, and those that one operand
 * decides. */
unsigned
kn_eval_wants(const struct kn_inst *i, unsigned n, struct kn_lane *x)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    unsigned want = (1u << n) - 1;
    bool and = i->op == KN_I_s_and_b64 || i->op == KN_I_s_and_b32 ||
               i->op == KN_I_v_and_b32;
    bool or = i->op == KN_I_s_or_b64 || i->op == KN_I_s_or_b32;
    uint64_t ones = i->op == KN_I_s_or_b64 ? ~0ull : UINT32_MAX;

    if (row->flags & KN_IF_RMW)
        want |= KN_L_OLD;
    if (row->flags & KN_IF_RSCC)
        want |= KN_L_FLAG;
    if (row->flags & KN_IF_RSCC && x->known & KN_L_FLAG && n == 2 &&
        (i->op == KN_I_s_cselect_b32 || i->op == KN_I_s_cselect_b64))
        return KN_L_FLAG | (x->s ? 1 : 2);
    if (i->op == KN_I_s_andn2_b64 && x->known & 2 && x->b == ~0ull)
        return 2;
    for (unsigned k = 0; k < 2 && (and || or); k++)
        if (x->known >> k & 1 && (k ? x->b : x->a) == (and ? 0 : ones)) {
            *(k ? &x->a : &x->b) = and ? 0 : ones;
            return 1u << k;
        }
    return want;
}

bool
kn_eval_scalar(const struct kn_inst *i, const struct kn_lane *x, uint64_t *out,
              uint64_t *scc)
{
    uint64_t a = x->a, b = x->b, d = x->d, s = x->s, r = 0;

    switch (i->op) {
#define S(id, result, flag) \
    case KN_I_##id: r = (uint64_t)(result); s = (uint64_t)(flag); break;
#include "order_ops.def"
#undef S
    default: return false;
    }
    *out = r;
    *scc = s;
    (void)a, (void)b, (void)d;
    return true;
}

bool
kn_eval_exec(uint16_t op, uint64_t a, uint64_t e, uint64_t *out)
{
    switch (op) {
#define E(id, result) case KN_I_##id: *out = (uint64_t)(result); return true;
#include "order_ops.def"
#undef E
    default: return false;
    }
}

bool
kn_eval_vector(const struct kn_inst *i, const struct kn_lane *x, unsigned lane,
              uint64_t *out)
{
    uint64_t a = x->a, b = x->b, c = x->c, s = x->s;

    switch (i->op) {
#define V(id, result) case KN_I_##id: *out = (uint64_t)(result); return true;
#include "order_ops.def"
#undef V
    default: return false;
    }
}

bool
kn_eval_carry(uint16_t op, const struct kn_lane *x, uint64_t *out, bool *carry)
{
    uint64_t a = x->a, b = x->b, c = x->c, s = x->s, r;

    switch (op) {
#define CARRY(id, sum, flag) \
    case KN_I_##id: r = (uint64_t)(sum); *carry = (flag) & 1; *out = r; \
        return true;
#include "order_ops.def"
#undef CARRY
    default: (void)c; return false;
    }
}

bool
kn_eval_compare(uint16_t op, const struct kn_lane *x, bool *out)
{
    uint64_t a = x->a, b = x->b;

    switch (op) {
#define C(id, condition) case KN_I_##id: *out = condition; return true;
#include "order_ops.def"
#undef C
    default: return false;
    }
}

enum kn_step
kn_eval_step(uint16_t op)
{
    switch (op) {
#define S(id, result, flag) case KN_I_##id:
#include "order_ops.def"
#undef S
        return KN_ST_SCALAR;
#define E(id, result) case KN_I_##id:
#include "order_ops.def"
#undef E
        return KN_ST_SAVEEXEC;
#define V(id, result) case KN_I_##id:
#include "order_ops.def"
#undef V
#define CARRY(id, sum, flag) case KN_I_##id:
#include "order_ops.def"
#undef CARRY
        return KN_ST_VECTOR;
#define C(id, condition) case KN_I_##id:
#include "order_ops.def"
#undef C
        return KN_ST_COMPARE;
    default:
        return KN_ST_NONE;
    }
}
