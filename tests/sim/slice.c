/* Which instructions only move data (slice.c), on a few of them: a mark for
 * each, and how an observed launch that leaves them out goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../runtime/sim/core.h"
#include "../kit/program.h"

static const struct program_facts one = { .lds = 65536, .scratch = 64 };

/* Marks of the instructions of the text, 'd' for data; no prologue. */
static void
marks_of(const char *text, char *out)
{
    const struct kn_object_kernel *kernel;
    struct kn_program decoded;
    struct kn_step *step;
    struct program p;

    program_open_bare(&p, &one, text);
    assert_int_equal(kn_object_kernel(&p.ctx, kn_sim_object(p.code), NULL,
                                      &kernel), KILN_OK);
    assert_int_equal(kn_decode(&p.ctx, kn_sim_object(p.code), kernel, true,
                               &decoded), KILN_OK);
    assert_int_equal(kn_prepare(&p.ctx, &decoded, &step), KILN_OK);
    assert_int_equal(kn_slice_mark(&p.ctx, &decoded, step), KILN_OK);
    for (uint32_t k = 0; k < decoded.n && k < 30; k++) {
        *out++ = step[k].data ? 'd' : '.';
        if (decoded.inst[k].op == KN_I_s_endpgm)
            break;
    }
    *out = 0;
    program_close(&p);
}

static const struct {
    const char *text, *marks;
} cases[] = {
    /* what is stored is data, where is not */
    { "v_mov_b32_e32 v1, 1\nv_mov_b32_e32 v2, 2\n"
      "ds_write_b32 v1, v2\ns_endpgm\n", ".dd." },
    /* a read whose result is an address, and all that LDS gets then */
    { "v_mov_b32_e32 v2, 2\nds_write_b32 v1, v2\nds_read_b32 v3, v1\n"
      "s_waitcnt lgkmcnt(0)\nds_read_b32 v4, v3\ns_endpgm\n", "....d." },
    /* the register is written again before its use */
    { "ds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v3, 4\n"
      "ds_read_b32 v4, v3\ns_endpgm\n", "d..d." },
    /* but perhaps not in all lanes */
    { "ds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n"
      "v_cmp_eq_u32_e32 vcc, 0, v0\ns_and_saveexec_b64 s[8:9], vcc\n"
      "v_mov_b32_e32 v3, 4\ns_or_b64 exec, exec, s[8:9]\n"
      "ds_read_b32 v4, v3\ns_endpgm\n", "......d." },
    /* EXEC is full again */
    { "v_cmp_eq_u32_e32 vcc, 0, v0\ns_and_saveexec_b64 s[8:9], vcc\n"
      "s_or_b64 exec, exec, s[8:9]\nds_read_b32 v3, v1\n"
      "v_mov_b32_e32 v3, 4\nds_read_b32 v4, v3\ns_endpgm\n", "...d.d." },
    /* a branch on a scalar that a vector comparison wrote */
    { "v_add_u32_e32 v5, v6, v7\nv_cmp_gt_u32_e32 vcc, v5, v1\n"
      "v_add_u32_e32 v6, v6, v7\ns_cbranch_vccz .Lout\n.Lout:\ns_endpgm\n",
      "..d.." },
    /* a scalar through SCC and v_readfirstlane into a descriptor's offset */
    { "v_add_u32_e32 v5, v6, v7\nv_readfirstlane_b32 s10, v5\n"
      "s_cmp_eq_u32 s10, 0\ns_cselect_b32 s11, s12, s13\n"
      "s_add_u32 s14, s10, 1\n"
      "buffer_load_dword v8, v9, s[4:7], s11 offen\ns_endpgm\n", "....dd." },
    /* around a loop */
    { ".Lloop:\nds_read_b32 v4, v3\nv_add_u32_e32 v3, v3, v5\n"
      "v_add_u32_e32 v5, v5, v6\nv_add_u32_e32 v7, v7, v4\n"
      "s_cmp_eq_u32 s10, 0\ns_cbranch_scc1 .Lloop\ns_endpgm\n", "d..d..." },
    /* half a register keeps the other half */
    { "v_mov_b32_e32 v3, 4\nds_read_u16_d16 v3, v1\ns_waitcnt lgkmcnt(0)\n"
      "ds_read_b32 v4, v3\ns_endpgm\n", "...d." },
    /* matrix operations do not run */
    { "v_mov_b32_e32 v8, 4\n"
      "v_mfma_f32_16x16x32_bf16 v[8:11], v[16:19], v[20:23], v[8:11]\n"
      "ds_read_b32 v4, v8\ns_endpgm\n", "..d." },
    /* a spilled address, and a spilled value */
    { "v_mov_b32_e32 v5, 4\nscratch_store_dword off, v5, off\n"
      "scratch_load_dword v6, off, off\ns_waitcnt vmcnt(0)\n"
      "ds_read_b32 v4, v6\ns_endpgm\n", "....d." },
    { "v_mov_b32_e32 v5, 4\nscratch_store_dword off, v5, off\n"
      "scratch_load_dword v6, off, off\ns_waitcnt vmcnt(0)\n"
      "ds_write_b32 v4, v6\ns_endpgm\n", "ddd.d." },
    /* counters go on, sums of floats do not */
    { "global_atomic_add v1, v2, s[4:5]\n"
      "global_atomic_add_f32 v1, v2, s[4:5]\ns_endpgm\n", ".d." },
    /* code that names registers while it runs is left whole */
    { "v_mov_b32_e32 v5, 4\ns_set_gpr_idx_on s10, gpr_idx(SRC0)\n"
      "v_mov_b32_e32 v6, v5\ns_set_gpr_idx_off\ns_endpgm\n", "....." },
};

static void
marks(void **state)
{
    char got[32];

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        marks_of(cases[k].text, got);
        if (strcmp(got, cases[k].marks))
            fail_msg("%s\n%s, should be %s", cases[k].text, got,
                     cases[k].marks);
    }
}

struct seen {
    unsigned n, accesses;
    uint32_t last;           /* LDS address of lane 1 */
};

static bool
see_inst(void *user, uint32_t wave, uint32_t inst)
{
    (void)wave;
    (void)inst;
    ((struct seen *)user)->n++;
    return true;
}

static void
see_access(void *user, uint32_t wave, const struct kn_sim_access *a)
{
    struct seen *s = user;

    (void)wave;
    s->accesses++;
    s->last = a->lds ? a->lds[1] : 0;
}

/* An address that comes out of LDS is right although data is left out, and a
 * blind wave shows no access and runs as long. */
static void
observed(void **state)
{
    static const char text[] =
        "v_lshlrev_b32_e32 v1, 2, v0\nv_add_u32_e32 v2, 64, v1\n"
        "ds_write_b32 v1, v2\ns_waitcnt lgkmcnt(0)\nds_read_b32 v3, v1\n"
        "s_waitcnt lgkmcnt(0)\nds_read_b32 v4, v3\ns_endpgm\n";
    static const bool blind[] = { true };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct seen s = { 0 };
        struct kn_sim_tap tap = { .user = &s, .lean = true, .inst = see_inst,
                                  .access = see_access,
                                  .blind = k ? blind : NULL };
        struct program p;

        program_open_bare(&p, &one, text);
        p.launch.tap = &tap;
        program_run(&p);
        assert_int_equal(p.status, KILN_OK);
        assert_int_equal(s.n, 8);
        assert_int_equal(s.accesses, k ? 2 : 3);
        assert_int_equal(s.last, k ? 4 : 68);
        program_close(&p);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks), cmocka_unit_test(observed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
