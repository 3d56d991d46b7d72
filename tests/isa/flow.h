/* flow.h - a kernel of flow.s, decoded. */
#ifndef FLOW_H
#define FLOW_H

#include "../kit/slurp.h"

#include "emit/isa/isa.h"

struct flow {
    struct kn_ctx c;
    struct blob b;
    struct kn_object o;
    struct kn_program p;
};

static inline void
flow_open(struct flow *f, const char *dir, const char *file,
          const char *kernel)
{
    const struct kn_object_kernel *k;

    kn_ctx_init(&f->c, NULL, NULL);
    f->b = slurp(dir, file);
    if (kn_object_read(&f->c, file, f->b.p, f->b.n, &f->o) ||
        kn_object_kernel(&f->c, &f->o, kernel, &k) ||
        kn_decode(&f->c, &f->o, k, true, &f->p))
        fail_msg("%s", f->c.err.text);
}

static inline void
flow_close(struct flow *f)
{
    kn_ctx_free(&f->c);
    free(f->b.p);
}

#endif
