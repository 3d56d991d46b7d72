/* launchtext.h - a kernel's launch as a C header, and as JSON. */
#ifndef KN_LAUNCHTEXT_H
#define KN_LAUNCHTEXT_H

#include "launch.h"
#include "../json.h"

/* What the code object says of the kernel. */
struct kn_launch_facts {
    const char *symbol, *target, *config, *versions;
    uint32_t lds;
};

/* A header that needs no other, in C and in C++. `path` is its file, after
 * which everything in it is named: k.h has k_plan() and K_BLOCK. */
void kn_launch_header(struct kn_buf *b, const char *path,
                      const struct kn_launch *l,
                      const struct kn_launch_facts *f);

/* The same as the object `launch` of an open object. */
void kn_launch_json(struct kn_json *j, const struct kn_launch *l,
                    const struct kn_launch_facts *f);

#endif
