/* input.h - what info, diff, parity and report look at: a code object,
 * assembly text, or the kernel of a problem, decoded. */
#ifndef KN_SUBJECT_H
#define KN_SUBJECT_H

#include "../../../emit/isa/cfg.h"
#include "../cmd.h"
#include "../../gen.h"

struct kn_subject {
    const char *name;        /* as the user wrote it, or the kernel's */
    const uint8_t *bytes;    /* of a code object or relocatable object */
    size_t size;
    const char *cert;        /* its certificate's text, NULL: none */
    size_t cert_size;
    bool made;               /* from a problem: the next three are set */
    kiln_problem problem;
    struct kn_config config;
    int64_t *offs;           /* group offsets, NULL without groups */
    struct kn_object o;
    const struct kn_object_kernel *k;
    struct kn_program p;
    struct kn_cfg g;
    const char **place;      /* per instruction "gemm.tir:31 mfma" or NULL */
};

/* Reads FILE.co or FILE.s, or generates the kernel of the family `word`
 * names with the command's problem flags (a file of that name goes first).
 * Sets everything down to `offs`. */
kiln_status kn_subject_read(struct kn_tool *t, const char *word,
                            struct kn_subject *s);

/* The same, and decodes the kernel --kernel names, or the only one. */
kiln_status kn_subject_open(struct kn_tool *t, const char *word,
                            struct kn_subject *s);

/* Kernel k of a subject that was read: program, control flow, places. */
kiln_status kn_subject_decode(struct kn_ctx *c, struct kn_subject *s,
                              const struct kn_object_kernel *k);

/* The text of every instruction, in LLVM's words. */
kiln_status kn_subject_listing(struct kn_ctx *c, const struct kn_subject *s,
                               const char ***out);

#endif
