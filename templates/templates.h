/* templates.h - the kernel skeletons of this folder, embedded as text. */
#ifndef KN_TEMPLATES_H
#define KN_TEMPLATES_H

struct kn_template {
    const char *name;        /* file name, e.g. "gemm.tir" */
    const char *text;
};

/* In the order of templates/meson.build; ends with a NULL name. */
extern const struct kn_template kn_templates[];

#endif
