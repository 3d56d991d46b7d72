/* gate_plan.c - what the gates demand of a kernel's final bytes, read off its
 * wave-level program: matrix instructions and vm fences of the main loop. */
#include "gate_plan.h"

enum { MOST_DEPTH = 32 };

/* [*from, *to): the loop with the most matrix instructions of its own, the
 * inner one of two with as many (kn_cfg_main_loop). */
static uint32_t
main_loop(const struct kn_fn *f, size_t *from, size_t *to)
{
    struct { size_t from; uint32_t n; bool loop; } open[MOST_DEPTH] = { 0 };
    uint32_t best = 0, depth = 0;

    for (size_t i = 0; i < f->nins; i++) {
        uint16_t op = f->ins[i].op;
        uint32_t in = depth;

        if ((op == KN_OP_loop || op == KN_OP_if) && depth + 1 < MOST_DEPTH) {
            open[++depth].from = i;
            open[depth].n = 0;
            open[depth].loop = op == KN_OP_loop;
        } else if (op == KN_OP_mfma || op == KN_OP_mfmas) {
            while (in && !open[in].loop)
                in--;
            open[in].n++;
        } else if (op == KN_OP_end && depth) {
            if (open[depth].loop && open[depth].n > best) {
                best = open[depth].n;
                *from = open[depth].from;
                *to = i;
            }
            depth--;
        }
    }
    return best;
}

struct kn_gate_plan
kn_gate_demand(struct kn_ctx *c, const struct kn_fn *f)
{
    struct kn_gate_plan p = { 0 };
    size_t from = 0, to = 0;
    uint8_t *vm;

    p.max_lds = (uint32_t)kn_lds_bytes(f);
    p.max_regs = 512 / kn_waves_per_simd(f);
    p.mfma = main_loop(f, &from, &to);
    vm = KN_NEW(c, uint8_t, to - from + 1);
    for (size_t i = from; i < to; i++)
        if (f->ins[i].op == KN_OP_fence && f->ins[i].attr[KN_A_vm] < 63)
            vm[p.nvm++] = (uint8_t)f->ins[i].attr[KN_A_vm];
    p.vm = vm;
    return p;
}
