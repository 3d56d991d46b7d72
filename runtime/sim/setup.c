/* setup.c - what a launch puts into memory and registers before the first
 * instruction: kernarg segment with hidden arguments, dispatch packet, user
 * SGPRs, workgroup ids, work-item ids (LLVM AMDGPUUsage, "Initial Kernel
 * Execution State"; code object V5 hidden arguments). */
#include "core.h"

enum {                       /* kernel_code_properties */
    PROP_PRIVATE_BUFFER = 1, PROP_DISPATCH_PTR = 2, PROP_QUEUE_PTR = 4,
    PROP_KERNARG_PTR = 8, PROP_DISPATCH_ID = 16, PROP_FLAT_SCRATCH = 32,
    PROP_PRIVATE_SIZE = 64, PROP_DYNAMIC_STACK = 2048
};

/* ---- limits ------------------------------------------------------------- */

static kiln_status
check_shape(struct kn_run *r)
{
    const struct kn_sim_launch *l = r->l;
    uint64_t items = 1;

    for (int d = 0; d < 3; d++) {
        if (!l->grid[d] || !l->block[d])
            return kn_fail(r->sim->c, KILN_BAD_INPUT,
                           "grid and block need at least 1 in dimension %c",
                           'x' + d);
        if ((uint64_t)l->grid[d] * l->block[d] > UINT32_MAX)
            return kn_fail(r->sim->c, KILN_BAD_INPUT,
                           "grid times block exceeds 2^32-1 work-items in "
                           "dimension %c", 'x' + d);
        items *= l->block[d];
        if (items > 1024)
            return kn_fail(r->sim->c, KILN_BAD_INPUT,
                           "a block has at most 1024 work-items");
    }
    if (r->kernel->max_workgroup && items > r->kernel->max_workgroup)
        return kn_fail(r->sim->c, KILN_BAD_INPUT,
                       "block of %u work-items, kernel %s allows %u",
                       (unsigned)items, r->kernel->name,
                       r->kernel->max_workgroup);
    r->nwaves = (uint32_t)(items + KN_LANES - 1) / KN_LANES;
    return KILN_OK;
}

/* A workgroup must fit a compute unit: 4 SIMDs of 512 registers a lane. */
static kiln_status
check_registers(struct kn_run *r)
{
    unsigned regs = r->kernel->regs ? r->kernel->regs : 8;
    unsigned per_simd = 512 / regs < 8 ? 512 / regs : 8;

    if (r->nwaves > 4 * per_simd)
        return kn_fail(r->sim->c, KILN_BAD_INPUT,
                       "%u waves with %u registers each do not fit a compute "
                       "unit", r->nwaves, regs);
    if (r->kernel->wavefront && r->kernel->wavefront != KN_LANES)
        return kn_fail(r->sim->c, KILN_BAD_INPUT,
                       "kernel %s is for wave%u", r->kernel->name,
                       r->kernel->wavefront);
    return KILN_OK;
}

/* Bytes a lane. How deep calls go is not known of recursion and of functions
 * called by their address: ROCm then gives 1024 at least. */
static kiln_status
check_scratch(struct kn_run *r)
{
    uint32_t stack = r->l->stack ? r->l->stack : 1024;
    uint32_t n = r->kernel->scratch;

    if (r->kernel->properties & PROP_DYNAMIC_STACK && n < stack)
        n = stack;
    if (n > 1u << 20)
        return kn_fail(r->sim->c, KILN_UNSUPPORTED,
                       "%u bytes of scratch for each lane", n);
    r->scratch_size = (n + 15) & ~15u;
    return KILN_OK;
}

/* The end of the registers that the program can reach: a wave has 128 KB of
 * them, of which most kernels use a part. */
static uint32_t
reached_registers(const struct kn_run *r)
{
    uint32_t most = 1;

    for (uint32_t k = 0; k < r->program->n; k++) {
        const struct kn_step *st = &r->step[k];
        unsigned op = r->program->inst[k].op;

        if (op == KN_I_s_set_gpr_idx_on || op == KN_I_s_set_gpr_idx_mode)
            return KN_NVREG;
        for (unsigned n = 0; n < st->nv; n++)
            if ((uint32_t)st->v[n].reg + st->v[n].n > most)
                most = (uint32_t)st->v[n].reg + st->v[n].n;
    }
    return most;
}

kiln_status
kn_check_launch(struct kn_run *r)
{
    uint64_t lds = (uint64_t)r->kernel->lds + r->l->dynamic_lds;
    uint32_t limit = kn_targets[r->sim->target].lds;
    uint64_t total;

    KN_TRY(check_shape(r));
    KN_TRY(check_registers(r));
    if (lds > limit)
        return kn_fail(r->sim->c, KILN_BAD_INPUT,
                       "%llu bytes of LDS (%u static), %s has %u",
                       (unsigned long long)lds, r->kernel->lds,
                       kiln_target_name(r->sim->target), limit);
    KN_TRY(check_scratch(r));
    r->nvreg = reached_registers(r);
    r->lds_size = (uint32_t)lds;
    total = (uint64_t)r->l->grid[0] * r->l->grid[1] * r->l->grid[2];
    r->ngroups = r->l->select.all ? total : r->l->select.n;
    for (size_t k = 0; !r->l->select.all && k < r->l->select.n; k++)
        if (r->l->select.ids[k] >= total)
            return kn_fail(r->sim->c, KILN_BAD_INPUT,
                           "workgroup %llu, the grid has %llu",
                           (unsigned long long)r->l->select.ids[k],
                           (unsigned long long)total);
    return KILN_OK;
}

/* ---- kernarg ------------------------------------------------------------ */

static void
put(struct kn_run *r, const struct kn_kernel_arg *a, uint64_t value)
{
    unsigned n = a->size < 8 ? a->size : 8;

    if (a->offset <= r->kernarg_size && n <= r->kernarg_size - a->offset)
        memcpy(r->kernarg_bytes + a->offset, &value, n);
}

/* Dimension of "hidden_block_count_y" and the like. */
static unsigned
dimension(const char *kind)
{
    size_t n = strlen(kind);
    char c = n ? kind[n - 1] : 'x';

    return c == 'y' ? 1 : c == 'z' ? 2 : 0;
}

static unsigned
dimensions(const struct kn_sim_launch *l)
{
    return l->grid[2] * l->block[2] > 1 ? 3
           : l->grid[1] * l->block[1] > 1 ? 2 : 1;
}

/* Pointers to other services of the runtime (hostcall, heap, ...) are null:
 * a kernel that follows one is reported at its address. */
static uint64_t
hidden_value(const struct kn_run *r, const char *kind)
{
    const struct kn_sim_launch *l = r->l;
    unsigned d = dimension(kind);

    if (!strncmp(kind, "hidden_block_count_", 19))
        return l->grid[d];
    if (!strncmp(kind, "hidden_group_size_", 18))
        return l->block[d];
    if (!strcmp(kind, "hidden_grid_dims"))
        return dimensions(l);
    if (!strcmp(kind, "hidden_dynamic_lds_size"))
        return l->dynamic_lds;
    if (!strcmp(kind, "hidden_private_base"))
        return KN_PRIVATE_BASE_HI;
    if (!strcmp(kind, "hidden_shared_base"))
        return KN_SHARED_BASE_HI;
    if (!strcmp(kind, "hidden_printf_buffer"))
        return l->printf_buffer;
    if (!strcmp(kind, "hidden_queue_ptr"))
        return r->queue;
    return 0;
}

static kiln_status
fill_kernarg(struct kn_run *r)
{
    const struct kn_object_kernel *k = r->kernel;
    uint32_t need = 0;

    for (uint32_t a = 0; a < k->nargs; a++)
        if (k->args[a].kind != KN_ARG_HIDDEN &&
            k->args[a].offset + k->args[a].size > need)
            need = k->args[a].offset + k->args[a].size;
    if (r->l->kernarg_size < need)
        return kn_fail(r->sim->c, KILN_BAD_INPUT,
                       "%zu bytes of arguments, kernel %s takes %u",
                       r->l->kernarg_size, k->name, need);
    if (r->l->kernarg_size > 1u << 20)
        return kn_fail(r->sim->c, KILN_BAD_INPUT, "%zu bytes of arguments",
                       r->l->kernarg_size);
    r->kernarg_size = k->kernarg_size;
    if (r->kernarg_size < r->l->kernarg_size)
        r->kernarg_size = (uint32_t)r->l->kernarg_size;
    r->kernarg_bytes = KN_NEW(r->sim->c, uint8_t, r->kernarg_size + 64);
    if (r->l->kernarg_size)
        memcpy(r->kernarg_bytes, r->l->kernarg, r->l->kernarg_size);
    for (uint32_t a = 0; a < k->nargs; a++)
        if (k->args[a].kind == KN_ARG_HIDDEN)
            put(r, &k->args[a], hidden_value(r, k->args[a].value_kind));
    return KILN_OK;
}

/* hsa_kernel_dispatch_packet_t, the fields a kernel may read. */
static void
fill_packet(const struct kn_run *r, uint8_t p[64])
{
    const struct kn_sim_launch *l = r->l;
    uint16_t setup = (uint16_t)dimensions(l);
    uint32_t lds = r->lds_size;

    memset(p, 0, 64);
    memcpy(p + 2, &setup, 2);
    for (int d = 0; d < 3; d++) {
        uint16_t block = (uint16_t)l->block[d];
        uint32_t grid = l->grid[d] * l->block[d];

        memcpy(p + 4 + 2 * d, &block, 2);
        memcpy(p + 12 + 4 * d, &grid, 4);
    }
    memcpy(p + 24, &r->scratch_size, 4);
    memcpy(p + 28, &lds, 4);
    memcpy(p + 40, &r->kernarg, 8);
}

/* amd_queue_t: the apertures are all a kernel looks for (code object V4). */
static kiln_status
map_queue(struct kn_run *r)
{
    uint8_t queue[256] = { 0 };
    uint32_t shared = KN_SHARED_BASE_HI, private = KN_PRIVATE_BASE_HI;

    memcpy(queue + 0x40, &shared, 4);
    memcpy(queue + 0x44, &private, 4);
    KN_TRY(kn_block_add(r->sim, sizeof queue, 0, NULL, NULL, &r->queue));
    return kn_sim_write(r->sim, r->queue, queue, sizeof queue);
}

kiln_status
kn_map_arguments(struct kn_run *r)
{
    uint8_t packet[64];

    KN_TRY(map_queue(r));
    KN_TRY(fill_kernarg(r));
    KN_TRY(kn_block_add(r->sim, r->kernarg_size + 64u, KN_MEM_READONLY, NULL,
                        NULL, &r->kernarg));
    KN_TRY(kn_sim_write(r->sim, r->kernarg, r->kernarg_bytes,
                        r->kernarg_size + 64u));
    fill_packet(r, packet);
    KN_TRY(kn_block_add(r->sim, sizeof packet, KN_MEM_READONLY, NULL, NULL,
                        &r->dispatch));
    return kn_sim_write(r->sim, r->dispatch, packet, sizeof packet);
}

void
kn_unmap_arguments(struct kn_run *r)
{
    if (r->dispatch)
        kn_sim_free(r->sim, r->dispatch);
    if (r->kernarg)
        kn_sim_free(r->sim, r->kernarg);
    if (r->queue)
        kn_sim_free(r->sim, r->queue);
}

/* ---- registers ---------------------------------------------------------- */

struct sgprs {               /* hands out SGPRs in order */
    struct kn_wave *w;
    unsigned next;
};

static void
give(struct sgprs *s, uint32_t value)
{
    if (s->next >= 102)
        return;
    s->w->s[s->next] = value;
    s->w->sflag[s->next++] = 0;
}

static void
give64(struct sgprs *s, uint64_t value)
{
    give(s, (uint32_t)value);
    give(s, (uint32_t)(value >> 32));
}

static void
give_user(struct sgprs *s, const struct kn_run *r)
{
    unsigned p = r->kernel->properties;
    unsigned count = r->kernel->rsrc2 >> 1 & 31;

    if (p & PROP_PRIVATE_BUFFER)
        for (int k = 0; k < 4; k++)
            give(s, 0);
    if (p & PROP_DISPATCH_PTR)
        give64(s, r->dispatch);
    if (p & PROP_QUEUE_PTR)
        give64(s, r->queue);
    if (p & PROP_KERNARG_PTR)
        give64(s, r->kernarg);
    if (p & PROP_DISPATCH_ID)
        give64(s, 0);
    if (p & PROP_FLAT_SCRATCH)
        give64(s, 0);
    if (p & PROP_PRIVATE_SIZE)
        give(s, r->scratch_size);
    for (uint32_t k = 0; k < r->kernel->preload_length; k++) {
        uint32_t at = (r->kernel->preload_offset + k) * 4, value = 0;

        if (at < r->kernarg_size) /* 64 bytes of slack behind it */
            memcpy(&value, r->kernarg_bytes + at, 4);
        give(s, value);
    }
    if (s->next < count)
        s->next = count;
}

static void
init_scalars(struct kn_wave *w, const struct kn_run *r)
{
    struct sgprs s = { w, 0 };
    uint32_t rsrc2 = r->kernel->rsrc2;

    for (unsigned k = 0; k < KN_NSREG; k++)
        w->s[k] = KN_POISON;
    memset(w->sflag, 0, sizeof w->sflag);
    memset(w->sflag, KN_VF_UNINIT, 102);
    for (unsigned k = 0; k < KN_NSREG; k++)
        w->sundef[k] = (struct kn_undef){ 0, UINT32_MAX, KN_F_UNINIT_REG };
    w->sflag[KN_S_VCC] = w->sflag[KN_S_VCC + 1] = KN_VF_UNINIT;
    w->sflag[KN_S_M0] = KN_VF_UNINIT;
    give_user(&s, r);
    for (unsigned d = 0; d < 3; d++)
        if (rsrc2 >> (7 + d) & 1)
            give(&s, w->group->wg[d]);
    if (rsrc2 >> 10 & 1)
        give(&s, 0);
}

/* Work-item ids of the wave, packed into v0: x, y << 10, z << 20. */
static void
init_vectors(struct kn_wave *w, const struct kn_run *r)
{
    const uint32_t *block = r->l->block;
    uint32_t items = block[0] * block[1] * block[2];
    unsigned dims = r->kernel->rsrc2 >> 11 & 3;
    uint64_t exec = 0;

    for (unsigned k = 0; k < KN_NVREG; k++)
        w->vundef[k] = (struct kn_undef){ ~(uint64_t)0, UINT32_MAX,
                                          KN_F_UNINIT_REG };
    memset(w->vflag, KN_VF_UNINIT, KN_NVREG);
    for (unsigned k = 0; k < r->nvreg; k++)
        for (unsigned l = 0; l < KN_LANES; l++)
            w->v[k][l] = KN_POISON;
    for (unsigned l = 0; l < KN_LANES; l++) {
        uint32_t item = w->id * KN_LANES + l;
        uint32_t x = item % block[0], y = item / block[0] % block[1];
        uint32_t z = item / block[0] / block[1];

        w->v[0][l] = x | (dims > 0 ? y << 10 : 0) | (dims > 1 ? z << 20 : 0);
        exec |= (uint64_t)(item < items) << l;
    }
    w->vflag[0] = 0;
    w->vundef[0].lanes = 0;
    w->s[KN_S_EXEC] = (uint32_t)exec;
    w->s[KN_S_EXEC + 1] = (uint32_t)(exec >> 32);
}

/* MODE from compute_pgm_rsrc1: rounding and denormals [19:12], DX10_CLAMP
 * [21], IEEE [23]. */
static uint32_t
initial_mode(uint32_t rsrc1)
{
    return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 |
           (rsrc1 >> 23 & 1) << 9;
}

static void
init_wave(struct kn_wave *w, struct kn_group *g, uint32_t id)
{
    const struct kn_run *r = g->run;
    uint64_t seed = r->l->seed * 0x9e3779b97f4a7c15u +
                    (g->linear * 1024 + id + 1) * 0xbf58476d1ce4e5b9u;

    w->group = g;
    w->id = id;
    w->pc = g->program->entry;
    w->done = w->at_barrier = w->stop = w->scc = w->scc_undef = false;
    w->vskip = false;
    w->prio = 0;
    w->status = KILN_OK;
    w->mode = initial_mode(r->kernel->rsrc1);
    w->accum_offset = r->kernel->accum_offset;
    w->nvreg = r->kernel->regs;
    w->gpr_idx = 0;
    w->steps = 64;           /* farther than any hazard reaches back */
    w->instructions = w->macs = 0;
    init_scalars(w, r);
    init_vectors(w, r);
    kn_async_reset(w->async, seed);
    kn_hazard_reset(w->hazard);
    if (g->scratch_size)
        memset(w->scratch_init, 0, (size_t)KN_LANES * g->scratch_size);
}

void
kn_group_init(struct kn_group *g, uint64_t linear)
{
    const struct kn_sim_launch *l = g->run->l;

    g->linear = linear;
    g->wg[0] = (uint32_t)(linear % l->grid[0]);
    g->wg[1] = (uint32_t)(linear / l->grid[0] % l->grid[1]);
    g->wg[2] = (uint32_t)(linear / l->grid[0] / l->grid[1]);
    g->epoch = 0;
    g->stalled = false;
    kn_lds_reset(g);
    for (uint32_t k = 0; k < g->nwaves; k++)
        init_wave(&g->wave[k], g, k);
}
