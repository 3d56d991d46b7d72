/* proof_eval.c - what an operation of address arithmetic computes, as a row for
 * each, for all threads of a workgroup at once. */
#include "proof.h"

#include <string.h>

static uint32_t
shift_right_signed(uint32_t x, uint32_t n)
{
    uint32_t y = x >> n;

    return x >> 31 && n ? y | ~(UINT32_MAX >> n) : y;
}

void
proof_evaluate(const struct kn_ins *i, const struct proof_operand *o,
               uint32_t threads, uint32_t *out)
{
#define X proof_of_thread(o[0], t)
#define Y proof_of_thread(o[1], t)
#define Z proof_of_thread(o[2], t)
#define EACH(id, value)                                                       \
    case KN_OP_##id:                                                          \
        for (uint32_t t = 0; t < threads; t++)                                \
            out[t] = (uint32_t)(value);                                       \
        return
    switch (i->op) {
        EACH(wave, t / 64);
        EACH(lane, t % 64);
        EACH(mov, X);
        EACH(add, X + Y);
        EACH(sub, X - Y);
        EACH(mul, X * Y);
        EACH(udiv, Y ? X / Y : 0);
        EACH(urem, Y ? X % Y : 0);
        EACH(and, X & Y);
        EACH(or, X | Y);
        EACH(xor, X ^ Y);
        EACH(shl, X << (Y & 31));
        EACH(shr, X >> (Y & 31));
        EACH(sar, shift_right_signed(X, Y & 31));
        EACH(smin, (int32_t)X < (int32_t)Y ? X : Y);
        EACH(smax, (int32_t)X > (int32_t)Y ? X : Y);
        EACH(umin, X < Y ? X : Y);
        EACH(umax, X > Y ? X : Y);
        EACH(eq, X == Y);
        EACH(ne, X != Y);
        EACH(slt, (int32_t)X < (int32_t)Y);
        EACH(sge, (int32_t)X >= (int32_t)Y);
        EACH(ult, X < Y);
        EACH(band, X & Y);
        EACH(select, X ? Y : Z);
    }
#undef EACH
#undef Z
#undef Y
#undef X
    memset(out, 0, threads * sizeof *out);
}
