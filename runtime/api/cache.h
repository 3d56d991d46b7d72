/* cache.h - the cache directory: KEY.co and, beside it, KEY.json, which is a
 * function of the key and the code object, so that reading checks both by
 * making it again. The .json is written last: without it there is nothing. */
#ifndef KN_CACHE_H
#define KN_CACHE_H

#include "context.h"

/* KILNC_CACHE_DIR, else $XDG_CACHE_HOME/kilnc, else ~/.cache/kilnc; NULL
 * where there is no home. */
const char *kn_cache_dir(struct kn_ctx *c);

/* The description of a kernel, one JSON object. */
kiln_status kn_describe(struct kn_ctx *c, const struct kn_key *key,
                        const uint8_t *co, size_t size, struct kn_buf *out);

struct kn_cached {
    uint8_t *co;             /* NULL: not there, or damaged */
    size_t size;
    const char *damage;      /* a sentence, NULL: none */
};

kiln_status kn_cache_read(struct kn_ctx *c, const char *dir,
                          const struct kn_key *key, struct kn_cached *out);
kiln_status kn_cache_write(struct kn_ctx *c, const char *dir,
                           const struct kn_key *key, const uint8_t *co,
                           size_t size);

/* KEY.cert, the certificate of an entry, for those who pack: not part of it.
 * Reading gives NULL where there is none. */
kiln_status kn_cache_read_certificate(struct kn_ctx *c, const char *dir,
                                      const struct kn_key *key,
                                      const char **text);
kiln_status kn_cache_write_certificate(struct kn_ctx *c, const char *dir,
                                       const struct kn_key *key,
                                       const char *text);

#endif
