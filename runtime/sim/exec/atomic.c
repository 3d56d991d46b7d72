/* atomic.c - read-modify-write functions (CDNA3 ISA 12.14 and 12.16). Float
 * additions round to nearest even and keep denormals; the ISA text does not
 * say more. A launch with memory atomics runs on one thread and LDS belongs
 * to one, so a plain read and write is atomic. */
#include <math.h>

#include "../num.h"
#include "../vmem.h"

static float
as_f32(uint64_t v)
{
    uint32_t u = (uint32_t)v;
    float f;

    memcpy(&f, &u, 4);
    return f;
}

static uint64_t
of_f32(float f)
{
    uint32_t u;

    memcpy(&u, &f, 4);
    return u;
}

static double
as_f64(uint64_t v)
{
    double f;

    memcpy(&f, &v, 8);
    return f;
}

static uint64_t
of_f64(double f)
{
    uint64_t v;

    memcpy(&v, &f, 8);
    return v;
}

static uint64_t
pk_add(enum kn_num format, uint64_t a, uint64_t b)
{
    uint64_t r = 0;

    for (unsigned k = 0; k < 32; k += 16) {
        double s = kn_num_to_f64(format, (uint32_t)(a >> k) & 0xffff) +
                   kn_num_to_f64(format, (uint32_t)(b >> k) & 0xffff);
        r |= (uint64_t)kn_num_from_f64(format, s, (struct kn_rounding){ 0 })
             << k;
    }
    return r;
}

static int64_t
sext(uint64_t v, unsigned bytes)
{
    return bytes == 4 ? (int32_t)(uint32_t)v : (int64_t)v;
}

static uint64_t
float_result(enum kn_atomic_kind kind, uint64_t old, uint64_t data,
             uint64_t data1)
{
    switch (kind) {
    case KN_AT_ADD_F32: return of_f32(as_f32(old) + as_f32(data));
    case KN_AT_MIN_F32: return of_f32(fminf(as_f32(old), as_f32(data)));
    case KN_AT_MAX_F32: return of_f32(fmaxf(as_f32(old), as_f32(data)));
    case KN_AT_ADD_F64: return of_f64(as_f64(old) + as_f64(data));
    case KN_AT_MIN_F64: return of_f64(fmin(as_f64(old), as_f64(data)));
    case KN_AT_MAX_F64: return of_f64(fmax(as_f64(old), as_f64(data)));
    case KN_AT_CMPSWAP_F32: return as_f32(old) == as_f32(data1) ? data : old;
    case KN_AT_CMPSWAP_F64: return as_f64(old) == as_f64(data1) ? data : old;
    case KN_AT_PK_ADD_F16: return pk_add(KN_NUM_F16, old, data);
    default: return pk_add(KN_NUM_BF16, old, data);
    }
}

uint64_t
kn_atomic_result(enum kn_atomic_kind kind, unsigned bytes, uint64_t old,
                 uint64_t data, uint64_t data1)
{
    int64_t so = sext(old, bytes), sd = sext(data, bytes);

    switch (kind) {
    case KN_AT_SWAP: return data;
    case KN_AT_CMPSWAP: return old == data1 ? data : old;
    case KN_AT_ADD: return old + data;
    case KN_AT_SUB: return old - data;
    case KN_AT_RSUB: return data - old;
    case KN_AT_SMIN: return so < sd ? old : data;
    case KN_AT_UMIN: return old < data ? old : data;
    case KN_AT_SMAX: return so > sd ? old : data;
    case KN_AT_UMAX: return old > data ? old : data;
    case KN_AT_AND: return old & data;
    case KN_AT_OR: return old | data;
    case KN_AT_XOR: return old ^ data;
    case KN_AT_INC: return old >= data ? 0 : old + 1;
    case KN_AT_DEC: return !old || old > data ? data : old - 1;
    case KN_AT_MSKOR: return (old & ~data) | data1;
    case KN_AT_WRAP: return old >= data ? old - data : old + data1;
    default: return float_result(kind, old, data, data1);
    }
}

static uint64_t
raw_data(const struct kn_wave *w, unsigned reg, unsigned lane, unsigned bytes)
{
    uint64_t v = w->v[reg][lane];

    return bytes == 8 ? v | (uint64_t)w->v[reg + 1][lane] << 32 : v;
}

/* Buffer and flat hold the compare value behind the data; LDS has it first
 * and in a register of its own (ds_cmpst: data0 compares, data1 is stored). */
void
kn_atomic_data(const struct kn_wave *w, const struct kn_memop *m,
               unsigned lane, uint64_t *data, uint64_t *data1)
{
    *data = raw_data(w, m->data, lane, m->bytes);
    *data1 = 0;
    if (m->mem != KN_M_DS) {
        if (m->ndata > m->nreg)
            *data1 = raw_data(w, m->data + m->nreg, lane, m->bytes);
        return;
    }
    if (m->data1 == KN_NOREG)
        return;
    *data1 = raw_data(w, m->data1, lane, m->bytes);
    if (m->atomic == KN_AT_CMPSWAP || m->atomic == KN_AT_CMPSWAP_F32 ||
        m->atomic == KN_AT_CMPSWAP_F64) {
        uint64_t t = *data;

        *data = *data1;
        *data1 = t;
    }
}

void
kn_atomic_lane(const struct kn_wave *w, const struct kn_memop *m,
               unsigned lane, uint8_t *p, uint8_t old[16])
{
    uint64_t before = 0, after, data, data1;

    memcpy(&before, p, m->bytes);
    kn_atomic_data(w, m, lane, &data, &data1);
    after = kn_atomic_result(m->atomic, m->bytes, before, data, data1);
    memcpy(p, &after, m->bytes);
    memcpy(old, &before, 8);
}
