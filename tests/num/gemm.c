/* Dense GEMM: every pair of types, layout and scale, on edge shapes. Each
 * kernel is compiled once and launched on all of its shapes.
 *
 * usage: gemm TARGET [some|full]   some: a fifth of the kernels; full: the
 * whole product of the edge sizes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../kit/sweep.h"

static const int64_t edges[] = { 1, 15, 16, 17, 127, 128, 129, 300 };
static const int64_t depths[] = { 1, 31, 32, 33, 100, 128, 160, 513 };

enum { NEDGES = 8 };

/* Data that must be exact, normal numbers, and any finite code of the small
 * types, where sums stay far from the end of f32. */
static enum kn_data_mode
data_mode(const struct num_variant *v, uint32_t salt)
{
    bool small = kn_ref_type_bits(v->p.a) <= 8 &&
                 v->p.scale <= KILN_SCALE_ROW && v->p.out == KILN_F32 &&
                 v->p.a == KILN_FP8 && v->p.b == KILN_FP8;

    return salt % 2 == 0 ? KN_DATA_EXACT
         : small && salt % 4 == 1 ? KN_DATA_BITS : KN_DATA_RANDOM;
}

static void
run_shape(struct num_kernel *k, const struct num_variant *v,
          const int64_t mnk[3], char *text)
{
    uint32_t salt = v->number + (uint32_t)(mnk[0] + 3 * mnk[1] + 7 * mnk[2]);
    struct num_job j = { .mode = data_mode(v, salt), .seed = salt };

    j.p.m = mnk[0];
    j.p.n = num_class_n(v, mnk[1]);
    j.p.k = num_class_k(v, mnk[2]);
    j.p.alpha = 0.5f;
    num_align(v, salt, &j);
    num_try(k, &j, text);
}

/* Without `full`, a part of the product in which, over the variants, every
 * pair of sizes meets; the large tile gets fewer. */
static bool
chosen(const struct num_variant *v, uint32_t i, uint32_t j, uint32_t l)
{
    uint32_t part = v->domain == NUM_STRONG ? 8 : 4;

    if (v->full)
        return true;
    return l == (i + j + v->number) % NEDGES &&
           (i + 2 * j + v->number / 3) % part == 0;
}

static void
run_variant(void **state)
{
    const struct num_variant *v = *state;
    static const int64_t none[][3] = { { 0, 16, 32 }, { 16, 0, 32 },
                                       { 17, 18, 0 }, { 0, 0, 0 } };
    struct kn_config g = num_config(v);
    struct num_kernel k;
    char text[900] = "";

    if (!num_open(&k, v->counts, &v->p, &g))
        snprintf(text, sizeof text, "no kernel: %s", k.c.err.text);
    for (uint32_t i = 0; k.code && i < NEDGES * NEDGES * NEDGES; i++) {
        uint32_t a = i / NEDGES / NEDGES, b = i / NEDGES % NEDGES;
        const int64_t mnk[] = { edges[a], edges[b], depths[i % NEDGES] };

        if (chosen(v, a, b, i % NEDGES))
            run_shape(&k, v, mnk, text);
    }
    for (size_t i = 0; k.code && i < sizeof none / sizeof *none; i++)
        if (v->domain != NUM_WHOLE)
            run_shape(&k, v, none[i], text);
    num_close(&k);
    if (*text)
        fail_msg("%s", text);
}

static void
add_kind(void *user, const kiln_problem *p)
{
    struct num_variants *s = user;
    bool mixed = num_is_mx(p->b) && p->a != p->b && !s->full;

    for (int d = 0; d < NUM_NCLASSES; d++)
        if (!mixed || d == NUM_WEAK || d == NUM_STRONG)
            num_add(s, *p, (enum num_class)d);
}

int
main(int argc, char **argv)
{
    static struct num_counts counts;
    static struct num_variants s = { .counts = &counts };

    s.target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                      : KILN_GFX950;
    s.full = argc > 2 && !strcmp(argv[2], "full");
    s.every = num_every(argc, argv);
    num_each_kind(s.target, KILN_GEMM, add_kind, &s);
    return num_run_variants(&s, "gemm", run_variant);
}
