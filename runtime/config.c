/* config.c - the only file that calls getenv. */
#include "config.h"

#include <stdlib.h>

void
kn_env_read(struct kn_env *e)
{
#define ENV(id, name, meaning) e->id = getenv(name);
#include "env.def"
#undef ENV
}
