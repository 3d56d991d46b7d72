/* bytes.h - a piece of memory somebody else owns. */
#ifndef KN_BYTES_H
#define KN_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct kn_bytes {
    const uint8_t *p;
    size_t n;
};

#endif
