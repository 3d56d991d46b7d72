/* msgpack.h - pull reader of MessagePack, the encoding of code object
 * metadata. Every read is bounds-checked; no recursion, no allocation. */
#ifndef KN_MSGPACK_H
#define KN_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kn_mp_kind {
    KN_MP_NIL, KN_MP_BOOL, KN_MP_UINT, KN_MP_INT, KN_MP_FLOAT, KN_MP_STR,
    KN_MP_BIN, KN_MP_ARRAY, KN_MP_MAP, KN_MP_EXT
};

struct kn_mp {
    const uint8_t *p, *end;
};

/* One token. An array is followed by n items, a map by n key-value pairs. */
struct kn_mp_item {
    enum kn_mp_kind kind;
    uint64_t u;              /* BOOL, UINT; INT as two's complement */
    uint32_t n;              /* STR, BIN, EXT bytes; ARRAY, MAP entries */
    const char *s;           /* STR, BIN, EXT: not NUL-terminated */
};

/* False at the end of the data, on a truncated or reserved token, and on a
 * container with more entries than bytes are left. */
bool kn_mp_next(struct kn_mp *m, struct kn_mp_item *it);

/* Passes over one whole value, however deep. */
bool kn_mp_skip(struct kn_mp *m);

/* One token that must be of this kind. */
bool kn_mp_expect(struct kn_mp *m, enum kn_mp_kind kind,
                  struct kn_mp_item *it);

/* One string token equal to s? */
bool kn_mp_equal(const struct kn_mp_item *it, const char *s);

#endif
