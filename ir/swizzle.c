/* swizzle.c - picks each LDS tile's XOR swizzle by counting bank conflicts.
 *
 * Requires: tile level. Leaves: swz_* of every 16-byte-chunked tile set to the
 * cheapest of the candidates that keep fragments a constant offset apart. The
 * bank phases are measured ones (docs/hardware.md). */
#include "ir.h"

#include <string.h>

struct kn_readplan
kn_readplan(const struct kn_fn *f, const struct kn_lds *l)
{
    struct kn_frag fr = kn_fragment(f, l->side);
    uint32_t bits = kn_elems[l->elem].bits;
    struct kn_readplan p = { .parts = 1 };

    if (l->kdiv != 1 && !l->lk) {        /* factors of the rows of a lane: */
        p.bytes = l->side == 'a' || l->shift ? 4 : 16; /* the accumulator's one row of A, */
        p.kstep = fr.k;      /* four of B, or one for those (distribute_mma.c) */
        return p;
    }
    if (kn_scales_codes(f, l)) {         /* those of four K steps */
        p.bytes = KN_SCALED_STEPS * fr.k / l->kdiv;
        p.kstep = fr.k / l->kdiv;
        return p;
    }
    if (l->kdiv != 1) {                  /* a scale: one value a block */
        p.bytes = bits / 8;
        p.kstep = fr.k >= l->kdiv ? fr.k / l->kdiv * p.bytes : 0;
        p.qstep = fr.k >= 4 * l->kdiv ? p.bytes : 0;
        return p;
    }
    if (!l->lk) {
        p.tr = bits;
        p.bytes = 8;
        p.parts = fr.bytes / 8;
        p.kstep = fr.k;
        p.qstep = fr.bytes == 32 ? 16 : fr.k / 4;
        for (uint32_t i = 0; i < p.parts; i++)
            p.pstep[i] = fr.bytes == 32 ? i / 2 * 64 + i % 2 * 8
                                        : i * (fr.k / 4 / p.parts);
        return p;
    }
    if (bits < 16 && bits != 6 && kn_elems[f->shape.tb].bits == 16)
        fr.bytes = fr.bytes * bits / 16; /* widened behind their reads */
    p.kstep = fr.bytes * 4;
    if (bits == 6) {
        p.parts = 3;
        p.bytes = 8;
        p.qstep = 24;
        p.pstep[1] = 8;
        p.pstep[2] = 16;
    } else {
        p.bytes = fr.bytes < 16 ? fr.bytes : 16;
        p.parts = fr.bytes / p.bytes;
        p.qstep = p.bytes;
        p.pstep[1] = 64;
    }
    return p;
}

/* Lane -> conflict phase of one wave read. */
static unsigned
phase_of(kiln_target t, uint32_t bytes, bool flip, unsigned lane)
{
    unsigned half = lane / 32 * 4, l = lane % 32;

    if (bytes == 4)
        return 0;
    if (bytes == 8)
        return lane / (flip ? 16 : 32);
    if (kn_targets[t].banks == 64 && bytes == 16) /* 4 phases of 16 lanes */
        return lane / 32 * 2 +
               !(l < 4 || (l >= 12 && l < 16) || (l >= 20 && l < 28));
    /* 8 phases of 8 lanes: {0-3,20-23} {4-7,16-19} {8-11,28-31} {12-15,24-27} */
    return half + (l < 16 ? l / 4 : (l / 4) ^ 5);
}

static uint32_t
lane_address(const struct kn_fn *f, const struct kn_lds *l,
             struct kn_readplan p, unsigned lane)
{
    uint32_t t = lane % 16, q = lane / 16, row, col, swz;
    uint32_t pitch = kn_geometry(f, l).pitch;

    if (p.tr) {
        uint32_t per = p.tr == 16 ? 4 : 2;   /* lanes along one K row */

        row = q * p.qstep + t / per;
        col = t % per * 8;
    } else {
        row = kn_fragment_row(f, l->side, t);
        col = q * p.qstep;
    }
    swz = ((row >> l->swz_s) & ((1u << l->swz_n) - 1)) << l->swz_t;
    return row * pitch + ((col / 16) ^ swz) * 16 +
           (col % 16 ^ (row & l->flip ? 8 : 0));
}

uint32_t
kn_conflicts(const struct kn_fn *f, const struct kn_lds *l)
{
    struct kn_readplan p = kn_readplan(f, l);
    uint32_t banks = p.bytes == 12 ? 32 : kn_targets[f->target].banks;
    uint32_t extra = 0, address[64];

    for (unsigned lane = 0; lane < 64; lane++)
        address[lane] = lane_address(f, l, p, lane) / 4;
    for (unsigned ph = 0; ph < 8; ph++) {
        uint32_t load[64] = { 0 }, seen[256], n = 0, worst = 0;

        for (unsigned lane = 0; lane < 64; lane++) {
            uint32_t a = address[lane];

            if (phase_of(f->target, p.bytes, l->flip, lane) != ph)
                continue;
            for (uint32_t w = 0; w < p.bytes / 4; w++) {
                uint32_t dup = 0;

                for (uint32_t k = 0; k < n; k++)
                    dup |= seen[k] == a + w;
                if (dup)
                    continue;
                seen[n++] = a + w;
                if (++load[(a + w) % banks] > worst)
                    worst = load[(a + w) % banks];
            }
        }
        extra += worst > 1 ? worst - 1 : 0;
    }
    return extra;
}

/* Where a row's dword lies, in dwords of LDS. */
static uint32_t
written_at(const struct kn_lds *l, uint32_t pitch, uint32_t row, uint32_t dword)
{
    uint32_t swizzle = ((row >> l->swz_s) & ((1u << l->swz_n) - 1)) << l->swz_t;

    return row * pitch + 4 * (dword / 4 ^ swizzle) + (dword % 4 ^ (row & l->flip ? 2 : 0));
}

/* Eight lanes, which write 16 bytes at a time to all banks. */
struct eight {
    const struct kn_lds *l;
    uint32_t pitch, load[8], worst;
};

/* One of them writes chunk k of a row. */
static void
write_chunk(struct eight *e, uint32_t row, uint32_t k)
{
    uint32_t *load;

    k ^= ((row >> e->l->swz_s) & ((1u << e->l->swz_n) - 1)) << e->l->swz_t;
    load = &e->load[(row * e->pitch / 16 + k) % 8];
    if (++*load > e->worst)
        e->worst = *load;
}

/* The same of the writes of a tile that is transposed on its way, of 16 bytes or less, 128 at a
 * time; a lane's run may be several. */
static uint32_t
write_conflicts(const struct kn_fn *f, const struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(f, l);
    uint32_t run = g.kb * kn_elems[l->elem].bits / 32, extra = 0;
    uint32_t dwords = run > 4 ? 4 : run, lanes = dwords ? 32 / dwords : 64;

    if (!g.transpose || (l->words && !l->mem))
        return 0;
    for (uint32_t n = 0; n < 64 / lanes * (run / 4 + 1); n++) {
        uint32_t load[32] = { 0 }, worst = 1, from = n % (64 / lanes) * lanes;
        uint32_t piece = n / (64 / lanes) * dwords;

        for (uint32_t lane = from; piece < run && lane < from + lanes; lane++) {
            uint32_t k, outer, at;

            kn_block_place(l, &g, lane, &k, &outer);
            at = written_at(l, g.pitch / 4, outer * g.pb, k * run + piece);
            for (uint32_t w = 0; w < dwords; w++)
                worst = ++load[(at + w) % 32] > worst ? load[(at + w) % 32] : worst;
        }
        extra += worst - 1;
    }
    return extra;
}

/* Of writes of a dword, of every eighth row: AWQ's words that stay codes. As many of them as
 * there are reads. */
static uint32_t
dword_conflicts(const struct kn_fn *f, const struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(f, l);
    uint32_t load[64] = { 0 }, worst = 1, banks = kn_targets[f->target].banks;

    if (!g.transpose || g.pb != 8 || g.kb * kn_elems[l->elem].bits != 32)
        return 0;
    for (uint32_t lane = 0; lane < 64; lane++) {
        uint32_t k, outer, chunk, bank;

        kn_block_place(l, &g, lane, &k, &outer);
        outer = outer * g.pb + (kn_flips_columns(f, l) ? kn_column_flip(outer) : 0);
        chunk = k / 4 ^ ((outer >> l->swz_s) & ((1u << l->swz_n) - 1)) << l->swz_t;
        bank = (outer * g.pitch / 4 + 4 * chunk + k % 4) % banks;
        worst = ++load[bank] > worst ? load[bank] : worst;
    }
    return worst - 1;
}

/* Of pieces of runs that are converted, where lanes have them out of order. */
static uint32_t
run_conflicts(const struct kn_fn *f, const struct kn_lds *l)
{
    struct kn_lane_order o = kn_run_order(f, l);
    uint32_t extra = 0, pieces = o.rows && o.along == 1 && l->kdiv == 1 ? 8u << o.rows : 0;

    for (uint32_t n = 0; n < pieces; n++) {
        struct eight e = { .l = l, .pitch = kn_geometry(f, l).pitch };
        uint32_t row, run;

        for (uint32_t lane = 8 * (n % 8); lane < 8 * (n % 8) + 8; lane++) {
            kn_run_place(&o, lane, &row, &run);
            write_chunk(&e, row, (run << o.rows) + n / 8);
        }
        extra += e.worst - 1;
    }
    return extra;
}

/* Reads come first, several to a write. */
static uint32_t
all_conflicts(const struct kn_fn *f, const struct kn_lds *l)
{
    return (kn_conflicts(f, l) + dword_conflicts(f, l)) * 64 + write_conflicts(f, l) +
           run_conflicts(f, l);
}

/* Reads of 8 bytes are served 16 lanes at a time by 32 banks, which then have rows of
 * both halves of 16-byte chunks: of the lanes that write beside each other too. */
static uint32_t
flip_of(const struct kn_fn *f, const struct kn_lds *l)
{
    uint32_t pitch = kn_geometry(f, l).pitch;

    if (kn_targets[f->target].banks != 32 || !kn_may_flip(f, l) ||
        kn_readplan(f, l).bytes != 8)
        return 0;
    return pitch < 128 ? 128 / pitch : 1;
}

static void
choose(const struct kn_fn *f, struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(f, l);
    uint32_t best = all_conflicts(f, l);
    struct kn_lds keep = *l;

    /* Row bits above 3 would differ between fragments of a K-contiguous
     * tile; XORed chunks must stay inside the row. */
    for (uint32_t n = 1; n <= 4 && best; n++)
        for (uint32_t s = 0; s + n <= 4; s++)
            for (uint32_t t = 0; 1u << (t + n) <= g.cpr; t++) {
                struct kn_lds try = *l;
                uint32_t cost;

                if (g.cpr % (1u << (t + n)))
                    continue;
                try.swz_s = s;
                try.swz_n = n;
                try.swz_t = t;
                cost = all_conflicts(f, &try);
                if (cost < best) {
                    best = cost;
                    keep = try;
                }
            }
    *l = keep;
}

kiln_status
kn_pass_swizzle(struct kn_fn **fp)
{
    struct kn_fn *f = *fp;

    for (size_t i = 0; i < f->nlds; i++) {
        struct kn_lds *l = &f->lds[i];

        if (kn_geometry(f, l).chunk == 16 && l->kdiv == 1 && !l->swz_n)
        {
            l->flip = flip_of(f, l);
            choose(f, l);
        }
    }
    return KILN_OK;
}
