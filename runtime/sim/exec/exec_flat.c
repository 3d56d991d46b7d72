/* exec_flat.c - FLAT, GLOBAL and SCRATCH (CDNA3 ISA 9.2): 64-bit addresses,
 * the LDS and private apertures of FLAT, and per-lane scratch memory. */
#include "../vmem.h"

/* ---- scratch ------------------------------------------------------------ */

/* Where a lane's bytes are, NULL and a finding if it has none there. */
static uint8_t *
scratch_at(struct kn_wave *w, const struct kn_inst *i, unsigned lane,
           uint64_t at, unsigned bytes)
{
    uint32_t size = w->group->scratch_size;

    if (at + bytes > size) {
        kn_report(w, i, KN_F_BAD_ADDRESS, KN_AT((int)lane, at),
                  "scratch offset 0x%llx, the lane has 0x%x bytes",
                  (unsigned long long)at, size);
        return NULL;
    }
    return w->scratch + (size_t)lane * size + at;
}

/* Which of those bytes were written. */
static uint8_t *
scratch_init(const struct kn_wave *w, const uint8_t *data)
{
    return w->scratch_init + (data - w->scratch);
}

/* Scratch is private to a lane; lanes whose register is undefined leave their
 * bytes unwritten, so that a spill and its reload change nothing. */
static void
scratch_load(struct kn_wave *w, const struct kn_inst *i,
             const struct kn_memop *m, struct kn_vmem *x, uint64_t lanes)
{
    for (; lanes; lanes &= lanes - 1) {
        unsigned l = (unsigned)__builtin_ctzll(lanes);
        const uint8_t *data = scratch_at(w, i, l, x->addr[l], m->bytes);

        memset(x->buf[l], 0, 16);
        if (!data)
            continue;
        memcpy(x->buf[l], data, m->bytes);
        for (unsigned at = 0; at < m->bytes; at += 4)
            if (!memchr(scratch_init(w, data) + at, 1,
                        m->bytes < 4 ? m->bytes : 4))
                x->undef[at / 4] |= (uint64_t)1 << l;
    }
}

static void
scratch_store(struct kn_wave *w, const struct kn_inst *i,
              const struct kn_memop *m, struct kn_vmem *x, uint64_t lanes)
{
    for (; lanes; lanes &= lanes - 1) {
        unsigned l = (unsigned)__builtin_ctzll(lanes);
        uint8_t *data = scratch_at(w, i, l, x->addr[l], m->bytes);

        if (!data)
            continue;
        memcpy(data, x->buf[l], m->bytes);
        for (unsigned at = 0; at < m->bytes; at += 4)
            memset(scratch_init(w, data) + at,
                   !(kn_undef_lanes(w, m->data + at / 4, 1) >> l & 1),
                   m->bytes < 4 ? m->bytes : 4);
    }
}

static void
exec_scratch(struct kn_wave *w, const struct kn_inst *i,
             const struct kn_memop *m)
{
    struct kn_op *op = kn_op_new(w, i, KN_C_VM, true);
    uint32_t base = m->sbase == KN_NOREG ? 0 : w->s[m->sbase];
    struct kn_vmem x;

    x.mask = kn_exec_mask(w);
    memset(x.undef, 0, sizeof x.undef);
    for (unsigned l = 0; l < KN_LANES; l++)
        x.addr[l] = (uint32_t)(base + (uint32_t)m->offset +
                               (m->naddr ? w->v[m->addr][l] : 0));
    if (kn_leaves_data(w, kn_step_of(w, i))) {
        kn_op_issue(w, op);
        return;
    }
    if (m->kind == KN_MO_LOAD) {
        scratch_load(w, i, m, &x, x.mask);
        kn_vmem_result(w, m, &(struct kn_loaded){
            x.mask, x.buf, x.undef, KN_F_UNINIT_REG }, op);
    } else if (m->kind == KN_MO_STORE) {
        kn_vmem_collect(w, m, m->data, m->nreg, x.buf);
        scratch_store(w, i, m, &x, x.mask);
    } else {
        kn_unsupported(w, i, "copy of scratch to LDS");
    }
    kn_op_issue(w, op);
}

/* ---- flat apertures ----------------------------------------------------- */

struct split {               /* lanes by what their address means */
    uint64_t global, lds, scratch;
};

static void
flat_lds(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
         struct kn_vmem *x, uint64_t lanes)
{
    struct kn_op *op = kn_op_new(w, i, KN_C_LGKM, true);
    struct kn_lds_access a;

    a.mask = lanes;
    a.bytes = m->bytes;
    a.kind = KN_L_WRITE;
    for (unsigned l = 0; l < KN_LANES; l++)
        a.addr[l] = (uint32_t)x->addr[l];
    if (m->kind == KN_MO_LOAD) {
        kn_lds_read(w, i, &a);
        for (uint64_t k = a.mask; k; k &= k - 1)
            memcpy(x->buf[__builtin_ctzll(k)], a.buf[__builtin_ctzll(k)], 16);
        for (unsigned k = 0; k < 4; k++)
            x->undef[k] |= a.undef[k] & a.mask;
    } else {
        memcpy(a.buf, x->buf, sizeof a.buf);
        memset(a.undef, 0, sizeof a.undef);
        for (unsigned k = 0; k < m->nreg; k++)
            a.undef[k] = kn_undef_lanes(w, m->data + k, 1);
        kn_lds_update(w, i, &a, op);
    }
    kn_op_issue(w, op);
}

static void
flat_load(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
          struct kn_vmem *x, const struct split *s)
{
    uint64_t all = x->mask;

    x->mask = s->global;
    kn_vmem_gather(w, i, m, x);
    if (s->lds)
        flat_lds(w, i, m, x, s->lds);
    scratch_load(w, i, m, x, s->scratch);
    x->mask = all;
}

static void
flat_store(struct kn_wave *w, const struct kn_inst *i,
           const struct kn_memop *m, struct kn_vmem *x, const struct split *s)
{
    kn_require_vgpr(w, i, (struct kn_range){ m->data, m->ndata, 0 },
                    s->global, "stored");
    kn_vmem_collect(w, m, m->data, m->nreg, x->buf);
    x->mask = s->global;
    kn_vmem_scatter(w, i, m, x);
    if (s->lds)
        flat_lds(w, i, m, x, s->lds);
    scratch_store(w, i, m, x, s->scratch);
}

static void
flat_atomic(struct kn_wave *w, const struct kn_inst *i,
            const struct kn_memop *m, struct kn_vmem *x, const struct split *s)
{
    struct kn_op *op = kn_op_new(w, i, KN_C_LGKM, true);
    uint64_t all = x->mask;
    struct kn_lds_access a;

    x->mask = s->global;
    kn_vmem_atomic(w, i, m, x);
    x->mask = all;
    a.mask = s->lds;
    for (unsigned l = 0; l < KN_LANES; l++)
        a.addr[l] = (uint32_t)x->addr[l];
    kn_lds_atomic(w, i, &a, op);
    for (uint64_t k = s->lds; k; k &= k - 1)
        memcpy(x->buf[__builtin_ctzll(k)], a.buf[__builtin_ctzll(k)], 16);
    kn_op_issue(w, op);
}

static struct split
split_lanes(struct kn_vmem *x)
{
    struct split s = { 0 };

    for (unsigned l = 0; l < KN_LANES; l++) {
        uint64_t bit = x->mask & (uint64_t)1 << l;
        uint32_t hi = (uint32_t)(x->addr[l] >> 32);

        if (hi == KN_SHARED_BASE_HI)
            s.lds |= bit;
        else if (hi == KN_PRIVATE_BASE_HI)
            s.scratch |= bit;
        else
            s.global |= bit;
        if (hi == KN_SHARED_BASE_HI || hi == KN_PRIVATE_BASE_HI)
            x->addr[l] &= 0xffffffffu;
    }
    return s;
}

static void
exec_flat_access(struct kn_wave *w, const struct kn_inst *i,
                 const struct kn_memop *m, struct kn_vmem *x)
{
    struct kn_op *op = kn_op_new(w, i, KN_C_VM | KN_C_LGKM, false);
    struct split s = split_lanes(x);

    if (!(s.lds | s.scratch)) {
        kn_vmem_execute(w, i, x, op);
        return;
    }
    if (m->kind == KN_MO_LOAD) {
        flat_load(w, i, m, x, &s);
        kn_vmem_result(w, m, &(struct kn_loaded){
            x->mask, x->buf, x->undef, KN_F_UNINIT_LDS }, op);
    } else if (m->kind == KN_MO_STORE) {
        flat_store(w, i, m, x, &s);
    } else if (s.scratch) {
        kn_unsupported(w, i, "flat atomic on scratch");
    } else {
        flat_atomic(w, i, m, x, &s);
        if (m->ndst)
            kn_vmem_result(w, m, &(struct kn_loaded){
                x->mask, x->buf, x->undef, KN_F_UNINIT_LDS }, op);
    }
    kn_op_issue(w, op);
}

/* ---- instruction -------------------------------------------------------- */

static void
addresses(const struct kn_wave *w, const struct kn_memop *m, struct kn_vmem *x)
{
    uint64_t base = (uint64_t)(int64_t)m->offset;

    if (m->sbase != KN_NOREG) {
        base += w->s[m->sbase] | (uint64_t)w->s[m->sbase + 1] << 32;
        for (unsigned l = 0; l < KN_LANES; l++)
            x->addr[l] = base + w->v[m->addr][l];
        return;
    }
    for (unsigned l = 0; l < KN_LANES; l++)
        x->addr[l] = base + (w->v[m->addr][l] |
                             (uint64_t)w->v[m->addr + 1][l] << 32);
}

void
kn_exec_flat(struct kn_wave *w, const struct kn_inst *i)
{
    const struct kn_memop *m = &kn_step_of(w, i)->mem;
    struct kn_vmem x;

    if (m->mem == KN_M_SCRATCH) {
        exec_scratch(w, i, m);
        return;
    }
    x.mask = kn_exec_mask(w);
    x.partial = false;
    memset(x.undef, 0, sizeof x.undef);
    addresses(w, m, &x);
    if (m->mem == KN_M_FLAT)
        exec_flat_access(w, i, m, &x);
    else
        kn_vmem_execute(w, i, &x, kn_op_new(w, i, KN_C_VM, true));
}
