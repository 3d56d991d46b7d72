/* launch.c - code objects and launches: maps a code object into device
 * memory, runs the selected workgroups on worker threads, merges what they
 * found. Workers share nothing but device memory, the next workgroup and the
 * first error; a kernel with memory atomics runs on one thread, because their
 * order would otherwise show in its results. */
#include <stdlib.h>
#include <unistd.h>

#include "core.h"
#include "mfma/mfma.h"

/* ---- code objects ------------------------------------------------------- */

void
kn_sim_zeros(void *user, uint64_t offset, void *dst, size_t size)
{
    (void)user;
    (void)offset;
    memset(dst, 0, size);
}

static kiln_status
map_segments(struct kn_sim *s, struct kn_sim_code *k)
{
    const struct kn_object *o = &k->object;
    uint64_t lo = UINT64_MAX, hi = 0;

    for (uint32_t n = 0; n < o->nsegments; n++) {
        if (o->segments[n].addr < lo)
            lo = o->segments[n].addr;
        if (o->segments[n].addr + o->segments[n].size > hi)
            hi = o->segments[n].addr + o->segments[n].size;
    }
    if (lo >= hi || hi - lo > (uint64_t)1 << 32)
        return kn_fail(s->c, KILN_BAD_INPUT,
                       "the code object's segments span %llu bytes",
                       (unsigned long long)(hi - lo));
    lo &= ~(uint64_t)(KN_PAGE_SIZE - 1);
    KN_TRY(kn_block_add(s, hi - lo, 0, kn_sim_zeros, NULL, &k->block));
    k->base = k->block - lo;
    for (uint32_t n = 0; n < o->nsegments; n++) {
        const struct kn_segment *g = &o->segments[n];
        uint64_t size = g->filesz < g->size ? g->filesz : g->size;

        if (size)
            KN_TRY(kn_sim_write(s, k->base + g->addr, g->data, size));
    }
    for (uint32_t n = 0; n < o->nrelocs; n++) {
        uint64_t value = k->base + o->relocs[n].value;

        KN_TRY(kn_sim_write(s, k->base + o->relocs[n].at, &value, 8));
    }
    return KILN_OK;
}

uint64_t
kn_sim_base(const struct kn_sim_code *code)
{
    return code->base;
}

kiln_status
kn_sim_load(struct kn_sim *s, const char *name, const void *bytes,
            size_t size, struct kn_sim_code **out)
{
    struct kn_sim_code *k;
    uint8_t *copy;

    KN_ENTER(s->c);
    k = KN_NEW(s->c, struct kn_sim_code, 1);
    copy = KN_NEW(s->c, uint8_t, size ? size : 1);
    if (size)
        memcpy(copy, bytes, size);
    KN_TRY(kn_object_read(s->c, name, copy, size, &k->object));
    if (k->object.target != s->target)
        return kn_fail(s->c, KILN_UNSUPPORTED,
                       "%s is for %s, the device is %s", name,
                       k->object.target ? kiln_target_name(k->object.target)
                                        : "another target",
                       kiln_target_name(s->target));
    k->cache = KN_NEW(s->c, struct kn_kernel_cache,
                      k->object.nkernels ? k->object.nkernels : 1);
    KN_TRY(map_segments(s, k));
    *out = k;
    return KILN_OK;
}

kiln_status
kn_sim_adopt(struct kn_sim *shadow, const struct kn_sim_code *code,
             struct kn_sim_code **out)
{
    size_t n = code->object.nkernels ? code->object.nkernels : 1;

    KN_ENTER(shadow->c);
    *out = KN_NEW(shadow->c, struct kn_sim_code, 1);
    **out = *code;
    (*out)->cache = KN_NEW(shadow->c, struct kn_kernel_cache, n);
    return KILN_OK;
}

void
kn_sim_unload(struct kn_sim *s, struct kn_sim_code *code)
{
    if (code && code->block)
        kn_sim_free(s, code->block);
    if (code)
        code->block = 0;
}

const struct kn_object *
kn_sim_object(const struct kn_sim_code *code)
{
    return &code->object;
}

/* What instructions are fetched from; nobody writes there. */
static void
find_code(struct kn_run *r)
{
    const struct kn_object *o = &r->l->code->object;

    for (uint32_t n = 0; n < o->nsegments; n++) {
        const struct kn_segment *g = &o->segments[n];

        if (g->exec && r->kernel->entry - g->addr < g->size) {
            r->code_lo = r->code_base + g->addr;
            r->code_hi = r->code_lo + g->size;
        }
    }
}

static kiln_status
decode_kernel(struct kn_run *r, struct kn_kernel_cache *k)
{
    struct kn_ctx *c = r->sim->c;
    const struct kn_object *o = &r->l->code->object;

    KN_TRY(kn_decode(c, o, r->kernel, false, &k->program));
    KN_TRY(kn_prepare(c, &k->program, &k->step));
    k->calls = kn_program_calls(&k->program);
    if (k->calls) {
        k->reach = k->program;
        KN_TRY(kn_decode_callees(c, o, &k->reach));
        KN_TRY(kn_prepare(c, &k->reach, &k->reach_step));
    }
    k->ready = true;
    return KILN_OK;
}

/* Decoded once per kernel; later launches share it. An observer knows the
 * kernel's own instructions alone. */
static kiln_status
find_program(struct kn_run *r)
{
    struct kn_ctx *c = r->sim->c;
    const struct kn_sim_code *code = r->l->code;
    struct kn_kernel_cache *k;

    KN_TRY(kn_object_kernel(c, &code->object, r->l->kernel, &r->kernel));
    k = &code->cache[r->kernel - code->object.kernels];
    if (!k->ready)
        KN_TRY(decode_kernel(r, k));
    if (r->l->tap && r->l->tap->lean && !k->sliced) {
        KN_TRY(kn_slice_mark(c, &k->program, k->step));
        k->sliced = true;
    }
    r->program = k->calls && !r->l->tap ? &k->reach : &k->program;
    r->step = k->calls && !r->l->tap ? k->reach_step : k->step;
    find_code(r);
    return KILN_OK;
}

/* ---- workers ------------------------------------------------------------ */

static void
run_group(struct kn_worker *k, uint64_t index)
{
    struct kn_run *r = k->run;
    struct kn_group *g = &k->group;

    k->findings->group_index = index;
    kn_group_init(g, r->l->select.all ? index : r->l->select.ids[index]);
    if (r->l->tap && r->l->tap->group)
        r->l->tap->group(r->l->tap->user, g->linear);
    kn_group_run(g);
    k->groups++;
    k->waves += g->nwaves;
    for (uint32_t n = 0; n < g->nwaves; n++) {
        k->instructions += g->wave[n].instructions;
        k->macs += g->wave[n].macs;
    }
}

static void *
work(void *user)
{
    struct kn_worker *k = user;
    struct kn_run *r = k->run;

    for (;;) {
        uint64_t n = atomic_fetch_add(&r->next, 1);

        if (n >= r->ngroups || n > atomic_load(&r->stop_at) ||
            k->out_of_memory)
            break;
        run_group(k, n);
        n = atomic_fetch_add(&r->finished, 1) + 1;
        if (k->first && r->l->progress)
            r->l->progress(r->l->progress_user, n, r->ngroups);
    }
    return NULL;
}

static bool
open_worker(struct kn_worker *k, struct kn_run *r, struct kn_findings *f)
{
    struct kn_group_store *s = kn_store_take(r);
    struct kn_group *g = &k->group;

    if (!s)
        return false;
    k->run = r;
    k->findings = f;
    k->store = s;
    for (unsigned n = 0; n < KN_TLB; n++)
        k->tlb[n].number = ~(uint64_t)0;
    g->run = r;
    g->worker = k;
    g->nwaves = r->nwaves;
    g->wave = s->wave;
    g->lds = s->lds;
    g->lds_size = r->lds_size;
    g->shadow = &s->shadow;
    g->target = r->sim->target;
    g->mfma = r->l->mfma;
    g->sides = s->sides;
    g->program = r->program;
    g->code_base = r->code_base;
    g->scratch_size = r->scratch_size;
    return true;
}

/* Only memory can carry the order of workgroups into the result. */
static bool
order_matters(const struct kn_program *p)
{
    for (uint32_t k = 0; k < p->n; k++)
        if (kn_isa[p->inst[k].op].atomic && kn_isa[p->inst[k].op].mem &&
            kn_isa[p->inst[k].op].mem != KN_M_DS)
            return true;
    return false;
}

static unsigned
thread_count(const struct kn_run *r)
{
    long n = r->l->threads ? (long)r->l->threads
                           : sysconf(_SC_NPROCESSORS_ONLN);

    if (n < 1 || r->l->tap || order_matters(r->program))
        n = 1;
    if (n > 256)
        n = 256;
    return (uint64_t)n > r->ngroups ? (unsigned)r->ngroups : (unsigned)n;
}

struct team {
    struct kn_worker *worker;
    struct kn_findings *findings;
    pthread_t *thread;
    unsigned n, started;
};

static kiln_status
open_team(struct kn_run *r, struct team *t)
{
    t->n = thread_count(r);
    t->worker = calloc(t->n ? t->n : 1, sizeof *t->worker);
    t->findings = calloc(t->n ? t->n : 1, sizeof *t->findings);
    t->thread = calloc(t->n ? t->n : 1, sizeof *t->thread);
    for (unsigned k = 0; t->worker && t->findings && t->thread && k < t->n;
         k++) {
        if (!open_worker(&t->worker[k], r, &t->findings[k])) {
            if (k)
                t->n = k;    /* fewer threads give the same result */
            else
                return kn_fail(r->sim->c, KILN_NO_MEMORY,
                               "no host memory for a workgroup of %u waves",
                               r->nwaves);
            break;
        }
        t->worker[k].first = !k;
    }
    if (!t->worker || !t->findings || !t->thread)
        return kn_fail(r->sim->c, KILN_NO_MEMORY, "no host memory");
    return KILN_OK;
}

static void
run_team(struct team *t)
{
    for (t->started = 1; t->started < t->n; t->started++)
        if (pthread_create(&t->thread[t->started], NULL, work,
                           &t->worker[t->started]))
            break;
    if (t->n)
        work(&t->worker[0]);
    for (unsigned k = 1; k < t->started && t->n; k++)
        pthread_join(t->thread[k], NULL);
}

static void
close_team(struct kn_sim *s, struct team *t)
{
    for (unsigned k = 0; t->worker && k < t->n; k++)
        kn_store_put(s, t->worker[k].store);
    for (unsigned k = 0; t->findings && k < t->n; k++)
        kn_findings_free(&t->findings[k]);
    free(t->worker);
    free(t->findings);
    free(t->thread);
}

/* ---- result ------------------------------------------------------------- */

/* Is it the first instruction with its opcode that ran? */
static bool
is_first_use(const struct kn_run *r, uint32_t k)
{
    const struct kn_inst *inst = r->program->inst;

    for (uint32_t j = 0; j < k; j++)
        if (r->executed[j] && inst[j].op == inst[k].op)
            return false;
    return true;
}

/* Distinct matrix opcodes that ran, by how far their result can be trusted. */
static void
count_mfma(const struct kn_run *r, struct kn_sim_result *out)
{
    const struct kn_program *p = r->program;
    struct kn_sim_mfma *m = KN_NEW(r->sim->c, struct kn_sim_mfma,
                                   kn_mfma_nrows);

    out->mfma = m;
    for (uint32_t k = 0; k < p->n && out->nmfma < kn_mfma_nrows; k++) {
        if (!r->executed[k] || !(r->step[k].flags & KN_ST_MFMA) ||
            !is_first_use(r, k))
            continue;
        m->mnemonic = kn_isa[p->inst[k].op].mnemonic;
        m->quality = kn_mfma_quality(r->sim->target, r->l->mfma, &p->inst[k]);
        out->nmfma++;
        switch (m++->quality) {
        case KN_Q_EXACT: out->mfma_exact++; break;
        case KN_Q_MODELLED: out->mfma_modelled++; break;
        default: out->mfma_unverified++; break;
        }
    }
}

static kiln_status
collect(struct kn_run *r, struct team *t, struct kn_sim_result *out)
{
    struct kn_findings all = { 0 };
    bool lost = false;

    for (unsigned k = 0; k < t->n; k++) {
        const struct kn_worker *w = &t->worker[k];

        out->workgroups += w->groups;
        out->waves += w->waves;
        out->instructions += w->instructions;
        out->macs += w->macs;
        out->srd_oob_loads += w->srd_oob_loads;
        out->srd_oob_stores += w->srd_oob_stores;
        lost |= w->out_of_memory;
        kn_findings_merge(&all, w->findings);
    }
    lost |= all.lost;
    kn_findings_deliver(r->sim->c, &all,
                        r->l->max_findings ? r->l->max_findings : 64, out);
    kn_findings_free(&all);
    count_mfma(r, out);
    out->stopped = *r->stopped ? kn_strdup(r->sim->c, r->stopped) : NULL;
    if (lost)
        return kn_fail(r->sim->c, KILN_NO_MEMORY,
                       "no host memory for the pages the kernel touches");
    if (r->error)
        return kn_fail(r->sim->c, r->error, "%s", r->error_text);
    return KILN_OK;
}

static kiln_status
launch(struct kn_run *r, struct kn_sim_result *out)
{
    double start;
    struct team t = { 0 };
    kiln_status s;

    KN_TRY(find_program(r));
    out->kernel = r->kernel->name;
    KN_TRY(kn_check_launch(r));
    r->executed = KN_NEW(r->sim->c, uint8_t, r->program->n);
    KN_TRY(kn_map_arguments(r));
    start = kn_seconds();
    s = open_team(r, &t);
    if (!s) {
        run_team(&t);
        s = collect(r, &t, out);
    }
    close_team(r->sim, &t);
    out->seconds = kn_seconds() - start;
    return s;
}

kiln_status
kn_sim_run(struct kn_sim *s, const struct kn_sim_launch *l,
           struct kn_sim_result *out)
{
    struct kn_run r = { .sim = s, .l = l, .code_base = l->code->base };
    kiln_status st;

    KN_ENTER(s->c);
    memset(out, 0, sizeof *out);
    atomic_store(&r.stop_at, UINT64_MAX);
    r.max_steps = l->max_steps ? l->max_steps : KN_SIM_STEPS;
    if (l->max_seconds > 0)
        r.deadline = kn_seconds() + l->max_seconds;
    pthread_mutex_init(&r.lock, NULL);
    st = launch(&r, out);
    kn_unmap_arguments(&r);
    pthread_mutex_destroy(&r.lock);
    return st;
}
