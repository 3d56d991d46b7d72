/* decode.c - the decoder against texts with known fields; what it refuses. */
#include "../../emit/isa/decode.h"
#include "../kit/program.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Assembles one instruction and decodes it. */
static struct kn_inst
decode(kiln_target t, const char *text)
{
    struct program_facts facts = { .target = t };
    struct program p;
    struct kn_program prog;
    const struct kn_object *o;
    char line[512];
    struct kn_inst i;

    snprintf(line, sizeof line, "%s\ns_endpgm\n", text);
    program_open_bare(&p, &facts, line);
    o = kn_sim_object(p.code);
    if (kn_decode(&p.ctx, o, &o->kernels[0], true, &prog))
        fail_msg("%s: %s", text, p.ctx.err.text);
    i = prog.inst[0];
    program_close(&p);
    return i;
}

static struct kn_inst
gfx950(const char *text)
{
    return decode(KILN_GFX950, text);
}

static void
check_opnd(const struct kn_opnd *o, enum kn_opnd_kind kind, unsigned reg,
           unsigned width)
{
    assert_int_equal(o->kind, kind);
    assert_int_equal(o->reg, reg);
    assert_int_equal(o->width, width);
}

static void
registers(void **state)
{
    struct kn_inst i = gfx950("v_mad_u64_u32 v[4:5], vcc, s3, v7, v[8:9]");

    (void)state;
    assert_int_equal(i.op, KN_I_v_mad_u64_u32);
    assert_int_equal(i.ndst, 2);
    assert_int_equal(i.nopnd, 5);
    assert_int_equal(i.size, 8);
    check_opnd(&i.o[0], KN_O_VGPR, 4, 2);
    check_opnd(&i.o[1], KN_O_SGPR, 106, 2);
    check_opnd(&i.o[2], KN_O_SGPR, 3, 1);
    check_opnd(&i.o[4], KN_O_VGPR, 8, 2);
    i = gfx950("s_mov_b32 m0, exec_hi");
    check_opnd(&i.o[0], KN_O_SGPR, 124, 1);
    check_opnd(&i.o[1], KN_O_SGPR, 127, 1);
    i = gfx950("s_add_u32 s4, ttmp3, src_scc");
    check_opnd(&i.o[1], KN_O_SGPR, 111, 1);
    check_opnd(&i.o[2], KN_O_SPECIAL, 253, 1);
}

static void
constants(void **state)
{
    static const struct {
        const char *text;
        int operand;
        int64_t imm;
    } t[] = {
        { "s_mov_b32 s0, -16", 1, -16 },
        { "s_mov_b32 s0, 64", 1, 64 },
        { "s_mov_b32 s0, 0xdeadbeef", 1, (int32_t)0xdeadbeef },
        { "s_mov_b64 s[0:1], 0xdeadbeef", 1, 0xdeadbeef },
        { "s_ashr_i64 s[0:1], 0xdeadbeef, 1", 1, (int32_t)0xdeadbeef },
        { "s_mov_b64 s[0:1], -1", 1, -1 },
        { "v_add_f32_e32 v0, 1.0, v1", 1, 0x3f800000 },
        { "v_add_f32_e32 v0, -4.0, v1", 1, 0xc0800000 },
        { "v_add_f32_e32 v0, 0.15915494, v1", 1, 0x3e22f983 },
        { "v_add_f16_e32 v0, 0.5, v1", 1, 0x3800 },
        { "v_add_f64 v[0:1], v[2:3], -2.0", 2, (int64_t)0xc000000000000000 },
        { "v_add_f64 v[0:1], v[2:3], 4", 2, 4 },
        { "v_pk_add_f16 v0, v1, 1.0", 2, 0x3c00 },
        { "v_pk_mul_f32 v[0:1], v[2:3], 2.0 op_sel_hi:[1,0]", 2,
          0x40000000 },
        { "s_movk_i32 s0, 0xfff0", 1, -16 },
        { "s_cmpk_eq_u32 s0, 0xfff0", 1, -16 },
        { "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 1.0", 3,
          0x3f800000 },
        { "v_fmaak_f32 v0, v1, v2, 0x40490fdb", 3, 0x40490fdb },
    };

    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        struct kn_inst i = gfx950(t[k].text);

        assert_int_equal(i.o[t[k].operand].kind, KN_O_IMM);
        if (i.o[t[k].operand].imm != t[k].imm)
            fail_msg("%s: %llx", t[k].text,
                     (unsigned long long)i.o[t[k].operand].imm);
    }
}

static void
source_modifiers(void **state)
{
    struct kn_inst i = gfx950("v_fma_f32 v0, -|v1|, |v2|, -s3 clamp mul:4");

    (void)state;
    assert_true(i.o[1].neg && i.o[1].abs);
    assert_true(!i.o[2].neg && i.o[2].abs);
    assert_true(i.o[3].neg && !i.o[3].abs);
    assert_int_equal(i.clamp, 1);
    assert_int_equal(i.omod, 2);
    i = gfx950("v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] "
               "op_sel_hi:[0,1,1] neg_lo:[0,1,0] neg_hi:[0,0,1]");
    assert_int_equal(i.op_sel, 1);
    assert_int_equal(i.op_sel_hi, 6);
    assert_int_equal(i.neg_lo, 2);
    assert_int_equal(i.neg_hi, 4);
    i = gfx950("v_mad_u16 v0, v1, v2, v3 op_sel:[0,1,0,1]");
    assert_int_equal(i.op_sel, 0xa);
    i = gfx950("v_bitop3_b32 v0, v1, v2, v3 bitop3:0x6c");
    assert_int_equal(i.bitop3, 0x6c);
    i = gfx950("v_add_f32_e64 v0, 0.5, neg(1.0)");
    assert_true(i.o[2].neg || i.o[2].imm == 0xbf800000);
}

static void
dpp_and_sdwa(void **state)
{
    struct kn_inst i = gfx950("v_mul_f32_dpp v0, -v1, v2 row_newbcast:5 "
                              "row_mask:0xe bank_mask:0x7 bound_ctrl:1");

    (void)state;
    assert_int_equal(i.enc, KN_E_DPP);
    assert_int_equal(i.dpp_ctrl, 0x155);
    assert_int_equal(i.row_mask, 0xe);
    assert_int_equal(i.bank_mask, 7);
    assert_int_equal(i.bound_ctrl, 1);
    assert_int_equal(i.o[1].neg, 1);
    i = gfx950("v_or_b32_sdwa v0, sext(v1), v2 dst_sel:WORD_1 "
               "dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:WORD_0");
    assert_int_equal(i.enc, KN_E_SDWA);
    assert_int_equal(i.dst_sel, 5);
    assert_int_equal(i.dst_unused, 2);
    assert_int_equal(i.o[1].sel, 3);
    assert_int_equal(i.o[1].sext, 1);
    assert_int_equal(i.o[2].sel, 4);
    i = gfx950("v_cmp_eq_u32_sdwa s[4:5], v1, v2 src0_sel:WORD_1 "
               "src1_sel:BYTE_0");
    assert_int_equal(i.o[1].sel, 5);
    assert_int_equal(i.o[2].sel, 0);
    check_opnd(&i.o[0], KN_O_SGPR, 4, 2);
}

static void
memory_operands(void **state)
{
    struct kn_inst i = gfx950("buffer_load_dwordx4 v[4:7], v1, s[8:11], s3 "
                              "offen offset:16 sc0 nt");
    struct kn_mem_opnds m = kn_mem_operands(&i);

    (void)state;
    assert_int_equal(i.ndst, 1);
    assert_true(i.offen && i.sc0 && i.nt && !i.sc1 && !i.lds && !i.idxen);
    assert_int_equal(i.offset, 16);
    assert_int_equal(m.data, 0);
    assert_int_equal(m.addr, 1);
    assert_int_equal(m.base, 2);
    assert_int_equal(m.soffset, 3);
    i = gfx950("buffer_load_dwordx4 v1, s[8:11], 0 offen offset:4 lds");
    m = kn_mem_operands(&i);
    assert_int_equal(i.ndst, 0);
    assert_int_equal(i.lds, 1);
    assert_int_equal(m.data, -1);
    assert_int_equal(m.addr, 0);
    assert_int_equal(m.base, 1);
    i = gfx950("buffer_store_short v4, off, s[8:11], 0 offset:4095");
    m = kn_mem_operands(&i);
    assert_int_equal(i.ndst, 0);
    assert_int_equal(i.offset, 4095);
    assert_int_equal(i.o[m.addr].kind, KN_O_NONE);
    i = gfx950("global_load_dword v0, v1, s[2:3] offset:-8");
    m = kn_mem_operands(&i);
    assert_int_equal(i.offset, -8);
    check_opnd(&i.o[m.base], KN_O_SGPR, 2, 2);
    i = gfx950("global_atomic_cmpswap v9, v[0:1], v[2:3], off sc0");
    m = kn_mem_operands(&i);
    assert_int_equal(i.ndst, 1);
    check_opnd(&i.o[0], KN_O_VGPR, 9, 1);
    check_opnd(&i.o[m.addr], KN_O_VGPR, 0, 2);
    check_opnd(&i.o[m.data], KN_O_VGPR, 2, 2);
    i = gfx950("global_atomic_pk_add_bf16 v[0:1], v2, off");
    m = kn_mem_operands(&i);
    assert_int_equal(i.ndst, 0);
    check_opnd(&i.o[m.data], KN_O_VGPR, 2, 1);
    i = gfx950("buffer_atomic_add v4, off, s[8:11], 0 sc0");
    assert_int_equal(i.ndst, 1);
    assert_int_equal(i.rmw, 1);
    i = gfx950("s_load_dwordx4 s[4:7], s[0:1], 0x10");
    assert_int_equal(i.offset, 16);
    assert_int_equal(i.o[2].kind, KN_O_NONE);
    i = gfx950("s_load_dword s4, s[0:1], s9 offset:-4");
    assert_int_equal(i.offset, -4);
    check_opnd(&i.o[2], KN_O_SGPR, 9, 1);
    i = gfx950("scratch_store_dword off, v3, off offset:20");
    m = kn_mem_operands(&i);
    check_opnd(&i.o[m.data], KN_O_VGPR, 3, 1);
    assert_int_equal(i.offset, 20);
}

static void
lds_operands(void **state)
{
    struct kn_inst i = gfx950("ds_write2st64_b64 v1, v[2:3], v[4:5] "
                              "offset0:3 offset1:7");
    struct kn_mem_opnds m = kn_mem_operands(&i);

    (void)state;
    assert_int_equal(i.offset, 3);
    assert_int_equal(i.offset1, 7);
    assert_int_equal(m.addr, 0);
    assert_int_equal(m.data, 1);
    assert_int_equal(m.data1, 2);
    i = gfx950("ds_read_b128 a[4:7], v1 offset:65520");
    assert_int_equal(i.offset, 65520);
    check_opnd(&i.o[0], KN_O_AGPR, 4, 4);
    i = gfx950("ds_bpermute_b32 v0, v1, v2 offset:4");
    m = kn_mem_operands(&i);
    assert_int_equal(m.data, 2);
    i = gfx950("ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,1,0,3,2)");
    assert_int_equal(i.offset, 0x80b1);
    i = gfx950("ds_read_b64_tr_b16 v[0:1], v2 offset:8");
    assert_int_equal(kn_isa[i.op].flags & KN_IF_TR, KN_IF_TR);
}

static void
waits(void **state)
{
    struct kn_inst i = gfx950("s_waitcnt vmcnt(37) lgkmcnt(3)");

    (void)state;
    assert_int_equal(i.vm, 37);
    assert_int_equal(i.lgkm, 3);
    assert_int_equal(i.exp, 7);
    i = gfx950("s_waitcnt lgkmcnt(0)");
    assert_int_equal(i.vm, 63);
    assert_int_equal(i.lgkm, 0);
}

static void
matrix_operands(void **state)
{
    struct kn_inst i = decode(KILN_GFX942,
        "v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], a[4:5], a[16:31] cbsz:1 "
        "abid:1 blgp:2");

    (void)state;
    check_opnd(&i.o[0], KN_O_AGPR, 0, 16);
    check_opnd(&i.o[2], KN_O_AGPR, 4, 2);
    assert_int_equal(i.cbsz, 1);
    assert_int_equal(i.abid, 1);
    assert_int_equal(i.blgp, 2);
    assert_int_equal(kn_mfma_cycles(KILN_GFX942, &i), 32);
    i = gfx950("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:17],"
               " v[0:3], v20, v21 op_sel:[1,0,0] op_sel_hi:[0,1,0] blgp:2");
    assert_int_equal(i.size, 16);
    assert_int_equal(i.nopnd, 6);
    assert_int_equal(i.op_sel & 3, 1);
    assert_int_equal(i.op_sel_hi & 3, 2);
    assert_int_equal(i.cbsz, 0);
    assert_int_equal(i.blgp, 2);
    assert_int_equal(kn_mfma_cycles(KILN_GFX950, &i), 32);
    i = gfx950("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3] "
               "cbsz:4 blgp:4");
    assert_int_equal(i.size, 8);
    assert_int_equal(kn_mfma_cycles(KILN_GFX950, &i), 16);
    i = gfx950("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7] "
               "neg:[1,0,1]");
    assert_int_equal(i.neg_lo, 5);
    assert_int_equal(kn_mfma_cycles(KILN_GFX950, &i), 64);
    assert_int_equal(kn_mfma_cycles(KILN_GFX942, &i), 32);
}

static void
branch_targets(void **state)
{
    struct program_facts facts = { .target = KILN_GFX950 };
    struct kn_program prog;
    const struct kn_object *o;
    struct program p;

    (void)state;
    program_open_bare(&p, &facts,
        "back:\ns_nop 0\ns_cbranch_scc0 back\ns_branch over\ns_nop 1\n"
        "over:\ns_endpgm\n");
    o = kn_sim_object(p.code);
    assert_int_equal(kn_decode(&p.ctx, o, &o->kernels[0], true, &prog),
                     KILN_OK);
    assert_int_equal(prog.n, 5);
    assert_int_equal(prog.inst[1].target, 0);
    assert_int_equal(prog.inst[1].next, 2);
    assert_int_equal(prog.inst[2].target, 4);
    assert_int_equal(prog.inst[4].next, -1);
    assert_int_equal(kn_program_at(&prog, prog.inst[3].pc), 3);
    assert_int_equal(kn_program_at(&prog, prog.inst[3].pc + 2), -1);
    program_close(&p);
}

/* ---- what must be refused ---- */

/* A word that is no instruction: refused with its address, or kept as one
 * whose execution is the error. */
static void
unknown_word(void **state)
{
    struct program_facts facts = { .target = KILN_GFX950 };
    const struct kn_object_kernel *k;
    struct kn_program prog;
    struct program p;
    char text[128];

    (void)state;
    program_open_bare(&p, &facts, "s_nop 3\n.long 0xffffffff\ns_endpgm\n");
    k = &kn_sim_object(p.code)->kernels[0];
    assert_int_equal(kn_decode(&p.ctx, kn_sim_object(p.code), k, false,
                               &prog), KILN_OK);
    assert_int_equal(prog.n, 3);
    assert_int_equal(prog.inst[1].op, KN_I_unknown);
    kn_inst_text(KILN_GFX950, &prog.inst[0], text, sizeof text);
    assert_string_equal(text, "s_nop 3");
    kn_inst_text(KILN_GFX950, &prog.inst[1], text, sizeof text);
    assert_string_equal(text, ".long 0xffffffff");
    assert_int_equal(kn_decode(&p.ctx, kn_sim_object(p.code), k, true,
                               &prog), KILN_UNSUPPORTED);
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)k->entry + 4);
    assert_non_null(strstr(p.ctx.err.text, text));
    program_close(&p);
}

static void
refuse(const char *text, const char *what)
{
    static struct kn_isa_index index;
    struct kn_text_error e = { 0 };
    struct kn_inst i = { 0 };

    kn_isa_index_init(&index);
    if (kn_text_parse(&index, text, &i, &e))
        fail_msg("%s was accepted", text);
    assert_string_equal(e.what, what);
}

static void
unknown_text(void **state)
{
    (void)state;
    refuse("\tv_frob_b32 v0, v1", "unknown mnemonic");
    refuse("\tv_add_u32_e33 v0, v1, v2", "unknown mnemonic");
    refuse("\tv_add_u32_e32 v0, v1, v2 wobble:3", "unknown modifier");
    refuse("\tv_add_u32_e32 v0, v1, v2 clampx", "unknown modifier");
    refuse("\tv_add_u32_e32 v0, v1, v2 offset:", "unknown modifier");
    refuse("\tv_add_u32_e32 v0, v1, vlog", "unknown operand");
    refuse("\tv_add_u32_e32 v0, v1", "wrong number of operands");
    refuse("\tv_add_u32_e32 v0, v1, v[2:3]", "unexpected operand width");
    refuse("\tv_add_u32_e32 v0, v1, v300", "register number out of range");
    refuse("\tv_add_u32_e32 v0, v1, v[3:2]", "malformed register range");
    refuse("\tv_add_f32_e32 v0, 3.0, v2", "unknown float constant");
    refuse("\tv_readlane_b32 s0, v1, v2/*Invalid register*/",
           "unknown modifier");
}

/* The word says another register than the text. */
static void
word_contradicts_text(void **state)
{
    static const char *const t[] = {
        "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
        "ds_read_b64 v[2:3], v1",
        "buffer_load_dword v4, v1, s[8:11], 0 offen",
        "global_store_dword v[0:1], v2, off",
        "s_load_dword s4, s[2:3], 0x0",
    };

    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        struct kn_inst i = gfx950(t[k]);

        assert_null(kn_raw_apply(&i));
        i.raw[kn_isa[i.op].mem == KN_M_SMEM ? 0 : 1] ^= 2;
        assert_non_null(kn_raw_apply(&i));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers),
        cmocka_unit_test(constants),
        cmocka_unit_test(source_modifiers),
        cmocka_unit_test(dpp_and_sdwa),
        cmocka_unit_test(memory_operands),
        cmocka_unit_test(lds_operands),
        cmocka_unit_test(waits),
        cmocka_unit_test(matrix_operands),
        cmocka_unit_test(branch_targets),
        cmocka_unit_test(unknown_word),
        cmocka_unit_test(unknown_text),
        cmocka_unit_test(word_contradicts_text),
    };

    return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
