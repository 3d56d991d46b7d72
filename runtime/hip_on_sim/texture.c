/* texture.c - textures are refused by name. */
#include "hip_api.h"
#include "shim.h"

static int
refuse(enum hip_call f, const char *name)
{
    int e = enter(f);
    struct shim *s = shim_state();

    if (!e)
        tell(s, "%s: %s has no image instructions, so no textures", name,
             kiln_target_name(s->target));
    return leave(e ? e : KN_hipErrorNotSupported);
}

#define TEXTURE(name)                                                         \
    int                                                                       \
    name(void)                                                                \
    {                                                                         \
        return refuse(FN_##name, #name);                                      \
    }
#include "textures.def"
#undef TEXTURE

struct kn_channel
hipCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct kn_channel){ x, y, z, w, kind };
}
