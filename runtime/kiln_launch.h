/* kiln_launch.h - the part of kiln.h about launches: what a kernel points to,
 * plans, devices, loading, launching, timing, and kiln_run, which does it all.
 * kiln.h includes it. */
#ifndef KILN_LAUNCH_H
#define KILN_LAUNCH_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(id, field of kiln_arguments): what a kernel may point to. */
#define KILN_OPERANDS(X) \
    X(ARG_A, a) \
    X(ARG_B, b) \
    X(ARG_C, c) \
    X(ARG_SA, sa) \
    X(ARG_SB, sb) \
    X(ARG_BIAS, bias) \
    X(ARG_OFFSETS, offsets) \
    X(ARG_EXPERTS, experts) \
    X(ARG_PADDED, padded) \
    X(ARG_WEIGHTS, weights) \
    X(ARG_WORKSPACE, workspace) \
    X(ARG_X0, x0) \
    X(ARG_X1, x1) \
    X(ARG_X2, x2) \
    X(ARG_X3, x3) \
    X(ARG_SC, sc) \
    X(ARG_AMAX, amax) \
    X(ARG_OUT2, out2) \
    X(ARG_TIGHT, tight) \
    X(ARG_SC2, sc2)
typedef enum kiln_operand {
#define X(id, field) KILN_##id,
    KILN_OPERANDS(X)
#undef X
    KILN_NOPERANDS
} kiln_operand;

#define KILN_WORKSPACE_ZEROS 262144

/* What kiln_run does besides, or instead of, launching. */
typedef enum kiln_run_flags {
    KILN_PREPARE = 1,        /* everything but the launch */
    KILN_TUNE = 2,           /* the same, and measures candidates first */
    KILN_CHECKED = 4,        /* kiln_launch too: waits for the stream; a counter
                                of the workspace not zero before: BAD_INPUT, no launch;
                                after: FINDING. Not under graph capture */
    KILN_EXACT = 8           /* kiln_launch too: grouped, no workgroup more than the
                                groups in host_offsets, as they are now, have tiles */
} kiln_run_flags;

/* Device addresses; NULL if the problem has no such operand. */
typedef struct kiln_arguments {
    uint32_t size;
    uint32_t flags;          /* kiln_run_flags */
    const void *a, *b;
    void *c;
    const void *sa, *sb, *bias; /* bias of moe gemm1 with an MX output: its
                                E8M0 scales [tokens * topk, n / 32], written */
    const void *offsets;     /* int64 [groups + 1], on the device, or
                                what group_flags says;
                                moe: int32 sorted ids[m] */
    const void *experts;     /* moe: int32, an expert per block_m sorted rows */
    const void *padded;      /* moe: int32, how many sorted rows count */
    const void *weights;     /* moe down: f32, a weight per sorted row */
    void *workspace;         /* plan.workspace bytes, not shared by launches
                                that may overlap. Its first
                                KILN_WORKSPACE_ZEROS bytes must be zero before
                                the first launch that uses it; every launch
                                leaves them zero */
    void *stream;            /* hipStream_t, NULL: the default one */
    kiln_kernel **used;      /* kiln_run: receives a reference to the kernel of
                                the class, whose kiln_kernel_info.why says why
                                it; NULL: not asked */
    const int64_t *host_offsets; /* instead of offsets: that table on the host
                                (cast, if of int32; behind it tight's), copied on
                                the stream into the workspace; they must stay as they are until
                                the launch has run (pinned memory, for a copy
                                that does not wait and for graphs) */
    uint64_t workspace_bytes; /* kiln_run: may divide K where it pays and the
                                workspace holds the largest M of the class; 0:
                                never divides */
    uint32_t max_cus;        /* most workgroups of a persistent grid, which
                                leaves the other compute units to kernels that
                                run beside it; 0: all of the plan's. Other
                                grids are as they are */
    uint32_t reserved;
    const void *x0, *x1, *x2, *x3; /* the expression's, in order: rows (f32 [m]
                                of each batch or wgrad's group, moe [tokens *
                                topk]), columns (f32 [n] of each batch, group or
                                expert), tensors like C */
    const void *sc;          /* kiln_out_scale */
    void *amax;              /* f32 [1], of f64 x f64 f64 [1]: becomes the larger of
                                what it holds and |D|, of all groups and batches; a
                                NaN is the largest of all. Zero before
                                (kiln_plan.zeroed) */
    void *out2;              /* kiln_problem.out2, at ldc and stride_c of its
                                own elements, twice that where it is of gate and
                                of up; or KILN_QUANT_DUAL */
    const void *tight;       /* KILN_GROUP_TIGHT */
    void *sc2;               /* KILN_QUANT_DUAL */
} kiln_arguments;

typedef struct kiln_pointer {
    uint16_t offset;         /* in kernarg, 8 bytes */
    uint8_t operand;         /* enum kiln_operand */
    uint8_t align;           /* bytes the address must be aligned to */
} kiln_pointer;

/* Everything a launch needs, for kiln_launch or for a launcher of one's own
 * (hipModuleLaunchKernel with kernarg as the parameter buffer, addresses
 * written at pointer[].offset). Depends on the kernel and the problem only:
 * make it once, launch it often. A zero grid is nothing to do. */
typedef struct kiln_plan {
    uint32_t size;
    uint32_t grid[3];        /* workgroups */
    uint32_t block[3];       /* work-items */
    uint32_t lds;            /* bytes, declared by the code object */
    uint64_t workspace;      /* bytes of args->workspace: split-K (if the
                                configuration says split-k=N), the sums of rows
                                that have a scale each and are wider than a tile
                                (panels=1), then room for host_offsets; may be
                                NULL without any */
    uint32_t kernarg_size;
    uint32_t npointers;
    uint8_t kernarg[256];
    kiln_pointer pointer[16];
    uint64_t offsets_at;     /* where host_offsets go in the workspace */
    uint64_t offsets_size;   /* bytes of them; 0: the family has none */
    uint32_t cus_at;         /* of a persistent grid: where kernarg has grid[0]
                                (32 bits). A launcher may lower both alike */
    uint32_t zeroed;         /* 1 << kiln_operand: arguments whose 4 bytes are
                                zero before each launch, by whoever launches, on
                                the stream: amax. A launch zeroes nothing */
    uint32_t tile_row;       /* workgroups of a row of tiles, where KILN_EXACT can
                                be; else 0 */
    uint32_t reserved;
} kiln_plan;

/* Refuses a problem that the kernel was not made for. */
kiln_status kiln_make_plan(const kiln_kernel *kernel,
                           const kiln_problem *problem, kiln_plan *plan,
                           kiln_error *error);

/* "sim:gfx950", "sim:gfx942": the simulator; "hip:0": an AMD GPU.
 * KILN_NO_DEVICE where there is none. */
kiln_status kiln_open_device(kiln_context *context, const char *name,
                             kiln_device **out, kiln_error *error);
void kiln_close_device(kiln_device *device);

typedef struct kiln_device_info {
    uint32_t size;
    kiln_target target;
    uint32_t cus;            /* compute units */
    uint32_t simulated;      /* 1: times are no silicon's */
    char name[64];
    char bus[32];
    uint32_t xcds;           /* chiplets with compute units */
} kiln_device_info;

void kiln_get_device(const kiln_device *device, kiln_device_info *info);

/* Whole dwords: kernels read every aligned dword that holds a byte of an
 * operand, so that one from elsewhere may not end inside a dword either. */
kiln_status kiln_malloc(kiln_device *device, size_t bytes, void **out,
                        kiln_error *error);
kiln_status kiln_free(kiln_device *device, void *p, kiln_error *error);
kiln_status kiln_upload(kiln_device *device, void *dst, const void *src,
                        size_t bytes, kiln_error *error);
kiln_status kiln_download(kiln_device *device, void *dst, const void *src,
                          size_t bytes, kiln_error *error);

/* Puts the code on the device; keeps the kernel alive. */
kiln_status kiln_load(kiln_device *device, kiln_kernel *kernel,
                      kiln_function **out, kiln_error *error);
void kiln_unload(kiln_function *function);

/* Enqueues on args->stream and returns: no allocation, no waiting, nothing
 * initialised here, no device memory read by the host; safe under hipGraph
 * capture. The device must be the calling thread's current one. On the
 * simulator the kernel has run when this returns; KILN_FINDING if it broke a
 * rule of the hardware. */
kiln_status kiln_launch(kiln_function *function, const kiln_plan *plan,
                        const kiln_arguments *args, kiln_error *error);
kiln_status kiln_sync(kiln_device *device, void *stream, kiln_error *error);

typedef struct kiln_timing {
    uint32_t size;
    uint32_t runs;           /* in: launches back to back, 0 is 1 */
    double us;               /* out: microseconds of one: measured, by the
                                GPU's clock; predicted on the simulator */
} kiln_timing;

/* On a GPU the launches run. On the simulator nothing does and no memory
 * changes: the timing model predicts (docs/timing.md), the same number every
 * time; kiln_device_info.simulated says which it was. */
kiln_status kiln_time(kiln_function *function, const kiln_plan *plan,
                      const kiln_arguments *args, kiln_timing *timing,
                      kiln_error *error);

/* Chooses, finds or compiles, loads and launches. The first call of a shape
 * class prepares it; later ones of the class (M counts by its power of two)
 * only launch, under the terms of kiln_launch. problem->target is filled in
 * from the device. How much workspace a divided K wants: KILN_PREPARE with
 * workspace_bytes UINT64_MAX and `used`, then kiln_make_plan of that kernel; the
 * same with workspace_bytes 0 of what no launch can do without (KILN_OUT_ROW of
 * rows wider than a tile).
 *
 * KILN_PREPARE before a graph capture leaves the capture nothing but launches.
 * KILN_TUNE times other kernels on a GPU, on buffers of its own (args->c keeps
 * its contents), and remembers for the class the fastest that computes what
 * the chosen one does; a candidate that fails or differs is logged and out. */
kiln_status kiln_run(kiln_device *device, const kiln_problem *problem,
                     const kiln_arguments *args, kiln_error *error);

#ifdef __cplusplus
}
#endif
#endif
