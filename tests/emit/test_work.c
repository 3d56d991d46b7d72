/* What the checker does for a kernel grows with the kernel and no faster,
 * whatever its branches are, and LDS order is given up where it would take too
 * long. Counted in instructions looked at, not in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/prove/check.h"
#include "tests/kit/program.h"

struct shape {
    const char *name;
    const char *begin, *turn, *end;  /* %0 the label before, %1 this one, %2
                                      * the one behind the next */
};

static const struct shape shapes[] = {
    { "each over the next", "", "L%1: s_cbranch_scc0 L%2\n", "" },
    { "each over the next, on a mask", "", "L%1: s_cbranch_vccz L%2\n", "" },
    { "masks set on the way", "",
      "L%1: s_mov_b64 vcc, 0\ns_cbranch_scc0 L%2\ns_cbranch_vccnz L%2\n", "" },
    { "from the last to the first", "s_branch LAST\n",
      "L%1: s_cbranch_scc0 L%0\ns_branch L%0\n", "LAST: s_branch L%0\n" },
    { "small loops", "", "L%1: ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n"
      "s_cbranch_scc0 L%1\n", "" },
    { "loads and no wait", "", "L%1: ds_read_b32 v1, v0\n"
      "s_cbranch_scc0 L%2\n", "s_waitcnt lgkmcnt(0)\n" },
};

static void
put_turn(struct kn_buf *b, const char *text, unsigned i)
{
    for (; *text; text++) {
        if (*text != '%')
            kn_putf(b, "%c", *text);
        else
            kn_putf(b, "%u", *++text == '0' ? i - 1 : *text == '1' ? i : i + 2);
    }
}

/* Labels from L0 or L1 on; behind the last turn two that are the end. */
static char *
text_of(struct kn_ctx *c, const struct shape *s, unsigned n)
{
    struct kn_buf b = { .c = c };

    kn_put(&b, s->begin);
    if (strstr(s->turn, "%0"))
        kn_put(&b, "L0: s_endpgm\n");
    for (unsigned i = 1; i <= n; i++)
        put_turn(&b, s->turn, i);
    put_turn(&b, s->end, n + 1);
    if (!strstr(s->turn, "%0"))
        kn_putf(&b, "L%u:\nL%u:\n", n + 1, n + 2);
    kn_put(&b, "s_endpgm\n");
    return b.s;
}

struct looked {
    struct kn_ctx c;
    struct kn_object o;
    struct kn_program p;
    struct kn_check_result r;
    struct kn_order order;
    void *bytes;
};

static void
look_at(struct looked *k, const char *text, unsigned waves)
{
    const struct program_facts facts = { .lds = 4096, .waves = waves };
    const struct kn_object_kernel *kernel;
    size_t size;

    k->bytes = program_object(&facts, text, &size);
    kn_ctx_init(&k->c, NULL, NULL);
    assert_int_equal(kn_object_read(&k->c, "k", k->bytes, size, &k->o),
                     KILN_OK);
    k->o.kernels[0].max_workgroup = 64 * waves;
    assert_int_equal(kn_object_kernel(&k->c, &k->o, NULL, &kernel), KILN_OK);
    assert_int_equal(kn_decode(&k->c, &k->o, kernel, false, &k->p), KILN_OK);
    assert_int_equal(kn_check_program(&k->c, &k->p, NULL, &k->r), KILN_OK);
    assert_int_equal(kn_order_check(&k->c, &k->p, &k->order), KILN_OK);
}

static void
leave(struct looked *k)
{
    kn_ctx_free(&k->c);
    free(k->bytes);
}

static uint64_t
work_of(const struct shape *s, unsigned n)
{
    struct looked k;
    struct kn_ctx c;
    uint64_t work;

    kn_ctx_init(&c, NULL, NULL);
    look_at(&k, text_of(&c, s, n), 1);
    assert_false(k.r.undecided);
    assert_true(k.p.n > n);
    work = k.r.work;
    leave(&k);
    kn_ctx_free(&c);
    return work;
}

static void
work_grows_with_the_branches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint64_t few = work_of(&shapes[i], 500);
        uint64_t many = work_of(&shapes[i], 4000);

        print_message("# %s: %llu and %llu instructions looked at for 500 and "
                      "4,000\n", shapes[i].name, (unsigned long long)few,
                      (unsigned long long)many);
        assert_in_range(many, few, 9 * few);
        assert_in_range(many, 4000, 200 * 4000);
    }
}

/* A single block of LDS accesses: each is held against each. */
static void
order_is_given_up(void **state)
{
    struct kn_ctx c;
    struct kn_buf b = { .c = &c };
    struct looked k;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    for (unsigned i = 0; i < 20000; i++)
        kn_putf(&b, "ds_read_b32 v2, v1 offset:%u\n", 4 * (i % 500));
    kn_put(&b, "s_waitcnt lgkmcnt(0)\ns_endpgm\n");
    look_at(&k, b.s, 4);
    assert_true(k.order.undecided);
    assert_non_null(strstr(k.order.why, "more work than"));
    assert_in_range(k.order.work, KN_ORDER_WORK,
                    KN_ORDER_WORK + KN_ORDER_WORK / 64);
    leave(&k);
    kn_ctx_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_grows_with_the_branches),
        cmocka_unit_test(order_is_given_up),
    };

    return cmocka_run_group_tests_name("emit-work", tests, NULL, NULL);
}
