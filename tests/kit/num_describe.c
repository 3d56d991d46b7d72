/* num_describe.c - a launch as the command line that runs it again. */
#include "num.h"

#include <inttypes.h>
#include <stdio.h>

static void
describe_sizes(const struct num_kernel *k, const struct num_job *j,
               struct kn_buf *b)
{
    const kiln_problem *q = &j->p;

    if (k->p.family != KILN_GROUPED)
        kn_putf(b, " -m %lld", (long long)q->m);
    kn_putf(b, " -n %lld", (long long)q->n);
    if (k->p.family != KILN_WGRAD)
        kn_putf(b, " -k %lld", (long long)q->k);
    if (q->batch)
        kn_putf(b, " --batch %lld", (long long)q->batch);
    if (k->p.group_flags & KILN_GROUP_LENS)
        kn_put(b, " --group-table lens");
    if (k->p.group_flags & KILN_GROUP_ENDS32)
        kn_put(b, " --group-table ends32");
    if (k->p.group_flags & KILN_GROUP_TIGHT)
        kn_put(b, " --tight-table");
    if (k->p.group_flags & KILN_TAIL_ZERO)
        kn_putf(b, " --tail zero -m ...");
    for (int64_t g = 0; g < q->groups; g++)
        kn_putf(b, "%s%lld", g ? "," : " --group-lens ",
                (long long)j->lens[g]);
    if (q->lda)
        kn_putf(b, " --lda %lld", (long long)q->lda);
    if (q->ldb)
        kn_putf(b, " --ldb %lld", (long long)q->ldb);
    if (q->ldc)
        kn_putf(b, " --ldc %lld", (long long)q->ldc);
    if (q->ldsa)
        kn_putf(b, " --ldsa %lld", (long long)q->ldsa);
    if (q->ldsb)
        kn_putf(b, " --ldsb %lld", (long long)q->ldsb);
    if (q->stride_a || q->stride_b || q->stride_c)
        kn_putf(b, " --stride-a %lld --stride-b %lld --stride-c %lld",
                (long long)q->stride_a, (long long)q->stride_b, (long long)q->stride_c);
    if (j->mode == KN_DATA_EXACT)
        kn_put(b, " --data exact");
}

static void
describe(const struct num_kernel *k, const struct num_job *j,
         struct kn_buf *b)
{
    const kiln_problem *p = &k->p;
    const struct kn_config *g = &k->g.cfg;

    kn_putf(b, "run %s --device sim:%s --layout %s --a %s --b %s --out %s "
            "--scale %s", kn_family_names[p->family],
            kiln_target_name(p->target), kn_layout_names[p->layout],
            kiln_type_name(p->a), kiln_type_name(p->b),
            kiln_type_name(p->out), kn_scale_names[p->scale]);
    if (p->epilogue)
        kn_putf(b, " --epilogue '%s'", p->expression[0] ? p->expression
                                     : kn_epilogue_names[p->epilogue]);
    for (int i = 0; i < KILN_SCALARS; i++)
        if (j->p.scalar[i] != 0)
            kn_putf(b, " [scalar %d: %g]", i, (double)j->p.scalar[i]);
    if (p->scale_type)
        kn_putf(b, " --scale-type %s", kn_scale_type_names[p->scale_type]);
    if (p->zero_points)
        kn_putf(b, " --zero-points %s", kn_zero_point_names[p->zero_points]);
    if (p->math)
        kn_putf(b, " --math %s", kn_math_names[p->math]);
    if (p->out_scale)
        kn_putf(b, " --out-scale %s", kn_out_scale_names[p->out_scale]);
    if (p->requant && kn_writes_scales(p))
        kn_putf(b, " [scale mode %u]", p->requant);
    if (p->overflow)
        kn_put(b, " --saturate 0");
    if (p->out2)
        kn_putf(b, " --out2 %s", kiln_type_name((kiln_type)p->out2));
    if (p->amax)
        kn_put(b, " --amax");
    if (p->round)
        kn_putf(b, " --round stochastic --round-seed %" PRIu64,
                j->p.round_seed);
    if (p->beta)
        kn_put(b, " --beta 1");
    if (p->alpha_set)
        kn_putf(b, " --alpha %g", (double)j->p.alpha);
    if (p->b_layout)
        kn_putf(b, " --b-layout %s", kn_b_layout_names[p->b_layout]);
    if (p->scale_layout)
        kn_putf(b, " --scale-layout %s", kn_shuffled(p) ? "shuffled"
                                                       : "transposed");
    if (p->quant)
        kn_putf(b, " [quant %u]", p->quant);
    if (p->invariant)
        kn_put(b, " --invariant");
    if (p->cus)
        kn_putf(b, " --device-cus %u --device-xcds %u", p->cus, p->xcds);
    describe_sizes(k, j, b);
    kn_putf(b, " --tile %ux%ux%u --waves %ux%u --stages %u", g->bm, g->bn,
            g->bk, g->wm, g->wn, g->stages);
    if (g->cus)
        kn_putf(b, " --cus %u", g->cus);
    kn_putf(b, " # align=%u,%u,%u,%u vec=%u ktail=%u skew=%u,%u,%u",
            g->domain.align_a, g->domain.align_b, g->domain.align_sa,
            g->domain.align_sb, g->domain.vec, g->domain.ktail,
            j->skew[NUM_A], j->skew[NUM_B], j->skew[NUM_C]);
}

void
num_describe(const struct num_kernel *k, const struct num_job *j, char *text,
             size_t size)
{
    struct kn_ctx c;
    struct kn_buf b = { .c = &c };
    jmp_buf oom;

    kn_ctx_init(&c, NULL, NULL);
    c.oom = &oom;
    if (!setjmp(oom)) {
        describe(k, j, &b);
        snprintf(text, size, "%s", b.s);
    }
    kn_ctx_free(&c);
}
