/* Every kernel of a sample of `kilnc list` proves, with its shape domain
 * declared; `all [OF SHARD]` takes the whole list or a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels.h"

static struct kernels share = { .of = 997 };

static void
has_a_domain(void *user, const struct made *m)
{
    struct kn_range_facts r;
    unsigned *offsets = user;

    assert_int_equal(kn_prove_ranges(m->f, &r), KILN_OK);
    assert_true(r.declared && r.offsets && r.records);
    *offsets += r.offsets;
}

static void
every_kernel_proves(void **state)
{
    unsigned offsets = 0;
    struct kernels k = share;

    (void)state;
    k.kernel = has_a_domain;
    k.user = &offsets;
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

    take_share(&share, argc, argv);
    return cmocka_run_group_tests_name("proof-ranges", tests, NULL, NULL);
}
