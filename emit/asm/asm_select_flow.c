/* asm_select_flow.c - loops, branches, and what orders operations. */
#include "asm_select.h"

#include <string.h>

static void
new_run(struct select *s)
{
    s->scc = 0;
    s->nliteral = s->nheld = s->nmasks = 0;
    s->copy.of = 0;
    memset(s->lanes, 0, sizeof s->lanes);
}

void
kn_asm_edge(struct select *s)
{
    kn_asm_add(s, KN_I_unknown, 0, NULL, 0)->what = KN_ASM_EDGE;
}

void
kn_asm_label(struct select *s, int32_t label)
{
    struct kn_asm_opnd o = { .kind = KN_ASM_LABEL, .v = label };

    kn_asm_add(s, KN_I_unknown, 0, &o, 1)->what = KN_ASM_AT;
    new_run(s);
}

static void
branch(struct select *s, uint16_t isa, int32_t label)
{
    struct kn_asm_opnd o = { .kind = KN_ASM_LABEL, .v = label };

    kn_asm_add(s, isa, 0, &o, 1);
}

/* SCC holds operand 0 afterwards. */
static void
test(struct select *s)
{
    if (s->scc == s->i->arg[0])
        return;
    ADD(s, s_cmp_lg_u32, 0, kn_asm_scalar(s, kn_asm_arg(s, 0)), kn_imm(0));
}

static int32_t
new_label(struct select *s)
{
    return (int32_t)s->a->nlabel++;
}

void
select_loop(struct select *s)
{
    s->open[s->nopen].head = new_label(s);
    s->open[s->nopen].end = new_label(s);
    s->loop[s->nloops++] = s->nopen;
    kn_asm_label(s, s->open[s->nopen++].head);
}

/* The last `break` of a loop is its way round. */
void
select_break(struct select *s)
{
    int n = s->loop[s->nloops - 1];

    test(s);
    if (s->at + 1 < s->f->nins && s->f->ins[s->at + 1].op == KN_OP_end &&
        n == s->nopen - 1) {
        branch(s, KN_I_s_cbranch_scc0, s->open[n].head);
        s->open[n].head = -1;
    } else {
        branch(s, KN_I_s_cbranch_scc1, s->open[n].end);
        new_run(s);
    }
}

void
select_if(struct select *s)
{
    s->open[s->nopen].head = -1;
    s->open[s->nopen].next = new_label(s);
    s->open[s->nopen].end = -1;
    test(s);
    branch(s, KN_I_s_cbranch_scc0, s->open[s->nopen++].next);
    s->a->op[s->a->nop - 1].rare = s->i->attr[KN_A_likely] == 2;
    new_run(s);
}

void
select_else(struct select *s)
{
    int n = s->nopen - 1;

    s->open[n].end = new_label(s);
    branch(s, KN_I_s_branch, s->open[n].end);
    kn_asm_label(s, s->open[n].next);
    s->open[n].next = -1;
}

void
select_end(struct select *s)
{
    int n = --s->nopen;

    if (s->nloops && s->loop[s->nloops - 1] == n) {
        s->nloops--;
        if (s->open[n].head >= 0)
            branch(s, KN_I_s_branch, s->open[n].head);
        kn_asm_label(s, s->open[n].end);
        return;
    }
    if (s->open[n].next >= 0)
        kn_asm_label(s, s->open[n].next);
    if (s->open[n].end >= 0)
        kn_asm_label(s, s->open[n].end);
}

void
select_stop(struct select *s)
{
    kn_asm_add(s, KN_I_s_endpgm, 0, NULL, 0);
}

/* ---- order ---- */

void
select_fence(struct select *s)
{
    struct kn_asm_op *x;

    if (s->i->attr[KN_A_vm] == 63 && s->i->attr[KN_A_lgkm] == 15)
        return;
    x = kn_asm_add(s, KN_I_s_waitcnt, 0, NULL, 0);
    x->vm = (uint8_t)s->i->attr[KN_A_vm];
    x->lgkm = (uint8_t)s->i->attr[KN_A_lgkm];
}

void
select_barrier(struct select *s)
{
    if (kn_waves(s->f) == 1) /* its waits are enough */
        kn_asm_edge(s);
    else
        kn_asm_add(s, KN_I_s_barrier, 0, NULL, 0);
}

void
select_prio(struct select *s)
{
    ADD(s, s_setprio, 0, kn_imm(s->i->attr[KN_A_prio]));
}

void
select_sched(struct select *s)
{
    kn_asm_edge(s);
}

void
select_used(struct select *s)
{
    (void)s;
}

void
select_landed(struct select *s)
{
    kn_asm_edge(s);
}
