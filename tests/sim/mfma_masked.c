/* mfma_masked.c - one scaled matrix instruction per K of 128, its operands
 * placed as kernels place them, against four whose payload is masked to one
 * block of 32 K each. The masked form is right whatever K a lane's bytes are
 * multiplied as: every lane holds all four scales of its row, and but one
 * block is zero (the form of ROCm/aiter pull request 3783). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../kit/snippet.h"

enum {
    A = 0, B = 8,            /* operands of the one instruction */
    MA = 16, MB = 24,        /* of the four, then masked */
    XA = 32, XB = 33, MXA = 34, MXB = 35, ONE = 40, FOUR = 44, ROWS = 16,
    DEPTH = 128, LINE = 300
};

static const struct format {
    const char *name;
    unsigned code, bits, dwords;
    unsigned most;           /* codes 0 .. most and their negatives are small */
} formats[] = {
    { "fp8", 0, 8, 8, 0x48 }, { "bf8", 1, 8, 8, 0x44 },
    { "fp6", 2, 6, 6, 0x1f }, { "bf6", 3, 6, 6, 0x17 },
    { "fp4", 4, 4, 4, 7 },
};

struct matrix {
    uint8_t code[ROWS][DEPTH], scale[ROWS][DEPTH / 32];
};

/* K of element e of the lanes of quarter q: narrow types have 32 in a row,
 * those of 8 bits two halves 64 apart (docs/sim-mfma.md). */
static unsigned
k_of(const struct format *f, unsigned q, unsigned e)
{
    return f->bits < 8 ? 32 * q + e : e < 16 ? 16 * q + e : 48 + 16 * q + e;
}

static void
put_code(struct snippet *s, unsigned reg, unsigned lane, unsigned bit,
         uint8_t code)
{
    uint64_t v = (uint64_t)code << bit % 32;

    s->v[reg + bit / 32][lane] |= (uint32_t)v;
    if (v >> 32)
        s->v[reg + bit / 32 + 1][lane] |= (uint32_t)(v >> 32);
}

/* reg, x: as kernels place payload and scale; mreg, mx: 32 K in a row a lane,
 * and all scales of the row. */
static void
put_operand(struct snippet *s, const struct format *f, const struct matrix *m,
            const unsigned reg[4])
{
    for (unsigned lane = 0; lane < 64; lane++) {
        unsigned row = lane % 16, q = lane / 16;

        for (unsigned e = 0; e < 32; e++) {
            put_code(s, reg[0], lane, e * f->bits,
                     m->code[row][k_of(f, q, e)]);
            put_code(s, reg[1], lane, e * f->bits, m->code[row][32 * q + e]);
        }
        s->v[reg[2]][lane] = m->scale[row][q];
        for (unsigned b = 0; b < 4; b++)
            s->v[reg[3]][lane] |= (uint32_t)m->scale[row][b] << 8 * b;
    }
}

/* Codes of one magnitude range and scales near 1: every sum is exact. */
static void
draw(struct matrix *m, const struct format *f, uint64_t seed)
{
    struct snippet_rng r = { seed };

    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned k = 0; k < DEPTH; k++) {
            uint64_t x = snippet_next(&r);
            unsigned low = f->bits == 8 ? f->most - 16 : 0;

            m->code[i][k] = (uint8_t)(x % 5 == 0 ? 0 :
                                      low + x / 8 % (f->most - low + 1));
            m->code[i][k] |= (uint8_t)((x >> 40 & 1) << (f->bits - 1));
        }
        for (unsigned b = 0; b < 4; b++)
            m->scale[i][b] = (uint8_t)(126 + snippet_next(&r) % 4);
    }
}

static size_t
put_line(char *to, const unsigned r[5], const struct format *a,
         const struct format *b, unsigned byte)
{
    char c[16];

    snprintf(c, sizeof c, byte == 4 ? "0" : "v[%u:%u]", r[0], r[0] + 3);
    return (size_t)snprintf(to, LINE, "v_mfma_scale_f32_16x16x128_f8f6f4 v[%u:%u], "
                    "v[%u:%u], v[%u:%u], %s, v%u, v%u op_sel:[%u,%u,0] "
                    "op_sel_hi:[%u,%u,0] cbsz:%u blgp:%u\ns_nop 15\n", r[0],
                    r[0] + 3, r[1], r[1] + a->dwords - 1, r[2],
                    r[2] + b->dwords - 1, c, r[3], r[4], byte % 4 & 1,
                    byte % 4 & 1, byte % 4 >> 1, byte % 4 >> 1, a->code,
                    b->code);
}

/* One instruction, then for each block j: payload of the lanes of quarter j,
 * zeros elsewhere, scale byte j. */
static void
make_text(char *text, size_t room, const struct format *a,
          const struct format *b)
{
    const unsigned one[] = { ONE, A, B, XA, XB }, four[] = { FOUR, 48, 56,
                                                             MXA, MXB };
    size_t n = put_line(text, one, a, b, 4);

    for (unsigned j = 0; j < 4; j++) {
        for (unsigned d = 0; d < 16; d++)
            n += (size_t)snprintf(text + n, room - n, "v_mov_b32 v%u, 0\n",
                                  48 + d);
        n += (size_t)snprintf(text + n, room - n, "s_mov_b64 exec, 0\n"
                              "s_mov_b32 exec_%s, 0x%x\n", j < 2 ? "lo" : "hi",
                              0xffffu << j % 2 * 16);
        for (unsigned d = 0; d < 16; d++)
            n += (size_t)snprintf(text + n, room - n, "v_mov_b32 v%u, v%u\n",
                                  48 + d, MA + d);
        n += (size_t)snprintf(text + n, room - n, "s_mov_b64 exec, -1\n");
        assert_true(n + LINE < room);
        n += put_line(text + n, four, a, b, j);
    }
}

/* The bytes of both forms; wrong: a scale of the one is moved a block on. */
static bool
same(const struct format *a, const struct format *b, uint64_t seed, bool wrong)
{
    static const unsigned ra[] = { A, MA, XA, MXA }, rb[] = { B, MB, XB, MXB };
    struct matrix ma, mb;
    struct snippet *s;
    char text[6000];
    unsigned used = 0;
    bool equal;

    make_text(text, sizeof text, a, b);
    s = snippet_open(KILN_GFX950, text);
    draw(&ma, a, seed);
    draw(&mb, b, ~seed);
    put_operand(s, a, &ma, ra);
    put_operand(s, b, &mb, rb);
    if (wrong)
        for (unsigned lane = 0; lane < 64; lane++)
            s->v[XB][lane] = mb.scale[lane % 16][(lane / 16 + 1) % 4];
    assert_int_equal(snippet_run(s), KILN_OK);
    equal = !memcmp(s->v[ONE], s->v[FOUR], 4 * sizeof s->v[0]);
    for (unsigned lane = 0; lane < 64; lane++)
        used += s->v[FOUR][lane] << 1 != 0;
    assert_true(used > 32);
    snippet_close(s);
    return equal;
}

/* Both operands have the masked form's bytes at the same place only if both
 * or none have 8 bits. */
static bool
comparable(size_t i)
{
    return (formats[i % 5].bits == 8) == (formats[i / 5].bits == 8);
}

static void
one_is_four_masked(void **state)
{
    (void)state;
    for (size_t i = 0; i < 25; i++)
        for (uint64_t seed = 1; comparable(i) && seed < 4; seed++)
            assert_true(same(&formats[i % 5], &formats[i / 5],
                             seed * 977 + i, false));
}

static void
a_scale_of_another_block_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 25; i++)
        if (comparable(i))
            assert_false(same(&formats[i % 5], &formats[i / 5], i, true));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_four_masked),
        cmocka_unit_test(a_scale_of_another_block_is_noticed),
    };

    return cmocka_run_group_tests_name("masked", tests, NULL, NULL);
}
