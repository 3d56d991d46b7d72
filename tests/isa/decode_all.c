/* decode_all.c - the decoder against every opcode LLVM knows, and against objects
 * of another compiler. */
#include "../../emit/isa/decode.h"
#include "../kit/by_text.h"
#include "../kit/slurp.h"

#include <llvm-c/Disassembler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *triton_dir;

/* ---- every opcode ---- */

struct sweep {
    struct by_text by;
    unsigned seen, bad;
    uint8_t hit[KN_NISA];
    uint64_t random;
    unsigned variants, filled; /* words near those, and how many by form */
    uint8_t formed[KN_NISA];
};

/* An instruction by its form, where there is one, against LLVM's text. */
static void
compare_reading(struct sweep *s, struct kn_forms *x, const uint32_t w[4])
{
    struct kn_inst want = { 0 }, got = { 0 };
    bool known = by_text_read(&s->by, w, &want);

    s->variants++;
    if (!kn_forms_fill(x, w, &got)) {
        if (known)
            kn_forms_add(x, w, &want);
        return;
    }
    s->filled++;
    s->formed[got.op] = 1;
    memcpy(want.raw, w, want.size);
    memcpy(got.raw, w, got.size);
    if (known && !kn_raw_apply(&want) && !kn_raw_apply(&got) &&
        !memcmp(&want, &got, sizeof want))
        return;
    if (s->bad++ < 10)
        print_message("# by form, %08x %08x %08x %08x: %s, by text %s\n",
                      w[0], w[1], w[2], w[3], kn_isa[got.op].mnemonic,
                      kn_isa[want.op].mnemonic);
}

/* Words near the seed: other operands, or a single bit of any kind. */
static void
vary(struct sweep *s, const uint32_t seed[4], uint32_t w[4])
{
    static const uint32_t operands[] = { 0, 0xff, 0xffff, 0x7f7f7f,
                                         0x01ffffff };
    uint64_t r = s->random = kn_mix(s->random);
    uint32_t first = operands[r % 5];

    for (unsigned k = 0; k < 4; k++) {
        uint32_t x = (uint32_t)kn_mix(r + k), y = (uint32_t)kn_mix(r + k + 4);
        uint32_t few = y & 1 ? x : x & y;

        w[k] = seed[k] ^ (few & (k & 1 ? y & 2 ? 0x03ffff : ~0u : first));
    }
    if (!(r >> 32 & 7))
        w[r >> 40 & 3] ^= 1u << (r >> 48 & 31);
}

/* Words of the same form as the seed and words near it. */
static void
vary_words(struct sweep *s, const uint32_t seed[4])
{
    enum { VARIANTS = 24 };
    struct kn_ctx c;
    struct kn_forms *x;

    kn_ctx_init(&c, NULL, NULL);
    x = KN_NEW(&c, struct kn_forms, 1);
    *x = (struct kn_forms){ .c = &c, .read = by_text_read, .user = &s->by };
    compare_reading(s, x, seed);
    compare_reading(s, x, seed);
    for (int k = 0; k < VARIANTS; k++) {
        uint32_t w[4];

        vary(s, seed, w);
        compare_reading(s, x, w);
    }
    kn_ctx_free(&c);
}

static void
try_words(struct sweep *s, const uint32_t first[4])
{
    uint32_t w[8] = { first[0], first[1], first[2], first[3] };
    struct kn_text_error e = { 0 };
    struct kn_inst i = { 0 };
    char text[256];
    size_t n = LLVMDisasmInstruction(s->by.llvm, (uint8_t *)w, 32, 0, text,
                                     sizeof text);

    if (!n || strstr(text, "/*Invalid"))
        return;
    s->seen++;
    memcpy(i.raw, w, sizeof i.raw);
    i.size = (uint8_t)n;
    if (kn_text_parse(&s->by.index, text, &i, &e) && !kn_raw_apply(&i)) {
        s->hit[i.op] = 1;
        vary_words(s, first);
        return;
    }
    if (s->bad++ < 10)
        print_message("# %s '%s': %s\n", e.what ? e.what : "word differs",
                      e.token, text);
}

static void
try_word(struct sweep *s, uint32_t w0, uint32_t w1)
{
    try_words(s, (uint32_t[4]){ w0, w1 });
}

/* The 16-byte forms: scales v2, v3; A v[32:39], B v[40:47], C v[16:31]. */
static void
sweep_scaled(struct sweep *s)
{
    for (uint32_t op = 0x2d; op <= 0x2e; op++)
        for (uint32_t f = 0; f < 25; f++)
            try_words(s, (uint32_t[4]){
                0xd3ac0000, 258 | 259 << 9,
                0xd3800000 | op << 16 | 1 << 11 | f / 5 << 8 | 16,
                288 | 296 << 9 | 272 << 18 | f % 5 << 29 });
}

/* Fields of the operands, chosen so that every format has a legal one. */
static void
sweep_formats(struct sweep *s)
{
    for (uint32_t op = 0; op < 96; op++) /* SOP2, SOPK among them */
        try_word(s, 2u << 30 | op << 23 | 8 << 16 | 16 << 8 | 12, 0x123456);
    for (uint32_t op = 0; op < 32; op++)
        try_word(s, 0xbu << 28 | op << 23 | 8 << 16 | 6, 0x12345678);
    for (uint32_t op = 0; op < 256; op++) {
        try_word(s, 0x17du << 23 | op << 8 | 8 << 16 | 12, 0);
        try_word(s, 0x17du << 23 | op << 8 | 12, 0);
        try_word(s, 0x17du << 23 | op << 8 | 8 << 16, 0);
        try_word(s, 0x17eu << 23 | (op & 127) << 16 | 16 << 8 | 12, 0);
        try_word(s, 0x17fu << 23 | (op & 127) << 16 | op >> 7, 0);
        try_word(s, 0x30u << 26 | op << 18 | 1 << 17 | 8 << 6 | 2, 16);
        try_word(s, 0x30u << 26 | op << 18 | 1 << 17 | 1 << 16 | 8 << 6 | 2,
                 16);
        try_word(s, 0x30u << 26 | op << 18, 0);
        for (uint32_t src = 249; src < 263; src += src < 251 ? 1 : 11) {
            uint32_t w1 = src == 249 ? 6 | 6 << 8 | 6 << 16 | 6u << 24
                          : src == 250 ? 0xff000000 | 0x155 << 8 | 6 : 0;

            try_word(s, 0x3fu << 25 | op << 9 | 8 << 17 | src, w1);
            try_word(s, 0x3eu << 25 | op << 17 | 4 << 9 | src, w1);
            try_word(s, (op & 63) << 25 | 8 << 17 | 4 << 9 | src,
                     src == 262 ? 0x3f800001 : w1);
        }
        try_word(s, 0x3fu << 25 | op << 9, 0);
    }
    for (uint32_t op = 0; op < 1024; op++) {
        uint32_t w0 = 0x34u << 26 | op << 16 | 8;

        try_word(s, w0, 262 | 266 << 9 | 270 << 18);
        try_word(s, w0, 262 | 20 << 9 | 24 << 18);
        try_word(s, w0 | 10 << 8, 262 | 266 << 9 | 270 << 18);
        try_word(s, w0, 20 | 24 << 9);
    }
    for (uint32_t op = 0; op < 256; op++)
        for (uint32_t k = 0; k < 16; k++)
            try_word(s, 0x36u << 26 | op << 17 | (k & 8) << 13 | 0x102,
                     2 | (k & 1) << 10 | (k & 2) << 18 | (k & 4) << 25);
    for (uint32_t op = 0; op < 512; op++)
        for (uint32_t k = 0; k < 6; k++)
            try_word(s, 0x37u << 26 | (op & 127) << 18 | op >> 7 << 14 |
                            (k & 1) << 16 | 16,
                     2 | 4 << 8 | (k < 2 ? 127u : k < 4 ? 8u : 0u) << 16 |
                         12u << 24);
    for (uint32_t op = 0; op < 128; op++) {
        uint32_t w1 = 2 | 4 << 8 | 2 << 16 | 5u << 24;

        try_word(s, 0x38u << 26 | op << 18 | 1 << 12 | 16, w1);
        try_word(s, 0x38u << 26 | op << 18 | 1 << 12 | 1 << 14 | 16, w1);
        try_word(s, 0x38u << 26 | op << 18 | 1 << 12 | 1 << 16 | 16, w1);
        try_word(s, 0x38u << 26 | op << 18, 0);
        try_word(s, 0x3au << 26 | (op & 15) << 15 | 1 << 12 | 0x2a << 19, w1);
    }
}

/* No opcode LLVM can disassemble is unknown, every row is met, and whatever
 * the decoder takes from a form is what LLVM's text of the words says. */
static void
every_opcode(void **state)
{
    static struct sweep s;
    static const kiln_target targets[] = { KILN_GFX942, KILN_GFX950 };
    unsigned missing = 0, formed = 0;

    (void)state;
    memset(&s, 0, sizeof s);
    kn_isa_index_init(&s.by.index);
    for (int t = 0; t < 2; t++) {
        s.by.llvm = kn_disasm_open(targets[t]);
        assert_non_null(s.by.llvm);
        sweep_formats(&s);
        sweep_scaled(&s);
        kn_disasm_close(s.by.llvm);
    }
    assert_true(s.seen > 5000);
    assert_int_equal(s.bad, 0);
    for (unsigned k = 1; k < KN_NISA; k++) {
        formed += s.formed[k];
        if (!s.hit[k] && missing++ < 10)
            print_message("# never met: %s\n", kn_isa[k].mnemonic);
    }
    assert_int_equal(missing, 0);
    print_message("# %u of %u variants by their form, of %u mnemonics\n",
                  s.filled, s.variants, formed);
    assert_true(s.filled > s.variants / 5);
    assert_true(formed > KN_NISA / 20 * 19);
}

/* ---- objects made by Triton ---- */

static void
triton_objects(void **state)
{
    static const char *const names[] = {
        "gfx942_bf16_nt_128x128x64.co", "gfx942_fp8_nt_128x128x128.co",
        "gfx950_bf16_nt_256x256x64.co", "gfx950_mxfp4_nt_256x256x256.co",
        "gfx950_mxfp8_nt_256x256x128.co",
        "gfx950_wgrad_fp8_tn_256x256x128.co"
    };
    uint32_t total = 0;
    clock_t spent = 0;

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct kn_object o;
        struct kn_program p;
        struct kn_ctx c;
        struct blob co = slurp(triton_dir, names[k]);
        clock_t start;

        kn_ctx_init(&c, NULL, NULL);
        assert_int_equal(kn_object_read(&c, names[k], co.p, co.n, &o),
                         KILN_OK);
        start = clock();
        if (kn_decode(&c, &o, &o.kernels[0], true, &p))
            fail_msg("%s: %s", names[k], c.err.text);
        spent += clock() - start;
        assert_int_equal(p.inst[p.entry].pc, o.kernels[0].entry + 256);
        total += p.n;
        assert_int_equal(by_text_differs(&p), p.n);
        kn_ctx_free(&c);
        free(co.p);
    }
    assert_true(total > 5000);
    print_message("# %u instructions in %.1f ms\n", total,
                  1e3 * (double)spent / CLOCKS_PER_SEC);
    /* 2 us each is the aim; a machine may be ten times as slow. */
    assert_true((double)spent / CLOCKS_PER_SEC < total * 20e-6);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode),
        cmocka_unit_test(triton_objects),
    };

    if (argc < 2)
        return 2;
    triton_dir = argv[1];
    return cmocka_run_group_tests_name("decode-all", tests, NULL, NULL);
}
