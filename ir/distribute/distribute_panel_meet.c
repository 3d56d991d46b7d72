/* distribute_panel_meet.c - store.panel own=1: each wave makes the codes of its own
 * columns from its registers, as soon as the largest of its rows is known of all strips.
 *
 * The strips that share rows count in the counter of the first slab of these, once their
 * largest are in memory, and a wave that is not the last looks until all have. Who has
 * looked often enough parks its sums, counts in its strip's word, looks once more and
 * leaves. The last to come reads all words behind its count: of who counts in his word
 * and of the last one at least sees the other. A strip belongs to who is the second to
 * count in its word, the last or, if all have come meanwhile, itself. Who has made codes
 * counts once more for each strip of them: with the last of these the counter is zero
 * again.
 *
 * Nobody depends on a workgroup that has not begun. */
#include "panel.h"
#include "split.h"

enum {
    LOOKS = 64,              /* some 40 us, as shares of a tile look for each other */
    LOOK_MACS = 1 << 20,     /* products of 16 bits in the time of one */
    F32_MACS = 1 << 17,      /* and of f32 */
    COLUMNS = 1 << 25,       /* the launch has fewer (gen/limits.c) */
    LOADS = 8,               /* of largest at once, of 16 strips each */
    WORDS = 4,               /* times 64 strips' words at once */
    WORD = 4,                /* bytes of one */
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
    kn_ref word[WORDS];      /* of lane l of k: what the last finds in word 64 k + l */
    kn_ref some;             /* s.b1: in one of them that its strip has left */
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
    kn_ref at = dist_ic(d, KN_OP_mul, x->strip, WORD);

    return dist_only_if(d, first, dist_op(d, KN_OP_mov, kn_v32, at, 0));
}

/* The largest of the wave's rows to memory; of waves side by side the first's are of all. */
static void
park_largest(struct dist *d, const struct panel *x, const struct dist_tile *t)
{
    kn_ref *most = KN_NEW(d->c, kn_ref, x->slabs);

    for (uint32_t n = 0; n < x->slabs; n++)
        dist_move(d, most[n] = dist_temp(d, kn_vf32),
                  dist_panel_largest(d, x, t->reg + n * x->blocks));
    if (x->beside > 1)
        dist_meet_rows(d, d->beside, most, x->slabs, x->beside);
    for (uint32_t n = 0; n < x->slabs; n++)
        dist_panel_park_largest(d, x, most[n], n);
}

static struct meeting
come(struct dist *d, const struct panel *x, const struct dist_tile *t)
{
    struct meeting m = { .met = dist_temp(d, kn_s32) };
    kn_ref there = dist_op(d, KN_OP_mov, kn_v32, dist_int(d, THERE), 0);

    m.c.r = dist_panel_counters(d, x);
    m.c.at = dist_op(d, KN_OP_mov, kn_v32, dist_int(d, 0), 0);
    m.c.most = x->strips;
    m.wraps = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, x->strips, 2), -1);
    m.left = dist_panel_part(d, x, dist_panel_slab(d, x, dist_int(d, 0)),
                             dist_panel_words_at(d, x),
                             dist_ic(d, KN_OP_mul, x->strips, WORD));
    dist_stg(d, m.left, word_at(d, x), there, KN_T_i32)->attr[KN_A_coh] = 1;
    park_largest(d, x, t);
    m.old = dist_op(d, KN_OP_uniform, kn_s32, dist_count_at(d, m.c.r, m.c.at, m.wraps), 0);
    m.last = dist_op(d, KN_OP_eq, kn_sb1, m.old, dist_ic(d, KN_OP_add, x->strips, -1));
    return m;
}

/* The last to come need not look: all have. */
static void
look(struct dist *d, const struct panel *x, const struct meeting *m)
{
    kn_ref before = dist_op(d, KN_OP_ne, kn_sb1, m->old, dist_ic(d, KN_OP_add, x->strips, -1));

    dist_move(d, m->met, dist_int(d, 1));
    dist_add(d, KN_OP_if, 0)->arg[0] = before;
    dist_look(d, &m->c, looks(d), m->met);
    dist_add(d, KN_OP_end, 0);
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

/* s.b1: whether a lane's count in the word at its byte is the second. */
static kn_ref
claims(struct dist *d, const struct meeting *m, kn_ref at)
{
    kn_ref old = dist_arrive(d, m->left, at, dist_int(d, INT32_MAX)), some;

    old = dist_op(d, KN_OP_eq, kn_vb1, old, dist_int(d, THERE + 1));
    some = dist_op(d, KN_OP_count, kn_s32, old, 0);
    return dist_op(d, KN_OP_ne, kn_sb1, some, dist_int(d, 0));
}

/* Who has not met the others leaves its sums to the last, unless that has come
 * meanwhile. */
static void
leave(struct dist *d, const struct panel *x, const struct meeting *m,
      const struct dist_tile *t)
{
    kn_ref missed = dist_op(d, KN_OP_eq, kn_sb1, m->met, dist_int(d, 0)), all;

    dist_add(d, KN_OP_if, 0)->arg[0] = missed;
    for (uint32_t n = 0; n < x->slabs; n++)
        dist_panel_park(d, x, t->reg + n * x->blocks, n);
    count_again(d, m);
    dist_count_lanes(d, m->left, word_at(d, x), dist_int(d, INT32_MAX));
    dist_add(d, KN_OP_fence, 0)->attr[KN_A_vm] = 0;
    all = dist_count_seen(d, m->c.r, m->c.at, m->c.most);
    dist_move(d, m->met, dist_int(d, 0));
    dist_add(d, KN_OP_if, 0)->arg[0] = all;
    dist_move(d, m->met, dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
        claims(d, m, word_at(d, x)), dist_int(d, 1), dist_int(d, 0) }));
    dist_add(d, KN_OP_end, 0);
    dist_add(d, KN_OP_end, 0);
}

/* The words of strips from c on; of strips that there are not 0. */
static void
read_words(struct dist *d, const struct meeting *m, kn_ref c)
{
    kn_ref at = dist_ic(d, KN_OP_mul, dist_i2(d, KN_OP_add, d->lane, c), WORD);

    for (int k = 0; k < WORDS; k++) {
        struct kn_ins *l = dist_add(d, KN_OP_ldg, m->word[k]);

        l->arg[0] = m->left;
        l->arg[1] = at;
        l->attr[KN_A_offset] = 64 * WORD * k;
        l->attr[KN_A_elem] = KN_T_i32;
        l->attr[KN_A_coh] = 1;
    }
}

/* Whether a strip has left whose word was read. */
static kn_ref
some_left(struct dist *d, const struct meeting *m)
{
    kn_ref some = 0;

    for (int k = 0; k < WORDS; k++) {
        kn_ref is = dist_op(d, KN_OP_eq, kn_vb1, m->word[k], dist_int(d, THERE + 1));

        is = dist_op(d, KN_OP_count, kn_s32, is, 0);
        some = some ? dist_i2(d, KN_OP_or, some, is) : is;
    }
    return dist_op(d, KN_OP_ne, kn_sb1, some, dist_int(d, 0));
}

/* The largest of the lane's row of `many` of the wave's slabs, from n on. */
static void
largest_of_some(struct dist *d, const struct panel *x, uint32_t n, uint32_t many, kn_ref *most)
{
    struct panel_largest l[LOADS] = { { .loads = LOADS / (many < 2 ? 2 : many) } };
    kn_ref c;

    for (uint32_t k = 0; k < many; k++)
        dist_move(d, most[n + k] = dist_temp(d, kn_vf32), kn_flt(d->out, 0));
    c = dist_begin_count(d, "_strip", COLUMNS / 16);
    for (uint32_t k = 0; k < many; k++) {
        l[k].loads = l[0].loads;
        dist_panel_load_largest(d, x, dist_panel_slab(d, x, dist_int(d, n + k)), c, &l[k]);
    }
    for (uint32_t k = 0; k < many; k++)
        dist_panel_take_largest(d, &l[k], most[n + k]);
    dist_end_count(d, c, 16 * l[0].loads, x->counts);
}

static void
largest_of_all(struct dist *d, const struct panel *x, kn_ref *most)
{
    for (uint32_t n = 0; n < x->slabs; n += LOADS)
        largest_of_some(d, x, n, x->slabs - n < LOADS ? x->slabs - n : LOADS, most);
}

/* The scale of the wave's slab n, of lanes whose `with` holds. */
static void
write_scale(struct dist *d, struct panel *x, uint32_t n, kn_ref scale, kn_ref with)
{
    kn_ref at[2];

    dist_scaled_row(d, &x->s, dist_int(d, n * 16), x->s.ids ? x->s.ids[n] : 0, at);
    if (x->scales)
        at[1] = dist_i2(d, KN_OP_add, at[1], dist_ic(d, KN_OP_mul, x->scale, x->s.size));
    dist_stg(d, x->s.scales, dist_only_if(d, with, at[1]), scale,
             x->s.size == 1 ? KN_T_i8 : KN_T_f32);
}

/* Of the wave's slab n, from registers; the last to come writes the scales, and reads the
 * words meanwhile. */
static void
own_codes(struct dist *d, struct panel *x, struct dist_scaled *own,
          struct meeting *m, const struct dist_tile *t)
{
    kn_ref *most = KN_NEW(d->c, kn_ref, x->slabs), last, at[2];

    for (int k = 0; k < WORDS; k++)
        dist_move(d, m->word[k] = dist_temp(d, kn_v32), dist_int(d, 0));
    dist_add(d, KN_OP_if, 0)->arg[0] = m->last;
    read_words(d, m, dist_int(d, 0));
    dist_add(d, KN_OP_end, 0);
    largest_of_all(d, x, most);
    dist_move(d, m->some = dist_temp(d, kn_sb1), some_left(d, m));
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
        dist_put_codes(d, own, &(struct dist_sums){ acc, 0, x->blocks, made.by },
                       (kn_ref[]){ at[0], own->e.col0 });
        dist_add(d, KN_OP_sched, 0);
    }
}

/* What it has read is in registers; what it writes nobody waits for. */
static void
depart(struct dist *d, const struct meeting *m)
{
    kn_ref first = dist_op(d, KN_OP_eq, kn_vb1, d->lane, dist_int(d, 0));

    dist_arrive(d, m->c.r, dist_only_if(d, first, m->c.at), m->wraps);
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

/* Of lane l 1 if strip c + l, whose word was read, has left and is the last's. */
static kn_ref
claim(struct dist *d, const struct meeting *m, kn_ref c, kn_ref word)
{
    kn_ref is = dist_op(d, KN_OP_eq, kn_vb1, word, dist_int(d, THERE + 1));
    kn_ref at = dist_ic(d, KN_OP_mul, dist_i2(d, KN_OP_add, d->lane, c), WORD);
    kn_ref left = dist_temp(d, kn_v32);

    at = dist_arrive(d, m->left, dist_only_if(d, is, at), dist_int(d, INT32_MAX));
    is = dist_op(d, KN_OP_band, kn_vb1, is,
                 dist_op(d, KN_OP_eq, kn_vb1, at, dist_int(d, THERE + 1)));
    dist_move(d, left, dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
        is, dist_int(d, 1), dist_int(d, 0) }));
    return left;
}

/* Of 64 strips at a time those that have left. */
static void
codes_of_others(struct dist *d, struct panel *x, const struct meeting *m)
{
    kn_ref c = dist_begin_count(d, "_word", COLUMNS / 16), k, one = dist_temp(d, kn_v32), at;

    dist_add(d, KN_OP_if, 0)->arg[0] = m->some;
    k = dist_begin_count(d, "_words", WORDS - 1);
    dist_move(d, one, m->word[0]);
    for (int n = 1; n < WORDS; n++)
        dist_move(d, one, dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
            dist_op(d, KN_OP_eq, kn_sb1, k, dist_int(d, n)), m->word[n], one }));
    at = dist_i2(d, KN_OP_add, c, dist_ic(d, KN_OP_mul, k, 64));
    codes_of_left(d, x, m, at, claim(d, m, at, one));
    dist_end_count(d, k, 1, dist_int(d, WORDS));
    dist_add(d, KN_OP_end, 0);
    dist_move(d, c, dist_ic(d, KN_OP_add, c, 64 * WORDS));
    at = dist_op(d, KN_OP_sge, kn_sb1, c, x->strips);
    dist_add(d, KN_OP_break, 0)->arg[0] = at;
    read_words(d, m, c);
    dist_move(d, m->some, some_left(d, m));
    dist_add(d, KN_OP_end, 0);
}

void
dist_panel_meet(struct dist *d, struct panel *x, struct dist_scaled *own,
                const struct dist_tile *t)
{
    struct meeting m = come(d, x, t);
    kn_ref met;

    look(d, x, &m);
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
