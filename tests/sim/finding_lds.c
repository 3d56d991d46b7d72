/* Races on LDS between waves: each detector fires, its clean twin does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

#define END "s_endpgm\n"
#define WAIT "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
#define SYNC WAIT "s_barrier\n"
#define STORE "global_store_dword v1, v2, s[6:7]\n"
#define OTHER "v_xor_b32_e32 v4, 0x100, v1\n" /* the other wave's dword */

static const struct program_facts two = { .lds = 4096, .waves = 2 };
static const struct program_facts one = { .lds = 4096 };

static void
twin(const char *bad, const char *good, enum kn_finding_kind kind)
{
    program_fires(&two, bad, kind);
    program_clean(&two, good);
}

/* One missing barrier makes each wave see the other's misdeed its own way. */
static void
twin_among(const char *bad, const char *good, enum kn_finding_kind kind)
{
    assert_true(program_findings(&two, bad, kind) > 0);
    program_clean(&two, good);
}

static void
read_after_write(void **state)
{
#define RAW(sync) \
    OTHER "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" sync \
    "ds_read_b32 v2, v4\n" WAIT STORE END
    (void)state;
    twin_among(RAW(WAIT), RAW(SYNC), KN_F_LDS_RACE_RAW);
}

/* Both waves write first; then one reads what the other overwrites. */
static void
write_after_read(void **state)
{
#define WAR(sync) \
    OTHER "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" SYNC \
    "ds_read_b32 v2, v4\n" WAIT sync "ds_write_b32 v1, v2\n" WAIT STORE END
    (void)state;
    twin_among(WAR(""), WAR("s_barrier\n"), KN_F_LDS_RACE_WAR);
}

/* A byte was read: writes of it or of the dword race with that, writes of the
 * bytes beside it only with reads of the dword, before the byte's or after. */
static void
write_after_part_read(void **state)
{
#define BYTE "ds_read_u8 v2, v4\n" WAIT
#define DWORD "ds_read_b32 v5, v4\n" WAIT
#define PART(reads, write) \
    OTHER "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" SYNC reads write \
    WAIT STORE END
    (void)state;
    twin_among(PART(BYTE, "ds_write_b8 v1, v3\n"),
               PART(BYTE, "s_barrier\nds_write_b8 v1, v3\n"),
               KN_F_LDS_RACE_WAR);
    twin_among(PART(BYTE, "ds_write_b32 v1, v3\n"),
               PART(BYTE, "s_barrier\nds_write_b32 v1, v3\n"),
               KN_F_LDS_RACE_WAR);
    program_clean(&two, PART(BYTE, "ds_write_b8 v1, v3 offset:1\n"));
    assert_true(program_findings(&two, PART(DWORD BYTE,
                "ds_write_b8 v1, v3 offset:1\n"), KN_F_LDS_RACE_WAR) > 0);
    assert_true(program_findings(&two, PART(BYTE DWORD,
                "ds_write_b8 v1, v3 offset:1\n"), KN_F_LDS_RACE_WAR) > 0);
}

/* What a byte read sees of another wave's write that is not ordered before. */
static void
part_read_after_write(void **state)
{
#define SEEN(sync) \
    OTHER "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" SYNC BYTE "s_barrier\n" \
    "ds_write_b32 v1, v3\n" sync BYTE STORE END
    (void)state;
    twin_among(SEEN(WAIT), SEEN(SYNC), KN_F_LDS_RACE_RAW);
}

static void
write_after_write(void **state)
{
#define WAW(sync) \
    "v_mov_b32_e32 v3, 9\nv_and_b32_e32 v4, 0xff, v1\n" \
    "v_readfirstlane_b32 s8, v1\ns_cmp_eq_u32 s8, 0\n" \
    "s_cbranch_scc0 .Lsecond\nds_write_b32 v4, v3\n" sync "s_branch .Lgo\n" \
    ".Lsecond:\n" sync "ds_write_b32 v4, v3\n.Lgo:\n" SYNC \
    "ds_read_b32 v2, v4\n" WAIT STORE END
    (void)state;
    twin(WAW(""), WAW(SYNC), KN_F_LDS_RACE_WAW);
}

/* A read that was issued but not waited for is still in the queue at the
 * barrier: the other wave's write behind the barrier may come first. */
static void
read_in_flight_at_barrier(void **state)
{
#define FLIGHT(before, after) \
    OTHER "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" SYNC \
    "ds_read_b32 v2, v4\n" before "s_barrier\n" after \
    "ds_write_b32 v1, v3\n" WAIT STORE END
    (void)state;
    twin(FLIGHT("", WAIT), FLIGHT(WAIT, ""), KN_F_LDS_RACE_WAR);
}

static void
refill_under_reader(void **state)
{
#define FILL \
    "v_readfirstlane_b32 s8, v1\ns_mov_b32 m0, s8\ns_nop 4\n" \
    "global_load_lds_dword v1, s[4:5]\n"
#define REFILL(sync) \
    OTHER FILL SYNC "ds_read_b32 v2, v4\n" WAIT sync \
    "global_load_lds_dword v1, s[4:5]\n" WAIT STORE END
    (void)state;
    twin_among(REFILL(""), REFILL("s_barrier\n"), KN_F_LDS_REFILL);
}

/* An LDS write and a copy of one wave are in different queues. */
static void
copy_over_own_write(void **state)
{
#define MIX(sync) \
    "v_mov_b32_e32 v3, 9\ns_mov_b32 m0, 0\nds_write_b32 v1, v3\n" sync \
    "global_load_lds_dword v1, s[4:5]\n" WAIT "ds_read_b32 v2, v1\n" WAIT \
    STORE END
    (void)state;
    program_fires(&one, MIX(""), KN_F_LDS_RACE_WAW);
    program_clean(&one, MIX("s_waitcnt lgkmcnt(0)\n"));
}

/* Two waves that write different halves of one dword do not race. */
static void
halves_of_a_dword(void **state)
{
    (void)state;
    program_clean(&two, "v_and_b32_e32 v4, 0xff, v1\n"
                  "v_and_b32_e32 v5, 0x100, v1\nv_lshrrev_b32_e32 v5, 7, v5\n"
                  "v_add_u32_e32 v5, v4, v5\nv_mov_b32_e32 v3, 9\n"
                  "ds_write_b16 v5, v3\n" SYNC "ds_read_b32 v2, v4\n" WAIT
                  STORE END);
    program_fires(&two, "v_and_b32_e32 v5, 0xff, v1\nv_mov_b32_e32 v3, 9\n"
                  "ds_write_b16 v5, v3\nds_write_b16 v5, v3 offset:2\n" SYNC
                  "ds_read_b32 v2, v5\n" WAIT STORE END, KN_F_LDS_RACE_WAW);
}

/* Atomics on one dword do not race with each other, but with a write. */
static void
atomics(void **state)
{
#define COUNT(update) \
    "v_mov_b32_e32 v3, 1\nv_mov_b32_e32 v4, 0\nds_write_b32 v1, v4\n" SYNC \
    update SYNC "ds_read_b32 v2, v4\n" WAIT STORE END
    (void)state;
    program_clean(&two, COUNT("ds_add_u32 v4, v3\n"));
    program_fires(&two, COUNT("ds_write_b32 v4, v3\n"), KN_F_LDS_RACE_WAW);
}

/* The race is found whichever wave runs first. */
static void
every_schedule(void **state)
{
    static const enum kn_sim_waves orders[] = {
        KN_WAVES_ADVERSARIAL, KN_WAVES_RR, KN_WAVES_RANDOM };

    (void)state;
    for (int k = 0; k < 3; k++)
        for (uint64_t seed = 1; seed < 4; seed++) {
            struct program p;

            program_open(&p, &two, RAW(WAIT));
            p.launch.waves = orders[k];
            p.launch.seed = seed;
            program_run(&p);
            assert_int_equal(p.status, KILN_OK);
            assert_true(p.result.nfindings > 0);
            program_close(&p);
        }
}

/* The conflicting access is named. */
static void
names_the_other(void **state)
{
    const struct kn_finding *f;
    struct program p;

    (void)state;
    program_open(&p, &two, RAW(WAIT));
    program_run(&p);
    f = program_find(&p, KN_F_LDS_RACE_RAW);
    assert_non_null(f);
    assert_int_not_equal(f->wave, f->other_wave);
    assert_true(f->other_pc && f->other_pc < f->pc);
    assert_non_null(strstr(f->text, "ds_write_b32"));
    program_close(&p);
}

static void
outside_allocation(void **state)
{
    (void)state;
    program_fires(&one, "v_mov_b32_e32 v3, 9\nv_mov_b32_e32 v4, 0xffe\n"
                  "ds_write_b32 v4, v3\n" WAIT END, KN_F_LDS_RANGE);
    program_clean(&one, "v_mov_b32_e32 v3, 9\nv_mov_b32_e32 v4, 0xffc\n"
                  "ds_write_b32 v4, v3\n" WAIT END);
    program_fires(NULL, "v_mov_b32_e32 v4, 0\nds_read_b32 v4, v4\n" WAIT END,
                  KN_F_LDS_RANGE);
}

static void
dynamic_lds_counts(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n"
                 "ds_read_b32 v2, v1\n" WAIT STORE END);
    p.launch.dynamic_lds = 256;
    program_run(&p);
    assert_int_equal(p.result.nfindings, 0);
    assert_int_equal(program_out(&p, 63), 9);
    program_close(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_after_write),
        cmocka_unit_test(write_after_read),
        cmocka_unit_test(write_after_part_read),
        cmocka_unit_test(part_read_after_write),
        cmocka_unit_test(write_after_write),
        cmocka_unit_test(read_in_flight_at_barrier),
        cmocka_unit_test(refill_under_reader),
        cmocka_unit_test(copy_over_own_write),
        cmocka_unit_test(halves_of_a_dword),
        cmocka_unit_test(atomics),
        cmocka_unit_test(every_schedule),
        cmocka_unit_test(names_the_other),
        cmocka_unit_test(outside_allocation),
        cmocka_unit_test(dynamic_lds_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
