/* test_isolate.c - a child that works, fails, or dies. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../runtime/isolate.h"

static int touched;

static kiln_status
works(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    (void)c;
    touched = 1;
    puts("what a child prints is not seen");
    kn_putf(out, "%s and %d", (const char *)user, 12);
    return KILN_OK;
}

static kiln_status
fails(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    (void)user;
    (void)out;
    return kn_fail(c, KILN_UNSUPPORTED, "there is no such thing");
}

static kiln_status
runs_out(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    (void)user;
    (void)out;
    KN_NEW(c, double, SIZE_MAX / 8);
    return KILN_OK;
}

static kiln_status
aborts(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    (void)c;
    (void)user;
    (void)out;
    fputs("LLVM ERROR: cannot select\nmore\n", stderr);
    signal(SIGABRT, SIG_DFL);
    abort();
}

static kiln_status
leaves(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    (void)c;
    (void)user;
    (void)out;
    _exit(70);
}

static kiln_status
call_in(struct kn_ctx *c, kn_isolated_fn *fn, struct kn_bytes *out)
{
    KN_ENTER(c);
    return kn_isolate(c, fn, (void *)"eleven", out);
}

static void
expect(kn_isolated_fn *fn, kiln_status want, const char *text)
{
    struct kn_bytes out = { NULL, 0 };
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(call_in(&c, fn, &out), want);
    if (want && !strstr(c.err.text, text))
        fail_msg("%s", c.err.text);
    if (!want)
        assert_string_equal((const char *)out.p, text);
    kn_ctx_free(&c);
}

static void
result_comes_back(void **state)
{
    (void)state;
    expect(works, KILN_OK, "eleven and 12");
    assert_int_equal(touched, 0);
}

static void
error_comes_back(void **state)
{
    (void)state;
    expect(fails, KILN_UNSUPPORTED, "there is no such thing");
    expect(runs_out, KILN_NO_MEMORY, "memory");
}

static void
death_is_a_status(void **state)
{
    (void)state;
    expect(aborts, KILN_INTERNAL, "signal 6 (Aborted): LLVM ERROR: cannot "
           "select");
    expect(leaves, KILN_INTERNAL, "ended with status 70");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_comes_back),
        cmocka_unit_test(error_comes_back),
        cmocka_unit_test(death_is_a_status),
    };

    return cmocka_run_group_tests_name("runtime-isolate", tests, NULL, NULL);
}
