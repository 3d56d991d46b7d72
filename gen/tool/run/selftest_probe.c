/* selftest_probe.c - a probe as a row of selftest: what the simulator makes of
 * it, by each model of a matrix instruction's sums, and what the GPU does. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe.h"
#include "selftest.h"

/* X(id, text): candidates for the sums of a matrix instruction; the first is
 * what the simulator computes unless told otherwise. */
#define MODELS(X) X(CDNA3, "cdna3") X(FUSED, "fused") X(CHAIN, "chain")

static const struct {
    enum kn_mfma_model model;
    const char *name;
} models[] = {
#define X(id, text) { KN_MFMA_##id, text },
    MODELS(X)
#undef X
};
enum { NMODELS = sizeof models / sizeof *models, WAVE = 64,
       GUARD = 256 /* words behind the output, which stay as they are */ };

/* Words that are compared. */
static size_t
words(const struct kn_probe *p)
{
    return (size_t)p->out + GUARD;
}

struct probing {
    struct kn_ctx *c;
    const struct kn_row_test *w;
    struct kn_probe *p;
    const char *kernel;
    struct kn_bytes co;
    struct kn_json j;
    enum kn_mfma_model model; /* of the next run */
    uint32_t *got;           /* by it */
    uint32_t *sim[NMODELS];  /* NULL: not asked */
    uint32_t *gpu;
    uint64_t launches, unequal, findings;
    const struct kn_sim_mfma *quality;
    unsigned fits;           /* bits of models that gave the GPU's words */
    bool bad;
};

/* ---- one launch --------------------------------------------------------- */

static void
fill_byte(void *user, uint64_t at, void *dst, size_t n)
{
    (void)at;
    memset(dst, (int)*(const uint32_t *)user, n);
}

static kiln_status
put_buffers(struct kn_session *s, struct probing *x, uint8_t kernarg[24])
{
    uint32_t *in = KN_NEW(x->c, uint32_t, KN_PROBE_IN);
    uint32_t bytes[2] = { KN_PROBE_IN * 4, x->p->out * 4 };
    uint64_t at[2];

    kn_probe_input(x->p, in);
    KN_TRY(kn_session_table(s, in, bytes[0], &at[0]));
    KN_TRY(kn_session_put(s, &(struct kn_memory){
        .size = words(x->p) * 4, .fill = fill_byte, .user = &x->p->fill }, &at[1]));
    memcpy(kernarg, at, sizeof at);
    memcpy(kernarg + sizeof at, bytes, sizeof bytes);
    return KILN_OK;
}

/* Launches the probe and reads its words into `to`. */
static kiln_status
launch(struct kn_session *s, struct probing *x, struct kn_job *j, uint32_t *to)
{
    size_t n = words(x->p) * 4;
    uint64_t out;

    memcpy(&out, (const uint8_t *)j->l.kernarg + 8, sizeof out);
    fill_byte(&x->p->fill, 0, to, n);
    KN_TRY(s->dev.backend->upload(&s->dev, x->c, (void *)(uintptr_t)out, to,
                                  n));
    KN_TRY(kn_session_run(s, j));
    return kn_session_read(s, out, to, n);
}

/* As often as wanted, each time with the same bytes. */
static kiln_status
launch_all(struct kn_session *s, struct probing *x, struct kn_job *j)
{
    uint32_t *more = KN_NEW(x->c, uint32_t, words(x->p));
    uint32_t times = s->gpu ? x->w->launches : 1;

    KN_TRY(launch(s, x, j, x->got));
    for (uint32_t i = 1; i < times; i++) {
        KN_TRY(launch(s, x, j, more));
        x->unequal += !x->p->shows &&
                      memcmp(more, x->got, words(x->p) * 4) != 0;
    }
    x->launches += s->gpu ? times : 0;
    return KILN_OK;
}

static void
keep_quality(struct probing *x, const struct kn_sim_result *r)
{
    struct kn_sim_mfma *q;

    if (!r->nmfma || x->quality)
        return;
    q = KN_NEW(x->c, struct kn_sim_mfma, 1);
    *q = r->mfma[0];
    q->mnemonic = kn_strdup(x->c, q->mnemonic);
    x->quality = q;
}

static kiln_status
run_on(struct kn_session *s, void *user)
{
    struct probing *x = user;
    uint8_t kernarg[24];
    struct kn_job j = { .l = {
        .kernel = x->kernel, .kernarg = kernarg,
        .kernarg_size = sizeof kernarg, .grid = { x->p->groups, 1, 1 },
        .block = { WAVE, 1, 1 }, .select = { .all = true },
        .mfma = x->model, .own = true,
    } };

    x->got = KN_NEW(x->c, uint32_t, words(x->p));
    KN_TRY(put_buffers(s, x, kernarg));
    KN_TRY(kn_session_load(s, &j, &(struct kn_object_bytes){
        x->kernel, x->co.p, x->co.n }));
    KN_TRY(launch_all(s, x, &j));
    keep_quality(x, &j.result);
    x->findings += j.result.nfindings;
    return KILN_OK;
}

static kiln_status
run_simulator(struct probing *x, int model)
{
    struct kn_place place = { .target = x->p->target };

    x->model = models[model].model;
    KN_TRY(kn_session_do(x->c, &place, run_on, x));
    x->sim[model] = x->got;
    return KILN_OK;
}

static kiln_status
run_gpu(struct probing *x)
{
    const int64_t number = strtol(strchr(x->w->device, ':') + 1, NULL, 10);
    const struct kn_value v = { .i = KN_DEV_HIP, .list = &number };
    struct kn_place place = { 0 };

    KN_TRY(kn_place_open(x->c, &v, &place));
    KN_TRY(kn_session_do(x->c, &place, run_on, x));
    x->gpu = x->got;
    return KILN_OK;
}

/* ---- the verdict -------------------------------------------------------- */

static uint64_t
count_differing(const struct probing *x, const uint32_t *a, const uint32_t *b,
                uint32_t *first)
{
    uint64_t n = 0;

    for (uint32_t i = (uint32_t)words(x->p); i-- > 0;)
        if (a[i] != b[i]) {
            n++;
            *first = i;
        }
    return n;
}

static void
put_hex(struct kn_json *j, const char *key, uint32_t word)
{
    char hex[16];

    snprintf(hex, sizeof hex, "%#" PRIx32, word);
    kn_json_str(j, key, hex);
}

static void
put_difference(struct probing *x)
{
    uint32_t first = 0;
    uint64_t n = count_differing(x, x->gpu, x->sim[0], &first);

    kn_json_uint(&x->j, "elements", words(x->p));
    kn_json_uint(&x->j, "differ", n);
    x->bad |= n != 0;
    if (!n)
        return;
    kn_json_open(&x->j, "first", '{');
    kn_json_uint(&x->j, "element", first);
    put_hex(&x->j, "gpu", x->gpu[first]);
    put_hex(&x->j, "simulator", x->sim[0][first]);
    kn_json_close(&x->j, '}');
}

/* How many words each other model makes other than the first one: a probe in
 * which that is none cannot tell them apart. */
static void
put_models(struct probing *x)
{
    uint32_t at;

    kn_json_open(&x->j, "models", '{');
    for (int i = 1; i < NMODELS; i++)
        kn_json_uint(&x->j, models[i].name,
                     count_differing(x, x->sim[i], x->sim[0], &at));
    kn_json_close(&x->j, '}');
    for (int i = 0; i < NMODELS; i++)
        if (x->gpu && count_differing(x, x->gpu, x->sim[i], &at))
            x->fits &= ~(1u << i);
}

/* The assumption as words, against the simulator's: is it what it says? */
static void
put_assumed(struct probing *x)
{
    uint32_t first = 0;
    bool fine = kn_probe_is_wanted(x->p, x->sim[0], &first);

    if (!x->p->nwant && !x->p->word)
        return;
    kn_json_bool(&x->j, "assumed", fine);
    if (!fine) {
        kn_json_uint(&x->j, "not_at", first);
        put_hex(&x->j, "simulator", x->sim[0][first]);
    }
    x->bad |= !fine;
}

static void
put_run(struct probing *x, const char *data)
{
    kn_json_open(&x->j, NULL, '{');
    kn_json_str(&x->j, "data", data);
    put_assumed(x);
    if (x->gpu && !x->p->shows)
        put_difference(x);
    if (x->sim[1])
        put_models(x);
    if (x->gpu) {
        kn_json_open(&x->j, "trial", '{');
        kn_json_uint(&x->j, "launches", x->launches);
        kn_json_uint(&x->j, "unequal", x->unequal);
        kn_json_close(&x->j, '}');
        x->bad |= x->unequal != 0;
    }
    kn_json_close(&x->j, '}');
    x->launches = x->unequal = 0;
}

/* ---- the row ------------------------------------------------------------ */

static kiln_status
run_once(struct probing *x, const char *data, int nmodels)
{
    for (int i = 0; i < nmodels; i++)
        KN_TRY(run_simulator(x, i));
    if (x->w->device)
        KN_TRY(run_gpu(x));
    put_run(x, data);
    return KILN_OK;
}

static kiln_status
run_matrix(struct probing *x)
{
    kn_probe_matrix_input(x->c, x->p, true);
    KN_TRY(run_once(x, "small integers", NMODELS));
    kn_probe_matrix_input(x->c, x->p, false);
    return run_once(x, "many exponents", NMODELS);
}

/* Which of the models gave all of the GPU's words, of both kinds of data. */
static void
put_fits(struct probing *x)
{
    static const char *const words[] = { "exact", "modelled", "unverified" };

    kn_json_open(&x->j, "arithmetic", '{');
    if (x->quality)
        kn_json_str(&x->j, x->quality->mnemonic, words[x->quality->quality]);
    kn_json_close(&x->j, '}');
    if (!x->gpu || !x->p->matrix)
        return;
    kn_json_open(&x->j, "fits", '[');
    for (int i = 0; i < NMODELS; i++)
        if (x->fits >> i & 1)
            kn_json_str(&x->j, NULL, models[i].name);
    kn_json_close(&x->j, ']');
}

static void
put_shown(struct probing *x)
{
    if (!x->gpu || !x->p->shows)
        return;
    kn_json_str(&x->j, "what", x->p->what);
    kn_json_open(&x->j, "shows", '[');
    for (uint32_t i = 0; i < x->p->shows; i++)
        kn_json_uint(&x->j, NULL, x->gpu[i]);
    kn_json_close(&x->j, ']');
}

static kiln_status
find_probe(struct kn_ctx *c, const struct kn_row *row, struct kn_probe **out)
{
    struct kn_probes all;

    KN_TRY(kn_probes_of(c, row->target, &all));
    for (size_t i = 0; i < all.n; i++)
        if (!strcmp(all.p[i].name, row->command)) {
            *out = &all.p[i];
            return KILN_OK;
        }
    return kn_fail(c, KILN_INTERNAL, "no probe '%s'", row->command);
}

kiln_status
kn_selftest_probe(struct kn_ctx *c, const struct kn_row_test *w,
                  struct kn_buf *out)
{
    struct probing x = { .c = c, .w = w, .j = { .b = { .c = c } },
                         .fits = (1u << NMODELS) - 1 };
    struct timespec from, to;

    clock_gettime(CLOCK_MONOTONIC, &from);
    KN_TRY(find_probe(c, w->row, &x.p));
    KN_TRY(kn_probe_build(c, x.p, &x.kernel, &x.co));
    kn_json_open(&x.j, NULL, '{');
    kn_json_str(&x.j, "row", w->row->name);
    kn_json_str(&x.j, "says", x.p->says);
    kn_json_str(&x.j, "kernel", x.kernel);
    kn_json_open(&x.j, "runs", '[');
    KN_TRY(x.p->matrix ? run_matrix(&x) : run_once(&x, "fixed", 1));
    kn_json_close(&x.j, ']');
    put_fits(&x);
    put_shown(&x);
    kn_json_uint(&x.j, "findings", x.findings);
    x.bad |= x.findings != 0;
    clock_gettime(CLOCK_MONOTONIC, &to);
    kn_json_str(&x.j, "state", x.bad ? "wrong" : "ok");
    kn_json_real(&x.j, "seconds", (double)(to.tv_sec - from.tv_sec) +
                 (double)(to.tv_nsec - from.tv_nsec) * 1e-9);
    kn_json_close(&x.j, '}');
    kn_json_line(&x.j, out);
    return KILN_OK;
}

/* ---- for people --------------------------------------------------------- */

static double
sum_of(json_t *line, const char *object, const char *key)
{
    json_t *run;
    double n = 0;
    size_t i;

    json_array_foreach(json_object_get(line, "runs"), i, run) {
        json_t *of = object ? json_object_get(run, object) : run;

        n += json_number_value(json_object_get(of, key));
    }
    return n;
}

static void
put_models_text(json_t *line, struct kn_buf *b)
{
    json_t *first = json_array_get(json_object_get(line, "runs"), 0);
    json_t *fits = json_object_get(line, "fits"), *v;
    size_t i;

    kn_put(b, "       ");
    if (fits) {
        kn_put(b, json_array_size(fits) ? "fits" : "fits no model");
        json_array_foreach(fits, i, v)
            kn_putf(b, " %s", json_string_value(v));
        if (json_number_value(json_object_get(first, "differ")) > 0)
            kn_put(b, ": small integers differ too, so the lanes do");
        kn_put(b, "; ");
    }
    kn_put(b, "words other than cdna3's:");
    for (int k = 1; k < NMODELS; k++)
        kn_putf(b, "%s %.0f by %s", k > 1 ? "," : "",
                sum_of(line, "models", models[k].name), models[k].name);
    kn_put(b, "\n");
}

static void
put_shown_text(json_t *line, struct kn_buf *b)
{
    json_t *v;
    size_t i;

    kn_putf(b, "       %s:",
            json_string_value(json_object_get(line, "what")));
    json_array_foreach(json_object_get(line, "shows"), i, v)
        kn_putf(b, " %.0f", json_number_value(v));
    kn_put(b, "\n");
}

void
kn_selftest_probe_text(json_t *line, struct kn_buf *b)
{
    json_t *runs = json_object_get(line, "runs");
    json_t *first = json_array_get(runs, 0);

    kn_putf(b, "       %s\n",
            json_string_value(json_object_get(line, "says")));
    if (json_object_get(first, "elements"))
        kn_putf(b, "       %.0f of %.0f words differ, %.0f launches, %.0f "
                "unequal\n", sum_of(line, NULL, "differ"),
                sum_of(line, NULL, "elements"),
                sum_of(line, "trial", "launches"),
                sum_of(line, "trial", "unequal"));
    if (json_object_get(first, "models"))
        put_models_text(line, b);
    if (json_object_get(line, "shows"))
        put_shown_text(line, b);
}
