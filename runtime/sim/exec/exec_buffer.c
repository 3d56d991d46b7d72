/* exec_buffer.c - MUBUF: buffer descriptor, addressing and range check. */
#include "../../../ir/clones.h"
#include "../vmem.h"

struct srd {                 /* gfx9 V#, CDNA3 ISA 9.1.8 */
    uint64_t base;
    uint32_t stride, records;
};

static bool
read_srd(struct kn_wave *w, const struct kn_inst *i, unsigned reg,
         struct srd *d)
{
    const uint32_t *s = &w->s[reg];
    const char *what = NULL;

    d->base = s[0] | (uint64_t)(s[1] & 0xffff) << 32;
    d->stride = s[1] >> 16 & 0x3fff;
    d->records = s[2];
    if (s[1] >> 31)
        what = "swizzled buffer";
    else if (s[3] >> 23 & 1)
        what = "buffer with add_tid_enable";
    else if (s[3] >> 30)
        what = "resource that is no buffer";
    if (what)
        kn_unsupported(w, i, what);
    return !what;
}

/* An instruction's offsets as the range check sees them (CDNA3 ISA 9.1.5),
 * and the lanes for which a doubtful rule decides. */
struct ranged {
    const struct kn_memop *m;
    struct srd d;
    uint32_t soffset;
    uint64_t off[KN_LANES];
    uint64_t by_soffset, straddle, wrap;
};

static void
offsets(const struct kn_wave *w, struct ranged *r)
{
    const struct kn_memop *m = r->m;
    const uint32_t *restrict index = m->idxen ? w->v[m->addr] : NULL;
    const uint32_t *restrict voff = m->offen ? w->v[m->addr + m->idxen] : NULL;
    uint64_t *restrict off = r->off;

    r->soffset = m->soffset == KN_NOREG ? m->soffset_imm
                                        : w->s[m->soffset & 127];
    r->by_soffset = r->straddle = r->wrap = 0;
    for (unsigned l = 0; l < KN_LANES && voff; l++)
        off[l] = (uint32_t)m->offset + (uint64_t)voff[l];
    for (unsigned l = 0; l < KN_LANES && !voff; l++)
        off[l] = (uint32_t)m->offset;
    for (unsigned l = 0; l < KN_LANES && index; l++)
        off[l] += (uint64_t)index[l] * r->d.stride;
}

/* Which dwords of a lane are in range. An SGPR offset is not counted, as LLVM
 * assumes; gem5 counts it. A dword that the range ends in counts as outside;
 * offsets past 32 bits count as outside. No manual settles these. */
static unsigned
lane_parts(struct ranged *r, unsigned lane)
{
    bool whole = r->m->kind == KN_MO_ATOMIC || r->m->bytes < 4;
    unsigned step = whole ? r->m->bytes : 4, parts = 0;
    uint64_t bit = (uint64_t)1 << lane, records = r->d.records;

    for (unsigned at = 0; at < r->m->bytes; at += step) {
        uint64_t o = r->off[lane] + at;
        bool in = o + step <= records;

        if (in)
            parts |= 1u << at / 4;
        if (in != (o + r->soffset + step <= records))
            r->by_soffset |= bit;
        if (o < records && !in)
            r->straddle |= bit;
        if (o >> 32 && (uint32_t)o < records)
            r->wrap |= bit;
    }
    return r->m->kind == KN_MO_ATOMIC && parts ? 15 : parts;
}

/* The same where no rule is doubtful: wholly in range, or wholly outside. */
static unsigned
quick_parts(struct ranged *r, unsigned lane, unsigned full)
{
    uint64_t first = r->off[lane], end = first + r->m->bytes;

    if (end + r->soffset <= r->d.records)
        return full;
    if (first >= r->d.records && end <= UINT32_MAX)
        return 0;
    return lane_parts(r, lane);
}

static void
report_verdict(struct kn_wave *w, const struct kn_inst *i,
               const struct ranged *r)
{
    if (r->by_soffset) {
        int l = __builtin_ctzll(r->by_soffset);
        kn_report(w, i, KN_F_SOFFSET_RULE, KN_AT(l, r->d.base + r->off[l]),
                  "offset 0x%llx of 0x%x bytes: does soffset count?",
                  (unsigned long long)r->off[l], r->d.records);
    }
    if (r->straddle) {
        int l = __builtin_ctzll(r->straddle);
        kn_report(w, i, KN_F_SRD_EDGE, KN_AT(l, r->d.base + r->off[l]),
                  "offset 0x%llx: the range of 0x%x bytes ends inside a "
                  "component", (unsigned long long)r->off[l], r->d.records);
    }
    if (r->wrap) {
        int l = __builtin_ctzll(r->wrap);
        kn_report(w, i, KN_F_SRD_EDGE, KN_AT(l, r->d.base + r->off[l]),
                  "offset 0x%llx passes 32 bits",
                  (unsigned long long)r->off[l]);
    }
}

/* An offset above most, all being below 2^48. */
static KN_CLONES bool
any_beyond(const uint64_t *off, uint64_t most)
{
    uint64_t over = most;

    for (unsigned l = 0; l < KN_LANES; l++)
        over |= most - off[l];
    return over >> 63;
}

static bool
all_in_range(const struct ranged *r, uint64_t mask)
{
    uint64_t max = 0;

    if (!any_beyond(r->off, (uint64_t)r->d.records - r->soffset - r->m->bytes))
        return true;
    for (uint64_t m = mask; m; m &= m - 1) {
        uint64_t off = r->off[__builtin_ctzll(m)];

        max = off > max ? off : max;
    }
    return mask != ~(uint64_t)0 &&
           max + r->soffset + r->m->bytes <= r->d.records;
}

static void
count_dropped(struct kn_wave *w, const struct kn_memop *m, uint64_t lanes)
{
    struct kn_worker *k = w->group->worker;
    uint64_t n = (uint64_t)__builtin_popcountll(lanes);

    if (m->kind == KN_MO_LOAD || m->kind == KN_MO_DMA)
        k->srd_oob_loads += n;
    else
        k->srd_oob_stores += n;
}

static void
check_range(struct kn_wave *w, const struct kn_inst *i, struct ranged *r,
            struct kn_vmem *x)
{
    const struct kn_memop *m = r->m;
    unsigned full = m->kind == KN_MO_ATOMIC ? 15
                    : m->bytes < 4 ? 1 : (1u << m->bytes / 4) - 1;
    uint64_t out = 0;

    x->partial = !all_in_range(r, x->mask);
    if (!x->partial)
        return;
    for (unsigned l = 0; l < KN_LANES; l++) {
        uint64_t bit = (uint64_t)1 << l;
        unsigned p;

        x->parts[l] = 0;
        if (!(x->mask & bit))
            continue;
        p = quick_parts(r, l, full);
        out |= p != full ? bit : 0;
        x->parts[l] = (uint8_t)(p == full ? 15 : p);
    }
    count_dropped(w, m, out);
    report_verdict(w, i, r);
}

void
kn_exec_buffer(struct kn_wave *w, const struct kn_inst *i)
{
    struct ranged r;         /* no initialiser: it would clear off[] */
    struct kn_vmem x;

    r.m = &kn_step_of(w, i)->mem;
    if (r.m->kind == KN_MO_CACHE) { /* buffer_inv, buffer_wbl2 */
        kn_op_issue(w, kn_op_new(w, i, KN_C_VM, true));
        return;
    }
    if (!read_srd(w, i, r.m->sbase, &r.d))
        return;
    x.mask = kn_exec_mask(w);
    offsets(w, &r);
    check_range(w, i, &r, &x);
    for (unsigned l = 0; l < KN_LANES; l++)
        x.addr[l] = r.d.base + r.soffset + r.off[l];
    kn_vmem_execute(w, i, &x, kn_op_new(w, i, KN_C_VM, true));
}
