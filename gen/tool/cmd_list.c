/* cmd_list.c - `kilnc list`: what there is, from the tables; of a family,
 * every variant as the kernel that is generated for it. */
#include <string.h>

#include "../choose/choose.h"
#include "run/run.h"
#include "json.h"
#include "progress.h"

static const char *const targets[] = {
#define X(id, text) text,
    KILN_TARGETS(X)
#undef X
};

static const struct table {
    const char *name;
    const char *const *row;
    int first, n;
} tables[] = {
    { "families", kn_family_names, 0, KILN_NFAMILIES },
    { "types", kn_type_names, KILN_TYPE_NONE + 1, KILN_NTYPES },
    { "layouts", kn_layout_names, 0, KILN_NLAYOUTS },
    { "scales", kn_scale_names, 0, KILN_NSCALES },
    { "targets", targets, 0, KILN_NTARGETS - 1 },
};

static kiln_status
list_words(struct kn_tool *t)
{
    struct kn_json j = { .b = { .c = t->c } };

    kn_json_open(&j, NULL, '{');
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        kn_putf(t->text, "%-9s", tables[i].name);
        kn_json_open(&j, tables[i].name, '[');
        for (int r = tables[i].first; r < tables[i].n; r++) {
            kn_putf(t->text, " %s", tables[i].row[r]);
            kn_json_str(&j, NULL, tables[i].row[r]);
        }
        kn_put(t->text, "\n");
        kn_json_close(&j, ']');
    }
    kn_json_close(&j, '}');
    return kn_report_write(t, &j);
}

/* ---- the variants of a family ------------------------------------------- */

struct variants {
    struct kn_tool *t;
    struct kn_json *j;
    kiln_problem p;          /* what the flags say */
    uint64_t done, listed, missing, failed;
};

/* Up to the scales: which variant a line is about. */
static void
put_problem(struct kn_buf *b, const kiln_problem *p)
{
    kn_putf(b, "%s %s %s %s x %s -> %s %s: ", kiln_target_name(p->target),
            kn_family_names[p->family], kn_layout_names[p->layout],
            kiln_type_name(p->a), kiln_type_name(p->b), kiln_type_name(p->out),
            kn_scale_names[p->scale]);
}

/* What was decided and generated. */
static void
put_variant(struct variants *v, const kiln_problem *p,
            const struct kn_generated *g, const struct kn_object_kernel *k)
{
    struct kn_buf *b = v->t->text, line = { .c = v->t->c };

    kn_config_print(&g->cfg, &line);
    put_problem(b, p);
    kn_putf(b, "%u VGPR, %u SGPR, %u B LDS, %u spills, %.0f ms; %s\n", k->regs,
            k->sgpr, k->lds, k->vgpr_spills + k->sgpr_spills, g->ms, line.s);
}

/* Generates in a context of its own. */
static kiln_status
generate_in(struct variants *v, struct kn_ctx *own, kiln_problem *p)
{
    const struct kn_object_kernel *k;
    struct kn_buf text = { .c = own };
    struct kn_tool t = *v->t;
    struct kn_config cfg = { 0 };
    struct kn_generated g;
    struct kn_object o;
    kiln_scale asked = p->scale;

    KN_ENTER(own);
    KN_TRY(kn_problem_normalise(own, p));
    if (p->scale != asked)
        return kn_fail(own, KILN_BAD_INPUT, "listed with its own scale");
    KN_TRY(kn_config_parse(own, t.cli->config, &cfg));
    if (!t.cli->v[KN_FLAG_k].seen && !kn_family_of(p)->routed)
        cfg.domain = kn_domain_of(p, 256, 0); /* any K, hence a tail */
    KN_TRY(kn_generate(own, p, &cfg, NULL, &g));
    KN_TRY(kn_object_read(own, g.name, g.co, g.size, &o));
    KN_TRY(kn_object_kernel(own, &o, NULL, &k));
    t.c = own;
    t.text = &text;
    kn_json_open(v->j, NULL, '{');
    kn_report_choice(&t, v->j, p, &g);
    KN_TRY(kn_report_kernel(&t, v->j, &o, k));
    kn_report_generated(&t, v->j, &g);
    kn_json_close(v->j, '}');
    put_variant(v, p, &g, k);
    return KILN_OK;
}

/* A combination that is refused is no variant; one that is to come is
 * counted, one that no kernel comes of is a finding. */
static void
list_variant(struct variants *v, kiln_problem p)
{
    struct kn_ctx own;
    kiln_status s;

    kn_ctx_init(&own, v->t->c->realloc, v->t->c->user);
    own.tuning = v->t->c->tuning;
    s = generate_in(v, &own, &p);
    v->listed += s == KILN_OK;
    if (s == KILN_UNSUPPORTED)
        v->missing += strstr(own.err.text, "available") != NULL;
    else if (s && s != KILN_BAD_INPUT) {
        v->failed++;
        put_problem(v->t->text, &p);
        kn_putf(v->t->text, "%s\n", own.err.text);
    }
    kn_ctx_free(&own);
    kn_progress_update(v->t->progress, ++v->done, 0);
}

static bool
is_asked(const struct variants *v, enum kn_flag_id id, const char *name)
{
    const struct kn_value *x = &v->t->cli->v[id];

    return !x->seen || !strcmp(x->s, name);
}

static void
list_pair(struct variants *v, kiln_problem p)
{
    for (int l = 0; l < KILN_NLAYOUTS; l++)
        for (int s = 0; s < KILN_NSCALES; s++) {
            p.layout = (kiln_layout)l;
            p.scale = (kiln_scale)s;
            if (is_asked(v, KN_FLAG_layout, kn_layout_names[l]) &&
                is_asked(v, KN_FLAG_scale, kn_scale_names[s]))
                list_variant(v, p);
        }
}

static void
list_target(struct variants *v, kiln_target target)
{
    kiln_problem p = v->p;

    p.target = target;
    for (int a = KILN_F16; a < KILN_NTYPES; a++)
        for (int b = KILN_F16; b < KILN_NTYPES; b++) {
            p.a = (kiln_type)a;
            p.b = (kiln_type)b;
            if (is_asked(v, KN_FLAG_a, kn_type_names[a]) &&
                is_asked(v, KN_FLAG_b, kn_type_names[b]))
                list_pair(v, p);
        }
}

static kiln_status
list_family(struct kn_tool *t)
{
    struct kn_json j = { .b = { .c = t->c } };
    struct variants v = { .t = t, .j = &j };

    KN_TRY(kn_cli_problem(t->c, t->cli, KN_TARGET_DEFAULT, &v.p));
    if (kn_family_of(&v.p)->routed)
        return kn_fail(t->c, KILN_UNSUPPORTED, "the variants of moe depend on "
                       "its stage and block: see docs/moe.md");
    KN_TRY(kn_groups_known(t->c, t->cli, &v.p));
    if (kn_family_of(&v.p)->batch && !v.p.batch)
        v.p.batch = 2;
    if (kn_family_of(&v.p)->ragged && !v.p.groups)
        v.p.groups = 64;
    kn_progress_stage(t->progress, "generating");
    kn_json_open(&j, NULL, '{');
    kn_json_open(&j, "variants", '[');
    for (int i = KILN_NTARGETS - 1; i > KILN_TARGET_NONE; i--)
        if (is_asked(&v, KN_FLAG_arch, kiln_target_name((kiln_target)i)))
            list_target(&v, (kiln_target)i);
    kn_json_close(&j, ']');
    kn_json_close(&j, '}');
    kn_putf(t->text, "%llu variants, %llu to come, %llu failed\n",
            (unsigned long long)v.listed, (unsigned long long)v.missing,
            (unsigned long long)v.failed);
    KN_TRY(kn_report_write(t, &j));
    return v.failed ? KILN_FINDING : KILN_OK;
}

/* ---- predicted clocks of main loops and tiles ----------------------------- */

static void
put_score(struct kn_tool *t, struct kn_json *j, const struct kn_score *s)
{
    struct kn_buf tile = { .c = t->c };

    kn_putf(&tile, "%ux%ux%u", s->bm, s->bn, s->bk);
    kn_putf(t->text, "%s %s, %s: %s %s, %ux%u waves, %u stages%s: %.0f clk a K "
            "tile, %u on a CU %.0f, around %.0f\n",
            kiln_target_name(s->target), kn_class_name(s->class),
            kn_layout_names[s->layout], kn_schedule_names[s->schedule], tile.s, s->wm,
            s->wn, s->stages, s->walks ? ", persistent" : s->lines ? ", by lines" : "", s->far,
            s->residents, s->full, s->before + s->after);
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "arch", kiln_target_name(s->target));
    kn_json_str(j, "class", kn_class_name(s->class));
    kn_json_str(j, "layout", kn_layout_names[s->layout]);
    kn_json_str(j, "schedule", kn_schedule_names[s->schedule]);
    kn_json_str(j, "tile", tile.s);
    kn_json_uint(j, "waves", s->wm * s->wn);
    kn_json_uint(j, "stages", s->stages);
    kn_json_bool(j, "persistent", s->walks);
    kn_json_bool(j, "by_lines", s->lines);
    kn_json_uint(j, "residents", s->residents);
    kn_json_real(j, "near", s->near);
    kn_json_real(j, "far", s->far);
    kn_json_real(j, "full", s->full);
    kn_json_real(j, "before", s->before);
    kn_json_real(j, "after", s->after);
    kn_json_real(j, "fixed", s->fixed);
    kn_json_real(j, "mfma", s->mfma);
    kn_json_close(j, '}');
}

static kiln_status
list_scores(struct kn_tool *t)
{
    struct kn_json j = { .b = { .c = t->c } };

    kn_json_open(&j, NULL, '{');
    kn_json_open(&j, "scores", '[');
    for (size_t i = 0; i < kn_nscores; i++)
        put_score(t, &j, &kn_scores[i]);
    kn_json_close(&j, ']');
    kn_json_close(&j, '}');
    return kn_report_write(t, &j);
}

kiln_status
kn_cmd_list(struct kn_tool *t)
{
    if (t->cli->v[KN_FLAG_scores].seen)
        return list_scores(t);
    return t->cli->npos ? list_family(t) : list_words(t);
}
