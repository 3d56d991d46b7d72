/* timing_mem.c - a compute unit's queues to LDS and memory: when each could take
 * the next instruction, and when that is done. */
#include "timing_cu.h"

/* ---- LDS ---------------------------------------------------------------- */

/* Direct-to-LDS data that arrives takes the banks from both pairs. */
static void
take_arrivals(struct cu *u, unsigned pair, uint64_t upto)
{
    struct lds_pair *p = &u->pair[pair];

    while (p->dma_seen < u->ndma) {
        const struct arrival *a = &u->dma[p->dma_seen % KN_ARRIVALS];

        if (a->at > upto && a->at > p->free)
            break;
        p->free = (p->free > a->at ? p->free : a->at) + a->clk;
        p->dma_seen++;
    }
}

uint64_t
kn_time_lds_earliest(const struct cu *u, const struct wave *w,
                     enum kn_stall *why)
{
    const struct lds_pair *p = &u->pair[w->simd / 2];
    uint64_t t = p->issue;

    *why = KN_W_ISSUE;
    if (p->n >= KN_LDS_FIFO && p->start[p->n % KN_LDS_FIFO] > t) {
        t = p->start[p->n % KN_LDS_FIFO];
        *why = KN_W_LDS_QUEUE;
    }
    return t;
}

void
kn_time_issue_lds(struct cu *u, struct wave *w, const struct kn_time_inst *i,
                  uint32_t fact)
{
    struct lds_pair *p = &u->pair[w->simd / 2];
    uint64_t bytes = (uint64_t)(fact >> 16) * 16, banks = 2 * (fact & 0xffff);
    uint64_t bus = (uint64_t)((double)bytes / u->chip->lds_pair_bus), start;

    /* Banks: each pair has half of their bandwidth while both are busy. */
    if (bus < banks)
        bus = banks;
    if (!bus)
        bus = 1;
    take_arrivals(u, w->simd / 2, u->now + 4);
    start = u->now + 4 > p->free ? u->now + 4 : p->free;
    p->issue = u->now + 4;
    p->start[p->n++ % KN_LDS_FIFO] = start;
    p->free = start + bus;
    u->lds_busy += (double)bus / 2 * u->weight;
    kn_trace_span(u->trace, KN_TR_LDS, w->simd / 2, NULL,
                  &(struct kn_span){ start, start + bus, inst_of(w) });
    push_done(&w->ds, i->store ? p->free
                               : p->free + (uint64_t)u->chip->lds_latency);
}

/* ---- vector memory ------------------------------------------------------ */

static bool
l1_holds(struct cu *u, uint64_t line)
{
    uint64_t *set = u->l1[line % KN_L1_SETS];
    unsigned k = 0;

    while (k < KN_L1_WAYS - 1 && set[k] != line)
        k++;
    if (set[k] == line) {
        memmove(set + 1, set, k * sizeof *set);
        set[0] = line;
        return true;
    }
    memmove(set + 1, set, (KN_L1_WAYS - 1) * sizeof *set);
    set[0] = line;
    return false;
}

uint64_t
kn_time_vmem_earliest(const struct cu *u, enum kn_stall *why)
{
    unsigned depth = (unsigned)u->chip->vmem_queue;

    *why = KN_W_VM_QUEUE;
    return u->tcp_n >= depth ? u->tcp_start[(u->tcp_n - depth) % KN_QUEUE] : 0;
}

/* The TCP takes an instruction when its lines fit into the 32 KB. */
static uint64_t
tcp_start(struct cu *u, uint64_t bytes)
{
    uint64_t start = u->now + 4 > u->tcp_free ? u->now + 4 : u->tcp_free;

    while (u->fly_head < u->fly_n &&
           u->fly_bytes + bytes > (uint64_t)u->chip->vmem_inflight) {
        const struct flight *f = &u->fly[u->fly_head++ % KN_FLIGHTS];

        if (f->back > start)
            start = f->back;
        u->fly_bytes -= f->bytes;
    }
    return start;
}

static void
take_off(struct cu *u, uint64_t back, uint64_t bytes)
{
    if (u->fly_n - u->fly_head == KN_FLIGHTS)
        u->fly_bytes -= u->fly[u->fly_head++ % KN_FLIGHTS].bytes;
    u->fly[u->fly_n++ % KN_FLIGHTS] = (struct flight){ back, bytes };
    u->fly_bytes += bytes;
}

/* Loads come back in order. A CU may be ahead of its share of the chip's
 * bandwidth by what it can have in flight: the others do not all load at the
 * same time. */
static uint64_t
load_back(struct cu *u, const struct wave *w, const uint64_t *line,
          uint64_t served)
{
    double ahead = (u->chip->vmem_inflight + 1024 * u->chip->vmem_queue) /
                   u->env->read;
    uint64_t n = line[0] & 0xffffffff, miss = 0;

    for (uint64_t k = 1; k <= n; k++)
        miss += !l1_holds(u, line[k] + w->own);
    u->read_lines += (double)miss * u->weight;
    if (!miss)
        return later(u->back, served + (uint64_t)u->chip->l1_latency);
    if (u->data < (double)served - ahead)
        u->data = (double)served - ahead;
    u->data += (double)miss * 128 / u->env->read;
    if (u->data > (double)served)
        served = (uint64_t)u->data;
    return later(u->back, served + (uint64_t)u->env->latency);
}

static uint64_t
store_out(struct cu *u, uint64_t bytes, double rate, uint64_t served)
{
    u->wrote += (double)bytes / rate;
    if (u->wrote < (double)served)
        u->wrote = (double)served;
    return (uint64_t)u->wrote;
}

static void
note_arrival(struct cu *u, uint64_t at, uint64_t bytes)
{
    uint64_t clk = (uint64_t)((double)bytes / u->chip->lds_write);

    for (unsigned k = 0; k < 2; k++)
        if (u->ndma - u->pair[k].dma_seen >= KN_ARRIVALS)
            take_arrivals(u, k, at);
    u->dma[u->ndma++ % KN_ARRIVALS] = (struct arrival){ at, clk };
    u->lds_busy += (double)clk * u->weight;
}

void
kn_time_issue_vmem(struct cu *u, struct wave *w, const struct kn_time_inst *i,
                   uint32_t fact)
{
    const uint64_t *f = &w->line[fact];
    uint64_t n = f[0] & 0xffffffff, bytes = f[0] >> 32;
    uint64_t cost = later(i->busy, n * (uint64_t)u->chip->vmem_line);
    uint64_t start = tcp_start(u, n * 128), done;

    u->tcp_start[u->tcp_n++ % KN_QUEUE] = start;
    u->tcp_free = start + cost;
    u->vmem_busy += (double)cost * u->weight;
    if (i->store) {
        uint64_t out = store_out(u, bytes, i->shared ? u->env->add
                                                     : u->env->write,
                                 start + cost);

        take_off(u, out, n * 128);
        done = out + (uint64_t)(i->shared ? u->chip->flag_latency
                                          : u->chip->l1_latency);
        w->stored = later(w->stored, done);
    } else {
        done = load_back(u, w, f, start + cost);
        if (i->shared)
            done = later(done, start + cost + (uint64_t)u->chip->flag_latency);
        u->back = done;
        take_off(u, done, n * 128);
        if (i->dma)
            note_arrival(u, done, bytes);
    }
    kn_trace_span(u->trace, KN_TR_VMEM, 0, NULL,
                  &(struct kn_span){ start, start + cost, inst_of(w) });
    kn_trace_span(u->trace, KN_TR_FLIGHT, (unsigned)(w - u->wave),
                  NULL, &(struct kn_span){ start + cost, done, inst_of(w) });
    push_done(&w->vm, done);
    if (i->counters & KN_C_LGKM)
        push_done(&w->ds, done);
}

void
kn_time_issue_smem(const struct cu *u, struct wave *w,
                   const struct kn_time_inst *i)
{
    double latency = i->shared ? u->chip->flag_latency : u->chip->smem_latency;

    w->smem = later(w->smem, u->now + (uint64_t)latency);
}
