/* Placed fences: known pipelines give known counts, and on thousands of random
 * programs every placed count is right on every path and is the largest such
 * count. The oracle runs the paths one by one with a real queue. */
#include "../kit/tir.h"

#include <stdio.h>
#include <string.h>

static const char head[] =
    "kernel @f wave gfx950\nshape wm=1 wn=1\narg %A ptr\narg %K i32\n"
    "lds %s side=a elem=bf16 rows=32 cols=32 slots=4\n"
    "%b:s.b1 = eq %K, 0\n%p:s.i64 = addr %A\n%r:rsrc = rsrc %p, 64\n"
    "%lane:v.i32 = lane\n%v:v.i32 = mov 0\n%w:v.i32 = mov 0\n";

static struct kn_fn *
placed(struct kit *k, const char *body)
{
    struct kn_buf b = { .c = &k->c };
    struct kn_fn *f;

    kn_putf(&b, "%s%s", head, body);
    f = kit_parse(k, b.s);
    assert_int_equal(kn_verify(f), KILN_OK);
    assert_int_equal(kn_pass_fence(&f), KILN_OK);
    return f;
}

/* The vm counts of the fences in order, "3 0 12". */
static char *
counts(struct kit *k, const struct kn_fn *f)
{
    struct kn_buf b = { .c = &k->c };

    kn_put(&b, "");
    for (size_t i = 0; i < f->nins; i++)
        if (f->ins[i].op == KN_OP_fence)
            kn_putf(&b, "%s%d", b.n ? " " : "", f->ins[i].attr[KN_A_vm]);
    return b.s;
}

#define DMA(slot) "dma %s[" slot "], 0, %r, %lane bytes=16\n"
#define LDG(reg) "%" reg " = ldg %r, %lane elem=i32\n"

static void
known_pipelines(void **state)
{
    static const struct {
        const char *what, *body, *want;
    } rows[] = {
        { "one slot, two copies later", DMA("0") DMA("1") DMA("1")
          "landed %s[0]\n", "2" },
        { "two slots, filled after the wait",
          DMA("0") DMA("0") "loop\n"
          "landed %s[0]\n" DMA("1") DMA("1") "break %b\n"
          "landed %s[1]\n" DMA("0") DMA("0") "break %b\n"
          "end\n", "0 0" },
        { "two slots, filled before the wait",
          DMA("0") DMA("0") "loop\n"
          DMA("1") DMA("1") "landed %s[0]\nbreak %b\n"
          DMA("0") DMA("0") "landed %s[1]\nbreak %b\n"
          "end\n", "2 2" },
        { "three slots, two in flight",
          DMA("0") DMA("0") DMA("1") DMA("1") "loop\n"
          "landed %s[0]\n" DMA("2") DMA("2") "break %b\n"
          "landed %s[1]\n" DMA("0") DMA("0") "break %b\n"
          "landed %s[2]\n" DMA("1") DMA("1") "break %b\n"
          "end\n", "2 2 2" },
        { "stores count too", DMA("0") "stg %r, %lane, %v elem=i32\n"
          "landed %s[0]\n", "1" },
        { "the shorter branch decides",
          DMA("0") "if %b\n" DMA("1") DMA("2") "else\n" DMA("1") "end\n"
          "landed %s[0]\n", "1" },
        { "a branch without else", DMA("0") "if %b\n" DMA("1") "end\n"
          "landed %s[0]\n", "0" },
        { "already waited for", DMA("0") DMA("1") "fence vm=1\n"
          "landed %s[0]\n", "1" },
        { "waited for on one path only",
          DMA("0") "if %b\nfence vm=0\nend\n" DMA("1") "landed %s[0]\n",
          "0 1" },
        { "never filled", "landed %s[0]\n", "" },
        { "the first turn of a loop has fewer behind it",
          DMA("0") "loop\nlanded %s[0]\n" DMA("0") DMA("1") DMA("2")
          "break %b\nend\n", "0" },
        { "a register at its first use", LDG("v") LDG("w")
          "%w = add %v, 1\n", "0" },
        { "a register behind copies", LDG("v") DMA("0") DMA("0")
          "%w = add %v, 1\n", "2" },
        { "a loaded register that is overwritten", LDG("v") DMA("0")
          "%v = mov 0\n", "1" },
        { "a load into a register being loaded", LDG("v") LDG("v"), "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kit k;
        char *got;

        kit_open(&k);
        got = counts(&k, placed(&k, rows[i].body));
        if (strcmp(got, rows[i].want))
            fail_msg("%s: '%s', not '%s'", rows[i].what, got, rows[i].want);
        kit_close(&k);
    }
}

/* 70 copies later the count is one a 6-bit counter can wait for. */
static void
counts_stay_below_the_counter(void **state)
{
    struct kit k;
    struct kn_buf b = { .c = &k.c };
    char *got;

    (void)state;
    kit_open(&k);
    kn_put(&b, DMA("0"));
    for (int i = 0; i < 70; i++)
        kn_put(&b, DMA("1"));
    kn_put(&b, "landed %s[0]\n");
    got = counts(&k, placed(&k, b.s));
    assert_string_equal(got, "62");
    kit_close(&k);
}

/* Behind its fence `landed` stays for registers that were loaded, and the
 * proof refuses it in front. */
static void
registers_stay_behind(void **state)
{
    struct kn_fn *f;
    struct kit k;
    size_t n;

    (void)state;
    kit_open(&k);
    f = placed(&k, LDG("v") DMA("0") "landed %s[0], %v, %w\n"
                   "%w = add %v, 1\nfence vm=0\n");
    for (n = 0; f->ins[n].op != KN_OP_landed; n++)
        ;
    assert_int_equal(f->ins[n - 1].op, KN_OP_fence);
    assert_int_equal(f->ins[n - 1].attr[KN_A_vm], 0);
    assert_string_equal(kn_val(f, f->ins[n].arg[0])->name, "v");
    assert_int_equal(f->ins[n].arg[1], 0);
    assert_int_equal(kn_prove(f), KILN_OK);
    f->ins[n - 1].attr[KN_A_vm] = 2;
    assert_int_equal(kn_prove(f), KILN_FINDING);
    assert_non_null(strstr(k.c.err.text, "%v may still be loading"));
    kit_close(&k);
}

/* ---- random programs ---- */

struct writer {
    struct kn_buf *b;
    uint64_t *rnd;
    int budget, loops;
};

static void write_block(struct writer *w, int depth, bool in_loop);

static void
write_nested(struct writer *w, int depth, bool in_loop)
{
    if (w->loops && kit_random(w->rnd, 2)) {
        w->loops--;
        kn_put(w->b, "loop\n");
        write_block(w, depth + 1, true);
        kn_put(w->b, "break %b\n");
        write_block(w, depth + 1, true);
        kn_put(w->b, "end\n");
        return;
    }
    kn_put(w->b, "if %b\n");
    write_block(w, depth + 1, in_loop);
    if (kit_random(w->rnd, 2)) {
        kn_put(w->b, "else\n");
        write_block(w, depth + 1, in_loop);
    }
    kn_put(w->b, "end\n");
}

static void
write_block(struct writer *w, int depth, bool in_loop)
{
    for (int n = (int)kit_random(w->rnd, 5); n && w->budget > 0; n--) {
        w->budget--;
        switch (kit_random(w->rnd, 8)) {
        case 0:
        case 1:
        case 2:
            kn_putf(w->b, "dma %%s[%u], 0, %%r, %%lane bytes=16\n",
                    kit_random(w->rnd, 4));
            break;
        case 3:
            kn_putf(w->b, "landed %%s[%u]\n", kit_random(w->rnd, 4));
            break;
        case 4:
            kn_put(w->b, "stg %r, %lane, %lane elem=i32\n");
            break;
        case 5:
            kn_putf(w->b, "fence vm=%u\n", kit_random(w->rnd, 4));
            break;
        case 6:
            if (in_loop)
                kn_put(w->b, "break %b\n");
            break;
        case 7:
            if (depth < 3)
                write_nested(w, depth, in_loop);
            break;
        }
    }
}

/* One path: which way each branch goes. A run asks for choices; when it has
 * none left it adds one. */
struct path {
    uint8_t choice[64];
    int n, used;
};

static int
choose(struct path *p)
{
    if (p->used == p->n && p->n < 64)
        p->choice[p->n++] = 0;
    return p->used < 64 ? p->choice[p->used++] : 1;
}

static bool
next_path(struct path *p)
{
    while (p->n && p->choice[p->n - 1])
        p->n--;
    if (!p->n)
        return false;
    p->choice[p->n - 1] = 1;
    p->used = 0;
    return true;
}

/* The queue of one run: which slot each outstanding operation fills. */
struct run {
    const struct kn_fn *f;   /* with `landed`, before the pass */
    const int *count;        /* by instruction: vm of the placed fence, -1 */
    bool *tight;             /* by instruction: some path needs the count */
    struct path *path;
    int queue[4096], n;
    bool over;
};

static void
retire(struct run *r, int left)
{
    if (r->n > left) {
        memmove(r->queue, r->queue + r->n - left, (size_t)left * sizeof(int));
        r->n = left;
    }
}

static void
landed(struct run *r, size_t at)
{
    int slot = (int)KN_REF_SLOT(r->f->ins[at].arg[0]), behind = -1;

    for (int i = 0; i < r->n; i++)
        if (r->queue[i] == slot)
            behind = r->n - 1 - i;
    if (r->count[at] >= 0)
        retire(r, r->count[at]);
    for (int i = 0; i < r->n; i++)
        if (r->queue[i] == slot)
            fail_msg("line %d: slot %d in flight", r->f->ins[at].at.line,
                     slot);
    if (behind >= 0 && behind == r->count[at])
        r->tight[at] = true;
}

static size_t
skip_block(const struct kn_fn *f, size_t at, bool to_else)
{
    for (int depth = 0;; at++) {
        uint16_t op = f->ins[at].op;

        if (!depth && (op == KN_OP_end || (to_else && op == KN_OP_else)))
            return at;
        depth += op == KN_OP_loop || op == KN_OP_if;
        depth -= op == KN_OP_end;
    }
}

/* Three turns without a break: the path is left here. */
static size_t
run_over(struct run *r)
{
    r->over = true;
    return SIZE_MAX;
}

/* Runs a block; returns the index of its end, or SIZE_MAX after a break. */
static size_t
run_block(struct run *r, size_t at)
{
    for (; at < r->f->nins; at++) {
        const struct kn_ins *i = &r->f->ins[at];
        size_t end;

        switch (i->op) {
        case KN_OP_dma:
            r->queue[r->n++] = (int)KN_REF_SLOT(i->arg[0]);
            break;
        case KN_OP_stg:
            r->queue[r->n++] = -1;
            break;
        case KN_OP_fence:
            retire(r, i->attr[KN_A_vm]);
            break;
        case KN_OP_landed:
            landed(r, at);
            break;
        case KN_OP_break:
            if (choose(r->path))
                return SIZE_MAX;
            break;
        case KN_OP_if:
            end = skip_block(r->f, at + 1, false);
            at = choose(r->path) ? at : skip_block(r->f, at + 1, true);
            at = at == end ? end : run_block(r, at + 1);
            if (at != SIZE_MAX)
                at = end;
            if (at == SIZE_MAX)
                return at;
            break;
        case KN_OP_loop:
            end = skip_block(r->f, at + 1, false);
            for (int turn = 0;; turn++) {
                if (turn == 3)
                    return run_over(r);
                if (run_block(r, at + 1) == SIZE_MAX)
                    break;
            }
            if (r->over)
                return SIZE_MAX;
            at = end;
            break;
        case KN_OP_else:
        case KN_OP_end:
            return at;
        }
    }
    return at;
}

/* Counts of the placed fences, by instruction of the unplaced kernel. */
static void
match_fences(const struct kn_fn *f, const struct kn_fn *g, int *count)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nins; i++) {
        count[i] = -1;
        if (f->ins[i].op == KN_OP_landed) {
            if (n < g->nins && g->ins[n].op == KN_OP_fence &&
                g->ins[n].at.line == f->ins[i].at.line)
                count[i] = g->ins[n++].attr[KN_A_vm];
        } else {
            assert_int_equal(g->ins[n++].op, f->ins[i].op);
        }
    }
    assert_int_equal(n, g->nins);
}

static void
one_program(uint64_t *rnd, int *fences)
{
    struct kit k;
    struct kn_buf b = { .c = &k.c };
    struct writer w = { &b, rnd, 14, 2 };
    struct kn_fn *f;
    struct path p = { .n = 0 };
    int *count, paths = 0;
    bool *tight;

    kit_open(&k);
    kn_put(&b, head);
    write_block(&w, 0, false);
    write_block(&w, 0, false);
    f = kit_parse(&k, b.s);
    count = KN_NEW(&k.c, int, f->nins);
    tight = KN_NEW(&k.c, bool, f->nins);
    match_fences(f, placed(&k, b.s + strlen(head)), count);
    do {
        struct run r = { f, count, tight, &p, { 0 }, 0, false };

        run_block(&r, 0);
    } while (next_path(&p) && ++paths < 3000);
    for (size_t i = 0; i < f->nins; i++)
        if (count[i] >= 0 && paths < 3000) {
            ++*fences;
            if (!tight[i])
                fail_msg("line %d: vm=%d is stronger than any path needs:\n%s",
                         f->ins[i].at.line, count[i], b.s);
        }
    kit_close(&k);
}

static void
random_programs(void **state)
{
    uint64_t rnd = 88172645463325252u;
    int fences = 0;

    (void)state;
    for (int i = 0; i < 20000; i++)
        one_program(&rnd, &fences);
    assert_true(fences > 2000);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_pipelines),
        cmocka_unit_test(counts_stay_below_the_counter),
        cmocka_unit_test(registers_stay_behind),
        cmocka_unit_test(random_programs),
    };

    if (argc > 1)
        kit_set_dir(argv[1]);
    return cmocka_run_group_tests_name("ir-fence", tests, NULL, NULL);
}
