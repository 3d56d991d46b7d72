// properties.cpp - hipDeviceProp_tR0600, ROCm 6's, as its header lays it out:
// what is not looked at is space.
#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" int hipGetDevicePropertiesR0600(void *p, int device);

struct Properties {
    char name[256], uuid[16], luid[8];
    unsigned node_mask;
    size_t memory, lds;
    int regs, warp;
    size_t pitch;
    int threads, dim[3], grid[3], clock;
    size_t constant;
    int major, minor;
    size_t texture_alignment, texture_pitch;
    int overlap, cus, timeout, integrated, map_host, compute_mode;
    int texture1d[3], texture2d[2], mipmap2d[2], linear2d[3], gather2d[2],
        texture3d[3], alternate3d[3], cubemap, layered1d[2], layered2d[3],
        cubemaps[2];
    int surface1d, surface2d[2], surface3d[3], surfaces1d[2], surfaces2d[3],
        surface_cubemap, surface_cubemaps[2];
    size_t surface_alignment;
    int concurrent, ecc, bus, device, domain, tcc, engines, unified,
        memory_clock, memory_bus, l2, persisting, resident, priorities,
        global_l1, local_l1;
    size_t lds_cu;
    int regs_cu, managed, board, board_group, native_atomics, ratio, pageable,
        concurrent_managed, preemption, registered, cooperative, multi;
    size_t optin;
    int page_tables, direct, blocks, window;
    size_t reserved_lds;
    int host_register, sparse, read_only, timeline, pools, rdma;
    unsigned rdma_flush;
    int rdma_order;
    unsigned handles;
    int deferred, ipc, cluster, functions, reserved[63], hip_reserved[32];
    char arch[256];
    size_t lds_most;
    int instruction_clock;
    unsigned features;
    unsigned *flush[2];
    int unmatched[4], large_bar, revision;
};
static_assert(sizeof(Properties) == 1472, "ROCm 6.0 to 7: 1472 bytes");

int
main()
{
    struct {
        Properties p;
        unsigned char behind[64];
    } x;

    memset(&x, 0xa5, sizeof x);
    if (hipGetDevicePropertiesR0600(&x.p, 0))
        return 2;
    const Properties &p = x.p;
    for (unsigned char c : x.behind)
        if (c != 0xa5)
            return 3;
    printf("%s\n%s\n", p.name, p.arch);
    printf("%zu %zu %zu %d %d\n", p.memory, p.lds, p.lds_cu, p.regs, p.warp);
    printf("%d %d %d %d\n", p.threads, p.dim[0], p.dim[2], p.grid[0]);
    printf("%d %d %d %d\n", p.clock, p.memory_clock, p.memory_bus, p.l2);
    printf("%d.%d %d %d\n", p.major, p.minor, p.cus, p.resident);
    printf("%d %d %d %d\n", p.map_host, p.concurrent, p.managed,
           p.cooperative);
    return 0;
}
