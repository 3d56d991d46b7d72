/* The static checker of final bytes: clean on what the generator makes, and
 * firing on every wait or barrier of a main loop that is patched away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "emit/prove/cert.h"
#include "gen/gen.h"

struct kernel {
    struct kn_ctx c;
    struct kn_generated g;
    struct kn_object o;
    struct kn_program p;
    struct kn_slots slots;
    jmp_buf oom;
};

static void
make_as(struct kernel *k, const kiln_problem *p, const struct kn_config *cfg)
{
    const struct kn_object_kernel *kernel;

    memset(k, 0, sizeof *k);
    kn_ctx_init(&k->c, NULL, NULL);
    k->c.oom = &k->oom;
    assert_int_equal(kn_generate(&k->c, p, cfg, NULL, &k->g), KILN_OK);
    assert_int_equal(kn_object_read(&k->c, "k", k->g.co, k->g.size, &k->o),
                     KILN_OK);
    assert_int_equal(kn_object_kernel(&k->c, &k->o, NULL, &kernel), KILN_OK);
    assert_int_equal(kn_decode(&k->c, &k->o, kernel, true, &k->p), KILN_OK);
    assert_int_equal(kn_cert_read(&k->c, k->g.certificate,
                                  strlen(k->g.certificate), &k->p, &k->slots),
                     KILN_OK);
}

static void
make(struct kernel *k, kiln_target t, kiln_type type, int64_t n)
{
    kiln_problem p = { .size = sizeof p, .target = t, .a = type, .m = n,
                       .n = n, .k = n };

    make_as(k, &p, NULL);
}

static uint32_t
findings(struct kernel *k)
{
    struct kn_check_result r;

    assert_int_equal(kn_check_program(&k->c, &k->p, &k->slots, &r),
                     KILN_OK);
    assert_false(r.undecided);
    return r.nfindings;
}

/* Turns instruction n into s_nop 0 for one check. */
static uint32_t
findings_without(struct kernel *k, uint32_t n)
{
    struct kn_inst keep = k->p.inst[n];
    uint32_t found;

    k->p.inst[n].op = KN_I_s_nop;
    k->p.inst[n].nopnd = k->p.inst[n].ndst = 0;
    found = findings(k);
    k->p.inst[n] = keep;
    return found;
}

static bool
in_main_loop(struct kernel *k, uint32_t n)
{
    struct kn_cfg g;

    assert_int_equal(kn_cfg_build(&k->c, &k->p, &g), KILN_OK);
    return kn_loop_contains(&g, (uint32_t)kn_cfg_main_loop(&g), n);
}

static void
every_wait_matters(kiln_target t, kiln_type type, int64_t n)
{
    struct kernel k;
    uint32_t waits = 0, barriers = 0;

    make(&k, t, type, n);
    assert_int_equal(findings(&k), 0);
    for (uint32_t i = 0; i < k.p.n; i++) {
        bool barrier = k.p.inst[i].op == KN_I_s_barrier;

        if ((!barrier && k.p.inst[i].op != KN_I_s_waitcnt) ||
            !in_main_loop(&k, i))
            continue;
        waits += !barrier;
        barriers += barrier;
        if (!findings_without(&k, i))
            fail_msg("%s at 0x%llx can go unnoticed",
                     barrier ? "s_barrier" : "s_waitcnt",
                     (unsigned long long)k.p.inst[i].pc);
    }
    assert_true(waits >= 2 && barriers >= 1);
    kn_ctx_free(&k.c);
}

static void
test_direct_bf16(void **state)
{
    (void)state;
    every_wait_matters(KILN_GFX950, KILN_BF16, 512);
}

static void
test_direct_mxfp8(void **state)
{
    (void)state;
    every_wait_matters(KILN_GFX950, KILN_MXFP8, 512);
}

static void
test_registers_bf16(void **state)
{
    (void)state;
    every_wait_matters(KILN_GFX942, KILN_BF16, 1024);
}

/* LLVM switches lanes off for atomics behind the main loop: the branches in front
 * of them are as certain as before; not so if lanes may be off from the start. */
static void
test_lanes_off(void **state)
{
    const kiln_problem p = { .size = sizeof p, .target = KILN_GFX942,
                             .a = KILN_FP8, .b = KILN_FP8, .out = KILN_BF16,
                             .scale = KILN_SCALE_BLOCK128,
                             .scale_layout = KILN_SCALE_TRANSPOSED,
                             .epilogue = KILN_EPILOGUE_BIAS, .b_layout = 1 };
    const struct kn_config cfg = { .abi = KN_ABI_AITER, .bm = 32, .bn = 128,
                                   .bk = 128, .split_k = 3,
                                   .lowering = KN_LOWERING_LLVM };
    struct kernel k;
    uint32_t n = 0;

    (void)state;
    make_as(&k, &p, &cfg);
    assert_int_equal(findings(&k), 0);
    for (n = 0; k.p.inst[n].op != KN_I_s_barrier; n++)
        ;
    assert_true(findings_without(&k, n) > 0);
    for (n = 0; n < k.p.n && !(kn_isa[k.p.inst[n].op].flags & KN_IF_WEXEC); n++)
        ;
    assert_true(n < k.p.n);
    k.p.inst[0].op = k.p.inst[n].op;
    k.p.inst[0].nopnd = k.p.inst[0].ndst = 0;
    assert_true(findings(&k) > 0);
    kn_ctx_free(&k.c);
}

/* A wait in the bytes themselves, the way someone would tamper with them. */
static void
test_patched_bytes(void **state)
{
    struct kernel k;
    struct kn_check_result r;
    uint32_t n = 0, nop = 0xbf800000;
    uint8_t *at;

    (void)state;
    make(&k, KILN_GFX950, KILN_FP8, 512);
    while (k.p.inst[n].op != KN_I_s_waitcnt || !in_main_loop(&k, n))
        n++;
    at = (uint8_t *)memmem(k.g.co, k.g.size, k.p.inst[n].raw, 4);
    while (memcmp(at + 4, k.p.inst[n + 1].raw, k.p.inst[n + 1].size))
        at = (uint8_t *)memmem(at + 4, (size_t)(k.g.co + k.g.size - at - 4),
                               k.p.inst[n].raw, 4);
    memcpy(at, &nop, 4);
    assert_int_equal(kn_decode(&k.c, &k.o, k.p.kernel, true, &k.p), KILN_OK);
    assert_int_equal(kn_cert_read(&k.c, k.g.certificate,
                                  strlen(k.g.certificate), &k.p, &k.slots),
                     KILN_FINDING);
    assert_non_null(strstr(k.c.err.text, "wait"));
    assert_int_equal(kn_check_program(&k.c, &k.p, NULL, &r), KILN_OK);
    kn_ctx_free(&k.c);
}

static void
refused(struct kernel *k, const char *text, const char *why)
{
    struct kn_slots slots;

    memset(&k->c.err, 0, sizeof k->c.err);
    assert_int_equal(kn_cert_read(&k->c, text, strlen(text), &k->p, &slots),
                     KILN_BAD_INPUT);
    assert_non_null(strstr(k->c.err.text, why));
}

static void
test_bad_certificates(void **state)
{
    struct kernel k;

    (void)state;
    make(&k, KILN_GFX950, KILN_BF16, 64);
    refused(&k, "{", "no JSON");
    refused(&k, "{}", "version 1");
    refused(&k, "{\"kiln_certificate\":1,\"kernel\":\"x\",\"asynchronous\":[]}",
            "is for kernel x");
    kn_ctx_free(&k.c);
}

/* Each emitted LDS access maps back to an operation of its kind. */
static void
test_line_map(void **state)
{
    struct kernel k;
    uint32_t copies = 0, matrix = 0;

    (void)state;
    make(&k, KILN_GFX950, KILN_BF16, 512);
    for (uint32_t n = 0; n < k.p.n; n++) {
        uint32_t ins = kn_lines_find(&k.g.lines,
                                     k.p.inst[n].pc - k.p.inst[0].pc);

        if (k.p.inst[n].lds) {
            assert_int_equal(k.g.wave->ins[ins].op, KN_OP_dma);
            copies++;
        }
        if (kn_isa[k.p.inst[n].op].flags & KN_IF_MFMA) {
            assert_int_equal(k.g.wave->ins[ins].op, KN_OP_mfma);
            matrix++;
        }
    }
    assert_true(copies > 0 && matrix > 0);
    kn_ctx_free(&k.c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct_bf16),
        cmocka_unit_test(test_direct_mxfp8),
        cmocka_unit_test(test_registers_bf16),
        cmocka_unit_test(test_lanes_off),
        cmocka_unit_test(test_patched_bytes),
        cmocka_unit_test(test_bad_certificates),
        cmocka_unit_test(test_line_map),
    };

    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
