/* config.h - the environment, read once into a struct by whoever owns the
 * process; nobody else looks at it. */
#ifndef KN_CONFIG_H
#define KN_CONFIG_H

struct kn_env {
#define ENV(id, name, meaning) const char *id;
#include "env.def"
#undef ENV
};

/* Unset variables are NULL. */
void kn_env_read(struct kn_env *e);

#endif
