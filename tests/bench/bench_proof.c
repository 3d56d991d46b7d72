/* bench_proof - what proof and checks cost of a generation: processor time of
 * the fence and range proof, and of decoding, gates, checks and certificate
 * on the final bytes, against the whole. Medians; fails where they are 20 %
 * of a generation or more. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emit/prove/cert.h"
#include "emit/prove/gates.h"
#include "gen/gen.h"

enum { RUNS = 7, MOST_PERCENT = 20 };

static const struct work {
    const char *name;
    kiln_problem p;
} works[] = {
#define P(type, ...) { .size = sizeof(kiln_problem), .target = KILN_GFX950, \
                       .a = KILN_##type, .m = 8192, .n = 8192, __VA_ARGS__ }
    { "bf16", P(BF16, .k = 8192) },
    { "fp8", P(FP8, .k = 8192) },
    { "mxfp8", P(MXFP8, .k = 8192) },
    { "mxfp4", P(MXFP4, .k = 8192) },
    { "fp8 row, K tail", P(FP8, .k = 8200, .scale = KILN_SCALE_ROW) },
    { "bf16 wgrad", P(BF16, .k = 8192, .family = KILN_WGRAD,
                      .layout = KILN_TN, .groups = 8) },
    { "bf16 grouped", P(BF16, .k = 8192, .family = KILN_GROUPED,
                        .groups = 8) },
    { "bf16 gfx942", { .size = sizeof(kiln_problem), .target = KILN_GFX942,
                       .a = KILN_BF16, .m = 8192, .n = 8192, .k = 8192 } },
};

struct spent {
    double whole, proof, bytes;
};

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void
must(struct kn_ctx *c, kiln_status s)
{
    if (s) {
        fprintf(stderr, "%s\n", c->err.text);
        exit(1);
    }
}

/* What the pipeline does with the bytes, again (gen/generate.c). */
static void
check_bytes(struct kn_ctx *c, const struct kn_generated *g)
{
    struct kn_gate_plan plan = kn_gate_demand(c, g->wave);
    struct kn_buf cert = { .c = c };
    const struct kn_object_kernel *k;
    struct kn_check_result r;
    struct kn_program p;
    struct kn_object o;
    struct kn_slots slots;

    must(c, kn_object_read(c, g->name, g->co, g->size, &o));
    must(c, kn_object_kernel(c, &o, NULL, &k));
    must(c, kn_decode(c, &o, k, true, &p));
    must(c, kn_gates_check(c, &p, &plan));
    must(c, kn_cert_accesses(c, &p, g->wave, &g->lines, &slots));
    must(c, kn_check_program(c, &p, &slots, &r));
    kn_cert_write(&p, g->wave, &g->lines, &slots, &cert);
}

static struct spent
once(const struct work *w)
{
    struct kn_generated g;
    struct spent s;
    struct kn_ctx c;
    double t;

    kn_ctx_init(&c, NULL, NULL);
    t = now_ms();
    must(&c, kn_generate(&c, &w->p, NULL, NULL, &g));
    s.whole = now_ms() - t;
    t = now_ms();
    must(&c, kn_prove(g.wave));
    s.proof = now_ms() - t;
    t = now_ms();
    check_bytes(&c, &g);
    s.bytes = now_ms() - t;
    kn_ctx_free(&c);
    return s;
}

static int
by_share(const void *a, const void *b)
{
    const struct spent *x = a, *y = b;
    double p = (x->proof + x->bytes) / x->whole;
    double q = (y->proof + y->bytes) / y->whole;

    return (p > q) - (p < q);
}

int
main(void)
{
    bool ok = true;

    once(&works[0]);         /* LLVM is loaded and warm */
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        struct spent t[RUNS], *m = &t[RUNS / 2];
        double share;

        for (int r = 0; r < RUNS; r++)
            t[r] = once(&works[i]);
        qsort(t, RUNS, sizeof *t, by_share);
        share = 100 * (m->proof + m->bytes) / m->whole;
        ok &= share < (double)MOST_PERCENT;
        printf("%-16s %7.1f ms, proof %5.1f ms, bytes %5.1f ms: %4.1f %%\n",
               works[i].name, m->whole, m->proof, m->bytes, share);
    }
    return !ok;
}
