/* distribute.c - tile level to wave level: the driver, and the helpers that
 * emit operations. Requires: verified tile-level kernel with swizzles chosen.
 * Leaves: wave level; no view or tile values. */
#include "distribute.h"

#include <stdio.h>
#include <string.h>

const struct kn_type kn_s32 = { KN_T_i32, 1, 0 }, kn_v32 = { KN_T_i32, 1, 1 },
                     kn_s64 = { KN_T_i64, 1, 0 }, kn_vf32 = { KN_T_f32, 1, 1 },
                     kn_sb1 = { KN_T_b1, 1, 0 }, kn_vb1 = { KN_T_b1, 1, 1 };

struct kn_type
dist_vec(uint8_t elem, uint32_t n)
{
    return (struct kn_type){ elem, (uint8_t)n, 1 };
}

kn_ref
dist_int(struct dist *d, int64_t v)
{
    return kn_int(d->out, v);
}

kn_ref
dist_temp(struct dist *d, struct kn_type t)
{
    return dist_named(d, t, "_%u", d->ntemp++);
}

kn_ref
dist_named(struct dist *d, struct kn_type t, const char *fmt, ...)
{
    char name[96];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    return kn_new_val(d->out, kn_strdup(d->c, name), t);
}

struct kn_ins *
dist_add(struct dist *d, enum kn_op op, kn_ref dst)
{
    struct kn_ins *i = kn_add(d->out, op, d->at);

    i->dst = dst;
    return i;
}

kn_ref
dist_op(struct dist *d, enum kn_op op, struct kn_type t, kn_ref a, kn_ref b)
{
    kn_ref dst = dist_temp(d, t);
    struct kn_ins *i = dist_add(d, op, dst);

    i->arg[0] = a;
    i->arg[1] = b;
    return dst;
}

kn_ref
dist_slice(struct dist *d, kn_ref v, uint32_t first)
{
    kn_ref x = dist_op(d, KN_OP_slice, kn_v32, v, 0);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)first;
    return x;
}

kn_ref
dist_float(struct dist *d, kn_ref v, uint32_t n)
{
    kn_ref x = dist_op(d, KN_OP_slice, kn_vf32, v, 0);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)n;
    return x;
}

kn_ref
dist_floats(struct dist *d, const kn_ref *one, uint32_t n)
{
    kn_ref v = dist_temp(d, dist_vec(KN_T_f32, n));

    dist_cat_to(d, v, one, n);
    return v;
}

void
dist_cat_to(struct dist *d, kn_ref dst, const kn_ref *part, uint32_t n)
{
    struct kn_ins *i;

    if (n == 1) {
        dist_move(d, dst, part[0]);
        return;
    }
    i = dist_add(d, KN_OP_cat, dst);
    for (uint32_t a = 0; a < n; a++)
        i->arg[a] = part[a];
}

kn_ref
dist_cat(struct dist *d, const kn_ref *part, uint32_t n)
{
    kn_ref dst;

    if (n == 1)
        return part[0];
    dst = dist_temp(d, dist_vec(KN_T_i32, n * kn_val(d->out, part[0])->type.n));
    dist_cat_to(d, dst, part, n);
    return dst;
}

kn_ref
dist_op3(struct dist *d, enum kn_op op, struct kn_type t, const kn_ref arg[3])
{
    kn_ref dst = dist_temp(d, t);

    memcpy(dist_add(d, op, dst)->arg, arg, 3 * sizeof *arg);
    return dst;
}

kn_ref
dist_perm_by(struct dist *d, kn_ref x, kn_ref y, kn_ref sel)
{
    return dist_op3(d, KN_OP_perm, kn_v32, (kn_ref[3]){ x, y, sel });
}

kn_ref
dist_pick(struct dist *d, kn_ref cond, kn_ref yes, kn_ref no)
{
    return dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){ cond, yes, no });
}

static bool
is_lane(const struct dist *d, kn_ref r)
{
    return KN_REF_TAG(r) == KN_R_VAL && kn_val(d->out, r)->type.lane;
}

static bool
is_const(const struct dist *d, kn_ref r, int64_t *v)
{
    if (KN_REF_TAG(r) != KN_R_CONST)
        return false;
    *v = d->out->konst[KN_REF_INDEX(r)].i;
    return true;
}

/* i32 arithmetic, with the identities folded so that dumps stay readable. */
kn_ref
dist_i2(struct dist *d, enum kn_op op, kn_ref a, kn_ref b)
{
    struct kn_type t = is_lane(d, a) || is_lane(d, b) ? kn_v32 : kn_s32;
    int64_t x, y;
    bool ca = is_const(d, a, &x), cb = is_const(d, b, &y);

    if (ca && cb && op == KN_OP_add)
        return dist_int(d, x + y);
    if (ca && cb && op == KN_OP_mul)
        return dist_int(d, x * y);
    if (cb && y == 0 && (op == KN_OP_add || op == KN_OP_xor ||
                         op == KN_OP_shl || op == KN_OP_shr ||
                         op == KN_OP_sar))
        return a;
    if (ca && x == 0 && (op == KN_OP_add || op == KN_OP_xor))
        return b;
    if (cb && y == 1 && (op == KN_OP_mul || op == KN_OP_udiv))
        return a;
    if (cb && (y & (y - 1)) == 0 && y > 0) {
        int s = __builtin_ctzll((uint64_t)y);

        if (op == KN_OP_udiv)
            return dist_i2(d, KN_OP_shr, a, dist_int(d, s));
        if (op == KN_OP_mul)
            return dist_i2(d, KN_OP_shl, a, dist_int(d, s));
        if (op == KN_OP_urem)
            return y == 1 ? dist_int(d, 0)
                          : dist_i2(d, KN_OP_and, a, dist_int(d, y - 1));
    }
    return dist_op(d, op, t, a, b);
}

kn_ref
dist_ic(struct dist *d, enum kn_op op, kn_ref a, int64_t b)
{
    return dist_i2(d, op, a, dist_int(d, b));
}

void
dist_move(struct dist *d, kn_ref dst, kn_ref src)
{
    dist_add(d, KN_OP_mov, dst)->arg[0] = src;
}

/* LLVM computes some uniform values (clamps by v_med3) in vector registers;
 * without `uniform` the resource would be a vector, and every access a loop
 * over lanes. On a value that is scalar already it costs nothing. */
kn_ref
dist_rsrc(struct dist *d, kn_ref base, kn_ref records)
{
    records = dist_op(d, KN_OP_uniform, kn_s32, records, 0);
    return dist_op(d, KN_OP_rsrc, (struct kn_type){ KN_T_rsrc, 1, 0 }, base,
                   records);
}

struct kn_ins *
dist_stg(struct dist *d, kn_ref r, kn_ref at, kn_ref v, uint8_t elem)
{
    struct kn_ins *s = dist_add(d, KN_OP_stg, 0);

    s->arg[0] = r;
    s->arg[1] = at;
    s->arg[2] = v;
    s->attr[KN_A_elem] = elem;
    return s;
}

kn_ref
dist_clamp(struct dist *d, kn_ref x, int64_t lo, int64_t hi)
{
    if (hi < INT32_MAX)
        x = dist_ic(d, KN_OP_smin, x, hi);
    x = dist_ic(d, KN_OP_smax, x, lo);
    return dist_op(d, KN_OP_uniform, kn_s32, x, 0);
}

kn_ref
dist_assume(struct dist *d, kn_ref x, int64_t most)
{
    return dist_i2(d, KN_OP_assume, x, dist_int(d, most));
}

kn_ref
dist_address(struct dist *d, kn_ref p, kn_ref row, kn_ref pitch, kn_ref bytes)
{
    kn_ref a = dist_op(d, KN_OP_addr, kn_s64, p, 0), off;

    if (row) {
        off = dist_op(d, KN_OP_mul, kn_s64,
                      dist_op(d, KN_OP_sext, kn_s64, row, 0),
                      dist_op(d, KN_OP_sext, kn_s64, pitch, 0));
        a = dist_op(d, KN_OP_add, kn_s64, a, off);
    }
    if (bytes)
        a = dist_op(d, KN_OP_add, kn_s64, a,
                    dist_op(d, KN_OP_sext, kn_s64, bytes, 0));
    return a;
}

kn_ref
dist_row_id(struct dist *d, const struct dist_rows *r, kn_ref row)
{
    kn_ref id = dist_temp(d, kn_v32), at = dist_ic(d, KN_OP_mul, row, 4);
    struct kn_ins *n = dist_add(d, KN_OP_ldg, id);

    n->arg[0] = r->ids;
    n->arg[1] = at;
    n->attr[KN_A_elem] = KN_T_i32;
    return id;
}

kn_ref
dist_slot_row(struct dist *d, const struct dist_rows *r, kn_ref token, kn_ref id)
{
    return dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_mul, token, r->topk),
                   dist_ic(d, KN_OP_shr, id, 24));
}

kn_ref
dist_row_offset(struct dist *d, const struct dist_rows *r, kn_ref id)
{
    kn_ref token = r->plain ? id : dist_ic(d, KN_OP_and, id, 0xffffff);
    kn_ref row, all = r->tokens, first = d->first, arg[3];

    if (first && r->plain)
        first = dist_i2(d, KN_OP_mul, first, r->topk);
    if (first)               /* those before it become huge */
        token = dist_i2(d, KN_OP_sub, token, first);
    row = token;
    if (r->plain) {
        all = dist_i2(d, KN_OP_mul, r->tokens, r->topk);
        row = r->slots ? token : dist_i2(d, KN_OP_udiv, token, r->topk);
    } else if (r->slots)
        row = dist_slot_row(d, r, token, id);
    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, token, all);
    arg[1] = dist_i2(d, KN_OP_mul, row, r->pitch);
    arg[2] = dist_int(d, 0x7fffffff);
    /* tokens * topk rows are within 31 bits, the launch checks */
    return dist_assume(d, dist_op3(d, KN_OP_select, kn_v32, arg), 0x7fffffff);
}

struct dist_tile *
dist_tile(struct dist *d, kn_ref r)
{
    return &d->tile[KN_REF_INDEX(r)];
}

/* The wave-level counterpart of a tile-level operand. */
kn_ref
dist_operand(struct dist *d, kn_ref r)
{
    const struct kn_const *k;

    switch (KN_REF_TAG(r)) {
    case KN_R_CONST:
        k = &d->in->konst[KN_REF_INDEX(r)];
        return k->is_float ? kn_flt(d->out, k->f) : kn_int(d->out, k->i);
    case KN_R_VAL:
        return r ? d->tile[KN_REF_INDEX(r)].val : 0;
    }
    return r;
}

static kiln_status
copy_scalar_op(struct dist *d, const struct kn_ins *i)
{
    struct kn_ins n = *i;
    struct dist_tile *t = dist_tile(d, i->dst);

    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        n.arg[a] = dist_operand(d, i->arg[a]);
    if (i->dst && !t->val) {
        t->kind = DT_SCALAR;
        t->val = dist_named(d, kn_val(d->in, i->dst)->type, "%s",
                            kn_val(d->in, i->dst)->name);
    }
    if (i->dst)
        n.dst = t->val;
    *kn_add(d->out, (enum kn_op)i->op, i->at) = n;
    return KILN_OK;
}

typedef kiln_status expand_fn(struct dist *, const struct kn_ins *);

#define KN_ROW_TILE(id) expand_##id
#define KN_ROW_WAVE(id) NULL
#define KN_ROW_BOTH(id) copy_scalar_op
#define KN_ROW_SHORT(id) NULL
static expand_fn *const expand[KN_NOP] = {
#define OP(id, text, level, ...) [KN_OP_##id] = KN_ROW_##level(id),
#include "../ops.def"
#undef OP
};

static void
wave_ids(struct dist *d)
{
    const struct kn_shape *s = &d->in->shape;

    d->lane = dist_named(d, kn_v32, "_lane");
    d->wave = dist_named(d, kn_s32, "_wave");
    dist_add(d, KN_OP_lane, d->lane);
    dist_add(d, KN_OP_wave, d->wave);
    d->tid = dist_i2(d, KN_OP_add, d->lane, dist_ic(d, KN_OP_shl, d->wave, 6));
    d->t = dist_ic(d, KN_OP_and, d->lane, 15);
    d->q = dist_ic(d, KN_OP_shr, d->lane, 4);
    d->wave_m = dist_ic(d, KN_OP_udiv, d->wave, s->wn);
    d->wave_n = dist_ic(d, KN_OP_urem, d->wave, s->wn);
}

static bool
in_loop(const struct kn_fn *f, const struct kn_ins *i)
{
    int depth = 0;

    for (const struct kn_ins *x = f->ins; x < i; x++)
        depth += (x->op == KN_OP_loop || x->op == KN_OP_if) -
                 (x->op == KN_OP_end);
    return depth > 0;
}

/* enter: the lane and wave numbers anew, and in a persistent kernel the
 * arguments too. They are read across lanes, which LLVM does not hoist, so
 * that addresses do not occupy registers from one tile to the next. */
kiln_status
expand_enter(struct dist *d, const struct kn_ins *i)
{
    if (d->lane)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at,
                          "a kernel enters its tile in one place");
    if (in_loop(d->in, i))
        dist_add(d, KN_OP_args, 0);
    wave_ids(d);
    return KILN_OK;
}

kiln_status
expand_window(struct dist *d, const struct kn_ins *i)
{
    d->first = dist_operand(d, i->arg[0]);
    return KILN_OK;
}

static bool
has_enter(const struct kn_fn *f)
{
    for (size_t i = 0; i < f->nins; i++)
        if (f->ins[i].op == KN_OP_enter)
            return true;
    return false;
}

static void
copy_header(struct dist *d)
{
    const struct kn_fn *f = d->in;
    struct kn_fn *o = d->out;

    o->name = f->name;
    o->at = f->at;
    o->level = KN_WAVE;
    o->target = f->target;
    o->shape = f->shape;
    for (size_t i = 1; i < f->nval; i++)
        if (f->val[i].arg) {
            d->tile[i].kind = DT_SCALAR;
            d->tile[i].val = kn_new_val(o, f->val[i].name, f->val[i].type);
            kn_val(o, d->tile[i].val)->arg = true;
            kn_val(o, d->tile[i].val)->max = f->val[i].max;
        }
    o->nlds = o->caplds = f->nlds;
    o->lds = KN_NEW(d->c, struct kn_lds, f->nlds + 1);
    if (f->nlds)
        memcpy(o->lds, f->lds, f->nlds * sizeof *f->lds);
}

kiln_status
kn_pass_distribute(struct kn_fn **fp)
{
    struct dist d = { .c = (*fp)->c, .in = *fp, .out = kn_fn_new((*fp)->c) };

    d.tile = KN_NEW(d.c, struct dist_tile, d.in->nval);
    d.lag = KN_NEW(d.c, struct dist_lag, d.in->nlds + 1);
    d.at = d.in->at;
    copy_header(&d);
    if (!has_enter(d.in))
        wave_ids(&d);
    for (size_t i = 0; i < d.in->nins; i++) {
        const struct kn_ins *ins = &d.in->ins[i];

        d.at = ins->at;
        KN_TRY(expand[ins->op](&d, ins));
    }
    *fp = d.out;
    return KILN_OK;
}

static expand_fn *const longer[KN_NOP] = {
#undef KN_ROW_TILE
#undef KN_ROW_BOTH
#undef KN_ROW_SHORT
#define KN_ROW_TILE(id) NULL
#define KN_ROW_BOTH(id) NULL
#define KN_ROW_SHORT(id) expand_##id
#define OP(id, text, level, ...) [KN_OP_##id] = KN_ROW_##level(id),
#include "../ops.def"
#undef OP
};

/* In place: the values of the kernel are those of what it becomes. */
kiln_status
kn_pass_short(struct kn_fn **fp)
{
    struct kn_fn *f = *fp;
    struct dist d = { .c = f->c, .in = f, .out = f, .ntemp = (unsigned)f->nval };
    struct kn_ins *old = f->ins;
    size_t n = f->nins, any = 0;

    for (size_t i = 0; i < n; i++)
        any += longer[old[i].op] != NULL;
    if (!any)
        return KILN_OK;
    f->ins = NULL;
    f->nins = f->capins = 0;
    for (size_t i = 0; i < n; i++) {
        d.at = old[i].at;
        if (longer[old[i].op])
            KN_TRY(longer[old[i].op](&d, &old[i]));
        else
            *kn_add(f, KN_OP_mov, old[i].at) = old[i];
    }
    return KILN_OK;
}
