/* demand.c - what the gates demand of a kernel's final bytes, read off its
 * wave-level program: matrix instructions and vm fences of the main loop. */
#include "demand.h"

/* [*from, *to): the outermost loop with the most matrix instructions. */
static uint32_t
main_loop(const struct kn_fn *f, size_t *from, size_t *to)
{
    uint32_t best = 0;
    int depth = 0;
    size_t open = 0;

    for (size_t i = 0, n = 0; i < f->nins; i++) {
        uint16_t op = f->ins[i].op;

        if (op == KN_OP_loop && depth++ == 0) {
            open = i;
            n = 0;
        } else if (op == KN_OP_if && depth) {
            depth++;
        } else if (op == KN_OP_mfma || op == KN_OP_mfmas) {
            n++;
        } else if (op == KN_OP_end && depth && --depth == 0 && n > best) {
            best = (uint32_t)n;
            *from = open;
            *to = i;
        }
    }
    return best;
}

/* What LDS leaves of the two waves a SIMD every kernel is planned for. */
static uint32_t
waves_per_simd(const struct kn_fn *f, uint32_t lds)
{
    uint32_t groups = lds ? kn_targets[f->target].lds / lds : 2;

    return groups * kn_waves(f) / 4 >= 2 ? 2 : 1;
}

struct kn_gate_plan
kn_gate_demand(struct kn_ctx *c, const struct kn_fn *f)
{
    struct kn_gate_plan p = { 0 };
    size_t from = 0, to = 0;
    uint8_t *vm;

    p.max_lds = (uint32_t)kn_lds_bytes(f);
    p.max_regs = 512 / waves_per_simd(f, p.max_lds);
    p.mfma = main_loop(f, &from, &to);
    vm = KN_NEW(c, uint8_t, to - from + 1);
    for (size_t i = from; i < to; i++)
        if (f->ins[i].op == KN_OP_fence && f->ins[i].attr[KN_A_vm] < 63)
            vm[p.nvm++] = (uint8_t)f->ins[i].attr[KN_A_vm];
    p.vm = vm;
    return p;
}
