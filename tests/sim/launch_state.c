/* What a launch provides and refuses: registers, arguments, workgroup ids,
 * selection, limits, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

#define END "s_endpgm\n"
#define STORE "global_store_dword v1, v2, s[6:7]\n"
#define WAIT "s_waitcnt vmcnt(0) lgkmcnt(0)\n"

static void
run_ok(struct program *p)
{
    program_run(p);
    if (p->status)
        fail_msg("%s", p->ctx.err.text);
    for (unsigned k = 0; k < p->result.nkept; k++)
        print_message("%s\n", p->result.findings[k].text);
    assert_int_equal(p->result.nfindings, 0);
}

static void
copies_a_buffer(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "global_load_dword v2, v1, s[4:5]\n" WAIT STORE
                 END);
    run_ok(&p);
    for (unsigned k = 0; k < 64; k++)
        assert_int_equal(program_out(&p, k), k);
    assert_int_equal(p.result.workgroups, 1);
    assert_int_equal(p.result.waves, 1);
    assert_int_equal(p.result.instructions, 8);
    assert_true(kn_sim_written(p.sim, p.out, 256));
    assert_false(kn_sim_written(p.sim, p.out, 257));
    program_close(&p);
}

/* VSKIP leaves vector instructions out, memory and counters included. */
static void
skips_vector_code(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "v_mov_b32_e32 v2, 7\ns_mov_b32 s8, 2\n"
                 "s_setvskip s8, 1\nv_mov_b32_e32 v2, 9\n"
                 "v_readfirstlane_b32 s8, v2\n"
                 "global_load_dword v2, v1, s[4:5]\n"
                 "ds_read_b32 v2, v1\n"
                 "s_setvskip s8, 0\ns_add_u32 s9, s8, 0\n"
                 "v_add_u32_e32 v2, s9, v2\n" STORE END);
    run_ok(&p);
    for (unsigned k = 0; k < 64; k++)
        assert_int_equal(program_out(&p, k), 9);
    program_close(&p);
}

/* Workgroup id x arrives behind the user SGPRs, in s2. */
#define BY_GROUP \
    "s_lshl_b32 s8, s2, 8\nv_add_u32_e32 v1, s8, v1\n" \
    "v_mov_b32_e32 v2, s2\n" STORE END

static void
workgroup_ids(void **state)
{
    const struct program_facts f = { .groups = 5 };
    struct program p;

    (void)state;
    program_open(&p, &f, BY_GROUP);
    run_ok(&p);
    for (unsigned g = 0; g < 5; g++)
        assert_int_equal(program_out(&p, 64 * g + 63), g);
    program_close(&p);
}

static void
selected_groups_only(void **state)
{
    static const uint64_t ids[] = { 3, 1 };
    const struct program_facts f = { .groups = 5 };
    struct program p;

    (void)state;
    program_open(&p, &f, BY_GROUP);
    p.launch.select.all = false;
    p.launch.select.ids = ids;
    p.launch.select.n = 2;
    run_ok(&p);
    assert_int_equal(p.result.workgroups, 2);
    assert_int_equal(program_out(&p, 64 * 3), 3);
    assert_int_equal(program_out(&p, 64), 1);
    assert_false(kn_sim_written(p.sim, p.out + 256 * 2, 256));
    program_close(&p);
}

static void
last_wave_is_partial(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "v_mov_b32_e32 v2, 1\n" STORE END);
    p.launch.block[0] = 70;
    run_ok(&p);
    assert_int_equal(p.result.waves, 2);
    assert_true(kn_sim_written(p.sim, p.out, 70 * 4));
    assert_int_equal(kn_sim_unwritten(p.sim, p.out),
                     PROGRAM_BYTES - 70 * 4);
    program_close(&p);
}

/* Preloaded kernel arguments follow the user SGPRs; the entry moves by 256
 * bytes, past the code for firmware that does not preload. */
static void
kernarg_preload(void **state)
{
    const struct program_facts f = { .preload = 4 };
    struct program p;

    (void)state;
    program_open_bare(&p, &f, "s_endpgm\n.fill 63, 4, 0xbf800000\n"
                      "v_lshlrev_b32_e32 v1, 2, v0\nv_mov_b32_e32 v2, s6\n"
                      "global_store_dword v1, v2, s[4:5]\n" END);
    run_ok(&p);
    assert_int_equal(program_out(&p, 0), 0);  /* s6: workgroup id */
    assert_true(kn_sim_written(p.sim, p.out, 256));
    program_close(&p);
}

static void
refused(struct program *p, const char *part)
{
    program_run(p);
    assert_int_equal(p->status, KILN_BAD_INPUT);
    if (!strstr(p->ctx.err.text, part))
        fail_msg("%s", p->ctx.err.text);
    program_close(p);
}

static void
refuses_bad_shapes(void **state)
{
    static const uint64_t far[] = { 1 };
    struct program p;

    (void)state;
    program_open(&p, NULL, END);
    p.launch.block[0] = 1025;
    refused(&p, "1024");
    program_open(&p, NULL, END);
    p.launch.grid[1] = 0;
    refused(&p, "dimension y");
    program_open(&p, NULL, END);
    p.launch.grid[0] = 1u << 27;
    refused(&p, "2^32");
    program_open(&p, NULL, END);
    p.launch.select.all = false;
    p.launch.select.ids = far;
    p.launch.select.n = 1;
    refused(&p, "workgroup 1");
    /* 384 registers: one wave on each of the four SIMDs */
    program_open(&p, NULL, END);
    p.launch.block[0] = 320;
    refused(&p, "do not fit");
}

static void
refuses_too_much_lds(void **state)
{
    const struct program_facts f950 = { .lds = 1024 };
    const struct program_facts f942 = { .lds = 1024, .target = KILN_GFX942 };
    struct program p;

    (void)state;
    program_open(&p, &f950, END);
    p.launch.dynamic_lds = 163840 - 1024;
    run_ok(&p);
    program_close(&p);
    program_open(&p, &f950, END);
    p.launch.dynamic_lds = 163840 - 1023;
    refused(&p, "163840");
    program_open(&p, &f942, END);
    p.launch.dynamic_lds = 65536 - 1023;
    refused(&p, "65536");
}

static void
names_what_it_cannot_do(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "ds_gws_barrier v0 gds\n" END);
    program_run(&p);
    assert_int_equal(p.status, KILN_UNSUPPORTED);
    assert_non_null(strstr(p.ctx.err.text, "ds_gws_barrier"));
    program_close(&p);
    program_open(&p, NULL, "s_mov_b32 s8, s4\ns_or_b32 s9, s5, 0x80000000\n"
                 "s_mov_b32 s10, -1\ns_mov_b32 s11, 0x20000\n"
                 "buffer_load_dword v2, v1, s[8:11], 0 offen\n" END);
    program_run(&p);
    assert_int_equal(p.status, KILN_UNSUPPORTED);
    assert_non_null(strstr(p.ctx.err.text, "swizzled"));
    program_close(&p);
}

/* Executing past the end is an error, not a crash. */
static void
runs_off_the_end(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "s_nop 0\n");
    refused(&p, "last instruction");
}

/* ---- threads ------------------------------------------------------------ */

static const char messy[] =
    "s_cmp_lt_u32 s2, 40\ns_cbranch_scc1 .Lok\n" /* groups 40.. misbehave */
    "global_load_dword v2, v1, s[4:5]\nv_add_u32_e32 v3, 1, v2\n" WAIT
    "v_mov_b32_e32 v4, 0x10000\nglobal_load_dword v5, v4, s[4:5]\n" WAIT
    ".Lok:\ns_lshl_b32 s8, s2, 8\nv_add_u32_e32 v1, s8, v1\n"
    "v_mov_b32_e32 v2, s2\n" STORE END;

static void
same_for_any_thread_count(void **state)
{
    const struct program_facts f = { .groups = 64 };
    struct kn_finding first[8];

    (void)state;
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct program p;

        program_open(&p, &f, messy);
        p.launch.threads = threads;
        program_run(&p);
        assert_int_equal(p.status, KILN_OK);
        assert_int_equal(p.result.nfindings, 2);
        assert_int_equal(p.result.findings[0].workgroup, 40);
        assert_int_equal(p.result.findings[0].count, 24);
        if (threads == 1)
            memcpy(first, p.result.findings, 2 * sizeof *first);
        assert_memory_equal(first, p.result.findings, 2 * sizeof *first);
        program_close(&p);
    }
}

static void
first_error_wins(void **state)
{
    const struct program_facts f = { .groups = 64 };

    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct program p;

        program_open(&p, &f, "s_cmp_lt_u32 s2, 7\ns_cbranch_scc1 .Lok\n"
                     "s_trap 3\n.Lok:\n" END);
        p.launch.threads = threads;
        program_run(&p);
        assert_int_equal(p.status, KILN_FINDING);
        assert_non_null(strstr(p.ctx.err.text, "workgroup 7,"));
        program_close(&p);
    }
}

static void
keeps_as_many_as_asked(void **state)
{
    const struct program_facts f = { .groups = 64 };
    struct program p;

    (void)state;
    program_open(&p, &f, messy);
    p.launch.max_findings = 1;
    program_run(&p);
    assert_int_equal(p.result.nfindings, 2);
    assert_int_equal(p.result.nkept, 1);
    program_close(&p);
}

static void
count_progress(void *user, uint64_t done, uint64_t total)
{
    uint64_t *seen = user;

    assert_true(done <= total);
    assert_int_equal(total, 64);
    seen[0]++;
    seen[1] = done;
}

static void
reports_progress(void **state)
{
    const struct program_facts f = { .groups = 64 };
    uint64_t seen[2] = { 0 };
    struct program p;

    (void)state;
    program_open(&p, &f, BY_GROUP);
    p.launch.progress = count_progress;
    p.launch.progress_user = seen;
    run_ok(&p);
    assert_int_equal(seen[0], 64);
    assert_int_equal(seen[1], 64);
    program_close(&p);
}

/* ---- device memory ------------------------------------------------------ */

static void
allocations(void **state)
{
    uint64_t a, b;
    uint32_t v = 0;
    struct program p;

    (void)state;
    program_open(&p, NULL, END);
    assert_int_equal(kn_sim_alloc(p.sim, (uint64_t)1 << 42, 0, NULL, NULL,
                                  &a), KILN_OK);
    assert_int_equal(kn_sim_alloc(p.sim, 3, 0, NULL, NULL, &b), KILN_OK);
    assert_int_equal(a & 255, 0);
    assert_true(b >= a + ((uint64_t)1 << 42) + 65536);
    v = 7;                   /* far into the terabytes, across a page edge */
    assert_int_equal(kn_sim_write(p.sim, a + ((uint64_t)1 << 41) + 0xfffe, &v,
                                  4), KILN_OK);
    v = 0;
    assert_int_equal(kn_sim_read(p.sim, a + ((uint64_t)1 << 41) + 0xfffe, &v,
                                 4), KILN_OK);
    assert_int_equal(v, 7);
    assert_true(kn_sim_written(p.sim, a + ((uint64_t)1 << 41) + 0xfffe, 4));
    assert_false(kn_sim_written(p.sim, a, 4));
    assert_int_equal(kn_sim_write(p.sim, b, &v, 4), KILN_BAD_INPUT);
    p.ctx.err.status = KILN_OK;
    assert_int_equal(kn_sim_free(p.sim, b), KILN_OK);
    assert_int_equal(kn_sim_free(p.sim, b), KILN_BAD_INPUT);
    p.ctx.err.status = KILN_OK;
    assert_int_equal(kn_sim_alloc(p.sim, 0, 0, NULL, NULL, &b),
                     KILN_BAD_INPUT);
    program_close(&p);
}

/* Arguments are where the first launch left them: a device is reusable. */
static void
launches_repeat(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "global_load_dword v2, v1, s[4:5]\n" WAIT
                 "v_add_u32_e32 v2, 1, v2\n" STORE END);
    run_ok(&p);
    p.args[0] = p.out;
    run_ok(&p);
    assert_int_equal(program_out(&p, 3), 5);
    program_close(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_a_buffer),
        cmocka_unit_test(skips_vector_code),
        cmocka_unit_test(workgroup_ids),
        cmocka_unit_test(selected_groups_only),
        cmocka_unit_test(last_wave_is_partial),
        cmocka_unit_test(kernarg_preload),
        cmocka_unit_test(refuses_bad_shapes),
        cmocka_unit_test(refuses_too_much_lds),
        cmocka_unit_test(names_what_it_cannot_do),
        cmocka_unit_test(runs_off_the_end),
        cmocka_unit_test(same_for_any_thread_count),
        cmocka_unit_test(first_error_wins),
        cmocka_unit_test(keeps_as_many_as_asked),
        cmocka_unit_test(reports_progress),
        cmocka_unit_test(allocations),
        cmocka_unit_test(launches_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
