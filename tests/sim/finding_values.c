/* Uninitialised values that reach memory or control flow, addresses that hit
 * nothing, doubtful descriptor ranges: detector and clean twin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

#define END "s_endpgm\n"
#define WAIT "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
#define STORE "global_store_dword v1, v2, s[6:7]\n"

static const struct program_facts lds = { .lds = 4096 };
static const struct program_facts scratch = { .scratch = 64 };

static void
twin(const struct program_facts *f, const char *bad, const char *good,
     enum kn_finding_kind kind)
{
    program_fires(f, bad, kind);
    program_clean(f, good);
}

/* ---- registers ---------------------------------------------------------- */

static void
stored_register(void **state)
{
    (void)state;
    twin(NULL, "v_add_u32_e32 v2, 1, v9\n" STORE END,
         "v_mov_b32_e32 v9, 0\nv_add_u32_e32 v2, 1, v9\n" STORE END,
         KN_F_UNINIT_REG);
}

static void
address_register(void **state)
{
    (void)state;
    program_fires(NULL, "v_mov_b32_e32 v2, 0\nv_and_b32_e32 v9, 0, v9\n"
                  "global_store_dword v9, v2, s[6:7]\n" END,
                  KN_F_UNINIT_REG);
}

static void
only_some_lanes(void **state)
{
#define SOME(restore) \
    "s_mov_b64 exec, 0xff\nv_mov_b32_e32 v2, 1\n" restore STORE END
    (void)state;
    twin(NULL, SOME("s_mov_b64 exec, -1\n"), SOME(""), KN_F_UNINIT_REG);
}

static void
accumulator(void **state)
{
#define ACC "s_nop 4\nv_accvgpr_read_b32 v2, a7\n" STORE END
    (void)state;
    twin(NULL, ACC, "v_accvgpr_write_b32 a7, 3\n" ACC, KN_F_UNINIT_REG);
}

/* A select between a defined and an undefined value is what it selects. */
static void
select_is_exact(void **state)
{
#define SELECT(mask) \
    "v_mov_b32_e32 v3, 1\ns_mov_b64 s[8:9], " mask "\n" \
    "v_cndmask_b32_e64 v2, v9, v3, s[8:9]\n" STORE END
    (void)state;
    twin(NULL, SELECT("0xff"), SELECT("-1"), KN_F_UNINIT_REG);
}

/* Packing with a mask makes the result defined: no false report. */
static void
bit_operations_are_lenient(void **state)
{
    (void)state;
    program_clean(NULL, "v_mov_b32_e32 v3, 1\nv_mov_b32_e32 v4, 0x5040100\n"
                  "v_perm_b32 v2, v9, v3, v4\n" STORE END);
}

static void
scalar_branch(void **state)
{
#define BRANCH "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 .L\n.L:\n" END
    (void)state;
    twin(NULL, BRANCH, "s_mov_b32 s20, 0\n" BRANCH, KN_F_UNINIT_REG);
}

static void
vcc_branch(void **state)
{
#define VBRANCH "s_cbranch_vccz .L\n.L:\n" END
    (void)state;
    twin(NULL, VBRANCH, "s_mov_b64 vcc, 0\n" VBRANCH, KN_F_UNINIT_REG);
}

static void
scalar_address(void **state)
{
    (void)state;
    /* the access itself goes astray too */
    assert_true(program_findings(NULL, "s_load_dword s8, s[4:5], s30\n" END,
                                 KN_F_UNINIT_REG) == 1);
    program_clean(NULL, "s_mov_b32 s30, 8\ns_load_dword s8, s[4:5], s30\n"
                  END);
}

/* Rows of A that were never loaded taint their rows of D, no others. */
static void
matrix_rows(void **state)
{
#define MATRIX(lane) \
    "v_mov_b32_e32 v12, 0\nv_mov_b32_e32 v13, 0\n" \
    "s_mov_b32 s8, 0xfff7fff7\ns_mov_b32 s9, 0xfff7fff7\n" \
    "s_mov_b64 exec, s[8:9]\nv_mov_b32_e32 v10, 0\nv_mov_b32_e32 v11, 0\n" \
    "s_mov_b64 exec, -1\ns_nop 1\n" \
    "v_mfma_f32_16x16x16_bf16 v[4:7], v[10:11], v[12:13], 0\ns_nop 10\n" \
    "s_mov_b64 exec, " lane "\nglobal_store_dword v1, v7, s[6:7]\n" END
    (void)state;
    /* row 3 = register 3 of lanes 0..15; lanes 16.. hold row 7 */
    twin(NULL, MATRIX("0xffff"), MATRIX("0xffff0000"), KN_F_UNINIT_REG);
}

/* Spilling an undefined register and reloading it is no use of it. */
static void
spill_passes_on(void **state)
{
    (void)state;
    program_clean(&scratch, "scratch_store_dword off, v9, off offset:4\n" WAIT
                  "scratch_load_dword v10, off, off offset:4\n" WAIT END);
    program_fires(&scratch, "scratch_store_dword off, v9, off offset:4\n" WAIT
                  "scratch_load_dword v2, off, off offset:4\n" WAIT STORE END,
                  KN_F_UNINIT_REG);
}

/* ---- LDS and memory ----------------------------------------------------- */

static void
lds_bytes(void **state)
{
#define FROM_LDS "ds_read_b32 v2, v1\n" WAIT STORE END
    (void)state;
    twin(&lds, FROM_LDS, "v_mov_b32_e32 v3, 1\nds_write_b32 v1, v3\n"
         FROM_LDS, KN_F_UNINIT_LDS);
    program_clean(&lds, "ds_read_b32 v2, v1\n" WAIT END); /* reaches nothing */
}

static void
lds_atomic(void **state)
{
#define COUNT "v_mov_b32_e32 v2, 1\nds_add_u32 v1, v2\n" END
    (void)state;
    twin(&lds, COUNT, "v_mov_b32_e32 v3, 0\nds_write_b32 v1, v3\n" COUNT,
         KN_F_UNINIT_LDS);
    program_clean(&lds, "v_mov_b32_e32 v2, 1\nds_wrxchg_rtn_b32 v3, v1, v2\n"
                  WAIT END);
}

static void
memory_bytes(void **state)
{
#define FROM_OUT \
    "global_load_dword v3, v1, s[6:7] offset:1024\n" WAIT \
    "v_add_u32_e32 v2, 1, v3\n" STORE END
    (void)state;
    twin(NULL, FROM_OUT, "v_mov_b32_e32 v3, 1\n"
         "global_store_dword v1, v3, s[6:7] offset:1024\n" FROM_OUT,
         KN_F_UNINIT_MEM);
}

static void
origin_is_named(void **state)
{
    const struct kn_finding *f;
    struct program p;

    (void)state;
    program_open(&p, &lds, "ds_read_b32 v3, v1\n" WAIT
                 "v_add_u32_e32 v2, 1, v3\n" STORE END);
    program_run(&p);
    f = program_find(&p, KN_F_UNINIT_LDS);
    assert_non_null(f);
    assert_true(f->other_pc && f->other_pc < f->pc);
    assert_non_null(strstr(f->text, "ds_read_b32"));
    program_close(&p);
}

/* ---- addresses ---------------------------------------------------------- */

static void
outside_buffer(void **state)
{
#define AT(offset) \
    "v_mov_b32_e32 v4, " offset "\nglobal_load_dword v2, v4, s[4:5]\n" WAIT \
    STORE END
    const struct kn_finding *f;
    struct program p;

    (void)state;
    twin(NULL, AT("0x10000"), AT("0xfffc"), KN_F_BAD_ADDRESS);
    program_fires(NULL, AT("0xfffe"), KN_F_BAD_ADDRESS);
    program_fires(NULL, AT("-4"), KN_F_BAD_ADDRESS);
    program_open(&p, NULL, AT("0x10000"));
    program_run(&p);
    f = program_find(&p, KN_F_BAD_ADDRESS);
    assert_non_null(f);
    assert_int_equal(f->address, p.in + 0x10000);
    program_close(&p);
}

static void
readonly_buffer(void **state)
{
#define INTO(base) \
    "v_mov_b32_e32 v2, 1\nglobal_store_dword v1, v2, " base "\n" END
    (void)state;
    twin(NULL, INTO("s[4:5]"), INTO("s[6:7]"), KN_F_READONLY_STORE);
}

static void
misaligned(void **state)
{
#define ADD(at) \
    "v_mov_b32_e32 v2, 1\ns_mov_b64 exec, 1\nv_mov_b32_e32 v4, 0\n" \
    "global_store_dword v4, v2, s[6:7]\n" \
    "global_store_dword v4, v2, s[6:7] offset:4\nv_mov_b32_e32 v4, " at "\n" \
    "global_atomic_add v4, v2, s[6:7]\n" END
    (void)state;
    twin(NULL, ADD("2"), ADD("4"), KN_F_MISALIGNED);
    twin(NULL, "s_load_dword s8, s[4:5], 0x2\n" END,
         "s_load_dword s8, s[4:5], 0x4\n" END, KN_F_MISALIGNED);
    twin(&lds, "v_mov_b32_e32 v2, 1\nds_write_b32 v1, v2\n"
         "v_mov_b32_e32 v4, 6\nds_add_u32 v4, v2\n" END,
         "v_mov_b32_e32 v2, 1\nds_write_b32 v1, v2\n"
         "v_mov_b32_e32 v4, 8\nds_add_u32 v4, v2\n" END, KN_F_MISALIGNED);
    twin(&lds, "s_mov_b32 m0, 2\ns_nop 0\n"
         "global_load_lds_dword v1, s[4:5]\n" END,
         "s_mov_b32 m0, 4\ns_nop 0\nglobal_load_lds_dword v1, s[4:5]\n" END,
         KN_F_MISALIGNED);
    /* plain loads of any alignment are legal in HSA's unaligned mode */
    program_clean(NULL, AT("5"));
}

/* ---- buffer descriptors ------------------------------------------------- */

/* s[8:11]: the input buffer with so many bytes. */
#define SRD(bytes) \
    "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_mov_b32 s10, " bytes "\n" \
    "s_mov_b32 s11, 0x20000\n"

static void
soffset_rule(void **state)
{
#define SOFFSET(bytes) \
    SRD(bytes) "s_movk_i32 s12, 0x80\n" \
    "buffer_load_dword v2, v1, s[8:11], s12 offen\n" WAIT STORE END
    (void)state;
    twin(NULL, SOFFSET("0x100"), SOFFSET("0x200"), KN_F_SOFFSET_RULE);
    program_clean(NULL, SRD("0x40") /* out of range either way or in range */
                  "buffer_load_dword v2, v1, s[8:11], 0 offen\n" WAIT STORE
                  END);
}

static void
range_ends_inside(void **state)
{
#define EDGE(bytes) \
    SRD(bytes) "buffer_load_dword v2, v1, s[8:11], 0 offen\n" WAIT STORE END
    (void)state;
    twin(NULL, EDGE("0x42"), EDGE("0x44"), KN_F_SRD_EDGE);
}

static void
offset_wraps(void **state)
{
#define WRAP(voff) \
    SRD("0x100") "v_mov_b32_e32 v4, " voff "\n" \
    "buffer_load_dword v2, v4, s[8:11], 0 offen offset:16\n" WAIT STORE END
    (void)state;
    twin(NULL, WRAP("-8"), WRAP("0x80000000"), KN_F_SRD_EDGE);
}

/* An output of `bytes`, and a kernel that writes 64 dwords but those of the
 * lanes `mask` leaves out. */
static bool
unwritten(uint64_t bytes, const char *mask, struct kn_finding *f)
{
    char text[256];
    struct program p;
    bool found;

    snprintf(text, sizeof text, "v_mov_b32_e32 v2, 3\ns_mov_b64 exec, %s\n"
             "s_nop 4\nglobal_store_dword v1, v2, s[6:7]\ns_endpgm\n", mask);
    program_open(&p, NULL, text);
    assert_int_equal(kn_sim_alloc(p.sim, bytes, KN_MEM_OUTPUT, NULL, NULL,
                                  &p.args[1]), KILN_OK);
    program_run(&p);
    assert_int_equal(p.status, KILN_OK);
    assert_int_equal(p.result.nfindings, 0);
    found = kn_sim_find_unwritten(p.sim, p.args[1], "y", f);
    f->address -= found ? p.args[1] : 0;
    program_close(&p);
    return found;
}

static void
output_bytes(void **state)
{
    struct kn_finding f;

    (void)state;
    assert_false(unwritten(256, "-1", &f));
    assert_true(unwritten(256, "-2", &f));
    assert_int_equal(f.kind, KN_F_UNWRITTEN);
    assert_int_equal(f.address, 0);
    assert_non_null(strstr(f.text, "4 bytes of 'y'"));
    assert_true(unwritten(256, "0xffffffff", &f));
    assert_int_equal(f.address, 128);
    assert_true(unwritten(257, "-1", &f));
    assert_int_equal(f.address, 256);
    assert_true(unwritten(1 << 20, "-1", &f));
    assert_non_null(strstr(f.text, "1048320 bytes"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_register),
        cmocka_unit_test(address_register),
        cmocka_unit_test(only_some_lanes),
        cmocka_unit_test(accumulator),
        cmocka_unit_test(select_is_exact),
        cmocka_unit_test(bit_operations_are_lenient),
        cmocka_unit_test(scalar_branch),
        cmocka_unit_test(vcc_branch),
        cmocka_unit_test(scalar_address),
        cmocka_unit_test(matrix_rows),
        cmocka_unit_test(spill_passes_on),
        cmocka_unit_test(lds_bytes),
        cmocka_unit_test(lds_atomic),
        cmocka_unit_test(memory_bytes),
        cmocka_unit_test(origin_is_named),
        cmocka_unit_test(outside_buffer),
        cmocka_unit_test(readonly_buffer),
        cmocka_unit_test(misaligned),
        cmocka_unit_test(soffset_rule),
        cmocka_unit_test(range_ends_inside),
        cmocka_unit_test(offset_wraps),
        cmocka_unit_test(output_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
