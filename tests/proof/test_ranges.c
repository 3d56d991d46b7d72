/* Every kernel of a sample of `kilnc list` proves, with its shape domain
 * declared; `all` takes the whole list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kernels.h"

static unsigned of = 997;

static void
has_a_domain(void *user, const struct kn_fn *f)
{
    struct kn_range_facts r;
    unsigned *offsets = user;

    assert_int_equal(kn_prove_ranges(f, &r), KILN_OK);
    assert_true(r.declared && r.offsets && r.records);
    *offsets += r.offsets;
}

static void
every_kernel_proves(void **state)
{
    unsigned offsets = 0;
    struct kernels k = { .of = of, .kernel = has_a_domain, .user = &offsets };

    (void)state;
    each_kernel(&k);
    print_message("# %u kernels, %u offsets proven, %u kernels refused\n",
                  k.made, offsets, k.refused);
    assert_int_equal(k.refused, 0);
    assert_true(k.made > 50);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_kernel_proves) };

    if (argc > 1 && !strcmp(argv[1], "all"))
        of = 1;
    return cmocka_run_group_tests_name("proof-ranges", tests, NULL, NULL);
}
