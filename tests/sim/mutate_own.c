/* Binary mutation of our own kernels: each s_waitcnt, s_barrier and s_nop is
 * overwritten with `s_nop 0`, one at a time. A finding, an error or another
 * output detects it. Each survivor must have a reason that is worked out from
 * the executed instructions alone (mutate_trace.h); one that has none, or
 * that no launch executes, fails, and so does a detected wait that has one.
 *
 * usage: mutate_own [full [PATTERN]]    full: every kernel of the table */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/prove/cert.h"
#include "emit/prove/check.h"
#include "../kit/kernel.h"
#include "mutate_trace.h"

#define NOP 0xbf800000u
enum { MAX_LAUNCHES = 8, MAX_STEPS = 200000 };

/* Launches of one kernel: together they execute all of it. */
struct subject {
    bool full;
    const char *words[MAX_LAUNCHES];
};

static const struct subject subjects[] = {
#define K(...) { false, { __VA_ARGS__ } },
#define FULL(...) { true, { __VA_ARGS__ } },
#include "mutate_own.def"
#undef K
#undef FULL
};
enum { NSUBJECTS = sizeof subjects / sizeof subjects[0] };

struct launch {
    struct own own;
    struct trace trace;
    uint8_t *want, *got;     /* output, right and of a mutant */
    uint64_t size;
};

static bool
run_launch(struct launch *x, uint8_t *out)
{
    struct own_launch l;
    struct kn_sim_result r;
    kiln_status s;

    own_launch_open(&x->own, &l);
    l.l.max_steps = MAX_STEPS;
    s = kn_sim_run(l.sim, &l.l, &r);
    if (!s)
        own_output(&l, out);
    own_launch_close(&l);
    return !s && !r.nfindings;
}

static void
launch_open(struct launch *x, const char *words)
{
    struct own_launch l;

    own_open(&x->own, words);
    own_launch_open(&x->own, &l);
    x->size = own_output_size(&l);
    x->want = malloc(x->size);
    x->got = malloc(x->size);
    assert_true(x->want && x->got);
    trace_record(&x->trace, &x->own.c, l.sim, &l.l, &x->own.program);
    own_launch_close(&l);
    assert_true(run_launch(x, x->want));
}

static void
launch_close(struct launch *x)
{
    trace_free(&x->trace);
    free(x->want);
    free(x->got);
    own_close(&x->own);
}

static bool
is_fence(const struct kn_inst *i)
{
    return (i->op == KN_I_s_waitcnt || i->op == KN_I_s_barrier ||
            i->op == KN_I_s_nop) && i->raw[0] != NOP;
}

/* With the instruction gone: does the launch report or compute otherwise? */
static bool
detects(struct launch *x, const struct kn_inst *i)
{
    uint8_t *at = own_code(&x->own, i->pc);
    uint32_t nop = NOP;
    bool same;

    memcpy(at, &nop, 4);
    same = run_launch(x, x->got) && !memcmp(x->got, x->want, x->size);
    memcpy(at, i->raw, 4);
    return !same;
}

/* The weakest reason of all launches: one they all share. */
static enum reason
why_harmless(const struct launch *x, unsigned n, uint32_t inst)
{
    enum reason why = R_UNREACHED;

    for (unsigned k = 0; k < n; k++) {
        const struct trace *t = &x[k].trace;
        uint16_t op = t->program->inst[inst].op;
        enum reason r = op == KN_I_s_waitcnt ? trace_wait(t, inst)
                        : op == KN_I_s_barrier ? trace_barrier(t, inst)
                                               : R_MATTERS;

        if (r == R_MATTERS)
            return r;
        if (r != R_UNREACHED && (why == R_UNREACHED || r > why))
            why = r;
    }
    return why;
}

/* The same of what the bytes tell without a certificate, halves' barriers
 * included: registers, LDS order. */
static bool
bytes_find(struct own *o, uint32_t inst)
{
    struct kn_inst *i = &o->program.inst[inst], keep = *i;
    struct kn_check_result r;
    struct kn_order order;

    if (i->op == KN_I_s_nop)
        return true;
    i->op = KN_I_s_nop;
    i->nopnd = 0;
    assert_int_equal(kn_check_program(&o->c, &o->program, NULL, &r), KILN_OK);
    assert_int_equal(kn_order_check(&o->c, &o->program, &order), KILN_OK);
    *i = keep;
    return r.nfindings || order.nfindings || !kn_order_decided(&order);
}

struct tally {
    unsigned total, killed, unproven, unseen, by_reason[NREASONS];
    unsigned contradicted;   /* detected although there is a reason */
};

static void
print_survivor(const struct launch *x, uint32_t inst, enum reason why,
               bool hit)
{
    const struct kn_inst *i = &x->own.program.inst[inst];
    char text[80];

    kn_inst_text(x->own.program.target, i, text, sizeof text);
    print_message("#   0x%llx %s: %s%s\n", (unsigned long long)i->pc, text,
                  hit ? "DETECTED, but " : "", reason_text[why]);
}

/* The certificate's replay on the bytes without the wait or barrier: what the
 * simulator detects it must find. A wait state is not its business; bytes
 * without the barrier of one half do not fit the certificate to begin with
 * (tests/tool/run/pingpong.test). */
static bool
replay_finds(struct own *o, uint32_t inst)
{
    struct kn_inst *i = &o->program.inst[inst], keep = *i;
    struct kn_check_result r;
    struct kn_slots slots;

    if (i->op == KN_I_s_nop)
        return true;
    assert_int_equal(kn_cert_read(&o->c, o->g.certificate,
                                  strlen(o->g.certificate), &o->program,
                                  &slots), KILN_OK);
    if (slots.access[inst].kind >= KN_ACC_STAGGER)
        return true;
    i->op = KN_I_s_nop;
    i->nopnd = 0;
    assert_int_equal(kn_check_program(&o->c, &o->program, &slots, &r),
                     KILN_OK);
    *i = keep;
    return r.nfindings > 0;
}

static void
mutate(struct launch *x, unsigned n, struct tally *t)
{
    const struct kn_program *p = &x[0].own.program;

    for (uint32_t inst = p->entry; inst < p->n; inst++) {
        bool hit = false;
        enum reason why;

        if (!is_fence(&p->inst[inst]))
            continue;
        for (unsigned k = 0; k < n && !hit; k++)
            hit = detects(&x[k], &p->inst[inst]);
        why = why_harmless(x, n, inst);
        t->total++;
        t->killed += hit;
        if (hit && !replay_finds(&x[0].own, inst)) {
            t->unproven++;
            print_message("# the certificate's replay misses 0x%llx\n",
                          (unsigned long long)p->inst[inst].pc);
        }
        if (hit && !bytes_find(&x[0].own, inst)) {
            t->unseen++;
            print_message("# the bytes alone do not tell 0x%llx\n",
                          (unsigned long long)p->inst[inst].pc);
        }
        /* Without a barrier the waves pair all later ones otherwise: where
         * halves run apart it may be missed though nothing is beside it. */
        if (hit && (why == R_MATTERS || why == R_ONE_SIDED ||
                    why == R_READS_ONLY))
            continue;
        t->contradicted += hit;
        t->by_reason[why] += !hit;
        print_survivor(x, inst, why, hit);
    }
}

static void
mutate_kernel(void **state)
{
    const struct subject *s = *state;
    struct launch x[MAX_LAUNCHES];
    struct tally t = { 0 };
    unsigned n = 0, ordering;

    memset(x, 0, sizeof x);
    for (; n < MAX_LAUNCHES && s->words[n]; n++) {
        launch_open(&x[n], s->words[n]);
        assert_int_equal(x[n].own.g.size, x[0].own.g.size);
        assert_memory_equal(x[n].own.co, x[0].own.co, x[0].own.g.size);
    }
    mutate(x, n, &t);
    print_message("# %u of %u detected: %s\n", t.killed, t.total,
                  s->words[0]);
    while (n)
        launch_close(&x[--n]);
    ordering = t.total - t.by_reason[R_ONE_SIDED] -
               t.by_reason[R_OTHERS_SUFFICE];
    assert_true(t.total > 8 && t.killed > ordering / 2);
    assert_int_equal(t.by_reason[R_MATTERS], 0);
    assert_int_equal(t.contradicted, 0);
    assert_int_equal(t.by_reason[R_UNREACHED], 0);
    assert_int_equal(t.unproven, 0);
    assert_int_equal(t.unseen, 0);
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[NSUBJECTS];
    bool full = argc > 1 && !strcmp(argv[1], "full");
    size_t n = 0;

    for (size_t k = 0; k < NSUBJECTS; k++)
        if (full || !subjects[k].full)
            tests[n++] = (struct CMUnitTest){
                subjects[k].words[0], mutate_kernel, NULL, NULL,
                (void *)(uintptr_t)&subjects[k] };
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return _cmocka_run_group_tests("mutate_own", tests, n, NULL, NULL);
}
