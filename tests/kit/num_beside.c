/* num_beside.c - what a launch writes beside its output: a second output, and
 * the largest magnitude; and launches that find what another has left. */
#include "num_run.h"
#include "../../gen/panels.h"

#include <inttypes.h>
#include <string.h>

static uint64_t
row_at(const struct run *r, int64_t group, int64_t row)
{
    const struct kn_data *d = &r->o[NUM_OUT2].d;
    uint64_t first = r->p.family == KILN_GROUPED
                   ? (uint64_t)r->offs[group] * d->row_bytes
                   : (uint64_t)group * d->batch_bytes;

    return r->o[NUM_OUT2].at + first + (uint64_t)row * d->row_bytes;
}

/* The rows of a tile whose first column is n0, dense. */
static bool
read_half(struct run *r, const struct kn_rect *t, int64_t n0, uint8_t *got)
{
    size_t size = kn_ref_type_bits((kiln_type)r->p.out2) / 8;
    size_t row = (size_t)t->cols * size;

    for (int64_t i = 0; i < t->rows; i++) {
        uint64_t from = row_at(r, t->group, t->m0 + i) + (size_t)n0 * size;

        if (kn_sim_read(r->k->sim, from, got + (size_t)i * row, row) ||
            !kn_sim_written(r->k->sim, from, row))
            return num_fault(r, "the second output was not written");
    }
    r->second_written += (uint64_t)t->rows * row;
    return true;
}

bool
num_check_second(struct run *r, struct kn_ctx *c, const struct kn_rect *t,
                 const struct kn_ref_problem *q,
                 const struct kn_ref_result *first)
{
    uint8_t *got = KN_NEW(c, uint8_t, (size_t)(t->rows * t->cols) * sizeof(double));
    struct kn_ref_second second = { .out = (kiln_type)r->p.out2, .got = got };

    for (int up = 0; up <= kn_second_pair(&r->p); up++) {
        second.up = up;
        if (!read_half(r, t, t->n0 + up * r->p.n, got) ||
            kn_ref_second_judge(c, q, first, &second, &r->second))
            return false;
    }
    return true;
}

static bool
second_right(struct run *r)
{
    const struct operand *o = &r->o[NUM_OUT2];
    const struct kn_ref_check *k = &r->second;

    if (k->bad) {
        snprintf(r->r->text, sizeof r->r->text, "%" PRIu64 " elements of the "
                 "second output are bad, first [%" PRId64 ", %" PRId64 "] is "
                 "%g, should be %g", k->bad, k->bad_m, k->bad_n, k->bad_got,
                 k->bad_want);
        return false;
    }
    if (o->size && o->size - kn_sim_unwritten(r->k->sim, o->block) !=
                       r->second_written)
        return num_fault(r, "bytes beside the second output were written");
    return true;
}

/* What was checked is what was launched. */
static bool
check_amax(struct run *r)
{
    kiln_type t = kn_amax_type(&r->p);
    uint64_t code = 0;
    double got;

    if (!r->p.amax)
        return true;
    if (kn_sim_read(r->k->sim, r->o[NUM_AMAX].at, &code, kn_ref_type_bits(t) / 8))
        return num_fault(r, "the amax cannot be read");
    got = kn_ref_decode(t, r->p.target, code);
    if (kn_ref_amax_right(&r->amax, got))
        return true;
    snprintf(r->r->text, sizeof r->r->text, "the amax is %.17g, should be %.17g "
             "to %.17g%s", got, r->amax.low, r->amax.high,
             r->amax.nan ? ", or a NaN" : "");
    return false;
}

bool
num_check_beside(struct run *r)
{
    return (!r->p.out2 || second_right(r)) && check_amax(r);
}

static kiln_status
set_counters(struct run *r, uint32_t to)
{
    uint32_t *count = KN_NEW(&r->c, uint32_t, KN_COUNTERS);

    for (uint32_t i = 0; i < KN_COUNTERS; i++)
        count[i] = to;
    return kn_sim_write(r->k->sim, r->workspace, count, KILN_WORKSPACE_ZEROS);
}

/* What counters have when all others have come: shares of a tile, or waves of a row that
 * is wider than one. */
static uint32_t
others(const struct run *r)
{
    const struct kn_config *g = &r->k->g.cfg;

    return kn_panels(&r->p, g) ? kn_panel_strips(&r->p, g) : g->split_k - 1;
}

kiln_status
num_launch_met(struct run *r, const struct kn_sim_launch *l)
{
    const struct operand *o = &r->o[NUM_C];
    uint8_t *old = KN_NEW(&r->c, uint8_t, o->size);

    memset(old, 0x5a, o->size);
    KN_TRY(kn_sim_write(r->k->sim, o->at, old, o->size));
    for (uint64_t id = 0; id < r->j->nids; id++) {
        struct kn_sim_launch one = *l;
        struct kn_sim_result sim;

        one.select = (struct kn_sim_select){ .ids = &id, .n = 1 };
        KN_TRY(set_counters(r, others(r)));
        KN_TRY(kn_sim_run(r->k->sim, &one, &sim));
        r->r->nfindings += sim.nfindings;
    }
    return set_counters(r, 0);
}
