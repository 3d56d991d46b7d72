/* volume.c - three-dimensional memory, and copies between devices, of which
 * there is one. Arrays are of textures, which these chips do not have: both are
 * refused by name. */
#include "hip_api.h"
#include "shim.h"

static char *
start_of(const struct pitched *p, const struct place *at)
{
    return p->p + at->x + at->y * p->pitch + at->z * p->pitch * p->ysize;
}

int
volume_node(const struct copy3d *p, struct node *n)
{
    if (p->src_array || p->dst_array)
        return KN_hipErrorNotSupported;
    *n = (struct node){
        .kind = NODE_COPY, .dst = start_of(&p->dst, &p->dst_at),
        .src = start_of(&p->src, &p->src_at),
        .rows = { p->dst.pitch, p->src.pitch, p->extent.x, p->extent.y,
                  p->dst.ysize, p->src.ysize, p->extent.z } };
    return 0;
}

static int
copy_volume(const struct copy3d *p, void *stream)
{
    struct node n;
    int e = volume_node(p, &n);

    return e ? e : enqueue_copy(shim_state(), &n, p->kind, stream);
}

int
hipMemcpy3D(const void *params)
{
    int e = enter_for(FN_hipMemcpy3D, params);

    return leave(e ? e : copy_volume(params, NULL));
}

int
hipMemcpy3DAsync(const void *params, void *stream)
{
    int e = enter_for(FN_hipMemcpy3DAsync, params);

    return leave(e ? e : copy_volume(params, stream));
}

/* HIP_MEMCPY3D. The numbers of its memory types are others in ROCm 6: the
 * pointer that is there says as much. */
struct side {
    unsigned x, y, z, level;
    int type;
    void *host, *device, *array;
    unsigned pitch, height;
};

static int
copy_sides(const void *params, void *stream)
{
    const struct {
        struct side src, dst;
        unsigned width, height, depth;
    } *p = params;
    const struct side *s = &p->src, *d = &p->dst;
    char *from = s->host ? s->host : s->device;
    char *to = d->host ? d->host : d->device;
    struct copy3d c = {
        s->array, { s->x, s->y, s->z }, { from, s->pitch, 0, s->height },
        d->array, { d->x, d->y, d->z }, { to, d->pitch, 0, d->height },
        { p->width, p->height, p->depth }, COPY_ANY };

    return copy_volume(&c, stream);
}

int
hipDrvMemcpy3D(const void *params)
{
    int e = enter_for(FN_hipDrvMemcpy3D, params);

    return leave(e ? e : copy_sides(params, NULL));
}

int
hipDrvMemcpy3DAsync(const void *params, void *stream)
{
    int e = enter_for(FN_hipDrvMemcpy3DAsync, params);

    return leave(e ? e : copy_sides(params, stream));
}

/* ---- allocated and set ---------------------------------------------------- */

int
hipMalloc3D(void *out, struct place extent)
{
    int e = enter_for(FN_hipMalloc3D, out);
    size_t row = (extent.x + 255) & ~(size_t)255, n;
    struct pitched p = { NULL, row, extent.x, extent.y };

    if (!e && (row < extent.x || __builtin_mul_overflow(row, extent.y, &n) ||
               __builtin_mul_overflow(n, extent.z, &n)))
        e = KN_hipErrorInvalidValue;
    if (!e)
        e = allocate(shim_state(), (void **)&p.p, n, OF_DEVICE);
    if (!e)
        *(struct pitched *)out = p;
    return leave(e);
}

static int
set_volume(enum hip_call f, struct pitched p, int value, struct place extent,
           void *stream)
{
    int e = enter(f);
    struct node n = { .kind = NODE_SET, .dst = p.p, .value = (uint32_t)value,
                      .element = 1,
                      .rows = { p.pitch, 0, extent.x, extent.y, p.ysize, 0,
                                extent.z } };

    if (!e && !fits_pitch(&n.rows, p.pitch, p.ysize))
        e = KN_hipErrorInvalidValue;
    return leave(e ? e : enqueue(shim_state(), &n, stream));
}

int
hipMemset3D(struct pitched p, int value, struct place extent)
{
    return set_volume(FN_hipMemset3D, p, value, extent, NULL);
}

int
hipMemset3DAsync(struct pitched p, int value, struct place extent, void *stream)
{
    return set_volume(FN_hipMemset3DAsync, p, value, extent, stream);
}

/* ---- between devices ------------------------------------------------------ */

int
hipMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t n,
                   void *stream)
{
    int e = enter_for(FN_hipMemcpyPeerAsync, dst);
    struct node node = { .kind = NODE_COPY, .dst = dst, .src = src,
                         .rows = { .width = n, .height = 1 } };

    if (!e && (to || from))
        e = KN_hipErrorInvalidDevice;
    return leave(e ? e : enqueue_copy(shim_state(), &node, COPY_ANY, stream));
}

static int
copy_peer(const void *params, void *stream)
{
    const struct {           /* hipMemcpy3DPeerParms */
        void *src_array;
        struct place src_at;
        struct pitched src;
        int from;
        void *dst_array;
        struct place dst_at;
        struct pitched dst;
        int to;
        struct place extent;
    } *p = params;
    struct copy3d c = { p->src_array, p->src_at, p->src, p->dst_array,
                        p->dst_at, p->dst, p->extent, COPY_ANY };

    return p->from || p->to ? KN_hipErrorInvalidDevice
                            : copy_volume(&c, stream);
}

int
hipMemcpy3DPeer(const void *params)
{
    int e = enter_for(FN_hipMemcpy3DPeer, params);

    return leave(e ? e : copy_peer(params, NULL));
}

int
hipMemcpy3DPeerAsync(const void *params, void *stream)
{
    int e = enter_for(FN_hipMemcpy3DPeerAsync, params);

    return leave(e ? e : copy_peer(params, stream));
}

/* ---- textures ------------------------------------------------------------- */

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
