/* exec_buffer.c - MUBUF: buffer descriptor, addressing and range check. */
#include "vmem.h"

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

/* Byte offsets that the range check sees; CDNA3 ISA 9.1.5. */
static void
offsets(const struct kn_wave *w, const struct kn_memop *m,
        const struct srd *d, uint64_t *off)
{
    const uint32_t *index = m->idxen ? w->v[m->addr] : NULL;
    const uint32_t *voff = m->offen ? w->v[m->addr + m->idxen] : NULL;

    for (unsigned l = 0; l < KN_LANES; l++)
        off[l] = (uint32_t)m->offset + (voff ? (uint64_t)voff[l] : 0) +
                 (index ? (uint64_t)index[l] * d->stride : 0);
}

struct verdict {             /* lanes for which a doubtful rule decides */
    uint64_t soffset, straddle, wrap;
};

/* Which dwords of a lane are in range. An SGPR offset is not counted, as LLVM
 * assumes; gem5 counts it. A dword that the range ends in counts as outside;
 * offsets past 32 bits count as outside. No manual settles these. */
static unsigned
lane_parts(const struct kn_memop *m, const struct srd *d, uint64_t off,
           uint32_t soffset, struct verdict *v, uint64_t bit)
{
    unsigned step = m->kind == KN_MO_ATOMIC ? m->bytes
                    : m->bytes < 4 ? m->bytes : 4;
    unsigned parts = 0;

    for (unsigned at = 0; at < m->bytes; at += step) {
        uint64_t o = off + at;
        bool in = o + step <= d->records;

        if (in)
            parts |= 1u << at / 4;
        if (in != (o + soffset + step <= d->records))
            v->soffset |= bit;
        if (o < d->records && !in)
            v->straddle |= bit;
        if (o >> 32 && (uint32_t)o < d->records)
            v->wrap |= bit;
    }
    return m->kind == KN_MO_ATOMIC && parts ? 15 : parts;
}

static void
report_verdict(struct kn_wave *w, const struct kn_inst *i,
               const struct verdict *v, const uint64_t *off,
               const struct srd *d)
{
    if (v->soffset) {
        int l = __builtin_ctzll(v->soffset);
        kn_report(w, i, KN_F_SOFFSET_RULE, l, d->base + off[l],
                  "offset 0x%llx of 0x%x bytes: does soffset count?",
                  (unsigned long long)off[l], d->records);
    }
    if (v->straddle) {
        int l = __builtin_ctzll(v->straddle);
        kn_report(w, i, KN_F_SRD_EDGE, l, d->base + off[l],
                  "offset 0x%llx: the range of 0x%x bytes ends inside a "
                  "component", (unsigned long long)off[l], d->records);
    }
    if (v->wrap) {
        int l = __builtin_ctzll(v->wrap);
        kn_report(w, i, KN_F_SRD_EDGE, l, d->base + off[l],
                  "offset 0x%llx passes 32 bits", (unsigned long long)off[l]);
    }
}

static void
check_range(struct kn_wave *w, const struct kn_inst *i,
            const struct kn_memop *m, const struct srd *d,
            const uint64_t *off, uint32_t soffset, struct kn_vmem *x)
{
    struct verdict v = { 0 };
    uint64_t max = 0, out = 0;
    unsigned full = m->kind == KN_MO_ATOMIC ? 15
                    : m->bytes < 4 ? 1 : (1u << m->bytes / 4) - 1;

    for (unsigned l = 0; l < KN_LANES; l++)
        if (x->mask >> l & 1 && off[l] > max)
            max = off[l];
    x->partial = max + soffset + m->bytes > d->records;
    if (!x->partial)
        return;
    for (unsigned l = 0; l < KN_LANES; l++) {
        uint64_t bit = (uint64_t)1 << l;
        unsigned p;

        x->parts[l] = 0;
        if (!(x->mask & bit))
            continue;
        p = lane_parts(m, d, off[l], soffset, &v, bit);
        out |= p != full ? bit : 0;
        x->parts[l] = (uint8_t)(p == full ? 15 : p);
    }
    if (m->kind == KN_MO_LOAD || m->kind == KN_MO_DMA)
        w->group->worker->srd_oob_loads += (uint64_t)__builtin_popcountll(out);
    else
        w->group->worker->srd_oob_stores +=
            (uint64_t)__builtin_popcountll(out);
    report_verdict(w, i, &v, off, d);
}

void
kn_exec_buffer(struct kn_wave *w, const struct kn_inst *i)
{
    const struct kn_memop *m = &kn_step_of(w, i)->mem;
    uint32_t soffset = m->soffset == KN_NOREG ? m->soffset_imm
                                              : w->s[m->soffset & 127];
    uint64_t off[KN_LANES];
    struct kn_vmem x;
    struct srd d;

    if (m->kind == KN_MO_CACHE) { /* buffer_inv, buffer_wbl2 */
        kn_op_issue(w, kn_op_new(w, i, KN_C_VM, true));
        return;
    }
    if (!read_srd(w, i, m->sbase, &d))
        return;
    x.mask = kn_exec_mask(w);
    offsets(w, m, &d, off);
    check_range(w, i, m, &d, off, soffset, &x);
    for (unsigned l = 0; l < KN_LANES; l++)
        x.addr[l] = d.base + soffset + off[l];
    kn_vmem_execute(w, i, &x, kn_op_new(w, i, KN_C_VM, true));
}
