/* exec_smem.c - scalar memory (CDNA3 ISA 8). Results return in any order. */
#include "../vmem.h"

static uint64_t
smem_offset(const struct kn_wave *w, const struct kn_memop *m)
{
    uint64_t off = (uint64_t)(int64_t)m->offset;

    return off + (m->soffset == KN_NOREG ? 0 : w->s[m->soffset & 127]);
}

static bool
is_buffer(const struct kn_inst *i)
{
    return strstr(kn_isa[i->op].mnemonic, "_buffer_") != NULL;
}

/* Bytes a scalar buffer access may touch behind its base. */
static uint64_t
limit_of(const struct kn_wave *w, const struct kn_inst *i,
         const struct kn_memop *m)
{
    const uint32_t *s = &w->s[m->sbase];
    uint64_t stride = s[1] >> 16 & 0x3fff;

    if (!is_buffer(i))
        return UINT64_MAX;
    return stride ? stride * s[2] : s[2];
}

static uint64_t
base_of(const struct kn_wave *w, const struct kn_inst *i,
        const struct kn_memop *m)
{
    uint64_t hi = w->s[m->sbase + 1];

    return w->s[m->sbase] | (is_buffer(i) ? hi & 0xffff : hi) << 32;
}

static uint64_t
address(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
        uint64_t *off)
{
    uint64_t addr;

    *off = smem_offset(w, m);
    addr = base_of(w, i, m) + *off;
    if (addr & 3)
        kn_report(w, i, KN_F_MISALIGNED, KN_AT(-1, addr),
                  "0x%llx, its low two bits are ignored",
                  (unsigned long long)addr);
    *off &= ~(uint64_t)3;
    return addr & ~(uint64_t)3;
}

static void
load(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
     struct kn_op *op)
{
    uint64_t off, addr = address(w, i, m, &off), limit = limit_of(w, i, m);

    op->kind = KN_OP_SGPR;
    op->reg = m->dst;
    op->nreg = m->ndst;
    for (unsigned k = 0; k < m->ndst; k++) {
        bool undef = false;
        uint32_t v = 0;

        if (off + 4 * k + 4 <= limit) {
            enum kn_access a = kn_mem_load(w->group->worker, addr + 4 * k, &v,
                                           4, &undef);
            if (a) {
                v = KN_POISON;
                kn_vmem_fault(w, i, (struct kn_fault){ -1, 4, addr + 4 * k, a });
            }
        }
        op->data[0][k] = v;
        if (undef) {
            w->sflag[m->dst + k] |= KN_VF_UNINIT;
            w->sundef[m->dst + k] = (struct kn_undef){ 1, op->inst,
                                                       KN_F_UNINIT_MEM };
        } else {
            w->sflag[m->dst + k] &= (uint8_t)~KN_VF_UNINIT;
        }
    }
}

static void
store(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m)
{
    uint64_t off, addr = address(w, i, m, &off), limit = limit_of(w, i, m);

    for (unsigned k = 0; k < m->ndata && !kn_is_blank(w, addr); k++) {
        enum kn_access a = KN_A_OK;

        if (off + 4 * k + 4 <= limit)
            a = kn_mem_store(w->group->worker, addr + 4 * k,
                             &w->s[m->data + k], 4);
        if (a)
            kn_vmem_fault(w, i, (struct kn_fault){ -1, 4, addr + 4 * k, a });
    }
}

static uint64_t
scalar_data(const struct kn_wave *w, unsigned reg, unsigned bytes)
{
    uint64_t v = w->s[reg];

    return bytes == 8 ? v | (uint64_t)w->s[reg + 1] << 32 : v;
}

static void
atomic(struct kn_wave *w, const struct kn_inst *i, const struct kn_memop *m,
       struct kn_op *op)
{
    uint64_t off, addr = address(w, i, m, &off), old = 0, value, data1 = 0;
    bool undef = false;
    enum kn_access a;
    void *p;

    if (off + m->bytes > limit_of(w, i, m))
        return;
    a = kn_mem_atomic(w->group->worker, addr, m->bytes, &p, &undef);
    if (a) {
        kn_vmem_fault(w, i, (struct kn_fault){ -1, m->bytes, addr, a });
        return;
    }
    memcpy(&old, p, m->bytes);
    if (m->ndata > m->nreg)
        data1 = scalar_data(w, m->data + m->nreg, m->bytes);
    value = kn_atomic_result(m->atomic, m->bytes, old,
                             scalar_data(w, m->data, m->bytes), data1);
    if (!kn_is_blank(w, addr))
        memcpy(p, &value, m->bytes);
    if (m->ndst) {
        op->kind = KN_OP_SGPR;
        op->reg = m->dst;
        op->nreg = m->ndst;
        memcpy(op->data[0], &old, 8);
    }
}

/* A clock that advances with the wave: reproducible, never wall time. */
static void
read_time(const struct kn_wave *w, const struct kn_memop *m, struct kn_op *op)
{
    uint64_t t = w->steps * 4;

    op->kind = KN_OP_SGPR;
    op->reg = m->dst;
    op->nreg = m->ndst;
    memcpy(op->data[0], &t, 8);
}

void
kn_exec_smem(struct kn_wave *w, const struct kn_inst *i)
{
    const struct kn_memop *m = &kn_step_of(w, i)->mem;
    struct kn_op *op = kn_op_new(w, i, KN_C_LGKM, false);

    switch (m->kind) {
    case KN_MO_LOAD: load(w, i, m, op); break;
    case KN_MO_STORE: store(w, i, m); break;
    case KN_MO_ATOMIC: atomic(w, i, m, op); break;
    case KN_MO_TIME: read_time(w, m, op); break;
    case KN_MO_CACHE: break;
    default: kn_unsupported(w, i, "this kind of scalar access"); break;
    }
    if (op->kind == KN_OP_SGPR && m->kind != KN_MO_LOAD)
        for (unsigned k = 0; k < m->ndst; k++)
            w->sflag[m->dst + k] &= (uint8_t)~KN_VF_UNINIT;
    kn_op_issue(w, op);
}
