/* Code objects made by Triton (tests/data/triton) compute their GEMM exactly,
 * odd sizes included, with no finding. */
#include "triton.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *folder;

static void
open_object(struct job *j, const struct object *o)
{
    static uint8_t bytes[1 << 16];

    triton_open(j, o, bytes, triton_read(folder, o, bytes, sizeof bytes));
}

static void
check_run(struct job *j)
{
    struct kn_sim_result r;

    if (kn_sim_run(j->sim, &j->launch, &r))
        fail_msg("%s", j->ctx.err.text);
    for (unsigned k = 0; k < r.nkept; k++)
        print_message("# [%d] 0x%llx wg %llu wave %u lane %d: %s\n",
                      r.findings[k].kind,
                      (unsigned long long)r.findings[k].pc,
                      (unsigned long long)r.findings[k].workgroup,
                      r.findings[k].wave, (int)r.findings[k].lane,
                      r.findings[k].text);
    assert_int_equal(r.nfindings, 0);
    assert_int_equal(kn_sim_unwritten(j->sim, j->c.addr), 0);
    assert_int_equal(triton_wrong(j), 0);
}

static void
runs_right(void **state)
{
    struct job j;

    open_object(&j, *state);
    check_run(&j);
    triton_close(&j);
}

/* Every commit order and wave order gives the same answer. */
static void
every_order(void **state)
{
    (void)state;
    for (int order = 0; order < 3; order++)
        for (int waves = 0; waves < 3; waves++) {
            struct job j;

            open_object(&j, &triton_objects[2]);
            j.launch.order = (enum kn_sim_order)order;
            j.launch.waves = (enum kn_sim_waves)waves;
            j.launch.seed = (uint64_t)(order * 3 + waves);
            check_run(&j);
            triton_close(&j);
        }
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[TRITON_OBJECTS + 1];

    folder = argc > 1 ? argv[1] : "tests/data/triton";
    for (int k = 0; k < TRITON_OBJECTS; k++)
        tests[k] = (struct CMUnitTest){
            triton_objects[k].name, runs_right, NULL, NULL,
            (void *)(uintptr_t)&triton_objects[k] };
    tests[TRITON_OBJECTS] = (struct CMUnitTest)cmocka_unit_test(every_order);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
