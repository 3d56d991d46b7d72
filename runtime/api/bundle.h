/* bundle.h - many kernels in one file that is mapped, never read whole.
 *
 * Little-endian. A header, the index (sorted by problem text, then by
 * configuration), the manifest (JSON, one object a kernel; the index points
 * at its texts), the code objects at multiples of 4096, then their
 * certificates, which `kilnc check` replays and a launch never reads. The
 * header has the digest of index and manifest, the index those of each code
 * object and certificate: checked when the bundle is opened and when one is
 * taken from it. */
#ifndef KN_BUNDLE_H
#define KN_BUNDLE_H

#include "context.h"

#define KN_BUNDLE_MAGIC "KILNKPK1"

struct kn_bundle_header {
    char magic[8];
    uint32_t header_size, entry_size, nentries, reserved;
    uint64_t manifest_at, manifest_size;  /* the index is before it */
    uint64_t file_size;
    char generator[24];
    uint8_t digest[KN_DIGEST];  /* of the bytes from the header's end to the
                                 * manifest's end */
};

struct kn_bundle_entry {
    uint32_t problem_at, problem_size;    /* in the manifest */
    uint32_t config_at, config_size;
    uint64_t co_at, co_size;
    uint8_t co_digest[KN_DIGEST];
    uint8_t key[KN_DIGEST];
    uint64_t cert_at, cert_size;          /* size 0: none */
    uint8_t cert_digest[KN_DIGEST];
};

struct kn_bundle {
    struct kn_bundle *next;  /* of the context */
    atomic_uint refs;
    struct kn_host host;
    const uint8_t *map;
    size_t size;
    struct kn_bundle_header head;
    const struct kn_bundle_entry *entry;
};

/* BAD_INPUT names the defect of the file, or the build it was made by. */
kiln_status kn_bundle_open(struct kn_ctx *c, const struct kn_host *h,
                           const char *path, struct kn_bundle **out);
void kn_bundle_retain(struct kn_bundle *b);
void kn_bundle_release(struct kn_bundle *b);

/* The entries of a problem: [*first, *first + count). */
uint32_t kn_bundle_range(const struct kn_bundle *b, const char *problem,
                         uint32_t *first);
/* Texts of the manifest are not terminated. */
const char *kn_bundle_config(const struct kn_bundle *b, uint32_t i,
                             size_t *size);
/* The code object, its digest checked. */
kiln_status kn_bundle_code(struct kn_ctx *c, const struct kn_bundle *b,
                           uint32_t i, const uint8_t **co, size_t *size);

/* Its certificate (emit/prove/cert.h), not terminated; *size 0: it has none. */
kiln_status kn_bundle_certificate(struct kn_ctx *c, const struct kn_bundle *b,
                                  uint32_t i, const char **text,
                                  size_t *size);

/* One kernel to be packed; texts and bytes stay the caller's. */
struct kn_packed {
    struct kn_key key;
    const uint8_t *co;
    size_t size;
    const char *certificate; /* NULL: none */
};

/* The bytes of a bundle, the same for the same set in any order. Equal keys
 * are packed once. */
kiln_status kn_bundle_make(struct kn_ctx *c, const struct kn_packed *k,
                           uint32_t n, uint8_t **out, size_t *size);

#endif
