/* offload.c - the code object of a target in clang's offload bundle. The
 * header is a magic, the number of entries, and for each its offset, size and
 * id, all numbers 64-bit little-endian. */
#include "object.h"

#include <string.h>

static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";

enum { MAGIC = sizeof magic - 1, ENTRY = 24 };

static uint64_t
u64_at(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

bool
kn_is_offload(const void *p, size_t n)
{
    return n >= MAGIC && !memcmp(p, magic, MAGIC);
}

/* The target's name at the id's end, or before features. */
static bool
names_target(const char *id, size_t len, const char *want)
{
    size_t w = strlen(want);

    for (size_t k = 0; k + w <= len; k++)
        if (!memcmp(id + k, want, w) && (k + w == len || id[k + w] == ':'))
            return true;
    return false;
}

const uint8_t *
kn_offload_find(kiln_target t, const void *bundle, size_t most, size_t *size)
{
    const char *want = kiln_target_name(t);
    const uint8_t *p = bundle;
    size_t at = MAGIC;
    uint64_t n;

    if (!kn_is_offload(p, most))
        return NULL;
    n = most - at < 8 ? 0 : u64_at(p + at);
    at += 8;
    for (uint64_t i = 0; i < n && most - at >= ENTRY; i++) {
        uint64_t offset = u64_at(p + at), bytes = u64_at(p + at + 8);
        uint64_t len = u64_at(p + at + 16);

        at += ENTRY;
        if (len > most - at)
            break;
        if (bytes && offset <= most && bytes <= most - offset &&
            names_target((const char *)p + at, (size_t)len, want)) {
            *size = (size_t)bytes;
            return p + offset;
        }
        at += (size_t)len;
    }
    return NULL;
}
