/* Mutants that order nothing wrongly but reach a wave's own bytes of another
 * slot (mutants.h): the proof has nothing to object to. Each is compiled: the
 * check of the final bytes, which knows of fewer own bytes, refuses it, or the
 * simulator runs it and has a finding or another output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mutants.h"
#include "tests/sim/mutate_kit.h"

struct subject {
    struct own own;
    uint8_t *want, *got;
    uint64_t size;
    unsigned tried, refused, told;
};

static bool
run(struct own *o, uint8_t *out)
{
    struct kn_sim_result r;
    struct own_launch l;
    kiln_status s;

    own_launch_open(o, &l);
    l.l.max_steps = 200000;
    s = kn_sim_run(l.sim, &l.l, &r);
    if (!s)
        own_output(&l, out);
    own_launch_close(&l);
    return !s && !r.nfindings;
}

static void
try_mutant(void *user, const struct kn_fn *mutant)
{
    struct subject *s = user;
    struct own o = s->own;
    struct kn_fn f = *mutant;
    struct kn_generated g;

    f.c = &o.c;
    kn_ctx_init(&o.c, NULL, NULL);
    s->tried++;
    if (kn_generate_program(&o.c, &f, NULL, &g) == KILN_FINDING) {
        s->refused++;
        kn_ctx_free(&o.c);
        return;
    }
    assert_int_equal(o.c.err.status, KILN_OK);
    o.co = (uint8_t *)(uintptr_t)g.co;
    o.g.co = g.co;
    o.g.size = g.size;
    o.tool.c = &o.c;
    o.text.c = &o.c;
    s->told += !run(&o, s->got) || memcmp(s->want, s->got, s->size);
    kn_ctx_free(&o.c);
}

static void
wrong_values_are_told(void **state)
{
    static struct subject s;
    struct tally t = { .other_value = try_mutant, .user = &s };
    struct own_launch l;

    (void)state;
    own_open(&s.own, "gemm -m 16 -n 64 -k 168 --a mxfp6 --b mxbf8 --tile "
                     "16x64x32 --waves 1x2 --device sim:gfx942");
    own_launch_open(&s.own, &l);
    s.size = own_output_size(&l);
    own_launch_close(&l);
    s.want = malloc(s.size);
    s.got = malloc(s.size);
    assert_true(s.want && s.got);
    assert_true(run(&s.own, s.want));
    try_mutants(s.own.g.wave, &t);
    print_message("# %u mutants of own bytes: %u refused by the check of the "
                  "final bytes, %u told by the simulator\n", s.tried,
                  s.refused, s.told);
    assert_true(s.tried >= 4);
    assert_int_equal(s.refused + s.told, s.tried);
    free(s.want);
    free(s.got);
    own_close(&s.own);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_values_are_told),
    };

    return cmocka_run_group_tests_name("proof-values", tests, NULL, NULL);
}
