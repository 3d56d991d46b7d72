/* Every kernel of a sample of `kilnc list` proves, with its shape domain
 * declared; `all [OF SHARD]` takes the whole list or a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "kernels.h"

static struct kernels share = { .of = 997 };

struct proven {
    unsigned offsets, records, guards;
};

static void
has_a_domain(void *user, const struct made *m)
{
    struct kn_range_facts r;
    struct proven *p = user;

    assert_int_equal(kn_prove_ranges(m->f, &r), KILN_OK);
    assert_true(r.declared && r.offsets && r.records);
    p->offsets += r.offsets;
    p->records += r.records;
    p->guards += r.guards;
}

/* What there is so far, should the rest take too long. */
static void
print_part(void *user, const struct kernels *k, const char *name)
{
    const struct proven *p = user;

    print_message("# up to %s: %u kernels, %u distinct, %u offsets, %u "
                  "refused\n", name, k->made, k->distinct, p->offsets,
                  k->refused);
    fflush(stdout);
}

static void
every_kernel_proves(void **state)
{
    struct proven p = { 0 };
    struct kernels k = share;

    (void)state;
    k.kernel = has_a_domain;
    k.part = share.of == 1 ? print_part : NULL;
    k.user = &p;
    each_kernel(&k);
    print_message("# %u kernels, %u of them distinct but for their names: %u "
                  "offsets, %u record counts proven, %u clamps that bound what "
                  "may wrap, %u kernels refused\n", k.made, k.distinct,
                  p.offsets, p.records, p.guards, k.refused);
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
