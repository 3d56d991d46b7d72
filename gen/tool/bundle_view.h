/* bundle_view.h - what is in a bundle, and taking a kernel out of it. */
#ifndef KN_BUNDLE_VIEW_H
#define KN_BUNDLE_VIEW_H

#include "cmd.h"

/* True if the bytes begin as a bundle's do. */
bool kn_is_bundle(const void *bytes, size_t size);

/* `pack --list F.kpk`, `info F.kpk`: a paragraph a kernel; --json. */
kiln_status kn_bundle_view(struct kn_tool *t, const char *path);

/* `pack --extract NAME F.kpk`: the code object of the kernel with this symbol
 * or with a key that begins so, and its certificate, as -o says (default
 * NAME.co). BAD_INPUT if there is none or more than one. */
kiln_status kn_bundle_extract(struct kn_tool *t, const char *path,
                              const char *name);

#endif
