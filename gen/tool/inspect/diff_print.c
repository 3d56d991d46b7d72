/* diff_print.c - a comparison side by side: only the lines that differ and
 * their neighbours. */
#include "inspect.h"

#include <inttypes.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../run/run.h"

enum { CONTEXT = 3 };

/* Per kind: the sign between the sides, colour on a terminal (SGR), class on
 * a page. */
static const struct { const char *sign, *sgr, *css; } styles[KN_NDIFFS] = {
    [KN_D_SAME] = { " ", "", "" },
    [KN_D_MOVED] = { "^", "36", "moved" },
    [KN_D_REORDERED] = { "^", "36", "reordered" },
    [KN_D_STRONGER] = { "|", "33", "stronger" },
    [KN_D_WEAKER] = { "|", "31;1", "weaker" },
    [KN_D_COPY] = { "+", "32", "copy" },
    [KN_D_SPILL] = { "+", "31;1", "spill" },
    [KN_D_WIDTH] = { "|", "33", "other" },
    [KN_D_CACHE] = { "|", "33", "other" },
    [KN_D_CONSTANT] = { "|", "33", "other" },
    [KN_D_REGISTER] = { "|", "33", "other" },
    [KN_D_TARGET] = { "|", "33", "other" },
    [KN_D_MISSING] = { "<", "31", "missing" },
    [KN_D_EXTRA] = { ">", "32", "extra" },
};

static void
compare_fact(struct kn_diff_view *v, const char *what, uint64_t a, uint64_t b)
{
    if (a == b)
        return;
    v->fact[v->nfacts].what = what;
    v->fact[v->nfacts].a = a;
    v->fact[v->nfacts++].b = b;
}

kiln_status
kn_diff_view(struct kn_ctx *c, const struct kn_subject *a,
             const struct kn_subject *b, const struct kn_diff *d,
             struct kn_diff_view *v)
{
    *v = (struct kn_diff_view){ .c = c, .a = a, .b = b, .d = d };
    compare_fact(v, "LDS bytes", a->k->lds, b->k->lds);
    compare_fact(v, "scratch bytes", a->k->scratch, b->k->scratch);
    compare_fact(v, "kernarg bytes", a->k->kernarg_size, b->k->kernarg_size);
    compare_fact(v, "workgroup size", a->k->max_workgroup,
                 b->k->max_workgroup);
    compare_fact(v, "target gfx", kn_targets[a->o.target].gfx,
                 kn_targets[b->o.target].gfx);
    KN_TRY(kn_subject_listing(c, a, &v->text_a));
    return kn_subject_listing(c, b, &v->text_b);
}

bool
kn_diff_view_equal(const struct kn_diff_view *v)
{
    return v->d->equal && !v->nfacts;
}

/* Is the row within CONTEXT of one that differs? */
static bool *
rows_shown(const struct kn_diff_view *v)
{
    const struct kn_diff *d = v->d;
    bool *show = KN_NEW(v->c, bool, d->n + 1);

    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t first = i < CONTEXT ? 0 : i - CONTEXT;

        for (uint32_t k = first;
             d->row[i].kind && k <= i + CONTEXT && k < d->n; k++)
            show[k] = true;
    }
    return show;
}

static const char *
place_of(const struct kn_diff_view *v, const struct kn_diff_row *r)
{
    const char *p = r->a >= 0 ? v->a->place[r->a] : NULL;

    if (!p && r->b >= 0)
        p = v->b->place[r->b];
    return p ? p : "";
}

static void
label_of(const struct kn_diff_view *v, const struct kn_diff_row *r,
         struct kn_buf *b)
{
    kn_put(b, r->kind ? kn_diff_name((enum kn_diff_kind)r->kind) : "");
    if (r->peer >= 0 && r->a >= 0)
        kn_putf(b, ", to 0x%" PRIx64 " in B", v->b->p.inst[r->peer].pc);
    else if (r->peer >= 0)
        kn_putf(b, ", from 0x%" PRIx64 " in A", v->a->p.inst[r->peer].pc);
}

static void
put_side(const struct kn_subject *s,
         const char *letter, struct kn_buf *out)
{

    kn_putf(out, "%s         %s: %s, %s, %" PRIu32 " instructions, %" PRIu32
            " VGPR, %" PRIu32 " AGPR, %" PRIu32 " SGPR, %" PRIu32 " B LDS\n",
            letter, s->name, s->k->name, kiln_target_name(s->o.target),
            s->p.n, s->k->arch_vgpr, s->k->agpr, s->k->sgpr, s->k->lds);
}

static uint64_t
loop_pc(const struct kn_subject *s, uint32_t loop)
{
    return s->p.inst[s->g.blocks[s->g.loops[loop].header].first].pc;
}

static void
put_summary(const struct kn_diff_view *v, struct kn_buf *out)
{
    const char *sep = "";

    for (uint32_t i = 0; i < v->d->nloops; i++) {
        const struct kn_diff_loop *l = &v->d->loop[i];

        kn_putf(out, "loop      A 0x%" PRIx64 " with %" PRIu32 " MFMA is B 0x%"
                PRIx64 " with %" PRIu32 " MFMA\n", loop_pc(v->a, l->a),
                l->mfma_a, loop_pc(v->b, l->b), l->mfma_b);
    }
    for (uint32_t i = 0; i < v->nfacts; i++)
        kn_putf(out, "other     %s: %" PRIu64 " in A, %" PRIu64 " in B\n",
                v->fact[i].what, v->fact[i].a, v->fact[i].b);
    kn_put(out, "result    ");
    if (kn_diff_view_equal(v))
        kn_put(out, "equal up to the names of registers");
    for (int k = 1; k < KN_NDIFFS; k++)
        if (v->d->count[k]) {
            kn_putf(out, "%s%" PRIu32 " %s", sep, v->d->count[k],
                    kn_diff_name((enum kn_diff_kind)k));
            sep = ", ";
        }
    if (v->nfacts)
        kn_putf(out, "%s%" PRIu32 " facts of the kernel", sep, v->nfacts);
    kn_put(out, "\n");
}

static void
put_row(const struct kn_diff_view *v, const struct kn_diff_row *r,
        struct kn_buf *out)
{
    struct kn_buf label = { .c = v->c };
    const char *sgr = v->colour ? styles[r->kind].sgr : "";

    label_of(v, r, &label);
    if (*sgr)
        kn_putf(out, "\033[%sm", sgr);
    kn_putf(out, "%-50.50s %s %-50.50s", r->a >= 0 ? v->text_a[r->a] : "",
            styles[r->kind].sign, r->b >= 0 ? v->text_b[r->b] : "");
    if (*sgr)
        kn_put(out, "\033[0m");
    if (*label.s)
        kn_putf(out, "  %s", label.s);
    if (*place_of(v, r))
        kn_putf(out, "  (%s)", place_of(v, r));
    kn_put(out, "\n");
}

void
kn_diff_text(const struct kn_diff_view *v, struct kn_buf *out)
{
    bool *show = rows_shown(v);

    put_side(v->a, "A", out);
    put_side(v->b, "B", out);
    put_summary(v, out);
    for (uint32_t i = 0; i < v->d->n; i++) {
        const struct kn_diff_row *r = &v->d->row[i];

        if (!show[i])
            continue;
        if (!i || !show[i - 1])
            kn_putf(out, "@@ A 0x%" PRIx64 "  B 0x%" PRIx64 "\n",
                    r->a >= 0 ? v->a->p.inst[r->a].pc : 0,
                    r->b >= 0 ? v->b->p.inst[r->b].pc : 0);
        put_row(v, r, out);
    }
}

static void
page_row(const struct kn_diff_view *v, const struct kn_diff_row *r,
         struct kn_json *j)
{
    struct kn_buf label = { .c = v->c };

    label_of(v, r, &label);
    kn_page_row(j, NULL, 4, (const char *const[]){
        r->a >= 0 ? v->text_a[r->a] : "", r->b >= 0 ? v->text_b[r->b] : "",
        label.s, place_of(v, r) });
}

/* Rows in turn, or what they are drawn as; a gap stands for those left out. */
static void
page_rows(const struct kn_diff_view *v, const bool *show, bool classes,
          struct kn_json *j)
{
    kn_json_open(j, classes ? "classes" : "rows", '[');
    for (uint32_t i = 0; i < v->d->n; i++) {
        bool gap = !show[i] && i && show[i - 1];

        if (gap && !classes)
            kn_page_row(j, NULL, 1, (const char *const[]){ "..." });
        else if (show[i] && !classes)
            page_row(v, &v->d->row[i], j);
        else if (gap || show[i])
            kn_json_str(j, NULL, gap ? "gap" : styles[v->d->row[i].kind].css);
    }
    kn_json_close(j, ']');
}

void
kn_diff_page(const struct kn_diff_view *v, struct kn_buf *out)
{
    struct kn_json j = { .b = { .c = v->c } };
    struct kn_buf head = { .c = v->c };
    bool *show = rows_shown(v);

    put_side(v->a, "A", &head);
    put_side(v->b, "B", &head);
    put_summary(v, &head);
    kn_page_open(&j, "Comparison of two kernels");
    kn_page_text(&j, &(struct kn_section){ .id = "summary" }, head.s);
    kn_page_section(&j, &(struct kn_section){ .id = "rows", .form = "table" });
    kn_page_row(&j, "head", 4, (const char *const[]){ "A", "B", "difference",
                                                      "from" });
    page_rows(v, show, false, &j);
    page_rows(v, show, true, &j);
    kn_page_end(&j);
    kn_page_close(&j, out);
}

static void
json_inst(struct kn_json *j, const char *key, const struct kn_subject *s,
          const char **text, int32_t n)
{
    if (n < 0)
        return;
    kn_json_open(j, key, '{');
    kn_json_uint(j, "pc", s->p.inst[n].pc);
    kn_json_str(j, "text", text[n]);
    if (s->place[n])
        kn_json_str(j, "from", s->place[n]);
    kn_json_close(j, '}');
}

static void
json_rows(const struct kn_diff_view *v, struct kn_json *j)
{
    kn_json_open(j, "differences", '[');
    for (uint32_t i = 0; i < v->d->n; i++) {
        const struct kn_diff_row *r = &v->d->row[i];

        if (!r->kind || (r->a < 0 && r->peer >= 0))
            continue;
        kn_json_open(j, NULL, '{');
        kn_json_str(j, "kind", kn_diff_name((enum kn_diff_kind)r->kind));
        json_inst(j, "a", v->a, v->text_a, r->a);
        json_inst(j, "b", v->b, v->text_b,
                  r->b >= 0 || r->peer < 0 ? r->b : r->peer);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
}

static void
json_side(struct kn_json *j, const char *key, const struct kn_subject *s)
{
    kn_json_open(j, key, '{');
    kn_json_str(j, "file", s->name);
    kn_json_str(j, "kernel", s->k->name);
    kn_json_str(j, "arch", kiln_target_name(s->o.target));
    kn_json_uint(j, "instructions", s->p.n);
    kn_json_close(j, '}');
}

void
kn_diff_json(const struct kn_diff_view *v, struct kn_json *j)
{
    json_side(j, "a", v->a);
    json_side(j, "b", v->b);
    kn_json_bool(j, "equal", kn_diff_view_equal(v));
    kn_json_open(j, "counts", '{');
    for (int k = 0; k < KN_NDIFFS; k++)
        kn_json_uint(j, kn_diff_name((enum kn_diff_kind)k), v->d->count[k]);
    kn_json_close(j, '}');
    kn_json_open(j, "loops", '[');
    for (uint32_t i = 0; i < v->d->nloops; i++) {
        kn_json_open(j, NULL, '{');
        kn_json_uint(j, "a", loop_pc(v->a, v->d->loop[i].a));
        kn_json_uint(j, "b", loop_pc(v->b, v->d->loop[i].b));
        kn_json_uint(j, "mfma_a", v->d->loop[i].mfma_a);
        kn_json_uint(j, "mfma_b", v->d->loop[i].mfma_b);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
    kn_json_open(j, "facts", '[');
    for (uint32_t i = 0; i < v->nfacts; i++) {
        kn_json_open(j, NULL, '{');
        kn_json_str(j, "what", v->fact[i].what);
        kn_json_uint(j, "a", v->fact[i].a);
        kn_json_uint(j, "b", v->fact[i].b);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
    json_rows(v, j);
}

/* ---- the command -------------------------------------------------------- */

enum format { FORMAT_TEXT, FORMAT_HTML, FORMAT_JSON }; /* as the flag's */

static kiln_status
write_form(struct kn_tool *t, enum format how, const struct kn_diff_view *v)
{
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_buf out = { .c = t->c };

    kn_put(&out, "");
    if (how == FORMAT_HTML) {
        kn_diff_page(v, &out);
    } else if (how == FORMAT_JSON) {
        kn_json_open(&j, NULL, '{');
        kn_diff_json(v, &j);
        kn_json_close(&j, '}');
        out = j.b;
    } else {
        kn_diff_text(v, &out);
    }
    if (o->seen && strcmp(o->s, "-"))
        return kn_file_write(t->c, o->s, out.s, out.n);
    kn_put(t->text, out.s);
    return KILN_OK;
}

kiln_status
kn_cmd_diff(struct kn_tool *t)
{
    const struct kn_value *format = &t->cli->v[KN_FLAG_format];
    struct kn_subject *s = KN_NEW(t->c, struct kn_subject, 2);
    struct kn_diff_view v;
    struct kn_diff d;

    for (int i = 0; i < 2; i++)
        KN_TRY(kn_subject_open(t, t->cli->pos[i], &s[i]));
    KN_TRY(kn_diff_take(t->c, &s[0].g, &s[1].g, &d));
    KN_TRY(kn_diff_view(t->c, &s[0], &s[1], &d, &v));
    v.colour = t->colour && !t->cli->v[KN_FLAG_o].seen;
    KN_TRY(write_form(t, format->seen ? (enum format)format->i : FORMAT_TEXT,
                      &v));
    return kn_diff_view_equal(&v) ? KILN_OK : KILN_FINDING;
}
