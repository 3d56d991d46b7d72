/* exec_ds.c - LDS instructions (CDNA3 ISA 11, 12.14; the transposing reads
 * are gfx950's). LDS operations of a wave execute in order, so they act on
 * the bytes when they issue; only their results wait for lgkmcnt. */
#include "../vmem.h"

static void
ds_addresses(const struct kn_wave *w, const struct kn_memop *m,
             int32_t offset, struct kn_lds_access *a)
{
    const uint32_t *restrict from = w->v[m->addr];
    uint32_t *restrict to = a->addr, by = (uint32_t)offset;

    for (unsigned l = 0; l < KN_LANES; l++)
        to[l] = from[l] > UINT32_MAX - by ? UINT32_MAX : from[l] + by;
    a->bytes = m->bytes;
    a->kind = KN_L_WRITE;
}

/* ---- loads and stores --------------------------------------------------- */

/* Lanes out of range read zero. */
static void
clear_dropped(struct kn_lds_access *a, uint64_t wanted)
{
    for (uint64_t k = wanted & ~a->mask; k; k &= k - 1)
        memset(a->buf[__builtin_ctzll(k)], 0, 16);
}

static void
load(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
     struct kn_op *op)
{
    uint64_t exec = kn_exec_mask(w);
    struct kn_lds_access a;

    ds_addresses(w, m, m->offset, &a);
    a.mask = exec;
    kn_lds_read(w, i, &a);
    clear_dropped(&a, exec);
    kn_vmem_result(w, m, &(struct kn_loaded){
        exec, a.buf, a.undef, KN_F_UNINIT_LDS }, op);
}

/* One half of a ds_read2's result; sizes that are known are moved at once. */
static void
take_half(uint8_t (*buf)[16], const struct kn_lds_access *a, unsigned half,
          unsigned bytes)
{
    for (unsigned l = 0; l < KN_LANES && bytes == 8; l++)
        memcpy(buf[l] + half * 8, a->buf[l], 8);
    for (unsigned l = 0; l < KN_LANES && bytes == 4; l++)
        memcpy(buf[l] + half * 4, a->buf[l], 4);
}

/* Two accesses, one operation: both halves of the destination. */
static void
load_two(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
         struct kn_op *op)
{
    uint64_t exec = kn_exec_mask(w), undef[4];
    uint8_t buf[KN_LANES][16];
    struct kn_lds_access a;

    for (unsigned half = 0; half < 2; half++) {
        ds_addresses(w, m, half ? m->offset1 : m->offset, &a);
        a.mask = exec;
        kn_lds_read(w, i, &a);
        clear_dropped(&a, exec);
        take_half(buf, &a, half, m->bytes);
        for (unsigned k = 0; k < m->nreg; k++)
            undef[half * m->nreg + k] = a.undef[k];
    }
    kn_vmem_result(w, m, &(struct kn_loaded){
        exec, buf, undef, KN_F_UNINIT_LDS }, op);
}

static void
store_at(struct kn_wave *w, const struct kn_inst *i, unsigned data,
         int32_t offset, struct kn_op *op)
{
    const struct kn_memop *m = &kn_step_of(w, i)->mem;
    struct kn_lds_access a;

    ds_addresses(w, m, offset, &a);
    a.mask = kn_exec_mask(w);
    memset(a.undef, 0, sizeof a.undef);
    for (unsigned k = 0; k < m->nreg; k++)
        a.undef[k] = kn_undef_lanes(w, data + k, 1);
    kn_vmem_collect(w, m, data, m->nreg, a.buf);
    kn_lds_update(w, i, &a, op);
}

static void
store(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
      struct kn_op *op)
{
    store_at(w, i, m->data, m->offset, op);
    if (m->two) {            /* the older stamp is the one that orders */
        uint32_t stamp = op->stamp;

        store_at(w, i, m->data1, m->offset1, op);
        op->stamp = stamp;
    }
}

/* ---- atomics ------------------------------------------------------------ */

void
kn_lds_atomic(struct kn_wave *w, const struct kn_inst *i,
              struct kn_lds_access *a, struct kn_op *op)
{
    const struct kn_memop *m = &kn_step_of(w, i)->mem;

    a->bytes = m->bytes;
    a->kind = KN_L_ATOMIC;
    memset(a->undef, 0, sizeof a->undef);
    memset(a->buf, 0, sizeof a->buf);
    for (uint64_t k = a->mask; k; k &= k - 1) {
        unsigned l = (unsigned)__builtin_ctzll(k);
        if (a->addr[l] % m->bytes) {
            kn_report(w, i, KN_F_MISALIGNED, KN_AT((int)l, a->addr[l]),
                      "atomic of %u bytes at LDS 0x%x", m->bytes, a->addr[l]);
            a->mask &= ~((uint64_t)1 << l);
        }
    }
    kn_lds_update(w, i, a, op);
    for (uint64_t k = a->mask; k; k &= k - 1) {
        unsigned l = (unsigned)__builtin_ctzll(k);

        kn_atomic_lane(w, m, l, w->group->lds + a->addr[l], a->buf[l]);
    }
}

static void
atomic(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
       struct kn_op *op)
{
    uint64_t exec = kn_exec_mask(w), none[4] = { 0 };
    struct kn_lds_access a;

    ds_addresses(w, m, m->offset, &a);
    a.mask = exec;
    kn_lds_atomic(w, i, &a, op);
    if (m->ndst)
        kn_vmem_result(w, m, &(struct kn_loaded){
            exec, a.buf, none, KN_F_UNINIT_LDS }, op);
}

/* ---- transposing reads -------------------------------------------------- */

static unsigned
get_bits(const uint8_t *p, unsigned at, unsigned n)
{
    uint32_t v = p[at / 8] | (uint32_t)p[at / 8 + 1] << 8 |
                 (uint32_t)p[at / 8 + 2] << 16;

    return v >> at % 8 & ((1u << n) - 1);
}

static void
put_bits(uint8_t *p, unsigned at, unsigned n, unsigned value)
{
    uint32_t v = value << at % 8;

    p[at / 8] |= (uint8_t)v;
    p[at / 8 + 1] |= (uint8_t)(v >> 8);
    if (at % 8 + n > 16)
        p[at / 8 + 2] |= (uint8_t)(v >> 16);
}

/* In each group of 16 lanes the rows, one after the other, make a list of
 * elements; lane t gets elements t, 16 + t, 32 + t, ... */
static void
transpose_bits(const struct kn_memop *m, uint8_t (*in)[16],
               uint8_t (*out)[16])
{
    unsigned bits = m->element, row = m->bytes * 8 / bits;

    for (unsigned t = 0; t < 16; t++)
        for (unsigned k = 0; k < row; k++) {
            unsigned e = 16 * k + t;
            unsigned v = get_bits(in[e / row], e % row * bits, bits);

            put_bits(out[t], k * bits, bits, v);
        }
}

/* The same for whole bytes, without touching bits. */
static void
transpose_bytes(unsigned element, uint8_t (*in)[16], uint8_t (*out)[16])
{
    uint8_t list[128];

    for (unsigned t = 0; t < 16; t++)
        memcpy(list + 8 * t, in[t], 8);
    for (unsigned t = 0; t < 16; t++) {
        if (element == 16)
            for (unsigned k = 0; k < 4; k++)
                memcpy(out[t] + 2 * k, list + 2 * (16 * k + t), 2);
        else
            for (unsigned k = 0; k < 8; k++)
                out[t][k] = list[16 * k + t];
    }
}

static void
transpose(const struct kn_memop *m, uint8_t (*in)[16], uint8_t (*out)[16])
{
    memset(out, 0, KN_LANES * sizeof *out);
    for (unsigned base = 0; base < KN_LANES; base += 16)
        if (m->element < 8)
            transpose_bits(m, in + base, out + base);
        else
            transpose_bytes(m->element, in + base, out + base);
}

static void
load_transposed(struct kn_wave *w, const struct kn_inst *i,
                const struct kn_memop *m, struct kn_op *op)
{
    uint64_t exec = kn_exec_mask(w), undef[4] = { 0 };
    uint8_t out[KN_LANES][16];
    struct kn_lds_access a;

    if (exec != ~(uint64_t)0)
        kn_unsupported(w, i, "transposing read with inactive lanes");
    ds_addresses(w, m, m->offset, &a);
    a.mask = exec;
    for (unsigned l = 0; l < KN_LANES; l++)
        if (a.addr[l] % (m->bytes == 12 ? 4 : 8)) {
            kn_report(w, i, KN_F_MISALIGNED, KN_AT((int)l, a.addr[l]),
                      "row of %u bytes at LDS 0x%x", m->bytes, a.addr[l]);
            break;
        }
    memset(a.buf, 0, sizeof a.buf);
    kn_lds_read(w, i, &a);
    transpose(m, a.buf, out);
    for (unsigned base = 0; base < KN_LANES; base += 16) {
        uint64_t group = (uint64_t)0xffff << base, all = group;

        for (unsigned k = 0; k < m->nreg; k++)
            all &= a.undef[k] & group ? group : 0;
        for (unsigned k = 0; k < m->nreg; k++)
            undef[k] |= all; /* defined as soon as one row is */
    }
    kn_vmem_result(w, m, &(struct kn_loaded){
        exec, out, undef, KN_F_UNINIT_LDS }, op);
}

/* ---- lane exchange: no memory ------------------------------------------- */

/* Source lane of ds_swizzle_b32, CDNA3 ISA 12.14.1; -1: reads zero. */
static int
swizzle_source(unsigned offset, unsigned lane)
{
    unsigned base = lane & 32, l = lane & 31;

    if ((offset & 0xe000) == 0xc000) { /* rotate within 32 */
        unsigned mask = offset & 31, n = offset >> 5 & 31;
        unsigned by = offset >> 10 & 1 ? 32 - n : n;

        return (int)(base | (l & mask) | (((l + by) & 31) & ~mask & 31));
    }
    if (offset & 0x8000)     /* quad permute */
        return (int)((lane & ~3u) | (offset >> 2 * (lane & 3) & 3));
    return (int)(base | ((((l & (offset & 31)) | (offset >> 5 & 31)) ^
                          (offset >> 10 & 31)) & 31));
}

static void
exchange(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
         struct kn_op *op)
{
    uint64_t exec = kn_exec_mask(w), none[4] = { 0 };
    uint8_t buf[KN_LANES][16] = { 0 };

    if (m->kind == KN_MO_SWIZZLE && (m->offset & 0xe000) == 0xe000)
        kn_unsupported(w, i, "FFT swizzle");
    for (unsigned l = 0; l < KN_LANES; l++) {
        unsigned from = l, to = l;

        if (m->kind == KN_MO_SWIZZLE)
            from = (unsigned)swizzle_source((unsigned)m->offset, l);
        else if (m->kind == KN_MO_BPERMUTE)
            from = (w->v[m->addr][l] + (uint32_t)m->offset) >> 2 & 63;
        else
            to = (w->v[m->addr][l] + (uint32_t)m->offset) >> 2 & 63;
        /* forward permute reads active lanes, the others read whatever an
         * active lane holds and zero from an inactive one */
        if (exec >> from & 1)
            memcpy(buf[to], &w->v[m->data][from], 4);
    }
    kn_vmem_result(w, m, &(struct kn_loaded){
        exec, buf, none, KN_F_UNINIT_REG }, op);
}

/* ---- addresses alone ---------------------------------------------------- */

static void
touch(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m)
{
    bool write = m->kind == KN_MO_STORE || m->kind == KN_MO_ATOMIC;
    struct kn_lds_access a;

    if (w->group->run->l->tap->no_lds || m->kind == KN_MO_SWIZZLE ||
        m->kind == KN_MO_PERMUTE || m->kind == KN_MO_BPERMUTE)
        return;
    for (unsigned k = 0; k <= m->two; k++) {
        ds_addresses(w, m, k ? m->offset1 : m->offset, &a);
        a.mask = kn_exec_mask(w);
        kn_lds_touch(w, i, &a, write);
    }
}

/* ---- instruction -------------------------------------------------------- */

void
kn_exec_ds(struct kn_wave *w, const struct kn_inst *i)
{
    const struct kn_memop *m = &kn_step_of(w, i)->mem;
    struct kn_op *op = kn_op_new(w, i, KN_C_LGKM, true);

    if (kn_leaves_data(w, kn_step_of(w, i))) {
        touch(w, i, m);
        kn_op_issue(w, op);
        return;
    }
    switch (m->kind) {
    case KN_MO_LOAD:
        (m->two ? load_two : load)(w, i, m, op);
        break;
    case KN_MO_STORE: store(w, i, m, op); break;
    case KN_MO_ATOMIC: atomic(w, i, m, op); break;
    case KN_MO_TRANSPOSE: load_transposed(w, i, m, op); break;
    case KN_MO_SWIZZLE:
    case KN_MO_PERMUTE:
    case KN_MO_BPERMUTE: exchange(w, i, m, op); break;
    case KN_MO_CACHE: break;
    default: kn_unsupported(w, i, "this LDS instruction"); break;
    }
    kn_op_issue(w, op);
}
