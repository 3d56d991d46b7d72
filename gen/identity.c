/* identity.c - what a kernel is, as text: its kernel part, its symbol, and what
 * its code object says of itself. */
#include "gen.h"

#include <string.h>

/* Rises when arguments of kernels change their places or meanings. */
enum { ARGUMENTS = 1 };

const char *
kn_problem_text(struct kn_ctx *c, const kiln_problem *p)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "family=%s target=%s layout=%s a=%s b=%s out=%s scale=%s "
            "bias=%u beta=%u alpha=%u", kn_family_names[p->family],
            kiln_target_name(p->target), kn_layout_names[p->layout],
            kiln_type_name(p->a), kiln_type_name(p->b),
            kiln_type_name(p->out), kn_scale_names[p->scale], p->epilogue, p->beta,
            p->alpha_set);
    if (kn_family_of(p)->routed)
        kn_putf(&b, " stage=%u act=%u atomic=%u block-m=%u ids=%u weigh=%u "
                "requant=%u",
                p->stage, p->act, p->atomic, kn_block_rows(p), p->id_format,
                p->weigh, p->requant);
    if (p->b_layout || p->scale_layout)
        kn_putf(&b, " b-layout=%u scale-layout=%u", p->b_layout,
                p->scale_layout);
    if (p->expression[0])
        kn_putf(&b, " expr=%s", p->expression);
    if (p->quant)
        kn_putf(&b, " quant=%u", p->quant);
    if (p->invariant)
        kn_put(&b, " invariant=1");
    if (p->out_scale || p->overflow)
        kn_putf(&b, " out-scale=%u overflow=%u", p->out_scale, p->overflow);
    if (kn_writes_scales(p) && p->requant)
        kn_putf(&b, " requant=%u", p->requant);
    if (p->scale_type)
        kn_putf(&b, " scale-type=%s", kn_scale_type_names[p->scale_type]);
    if (p->zero_points)
        kn_putf(&b, " zero-points=%s", kn_zero_point_names[p->zero_points]);
    if (p->math)
        kn_putf(&b, " math=%s", kn_math_names[p->math]);
    if (p->amax)
        kn_put(&b, " amax=1");
    if (p->out2)
        kn_putf(&b, " out2=%s", kiln_type_name((kiln_type)p->out2));
    if (kn_family_of(p)->unary)
        kn_putf(&b, " requant=%u flags=%u hadamard=%u", p->requant,
                p->quant_flags, p->hadamard);
    if (p->round)
        kn_put(&b, " round=1");
    if (p->group_flags)
        kn_putf(&b, " group-flags=%u", p->group_flags);
    return b.s;
}

const char *
kn_kernel_name(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g)
{
    struct kn_buf b = { .c = c }, all = { .c = c }, mangled = { .c = c };

    kn_putf(&all, "%s ", kn_problem_text(c, p));
    kn_config_print(g, &all);
    kn_putf(&b, "kiln_%s_%s_%s%s_%s_%s_%ux%ux%u_%010llx",
            kn_family_names[p->family],
            kn_family_of(p)->routed ? kn_stage_names[p->stage]
                                    : kn_layout_names[p->layout],
            kiln_type_name(p->a), p->quant ? "q" : "", kiln_type_name(p->b),
            kiln_type_name(p->out), g->bm, g->bn, g->bk,
            (unsigned long long)(kn_hash(all.s, all.n) >> 24));
    if (g->abi != KN_ABI_AITER)
        return b.s;
    kn_putf(&mangled, "_ZN5aiter%zu%sE", b.n, b.s);
    return mangled.s;
}

const char *
kn_stamp_write(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "kiln %d.%d.%d, arguments %d\n%s\n", KILN_VERSION / 10000,
            KILN_VERSION / 100 % 100, KILN_VERSION % 100, ARGUMENTS,
            kn_problem_text(c, p));
    kn_config_print(g, &b);
    kn_put(&b, "\n");
    return b.s;
}

bool
kn_stamp_read(struct kn_ctx *c, const char *text, struct kn_stamp *out)
{
    const char *line[3];

    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(text, "\n");

        if (!n || !text[n])
            return false;
        line[i] = kn_strndup(c, text, n);
        text += n + 1;
    }
    *out = (struct kn_stamp){ line[0], line[1], line[2] };
    return !*text;
}
