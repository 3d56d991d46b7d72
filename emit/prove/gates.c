/* gates.c - what is demanded of a kernel's final bytes, as read off its wave-level
 * program, and whether they have it. */
#include "gates.h"

#include <stdlib.h>
#include <string.h>

#include "../isa/cfg.h"

struct checker {
    struct kn_ctx *c;
    const struct kn_program *p;
    const struct kn_gate_plan *plan;
    struct kn_cfg cfg;
    int32_t loop;            /* main loop, -1: none */
    enum kn_gate gate;       /* being checked */
};

static const char *const names[] = {
#define GATE(id, name, registers, text) name,
#include "gates.def"
#undef GATE
};

const char *
kn_gate_name(enum kn_gate g)
{
    return names[g];
}

#define REFUSE(k, fmt, ...) \
    kn_fail((k)->c, KILN_FINDING, "gate %s: kernel %s: " fmt, \
            names[(k)->gate], (k)->p->kernel->name, __VA_ARGS__)

/* A sentence that ends with an instruction: where, and its text. */
static kiln_status
refuse_at(const struct checker *k, uint32_t i, const char *why)
{
    const struct kn_inst *at = &k->p->inst[i];
    char text[96];

    kn_inst_text(k->p->target, at, text, sizeof text);
    return REFUSE(k, "%s: %s at 0x%llx", why, text,
                  (unsigned long long)at->pc);
}

static kiln_status
check_SPILLS(const struct checker *k)
{
    const struct kn_object_kernel *q = k->p->kernel;

    if (!q->vgpr_spills && !q->sgpr_spills)
        return KILN_OK;
    return REFUSE(k, "%u vector and %u scalar registers are spilled",
                  q->vgpr_spills, q->sgpr_spills);
}

static kiln_status
check_SCRATCH(const struct checker *k)
{
    for (uint32_t i = 0; i < k->p->n; i++)
        if (kn_isa[k->p->inst[i].op].mem == KN_M_SCRATCH)
            return refuse_at(k, i, "scratch is used");
    if (!k->p->kernel->scratch)
        return KILN_OK;
    return REFUSE(k, "%u bytes of scratch a lane", k->p->kernel->scratch);
}

static kiln_status
check_VGPR(const struct checker *k)
{
    if (!k->plan->max_regs || k->p->kernel->regs <= k->plan->max_regs)
        return KILN_OK;
    return REFUSE(k, "%u vector registers, planned were %u",
                  k->p->kernel->regs, k->plan->max_regs);
}

static kiln_status
check_LDS(const struct checker *k)
{
    if (!k->plan->max_lds || k->p->kernel->lds <= k->plan->max_lds)
        return KILN_OK;
    return REFUSE(k, "%u bytes of LDS, planned were %u", k->p->kernel->lds,
                  k->plan->max_lds);
}

static bool
in_main_loop(const struct checker *k, uint32_t i)
{
    return k->loop >= 0 && kn_loop_contains(&k->cfg, (uint32_t)k->loop, i);
}

static kiln_status
check_MFMA(const struct checker *k)
{
    uint32_t n = 0, first = 0;

    if (!k->plan->mfma)
        return KILN_OK;
    for (uint32_t i = k->p->n; i-- > 0;)
        if (in_main_loop(k, i) &&
            kn_isa[k->p->inst[i].op].unit == KN_U_MFMA) {
            n++;
            first = i;
        }
    if (n == k->plan->mfma)
        return KILN_OK;
    if (!n)
        return REFUSE(k, "no loop has matrix instructions, planned were %u",
                      k->plan->mfma);
    return REFUSE(k, "%u matrix instructions in the main loop, planned were "
                  "%u; the first is at 0x%llx", n, k->plan->mfma,
                  (unsigned long long)k->p->inst[first].pc);
}

static kiln_status
check_ACCVGPR(const struct checker *k)
{
    for (uint32_t i = 0; i < k->p->n; i++) {
        uint16_t op = k->p->inst[i].op;

        if (in_main_loop(k, i) && (op == KN_I_v_accvgpr_read_b32 ||
                                   op == KN_I_v_accvgpr_write_b32 ||
                                   op == KN_I_v_accvgpr_mov_b32))
            return refuse_at(k, i, "the main loop moves an accumulator");
    }
    return KILN_OK;
}

struct wait {
    uint8_t vm;
    uint32_t inst;
};

static int
order_waits(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;

    if (x->vm != y->vm)
        return x->vm < y->vm ? -1 : 1;
    return x->inst < y->inst ? -1 : x->inst > y->inst;
}

static int
order_bytes(const void *a, const void *b)
{
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* Can each wait be one that was asked for, or a weaker one? Both sorted
 * ascending: the k-th strongest must not be stronger than the k-th strongest
 * asked for. Fewer waits are fine: LLVM drops those it proves idle. */
static kiln_status
match_waits(const struct checker *k, const struct wait *w, uint32_t n)
{
    uint8_t *asked = KN_NEW(k->c, uint8_t, k->plan->nvm);
    struct kn_buf why = { .c = k->c };

    if (k->plan->nvm) {
        memcpy(asked, k->plan->vm, k->plan->nvm);
        qsort(asked, k->plan->nvm, 1, order_bytes);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i >= k->plan->nvm)
            return refuse_at(k, w[i].inst,
                             "a wait nobody asked for is in the main loop");
        if (w[i].vm >= asked[i])
            continue;
        kn_putf(&why, "a wait stronger than the vm=%u asked for is in the "
                "main loop", asked[i]);
        return refuse_at(k, w[i].inst, why.s);
    }
    return KILN_OK;
}

static kiln_status
check_VMWAIT(const struct checker *k)
{
    struct wait *w = KN_NEW(k->c, struct wait, k->p->n);
    uint32_t n = 0;

    if (k->plan->walks)
        return KILN_OK;
    for (uint32_t i = 0; i < k->p->n; i++)
        if (k->p->inst[i].op == KN_I_s_waitcnt && k->p->inst[i].vm < 63 &&
            in_main_loop(k, i))
            w[n++] = (struct wait){ k->p->inst[i].vm, i };
    if (n)
        qsort(w, n, sizeof *w, order_waits);
    return match_waits(k, w, n);
}

static kiln_status
check_waivers(struct kn_ctx *c, const struct kn_gate_plan *plan)
{
    struct kn_buf b = { .c = c };

    for (uint32_t i = 0; i < plan->nwaived; i++) {
        if (kn_name_index(names, KN_NGATES, plan->waived[i]) >= 0)
            continue;
        for (int g = 0; g < KN_NGATES; g++)
            kn_putf(&b, "%s%s", g ? ", " : "", names[g]);
        return kn_fail(c, KILN_BAD_INPUT, "no gate %s to waive, there is: %s",
                       plan->waived[i], b.s);
    }
    return KILN_OK;
}

static bool
is_waived(const struct kn_gate_plan *plan, enum kn_gate g)
{
    for (uint32_t i = 0; i < plan->nwaived; i++)
        if (!strcmp(plan->waived[i], names[g]))
            return true;
    return false;
}

kiln_status
kn_gates_check(struct kn_ctx *c, const struct kn_program *p,
               const struct kn_gate_plan *plan)
{
    static kiln_status (*const check[])(const struct checker *) = {
#define GATE(id, name, registers, text) check_##id,
#include "gates.def"
#undef GATE
    };
    static const bool of_registers[] = {
#define GATE(id, name, registers, text) registers,
#include "gates.def"
#undef GATE
    };
    struct checker k = { .c = c, .p = p, .plan = plan };
    kiln_status s;

    KN_TRY(check_waivers(c, plan));
    KN_TRY(kn_cfg_build(c, p, &k.cfg));
    k.loop = kn_cfg_main_loop(&k.cfg);
    for (int g = 0; g < KN_NGATES; g++) {
        k.gate = (enum kn_gate)g;
        s = is_waived(plan, k.gate) ? KILN_OK : check[g](&k);
        if (s)
            return of_registers[g] ? kn_crowded(c, s) : s;
    }
    return KILN_OK;
}

/* ---- the plan: matrix instructions and vm fences of the main loop ---- */

enum { MOST_DEPTH = 32 };

/* [*from, *to): the loop with the most matrix instructions of its own, the
 * inner one of two with as many (kn_cfg_main_loop). */
static void
find_main_loop(const struct kn_fn *f, size_t *from, size_t *to)
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
}

struct kn_gate_plan
kn_gate_demand(struct kn_ctx *c, const struct kn_fn *f)
{
    struct kn_gate_plan p = { 0 };
    size_t from = 0, to = 0;
    uint8_t *vm;

    p.max_lds = (uint32_t)kn_lds_bytes(f);
    p.max_regs = 512 / kn_waves_per_simd(f);
    find_main_loop(f, &from, &to);
    vm = KN_NEW(c, uint8_t, to - from + 1);
    for (size_t i = from; i < to; i++) {
        p.walks |= f->ins[i].op == KN_OP_stg;
        p.mfma += f->ins[i].op == KN_OP_mfma || f->ins[i].op == KN_OP_mfmas;
        if (f->ins[i].op == KN_OP_fence && f->ins[i].attr[KN_A_vm] < 63)
            vm[p.nvm++] = (uint8_t)f->ins[i].attr[KN_A_vm];
    }
    p.vm = vm;
    return p;
}
