/* generate.c - the pipeline on one screen: problem to code object. */

#include "../emit/prove/cert.h"
#include "../emit/emit.h"
#include "../emit/isa/object.h"
#include "../emit/prove/gates.h"
#include "forms.h"
#include "instantiate.h"
#include "template/template.h"

#include <string.h>

struct watcher {
    struct kn_ctx *c;
    const struct kn_watch *watch;
    struct kn_generated *out;
};

static void
on_pass(void *user, char letter, const struct kn_fn *f)
{
    struct watcher *w = user;
    struct kn_buf b = { .c = w->c };

    if (!w->watch || !w->watch->stage)
        return;
    kn_print(f, &b);
    w->watch->stage(w->watch->user, letter, b.s);
}

/* The first finding of the static checker is why the kernel does not leave. */
static kiln_status
check_bytes(struct kn_ctx *c, struct kn_generated *g,
            const struct kn_program *p, const struct kn_slots *slots)
{
    struct kn_check_result r;

    KN_TRY(kn_check_program(c, p, slots, &r));
    g->early = r.wait_states;
    if (r.undecided)
        return kn_fail(c, KILN_FINDING, "check of %s: %s", g->name, r.why);
    if (r.nfindings)
        return kn_fail(c, KILN_FINDING, "check of %s: %s", g->name,
                       r.finding[0].text);
    return KILN_OK;
}

/* Gates (emit/prove/gates.def), static check and certificate of the final bytes. */
static kiln_status
prove_bytes(struct kn_ctx *c, struct kn_generated *g)
{
    struct kn_gate_plan plan = kn_gate_demand(c, g->wave);
    struct kn_buf cert = { .c = c };
    const struct kn_object_kernel *k;
    struct kn_slots slots;
    struct kn_program p;
    struct kn_object o;

    KN_TRY(kn_object_read(c, g->name, g->co, g->size, &o));
    KN_TRY(kn_object_kernel(c, &o, NULL, &k));
    KN_TRY(kn_decode(c, &o, k, true, &p));
    g->waived = plan.waived;
    g->nwaived = plan.nwaived;
    KN_TRY(kn_gates_check(c, &p, &plan));
    KN_TRY(kn_cert_accesses(c, &p, g->wave, &g->lines, &slots));
    KN_TRY(check_bytes(c, g, &p, &slots));
    kn_cert_write(&p, g->wave, &g->lines, &slots, &cert);
    g->certificate = cert.s;
    return KILN_OK;
}

/* The program after the passes as bytes; settled: KN_EMIT_SETTLED or 0. */
static kiln_status
assemble(struct kn_ctx *c, const struct kn_watch *watch, unsigned settled,
         struct kn_generated *out)
{
    unsigned want = watch ? watch->want : KN_WANT_CO;
    unsigned texts = (want & KN_WANT_LLVM ? KN_EMIT_LLVM : 0) |
                     (want & KN_WANT_ASM ? KN_EMIT_ASM : 0);
    double start = kn_seconds();
    struct kn_emitted e = { 0 };
    uint8_t *co;

    KN_TRY((out->cfg.lowering == KN_LOWERING_ASM ? kn_emit_asm : kn_emit)(
        c, out->wave, texts | settled, &e));
    out->emit_ms = (kn_seconds() - start) * 1e3;
    out->llvm = e.llvm;
    out->assembly = e.assembly;
    KN_TRY(kn_lines_read(c, e.rel, e.rel_size, &out->lines));
    KN_TRY((watch && watch->link ? watch->link : kn_object_link)(
        c, e.rel, e.rel_size, &co, &out->size));
    if (watch && watch->source) {
        KN_TRY(kn_debug_of(c, out, watch->source, &out->debug));
        KN_TRY(kn_object_debug(c, out->debug, &co, &out->size));
    }
    if (out->stamp)
        KN_TRY(kn_object_stamp(c, out->stamp, &co, &out->size));
    out->co = co;
    out->compilations = 1;
    return KILN_OK;
}

static kiln_status
try_bytes(struct kn_ctx *c, const struct kn_watch *watch, unsigned settled,
          struct kn_generated *out)
{
    double start = kn_seconds();
    kiln_status s;

    KN_TRY(assemble(c, watch, settled, out));
    s = prove_bytes(c, out);
    out->prove_ms = (kn_seconds() - start) * 1e3 - out->emit_ms;
    return s;
}

/* Bytes that are proven. LLVM looks for wait states on the first way back to a
 * block that it finds, not on the shortest: what reads a matrix result early is
 * made once more with wait states behind every loop. */
static kiln_status
build(struct kn_ctx *c, const struct kn_watch *watch,
      struct kn_generated *out)
{
    kiln_status s = try_bytes(c, watch, 0, out);

    if (s != KILN_FINDING || !out->early ||
        out->cfg.lowering == KN_LOWERING_ASM)
        return s;
    memset(&c->err, 0, sizeof c->err);
    return try_bytes(c, watch, KN_EMIT_SETTLED, out);
}

static kiln_status
finish(struct kn_ctx *c, const struct kn_watch *watch, double start,
       struct kn_generated *out)
{
    struct watcher w = { c, watch, out };

    out->wave = out->tile;
    KN_TRY(kn_run_passes(&out->wave, on_pass, &w));
    out->name = out->wave->name;
    if (!watch || watch->want != KN_WANT_TIR)
        KN_TRY(build(c, watch, out));
    out->ms = (kn_seconds() - start) * 1e3;
    return KILN_OK;
}

kiln_status
kn_generate_program(struct kn_ctx *c, struct kn_fn *f,
                    const struct kn_watch *watch, struct kn_generated *out)
{
    *out = (struct kn_generated){ .tile = f };
    if (watch)
        out->cfg.lowering = watch->lowering;
    return finish(c, watch, kn_seconds(), out);
}

/* The kernel of out->cfg. */
static kiln_status
make(struct kn_ctx *c, const kiln_problem *p, const struct kn_watch *watch,
     double start, struct kn_generated *out)
{
    *out = (struct kn_generated){ .cfg = out->cfg };
    KN_TRY(kn_instantiate(c, p, &out->cfg, &out->tile));
    out->stamp = kn_stamp_write(c, p, &out->cfg);
    return finish(c, watch, start, out);
}

/* After a refusal by the assembly lowering that nobody asked for, which has not
 * the registers or an operation: the same kernel is LLVM's to lower, with one K tile
 * in registers on its way. */
static bool
left_to_llvm(struct kn_ctx *c, const kiln_problem *p,
             const struct kn_config *asked, struct kn_config *g)
{
    struct kn_config other = *g;

    other.lowering = KN_LOWERING_LLVM;
    if (!asked->stages && kn_ahead(p, g) > 1)
        other.stages = 2;
    if (c->err.status != KILN_UNSUPPORTED || asked->lowering ||
        g->lowering != KN_LOWERING_ASM || !kn_form_allows(p, &other))
        return false;
    memset(&c->err, 0, sizeof c->err);
    c->crowded = false;
    *g = other;
    return true;
}

/* The last choice, when LLVM has not the registers for it either and nobody asked
 * for a lowering: the assembly lowering spills nothing, or refuses. */
static kiln_status
spare_registers(struct kn_ctx *c, const kiln_problem *p,
                const struct kn_watch *watch, double start,
                struct kn_generated *out)
{
    const struct kn_generated last = *out;
    const kiln_error refusal = c->err;
    kiln_status s;

    memset(&c->err, 0, sizeof c->err);
    out->cfg.lowering = KN_LOWERING_ASM;
    s = kn_form_check(c, p, &out->cfg);
    if (!s)
        s = make(c, p, watch, start, out);
    if (s) {
        *out = last;
        c->err = refusal;
    }
    return s;
}

kiln_status
kn_generate(struct kn_ctx *c, const kiln_problem *problem,
            const struct kn_config *given, const struct kn_watch *watch,
            struct kn_generated *out)
{
    const struct kn_refused *before = c->refused;
    struct kn_config asked = given ? *given : (struct kn_config){ 0 };
    kiln_problem p = *problem;
    double start = kn_seconds();
    kiln_status s;

    if (watch && watch->want & KN_WANT_LLVM && !asked.lowering)
        asked.lowering = KN_LOWERING_LLVM;
    *out = (struct kn_generated){ .cfg = asked };
    KN_TRY(kn_problem_normalise(c, &p));
    KN_TRY(kn_choose(c, &p, &out->cfg, NULL));
    do
        s = make(c, &p, watch, start, out);
    while (s && (left_to_llvm(c, &p, &asked, &out->cfg) ||
                 kn_choose_next(c, &p, &asked, &out->cfg)));
    if (s && c->crowded && !asked.lowering &&
        out->cfg.lowering == KN_LOWERING_LLVM)
        s = spare_registers(c, &p, watch, start, out);
    out->refused = c->refused;
    c->refused = before;
    return s ? c->err.status : KILN_OK;
}

/* ---- a kernel of somebody's own: one text of tile IR, in the template language
 * (docs/ir.md), that uses no other file ---- */

static kiln_status
open_text(struct kn_ctx *c, const void *user, const char *name,
          const char **file, const char **text)
{
    *file = "tile IR";
    *text = user;
    return !*name ? KILN_OK
                  : kn_fail(c, KILN_BAD_INPUT, "tile IR that is no file uses "
                            "no template beside it, such as '%s'", name);
}

kiln_status
kn_generate_text(struct kn_ctx *c, const char *text, struct kn_generated *out)
{
    struct kn_library lib = { text, KILN_BAD_INPUT, open_text, kn_no_fact };
    struct kn_watch watch = { 0 };
    struct kn_fn *f;

    KN_TRY(kn_template_read(c, &lib, "", &f));
    return kn_generate_program(c, f, &watch, out);
}
