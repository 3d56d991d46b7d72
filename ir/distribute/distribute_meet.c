/* distribute_meet.c - what waves of a wave-level kernel tell each other: those of a
 * workgroup by LDS, those of several by a count in memory.
 *
 * Nobody depends on another workgroup that has not begun: a wave looks at the count
 * so many times at most, and its kernel has another way to what the others find. */
#include "distribute.h"

enum { LOOKS = 1024 };       /* about a ms on either target */

/* group.max: a wave has `bytes` of the slot, of which it writes 256. */
kiln_status
expand_groupmax(struct dist *d, const struct kn_ins *i)
{
    kn_ref lane = dist_op(d, KN_OP_lane, kn_v32, 0, 0), own, v, all = 0;
    kn_ref at = dist_ic(d, KN_OP_shl, lane, 2);
    int32_t each = i->attr[KN_A_bytes];
    struct kn_ins *n;

    own = dist_ic(d, KN_OP_mul, dist_op(d, KN_OP_wave, kn_s32, 0, 0), each);
    own = dist_i2(d, KN_OP_add, at, own);
    v = dist_op(d, KN_OP_mov, kn_v32, i->arg[0], 0);
    n = dist_add(d, KN_OP_lds_st, 0);
    n->arg[0] = i->arg[1];
    n->arg[1] = own;
    n->arg[2] = v;
    n->attr[KN_A_elem] = KN_T_i32;
    dist_add(d, KN_OP_fence, 0)->attr[KN_A_lgkm] = 0;
    dist_add(d, KN_OP_barrier, 0);
    for (uint32_t w = 0; w < kn_waves(d->in); w++) {
        v = dist_temp(d, kn_v32);
        n = dist_add(d, KN_OP_lds_ld, v);
        n->arg[0] = i->arg[1];
        n->arg[1] = at;
        n->attr[KN_A_elem] = KN_T_i32;
        n->attr[KN_A_offset] = (int32_t)w * each;
        all = all ? dist_i2(d, KN_OP_umax, all, v) : v;
    }
    dist_move(d, i->dst, all);
    return KILN_OK;
}

static void
set_if(struct dist *d, kn_ref to, kn_ref cond)
{
    dist_move(d, to, dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
        cond, dist_int(d, 1), dist_int(d, 0) }));
}

void
dist_look(struct dist *d, const struct dist_counter *c, kn_ref looks, kn_ref met)
{
    kn_ref done = dist_temp(d, kn_s32), all;

    dist_move(d, done, dist_int(d, 0));
    dist_add(d, KN_OP_loop, 0);
    all = dist_count_seen(d, c->r, c->at, c->most);
    set_if(d, met, all);
    dist_move(d, done, dist_ic(d, KN_OP_add, done, 1));
    dist_add(d, KN_OP_break, 0)->arg[0] = all;
    all = dist_op(d, KN_OP_sge, kn_sb1, done, looks);
    dist_add(d, KN_OP_break, 0)->arg[0] = all;
    dist_add(d, KN_OP_end, 0);
}

void
dist_count_out(struct dist *d, const struct dist_counter *c, kn_ref last)
{
    kn_ref old = dist_count_at(d, c->r, c->at, c->most);

    dist_add(d, KN_OP_fence, 0)->attr[KN_A_vm] = 0;
    old = dist_op(d, KN_OP_uniform, kn_s32, old, 0);
    set_if(d, last, dist_op(d, KN_OP_eq, kn_sb1, old, c->most));
}

kiln_status
expand_meet(struct dist *d, const struct kn_ins *i)
{
    kn_ref at = dist_op(d, KN_OP_mov, kn_v32, i->arg[1], 0);
    const struct dist_counter c = { i->arg[0], at, i->arg[2] };

    d->lane = dist_op(d, KN_OP_lane, kn_v32, 0, 0);
    dist_count_at(d, c.r, c.at, dist_int(d, INT32_MAX));
    dist_look(d, &c, dist_int(d, LOOKS), i->dst);
    return KILN_OK;
}

kiln_status
expand_leave(struct dist *d, const struct kn_ins *i)
{
    kn_ref at = dist_op(d, KN_OP_mov, kn_v32, i->arg[1], 0);
    const struct dist_counter c = { i->arg[0], at,
                                    dist_ic(d, KN_OP_add, i->arg[2], -1) };

    d->lane = dist_op(d, KN_OP_lane, kn_v32, 0, 0);
    dist_count_out(d, &c, i->dst);
    return KILN_OK;
}
