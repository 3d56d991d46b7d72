/* order_foot.c - the bytes of LDS that an access touches, of each wave, and
 * which accesses meet in a byte. */
#include <string.h>

#include "../../ir/ir.h"
#include "order_impl.h"

/* Bytes a lane touches: `parts` of `bytes` each, from what register `reg` holds
 * on, or of a copy from M0 on, each lane its own. */
struct shape {
    uint32_t bytes, parts;
    uint32_t at[2];
    bool copy;
    unsigned reg;            /* KN_NREG: none */
};

static struct shape
shape_of(const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    uint32_t unit = row->flags & KN_IF_ST64 ? 64u * row->bytes : row->bytes;
    struct shape s = { row->bytes, 1, { (uint32_t)i->offset, 0 },
                       kn_lds_kind(i) == KN_ACC_DMA, KN_M0 };
    int8_t addr = kn_mem_operands(i).addr;

    if (!s.copy)
        s.reg = addr >= 0 ? kn_reg_of(&i->o[addr], 0) : KN_NREG;
    if (s.copy && s.bytes < 4)
        s.bytes = 4;         /* a lane's place is a dword at least */
    if (row->flags & KN_IF_TWO) {
        s.parts = 2;
        s.at[0] = (uint32_t)i->offset * unit;
        s.at[1] = (uint32_t)i->offset1 * unit;
    }
    return s;
}

/* CDNA3 ISA 9.1.9: LDS address of a copy is M0 + offset + lane * bytes; more
 * than 16 bits of M0 count where LDS is larger. */
static bool
lane_address(const struct kn_machine *m, const struct shape *s,
             const struct kn_held *v, const unsigned at_lane[2], uint32_t *at)
{
    bool large = kn_targets[m->p->target].lds > 65536;
    unsigned w = at_lane[0], l = at_lane[1];

    if (!kn_machine_lane(v, w, l, at))
        return false;
    if (s->copy)
        *at = (*at & (large ? 0x3fffcu : 0xfffcu)) + l * s->bytes;
    return true;
}

/* An unknown mask stands for all lanes: it may only add accesses. */
static uint64_t
lanes_active(const struct kn_machine *m, unsigned w)
{
    uint32_t lo, hi;

    if (!(m->active >> w & 1))
        return 0;
    if (!kn_machine_lane(m->now[KN_EXEC], w, 0, &lo) ||
        !kn_machine_lane(m->now[KN_EXEC + 1], w, 0, &hi))
        return ~0ull;
    return (uint64_t)hi << 32 | lo;
}

enum { LDS_MOST = 160 * 1024 };

/* Bytes beyond the largest LDS touch nothing. */
static void
mark_lane(struct kn_feet *f, const struct shape *s, uint32_t at, unsigned w,
          struct kn_foot *out)
{
    for (uint32_t p = 0; p < s->parts; p++) {
        uint32_t from = at + s->at[p];

        if (from >= LDS_MOST || from + s->bytes > LDS_MOST)
            continue;
        for (uint32_t b = 0; b < s->bytes; b++)
            f->owner[from + b] |= (uint16_t)(1u << w);
        out->from = from < out->from ? from : out->from;
        out->to = from + s->bytes > out->to ? from + s->bytes : out->to;
    }
}

static void
take_runs(struct kn_feet *f, struct kn_foot *out)
{
    size_t cap = 0;

    out->hash = out->from;
    for (uint32_t b = out->from, e; b < out->to; b = e) {
        uint16_t waves = f->owner[b];

        for (e = b; e < out->to && f->owner[e] == waves; e++)
            ;
        if (!waves)
            continue;
        out->run = kn_grow(f->c, out->run, &cap, out->nrun + 1,
                           sizeof *out->run);
        out->run[out->nrun++] = (struct kn_run_of){ b, e, waves };
        out->hash = kn_mix(out->hash ^ b) + kn_mix(e * 65536ull + waves);
    }
    if (out->to > out->from)
        memset(f->owner + out->from, 0,
               (out->to - out->from) * sizeof *f->owner);
}

static int32_t
find_foot(struct kn_feet *f, const struct kn_foot *x)
{
    for (uint32_t n = 0; n < f->n; n++) {
        const struct kn_foot *y = &f->foot[n];

        if (y->hash == x->hash && y->nrun == x->nrun &&
            !memcmp(y->run, x->run, x->nrun * sizeof *x->run))
            return (int32_t)n;
    }
    f->foot = kn_grow(f->c, f->foot, &f->cap, f->n + 1, sizeof *f->foot);
    f->foot[f->n] = *x;
    return (int32_t)f->n++;
}

int32_t
kn_foot_of(struct kn_feet *f, const struct kn_machine *m,
           const struct kn_inst *i)
{
    struct kn_foot x = { .from = LDS_MOST };
    struct shape s = shape_of(i);
    const struct kn_held *held = s.reg < KN_NREG ? m->now[s.reg] : &kn_held_unknown;
    bool one = held->kind != KN_V_CASES, open = false;

    if (!f->owner)
        f->owner = KN_NEW(f->c, uint16_t, LDS_MOST);
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t lanes = lanes_active(m, w);

        for (; lanes; lanes &= lanes - 1)
            for (unsigned k = 0; k < (one ? 1 : held->is.n); k++) {
                unsigned lane[] = { w, (unsigned)__builtin_ctzll(lanes) };
                uint32_t at;

                if (lane_address(m, &s, one ? held : held->is.of[k], lane, &at))
                    mark_lane(f, &s, at, w, &x);
                else
                    open = true;
            }
    }
    take_runs(f, &x);
    return open ? -1 : !x.nrun ? -2 : find_foot(f, &x);
}

/* ---- meetings ----------------------------------------------------------- */

static bool
one_wave(uint16_t a)
{
    return !(a & (a - 1));
}

static unsigned
compare_runs(const struct kn_foot *a, const struct kn_foot *b)
{
    unsigned r = KN_MEET_KNOWN;

    for (uint32_t i = 0, j = 0; i < a->nrun && j < b->nrun;) {
        const struct kn_run_of *x = &a->run[i], *y = &b->run[j];

        if (x->to <= y->from)
            i++;
        else if (y->to <= x->from)
            j++;
        else {
            if (x->waves & y->waves)
                r |= KN_MEET_SAME;
            if (x->waves != y->waves || !one_wave(x->waves))
                r |= KN_MEET_CROSS;
            if (x->to < y->to)
                i++;
            else
                j++;
        }
    }
    return r;
}

unsigned
kn_feet_meet(struct kn_feet *f, uint32_t a, uint32_t b)
{
    uint8_t *m;

    if (!f->meets)
        f->meets = KN_NEW(f->c, uint8_t, (size_t)f->n * f->n + 1);
    m = &f->meets[(size_t)a * f->n + b];
    if (!*m)
        *m = (uint8_t)compare_runs(&f->foot[a], &f->foot[b]);
    return *m;
}

/* x in one place, y in the other, not the same wave. */
static bool
two_waves(uint16_t a, uint16_t b)
{
    return a && b && (a != b || !one_wave(a));
}

bool
kn_feet_between(const struct kn_feet *f, const uint32_t ab[2],
                const uint16_t waves[2], uint32_t *at)
{
    const struct kn_foot *p = &f->foot[ab[0]], *q = &f->foot[ab[1]];

    for (uint32_t i = 0, j = 0; i < p->nrun && j < q->nrun;) {
        const struct kn_run_of *u = &p->run[i], *v = &q->run[j];

        if (u->to > v->from && v->to > u->from &&
            two_waves(u->waves & waves[0], v->waves & waves[1])) {
            *at = u->from > v->from ? u->from : v->from;
            return true;
        }
        if (u->to <= v->to)
            i++;
        else
            j++;
    }
    return false;
}
