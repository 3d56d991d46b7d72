/* report.c - what is printed of kernels and simulated runs, as text and as JSON (run.h). */
#include "moe.h"
#include "run.h"

#include <inttypes.h>
#include <sha2.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../../quant.h"

static const char *const finding_names[] = {
#define X(id, text) text,
    KN_FINDINGS(X)
#undef X
};

static const char *const modes[] = {
#define X(id, text) text,
    KN_MX_MODES(X)
#undef X
};

static const char *
epilogue_text(const kiln_problem *p)
{
    return p->expression[0] ? p->expression
         : p->epilogue ? kn_epilogue_names[p->epilogue] : "";
}

/* How many products they are, and of moe whose. */
static void
json_products(struct kn_json *j, const kiln_problem *p)
{
    const struct kn_family *f = kn_family_of(p);

    if (f->batch)
        kn_json_int(j, "batch", p->batch);
    if (f->ragged && !f->routed)
        kn_json_int(j, "groups", p->groups);
    if (!f->routed)
        return;
    kn_json_str(j, "stage", kn_stage_names[p->stage]);
    kn_json_int(j, "tokens", p->tokens);
    kn_json_int(j, "topk", p->topk);
    kn_json_int(j, "experts", p->groups);
    kn_json_int(j, "block_m", kn_block_rows(p));
}

/* How operands are stored, where it is not plainly. */
static void
json_stored(struct kn_json *j, const kiln_problem *p)
{
    if (p->b_layout)
        kn_json_str(j, "b_layout", kn_b_layout_names[p->b_layout]);
    if (p->scale_layout)
        kn_json_str(j, "scale_layout", kn_scale_layout_names[p->scale_layout]);
    if (p->stride_a)
        kn_json_int(j, "stride_a", p->stride_a);
    if (p->stride_b)
        kn_json_int(j, "stride_b", p->stride_b);
    if (p->stride_c)
        kn_json_int(j, "stride_c", p->stride_c);
}

void
kn_report_layer(struct kn_json *j, const kiln_problem *up, const kiln_problem *down)
{
    kn_json_open(j, "problem", '{');
    kn_json_str(j, "stage", "layer");
    kn_json_str(j, "a", kiln_type_name(up->a));
    kn_json_str(j, "b", kiln_type_name(up->b));
    kn_json_str(j, "out", kiln_type_name(down->out));
    kn_json_str(j, "scale", kn_scale_names[up->scale]);
    kn_json_int(j, "tokens", up->tokens);
    kn_json_int(j, "topk", up->topk);
    kn_json_int(j, "experts", up->groups);
    kn_json_int(j, "hidden", up->k);
    kn_json_int(j, "inter", up->n);
    kn_json_close(j, '}');
}

static void
json_problem(struct kn_json *j, const kiln_problem *p)
{
    kn_json_open(j, "problem", '{');
    json_products(j, p);
    kn_json_str(j, "layout", kn_layout_names[p->layout]);
    kn_json_str(j, "a", kiln_type_name(p->a));
    kn_json_str(j, "b", kiln_type_name(p->b));
    kn_json_str(j, "out", kiln_type_name(p->out));
    kn_json_str(j, "scale", kn_scale_names[p->scale]);
    if (kn_scale_groups(p) || p->scale_type)
        kn_json_str(j, "scale_type", kn_scale_type_names[p->scale_type]);
    if (p->zero_points)
        kn_json_str(j, "zero_points", kn_zero_point_names[p->zero_points]);
    if (p->math)
        kn_json_str(j, "math", kn_math_names[p->math]);
    if (kn_codes(p) || kn_writes_scales(p) || kn_family_of(p)->unary) {
        kn_json_str(j, "out_scale", kn_out_scale_names[p->out_scale]);
        kn_json_bool(j, "saturate", !p->overflow);
        if (p->out_scale == KILN_OUT_MX32)
            kn_json_str(j, "requant", modes[p->requant]);
    }
    if (p->round)
        kn_json_uint(j, "round_seed", p->round_seed);
    if (p->quant)
        kn_json_str(j, "quant", modes[p->quant - 1]);
    if (p->invariant)
        kn_json_bool(j, "invariant", true);
    kn_json_str(j, "epilogue", p->epilogue ? epilogue_text(p) : "none");
    kn_json_bool(j, "bias", kn_has_bias(p));
    kn_json_int(j, "beta", p->beta);
    kn_json_real(j, "alpha", (double)p->alpha);
    kn_json_int(j, "m", p->m);
    kn_json_int(j, "n", p->n);
    kn_json_int(j, "k", p->k);
    kn_json_int(j, "lda", p->lda);
    kn_json_int(j, "ldb", p->ldb);
    kn_json_int(j, "ldc", p->ldc);
    if (p->ldsa)
        kn_json_int(j, "ldsa", p->ldsa);
    if (p->ldsb)
        kn_json_int(j, "ldsb", p->ldsb);
    json_stored(j, p);
    if (p->out2)
        kn_json_str(j, "out2", kiln_type_name(p->out2));
    if (kn_quant_dual(p))
        kn_json_int(j, "ldc2", p->ldc2);
    if (p->ldsa2)
        kn_json_int(j, "ldsa2", p->ldsa2);
    kn_json_close(j, '}');
}

/* Which row or rule decided what the user left open: the reasons of the choice
 * that stood, after the refusals of those before it. */
static bool
reasons(struct kn_tool *t, const kiln_problem *p, const struct kn_generated *g,
        struct kn_buf *why)
{
    const struct kn_refused *before = t->c->refused;
    struct kn_config cfg = { 0 };
    bool told;

    for (const struct kn_refused *r = g->refused; r; r = r->before)
        kn_putf(why, "not a %ux%ux%u tile: %s\n", r->config.bm, r->config.bn,
                r->config.bk, r->text);
    t->c->refused = g->refused;
    told = !kn_config_parse(t->c, t->cli->config, &cfg) &&
           !kn_choose(t->c, p, &cfg, why);
    t->c->refused = before;
    return told;
}

/* --explain */
static void
explain(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
        const struct kn_generated *g)
{
    struct kn_buf why = { .c = t->c };

    if (!t->cli->v[KN_FLAG_explain].seen || !reasons(t, p, g, &why))
        return;
    kn_json_str(j, "why", why.s);
    for (char *s = why.s, *end; *s; s = end + 1) {
        end = s + strcspn(s, "\n");
        *end = '\0';
        kn_putf(t->text, "because   %s\n", s);
    }
}

void
kn_report_problem(struct kn_tool *t, struct kn_json *j, const kiln_problem *p)
{
    kn_putf(t->text, "problem   %s %s, %s x %s -> %s, scale %s%s%s%s%s%s",
            kn_family_names[p->family], kn_layout_names[p->layout],
            kiln_type_name(p->a), kiln_type_name(p->b), kiln_type_name(p->out),
            kn_scale_names[p->scale], p->scale_type ? " " : "",
            p->scale_type ? kn_scale_type_names[p->scale_type] : "",
            *epilogue_text(p) ? ", " : "",
            epilogue_text(p), p->beta ? ", beta 1" : "");
    if (p->zero_points)
        kn_putf(t->text, ", zero points %s",
                kn_zero_point_names[p->zero_points]);
    if (p->math)
        kn_putf(t->text, ", by %s", kn_math_names[p->math]);
    if (p->out_scale)
        kn_putf(t->text, ", output scale %s%s%s",
                kn_out_scale_names[p->out_scale],
                p->out_scale == KILN_OUT_MX32 ? " " : "",
                p->out_scale == KILN_OUT_MX32 ? modes[p->requant] : "");
    if (p->overflow)
        kn_put(t->text, ", not saturated");
    if (p->round)
        kn_putf(t->text, ", rounded by seed %" PRIu64, p->round_seed);
    if (p->out2)
        kn_putf(t->text, ", second output %s",
                kiln_type_name((kiln_type)p->out2));
    if (kn_quant_dual(p))
        kn_put(t->text, ", and transposed");
    if (p->amax)
        kn_put(t->text, ", amax");
    if (p->quant)
        kn_putf(t->text, ", A quantised (%s)", modes[p->quant - 1]);
    if (p->invariant)
        kn_put(t->text, ", invariant");
    if (p->alpha_set)
        kn_putf(t->text, ", alpha %g", (double)p->alpha);
    if (p->m || p->n || p->k)
        kn_putf(t->text, ", M %" PRId64 " N %" PRId64 " K %" PRId64, p->m,
                p->n, p->k);
    kn_putf(t->text, " for %s\n", kiln_target_name(p->target));
    kn_json_str(j, "family", kn_family_names[p->family]);
    kn_json_str(j, "arch", kiln_target_name(p->target));
    json_problem(j, p);
}

void
kn_report_choice(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
                 const struct kn_generated *g)
{
    struct kn_buf line = { .c = t->c };

    kn_report_problem(t, j, p);
    if (!g->cfg.bm)
        return;              /* somebody else's object */
    explain(t, j, p, g);
    kn_config_print(&g->cfg, &line);
    kn_putf(t->text, "config    %s\n", line.s);
    kn_json_str(j, "config", line.s);
}

static void
json_kernel(struct kn_json *j, const struct kn_object_kernel *k, uint32_t n)
{
    kn_json_open(j, "kernel", '{');
    kn_json_str(j, "name", k->name);
    kn_json_uint(j, "vgpr", k->vgpr - (k->agpr <= k->vgpr ? k->agpr : 0));
    kn_json_uint(j, "agpr", k->agpr);
    kn_json_uint(j, "regs", k->regs);
    kn_json_uint(j, "sgpr", k->sgpr);
    kn_json_uint(j, "lds", k->lds);
    kn_json_uint(j, "spills", k->vgpr_spills + k->sgpr_spills);
    kn_json_uint(j, "scratch", k->scratch);
    kn_json_uint(j, "instructions", n);
    kn_json_close(j, '}');
}

kiln_status
kn_report_kernel(struct kn_tool *t, struct kn_json *j,
                 const struct kn_object *o, const struct kn_object_kernel *k)
{
    struct kn_program p;

    KN_TRY(kn_decode(t->c, o, k, false, &p));
    kn_putf(t->text,
            "kernel    %s: %" PRIu32 " VGPR, %" PRIu32 " AGPR (%" PRIu32
            " allocated), %" PRIu32 " SGPR, %" PRIu32 " B LDS, %" PRIu32
            " spills, %" PRIu32 " B scratch, %" PRIu32 " instructions\n",
            k->name, k->vgpr - (k->agpr <= k->vgpr ? k->agpr : 0), k->agpr,
            k->regs, k->sgpr, k->lds, k->vgpr_spills + k->sgpr_spills,
            k->scratch, p.n);
    json_kernel(j, k, p.n);
    return KILN_OK;
}

kiln_status
kn_report_made(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
               const struct kn_generated *g)
{
    const struct kn_object_kernel *k;
    struct kn_object o;

    KN_TRY(kn_object_read(t->c, g->name, g->co, g->size, &o));
    KN_TRY(kn_object_kernel(t->c, &o, NULL, &k));
    kn_report_choice(t, j, p, g);
    return kn_report_kernel(t, j, &o, k);
}

/* SHA-256 of the code object: which bytes a figure is about. */
static void
json_code(struct kn_json *j, const struct kn_generated *g)
{
    char hex[SHA256_DIGEST_STRING_LENGTH];

    kn_json_str(j, "code", SHA256Data(g->co, g->size, hex));
}

void
kn_report_generated(struct kn_tool *t, struct kn_json *j,
                    const struct kn_generated *g)
{
    if (g->nwaived)
        kn_put(t->text, "waived   ");
    kn_json_open(j, "waived", '[');
    for (uint32_t i = 0; i < g->nwaived; i++) {
        kn_putf(t->text, " %s", g->waived[i]);
        kn_json_str(j, NULL, g->waived[i]);
    }
    kn_json_close(j, ']');
    kn_putf(t->text, "%scompiled  in %.0f ms\n", g->nwaived ? "\n" : "",
            g->ms);
    json_code(j, g);
    kn_json_real(j, "compile_ms", g->ms);
    kn_json_real(j, "emit_ms", g->emit_ms);
    kn_json_real(j, "prove_ms", g->prove_ms);
}

static void
json_finding(struct kn_json *j, const char *kernel,
             const struct kn_finding *f)
{
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "kind", finding_names[f->kind]);
    kn_json_str(j, "severity", kn_severity_names[f->severity]);
    if (kernel)
        kn_json_str(j, "kernel", kernel);
    kn_json_str(j, "text", f->text);
    kn_json_str(j, "place", f->place);
    kn_json_uint(j, "pc", f->pc);
    kn_json_uint(j, "workgroup", f->workgroup);
    kn_json_uint(j, "wave", f->wave);
    kn_json_int(j, "lane", f->lane == UINT32_MAX ? -1 : (int64_t)f->lane);
    kn_json_uint(j, "address", f->address);
    if (f->other_pc) {
        kn_json_uint(j, "other_pc", f->other_pc);
        kn_json_uint(j, "other_wave", f->other_wave);
    }
    kn_json_uint(j, "count", f->count);
    kn_json_close(j, '}');
}

/* What each matrix instruction's bits are worth. */
static void
put_mfma(struct kn_buf *b, struct kn_json *j, const struct kn_sim_result *r)
{
    static const char *const words[] = { "exact", "modelled", "unverified" };

    kn_json_open(j, "arithmetic", '{');
    for (unsigned k = 0; k < r->nmfma; k++) {
        const char *word = words[r->mfma[k].quality];

        kn_putf(b, "%s%s %s", k ? ", " : "arithmetic ", r->mfma[k].mnemonic,
                word);
        kn_json_str(j, r->mfma[k].mnemonic, word);
    }
    kn_json_close(j, '}');
    if (r->nmfma)
        kn_putf(b, "\n");
}

/* One record, for the parsers of race checkers. */
static void
put_record(struct kn_buf *b, const char *kernel, const struct kn_finding *f)
{
    const char *what = strstr(f->text, ": ");
    const char *head = f->severity == KN_SEV_ADVICE ? "ADVICE" : "RACE";
    int n = what ? (int)(what - f->text) : 0;

    kn_putf(b, "%s\n  kind         %s\n", head, finding_names[f->kind]);
    if (kernel)
        kn_putf(b, "  kernel       %s\n", kernel);
    if (n)
        kn_putf(b, "  instruction  %.*s\n", n, f->text);
    kn_put(b, "  where        ");
    if (f->pc)               /* else of no instruction: output not written */
        kn_putf(b, "pc 0x%" PRIx64 ", workgroup %" PRIu64 ", wave %" PRIu32
                ", ", f->pc, f->workgroup, f->wave);
    if (f->pc && f->lane != UINT32_MAX)
        kn_putf(b, "lane %" PRIu32 ", ", f->lane);
    kn_putf(b, "address 0x%" PRIx64 "\n", f->address);
    if (f->other_pc)
        kn_putf(b, "  against      pc 0x%" PRIx64 ", wave %" PRIu32 "\n",
                f->other_pc, f->other_wave);
    if (*f->place)
        kn_putf(b, "  from         %s\n", f->place);
    kn_putf(b, "  what         %s\n  times        %" PRIu32 "\nEND_%s\n",
            what ? what + 2 : f->text, f->count, head);
}

/* The first few in full; --json has all that were kept. */
static void
put_findings(struct kn_buf *b, const struct kn_sim_result *r)
{
    enum { SHOWN = 8 };
    unsigned shown = r->nkept < SHOWN ? r->nkept : SHOWN;

    kn_putf(b, "findings  %" PRIu64, r->nfindings);
    if (r->nadvice)
        kn_putf(b, ", advice %" PRIu64, r->nadvice);
    if (shown < r->nfindings + r->nadvice)
        kn_putf(b, ", the first %u (--json: %u):", shown, r->nkept);
    kn_putf(b, "\n");
    for (unsigned i = 0; i < shown; i++)
        put_record(b, r->kernel, &r->findings[i]);
}

void
kn_report_check(struct kn_tool *t, struct kn_json *j,
                const struct kn_ref_check *k, bool placed)
{
    struct kn_buf *b = t->text;

    if (!k->bad)
        kn_putf(b, "check     ok: %" PRIu64 " elements", k->elements);
    else
        kn_putf(b, "check     WRONG: %" PRIu64 " of %" PRIu64 " elements are "
                "bad, ", k->bad, k->elements);
    if (k->bad && placed)
        kn_putf(b, "first [%" PRId64 ", %" PRId64 "] is %g, should be %g",
                k->bad_m, k->bad_n, k->bad_got, k->bad_want);
    else if (k->bad)
        kn_putf(b, "the first is %g, should be %g", k->bad_got, k->bad_want);
    kn_putf(b, "; max error %.3g absolute, %.3g relative, worst tile %.3g; "
            "SNR %.1f dB, cosine %.8g\n", k->max_abs, k->max_rel,
            k->max_tile_rel, kn_ref_snr(k), kn_ref_cosine(k));
    if (k->overflowed)
        kn_putf(b, "overflow  %" PRIu64 " elements are NaN where the products "
                "of both signs exceed f32: not bad\n", k->overflowed);
    kn_json_open(j, "check", '{');
    kn_json_bool(j, "ok", !k->bad);
    kn_json_real(j, "max_abs", k->max_abs);
    kn_json_real(j, "max_rel", k->max_rel);
    kn_json_real(j, "max_tile_rel", k->max_tile_rel);
    kn_json_real(j, "snr_db", kn_ref_snr(k));
    kn_json_real(j, "cosine", kn_ref_cosine(k));
    kn_json_uint(j, "overflowed", k->overflowed);
    kn_json_uint(j, "bad", k->bad);
    kn_json_uint(j, "elements", k->elements);
    kn_json_close(j, '}');
}

void
kn_report_run(struct kn_tool *t, struct kn_json *j,
              const struct kn_sim_result *r)
{
    kn_putf(t->text,
            "simulated %" PRIu64 " workgroups, %" PRIu64
            " wave instructions, %" PRIu64 " MACs in %.2f s\n",
            r->workgroups, r->instructions, r->macs, r->seconds);
    put_mfma(t->text, j, r);
    put_findings(t->text, r);
    kn_json_open(j, "findings", '[');
    for (unsigned i = 0; i < r->nkept; i++)
        json_finding(j, r->kernel, &r->findings[i]);
    kn_json_close(j, ']');
    kn_json_open(j, "simulated", '{');
    kn_json_uint(j, "workgroups", r->workgroups);
    kn_json_uint(j, "waves", r->waves);
    kn_json_uint(j, "instructions", r->instructions);
    kn_json_uint(j, "macs", r->macs);
    kn_json_uint(j, "findings", r->nfindings);
    kn_json_uint(j, "advice", r->nadvice);
    kn_json_bool(j, "truncated", r->nkept < r->nfindings + r->nadvice);
    kn_json_real(j, "seconds", r->seconds);
    kn_json_close(j, '}');
}

kiln_status
kn_report_stopped(struct kn_tool *t, struct kn_json *j,
                  const struct kn_sim_result *r)
{
    if (!r->stopped)
        return KILN_OK;
    if (j) {
        kn_report_run(t, j, r);
        kn_json_str(j, "stopped", r->stopped);
    }
    kn_putf(t->text, "stopped   %s\n", r->stopped);
    return kn_fail(t->c, KILN_UNSUPPORTED, "stopped: %s", r->stopped);
}

void
kn_report_add(struct kn_ctx *c, struct kn_sim_result *r,
              const struct kn_finding *f)
{
    struct kn_finding *all = KN_NEW(c, struct kn_finding, r->nkept + 1);
    unsigned at = 0;

    while (at < r->nkept && r->findings[at].severity == KN_SEV_FINDING)
        at++;
    if (at)
        memcpy(all, r->findings, at * sizeof *all);
    if (at < r->nkept)
        memcpy(all + at + 1, r->findings + at, (r->nkept - at) * sizeof *all);
    all[at] = *f;
    r->findings = all;
    r->nkept++;
    r->nfindings++;
}

bool
kn_run_found(const struct kn_tool *t, const struct kn_sim_result *r)
{
    return r->nfindings || (r->nadvice && t->cli->v[KN_FLAG_strict].seen);
}

kiln_status
kn_report_write(struct kn_tool *t, struct kn_json *j)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_json];

    if (!v->seen)
        return KILN_OK;
    if (strcmp(v->s, "-"))
        return kn_file_write(t->c, v->s, j->b.s, j->b.n);
    *t->text = j->b;
    return KILN_OK;
}
