/* cmd.h - the bodies of kilnc's commands. */
#ifndef KN_CMD_H
#define KN_CMD_H

#include "../../runtime/api/context.h"
#include "cli.h"

struct kn_progress;
struct kn_trial;

/* Where a command writes. Text for people goes to `text`, which the caller
 * prints on standard output unless --json - took it. */
struct kn_tool {
    struct kn_ctx *c;
    const struct kn_cli *cli;
    struct kn_progress *progress;
    struct kn_buf *text;
    bool colour;             /* text goes to a terminal that may be coloured */
    struct kn_trial *trial;  /* of a row of selftest, else NULL */
};

/* OK, FINDING (a wrong result or a finding; the report says which, the error
 * record stays empty), or an error recorded in the context. */
#define CMD(id, pos, least, most, body, help) \
    kiln_status kn_cmd_##id(struct kn_tool *t);
#include "commands.def"
#undef CMD

/* The simulated target of --device into *target, which keeps its value if
 * the flag is not given. UNSUPPORTED for a device that is not available. */
kiln_status kn_tool_device(struct kn_tool *t, kiln_target *target);

/* --order, --waves, --order-seed and the progress line of a launch. */
void kn_tool_orders(struct kn_tool *t, struct kn_sim_launch *l);

/* The linker --linker names, as in struct kn_watch; NULL: kiln's own. */
typedef kiln_status kn_link_fn(struct kn_ctx *c, const void *rel, size_t n,
                               uint8_t **out, size_t *size);
kn_link_fn *kn_tool_linker(const struct kn_cli *cli);

/* Runs the body of t->cli->command. */
kiln_status kn_command_run(struct kn_tool *t);

/* bundle_view.c - what is in a bundle, and taking a kernel out of it. */

/* True if the bytes begin as a bundle's do. */
bool kn_is_bundle(const void *bytes, size_t size);

/* `pack --list F.kpk`, `info F.kpk`: a paragraph a kernel; --json. */
kiln_status kn_bundle_view(struct kn_tool *t, const char *path);

/* `pack --extract NAME F.kpk`: the code object of the kernel with this symbol
 * or with a key that begins so, and its certificate, as -o says (default
 * NAME.co). BAD_INPUT if there is none or more than one. */
kiln_status kn_bundle_extract(struct kn_tool *t, const char *path,
                              const char *name);

/* pack_c.c - a bundle as one C file: code objects, how each is launched, and
 * the function that picks one. */

struct kn_pack_kernel {
    const kiln_problem *p;   /* of the list's row: the m it was chosen for */
    const struct kn_config *config;
    const struct kn_key *key;
    const uint8_t *co;
    size_t size;
};

/* Names in the file begin with the file's own: lib.c has lib_find(). */
kiln_status kn_pack_c(struct kn_ctx *c, const char *path,
                      const struct kn_pack_kernel *k, size_t n);

#endif
