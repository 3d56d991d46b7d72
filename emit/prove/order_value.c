/* order_value.c - what the registers of all waves of a workgroup hold, lane by
 * lane, as far as it follows from the work-item id. */
#include <string.h>

#include "order_impl.h"

const struct kn_held kn_held_unknown = { .kind = KN_V_UNKNOWN };
const struct kn_held kn_held_alike = { .kind = KN_V_ALIKE, .alike = true };

/* ---- values ------------------------------------------------------------- */

static uint64_t
lanes_of(unsigned per)
{
    return per == 64 ? ~0ull : 1;
}

static uint64_t
hash_draft(const struct kn_machine *m, unsigned per)
{
    uint64_t h = per;

    for (unsigned w = 0; w < m->nwaves; w++)
        h = kn_mix(h ^ m->draft.known[w]);
    for (unsigned k = 0; k < m->nwaves * per; k++)
        h = (h ^ m->draft.x[k]) * 0x100000001b3u + (h >> 29);
    return kn_mix(h);
}

static bool
is_alike(const struct kn_machine *m, unsigned per)
{
    const struct kn_draft *d = &m->draft;

    for (unsigned w = 0; w < m->nwaves; w++)
        if (d->known[w] != lanes_of(per) ||
            memcmp(&d->x[w * per], d->x, per * sizeof *d->x) != 0)
            return false;
    return true;
}

static const struct kn_held *
make_val(struct kn_machine *m, unsigned per, uint64_t hash)
{
    struct kn_held *v = KN_NEW(m->c, struct kn_held, 1);

    v->kind = KN_V_KNOWN;
    v->per = (uint8_t)per;
    v->hash = hash;
    v->alike = is_alike(m, per);
    v->known = KN_NEW(m->c, uint64_t, m->nwaves);
    v->x = KN_NEW(m->c, uint32_t, m->nwaves * per);
    memcpy(v->known, m->draft.known, m->nwaves * sizeof *v->known);
    memcpy(v->x, m->draft.x, m->nwaves * per * sizeof *v->x);
    v->chain = m->bucket[hash % KN_HELD_HASH];
    m->bucket[hash % KN_HELD_HASH] = v;
    m->kept += m->nwaves * per;
    return v;
}

const struct kn_held *
kn_held_intern(struct kn_machine *m, unsigned per)
{
    uint64_t any = 0, hash;

    for (unsigned w = 0; w < m->nwaves; w++)
        any |= m->draft.known[w] &= lanes_of(per);
    if (!any)
        return &kn_held_unknown;
    for (unsigned k = 0; k < m->nwaves * per; k++)
        if (!(m->draft.known[k / per] >> k % per & 1))
            m->draft.x[k] = 0;
    hash = hash_draft(m, per);
    for (const struct kn_held *v = m->bucket[hash % KN_HELD_HASH]; v;
         v = v->chain)
        if (v->hash == hash && v->per == per && v->kind == KN_V_KNOWN &&
            !memcmp(v->known, m->draft.known, m->nwaves * sizeof *v->known) &&
            !memcmp(v->x, m->draft.x, m->nwaves * per * sizeof *v->x))
            return v;
    return make_val(m, per, hash);
}

bool
kn_held_alike_in(const struct kn_machine *m, const struct kn_held *v)
{
    int first = -1;

    if (v->alike || v->kind != KN_V_KNOWN)
        return v->alike;
    for (unsigned w = 0; w < m->nwaves; w++) {
        if (!(m->active >> w & 1))
            continue;
        if (first < 0)
            first = (int)w;
        if (v->known[w] != lanes_of(v->per) ||
            memcmp(&v->x[w * v->per], &v->x[(unsigned)first * v->per],
                   v->per * sizeof *v->x) != 0)
            return false;
    }
    return true;
}

bool
kn_machine_lane(const struct kn_held *v, unsigned wave, unsigned lane,
                uint32_t *x)
{
    unsigned l = v->per == 1 ? 0 : lane;

    if (v->kind != KN_V_KNOWN || !(v->known[wave] >> l & 1))
        return false;
    *x = v->x[wave * v->per + l];
    return true;
}

void
kn_draft_lane(struct kn_machine *m, unsigned per, unsigned k,
              const struct kn_held *v)
{
    uint64_t bit = 1ull << k % per;

    if (kn_machine_lane(v, k / per, k % per, &m->draft.x[k]))
        m->draft.known[k / per] |= bit;
    else
        m->draft.known[k / per] &= ~bit;
}

const struct kn_held *
kn_held_select(struct kn_machine *m, uint16_t mask, const struct kn_held *a,
              const struct kn_held *b)
{
    unsigned per = a->per == 64 || b->per == 64 ? 64 : 1;

    if (a == b || (mask & m->all) == m->all)
        return a;
    for (unsigned k = 0; k < m->nwaves * per; k++)
        kn_draft_lane(m, per, k, mask >> k / per & 1 ? a : b);
    return kn_held_intern(m, per);
}

static bool
same_cases(const struct kn_cases *a, const struct kn_cases *b)
{
    for (unsigned k = 0; k < a->n; k++)
        if (a->of[k] != b->of[k])
            return false;
    return a->n == b->n && a->cause == b->cause && a->alike == b->alike;
}

const struct kn_held *
kn_held_cases(struct kn_machine *m, const struct kn_cases *x)
{
    struct kn_cases is = { .n = x->n, .cause = x->cause, .alike = x->alike };
    uint64_t hash = x->cause;
    struct kn_held *v;
    bool differ = false;

    for (unsigned k = 0; k < x->n; k++) {
        if (x->of[k]->kind != KN_V_KNOWN)
            return &kn_held_unknown;
        is.of[k] = x->of[k];
        is.alike = is.alike && x->of[k]->alike;
        hash = kn_mix(hash ^ x->of[k]->hash);
        differ |= x->of[k] != x->of[0];
    }
    if (!differ)
        return x->of[0];
    for (const struct kn_held *y = m->bucket[hash % KN_HELD_HASH]; y; y = y->chain)
        if (y->kind == KN_V_CASES && same_cases(&y->is, &is))
            return y;
    v = KN_NEW(m->c, struct kn_held, 1);
    *v = (struct kn_held){ .kind = KN_V_CASES, .per = is.of[0]->per, .alike = is.alike,
                           .is = is, .hash = hash,
                           .chain = m->bucket[hash % KN_HELD_HASH] };
    return m->bucket[hash % KN_HELD_HASH] = v;
}

/* ---- the entry ---------------------------------------------------------- */

static unsigned
scalars_given(const struct kn_object_kernel *k)
{
    static const uint8_t size[] = { 4, 2, 2, 2, 2, 2, 1 };
    unsigned n = 0, user = k->rsrc2 >> 1 & 31;

    for (unsigned b = 0; b < sizeof size; b++)
        n += k->properties >> b & 1 ? size[b] : 0;
    n += k->preload_length;
    n = n < user ? user : n;
    for (unsigned d = 0; d < 3; d++)
        n += k->rsrc2 >> (7 + d) & 1;
    return n;
}

/* Lanes [from, from + 32) of each wave that have a work-item. */
static const struct kn_held *
lanes_launched(struct kn_machine *m, unsigned from)
{
    uint32_t items = m->p->kernel->max_workgroup;

    for (unsigned w = 0; w < m->nwaves; w++) {
        uint32_t first = w * KN_LANE + from;
        uint32_t n = items > first ? items - first : 0;

        m->draft.known[w] = 1;
        m->draft.x[w] = n >= 32 ? UINT32_MAX : (1u << n) - 1;
    }
    return kn_held_intern(m, 1);
}

void
kn_machine_enter(struct kn_machine *m)
{
    unsigned given = scalars_given(m->p->kernel);

    for (unsigned r = 0; r < KN_NREG; r++)
        m->now[r] = &kn_held_unknown;
    for (unsigned r = 0; r < given && r < 102; r++)
        m->now[KN_RS + r] = &kn_held_alike;
    for (unsigned half = 0; half < 2; half++)
        m->now[KN_EXEC + half] = lanes_launched(m, half * 32);
    for (unsigned k = 0; k < m->nwaves * KN_LANE; k++) {
        m->draft.known[k / KN_LANE] = ~0ull;
        m->draft.x[k] = k;
    }
    m->now[0] = kn_held_intern(m, KN_LANE);
    m->active = m->all;
}

void
kn_machine_test(const struct kn_machine *m, unsigned reg, bool pair,
                uint16_t *yes, uint16_t *no)
{
    *yes = *no = 0;
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint32_t lo = 0, hi = 0;
        bool a = kn_machine_lane(m->now[reg], w, 0, &lo);
        bool b = !pair || kn_machine_lane(m->now[reg + pair], w, 0, &hi);
        uint16_t bit = (uint16_t)(1u << w);

        if ((a && lo) || (b && hi))
            *yes |= bit;
        else if (a && b)
            *no |= bit;
    }
}

/* ---- what is not followed ----------------------------------------------- */

/* Whether everything an instruction reads is the same in all waves. */
static bool
reads_alike(const struct kn_machine *m, const struct kn_inst *i)
{
    struct kn_set s = { { 0 } };

    kn_reads_of(i, &s);
    for (unsigned r = 0; r < KN_NREG; r++)
        if (kn_has(&s, r) && !kn_held_alike_in(m, m->now[r]))
            return false;
    return true;
}

/* An operation that is not followed. Waves that read the same get the same,
 * from memory too; an atomic gives each its own, and so do scratch and what
 * depends on the wave itself. */
void
kn_machine_other(struct kn_machine *m, const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    bool own = row->atomic || row->mem == KN_M_SCRATCH ||
               i->op == KN_I_s_getreg_b32 ||
               i->op == KN_I_s_memtime || i->op == KN_I_s_memrealtime ||
               row->unit == KN_U_MFMA || i->op == KN_I_unknown;
    bool alike = !own && reads_alike(m, i) &&
                 (row->unit == KN_U_SALU || row->unit == KN_U_SMEM ||
                  kn_exec_is_full(m));
    struct kn_set s = { { 0 } };

    kn_writes_of(i, &s);
    for (unsigned r = 0; r < KN_NREG; r++)
        if (kn_has(&s, r))
            m->now[r] = alike ? &kn_held_alike : &kn_held_unknown;
}

void
kn_machine_forget(struct kn_machine *m, const struct kn_inst *i)
{
    struct kn_set s = { { 0 } };

    kn_writes_of(i, &s);
    for (unsigned r = 0; r < KN_NREG; r++)
        if (kn_has(&s, r))
            m->now[r] = &kn_held_unknown;
}
