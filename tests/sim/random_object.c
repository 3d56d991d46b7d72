/* Any bytes as a code object: refused with a sentence, or run to the end of
 * its step limit with or without findings. Never a crash, never a hang. The
 * inputs are the same every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

enum { NOISE = 1200, FLIPS = 3000, CODES = 6000, WORDS = 48 };
#define MARK 0xbf800005u     /* s_nop 5: where random instructions go */

static const struct program_facts facts[] = {
    { .target = KILN_GFX950, .lds = 4096, .scratch = 64, .waves = 2 },
    { .target = KILN_GFX942, .lds = 4096, .scratch = 64, .waves = 2 },
};

/* A kernel that loads, meets the other wave, multiplies and stores. */
static const char text[] =
    "v_lshl_add_u32 v1, v0, 2, 0\n"
    "global_load_dword v2, v1, s[4:5]\n"
    "s_waitcnt vmcnt(0)\n"
    "ds_write_b32 v1, v2\n"
    "s_waitcnt lgkmcnt(0)\n"
    "s_barrier\n"
    "ds_read_b32 v3, v1\n"
    "s_waitcnt lgkmcnt(0)\n"
    "v_mov_b32_e32 v4, v3\n"
    "s_nop 1\n"
    "v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[2:3], 0\n"
    "s_nop 7\n"
    "global_store_dword v1, v8, s[6:7]\n"
    ".rept 48\ns_nop 5\n.endr\n"
    "s_endpgm\n";

/* xorshift64: the same numbers every time. */
static uint32_t
next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (uint32_t)(*x >> 16);
}

struct outcome {
    unsigned refused, ran, unsupported, findings;
};

static void
fill_input(void *user, uint64_t offset, void *dst, size_t size)
{
    (void)user, (void)offset;
    memset(dst, 1, size);
}

static void
launch(struct kn_ctx *c, struct kn_sim *s, const struct kn_sim_code *code,
       struct outcome *o)
{
    struct kn_sim_launch l = { .code = code, .grid = { 2, 1, 1 },
                               .block = { 128, 1, 1 }, .threads = 1,
                               .select = { .all = true },
                               .max_steps = 600 };
    uint64_t args[8] = { 0 };
    struct kn_sim_result r;
    kiln_status status;

    for (int k = 0; k < 2; k++)
        assert_int_equal(kn_sim_alloc(s, 65536, k ? KN_MEM_OUTPUT : 0,
                                      k ? NULL : fill_input, NULL, &args[k]),
                         KILN_OK);
    l.kernarg = args;
    l.kernarg_size = sizeof args;
    status = kn_sim_run(s, &l, &r);
    o->ran += !status;
    o->unsupported += status == KILN_UNSUPPORTED;
    o->refused += status && status != KILN_UNSUPPORTED;
    o->findings += !status && r.nfindings;
    if (status)
        assert_true(c->err.status == status && c->err.text[0]);
}

static void
try_object(kiln_target target, const void *bytes, size_t size,
           struct outcome *o)
{
    struct kn_sim_code *code;
    struct kn_sim *s;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_sim_open(&c, target, &s), KILN_OK);
    if (!kn_sim_load(s, "random", bytes, size, &code)) {
        launch(&c, s, code, o);
    } else {
        assert_true(c.err.text[0]);
        o->refused++;
    }
    kn_sim_close(s);
    kn_ctx_free(&c);
}

static void
noise(void **state)
{
    static const uint8_t elf[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 4 };
    uint64_t x = 88172645463325252ull;
    struct outcome o = { 0 };
    uint8_t bytes[4096];

    (void)state;
    for (int k = 0; k < NOISE; k++) {
        size_t size = next(&x) % sizeof bytes;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)next(&x);
        if (k & 1 && size >= sizeof elf)
            memcpy(bytes, elf, sizeof elf);
        try_object(facts[k / 2 & 1].target, bytes, size, &o);
    }
    assert_int_equal(o.refused, NOISE);
}

/* A real object with a few bytes changed anywhere in it. */
static void
flips(void **state)
{
    uint64_t x = 2463534242ull;
    struct outcome o = { 0 };

    (void)state;
    for (int t = 0; t < 2; t++) {
        size_t size;
        uint8_t *good = program_object(&facts[t], text, &size);
        uint8_t *bad = malloc(size);
        struct outcome before = { 0 };

        assert_non_null(bad);
        try_object(facts[t].target, good, size, &before);
        assert_true(before.ran == 1 && !before.findings);
        for (int k = 0; k < FLIPS / 2; k++) {
            memcpy(bad, good, size);
            for (uint32_t n = 1 + next(&x) % 4; n; n--)
                bad[next(&x) % size] = (uint8_t)next(&x);
            try_object(facts[t].target, bad, size, &o);
        }
        free(bad);
        free(good);
    }
    print_message("# refused %u, unsupported %u, ran %u, with findings %u\n",
                  o.refused, o.unsupported, o.ran, o.findings);
    assert_true(o.refused > FLIPS / 20 && o.ran > FLIPS / 5);
}

/* Random fields under the prefix of every encoding. */
static uint32_t
random_word(uint64_t *x)
{
    static const uint32_t prefix[][2] = {
        { 0x00000000, 31 }, { 0x7c000000, 25 }, { 0x7e000000, 25 },
        { 0x80000000, 30 }, { 0xb0000000, 28 }, { 0xbe800000, 23 },
        { 0xbf000000, 23 }, { 0xbf800000, 23 }, { 0xc0000000, 26 },
        { 0xd0000000, 26 }, { 0xd3800000, 23 }, { 0xd3ac0000, 18 },
        { 0xd8000000, 26 }, { 0xdc000000, 26 }, { 0xe0000000, 26 },
        { 0x00000000, 32 }, { 0x00000000, 8 }, { 0x7e000200, 17 },
    };
    uint32_t k = next(x) % (sizeof prefix / sizeof *prefix);
    uint64_t free_bits = ((uint64_t)1 << prefix[k][1]) - 1;

    return prefix[k][0] | (next(x) & (uint32_t)free_bits);
}

static void
codes(void **state)
{
    const uint32_t mark = MARK;
    uint64_t x = 7777777777ull;
    struct outcome o = { 0 };

    (void)state;
    for (int t = 0; t < 2; t++) {
        size_t size, at = 0;
        uint8_t *bytes = program_object(&facts[t], text, &size);

        while (memcmp(bytes + at, &mark, 4))
            at += 4;
        for (int k = 0; k < CODES / 2; k++) {
            uint32_t w[WORDS];

            for (int i = 0; i < WORDS; i++) /* few: half are legal */
                w[i] = i <= k % 3 ? random_word(&x) : 0xbf800000u;
            memcpy(bytes + at, w, sizeof w);
            try_object(facts[t].target, bytes, size, &o);
        }
        free(bytes);
    }
    print_message("# refused %u, unsupported %u, ran %u, with findings %u\n",
                  o.refused, o.unsupported, o.ran, o.findings);
    assert_true(o.unsupported > CODES / 4 && o.ran > CODES / 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise),
        cmocka_unit_test(flips),
        cmocka_unit_test(codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
