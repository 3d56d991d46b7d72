/* order_source.c - what an instruction reads, lane by lane: registers, constants, a bit of a
 * lane mask. */
#include <string.h>

#include "order_step.h"

static const struct kn_held *
reg_val(const struct kn_machine *m, const struct kn_opnd *o, unsigned k)
{
    unsigned r = kn_reg_of(o, k);

    return r < KN_NREG ? m->now[r] : &kn_held_unknown;
}

/* The operand with its signature letter; false: nothing is known of it. */
static bool
read_source(const struct kn_machine *m, const struct kn_opnd *o, char letter,
            struct kn_source *s)
{
    memset(s, 0, sizeof *s);
    s->wide = letter == 'q' || letter == 's' || letter == 'P';
    s->mask = letter == 'm';
    s->sel = 6;
    s->lo = s->hi = &kn_held_unknown;
    if (o->neg || o->abs || o->sext)
        return true;
    s->sel = o->sel;
    if (o->kind == KN_O_IMM && !o->is_float) {
        s->is_imm = true;
        s->imm = letter == 'k' ? (uint32_t)(int16_t)o->imm
               : s->wide ? (uint64_t)o->imm : (uint32_t)o->imm;
    } else if (o->kind == KN_O_IMM && !s->wide) {
        s->is_imm = true;
        s->imm = (uint32_t)o->imm;
    } else {
        s->lo = reg_val(m, o, 0);
        s->hi = s->wide || s->mask ? reg_val(m, o, 1) : s->lo;
    }
    return true;
}

void
kn_sources_read(const struct kn_machine *m, const struct kn_inst *i,
             struct kn_sources *s)
{
    const char *sig = strchr(kn_isa[i->op].sig, '=');

    memset(s, 0, sizeof *s);
    s->carry = -1;
    s->scc = m->now[KN_SCC];
    read_source(m, &i->o[0], kn_isa[i->op].sig[0], &s->old);
    for (sig = sig ? sig + 1 : ""; *sig && s->n < KN_SOURCES &&
         i->ndst + s->n < i->nopnd; sig++, s->n++) {
        if (*sig == 'm')
            s->carry = (int)s->n;
        read_source(m, &i->o[i->ndst + s->n], *sig, &s->s[s->n]);
    }
}

bool
kn_source_lane(const struct kn_source *s, unsigned w, unsigned l, uint64_t *x)
{
    uint32_t lo, hi = 0;

    *x = s->imm;
    if (s->is_imm)
        return true;
    if (s->mask)             /* one bit of a pair of scalars */
        l = 0 * l;
    if (!kn_machine_lane(s->lo, w, l, &lo) ||
        ((s->wide || s->mask) && !kn_machine_lane(s->hi, w, l, &hi)))
        return false;
    *x = (uint64_t)hi << 32 | lo;
    if (s->sel < 4)
        *x = lo >> s->sel * 8 & 0xff;
    else if (s->sel < 6)
        *x = lo >> (s->sel - 4) * 16 & 0xffff;
    return true;
}

bool
kn_source_alike(const struct kn_machine *m, const struct kn_source *s)
{
    return s->is_imm || (kn_held_alike_in(m, s->lo) &&
                         (!(s->wide || s->mask) ||
                          kn_held_alike_in(m, s->hi)));
}

bool
kn_sources_alike(const struct kn_machine *m, const struct kn_sources *s)
{
    for (unsigned k = 0; k < s->n; k++)
        if (!kn_source_alike(m, &s->s[k]))
            return false;
    return true;
}

struct kn_lane
kn_sources_lane(const struct kn_sources *s, unsigned w, unsigned l)
{
    struct kn_lane x = { 0 };
    uint64_t *at[KN_SOURCES] = { &x.a, &x.b, &x.c, &x.d };
    uint64_t mask;
    uint32_t scc;

    for (unsigned k = 0; k < s->n && k < 3; k++)
        if ((int)k != s->carry && kn_source_lane(&s->s[k], w, l, at[k]))
            x.known |= 1u << k;
    if (s->carry >= 0) {
        x.known |= 1u << s->carry;
        if (kn_source_lane(&s->s[s->carry], w, 0, &mask)) {
            x.s = mask >> l & 1;
            x.known |= KN_L_FLAG;
        }
    } else if (kn_machine_lane(s->scc, w, 0, &scc)) {
        x.s = scc;
        x.known |= KN_L_FLAG;
    }
    if (kn_source_lane(&s->old, w, l, &x.d))
        x.known |= KN_L_OLD;
    return x;
}
