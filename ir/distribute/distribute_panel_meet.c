/* distribute_panel_meet.c - store.panel own=1: each wave makes the codes of its own
 * columns from its registers, as soon as the largest of its rows is known of all strips.
 *
 * The strips that share rows count in the counter of the first slab of these, once their
 * largest are in memory, and a wave looks until all have. Who has looked often enough
 * parks its sums, counts in its strip's word and leaves. The last to come counts in all
 * words, too, and makes the codes of the strips that had left; a strip whose word had
 * been counted in before has not to leave, since all are there. Who has made codes counts
 * once more for each strip of them: with the last of these the counter is zero again.
 *
 * Nobody depends on a workgroup that has not begun. */
#include "panel.h"
#include "split.h"

enum {
    LOOKS = 64,              /* some 40 us, as shares of a tile look for each other */
    LOOK_MACS = 1 << 20,     /* products of 16 bits in the time of one */
    F32_MACS = 1 << 17,      /* and of f32 */
    COLUMNS = 1 << 25,       /* the launch has fewer (gen/limits.c) */
    LOADS = 32,              /* of largest at once, of four strips each */
    WORDS = 4,               /* times 64 strips' words at once */
    THERE = 1 << 30          /* word of a strip that nobody has counted in: no number
                              * that memory has by chance */
};

/* What a wave needs to know of the others. */
struct meeting {
    struct dist_counter c;   /* at its most all have come */
    kn_ref wraps;            /* the count behind which it is zero */
    kn_ref met;              /* s.i32: 1 if all have come while this one looked */
    kn_ref old;              /* the count before this wave came */
    kn_ref last;             /* s.b1: this wave is the last to come */
    kn_ref left;             /* resource over the strips' words */
};

/* Tiles of a row begin at once, or as others end, which takes as long as a tile does. */
static kn_ref
looks(struct dist *d)
{
    const struct kn_shape *s = &d->in->shape;
    uint32_t each = (kn_elems[s->ta].bits < 32 ? LOOK_MACS : F32_MACS) / (s->bm * s->bn);
    kn_ref more = dist_ic(d, KN_OP_udiv, d->panel_k, each ? each : 1);

    return dist_ic(d, KN_OP_add, more, LOOKS);
}

/* Byte of the word of this wave's strip, of lane 0. */
static kn_ref
word_at(struct dist *d, const struct panel *x)
{
    kn_ref first = dist_op(d, KN_OP_eq, kn_vb1, d->lane, dist_int(d, 0));
    kn_ref at = dist_ic(d, KN_OP_mul, x->strip, PANEL_LEFT);

    return dist_only_if(d, first, dist_op(d, KN_OP_mov, kn_v32, at, 0));
}

static struct meeting
come(struct dist *d, const struct panel *x, const struct dist_tile *t)
{
    struct meeting m = { .met = dist_temp(d, kn_s32) };
    kn_ref old = dist_op(d, KN_OP_mov, kn_v32, dist_int(d, THERE), 0);

    m.c.r = dist_panel_counters(d, x);
    m.c.at = dist_op(d, KN_OP_mov, kn_v32, dist_int(d, 0), 0);
    m.c.most = x->strips;
    m.wraps = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, x->strips, 2), -1);
    m.left = dist_panel_part(d, x, dist_panel_slab(d, x, dist_int(d, 0)),
                             dist_panel_largest_at(d, x, x->strips),
                             dist_ic(d, KN_OP_mul, x->strips, PANEL_LEFT));
    for (uint32_t n = 0; n < x->slabs; n++)
        dist_panel_park_largest(d, x, t->reg + n * x->blocks, n);
    dist_stg(d, m.left, word_at(d, x), old, KN_T_i32)->attr[KN_A_coh] = 1;
    old = dist_op(d, KN_OP_uniform, kn_s32, dist_count_at(d, m.c.r, m.c.at, m.wraps), 0);
    m.old = old;
    m.last = dist_op(d, KN_OP_eq, kn_sb1, old, dist_ic(d, KN_OP_add, x->strips, -1));
    return m;
}

/* Who has come and finds the counter at zero has wrapped it: an aborted launch had left a
 * count there, which stays to be seen. */
static void
count_again(struct dist *d, const struct meeting *m)
{
    kn_ref wrapped = dist_op(d, KN_OP_eq, kn_sb1, m->old, m->wraps), at;

    at = dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
        wrapped, m->c.at, dist_int(d, DIST_NEVER) });
    dist_count_at(d, m->c.r, at, m->wraps);
}

/* Who has not met the others leaves its sums to the last, unless that has come
 * meanwhile. */
static void
leave(struct dist *d, const struct panel *x, const struct meeting *m,
      const struct dist_tile *t)
{
    kn_ref missed = dist_op(d, KN_OP_eq, kn_sb1, m->met, dist_int(d, 0)), old;

    dist_add(d, KN_OP_if, 0)->arg[0] = missed;
    for (uint32_t n = 0; n < x->slabs; n++)
        dist_panel_park(d, x, t->reg + n * x->blocks, n);
    count_again(d, m);
    old = dist_count_lanes(d, m->left, word_at(d, x), dist_int(d, INT32_MAX));
    missed = dist_op(d, KN_OP_eq, kn_sb1, dist_op(d, KN_OP_uniform, kn_s32, old, 0),
                     dist_int(d, THERE));
    dist_move(d, m->met, dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
        missed, dist_int(d, 0), dist_int(d, 1) }));
    dist_add(d, KN_OP_end, 0);
}

static void
load_largest(struct dist *d, const struct panel *x, kn_ref c, uint32_t each, kn_ref *v)
{
    kn_ref at = dist_ic(d, KN_OP_mul, dist_i2(d, KN_OP_add, d->q, c), PANEL_MOST);

    at = dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, d->t, 4));
    for (uint32_t n = 0; n < x->slabs; n++) {
        kn_ref slab = dist_panel_slab(d, x, dist_int(d, n)), first = dist_int(d, 0);
        kn_ref r = dist_panel_part(d, x, slab, dist_panel_largest_at(d, x, first),
                                   dist_ic(d, KN_OP_mul, x->strips, PANEL_MOST));

        for (uint32_t k = 0; k < each; k++) {
            kn_ref from = dist_ic(d, KN_OP_add, at, k / 8 * 32 * PANEL_MOST);

            v[n * each + k] = dist_panel_load(d, r, from,
                                              (int32_t)(k % 8 * 4 * PANEL_MOST), kn_vf32);
        }
    }
}

/* The largest of the lane's row of each slab of the wave. */
static void
largest_of_all(struct dist *d, const struct panel *x, kn_ref *most)
{
    uint32_t each = LOADS / x->slabs;
    kn_ref v[LOADS], c;

    for (uint32_t n = 0; n < x->slabs; n++)
        dist_move(d, most[n] = dist_temp(d, kn_vf32), kn_flt(d->out, 0));
    c = dist_begin_count(d, "_strip", COLUMNS / 16);
    load_largest(d, x, c, each, v);
    for (uint32_t n = 0; n < x->slabs * each; n++)
        dist_apply(d, KN_OP_fmax, most[n / each], v[n], 0);
    dist_end_count(d, c, 4 * each, x->strips);
}

/* The scale of the wave's slab n, of lanes whose `with` holds. */
static void
write_scale(struct dist *d, struct panel *x, uint32_t n, kn_ref scale, kn_ref with)
{
    kn_ref at[2];

    dist_scaled_row(d, &x->s, dist_int(d, n * 16), x->s.ids ? x->s.ids[n] : 0, at);
    if (x->scales)
        at[1] = dist_i2(d, KN_OP_add, at[1], dist_ic(d, KN_OP_mul, x->scale, 4));
    dist_stg(d, x->s.scales, dist_only_if(d, with, at[1]), scale, KN_T_f32);
}

/* Of the wave's slab n, from registers; the last to come writes the scales. */
static void
own_codes(struct dist *d, struct panel *x, struct dist_scaled *own,
          const struct meeting *m, const struct dist_tile *t)
{
    kn_ref *most = KN_NEW(d->c, kn_ref, x->slabs), last, at[2];

    largest_of_all(d, x, most);
    last = dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){ m->last, dist_int(d, 1),
                                                          dist_int(d, 0) });
    last = dist_op(d, KN_OP_ne, kn_vb1, dist_op(d, KN_OP_mov, kn_v32, last, 0),
                   dist_int(d, 0));
    last = dist_op(d, KN_OP_band, kn_vb1, last, own->quad0);
    for (uint32_t n = 0; n < x->slabs; n++) {
        struct dist_made_scale made = dist_plain_scale(d, own, most[n]);
        const kn_ref *acc = t->reg + n * x->blocks;

        write_scale(d, x, n, made.written, last);
        dist_scaled_row(d, own, dist_int(d, n * 16), own->ids ? own->ids[n] : 0, at);
        for (uint32_t y = 0; y < x->blocks; y++)
            dist_put_codes(d, own, dist_scaled_codes(d, own, y, acc[y], made.by), at[0],
                           dist_ic(d, KN_OP_add, own->e.col0, y * 16));
        dist_add(d, KN_OP_sched, 0);
    }
}

static void
depart(struct dist *d, const struct meeting *m)
{
    dist_count_at(d, m->c.r, m->c.at, m->wraps);
}

/* Of lane l in left[k] 1 if strip c + 64 k + l has left. */
static void
claim(struct dist *d, const struct panel *x, const struct meeting *m, kn_ref c,
      kn_ref left[WORDS])
{
    kn_ref in[WORDS], old[WORDS], strip = dist_i2(d, KN_OP_add, d->lane, c), at;

    dist_add(d, KN_OP_fence, 0)->attr[KN_A_vm] = 0;
    for (int k = 0; k < WORDS; k++) {
        kn_ref one = dist_ic(d, KN_OP_add, strip, 64 * k);

        in[k] = dist_op(d, KN_OP_slt, kn_vb1, one, x->strips);
        at = dist_only_if(d, in[k], dist_ic(d, KN_OP_mul, one, PANEL_LEFT));
        old[k] = dist_arrive(d, m->left, at, dist_int(d, INT32_MAX));
    }
    for (int k = 0; k < WORDS; k++) {
        in[k] = dist_op(d, KN_OP_band, kn_vb1, in[k], dist_op(
            d, KN_OP_eq, kn_vb1, old[k], dist_int(d, THERE + 1)));
        dist_move(d, left[k] = dist_temp(d, kn_v32), dist_op3(
            d, KN_OP_select, kn_v32, (kn_ref[3]){ in[k], dist_int(d, 1), dist_int(d, 0) }));
    }
}

/* The strips from c on of which `left` has a 1, one after the other. */
static void
codes_of_left(struct dist *d, struct panel *x, const struct meeting *m, kn_ref c,
              kn_ref left)
{
    kn_ref n, is, end;

    dist_add(d, KN_OP_loop, 0);
    is = dist_op(d, KN_OP_eq, kn_vb1, dist_op(d, KN_OP_scan, kn_v32, left, 0),
                 dist_int(d, 0));
    n = dist_op(d, KN_OP_count, kn_s32, is, 0);
    end = dist_op(d, KN_OP_sge, kn_sb1, n, dist_int(d, 64));
    dist_add(d, KN_OP_break, 0)->arg[0] = end;
    is = dist_op(d, KN_OP_eq, kn_vb1, d->lane, n);
    dist_move(d, left, dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
        is, dist_int(d, 0), left }));
    n = dist_op(d, KN_OP_uniform, kn_s32, dist_i2(d, KN_OP_add, n, c), 0);
    n = dist_assume(d, n, COLUMNS / 16 / x->blocks);
    dist_panel_finish(d, x, dist_int(d, 0), x->slabs, n);
    depart(d, m);
    dist_add(d, KN_OP_fence, 0)->attr[KN_A_vm] = 0;
    dist_add(d, KN_OP_end, 0);
}

/* Of 64 strips at a time those that have left. */
static void
codes_of_others(struct dist *d, struct panel *x, const struct meeting *m)
{
    kn_ref c = dist_begin_count(d, "_word", COLUMNS / 16), left[WORDS], k, one, at;

    claim(d, x, m, c, left);
    one = dist_temp(d, kn_v32);
    k = dist_begin_count(d, "_words", WORDS - 1);
    dist_move(d, one, left[0]);
    for (int n = 1; n < WORDS; n++)
        dist_move(d, one, dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
            dist_op(d, KN_OP_eq, kn_sb1, k, dist_int(d, n)), left[n], one }));
    at = dist_i2(d, KN_OP_add, c, dist_ic(d, KN_OP_mul, k, 64));
    codes_of_left(d, x, m, at, one);
    dist_end_count(d, k, 1, dist_int(d, WORDS));
    dist_end_count(d, c, 64 * WORDS, x->strips);
}

void
dist_panel_meet(struct dist *d, struct panel *x, struct dist_scaled *own,
                const struct dist_tile *t)
{
    struct meeting m = come(d, x, t);
    kn_ref met;

    dist_look(d, &m.c, looks(d), m.met);
    leave(d, x, &m, t);
    met = dist_op(d, KN_OP_ne, kn_sb1, m.met, dist_int(d, 0));
    dist_add(d, KN_OP_if, 0)->arg[0] = met;
    own_codes(d, x, own, &m, t);
    dist_add(d, KN_OP_if, 0)->arg[0] = m.last;
    codes_of_others(d, x, &m);
    dist_add(d, KN_OP_end, 0);
    depart(d, &m);
    dist_add(d, KN_OP_end, 0);
}
