/* moe_hip.c - a launch of `run moe` on a GPU: the memory its kernel sees is
 * copied from the simulator's and its output back, so that everything before
 * and after a launch is the same for both. */
#include <inttypes.h>
#include <string.h>

#include "cmd_run_moe.h"

enum { CHUNK = 1 << 24, TIMED_LAUNCHES = 20, MOST = 10 };

/* A buffer of the simulator and its copy. */
struct twin {
    uint64_t *addr;          /* in `operands`: the simulator's, then the GPU's */
    uint64_t sim, size;
    bool out;
    void *gpu;
};

struct held {
    struct moe_run *m;
    struct moe_part *s;
    struct kn_operands operands;
    struct twin twin[MOST];
    size_t n;
    void *module;
    struct kn_hip_launch launch;
};

static void
add(struct held *x, uint64_t *addr, uint64_t size, bool out)
{
    if (*addr && size)
        x->twin[x->n++] = (struct twin){ addr, *addr, size, out, NULL };
}

static uint64_t
room_of(const struct kn_operand *o)
{
    return o->used ? kn_operand_room(o) : 0;
}

static void
list_buffers(struct held *x)
{
    const struct moe_run *m = x->m;
    const struct moe_part *s = x->s;
    const kiln_problem *p = &s->p;
    uint64_t ids = (uint64_t)m->sorted.room * 4;
    bool sums = p->stage == KILN_MOE_REDUCE;

    add(x, &x->operands.a, sums ? s->out_size * (uint64_t)p->topk
                                : room_of(&s->a), false);
    add(x, &x->operands.b, room_of(&s->b), false);
    add(x, &x->operands.sa, room_of(&s->sa), false);
    add(x, &x->operands.sb, room_of(&s->sb), false);
    add(x, &x->operands.c, s->out_size, true);
    add(x, &x->operands.bias, (uint64_t)(p->tokens * p->topk * p->n / 32),
        true);
    add(x, &x->operands.offs, ids, false);
    add(x, &x->operands.weights, ids, false);
    add(x, &x->operands.experts, ids / m->block_m, false);
    add(x, &x->operands.padded, 4, false);
}

/* Output that nothing gave a value is 0xff before the launch. */
static kiln_status
copy_in(struct held *x, struct twin *t)
{
    struct kn_hip *h = x->m->place.hip;
    uint8_t *chunk = KN_NEW(x->m->c, uint8_t, CHUNK);

    KN_TRY(kn_hip_alloc(h, x->m->c, (t->size + 4) / 4 * 4, &t->gpu));
    *t->addr = (uint64_t)(uintptr_t)t->gpu;
    if (t->out && !x->s->p.atomic)
        return kn_hip_fill(h, x->m->c, t->gpu, 0xff, t->size);
    for (uint64_t at = 0; at < t->size; at += CHUNK) {
        size_t n = t->size - at < CHUNK ? (size_t)(t->size - at) : CHUNK;

        KN_TRY(kn_sim_read(x->m->sim, t->sim + at, chunk, n));
        KN_TRY(kn_hip_upload(h, x->m->c, (char *)t->gpu + at, chunk, n));
    }
    return KILN_OK;
}

static kiln_status
copy_out(struct held *x, const struct twin *t)
{
    struct kn_hip *h = x->m->place.hip;
    uint8_t *bytes;

    if (!t->out)
        return KILN_OK;
    bytes = KN_NEW(x->m->c, uint8_t, t->size);
    KN_TRY(kn_hip_download(h, x->m->c, bytes, t->gpu, (size_t)t->size));
    return kn_sim_write(x->m->sim, t->sim, bytes, (size_t)t->size);
}

/* After the output is safe: an atomic kernel adds again and again. */
static kiln_status
measure(struct held *x)
{
    struct moe_part *s = x->s;
    size_t runs = 0;

    do {
        KN_TRY(kn_hip_time(x->m->place.hip, x->m->c, &x->launch,
                           TIMED_LAUNCHES, &s->us[runs]));
        s->time = kn_stable_time(s->us, ++runs);
    } while (s->time.more);
    s->runs = runs;
    return KILN_OK;
}

static kiln_status
execute(struct held *x)
{
    struct kn_hip *h = x->m->place.hip;
    struct kn_ctx *c = x->m->c;
    struct moe_part *s = x->s;

    KN_ENTER(c);
    list_buffers(x);
    for (size_t i = 0; i < x->n; i++)
        KN_TRY(copy_in(x, &x->twin[i]));
    KN_TRY(kn_plan_launch(c, &s->p, &s->g.cfg, &x->operands, &s->plan));
    KN_TRY(kn_hip_load(h, c, s->g.co, &x->module));
    x->launch.kernarg = s->plan.kernarg;
    x->launch.kernarg_size = s->plan.kernarg_size;
    memcpy(x->launch.grid, s->plan.grid, sizeof x->launch.grid);
    memcpy(x->launch.block, s->plan.block, sizeof x->launch.block);
    KN_TRY(kn_hip_function(h, c, x->module, s->g.name, &x->launch.function));
    KN_TRY(kn_hip_launch(h, c, &x->launch));
    KN_TRY(kn_hip_wait(h, c, NULL));
    for (size_t i = 0; i < x->n; i++)
        KN_TRY(copy_out(x, &x->twin[i]));
    return measure(x);
}

static void
drop(struct held *x)
{
    struct kn_hip *h = x->m->place.hip;
    struct kn_ctx own;

    kn_ctx_init(&own, x->m->c->realloc, x->m->c->user);
    if (x->module)
        kn_hip_unload(h, &own, x->module);
    for (size_t i = 0; i < x->n; i++)
        if (x->twin[i].gpu)
            kn_hip_free(h, &own, x->twin[i].gpu);
    kn_ctx_free(&own);
}

kiln_status
moe_launch_hip(struct moe_run *m, struct moe_part *s,
               const struct kn_operands *o)
{
    struct held *x = KN_NEW(m->c, struct held, 1);
    kiln_status st;

    *x = (struct held){ .m = m, .s = s, .operands = *o };
    kn_progress_stage(m->t->progress, "executing");
    st = execute(x);
    drop(x);
    return st;
}

void
moe_report_measured(struct moe_run *m, const struct moe_part *s,
                    struct kn_json *j)
{
    const struct kn_place *at = &m->place;

    kn_putf(m->t->text, "executed  %" PRIu32 " workgroups on hip:%d, %s\n",
            s->plan.grid[0], at->number, at->facts.name);
    if (s->runs)
        kn_putf(m->t->text, "measured  %.2f us, %zu runs%s\n", s->time.us,
                s->runs, s->time.stable ? "" : ", not within 5 %");
    kn_json_open(j, "measured", '{');
    kn_json_str(j, "device", at->facts.name);
    kn_json_real(j, "us", s->time.us);
    kn_json_uint(j, "runs", s->runs);
    kn_json_bool(j, "stable", s->time.stable);
    kn_json_close(j, '}');
}
