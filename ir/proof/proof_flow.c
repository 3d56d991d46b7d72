/* proof_flow.c - the waves of a workgroup must pass the same barriers and take
 * the same way around every LDS access. A condition may therefore differ
 * between waves only where neither is inside.
 *
 * A value may differ when it comes from the wave number, from a counter that
 * waves of other workgroups count too, from another such value, or is assigned
 * under a condition that may differ. Lane l holds the same in every wave
 * otherwise, also what it loads: memory that decides the control flow of a
 * kernel must not be written while it runs. */
#include "proof.h"

struct flow {
    const struct proof *p;
    bool *differs;           /* by value */
    bool changed, check;
};

static bool
operand_differs(const struct flow *w, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (proof_is_value(i->arg[a]) && w->differs[KN_REF_INDEX(i->arg[a])])
            return true;
    return i->op == KN_OP_wave || i->op == KN_OP_arrive;
}

static bool
must_be_common(const struct kn_ins *i)
{
    return i->op == KN_OP_barrier || i->op == KN_OP_stagger ||
           i->op == KN_OP_rejoin || i->op == KN_OP_dma || i->op == KN_OP_stop ||
           i->op == KN_OP_lds_ld || i->op == KN_OP_lds_st;
}

/* A `break` of this loop that may go either way makes the whole loop differ. */
static bool
loop_differs(const struct flow *w, size_t at)
{
    const struct kn_ins *ins = w->p->f->ins;
    bool varying[PROOF_DEPTH + 1] = { false };

    for (int depth = 0, inner = 0;; at++) {
        uint16_t op = ins[at].op;

        if (op == KN_OP_loop || op == KN_OP_if) {
            varying[depth + 1] = varying[depth] ||
                                 (op == KN_OP_if &&
                                  operand_differs(w, &ins[at]));
            depth++;
            inner += inner || op == KN_OP_loop;
        } else if (op == KN_OP_end) {
            if (!depth)
                return false;
            depth--;
            inner -= inner > 0;
        } else if (op == KN_OP_break && !inner &&
                   (varying[depth] || operand_differs(w, &ins[at]))) {
            return true;
        }
    }
}

static kiln_status
visit(struct flow *w, size_t at, bool under)
{
    const struct kn_ins *i = &w->p->f->ins[at];

    if (w->check && under && must_be_common(i))
        return PROOF_FAIL(w->p, i->at, "%s under a condition that may differ "
                          "between the waves of a workgroup",
                          kn_op_info((enum kn_op)i->op).text);
    if (i->dst && !w->differs[KN_REF_INDEX(i->dst)] &&
        (under || operand_differs(w, i))) {
        w->differs[KN_REF_INDEX(i->dst)] = true;
        w->changed = true;
    }
    return KILN_OK;
}

static kiln_status
walk(struct flow *w)
{
    const struct kn_fn *f = w->p->f;
    bool under[PROOF_DEPTH + 1] = { false };
    int depth = 0;

    for (size_t i = 0; i < f->nins; i++) {
        const struct kn_ins *ins = &f->ins[i];

        KN_TRY(visit(w, i, under[depth]));
        if (ins->op == KN_OP_if) {
            under[depth + 1] = under[depth] || operand_differs(w, ins);
            depth++;
        } else if (ins->op == KN_OP_loop) {
            under[depth + 1] = under[depth] || loop_differs(w, i + 1);
            depth++;
        } else if (ins->op == KN_OP_end) {
            depth--;
        }
    }
    return KILN_OK;
}

kiln_status
proof_uniform(const struct proof *p)
{
    struct flow w = { .p = p, .differs = KN_NEW(p->c, bool, p->f->nval) };

    do {
        w.changed = false;
        KN_TRY(walk(&w));
    } while (w.changed);
    w.check = true;
    return walk(&w);
}
