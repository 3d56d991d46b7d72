/* readers.h - what a test loads is read by the system's comgr too, where there
 * is one, and says the same to both readers. */
#ifndef KN_KIT_READERS_H
#define KN_KIT_READERS_H

#include "runtime/reading.h"

static inline kiln_status
kit_readers_agree(struct kn_ctx *c, const void *co, size_t n)
{
    struct kn_bytes b = { co, n };
    struct kn_reading theirs, own;
    struct kn_reader r;
    kiln_status s = kn_reader_open(c, NULL, &r);

    if (!s && r.comgr) {
        s = kn_reading_take(c, NULL, b, &own);
        if (!s)
            s = kn_reading_take(c, r.comgr, b, &theirs);
        if (!s)
            s = kn_reading_compare(c, &theirs, &own);
    }
    return s;
}

#endif
