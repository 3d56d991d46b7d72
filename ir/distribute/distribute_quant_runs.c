/* distribute_quant_runs.c - runs of quant's rows that begin and end anywhere: 16 bytes that begin
 * inside a dword (run.shift), what of them is behind the row (run.cut), and stores of the
 * last bytes of a row (stg.part). None has a branch, so that all workgroups are as long. */
#include "distribute.h"

enum { NEXT_LANE = 15, PIECES = 3 };

static void
words_of(struct dist *d, kn_ref run, kn_ref word[4])
{
    for (uint32_t e = 0; e < 4; e++)
        word[e] = dist_slice(d, run, e);
}

/* The dword behind is the next lane's first, but where that has none. What is loaded is held:
 * LLVM would use it, and wait for it, before the wait that was asked for. */
kiln_status
expand_runshift(struct dist *d, const struct kn_ins *i)
{
    kn_ref word[5], sel, next = dist_temp(d, kn_v32), all[4];
    struct kn_ins *roll;

    words_of(d, i->arg[0], word);
    for (uint32_t e = 0; e < 4; e++)
        word[e] = dist_as(d, KN_T_i32, 1, dist_op(d, KN_OP_held, kn_vf32,
                                                  dist_as(d, KN_T_f32, 1, word[e]), 0));
    roll = dist_add(d, KN_OP_roll, next);
    roll->arg[0] = word[0];
    roll->attr[KN_A_first] = NEXT_LANE;
    word[4] = dist_pick(d, i->arg[3], i->arg[1], next);
    sel = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_and, i->arg[2], 2), 0x01010101);
    sel = dist_ic(d, KN_OP_add, sel, 0x03020100);
    for (uint32_t e = 0; e < 4; e++)
        all[e] = dist_op3(d, KN_OP_perm, kn_v32, (kn_ref[]){ word[e + 1], word[e], sel });
    dist_cat_to(d, i->dst, all, 4);
    return KILN_OK;
}

/* Both halves of a dword at once: the sign of an element's number less that of the first
 * behind the row is its mask. */
static void
cut_halves(struct dist *d, kn_ref left, kn_ref word[4])
{
    kn_ref two = dist_op(d, KN_OP_smin, kn_v32, left, dist_int(d, 8));

    two = dist_perm(d, two, two, 0x01000100);
    for (uint32_t e = 0; e < 4; e++) {
        kn_ref mask = dist_pair_op(d, KN_OP_sub, dist_number(d, e * 0x20002 + 0x10000), two);

        mask = dist_op(d, KN_OP_sar, dist_vec(KN_T_i16, 2), dist_as(d, KN_T_i16, 2, mask),
                       dist_int(d, 15));
        word[e] = dist_i2(d, KN_OP_and, word[e], dist_as(d, KN_T_i32, 1, mask));
    }
}

kiln_status
expand_runcut(struct dist *d, const struct kn_ins *i)
{
    kn_ref word[4];

    words_of(d, i->arg[0], word);
    if (i->attr[KN_A_elem] != KN_T_f32)
        cut_halves(d, i->arg[1], word);
    else
        for (uint32_t e = 0; e < 4; e++)
            word[e] = dist_pick(d, dist_op(d, KN_OP_sge, kn_vb1, i->arg[1],
                                           dist_int(d, e + 1)), word[e], dist_int(d, 0));
    dist_cat_to(d, i->dst, word, 4);
    return KILN_OK;
}

/* A number of bytes is a sum of 4, 2 and 1. */
kiln_status
expand_stgpart(struct dist *d, const struct kn_ins *i)
{
    static const uint8_t elem[PIECES] = { KN_T_i32, KN_T_i16, KN_T_i8 };
    bool pair = kn_val(d->out, i->arg[2])->type.n == 2;
    kn_ref at = i->arg[1], v = pair ? dist_slice(d, i->arg[2], 0) : i->arg[2];

    for (int n = !pair; n < PIECES; n++) {
        kn_ref part = dist_ic(d, KN_OP_and, i->arg[3], 4 >> n);
        kn_ref here = dist_op(d, KN_OP_ne, kn_vb1, part, dist_int(d, 0));

        dist_stg(d, i->arg[0], dist_pick(d, here, at, dist_int(d, INT32_MAX)), v, elem[n]);
        if (n == PIECES - 1)
            break;
        v = dist_pick(d, here, n ? dist_ic(d, KN_OP_shr, v, 16) : dist_slice(d, i->arg[2], 1), v);
        at = dist_i2(d, KN_OP_add, at, part);
    }
    return KILN_OK;
}
