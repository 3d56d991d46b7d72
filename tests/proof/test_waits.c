/* Main loops wait as the program asked: the vmcnt waits of the emitted loop,
 * its barriers and its vector-memory operations are those of the program's
 * loop, with the same counts in the same order. Without arguments a
 * representative part of the mains (kernels.h); `all [OF SHARD]` a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "emit/prove/check.h"
#include "kernels.h"

/* An event is a barrier 'b', a copy to LDS 'd', a load 'l', a store or atomic
 * 's', and the waits in front of it: back to back they are one, as strong as
 * the strongest. */
struct event {
    char what;
    uint8_t vm;              /* 63: none */
    uint8_t waits;
};

struct events {
    uint32_t n;
    struct event *e;
    struct event open;       /* waits with no event behind them yet */
};

static struct events
no_events(struct kn_ctx *c, size_t most)
{
    return (struct events){ 0, KN_NEW(c, struct event, most + 1),
                            { 0, 63, 0 } };
}

static void
add_wait(struct event *e, uint8_t vm)
{
    e->vm = vm < e->vm ? vm : e->vm;
    e->waits++;
}

static void
add_event(struct events *r, char what)
{
    r->e[r->n] = r->open;
    r->e[r->n++].what = what;
    r->open = (struct event){ 0, 63, 0 };
}

/* What is open at the end of a loop stands in front of its first event. */
static void
close_loop(struct events *r)
{
    if (!r->n)
        return;
    r->e[0].vm = r->open.vm < r->e[0].vm ? r->open.vm : r->e[0].vm;
    r->e[0].waits += r->open.waits;
}

/* [from, to) of the loop whose own instructions, without those of inner
 * loops, have the most matrix instructions. */
static bool
program_loop(const struct kn_fn *f, size_t *from, size_t *to)
{
    size_t open[64], own[64] = { 0 }, most = 0;
    bool loop[64];
    int depth = 0;

    for (size_t i = 0; i < f->nins; i++) {
        uint16_t op = f->ins[i].op;

        if (op == KN_OP_loop || op == KN_OP_if) {
            loop[depth] = op == KN_OP_loop;
            own[depth] = 0;
            open[depth++] = i;
        } else if (op == KN_OP_mfma || op == KN_OP_mfmas) {
            for (int d = depth; d-- > 0;)
                if (loop[d]) {
                    own[d]++;
                    break;
                }
        } else if (op == KN_OP_end && loop[--depth] && own[depth] > most) {
            most = own[depth];
            *from = open[depth];
            *to = i;
        }
    }
    return most > 0;
}

static char
asked_event(uint16_t op)
{
    switch (op) {
    case KN_OP_barrier:
    case KN_OP_stagger:
    case KN_OP_rejoin:
        return 'b';
    case KN_OP_dma:
        return 'd';
    case KN_OP_ldg:
        return 'l';
    case KN_OP_stg:
    case KN_OP_atom:
    case KN_OP_arrive:
        return 's';
    }
    return 0;
}

static struct events
asked(const struct kn_fn *f)
{
    struct events r = no_events(f->c, f->nins);
    size_t from = 0, to = 0;

    if (!program_loop(f, &from, &to))
        return r;
    for (size_t i = from; i < to; i++) {
        const struct kn_ins *x = &f->ins[i];

        if (x->op == KN_OP_fence && x->attr[KN_A_vm] < 63)
            add_wait(&r.open, (uint8_t)x->attr[KN_A_vm]);
        else if (asked_event(x->op))
            add_event(&r, asked_event(x->op));
    }
    close_loop(&r);
    return r;
}

static char
emitted_event(const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    if (i->op == KN_I_s_barrier)
        return 'b';
    if (!(row->counter & KN_C_VM))
        return 0;
    if (row->store || row->atomic)
        return 's';
    return i->lds || (row->flags & KN_IF_DMA) ? 'd' : 'l';
}

static void
read_emitted(struct events *r, const struct kn_inst *i)
{
    if (i->op == KN_I_s_waitcnt && i->vm < 63)
        add_wait(&r->open, i->vm);
    else if (emitted_event(i))
        add_event(r, emitted_event(i));
}

/* The last instruction of what n jumps ahead to and what comes back behind n from there, as a
 * rare body does that stands behind the loop; of no such thing the one before its first. */
static int32_t
body_end(const struct kn_program *p, const struct kn_cfg *g, uint32_t loop, int32_t n)
{
    int32_t from = p->inst[n].target, i = from;

    if (from <= n + 1 || (p->inst[from - 1].next == from &&
                          !(kn_isa[p->inst[from - 1].op].flags & KN_IF_JUMP)))
        return from - 1;
    while (kn_loop_contains(g, loop, (uint32_t)i) && !(kn_isa[p->inst[i].op].flags & KN_IF_JUMP))
        i++;
    return kn_loop_contains(g, loop, (uint32_t)i) && p->inst[i].target > n &&
           p->inst[i].target < from ? i : from - 1;
}

/* Such bodies are read where they are jumped to. */
static struct events
emitted(struct kn_ctx *c, const struct kn_program *p)
{
    struct events r = no_events(c, p->n);
    bool *apart = KN_NEW(c, bool, p->n + 1);
    struct kn_cfg g;
    int32_t loop;

    assert_int_equal(kn_cfg_build(c, p, &g), KILN_OK);
    loop = kn_cfg_main_loop(&g);
    for (int32_t n = 0; loop >= 0 && n < (int32_t)p->n; n++) {
        int32_t end;

        if (!kn_loop_contains(&g, (uint32_t)loop, (uint32_t)n) || apart[n])
            continue;
        read_emitted(&r, &p->inst[n]);
        end = body_end(p, &g, (uint32_t)loop, n);
        for (int32_t i = p->inst[n].target; i <= end; i++) {
            read_emitted(&r, &p->inst[i]);
            apart[i] = true;
        }
    }
    close_loop(&r);
    return r;
}

static void
print_events(struct kn_buf *b, const char *title, const struct events *x)
{
    kn_putf(b, "\n#   %s ", title);
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->e[i].vm < 63)
            kn_putf(b, " vm%d(%d)", x->e[i].vm, x->e[i].waits);
        kn_putf(b, "%c", x->e[i].what);
    }
}

static bool
agrees(const struct event *want, const struct event *got)
{
    return want->what == got->what && want->vm == got->vm &&
           got->waits <= want->waits;
}

/* A loop has no beginning: they agree up to where one starts to read it. */
static bool
agree_around(const struct events *want, const struct events *got)
{
    if (want->n != got->n)
        return false;
    for (uint32_t turn = 0; turn < want->n; turn++) {
        uint32_t i = 0;

        while (i < want->n &&
               agrees(&want->e[i], &got->e[(i + turn) % want->n]))
            i++;
        if (i == want->n)
            return true;
    }
    return !want->n;
}

struct result {
    struct digests *seen;
    unsigned kernels, waits, none, differ, refused, lacks_row;
    unsigned by[KN_NLOWERINGS];
};

static void
decode(struct kn_ctx *c, const struct kn_generated *g, struct kn_program *p)
{
    const struct kn_object_kernel *k;
    struct kn_object o;

    assert_int_equal(kn_object_read(c, "k", g->co, g->size, &o), KILN_OK);
    assert_int_equal(kn_object_kernel(c, &o, NULL, &k), KILN_OK);
    assert_int_equal(kn_decode(c, &o, k, true, p), KILN_OK);
}

static void
report_loop(const struct kn_fn *f, const struct events *want,
            const struct events *got)
{
    struct kn_buf b = { .c = f->c };

    print_events(&b, "asked  ", want);
    print_events(&b, "emitted", got);
    print_message("# differs: %s for %s%s\n", f->name,
                  kiln_target_name(f->target), b.s);
}

static void
one_kernel(void *user, const struct made *m)
{
    const struct kn_fn *f = m->f;
    struct result *r = user;
    struct kn_generated g;
    struct events want, got;
    struct kn_program p;
    unsigned lacks = r->lacks_row;

    if (!order_is_new(r->seen, m))
        return;
    if (!generate_made(m, &g, &r->lacks_row)) {
        r->refused += lacks == r->lacks_row;
        return;
    }
    assert_int_equal(g.nwaived, 0);
    decode(f->c, &g, &p);
    want = asked(f);
    got = emitted(f->c, &p);
    r->kernels++;
    r->by[m->config->lowering]++;
    r->none += !want.n;
    for (uint32_t i = 0; i < want.n; i++)
        r->waits += want.e[i].vm < 63;
    if (agree_around(&want, &got))
        return;
    r->differ++;
    report_loop(f, &want, &got);
}

/* ---- it can tell ---- */

static bool
tells(struct kn_ctx *c, const struct kn_program *p, const struct events *want)
{
    struct events got = emitted(c, p);

    return !agree_around(want, &got);
}

/* A wait less, one wider, one narrower, one behind the next instruction that
 * counts, and a barrier less. */
static void
try_changes(struct kn_ctx *c, struct kn_program *p, const struct events *want,
            uint32_t n)
{
    struct kn_inst *i = &p->inst[n], keep = *i, next;
    uint32_t to = n + 1;

    i->op = KN_I_s_nop;
    assert_true(tells(c, p, want));
    if (keep.op == KN_I_s_waitcnt) {
        while (!emitted_event(&p->inst[to]))
            to++;
        next = p->inst[to];
        *i = next;
        p->inst[to] = keep;
        assert_true(tells(c, p, want));
        p->inst[to] = next;
        *i = keep;
        i->vm++;
        assert_true(tells(c, p, want));
        i->vm = keep.vm ? keep.vm - 1 : 62;
        assert_true(tells(c, p, want));
    }
    *i = keep;
}

static void
try_loop(const struct made *m, unsigned *tried)
{
    const struct kn_fn *f = m->f;
    unsigned lacks = 0;
    struct kn_generated g;
    struct kn_program p;
    struct events want;
    struct kn_cfg cfg;
    int32_t loop;

    assert_true(generate_made(m, &g, &lacks));
    decode(f->c, &g, &p);
    want = asked(f);
    assert_false(tells(f->c, &p, &want));
    assert_int_equal(kn_cfg_build(f->c, &p, &cfg), KILN_OK);
    loop = kn_cfg_main_loop(&cfg);
    for (uint32_t n = 0; n < p.n; n++)
        if (kn_loop_contains(&cfg, (uint32_t)loop, n) &&
            (p.inst[n].op == KN_I_s_barrier ||
             (p.inst[n].op == KN_I_s_waitcnt && p.inst[n].vm < 63))) {
            try_changes(f->c, &p, &want, n);
            ++*tried;
        }
}

/* By LLVM, by the assembly lowering, and through packed registers. */
static void
changes_are_told(void **state)
{
    static const struct {
        kiln_target target;
        kiln_layout layout;
        kiln_type type;
        enum kn_lowering lowering;
    } rows[] = {
        { KILN_GFX950, KILN_NT, KILN_FP8, KN_LOWERING_LLVM },
        { KILN_GFX950, KILN_NT, KILN_FP8, KN_LOWERING_ASM },
        { KILN_GFX942, KILN_TN, KILN_BF16, KN_LOWERING_LLVM },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kiln_problem p = { .size = sizeof p, .target = rows[i].target,
                           .layout = rows[i].layout, .a = rows[i].type,
                           .m = 4096, .n = 4096, .k = 8192 };
        struct kn_config g = { .lowering = rows[i].lowering };
        unsigned tried = 0;
        struct kn_ctx c;
        struct kn_fn *f;

        kn_ctx_init(&c, NULL, NULL);
        assert_int_equal(kn_problem_normalise(&c, &p), KILN_OK);
        assert_int_equal(kn_choose(&c, &p, &g, NULL), KILN_OK);
        assert_int_equal(kn_instantiate(&c, &p, &g, &f), KILN_OK);
        assert_int_equal(kn_run_passes(&f, NULL, NULL), KILN_OK);
        try_loop(&(struct made){ f, &p, &g, NULL }, &tried);
        assert_true(tried >= 2);
        kn_ctx_free(&c);
    }
}

/* One in so many, or what was asked for. */
static struct kernels share = { .of = 397, .shard = 3 };

static void
main_loops_wait_as_asked(void **state)
{
    static struct digests seen;
    struct result r = { .seen = &seen };
    struct kernels k = share;

    (void)state;
    k.kernel = one_kernel;
    k.user = &r;
    each_main(&k);
    print_message("# %u mains, %u of them distinct in order (%u by the "
                  "assembly lowering; %u more have an operation it does not "
                  "have), %u without a main loop of matrix instructions: %u "
                  "waits asked for, all there with count and place in %u\n",
                  k.made, r.kernels, r.by[KN_LOWERING_ASM], r.lacks_row,
                  r.none, r.waits, r.kernels - r.differ);
    assert_int_equal(k.refused + r.refused, 0);
    assert_int_equal(r.differ, 0);
    assert_true(r.waits > 0);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told),
        cmocka_unit_test(main_loops_wait_as_asked),
    };

    take_share(&share, argc, argv);
    return cmocka_run_group_tests_name("proof-waits", tests, NULL, NULL);
}
