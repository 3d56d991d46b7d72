/* timing_record.c - runs one workgroup and keeps what its waves did: the
 * instructions in order, the bank clocks of LDS accesses and the cache lines
 * of memory accesses, both from the actual addresses. */
#include "../mfma/mfma.h"
#include "timing_impl.h"

/* ---- LDS banks ---------------------------------------------------------- */

/* How a wave's access is cut into passes of the banks. GL and HK measured the
 * lanes of each pass on gfx950, the CK-Tile blog those of gfx942's b128. */
struct passes {
    unsigned banks;
    const uint8_t *group;    /* of lane % 32; NULL: lanes / width */
    unsigned per32, width;   /* passes for 32 lanes; consecutive lanes */
};

static const uint8_t read128_950[32] = {
    0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0,
    1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1,
};
static const uint8_t read128_942[32] = {
    0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
    1, 1, 1, 1, 0, 0, 0, 0, 3, 3, 3, 3, 2, 2, 2, 2,
};

static struct passes
passes_of(kiln_target t, unsigned bytes, bool write)
{
    bool wide = kn_targets[t].banks == 64 && !write;

    if (bytes > 12 && !write)
        return wide ? (struct passes){ 64, read128_950, 2, 0 }
                    : (struct passes){ 32, read128_942, 4, 0 };
    if (bytes > 8 && !write) /* b96: as on gfx942, GL */
        return (struct passes){ 32, read128_942, 4, 0 };
    if (bytes > 8)
        return (struct passes){ 32, NULL, 0, 8 };
    if (bytes > 4)
        return wide ? (struct passes){ 64, NULL, 0, 32 }
                    : (struct passes){ 32, NULL, 0, 16 };
    return wide ? (struct passes){ 64, NULL, 0, 64 }
                : (struct passes){ 32, NULL, 0, 32 };
}

static unsigned
pass_of(const struct passes *p, unsigned lane)
{
    return p->group ? p->group[lane & 31] + (lane >> 5) * p->per32
                    : lane / p->width;
}

unsigned
kn_time_lds_pass(kiln_target t, const struct kn_sim_access *a, unsigned lane)
{
    struct passes p = passes_of(t, a->bytes, a->write);

    return pass_of(&p, lane);
}

struct bank_set {            /* distinct dwords of a pass, by bank */
    unsigned n[64];
    uint32_t dword[64][KN_LANES];
};

static void
add_dword(struct bank_set *b, uint32_t dword, unsigned banks)
{
    unsigned bank = dword % banks, k = 0;

    while (k < b->n[bank] && b->dword[bank][k] != dword)
        k++;
    if (k == b->n[bank] && k < KN_LANES)
        b->dword[bank][b->n[bank]++] = dword;
}

/* Equal dwords are broadcast; a pass takes as long as its fullest bank. */
static uint32_t
pass_clocks(const struct passes *p, const struct kn_sim_access *a,
            unsigned pass, struct bank_set *b)
{
    uint32_t most = 0;

    memset(b->n, 0, sizeof b->n);
    for (unsigned l = 0; l < KN_LANES; l++)
        if (a->mask >> l & 1 && pass_of(p, l) == pass)
            for (unsigned at = 0; at < a->bytes; at += 4)
                add_dword(b, (a->lds[l] + at) / 4, p->banks);
    for (unsigned k = 0; k < p->banks; k++)
        most = b->n[k] > most ? b->n[k] : most;
    return most;
}

uint32_t
kn_time_lds_clocks(kiln_target t, const struct kn_sim_access *a)
{
    struct passes p = passes_of(t, a->bytes, a->write);
    unsigned n = p.group ? 2 * p.per32 : KN_LANES / p.width;
    struct bank_set b;
    uint32_t clk = 0;

    for (unsigned k = 0; k < n; k++)
        clk += pass_clocks(&p, a, k, &b);
    return clk;
}

/* 200 MB of events: 40 tiles of 256x256 with K 8192 in one workgroup. */
enum { MOST_EVENTS = 24 << 20 };

/* Clocks of earlier accesses by where the lanes stand to each other: a shift
 * of all by whole dwords meets as many conflicts. */
enum { MEMO = 256 };

struct pattern {
    uint64_t mask;
    uint32_t bytes, rest;    /* rest: of the first lane's address */
    uint32_t at[KN_LANES];
};

struct kn_time_lds_memo {
    struct {
        struct pattern key;
        uint32_t clk;        /* plus one; 0: free */
    } slot[MEMO];
};

static void
make_pattern(const struct kn_sim_access *a, struct pattern *p)
{
    uint32_t first = a->lds[a->mask ? __builtin_ctzll(a->mask) : 0];

    memset(p, 0, sizeof *p);
    p->mask = a->mask;
    p->bytes = a->bytes << 1 | a->write;
    p->rest = first & 3;
    for (unsigned l = 0; l < KN_LANES; l++)
        p->at[l] = a->lds[l] - first;
    for (unsigned l = 0; l < KN_LANES && ~a->mask; l++)
        p->at[l] = a->mask >> l & 1 ? p->at[l] : 0;
}

static uint32_t
known_clocks(struct kn_time_record *r, const struct kn_sim_access *a)
{
    struct pattern p;
    uint32_t h = 0, clk;

    make_pattern(a, &p);
    for (unsigned l = 1; l < KN_LANES; l = 2 * l + 1)
        h = (h + p.at[l]) * 0x9e3779b1u;
    h = (h + p.bytes) * 0x9e3779b1u >> 24;
    if (r->memo->slot[h].clk && !memcmp(&r->memo->slot[h].key, &p, sizeof p))
        return r->memo->slot[h].clk - 1;
    clk = kn_time_lds_clocks(r->target, a);
    r->memo->slot[h].key = p;
    r->memo->slot[h].clk = clk + 1;
    return clk;
}

/* ---- what happens ------------------------------------------------------- */

static void
note_lds(struct kn_time_record *r, struct kn_time_wave *w,
         const struct kn_sim_access *a)
{
    uint32_t quads = (uint32_t)__builtin_popcountll(a->mask) * a->bytes / 16;
    uint32_t clk = known_clocks(r, a);

    w->fact += (quads ? quads : 1) << 16 | (clk & 0xffff);
}

static uint64_t *
push_line(struct kn_time_record *r, uint64_t line)
{
    r->line = kn_grow(r->c, r->line, &r->cap, r->nline + 1, sizeof *r->line);
    r->line[r->nline++] = line;
    return &r->line[r->nline - 1];
}

/* How many periods an instruction of w stands for. */
static double
weight(const struct kn_time_record *r, const struct kn_time_wave *w)
{
    const struct kn_time_gaps *g = r->gaps ? &r->gaps[w - r->wave] : NULL;
    const struct kn_time_gap *a = g && g->at < r->periods.n ? &g->gap[g->at]
                                                            : NULL;

    if (!a || w->seen < a->from || w->seen >= a->to)
        return 1;
    return 1 + r->periods.window[g->at].more;
}

/* Distinct lines in the order of the lanes. */
static void
note_memory(struct kn_time_record *r, struct kn_time_wave *w,
            const struct kn_sim_access *a)
{
    size_t head = r->nline;
    uint64_t bytes = (uint64_t)__builtin_popcountll(a->mask) * a->bytes;

    push_line(r, 0);
    for (uint64_t m = a->mask; m; m &= m - 1) {
        uint64_t at = a->mem[__builtin_ctzll(m)];

        for (uint64_t x = at >> 7; x <= (at + a->bytes - 1) >> 7; x++) {
            size_t k = r->nline;

            while (k > head + 1 && r->line[k - 1] != x)
                k--;
            if (k == head + 1)
                push_line(r, x);
        }
    }
    r->line[head] = (r->nline - head - 1) | bytes << 32;
    w->fact = (uint32_t)head;
    *(a->write ? &r->written : &r->read) += (double)bytes * weight(r, w);
}

static void
see_access(void *user, uint32_t wave, const struct kn_sim_access *a)
{
    struct kn_time_record *r = user;

    if (a->lds)
        note_lds(r, &r->wave[wave], a);
    else
        note_memory(r, &r->wave[wave], a);
}

static void
count_mfma(struct kn_time_record *r, uint32_t inst)
{
    const struct kn_time_inst *t = &r->inst[inst];
    const struct kn_mfma *row = kn_mfma_of(r->target,
                                           r->program->inst[inst].op);

    r->mfma[t->width > 8 ? 0 : t->width > 4 ? 1 : 2] += t->busy;
    if (row)
        r->macs += (double)kn_mfma_macs(row);
}

static void
push_event(struct kn_time_record *r, struct kn_time_wave *w, uint32_t inst)
{
    r->nevents++;
    w->event = kn_grow(r->c, w->event, &w->cap, w->n + 1, sizeof *w->event);
    w->event[w->n++] = (struct kn_time_event){ inst, w->fact };
}

/* A wave comes to where a gap of its or the window begins or ends. */
static void
pass_gap(struct kn_time_record *r, uint32_t wave)
{
    struct kn_time_gaps *g = &r->gaps[wave];
    const struct kn_time_wave *w = &r->wave[wave];
    const struct kn_time_gap *a = &g->gap[g->at];

    if (g->at == r->periods.n)
        return;
    if (!wave && w->seen == a->from)
        r->periods.window[g->at].from = w->n;
    if (!wave && w->seen == a->to)
        r->periods.window[g->at].to = w->n;
    r->blind[wave] = w->seen >= a->to && w->seen < a->until;
    g->at += w->seen == a->until;
}

static bool
see_inst(void *user, uint32_t wave, uint32_t inst)
{
    struct kn_time_record *r = user;
    struct kn_time_wave *w = &r->wave[wave];

    if (r->nevents > MOST_EVENTS)
        return false;
    if (!r->blind || !r->blind[wave])
        push_event(r, w, inst);
    w->fact = 0;
    w->seen++;
    if (r->gaps)
        pass_gap(r, wave);
    if (r->inst[inst].cls == KN_TC_MFMA)
        count_mfma(r, inst);
    if (kn_time_works(&r->inst[inst]))
        w->progress = w->seen;
    if (w->seen - w->progress < KN_TIME_IDLE)
        return true;
    w->n -= w->seen - w->progress;
    w->seen = w->progress;
    return false;
}

kiln_status
kn_time_record_group(struct kn_time_model *m, uint64_t group, bool alone,
                     struct kn_time_record *out)
{
    struct kn_sim_tap tap = { .user = out, .skip_mfma = true,
                              .lean = !m->q->whole,
                              .inst = see_inst, .access = see_access };
    struct kn_sim_launch l = *m->q->launch;

    *out = (struct kn_time_record){ .c = m->c, .inst = m->inst,
                                    .program = &m->program,
                                    .target = m->program.target,
                                    .nwaves = m->nwaves };
    out->wave = KN_NEW(m->c, struct kn_time_wave, m->nwaves);
    out->memo = KN_NEW(m->c, struct kn_time_lds_memo, 1);
    if (alone)
        KN_TRY(kn_time_find_periods(m, group, &out->periods, &out->gaps));
    if (out->gaps)
        tap.blind = out->blind = KN_NEW(m->c, bool, m->nwaves);
    push_line(out, 0);       /* fact 0: an access of no lane */
    l.select = (struct kn_sim_select){ .ids = &group, .n = 1 };
    l.tap = &tap;
    l.progress = NULL;
    KN_TRY(kn_time_run(m, &l));
    if (out->nevents > MOST_EVENTS)
        return kn_fail(m->c, KILN_UNSUPPORTED, "a workgroup that executes "
                       "over %d instructions is not predicted", MOST_EVENTS);
    return KILN_OK;
}
