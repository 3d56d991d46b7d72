/* Every report about waits: the detector fires, and is silent on the same
 * program with the wait in place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

#define END "s_endpgm\n"
#define ALL_DONE "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
#define LOAD "global_load_dword v2, v1, s[4:5]\n"
#define STORE "global_store_dword v1, v2, s[6:7]\n"

static const struct program_facts lds = { .lds = 4096 };
static const struct program_facts two_waves = { .lds = 4096, .waves = 2 };

/* bad lacks what good has. */
static void
twin(const struct program_facts *f, const char *bad, const char *good,
     enum kn_finding_kind kind)
{
    program_fires(f, bad, kind);
    program_clean(f, good);
}

static void
read_before_wait(void **state)
{
    (void)state;
    twin(NULL, LOAD "v_add_u32_e32 v2, 1, v2\n" ALL_DONE STORE END,
         LOAD "s_waitcnt vmcnt(0)\nv_add_u32_e32 v2, 1, v2\n" STORE END,
         KN_F_USE_BEFORE_WAIT);
}

static void
overwrite_before_wait(void **state)
{
    (void)state;
    twin(NULL, LOAD "v_mov_b32_e32 v2, 1\n" ALL_DONE STORE END,
         LOAD ALL_DONE "v_mov_b32_e32 v2, 1\n" STORE END,
         KN_F_USE_BEFORE_WAIT);
}

static void
store_before_wait(void **state)
{
    (void)state;
    twin(NULL, LOAD STORE END, LOAD "s_waitcnt vmcnt(0)\n" STORE END,
         KN_F_USE_BEFORE_WAIT);
}

/* Stores share the counter and retire in order: load, store, use needs
 * vmcnt(1), and vmcnt(2) is too weak. */
static void
counts_in_order(void **state)
{
#define CHAIN(n) \
    "v_mov_b32_e32 v3, 7\n" LOAD "global_store_dword v1, v3, s[6:7]\n" \
    "s_waitcnt vmcnt(" #n ")\nv_add_u32_e32 v2, 1, v2\n" STORE END
    (void)state;
    twin(NULL, CHAIN(2), CHAIN(1), KN_F_USE_BEFORE_WAIT);
}

static void
poison_is_read(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, LOAD "v_mov_b32_e32 v3, v2\n" ALL_DONE
                 "global_store_dword v1, v3, s[6:7]\n" END);
    program_run(&p);
    assert_int_equal(p.status, KILN_OK);
    assert_int_equal(p.result.nfindings, 1);
    assert_int_equal(program_out(&p, 5), 0x7fc0dead);
    program_close(&p);

    program_open(&p, NULL, LOAD "v_mov_b32_e32 v3, v2\n" ALL_DONE
                 "global_store_dword v1, v3, s[6:7]\n" END);
    p.launch.order = KN_ORDER_EARLIEST;
    program_run(&p);
    assert_int_equal(p.result.nfindings, 1);  /* still a finding */
    assert_int_equal(program_out(&p, 5), 5);  /* but the value is there */
    program_close(&p);
}

/* Two loads into one register need nothing between them. */
static void
reload_is_fine(void **state)
{
    (void)state;
    program_clean(NULL, LOAD LOAD ALL_DONE STORE END);
}

/* The load may overwrite its own address, and store data may be overwritten
 * as soon as the wait states are over. */
static void
early_release_is_fine(void **state)
{
    (void)state;
    program_clean(NULL, "global_load_dword v1, v1, s[4:5]\n" ALL_DONE
                  "v_lshlrev_b32_e32 v3, 2, v1\n"
                  "global_store_dword v3, v1, s[6:7]\n"
                  "v_mov_b32_e32 v1, 0\n" END);
}

static void
scalar_load(void **state)
{
#define SCALAR(wait) \
    "s_load_dword s8, s[4:5], 0x4\n" wait "s_add_u32 s8, s8, 1\n" ALL_DONE \
    "v_mov_b32_e32 v2, s8\n" STORE END
    (void)state;
    twin(NULL, SCALAR(""), SCALAR("s_waitcnt lgkmcnt(0)\n"),
         KN_F_USE_BEFORE_WAIT);
}

/* SMEM returns out of order: nothing but lgkmcnt(0) is enough. */
static void
scalar_load_out_of_order(void **state)
{
#define SCALARS(wait) \
    "s_load_dword s8, s[4:5], 0x4\ns_load_dword s9, s[4:5], 0x8\n" wait \
    "v_mov_b32_e32 v2, s8\n" ALL_DONE STORE END
    (void)state;
    twin(NULL, SCALARS("s_waitcnt lgkmcnt(1)\n"),
         SCALARS("s_waitcnt lgkmcnt(0)\n"), KN_F_USE_BEFORE_WAIT);
}

static void
lds_read_in_order(void **state)
{
#define READS(wait) \
    "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" \
    "ds_read_b32 v2, v1\nds_read_b32 v4, v1\n" wait \
    "v_add_u32_e32 v2, 1, v2\n" ALL_DONE STORE END
    (void)state;
    twin(&lds, READS("s_waitcnt lgkmcnt(2)\n"),
         READS("s_waitcnt lgkmcnt(1)\n"), KN_F_USE_BEFORE_WAIT);
}

/* With SMEM outstanding lgkmcnt(1) may count the SMEM as the one left. */
static void
lds_behind_smem(void **state)
{
#define MIXED(n) \
    "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\ns_waitcnt lgkmcnt(0)\n" \
    "s_load_dword s8, s[4:5], 0x4\nds_read_b32 v2, v1\n" \
    "s_waitcnt lgkmcnt(" #n ")\nv_add_u32_e32 v2, 1, v2\n" ALL_DONE STORE END
    (void)state;
    twin(&lds, MIXED(1), MIXED(0), KN_F_USE_BEFORE_WAIT);
}

static void
flat_needs_both(void **state)
{
#define FLAT(wait) \
    "v_mov_b32_e32 v4, s4\nv_mov_b32_e32 v5, s5\n" \
    "flat_load_dword v2, v[4:5]\n" wait "v_add_u32_e32 v2, 1, v2\n" \
    ALL_DONE STORE END
    (void)state;
    twin(NULL, FLAT("s_waitcnt vmcnt(0)\n"), FLAT(ALL_DONE),
         KN_F_USE_BEFORE_WAIT);
    program_fires(NULL, FLAT("s_waitcnt lgkmcnt(0)\n"), KN_F_USE_BEFORE_WAIT);
}

/* The counter has 6 bits: the 64th operation stalls until the first is back,
 * so its result is there without a wait. */
static void
counter_saturates(void **state)
{
    char text[8192] = LOAD, *at = text + sizeof LOAD - 1;

    (void)state;
    for (int k = 0; k < 63; k++)
        at += sprintf(at, "global_load_dword v3, v1, s[4:5]\n");
    strcpy(at, "v_add_u32_e32 v2, 1, v2\n" ALL_DONE STORE END);
    program_clean(NULL, text);
    strcpy(at - sizeof "global_load_dword v3, v1, s[4:5]\n" + 1,
           "v_add_u32_e32 v2, 1, v2\n" ALL_DONE STORE END);
    program_fires(NULL, text, KN_F_USE_BEFORE_WAIT);
}

#define DMA "s_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dword v1, s[4:5]\n"

static void
dma_before_wait(void **state)
{
#define COPY(wait) DMA wait "ds_read_b32 v2, v1\n" ALL_DONE STORE END
    (void)state;
    twin(&lds, COPY(""), COPY("s_waitcnt vmcnt(0)\n"), KN_F_USE_BEFORE_WAIT);
}

/* A ds_read that may still be in the queue, then a copy into its bytes. */
static void
dma_over_own_read(void **state)
{
#define REFILL(wait) \
    DMA "s_waitcnt vmcnt(0)\nds_read_b32 v2, v1\n" wait \
    "global_load_lds_dword v1, s[4:5]\n" ALL_DONE STORE END
    (void)state;
    twin(&lds, REFILL(""), REFILL("s_waitcnt lgkmcnt(0)\n"),
         KN_F_LDS_REFILL);
}

/* Lanes that are off have nothing on its way. */
static void
other_lanes_are_free(void **state)
{
    (void)state;
    program_clean(NULL, "v_mov_b32_e32 v2, 3\ns_mov_b64 exec, 0xff\n" LOAD
                  "s_not_b64 exec, exec\nv_add_u32_e32 v2, 1, v2\n"
                  "s_mov_b64 exec, -1\n" ALL_DONE STORE END);
}

static void
endpgm_waits(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "v_mov_b32_e32 v2, 3\n" STORE END);
    program_run(&p);
    assert_int_equal(p.result.nfindings, 0);
    assert_int_equal(program_out(&p, 63), 3);
    assert_int_equal(kn_sim_unwritten(p.sim, p.out), PROGRAM_BYTES - 256);
    program_close(&p);
}

/* A write counts for other waves only if the writer waited before the
 * barrier, not after it. */
static void
wait_after_barrier(void **state)
{
#define SHARE(before, after) \
    "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" before "s_barrier\n" after \
    "v_xor_b32_e32 v4, 0x100, v1\nds_read_b32 v2, v4\n" ALL_DONE STORE END
    (void)state;
    twin(&two_waves, SHARE("", "s_waitcnt lgkmcnt(0)\n"),
         SHARE("s_waitcnt lgkmcnt(0)\n", ""), KN_F_LDS_RACE_RAW);
}

static void
dma_wait_after_barrier(void **state)
{
#define SHARE_DMA(before, after) \
    "v_readfirstlane_b32 s8, v1\ns_mov_b32 m0, s8\ns_nop 4\n" \
    "global_load_lds_dword v1, s[4:5]\n" before "s_barrier\n" after \
    "v_xor_b32_e32 v4, 0x100, v1\nds_read_b32 v2, v4\n" ALL_DONE STORE END
    (void)state;
    twin(&two_waves, SHARE_DMA("", "s_waitcnt vmcnt(0)\n"),
         SHARE_DMA("s_waitcnt vmcnt(0)\n", ""), KN_F_LDS_RACE_RAW);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_before_wait),
        cmocka_unit_test(overwrite_before_wait),
        cmocka_unit_test(store_before_wait),
        cmocka_unit_test(counts_in_order),
        cmocka_unit_test(poison_is_read),
        cmocka_unit_test(reload_is_fine),
        cmocka_unit_test(early_release_is_fine),
        cmocka_unit_test(scalar_load),
        cmocka_unit_test(scalar_load_out_of_order),
        cmocka_unit_test(lds_read_in_order),
        cmocka_unit_test(lds_behind_smem),
        cmocka_unit_test(flat_needs_both),
        cmocka_unit_test(counter_saturates),
        cmocka_unit_test(dma_before_wait),
        cmocka_unit_test(dma_over_own_read),
        cmocka_unit_test(other_lanes_are_free),
        cmocka_unit_test(endpgm_waits),
        cmocka_unit_test(wait_after_barrier),
        cmocka_unit_test(dma_wait_after_barrier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
