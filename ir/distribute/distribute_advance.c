/* distribute_advance.c - a view goes on along K: to the next K tile, and where it
 * is rotated, from the last to the first. */
#include "distribute.h"

/* Rows of a K tile, of those that are a K each or more. */
static uint32_t
tile_rows(const struct kn_lds *l)
{
    return l->cols / kn_row_k(l);
}

/* Bytes from one K tile to the next, of rows along K. */
static uint32_t
tile_bytes(const struct kn_lds *l)
{
    if (l->line)
        return KN_LINE;
    return l->cols * kn_memory_bits(l) / 8 * (l->panel ? 16 : l->shuf ? 32 : 1);
}

/* To run number `run`, of so many bytes, of a row whose 16-byte chunks take turns with those
 * of the other rows of its panel; chunks are whole runs, or two. */
kn_ref
dist_panel_bytes(struct dist *d, uint32_t bytes, kn_ref run)
{
    kn_ref chunk;

    if (bytes >= 16)
        return dist_ic(d, KN_OP_mul, run, bytes * 16);
    chunk = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_shr, run, 1), 256);
    return dist_i2(d, KN_OP_add, chunk, dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_and, run, 1), 8));
}

static kn_ref
pitches(struct dist *d, const struct dist_tile *v, kn_ref rows)
{
    kn_ref pitch = dist_op(d, KN_OP_sext, kn_s64, v->pitch, 0);

    return dist_op(d, KN_OP_mul, kn_s64, pitch, rows);
}

static void
move_base(struct dist *d, struct dist_tile *v, enum kn_op op, kn_ref bytes)
{
    dist_move(d, v->base, dist_op(d, op, kn_s64, v->base, bytes));
}

/* Behind all of K there are v->end records, below zero where there are no rows. */
static void
rotated_records(struct dist *d, struct dist_tile *v)
{
    kn_ref n = dist_i2(d, KN_OP_add, v->end, v->to_end);

    dist_move(d, v->rem, dist_clamp(d, n, 0, DIST_NEVER));
}

/* K tiles, of which the last may be short. */
static kn_ref
tiles_of(struct dist *d, const struct dist_tile *v)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    uint32_t per = l->cols * l->kdiv;

    return dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, v->k, per - 1), per);
}

/* Bytes of all K tiles: computed anew each time, since scalar registers are few. */
static kn_ref
all_bytes(struct dist *d, const struct dist_tile *v)
{
    return dist_ic(d, KN_OP_mul, tiles_of(d, v), tile_bytes(dist_lds(d, v->lds)));
}

static void
rotate_k_inner(struct dist *d, struct dist_tile *v, kn_ref first)
{
    const char *name = kn_val(d->out, v->base)->name;
    kn_ref done = dist_ic(d, KN_OP_mul, first, tile_bytes(dist_lds(d, v->lds)));
    kn_ref all = all_bytes(d, v);

    v->to_end = dist_named(d, kn_s32, "%s.left", name);
    v->end = dist_named(d, kn_s32, "%s.end", name);
    dist_move(d, v->to_end, dist_i2(d, KN_OP_sub, all, done));
    dist_move(d, v->end, dist_i2(d, KN_OP_sub, v->rem, all));
    move_base(d, v, KN_OP_add, dist_op(d, KN_OP_zext, kn_s64, done, 0));
    rotated_records(d, v);
}

static void
rotate_k_outer(struct dist *d, struct dist_tile *v, kn_ref first)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    kn_ref done = dist_ic(d, KN_OP_mul, first, tile_rows(l)), rows;

    rows = dist_ic(d, KN_OP_mul, tiles_of(d, v), tile_rows(l));
    v->all = dist_named(d, kn_s64, "%s.all", kn_val(d->out, v->base)->name);
    dist_move(d, v->all, pitches(d, v, dist_op(d, KN_OP_zext, kn_s64, rows, 0)));
    dist_move(d, v->krem, dist_i2(d, KN_OP_sub, v->krem, done));
    move_base(d, v, KN_OP_add,
              pitches(d, v, dist_op(d, KN_OP_zext, kn_s64, done, 0)));
    dist_k_outer_records(d, v);
}

/* The view begins at an element of K where a K tile does; behind the last K tile
 * comes the first. */
kiln_status
expand_rotate(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->arg[0]);
    const struct kn_lds *l = dist_lds(d, v->lds);
    uint32_t per = l->cols * l->kdiv;
    kn_ref first = dist_ic(d, KN_OP_udiv, dist_operand(d, i->arg[1]), per);

    if (l->line || l->lag || !l->slots || v->before)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "a view is rotated whose "
                          "K tiles are copied whole, of rows that begin at "
                          "dwords");
    v->k = dist_operand(d, i->arg[2]);
    if (l->gk)
        rotate_k_inner(d, v, first);
    else
        rotate_k_outer(d, v, first);
    return KILN_OK;
}

/* x where nothing is left of K, else y. */
static kn_ref
at_end(struct dist *d, struct kn_type t, kn_ref end, const kn_ref x[2])
{
    kn_ref pick[] = { end, x[0], x[1] };

    return dist_op3(d, KN_OP_select, t, pick);
}

static kn_ref
is_end(struct dist *d, kn_ref left)
{
    return dist_op(d, KN_OP_slt, kn_sb1, left, dist_int(d, 1));
}

static void
advance_k_inner(struct dist *d, struct dist_tile *v)
{
    uint32_t bytes = tile_bytes(dist_lds(d, v->lds));
    kn_ref back;

    if (!v->k) {
        dist_move(d, v->rem,
                  dist_ic(d, KN_OP_smax,
                          dist_ic(d, KN_OP_add, v->rem, -(int64_t)bytes), 0));
        return;
    }
    dist_move(d, v->to_end, dist_ic(d, KN_OP_add, v->to_end, -(int64_t)bytes));
    back = at_end(d, kn_s32, is_end(d, v->to_end),
                  (kn_ref[]){ all_bytes(d, v), dist_int(d, 0) });
    dist_move(d, v->to_end, dist_i2(d, KN_OP_add, v->to_end, back));
    move_base(d, v, KN_OP_sub, dist_op(d, KN_OP_zext, kn_s64, back, 0));
    rotated_records(d, v);
}

static void
advance_k_outer(struct dist *d, struct dist_tile *v)
{
    uint32_t cols = tile_rows(dist_lds(d, v->lds));
    kn_ref left = dist_ic(d, KN_OP_add, v->krem, -(int64_t)cols);

    if (!v->k) {
        dist_move(d, v->krem, dist_ic(d, KN_OP_smax, left, 0));
    } else {
        kn_ref end = is_end(d, left);

        move_base(d, v, KN_OP_sub,
                  at_end(d, kn_s64, end,
                         (kn_ref[]){ v->all, dist_int(d, 0) }));
        dist_move(d, v->krem,
                  at_end(d, kn_s32, end, (kn_ref[]){
                      dist_row_elements(d, dist_lds(d, v->lds), v->k), left }));
    }
    dist_k_outer_records(d, v);
}

/* To the next K tile; where the condition does not hold there is none, and
 * copies find no records. */
kiln_status
expand_advance(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->arg[0]);
    const struct kn_lds *l = dist_lds(d, v->lds);
    kn_ref step;

    if (l->gk) {
        step = dist_int(d, tile_bytes(l));
        advance_k_inner(d, v);
    } else {
        step = pitches(d, v, dist_int(d, tile_rows(l)));
        advance_k_outer(d, v);
    }
    if (i->arg[1]) {
        kn_ref pick[] = { dist_operand(d, i->arg[1]), v->rem, dist_int(d, 0) };

        dist_move(d, v->rem, dist_op3(d, KN_OP_select, kn_s32, pick));
    }
    move_base(d, v, KN_OP_add, step);
    return KILN_OK;
}
