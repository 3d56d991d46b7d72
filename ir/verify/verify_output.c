/* verify_output.c - operations that store outputs or make codes and scales of
 * them: their elements, widths and what the target has. */
#include "verify.h"

/* Outputs of 8 bits, or what has their places (acc.apply). */
static kiln_status
check_codes(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t vec = i->attr[KN_A_vec];

    if (i->attr[KN_A_add] || i->attr[KN_A_atomic])
        return FAIL(f, i->at, "nothing is added to 8-bit outputs");
    if (vec != 1 && vec != 4)
        return FAIL(f, i->at, "8-bit outputs are stored with vec=1 or 4");
    return KILN_OK;
}

kiln_status
kn_verify_output(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem], vec = i->attr[KN_A_vec];

    if (e == KN_T_fp8 || e == KN_T_bf8 || e == KN_T_i8 ||
        (e == KN_T_fp4 && i->op == KN_OP_apply))
        return check_codes(f, i);
    if (e != KN_T_f32 && e != KN_T_f16 && e != KN_T_bf16 && e != KN_T_i32 &&
        e != KN_T_f64)
        return FAIL(f, i->at, "store needs elem=f64, f32, f16, bf16, i32, fp8, "
                    "bf8 or i8");
    if (e == KN_T_f64 && (vec > 2 || (i->op == KN_OP_apply ? kn_sum_dwords(f) == 1
                                                          : i->arg[7] != 0)))
        return FAIL(f, i->at, "f64 is stored with vec=1 or 2, neither by way of "
                    "LDS nor from an expression of f32");
    if (vec == 8 && (i->op == KN_OP_zero || kn_elems[e].bits != 16 ||
                     !kn_targets[f->target].swaps ||
                     i->attr[KN_A_add] || i->arg[7]))
        return FAIL(f, i->at, "store vec=8 is for 16 bits on gfx950, neither "
                    "added nor by way of LDS");
    if (i->op == KN_OP_store && i->attr[KN_A_atomic] &&
        (((e != KN_T_bf16 || vec == 1) && e != KN_T_f32) ||
         i->attr[KN_A_add] || i->arg[7]))
        return FAIL(f, i->at, "store atomic=1 adds pairs of bf16 or f32, not by "
                    "way of LDS");
    if (i->attr[KN_A_any] &&
        (vec != 1 || i->attr[KN_A_random] || i->attr[KN_A_atomic]))
        return FAIL(f, i->at, "store any=1 is of vec=1, neither rounded at random nor "
                    "atomic");
    if (i->op == KN_OP_store && is_value(i->arg[7])) {
        if (i->attr[KN_A_random] || i->attr[KN_A_parts] > 1 ||
            i->attr[KN_A_splits] < 1 || i->attr[KN_A_splits] > 16)
            return FAIL(f, i->at, "store of slices takes splits= from 1 to 16, the "
                        "tile whole, nothing at random");
    }
    if (vec != 1 && vec != 2 && vec != 4 && vec != 8)
        return FAIL(f, i->at, "store writes vec=1, 2, 4 or 8 elements at once");
    return KILN_OK;
}

kiln_status
kn_verify_format(const struct kn_fn *f, const struct kn_ins *i)
{
    int elem = i->attr[KN_A_elem];

    if (!kn_targets[f->target].scaled)
        return FAIL(f, i->at, "%s has no scaled conversions",
                    kiln_target_name(f->target));
    if (elem != KN_T_fp4 && elem != KN_T_fp8)
        return FAIL(f, i->at, "%s makes fp4 or fp8", name_of(i));
    if (i->attr[KN_A_mode] < 0 || i->attr[KN_A_mode] > 3)
        return FAIL(f, i->at, "mode= is 0 to 3");
    return KILN_OK;
}

kiln_status
kn_verify_near(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t lanes = i->attr[KN_A_parts], span = i->attr[KN_A_span];

    if (span != 1 && (span != 16 || lanes != 4))
        return FAIL(f, i->at, "near.max takes lanes side by side, or parts=4 lanes with span=16");
    return lanes == 4 || lanes == 8 || lanes == 16 ? KILN_OK
           : FAIL(f, i->at, "near.max takes parts=4, 8 or 16 lanes");
}

/* 16 bytes of a row. */
kiln_status
kn_verify_run(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem];
    struct kn_type x, to = type_of(f, i->dst);

    KN_TRY(need_registers(f, i, 0, 2));
    x = type_of(f, i->arg[0]);
    if (x.elem != KN_T_i32 || x.n != 4 || to.elem != KN_T_i32 || to.n != 4 || !to.lane)
        return FAIL(f, i->at, "run.shift and run.cut make v.i32x4 of one");
    if (i->op == KN_OP_runcut && e != KN_T_f32 && e != KN_T_bf16 && e != KN_T_f16)
        return FAIL(f, i->at, "run.cut needs elem=f32, bf16 or f16");
    return KILN_OK;
}

kiln_status
kn_verify_part(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type x = type_of(f, i->arg[2]);

    return x.elem == KN_T_i32 && x.n <= 2 ? KILN_OK
           : FAIL(f, i->at, "stg.part stores bytes of i32 or i32x2");
}

kiln_status
kn_verify_magnitude(const struct kn_fn *f, const struct kn_ins *i)
{
    uint8_t e;

    KN_TRY(need_registers(f, i, 0, 1));
    e = type_of(f, i->arg[0]).elem;
    if (e != KN_T_f32 && (e != KN_T_f64 || !i->attr[KN_A_mode]))
        return FAIL(f, i->at, "%s is for f32, with mode=1 for f64", name_of(i));
    return need_result(f, i, e, 1);
}

/* store.quant: codes with a scale for some columns, or blocks of 32. */
kiln_status
kn_verify_written(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem], cols = i->attr[KN_A_cols];
    int32_t vec = i->attr[KN_A_vec];

    if (vec != 1 && vec != 4)
        return FAIL(f, i->at, "%s has vec=1 or 4", name_of(i));
    if (cols == 32)
        return kn_verify_format(f, i);
    if (e != KN_T_fp8 && e != KN_T_bf8 && e != KN_T_i8)
        return FAIL(f, i->at, "%s makes fp8, bf8 or i8", name_of(i));
    return !cols || cols == 128 ? KILN_OK
           : FAIL(f, i->at, "a scale is of cols=32, 128 or 0, all");
}

kiln_status
kn_verify_largest(const struct kn_fn *f, const struct kn_ins *i)
{
    kn_ref slot = i->arg[i->op == KN_OP_rowmax];
    const struct kn_lds *l;

    if (!slot)
        return KILN_OK;
    l = &f->lds[KN_REF_LDS(slot)];
    return l->elem == KN_T_f32 && !l->mem && l->slots && l->lk &&
                   l->rows >= f->shape.wn && l->cols >= f->shape.bm
           ? KILN_OK
           : FAIL(f, i->at, "%s has an LDS tile of f32, a row for each "
                  "wave along N as long as the tile has rows", name_of(i));
}

kiln_status
kn_verify_scaled(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem];

    if (e != KN_T_fp8 && e != KN_T_bf8 && e != KN_T_i8)
        return FAIL(f, i->at, "%s makes fp8, bf8 or i8", name_of(i));
    return KILN_OK;
}

/* cvt.mx with parts=3: of fp4 eight elements, else four. */
static kiln_status
verify_in_place(const struct kn_fn *f, const struct kn_ins *i, struct kn_type x)
{
    int32_t to = i->attr[KN_A_elem];
    struct kn_type scale = type_of(f, i->arg[1]);

    if (to != KN_T_fp4 && to != KN_T_fp8 && to != KN_T_bf8)
        return FAIL(f, i->at, "%s makes fp8, bf8 or fp4", name_of(i));
    if (x.n != (to == KN_T_fp4 ? 8 : 4) || scale.elem != KN_T_f32 || scale.n != 1 ||
        (x.elem != KN_T_f32 && x.elem != KN_T_bf16 && x.elem != KN_T_f16))
        return FAIL(f, i->at, "%s parts=3 takes four, for fp4 eight, of f32, bf16 or "
                    "f16, and v.f32", name_of(i));
    if (!kn_targets[f->target].scaled)
        return FAIL(f, i->at, "%s parts=3 is of targets with scaled conversions",
                    name_of(i));
    return need_result(f, i, KN_T_i32, 1);
}

kiln_status
kn_verify_sixes(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem];
    struct kn_type x;

    KN_TRY(need_registers(f, i, 0, i->arg[1] ? 2 : 1));
    x = type_of(f, i->arg[0]);
    if (x.n != 32 || x.elem != (i->arg[1] ? KN_T_f16 : KN_T_f32))
        return FAIL(f, i->at, "cvt.6 takes v.f32x32, or v.f16x32 and v.f32");
    if ((e != KN_T_fp6 && e != KN_T_bf6) || !kn_targets[f->target].scaled)
        return FAIL(f, i->at, "cvt.6 needs elem=fp6 or bf6, on gfx950");
    x = type_of(f, i->dst);
    return x.elem == KN_T_i32 && x.n == 6 && x.lane
           ? KILN_OK : FAIL(f, i->at, "the result of cvt.6 is v.i32x6");
}

kiln_status
kn_verify_drawn(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type x, scale, words;

    KN_TRY(need_registers(f, i, 0, 3));
    x = type_of(f, i->arg[0]);
    scale = type_of(f, i->arg[1]);
    words = type_of(f, i->arg[2]);
    if (x.elem != KN_T_bf16 || x.n != 8 || scale.elem != KN_T_f32 || scale.n != 1 ||
        words.elem != KN_T_i32 || words.n != 2)
        return FAIL(f, i->at, "cvt.sr takes v.bf16x8, v.f32 and v.i32x2");
    if (!kn_targets[f->target].scaled)
        return FAIL(f, i->at, "cvt.sr is of targets with scaled conversions");
    return need_result(f, i, KN_T_i32, 1);
}

/* quad.max: one f32 a lane; cvt.mx: four of them and one. */
kiln_status
kn_verify_quantise(const struct kn_fn *f, const struct kn_ins *i)
{
    bool pack = i->op == KN_OP_cvtmx;
    struct kn_type x;

    KN_TRY(need_registers(f, i, 0, 2));
    x = type_of(f, i->arg[0]);
    if (pack && i->attr[KN_A_parts] == 3)
        return verify_in_place(f, i, x);
    if (pack && i->attr[KN_A_elem] == KN_T_fp4 && x.n == 4 &&
        (x.elem == KN_T_bf16 || x.elem == KN_T_f16))
        return kn_verify_format(f, i);
    if (bits_of(type_of(f, i->arg[0])) != (pack ? 128 : 32) ||
        type_of(f, i->arg[0]).elem != KN_T_f32 ||
        (pack && (bits_of(type_of(f, i->arg[1])) != 32 ||
                  type_of(f, i->arg[1]).elem != KN_T_f32)))
        return FAIL(f, i->at, "%s takes v.f32%s", name_of(i),
                    pack ? "x4 and v.f32" : "");
    KN_TRY(need_result(f, i, pack ? KN_T_i32 : KN_T_f32, 1));
    if (pack)
        return kn_verify_format(f, i);
    return KILN_OK;
}

kiln_status
kn_verify_gate(const struct kn_fn *f, const struct kn_ins *i)
{
    if (i->attr[KN_A_act] < 0 || i->attr[KN_A_act] >= KN_GATES)
        return FAIL(f, i->at, "act= is 0 to %d", KN_GATES - 1);
    return KILN_OK;
}
