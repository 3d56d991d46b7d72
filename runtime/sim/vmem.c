/* vmem.c - 64-lane gather, scatter and atomics on device memory. */
#include "vmem.h"

void
kn_vmem_fault(struct kn_wave *w, const struct kn_inst *i, struct kn_fault f)
{
    const struct kn_region *b = kn_block_near(w->group->run->sim, f.addr);
    struct kn_at at = KN_AT(f.lane, f.addr);
    uint64_t end = b ? b->addr + b->size : 0;

    if (w->group->worker->out_of_memory)
        kn_run_fail(w, KILN_NO_MEMORY, "no host memory for a device page");
    else if (f.why == KN_A_READONLY)
        kn_report(w, i, KN_F_READONLY_STORE, at, "%u bytes at 0x%llx%s",
                  f.bytes, (unsigned long long)f.addr,
                  f.addr >= w->group->run->code_lo &&
                  f.addr < w->group->run->code_hi
                      ? ", the kernel's own code" : "");
    else if (!b)
        kn_report(w, i, KN_F_BAD_ADDRESS, at, "%u bytes at 0x%llx", f.bytes,
                  (unsigned long long)f.addr);
    else
        kn_report(w, i, KN_F_BAD_ADDRESS, at,
                  "%u bytes at 0x%llx, %llu %s 0x%llx+0x%llx", f.bytes,
                  (unsigned long long)f.addr,
                  (unsigned long long)(f.addr >= b->addr ? f.addr - b->addr
                                                         : b->addr - f.addr),
                  f.addr < b->addr ? "below" : f.addr < end ? "into" : "from",
                  (unsigned long long)b->addr, (unsigned long long)b->size);
}

/* n bytes of a lane's access, `at` bytes into it. */
struct part {
    unsigned lane, at, n;
};

static struct kn_fault
fault_of(const struct kn_vmem *x, struct part p, enum kn_access why)
{
    return (struct kn_fault){ (int)p.lane, p.n, x->addr[p.lane] + p.at, why };
}

/* ---- gather ------------------------------------------------------------- */

static void
load_part(struct kn_wave *w, const struct kn_inst *i, struct kn_vmem *x,
          struct part p)
{
    uint8_t *to = x->buf[p.lane] + p.at;
    bool undef = false;
    enum kn_access a = kn_mem_load(w->group->worker, x->addr[p.lane] + p.at,
                                   to, p.n, &undef);

    if (a) {
        static const uint32_t poison = KN_POISON;
        for (unsigned k = 0; k < p.n; k += 4)
            memcpy(to + k, &poison, 4);
        kn_vmem_fault(w, i, fault_of(x, p, a));
    }
    if (undef)
        x->undef[p.at / 4] |= (uint64_t)1 << p.lane;
}

/* One dword (or the narrow access) at a time. */
static void
load_slow(struct kn_wave *w, const struct kn_inst *i,
          const struct kn_memop *m, struct kn_vmem *x, unsigned lane)
{
    unsigned n = m->bytes < 4 ? m->bytes : 4;

    memset(x->buf[lane], 0, sizeof x->buf[lane]);
    for (unsigned at = 0; at < m->bytes; at += 4)
        if (!x->partial || x->parts[lane] >> at / 4 & 1)
            load_part(w, i, x, (struct part){ lane, at, n });
}

static void
find_undef(const struct kn_page *p, uint32_t off, unsigned bytes,
           struct kn_vmem *x, unsigned lane)
{
    for (unsigned at = 0; at < bytes; at += 4) {
        uint32_t four = 0;

        memcpy(&four, p->map + off + at, bytes < 4 ? bytes : 4);
        if (!four)
            x->undef[at / 4] |= (uint64_t)1 << lane;
    }
}

bool
kn_is_blank(const struct kn_wave *w, uint64_t addr)
{
    const struct kn_sim *s = w->group->run->sim;

    if (!w->group->run->l->tap)
        return false;
    for (size_t k = 0; k < s->nblocks; k++)
        if (addr - s->block[k]->addr < s->block[k]->size)
            return s->block[k]->flags & KN_MEM_BLANK;
    return false;
}

static bool
is_blank(const struct kn_wave *w, const struct kn_vmem *x)
{
    return x->mask && kn_is_blank(w, x->addr[__builtin_ctzll(x->mask)]);
}

/* Do all 64 lanes read what lies in page p, whose every byte is defined? */
static bool
is_plain(const struct kn_page *p, const struct kn_vmem *x, unsigned bytes)
{
    uint64_t start = p->base + p->lo, room = p->hi - p->lo, over = 0;

    if (p->map || room < bytes)
        return false;
    for (unsigned l = 0; l < KN_LANES; l++)
        over |= (x->addr[l] - start) | (room - bytes - (x->addr[l] - start));
    return !(over >> 63);
}

/* The whole instruction at once, or false. */
static bool
gather_plain(struct kn_worker *k, const struct kn_memop *m, struct kn_vmem *x)
{
    bool whole = x->mask == ~(uint64_t)0 && !x->partial;
    const struct kn_page *p = whole ? kn_page_of(k, x->addr[0]) : NULL;

    if (!p || !is_plain(p, x, m->bytes))
        return false;
    for (unsigned l = 0; l < KN_LANES; l++) /* page is padded */
        memcpy(x->buf[l], p->data + (x->addr[l] - p->base), 16);
    return true;
}

void
kn_vmem_gather(struct kn_wave *w, const struct kn_inst *i,
               const struct kn_memop *m, struct kn_vmem *x)
{
    struct kn_worker *k = w->group->worker;
    struct kn_page *p = NULL;
    unsigned bytes = m->bytes;

    memset(x->undef, 0, sizeof x->undef);
    if (is_blank(w, x)) {
        memset(x->buf, 0, sizeof x->buf);
        return;
    }
    if (gather_plain(k, m, x))
        return;
    for (uint64_t lanes = x->mask; lanes; lanes &= lanes - 1) {
        unsigned l = (unsigned)__builtin_ctzll(lanes);
        uint64_t a = x->addr[l];

        if (!p || a - p->base >= KN_PAGE_SIZE)
            p = x->partial && !x->parts[l] ? NULL : kn_page_of(k, a);
        if (!p || (x->partial && x->parts[l] != 15) ||
            !kn_page_holds(p, a, bytes)) {
            load_slow(w, i, m, x, l);
            continue;
        }
        memcpy(x->buf[l], p->data + (a - p->base), 16); /* page is padded */
        if (p->map)
            find_undef(p, (uint32_t)(a - p->base), bytes, x, l);
    }
}

/* ---- scatter ------------------------------------------------------------ */

static void
store_part(struct kn_wave *w, const struct kn_inst *i, struct kn_vmem *x,
           struct part p)
{
    enum kn_access a = kn_mem_store(w->group->worker, x->addr[p.lane] + p.at,
                                    x->buf[p.lane] + p.at, p.n);

    if (a)
        kn_vmem_fault(w, i, fault_of(x, p, a));
}

void
kn_vmem_scatter(struct kn_wave *w, const struct kn_inst *i,
                const struct kn_memop *m, struct kn_vmem *x)
{
    unsigned n = m->bytes < 4 ? m->bytes : 4;

    for (uint64_t lanes = x->mask; lanes; lanes &= lanes - 1) {
        unsigned l = (unsigned)__builtin_ctzll(lanes);

        if (!x->partial || x->parts[l] == 15) {
            store_part(w, i, x, (struct part){ l, 0, m->bytes });
            continue;
        }
        for (unsigned at = 0; at < m->bytes; at += 4)
            if (x->parts[l] >> at / 4 & 1)
                store_part(w, i, x, (struct part){ l, at, n });
    }
}

/* ---- registers ---------------------------------------------------------- */

typedef uint32_t four __attribute__((vector_size(16), aligned(4)));

/* Rows become columns. */
static inline void
turn(four r[4])
{
    four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    four b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    four c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    four d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);

    r[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

void
kn_vmem_collect(const struct kn_wave *w, const struct kn_memop *m,
                unsigned reg, unsigned nreg, uint8_t (*buf)[16])
{
    unsigned shift = m->half == KN_HALF_HI ? 16 : 0;

    for (unsigned l = 0; l < KN_LANES; l += 4) {
        four x[4] = { { 0 } };

        for (unsigned k = 0; k < 4 && k < nreg; k++)
            x[k] = *(const four *)(w->v[reg + k] + l) >> shift;
        turn(x);
        memcpy(buf[l], x, sizeof x);
    }
}

/* The first n dwords of all lanes. */
static inline __attribute__((always_inline)) void
turn_rows(uint8_t (*buf)[16], uint32_t (*rows)[KN_LANES], unsigned n)
{
    for (unsigned l = 0; l < KN_LANES; l += 4) {
        four d[4];

        memcpy(d, buf[l], sizeof d);
        turn(d);
        for (unsigned k = 0; k < n; k++)
            memcpy(rows[k] + l, &d[k], sizeof d[k]);
    }
}

static uint32_t
extend(uint32_t v, const struct kn_memop *m)
{
    if (m->bytes == 1)
        v = m->sext ? (uint32_t)(int8_t)v : v & 0xff;
    else if (m->bytes == 2)
        v = m->sext ? (uint32_t)(int16_t)v : v & 0xffff;
    return m->half == KN_HALF_HI ? v << 16 : v;
}

void
kn_vmem_result(struct kn_wave *w, const struct kn_memop *m,
               const struct kn_loaded *x, struct kn_op *op)
{
    op->kind = KN_OP_VGPR;
    op->reg = m->dst;
    op->nreg = m->ndst;
    op->half = m->half;
    op->exec = x->mask;
    if (m->ndst > 2)
        turn_rows(x->buf, op->data, 4);
    else
        turn_rows(x->buf, op->data, 2);
    if (m->bytes < 4)
        for (unsigned l = 0; l < KN_LANES; l++)
            op->data[0][l] = extend(op->data[0][l], m);
    for (unsigned k = 0; k < m->ndst; k++)
        kn_set_undef(w, m->dst + k, x->mask, (struct kn_undef){
            x->undef[k], op->inst, x->kind });
}

/* ---- whole instructions ------------------------------------------------- */

/* Lanes that really store something. */
static uint64_t
storing_lanes(const struct kn_vmem *x)
{
    uint64_t mask = x->mask;

    for (unsigned l = 0; x->partial && l < KN_LANES; l++)
        if (!x->parts[l])
            mask &= ~((uint64_t)1 << l);
    return mask;
}

static void
execute_store(struct kn_wave *w, const struct kn_inst *i,
              const struct kn_memop *m, struct kn_vmem *x)
{
    if (is_blank(w, x))
        return;
    kn_require_vgpr(w, i, (struct kn_range){ m->data, m->ndata, 0 },
                    storing_lanes(x), "stored");
    kn_vmem_collect(w, m, m->data, m->nreg, x->buf);
    kn_vmem_scatter(w, i, m, x);
}

static void
atomic_lane(struct kn_wave *w, const struct kn_inst *i,
            const struct kn_memop *m, struct kn_vmem *x, unsigned l)
{
    const uint32_t poison[2] = { KN_POISON };
    bool undef = false;
    void *p;
    enum kn_access a = kn_mem_atomic(w->group->worker, x->addr[l], m->bytes,
                                     &p, &undef);

    if (a) {
        kn_vmem_fault(w, i, fault_of(x, (struct part){ l, 0, m->bytes }, a));
        memcpy(x->buf[l], poison, sizeof poison);
        return;
    }
    if (undef && m->atomic != KN_AT_SWAP)
        kn_report(w, i, KN_F_UNINIT_MEM, KN_AT((int)l, x->addr[l]),
                  "updates bytes at 0x%llx that were never written",
                  (unsigned long long)x->addr[l]);
    kn_atomic_lane(w, m, l, p, x->buf[l]);
}

void
kn_vmem_atomic(struct kn_wave *w, const struct kn_inst *i,
               const struct kn_memop *m, struct kn_vmem *x)
{
    uint64_t lanes = storing_lanes(x);

    kn_require_vgpr(w, i, (struct kn_range){ m->data, m->ndata, 0 }, lanes,
                    "stored");
    memset(x->undef, 0, sizeof x->undef);
    memset(x->buf, 0, sizeof x->buf);
    if (is_blank(w, x))
        return;
    for (; lanes; lanes &= lanes - 1) {
        unsigned l = (unsigned)__builtin_ctzll(lanes);

        if (x->addr[l] % m->bytes) {
            kn_report(w, i, KN_F_MISALIGNED, KN_AT((int)l, x->addr[l]),
                      "atomic of %u bytes at 0x%llx", m->bytes,
                      (unsigned long long)x->addr[l]);
            continue;
        }
        atomic_lane(w, i, m, x, l);
    }
}

static uint32_t
copy_slot(const struct kn_memop *m)
{
    return m->bytes < 4 ? 4 : m->bytes;
}

/* LDS address of a copy: M0 + offset + lane * slot. */
static void
place_copy(struct kn_wave *w, const struct kn_inst *i,
           const struct kn_memop *m, struct kn_op *op)
{
    uint32_t m0 = w->s[KN_S_M0] & kn_targets[w->group->target].m0_mask;

    if (m0 & 3)
        kn_report(w, i, KN_F_MISALIGNED, KN_AT(-1, m0), "M0 is 0x%x", m0);
    m0 = (m0 & ~3u) + (uint32_t)m->offset;
    for (unsigned l = 0; l < KN_LANES; l++)
        op->lds[l] = m0 + l * copy_slot(m);
}

static void
execute_dma(struct kn_wave *w, const struct kn_inst *i,
            const struct kn_memop *m, struct kn_vmem *x, struct kn_op *op)
{
    struct kn_lds_access a;
    uint32_t slot = copy_slot(m);

    kn_vmem_gather(w, i, m, x);
    for (unsigned l = 0; l < KN_LANES; l++) {
        a.addr[l] = op->lds[l];
        if (m->bytes < 4) {
            uint32_t v;
            memcpy(&v, x->buf[l], 4);
            v = extend(v, m);
            memcpy(x->buf[l], &v, 4);
        }
    }
    a.mask = x->mask;
    a.bytes = slot;
    a.kind = KN_L_DMA;
    memcpy(a.undef, x->undef, sizeof a.undef);
    kn_lds_update(w, i, &a, op);
    op->kind = KN_OP_DMA;
    op->exec = a.mask;
    op->size = (uint8_t)slot;
    memcpy(op->data, x->buf, sizeof x->buf);
}

/* Lanes of a load that the descriptor cuts off reach no memory either. */
static void
tap_memory(struct kn_wave *w, const struct kn_memop *m,
           const struct kn_vmem *x, const struct kn_op *op)
{
    const struct kn_sim_tap *tap = w->group->run->l->tap;
    struct kn_sim_access a = { .mask = storing_lanes(x), .bytes = m->bytes,
                               .write = m->kind == KN_MO_STORE,
                               .dma = m->kind == KN_MO_DMA, .mem = x->addr };

    a.into = a.dma ? op->lds : NULL;
    if (tap && tap->access)
        tap->access(tap->user, w->id, &a);
}

void
kn_vmem_execute(struct kn_wave *w, const struct kn_inst *i,
                struct kn_vmem *x, struct kn_op *op)
{
    const struct kn_memop *m = &kn_step_of(w, i)->mem;
    struct kn_loaded loaded = { x->mask, x->buf, x->undef, KN_F_UNINIT_MEM };

    if (m->kind == KN_MO_DMA)
        place_copy(w, i, m, op);
    tap_memory(w, m, x, op);
    if (kn_leaves_data(w, kn_step_of(w, i))) {
        kn_op_issue(w, op);
        return;
    }
    switch (m->kind) {
    case KN_MO_LOAD:
        kn_vmem_gather(w, i, m, x);
        kn_vmem_result(w, m, &loaded, op);
        break;
    case KN_MO_STORE:
        execute_store(w, i, m, x);
        break;
    case KN_MO_ATOMIC:
        kn_vmem_atomic(w, i, m, x);
        if (m->ndst)
            kn_vmem_result(w, m, &loaded, op);
        break;
    case KN_MO_DMA:
        execute_dma(w, i, m, x, op);
        break;
    default:
        kn_unsupported(w, i, "this kind of access");
        break;
    }
    kn_op_issue(w, op);
}
