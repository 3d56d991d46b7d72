/* test_info.c - what `kilnc info` says: the whole text of one kernel, the
 * JSON by its parts, and occupancy against the published table. */
#include "../kit/slurp.h"

#include <jansson.h>
#include <string.h>

#include "gen/tool/inspect/inspect.h"

static const char *data_dir, *built_dir;

static struct kn_buf
info(struct kn_ctx *c, const char *dir, const char *file, bool json)
{
    struct blob b = slurp(dir, file);
    struct kn_buf out = { .c = c };

    kn_ctx_init(c, NULL, NULL);
    if (kn_info_print(file, b.p, b.n, json, &out))
        fail_msg("%s", c->err.text);
    free(b.p);
    return out;
}

static const char pipeline[] =
    "file      flow.o: gfx950, code object V5, relocatable, 4 kernels\n"
    "kernel    pipeline\n"
    "  registers 24 VGPR, 0 AGPR (24 allocated), 22 SGPR; spills: 0 VGPR, 0 "
    "SGPR\n"
    "  memory    4096 B LDS, 0 B scratch a lane\n"
    "  occupancy 8 waves a SIMD, 4 workgroups of 512 a CU, limited by wave "
    "slots\n"
    "  arguments 24 bytes; offset, bytes, kind, name:\n"
    "        0    8  global_buffer  a\"b\n"
    "        8    4  by_value\n"
    "       16    4  hidden_block_count_x\n"
    "  code      96 bytes, 0 % of the instruction cache; 17 instructions "
    "reached, 3 SALU, 3 MFMA, 2 VMEM, 2 LDS, 1 branch, 6 internal\n"
    "          3 v_mfma_f32_16x16x32_bf16\n"
    "          1 buffer_load_dwordx4\n"
    "          1 buffer_load_dwordx4 lds\n"
    "          2 ds_read_b128\n"
    "          1 s_waitcnt vmcnt(4)\n"
    "          1 s_waitcnt vmcnt(6) lgkmcnt(0)\n"
    "          1 s_waitcnt lgkmcnt(0)\n"
    "          1 s_barrier\n"
    "  main loop at 0x1a0c, depth 1: 14 instructions, 80 B, 32 MFMA cycles, "
    "2 SALU, 2 MFMA, 2 VMEM, 2 LDS, 1 branch, 5 internal\n"
    "          2 v_mfma_f32_16x16x32_bf16\n"
    "          1 buffer_load_dwordx4\n"
    "          1 buffer_load_dwordx4 lds\n"
    "          2 ds_read_b128\n"
    "          1 s_waitcnt vmcnt(4)\n"
    "          1 s_waitcnt vmcnt(6) lgkmcnt(0)\n"
    "          1 s_waitcnt lgkmcnt(0)\n"
    "          1 s_barrier\n"
    "      32768 FLOP an iteration of a wave, 262144 of a workgroup of 8 waves\n"
    "      8 iterations\n"
    "kernel    nested\n";

static void
test_text(void **state)
{
    struct kn_ctx c;
    struct kn_buf b = info(&c, built_dir, "flow.o", false);

    (void)state;
    if (strncmp(b.s, pipeline, strlen(pipeline)))
        fail_msg("%.*s", (int)strlen(pipeline), b.s);
    assert_non_null(strstr(b.s, "kernel    tangled\n"));
    assert_non_null(strstr(b.s, "a cycle with two entries is no loop"));
    assert_non_null(strstr(b.s, "a jump has an unknown target"));
    assert_non_null(strstr(b.s, "spills: 3 VGPR, 1 SGPR"));
    assert_non_null(strstr(b.s, "1 accumulator moves"));
    kn_ctx_free(&c);
}

static json_int_t
number(json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    if (!json_is_integer(v))
        fail_msg("no number %s", key);
    return json_integer_value(v);
}

static void
test_json(void **state)
{
    struct kn_ctx c;
    struct kn_buf b = info(&c, built_dir, "flow.o", true);
    json_error_t e;
    json_t *root = json_loads(b.s, JSON_REJECT_DUPLICATES, &e), *k, *l, *w;

    (void)state;
    if (!root)
        fail_msg("line %d: %s", e.line, e.text);
    assert_string_equal(json_string_value(json_object_get(root, "arch")),
                        "gfx950");
    assert_int_equal(number(root, "code_object"), 5);
    k = json_array_get(json_object_get(root, "kernels"), 0);
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(k, "args"), 0), "name")),
        "a\"b");
    assert_int_equal(number(k, "vgpr"), 24);
    assert_int_equal(number(k, "instructions"), 17);
    l = json_array_get(json_object_get(k, "loops"), 0);
    assert_true(json_is_true(json_object_get(l, "main")));
    assert_int_equal(number(l, "mfma_cycles"), 32);
    assert_int_equal(number(json_object_get(l, "units"), "LDS"), 2);
    w = json_array_get(json_object_get(l, "waits"), 0);
    assert_int_equal(number(w, "vmcnt"), 4);
    assert_null(json_object_get(w, "lgkmcnt"));
    assert_int_equal(number(w, "count"), 1);
    json_decref(root);
    kn_ctx_free(&c);
}

/* One kernel: the object `kernel` that every report of kilnc has. */
static void
test_json_of_one_kernel(void **state)
{
    struct kn_ctx c;
    struct kn_buf b =
        info(&c, data_dir, "gfx950_wgrad_fp8_tn_128x128x128.co", true);
    json_t *root = json_loads(b.s, 0, NULL), *k;

    (void)state;
    assert_non_null(root);
    k = json_object_get(root, "kernel");
    assert_string_equal(json_string_value(json_object_get(k, "name")),
                        "wgrad_tn");
    assert_int_equal(number(k, "vgpr"), 240);
    assert_int_equal(number(k, "agpr"), 64);
    assert_int_equal(number(k, "regs"), 304);
    assert_int_equal(number(k, "preload_dwords"), 14);
    json_decref(root);
    kn_ctx_free(&c);
}

/* The sentence is the reader's own. */
static void
test_bad_file(void **state)
{
    struct kn_ctx c;
    struct kn_buf out = { .c = &c };

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_info_print("x.co", "junk", 4, false, &out),
                     KILN_BAD_INPUT);
    assert_string_equal(c.err.text, "x.co: not an ELF file");
    kn_ctx_free(&c);
}

/* Waves a SIMD by registers: 512 / (registers rounded up to 8), at most 8. */
static void
test_occupancy_by_registers(void **state)
{
    static const struct {
        uint32_t regs, waves;
    } table[] = {
        { 512, 1 }, { 264, 1 }, { 256, 2 }, { 176, 2 }, { 168, 3 },
        { 128, 4 }, { 96, 5 }, { 80, 6 }, { 72, 7 }, { 64, 8 }, { 8, 8 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct kn_object_kernel k = { .regs = table[i].regs,
                                            .max_workgroup = 256 };
        struct kn_occupancy o = kn_occupancy_of(KILN_GFX950, &k, 0);

        assert_int_equal(o.waves_per_simd, table[i].waves);
        assert_int_equal(o.workgroups_per_cu, table[i].waves);
        assert_string_equal(o.limit, table[i].waves < 8 ? "registers"
                                                        : "wave slots");
    }
}

static void
test_occupancy_by_lds(void **state)
{
    const struct kn_object_kernel k = { .regs = 64, .lds = 32768,
                                        .max_workgroup = 256 };
    const struct kn_object_kernel big = { .regs = 128,
                                          .max_workgroup = 512 };
    struct kn_occupancy o = kn_occupancy_of(KILN_GFX942, &k, 0);

    (void)state;
    assert_int_equal(o.workgroups_per_cu, 2);
    assert_string_equal(o.limit, "LDS");
    /* 32768 rounds up to 33280 on gfx950: 4 fit into 163840, not 5. */
    assert_int_equal(
        kn_occupancy_of(KILN_GFX950, &k, 0).workgroups_per_cu, 4);
    /* Dynamic LDS counts; 131072 of 65536 does not fit at all. */
    assert_int_equal(
        kn_occupancy_of(KILN_GFX942, &k, 98304).workgroups_per_cu, 0);
    /* 8 waves of 128 registers: 4 waves a SIMD are 2 workgroups. */
    assert_int_equal(
        kn_occupancy_of(KILN_GFX950, &big, 0).workgroups_per_cu, 2);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_one_kernel),
        cmocka_unit_test(test_bad_file),
        cmocka_unit_test(test_occupancy_by_registers),
        cmocka_unit_test(test_occupancy_by_lds),
    };

    if (argc != 3)
        return 2;
    data_dir = argv[1];
    built_dir = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
