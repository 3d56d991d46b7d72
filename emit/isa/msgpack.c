/* msgpack.c - pull reader of MessagePack (msgpack.org specification). */
#include "msgpack.h"

#include <string.h>

static bool
take(struct kn_mp *m, unsigned n, uint64_t *v)
{
    if ((size_t)(m->end - m->p) < n)
        return false;
    *v = 0;
    while (n--)
        *v = *v << 8 | *m->p++;
    return true;
}

static bool
blob(struct kn_mp *m, enum kn_mp_kind kind, uint64_t n, struct kn_mp_item *it)
{
    if ((uint64_t)(m->end - m->p) < n)
        return false;
    it->kind = kind;
    it->n = (uint32_t)n;
    it->s = (const char *)m->p;
    m->p += n;
    return true;
}

static bool
container(struct kn_mp *m, enum kn_mp_kind kind, uint64_t n,
          struct kn_mp_item *it)
{
    uint64_t least = kind == KN_MP_MAP ? 2 * n : n;

    if ((uint64_t)(m->end - m->p) < least)
        return false;
    it->kind = kind;
    it->n = (uint32_t)n;
    return true;
}

static bool
number(struct kn_mp *m, enum kn_mp_kind kind, unsigned bytes,
       struct kn_mp_item *it)
{
    if (!take(m, bytes, &it->u))
        return false;
    it->kind = kind;
    if (kind == KN_MP_INT && bytes < 8 && it->u >> (8 * bytes - 1))
        it->u |= ~(uint64_t)0 << (8 * bytes);
    return true;
}

/* Tokens 0xc0..0xdf, which carry a length or a value of their own. */
static bool
long_form(struct kn_mp *m, uint8_t tag, struct kn_mp_item *it)
{
    uint64_t n;

    switch (tag) {
    case 0xc0: it->kind = KN_MP_NIL; return true;
    case 0xc2: case 0xc3:
        it->kind = KN_MP_BOOL;
        it->u = tag & 1;
        return true;
    case 0xc4: case 0xc5: case 0xc6:
        return take(m, 1u << (tag - 0xc4), &n) && blob(m, KN_MP_BIN, n, it);
    case 0xc7: case 0xc8: case 0xc9:
        return take(m, 1u << (tag - 0xc7), &n) &&
               blob(m, KN_MP_EXT, n + 1, it);
    case 0xca: case 0xcb:
        return number(m, KN_MP_FLOAT, 4u << (tag - 0xca), it);
    case 0xcc: case 0xcd: case 0xce: case 0xcf:
        return number(m, KN_MP_UINT, 1u << (tag - 0xcc), it);
    case 0xd0: case 0xd1: case 0xd2: case 0xd3:
        return number(m, KN_MP_INT, 1u << (tag - 0xd0), it);
    case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8:
        return blob(m, KN_MP_EXT, (1u << (tag - 0xd4)) + 1, it);
    case 0xd9: case 0xda: case 0xdb:
        return take(m, 1u << (tag - 0xd9), &n) && blob(m, KN_MP_STR, n, it);
    case 0xdc: case 0xdd:
        return take(m, 2u << (tag - 0xdc), &n) &&
               container(m, KN_MP_ARRAY, n, it);
    case 0xde: case 0xdf:
        return take(m, 2u << (tag - 0xde), &n) &&
               container(m, KN_MP_MAP, n, it);
    default: return false;   /* 0xc1 is reserved */
    }
}

bool
kn_mp_next(struct kn_mp *m, struct kn_mp_item *it)
{
    uint8_t tag;

    memset(it, 0, sizeof *it);
    if (m->p >= m->end)
        return false;
    tag = *m->p++;
    if (tag < 0x80 || tag >= 0xe0) {
        it->kind = tag < 0x80 ? KN_MP_UINT : KN_MP_INT;
        it->u = (uint64_t)(int64_t)(int8_t)tag;
        return true;
    }
    if (tag < 0x90)
        return container(m, KN_MP_MAP, tag & 15, it);
    if (tag < 0xa0)
        return container(m, KN_MP_ARRAY, tag & 15, it);
    if (tag < 0xc0)
        return blob(m, KN_MP_STR, tag & 31, it);
    return long_form(m, tag, it);
}

bool
kn_mp_skip(struct kn_mp *m)
{
    struct kn_mp_item it;

    for (uint64_t left = 1; left; left--) {
        if (!kn_mp_next(m, &it))
            return false;
        if (it.kind == KN_MP_ARRAY)
            left += it.n;
        else if (it.kind == KN_MP_MAP)
            left += 2 * (uint64_t)it.n;
    }
    return true;
}

bool
kn_mp_expect(struct kn_mp *m, enum kn_mp_kind kind, struct kn_mp_item *it)
{
    return kn_mp_next(m, it) && it->kind == kind;
}

bool
kn_mp_equal(const struct kn_mp_item *it, const char *s)
{
    size_t n = strlen(s);

    return it->kind == KN_MP_STR && it->n == n && !memcmp(it->s, s, n);
}
