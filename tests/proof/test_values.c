/* Mutants to which the proof has nothing to object (mutants.h), compiled. One
 * that reaches another slot, whose bytes are there and stay, is refused by the
 * check of the final bytes, which knows of fewer own bytes, or the simulator
 * has a finding or another output; one that changes the turns of the halves of a
 * ping-pong kernel runs without a finding to the same output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mutants.h"
#include "tests/kit/kernel.h"
#include "values.h"

struct subject {
    struct own own;
    uint8_t *want, *got;
    uint64_t size;
    unsigned every, met;     /* of the mutants of a large kernel */
    unsigned tried, refused, told, stored;
    struct values v;         /* of the kernel */
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

/* The mutant's object in a copy of the subject; false: refused. */
static bool
compile(const struct subject *s, const struct kn_fn *mutant, struct own *o)
{
    struct kn_fn f = *mutant;
    struct kn_generated g;

    *o = s->own;
    kn_ctx_init(&o->c, NULL, NULL);
    f.c = o->tool.c = o->text.c = &o->c;
    if (kn_generate_program(&o->c, &f, NULL, &g) == KILN_FINDING)
        return false;
    if (o->c.err.status)
        fail_msg("%s", o->c.err.text);
    o->co = (uint8_t *)(uintptr_t)g.co;
    o->g.co = g.co;
    o->g.size = g.size;
    return true;
}

static bool
as_before(struct subject *s, struct own *o)
{
    return run(o, s->got) && !memcmp(s->want, s->got, s->size);
}

static bool
try_value(void *user, const struct kn_fn *mutant)
{
    struct subject *s = user;
    struct own o;

    if (s->met++ % s->every)
        return false;
    s->tried++;
    s->stored += stores_otherwise(&s->v, mutant->ins);
    if (compile(s, mutant, &o))
        s->told += !as_before(s, &o);
    else
        s->refused++;
    kn_ctx_free(&o.c);
    return true;
}

static void
try_turn(void *user, const struct kn_fn *mutant)
{
    struct subject *s = user;
    struct own o;

    s->tried++;
    assert_true(compile(s, mutant, &o));
    s->told += !as_before(s, &o);
    kn_ctx_free(&o.c);
}

static void
subject_open(struct subject *s, const char *words)
{
    struct own_launch l;

    memset(s, 0, sizeof *s);
    own_open(&s->own, words);
    own_launch_open(&s->own, &l);
    s->size = own_output_size(&l);
    own_launch_close(&l);
    s->want = malloc(s->size);
    s->got = malloc(s->size);
    assert_true(s->want && s->got);
    assert_true(run(&s->own, s->want));
}

static void
subject_close(struct subject *s)
{
    free(s->want);
    free(s->got);
    own_close(&s->own);
}

static const struct work {
    const char *words;
    unsigned every;
} own_bytes = { "gemm -m 16 -n 64 -k 168 --a mxfp6 --b mxbf8 --tile 16x64x32 "
                "--waves 1x2 --device sim:gfx942", 1 },
  factors = { "gemm -m 256 -n 256 -k 2048 --a mxfp8 --tile 256x256x128 --waves "
              "2x4 --schedule 8-wave --device sim:gfx950", 24 };

static void
wrong_values_are_told(void **state)
{
    const struct work *w = *state;
    static struct subject s;
    struct tally t = { .other_value = try_value, .user = &s };
    struct proof *p;

    subject_open(&s, w->words);
    s.every = w->every;
    assert_int_equal(proof_prepare(s.own.g.wave, &p), KILN_OK);
    values_of(p, &s.v);
    try_mutants(s.own.g.wave, &t);
    print_message("# %u of %u mutants of another slot: %u refused by the check "
                  "of the final bytes, %u told by the simulator, %u by what "
                  "they store\n", s.tried, s.met, s.refused, s.told, s.stored);
    assert_true(s.tried >= 3);
    assert_int_equal(s.stored, s.tried);
    assert_int_equal(s.refused + s.told, s.tried);
    subject_close(&s);
}

/* Both slots hold the same bytes, or not: `%s` is what comes between. */
static const char two_slots[] =
    "kernel @two wave gfx950\n"
    "shape bm=64 bn=64 bk=64 wm=1 wn=1 mfma=bf16.16x16x32 ta=bf16 tb=bf16\n"
    "arg %%A ptr\n"
    "lds %%s side=a elem=bf16 rows=64 cols=8 slots=2\n"
    "%%lane:v.i32 = lane\n"
    "%%here:v.i32 = shl %%lane, 4\n"
    "%%at:v.i32 = mov %%here\n"
    "%%a:s.i64 = addr %%A\n"
    "%%r:rsrc = rsrc %%a, 4096\n"
    "dma %%s[0], 0, %%r, %%at bytes=16\n"
    "%s\n"
    "dma %%s[1], 0, %%r, %%at bytes=16\n"
    "fence vm=0\n"
    "barrier\n"
    "%%x:v.i32 = lds.ld %%s[0], %%here elem=i32\n"
    "stg %%r, %%here, %%x elem=i32\n";

static bool
told_by_its_store(const char *between)
{
    char text[sizeof two_slots + 128];
    struct kn_ins *ins;
    struct values v;
    struct proof *p = NULL;
    struct kn_ctx c;
    struct kn_fn *f;
    bool told;

    snprintf(text, sizeof text, two_slots, between);
    kn_ctx_init(&c, NULL, NULL);
    if (kn_parse_text(&c, "two", text, &f) || proof_prepare(f, &p) ||
        proof_order(p))
        fail_msg("line %d: %s", c.err.line, c.err.text);
    values_of(p, &v);
    ins = KN_NEW(&c, struct kn_ins, f->nins);
    memcpy(ins, f->ins, f->nins * sizeof *ins);
    assert_false(stores_otherwise(&v, ins));
    for (size_t i = 0; i < f->nins; i++)
        if (ins[i].op == KN_OP_lds_ld)
            ins[i].arg[0] ^= 1;
    told = stores_otherwise(&v, ins);
    kn_ctx_free(&c);
    return told;
}

static void
bytes_of_one_address_are_one(void **state)
{
    (void)state;
    assert_false(told_by_its_store(""));
    assert_false(told_by_its_store("%at = add %at, 0"));
    assert_false(told_by_its_store("%at = add %at, 64\n"
                                   "%at = sub %at, 32\n"
                                   "%at = sub %at, 32"));
    assert_true(told_by_its_store("%at = add %at, 1024"));
    assert_true(told_by_its_store("%r = rsrc %a, 2048"));
}

/* Without a barrier or wait that keeps turns: order and numbers stay. */
static void
turns_order_nothing(void **state)
{
    static struct subject s;
    struct tally t = { .other_turn = try_turn, .user = &s };

    subject_open(&s, *state);
    try_mutants(s.own.g.wave, &t);
    print_message("# %u mutants that keep turns, %u told by the simulator\n",
                  s.tried, s.told);
    assert_true(s.tried >= 4);
    assert_int_equal(s.told, 0);
    subject_close(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_one_address_are_one),
        cmocka_unit_test_prestate(wrong_values_are_told,
                                  (void *)(uintptr_t)&own_bytes),
        cmocka_unit_test_prestate(wrong_values_are_told,
                                  (void *)(uintptr_t)&factors),
        cmocka_unit_test_prestate(turns_order_nothing, (void *)(uintptr_t)
            "gemm -m 256 -n 256 -k 320 --a bf16 --tile 256x256x64 --waves 2x4 "
            "--schedule 8-wave --device sim:gfx950"),
        cmocka_unit_test_prestate(turns_order_nothing, (void *)(uintptr_t)
            "gemm -m 512 -n 256 -k 192 --a bf16 --tile 256x256x64 --waves 2x4 "
            "--schedule 8-wave --cus 1 --device sim:gfx950"),
    };

    return cmocka_run_group_tests_name("proof-values", tests, NULL, NULL);
}
