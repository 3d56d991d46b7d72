/* Sizes, swizzles and bank conflicts, against numbers worked out by hand and
 * a bank model written down here a second time. */
#include "../kit/tir.h"

#include <string.h>

static struct kn_fn *
kernel_with(struct kit *k, const char *target, const char *shape,
            const char *lds)
{
    struct kn_buf b = { .c = &k->c };

    kn_putf(&b, "kernel @g tile %s\nshape %s\nlds %%s %s\n", target, shape,
            lds);
    return kit_parse(k, b.s);
}

static const struct {
    const char *target, *shape, *lds;
    struct kn_geom want;
} slots[] = {
    /* 256 x 64 bf16: rows of 128 B, 8 chunks; 2048 chunks, 512 threads */
    { "gfx950", "bm=256 bn=256 bk=64 wm=2 wn=4 mfma=bf16.16x16x32 ta=bf16 "
                "tb=bf16",
      "side=a elem=bf16 rows=256 cols=64",
      { 256, 128, 16, 8, 2048, 4, 32768, false, 0, 0, 0, 16, 0, 0, false, 0, false, 0 } },
    /* 32 x 128 fp4: rows of 64 B; 128 chunks for 256 threads: half idle */
    { "gfx950", "bm=32 bn=32 bk=128 wm=2 wn=2 mfma=mx.16x16x128 ta=fp4 "
                "tb=fp4",
      "side=a elem=fp4 rows=32 cols=128",
      { 32, 64, 16, 4, 128, 1, 4096, false, 0, 0, 0, 16, 0, 0, false, 0, false, 0 } },
    /* E8M0 64 x 4: rows of 4 B, one chunk each */
    { "gfx950", "bm=64 bn=64 bk=128 wm=2 wn=2 mfma=mx.16x16x128 ta=fp4 "
                "tb=fp4",
      "side=a elem=e8m0 rows=64 cols=4 kdiv=32 unit=4",
      { 64, 4, 4, 1, 64, 1, 1024, false, 0, 0, 0, 4, 0, 0, false, 0, false, 0 } },
    /* fp6 16 x 128: rows of 96 B */
    { "gfx950", "bm=16 bn=16 bk=128 wm=1 wn=1 mfma=mx.16x16x128 ta=fp6 "
                "tb=fp6",
      "side=a elem=fp6 rows=16 cols=128",
      { 16, 96, 16, 6, 96, 2, 2048, false, 0, 0, 0, 16, 0, 0, false, 0, false, 0 } },
    /* the same beginning at any byte: six chunks are no row of lanes */
    { "gfx950", "bm=16 bn=16 bk=128 wm=1 wn=1 mfma=mx.16x16x128 ta=fp6 "
                "tb=fp6",
      "side=a elem=fp6 rows=16 cols=128 unaligned=1",
      { 16, 96, 16, 6, 96, 2, 2048, false, 0, 0, 0, 16, 0, 0, true, 0, false, 0 } },
    /* bf16 beginning at any byte: the lane before has a dword */
    { "gfx950", "bm=256 bn=256 bk=64 wm=2 wn=4 mfma=bf16.16x16x32 ta=bf16 "
                "tb=bf16",
      "side=a elem=bf16 rows=256 cols=64 unaligned=1",
      { 256, 128, 16, 8, 2048, 4, 32768, false, 0, 0, 0, 16, 0, 0, false, 0, false, 0 } },
    /* K-outer bf16 in memory and LDS: a row is 64 outers = 128 B */
    { "gfx950", "bm=64 bn=64 bk=32 wm=1 wn=1 mfma=bf16.16x16x32 ta=bf16 "
                "tb=bf16",
      "side=b elem=bf16 rows=64 cols=32 gk=0 lk=0",
      { 32, 128, 16, 8, 256, 4, 4096, false, 0, 0, 0, 16, 0, 0, false, 0, false, 0 } },
    /* the same beginning at any byte: nine lanes a row, seven rows a wave, nine chunks in LDS */
    { "gfx950", "bm=64 bn=64 bk=32 wm=1 wn=1 mfma=bf16.16x16x32 ta=bf16 "
                "tb=bf16",
      "side=b elem=bf16 rows=64 cols=32 gk=0 lk=0 unaligned=1",
      { 32, 144, 16, 8, 256, 5, 5040, false, 0, 0, 0, 16, 0, 0, true, 0, false, 7 } },
    /* of 32 chunks no second row is beside the first: lanes have chunks in turn */
    { "gfx950", "bm=256 bn=64 bk=64 wm=2 wn=2 mfma=bf16.16x16x32 ta=bf16 "
                "tb=bf16",
      "side=a elem=bf16 rows=256 cols=64 gk=0 lk=0 unaligned=1",
      { 64, 512, 16, 32, 2048, 8, 32768, false, 0, 0, 0, 16, 0, 0, true, 0, false, 0 } },
    /* transposed on the way: blocks of 8 K x 2 outers, 32 B a thread */
    { "gfx942", "bm=64 bn=64 bk=64 wm=2 wn=2 mfma=bf16.16x16x16 ta=bf16 "
                "tb=bf16",
      "side=b elem=bf16 rows=64 cols=64 gk=0 lk=1",
      { 64, 128, 16, 8, 256, 1, 8192, true, 8, 2, 0, 4, 2, 4, false, 0, false, 0 } },
    /* the same of f64: 2 K x 2 outers */
    { "gfx942", "bm=64 bn=64 bk=16 wm=2 wn=2 mfma=f64.16x16x4 ta=f64 tb=f64",
      "side=b elem=f64 rows=64 cols=16 gk=0 lk=1",
      { 64, 128, 16, 8, 256, 1, 8192, true, 2, 2, 0, 16, 2, 4, false, 0, false, 0 } },
    /* fp4 staged as fp8: runs of 16 elements, 8 B in memory, 16 in LDS */
    { "gfx942", "bm=64 bn=64 bk=128 wm=2 wn=2 mfma=fp8.fp8.16x16x32 "
                "ta=fp8 tb=fp8 block=32",
      "side=a elem=fp8 mem=fp4 rows=64 cols=128",
      { 64, 128, 16, 8, 512, 2, 8192, false, 0, 0, 16, 8, 0, 0, false, 0, false, 0 } },
    /* E8M0 staged as f32, K-outer: 64 rows, 4 scales a thread */
    { "gfx942", "bm=64 bn=64 bk=128 wm=2 wn=2 mfma=fp8.fp8.16x16x32 "
                "ta=fp8 tb=fp8 block=32",
      "side=a elem=f32 mem=e8m0 rows=64 cols=4 kdiv=32 lk=0 unit=4",
      { 4, 256, 16, 16, 64, 1, 4096, false, 0, 0, 4, 4, 0, 0, false, 0, false, 0 } },
    /* K-outer e5m2 staged as f16: blocks of 16 K x 4 outers */
    { "gfx942", "bm=64 bn=64 bk=64 wm=1 wn=1 mfma=f16.16x16x16 ta=f16 "
                "tb=f16 block=32",
      "side=b elem=f16 mem=e5m2 rows=64 cols=64 gk=0 lk=1 unit=4",
      { 64, 128, 16, 8, 64, 1, 8192, true, 16, 4, 0, 4, 1, 16, false, 0, false, 0 } },
    /* bf16 quantised as fp8, 8 elements from each half of a row */
    { "gfx950", "bm=64 bn=64 bk=128 wm=2 wn=2 mfma=mx.16x16x128 ta=fp8 tb=fp8",
      "side=a elem=fp8 mem=bf16 rows=64 cols=128 run=16",
      { 64, 128, 16, 8, 1024, 4, 8192, false, 0, 0, 8, 16, 0, 0, false, 16, true, 0 } },
};

static void
slot_sizes(void **state)
{
    struct kit k;

    (void)state;
    kit_open(&k);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        struct kn_fn *f = kernel_with(&k, slots[i].target, slots[i].shape,
                                      slots[i].lds);
        struct kn_geom g = kn_geometry(f, &f->lds[0]), w = slots[i].want;

        assert_int_equal(kn_verify(f), KILN_OK);
        assert_int_equal(g.lrows, w.lrows);
        assert_int_equal(g.pitch, w.pitch);
        assert_int_equal(g.chunk, w.chunk);
        assert_int_equal(g.cpr, w.cpr);
        assert_int_equal(g.nchunks, w.nchunks);
        assert_int_equal(g.steps, w.steps);
        assert_int_equal(g.bytes, w.bytes);
        assert_int_equal(g.transpose, w.transpose);
        assert_int_equal(g.own, w.own);
        assert_int_equal(g.kb, w.kb);
        assert_int_equal(g.pb, w.pb);
        assert_int_equal(g.run, w.run);
        assert_int_equal(g.halves, w.halves);
        assert_int_equal(g.abreast, w.abreast);
        assert_int_equal(g.mem, w.mem);
        assert_int_equal(g.kn, w.kn);
        assert_int_equal(g.pn, w.pn);
    }
    kit_close(&k);
}

/* Every block of a transposed tile has one lane, and the eight lanes of an LDS
 * write keep to different chunks of 16 bytes (8-bit types: two to a chunk). */
static void
transposed_writes(void **state)
{
    static const struct {
        const char *shape, *lds;
        unsigned most;
    } rows[] = {
        { "bm=192 bn=256 bk=64 wm=2 wn=2 mfma=bf16.16x16x16 ta=bf16 tb=bf16",
          "side=a elem=bf16 rows=192 cols=64 gk=0 lk=1", 1 },
        { "bm=256 bn=256 bk=128 wm=2 wn=2 mfma=fp8.fp8.16x16x32 ta=fp8 tb=fp8",
          "side=b elem=fp8 rows=256 cols=128 gk=0 lk=1", 2 },
    };
    struct kit kit;

    (void)state;
    kit_open(&kit);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kn_fn *f = kernel_with(&kit, "gfx942", rows[i].shape,
                                      rows[i].lds);
        const struct kn_lds *l = &f->lds[0];
        struct kn_geom g = kn_geometry(f, l);
        bool taken[1024] = { false };
        unsigned load[8] = { 0 };

        assert_int_equal(kn_pass_swizzle(&f), KILN_OK);
        for (uint32_t id = 0; id < g.nchunks; id++) {
            uint32_t k, outer, row;

            kn_block_place(l, &g, id, &k, &outer);
            assert_true(k < l->cols / g.kb && outer < l->rows / g.pb);
            assert_false(taken[outer * (l->cols / g.kb) + k]);
            taken[outer * (l->cols / g.kb) + k] = true;
            if (id % 8 == 0)
                memset(load, 0, sizeof load);
            row = outer * g.pb;
            k ^= (row >> l->swz_s & ((1u << l->swz_n) - 1)) << l->swz_t;
            assert_true(++load[k] <= rows[i].most);
        }
    }
    kit_close(&kit);
}

/* Shorter runs, of tiles that have no 16 bytes for each lane: 128 bytes of lanes side by side
 * are in `most` rows of the 32 banks, for which all would do with one. */
static void
short_transposed_writes(void **state)
{
    static const struct {
        const char *shape, *lds;
        uint32_t bytes, most;
    } rows[] = {
        { "bm=64 bn=64 bk=128 wm=1 wn=4 mfma=fp8.fp8.16x16x32 ta=fp8 tb=fp8",
          "side=b elem=fp8 rows=64 cols=128 gk=0 lk=1", 8, 2 },
        { "bm=48 bn=64 bk=64 wm=1 wn=4 mfma=bf16.16x16x16 ta=bf16 tb=bf16",
          "side=a elem=bf16 rows=48 cols=64 gk=0 lk=1", 4, 6 },
        { "bm=160 bn=64 bk=64 wm=1 wn=4 mfma=bf16.16x16x16 ta=bf16 tb=bf16",
          "side=a elem=bf16 rows=160 cols=64 gk=0 lk=1", 8, 2 },
        { "bm=160 bn=64 bk=128 wm=1 wn=4 mfma=fp8.fp8.16x16x32 ta=fp8 tb=fp8",
          "side=a elem=fp8 rows=160 cols=128 gk=0 lk=1", 4, 4 },
    };
    struct kit kit;

    (void)state;
    kit_open(&kit);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kn_fn *f = kernel_with(&kit, "gfx942", rows[i].shape, rows[i].lds);
        const struct kn_lds *l = &f->lds[0];
        struct kn_geom g = kn_geometry(f, l);
        unsigned load[32] = { 0 };

        assert_int_equal(kn_pass_swizzle(&f), KILN_OK);
        assert_int_equal(g.kb * g.pitch / l->cols, rows[i].bytes);
        for (uint32_t id = 0; id < g.nchunks; id++) {
            uint32_t k, outer, row, at;

            kn_block_place(l, &g, id, &k, &outer);
            if (id * rows[i].bytes % 128 == 0)
                memset(load, 0, sizeof load);
            row = outer * g.pb;
            at = k * rows[i].bytes;
            at ^= (row >> l->swz_s & ((1u << l->swz_n) - 1)) << l->swz_t << 4;
            at ^= row & l->flip ? 8 : 0;
            for (uint32_t w = 0; w < rows[i].bytes; w += 4)
                assert_true(++load[(row * g.pitch + at + w) / 4 % 32] <= rows[i].most);
        }
    }
    kit_close(&kit);
}

/* Every run of a tile that is converted has one lane, and the eight lanes of an LDS write
 * keep to different chunks of 16 bytes, whichever piece of their runs they write. */
static void
converted_writes(void **state)
{
    static const struct {
        const char *target, *mfma, *lds;
    } rows[] = {
        { "gfx950", "32", "rows=64 cols=256 mem=fp4 run=32" },
        { "gfx950", "32", "rows=128 cols=128 mem=fp4 run=32" },
        { "gfx950", "32", "rows=256 cols=64 mem=fp4 run=32" },
        { "gfx942", "16", "rows=64 cols=128 mem=fp4 run=32" },
        { "gfx942", "16", "rows=64 cols=256 mem=fp4 run=32" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kit kit;
        struct kn_buf shape = { 0 }, lds = { 0 };
        bool taken[1024] = { false };
        struct kn_lane_order o;
        const struct kn_lds *l;
        struct kn_geom g;
        struct kn_fn *f;

        kit_open(&kit);
        shape.c = lds.c = &kit.c;
        kn_putf(&lds, "side=b elem=bf16 gk=1 lk=1 unit=16 %s", rows[i].lds);
        kn_putf(&shape, "bm=64 bn=256 bk=%.3s wm=2 wn=2 mfma=bf16.16x16x%s ta=bf16 tb=bf16",
                strstr(rows[i].lds, "cols=") + 5, rows[i].mfma);
        f = kernel_with(&kit, rows[i].target, shape.s, lds.s);
        assert_int_equal(kn_pass_swizzle(&f), KILN_OK);
        l = &f->lds[0];
        g = kn_geometry(f, l);
        o = kn_run_order(f, l);
        assert_int_equal(kn_conflicts(f, l), 0);
        assert_true(o.rows > 0);
        for (uint32_t id = 0; id < g.nchunks; id++) {
            uint32_t row, run, first = id / 8 * 8;
            unsigned load[8] = { 0 };

            kn_run_place(&o, id, &row, &run);
            assert_true(run < g.per && row < l->rows);
            assert_false(taken[row * g.per + run]);
            taken[row * g.per + run] = true;
            for (uint32_t lane = first; lane < first + 8; lane++) {
                kn_run_place(&o, lane, &row, &run);
                run = (run << o.rows) ^
                      (row >> l->swz_s & ((1u << l->swz_n) - 1)) << l->swz_t;
                assert_true(++load[(row * g.pitch / 16 + run) % 8] == 1);
            }
        }
        kit_close(&kit);
    }
}

/* Folded codes are written 8 bytes at a time, 16 lanes to all banks once: two halves of each of
 * the eight chunks of 128 bytes. */
static void
folded_writes(void **state)
{
    static const char *const lds[] = {
        "side=b elem=fp8 gk=1 lk=1 unit=16 rows=64 cols=256 mem=fp4 run=32",
        "side=b elem=fp8 gk=1 lk=1 unit=16 rows=64 cols=128 mem=fp4 run=32",
        "side=b elem=fp8 gk=1 lk=1 unit=16 rows=64 cols=256 mem=fp6 run=16",
        "side=b elem=fp8 gk=1 lk=1 unit=16 rows=64 cols=128 mem=fp6 run=16",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lds / sizeof *lds; i++) {
        struct kit kit;
        struct kn_buf shape = { 0 };
        struct kn_lane_order o;
        const struct kn_lds *l;
        struct kn_geom g;
        struct kn_fn *f;

        kit_open(&kit);
        shape.c = &kit.c;
        kn_putf(&shape, "bm=64 bn=64 bk=%.3s wm=2 wn=2 mfma=fp8.fp8.16x16x32 ta=fp8 tb=fp8 "
                "block=32", strstr(lds[i], "cols=") + 5);
        f = kernel_with(&kit, "gfx942", shape.s, lds[i]);
        assert_int_equal(kn_pass_swizzle(&f), KILN_OK);
        l = &f->lds[0];
        g = kn_geometry(f, l);
        o = kn_run_order(f, l);
        assert_true(l->flip);
        for (uint32_t n = 0; n < g.run / 8 * (g.nchunks / 16); n++) {
            bool taken[16] = { false };

            for (uint32_t lane = n % (g.nchunks / 16) * 16, to = lane + 16; lane < to; lane++) {
                uint32_t row, run, half, at;

                kn_run_place(&o, lane, &row, &run);
                half = run * g.run / 8 + n / (g.nchunks / 16);
                at = half / 2 ^ (row >> l->swz_s & ((1u << l->swz_n) - 1)) << l->swz_t;
                at = (at * 2 + (half % 2 ^ (row & l->flip ? 1 : 0)) + row * g.pitch / 8) % 16;
                assert_false(taken[at]);
                taken[at] = true;
            }
        }
        kit_close(&kit);
    }
}

static void
fragments(void **state)
{
    static const struct {
        const char *target, *shape;
        struct kn_frag a;
    } rows[] = {
        { "gfx950", "bm=256 bn=256 bk=64 wm=2 wn=4 mfma=bf16.16x16x32 ta=bf16 "
                    "tb=bf16", { 8, 32, 16, 1, 2 } },
        { "gfx942", "bm=128 bn=128 bk=64 wm=2 wn=2 mfma=bf16.16x16x16 ta=bf16 "
                    "tb=bf16", { 4, 32, 16, 2, 2 } },
        { "gfx942", "bm=128 bn=128 bk=128 wm=2 wn=2 mfma=fp8.fp8.16x16x32 "
                    "ta=fp8 tb=fp8", { 4, 64, 16, 2, 2 } },
        { "gfx942", "bm=128 bn=128 bk=128 wm=2 wn=2 mfma=fp8.fp8.16x16x32 "
                    "ta=fp8 tb=fp8 block=32", { 4, 32, 8, 1, 4 } },
        { "gfx950", "bm=128 bn=128 bk=128 wm=2 wn=2 mfma=mx.16x16x128 ta=fp8 "
                    "tb=fp8", { 4, 128, 32, 1, 1 } },
        { "gfx950", "bm=128 bn=128 bk=256 wm=2 wn=2 mfma=mx.16x16x128 ta=fp4 "
                    "tb=fp4", { 4, 128, 16, 1, 2 } },
        { "gfx950", "bm=128 bn=128 bk=256 wm=2 wn=2 mfma=mx.16x16x128 ta=fp6 "
                    "tb=fp6", { 4, 128, 24, 1, 2 } },
    };
    struct kit k;

    (void)state;
    kit_open(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kn_fn *f = kernel_with(&k, rows[i].target, rows[i].shape,
                                      "side=a elem=bf16 rows=16 cols=64");
        struct kn_frag r = kn_fragment(f, 'a');

        assert_memory_equal(&r, &rows[i].a, sizeof r);
    }
    kit_close(&k);
}

/* ---- the bank model, second hand ---- */

/* Published phases of a wave's 16-byte reads: gfx950 two of each half wave
 * (64 banks), gfx942 four (32 banks). */
static const char phase950[] = "AAAABBBBBBBBAAAABBBBAAAAAAAABBBB";
static const char phase942[] = "AAAABBBBCCCCDDDDBBBBAAAADDDDCCCC";

/* Extra LDS cycles of lane l reading 16 bytes at byte[l]. */
static unsigned
extra_cycles(const char *phase, unsigned banks, const unsigned byte[64])
{
    unsigned extra = 0;

    for (unsigned half = 0; half < 2; half++)
        for (char ph = 'A'; ph <= 'D'; ph++) {
            unsigned worst = 0;

            for (unsigned bank = 0; bank < banks; bank++) {
                unsigned n = 0;

                for (unsigned l = 0; l < 32; l++)
                    for (unsigned w = 0; phase[l] == ph && w < 4; w++)
                        n += (byte[half * 32 + l] / 4 + w) % banks == bank;
                worst = n > worst ? n : worst;
            }
            extra += worst > 1 ? worst - 1 : 0;
        }
    return extra;
}

static unsigned
reference_conflicts(bool gfx950, unsigned pitch, const struct kn_lds *l)
{
    unsigned byte[64];

    for (unsigned lane = 0; lane < 64; lane++) {
        unsigned row = lane % 16, chunk = lane / 16;

        chunk ^= (row >> l->swz_s & ((1u << l->swz_n) - 1)) << l->swz_t;
        byte[lane] = row * pitch + chunk * 16;
    }
    return extra_cycles(gfx950 ? phase950 : phase942, gfx950 ? 64 : 32, byte);
}

static const char *const shapes[2] = {
    "bm=64 bn=64 bk=64 wm=2 wn=2 mfma=bf16.16x16x16 ta=bf16 tb=bf16",
    "bm=64 bn=64 bk=64 wm=2 wn=2 mfma=bf16.16x16x32 ta=bf16 tb=bf16",
};

static void
conflicts_equal_the_model(void **state)
{
    int seen = 0;

    (void)state;
    for (int gfx950 = 0; gfx950 < 2; gfx950++)
        for (unsigned pitch = 64; pitch <= 512; pitch += 16) {
            struct kit k;
            struct kn_buf b = { .c = &k.c };
            struct kn_fn *f;

            kit_open(&k);
            kn_putf(&b, "side=a elem=bf16 rows=64 cols=%u", pitch / 2);
            f = kernel_with(&k, gfx950 ? "gfx950" : "gfx942", shapes[gfx950],
                            b.s);
            for (uint32_t n = 0; n <= 3; n++)
                for (uint32_t s = 0; s + n <= 4; s++)
                    for (uint32_t t = 0; 16u << (t + n) <= pitch; t++) {
                        struct kn_lds l = f->lds[0];

                        l.swz_s = s;
                        l.swz_n = n;
                        l.swz_t = t;
                        assert_int_equal(kn_conflicts(f, &l),
                                         reference_conflicts(gfx950, pitch,
                                                             &l));
                        seen++;
                    }
            kit_close(&k);
        }
    assert_true(seen > 1000);
}

/* A row pitch of 128 bytes: 16 rows meet in the same banks. On gfx950 a phase
 * of 16 lanes covers two chunk columns of eight rows: half of the rows share
 * banks with the other half. The pass finds a swizzle without conflicts. */
static void
known_pitches(void **state)
{
    static const struct {
        const char *target, *elem;
        unsigned cols;
        bool conflict;       /* without swizzle */
    } rows[] = {
        { "gfx950", "fp8", 128, true }, { "gfx950", "fp8", 256, true },
        { "gfx950", "bf16", 64, true }, { "gfx950", "bf16", 32, true },
        { "gfx942", "bf16", 64, true }, { "gfx942", "bf16", 32, true },
        { "gfx950", "fp6", 128, true }, { "gfx950", "fp6", 256, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kit k;
        struct kn_buf s = { .c = &k.c }, l = { .c = &k.c };
        struct kn_fn *f;
        bool gfx950 = !strcmp(rows[i].target, "gfx950");
        bool mx = !strncmp(rows[i].elem, "fp", 2);

        kit_open(&k);
        kn_putf(&s, "bm=64 bn=64 bk=%u wm=2 wn=2 mfma=%s ta=%s tb=%s",
                rows[i].cols, mx ? "mx.16x16x128" : gfx950 ? "bf16.16x16x32"
                : "bf16.16x16x16", rows[i].elem, rows[i].elem);
        kn_putf(&l, "side=a elem=%s rows=64 cols=%u", rows[i].elem,
                rows[i].cols);
        f = kernel_with(&k, rows[i].target, s.s, l.s);
        assert_int_equal(kn_conflicts(f, &f->lds[0]) > 0, rows[i].conflict);
        assert_int_equal(kn_pass_swizzle(&f), KILN_OK);
        assert_int_equal(kn_conflicts(f, &f->lds[0]), 0);
        kit_close(&k);
    }
}

/* Each row's chunks stay in the row and keep apart. */
static void
swizzles_are_bijections(void **state)
{
    int seen = 0;

    (void)state;
    for (size_t i = 0; kit_kernels[i]; i++) {
        struct kit k;
        struct kn_fn *f;

        kit_open(&k);
        f = kit_parse(&k, kit_file(&k, kit_kernels[i]));
        assert_int_equal(kn_pass_swizzle(&f), KILN_OK);
        for (size_t n = 0; n < f->nlds; n++) {
            const struct kn_lds *l = &f->lds[n];
            struct kn_geom g = kn_geometry(f, l);

            for (uint32_t row = 0; row < g.lrows; row++) {
                uint8_t hit[4096] = { 0 };

                for (uint32_t c = 0; c < g.cpr; c++) {
                    uint32_t x = c ^ (row >> l->swz_s &
                                      ((1u << l->swz_n) - 1)) << l->swz_t;

                    assert_true(x < g.cpr);
                    assert_false(hit[x]++);
                }
            }
            seen += l->swz_n != 0;
        }
        kit_close(&k);
    }
    assert_true(seen >= 4);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slot_sizes),
        cmocka_unit_test(transposed_writes),
        cmocka_unit_test(short_transposed_writes),
        cmocka_unit_test(converted_writes),
        cmocka_unit_test(folded_writes),
        cmocka_unit_test(fragments),
        cmocka_unit_test(conflicts_equal_the_model),
        cmocka_unit_test(known_pitches),
        cmocka_unit_test(swizzles_are_bijections),
    };

    if (argc > 1)
        kit_set_dir(argv[1]);
    return cmocka_run_group_tests_name("ir-geometry", tests, NULL, NULL);
}
