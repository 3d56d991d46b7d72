/* order_widen.c - values that are told apart where a block is entered: a
 * register that takes ever new ones, such as a loop's counter, is not followed
 * there. */
#include "order_impl.h"

enum {
    MOST_VALUES = 36,        /* of an address's register at one block */
    MOST_OTHER = 4           /* of one that only branches depend on */
};

/* Values seen of a needed register at a block. */
struct kn_seen {
    uint8_t n;
    bool wide, alike;        /* more than are told apart; all uniform */
    bool again;              /* a value that was told apart is not so */
    const struct kn_held *v[MOST_VALUES];
};

static bool
note_value(struct kn_seen *s, const struct kn_held *v, bool alike,
           unsigned most)
{
    for (unsigned k = 0; k < s->n; k++)
        if (s->v[k] == v)
            return false;
    s->alike = (!s->n || s->alike) && alike;
    if (s->n < most) {
        s->v[s->n++] = v;
        return false;
    }
    return true;
}

/* The value itself, or what is left of it. */
static const struct kn_held *
widen_one(const struct kn_machine *m, struct kn_seen *s,
          const struct kn_held *v, bool drop, unsigned most)
{
    bool alike = kn_held_alike_in(m, v);

    if (drop && (v->kind != KN_V_KNOWN || !alike))
        return &kn_held_unknown;
    if (drop && note_value(s, v, alike, 1)) {
        s->wide = s->again = true;
        s->alike = false;
    }
    if (!s->wide && v->kind >= KN_V_KNOWN && note_value(s, v, alike, most))
        s->wide = s->again = true;
    if (!s->wide)
        return v;
    s->alike = s->alike && alike;
    return s->alike ? &kn_held_alike : &kn_held_unknown;
}

bool
kn_widen(struct kn_machine *m, const struct kn_needs *need, uint32_t block,
         const struct kn_set *drop, struct kn_seen **seen)
{
    const struct kn_set *in = &need->in[block];
    const struct kn_set *address = &need->address[block];
    bool again = false;
    size_t n = 0;

    for (unsigned r = 0; r < KN_NREG; r++)
        n += kn_has(in, r);
    if (!*seen)
        *seen = KN_NEW(m->c, struct kn_seen, n + 1);
    n = 0;
    for (unsigned r = 0; r < KN_NREG; r++) {
        struct kn_seen *s = &(*seen)[n];

        if (!kn_has(in, r))
            continue;
        n++;
        s->again = false;
        m->now[r] = widen_one(m, s, m->now[r], kn_has(drop, r),
                              kn_has(address, r) ? MOST_VALUES : MOST_OTHER);
        again |= s->again;
    }
    return again;
}
