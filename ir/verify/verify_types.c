/* verify_types.c - types of operands and results, operation by operation: what
 * LLVM would reject, crash on or give no meaning to. Operand counts, letters
 * and uniformity have been checked. */
#include "verify.h"

static kiln_status
need_same(const struct kn_fn *f, const struct kn_ins *i, struct kn_type t,
          int from)
{
    for (int a = from; a < KN_MAXARG && i->arg[a]; a++) {
        struct kn_type x;

        if (!is_value(i->arg[a]))
            continue;
        x = type_of(f, i->arg[a]);
        if (x.elem != t.elem || x.n != t.n)
            return FAIL(f, i->at, "operand %d of %s must be of the type of %s",
                        a + 1, name_of(i), from ? "the result" : "the first");
    }
    return KILN_OK;
}

/* A constant second operand that gives no result. */
static kiln_status
check_constant(const struct kn_fn *f, const struct kn_ins *i)
{
    bool divide = i->op == KN_OP_udiv || i->op == KN_OP_urem;
    bool shift = i->op == KN_OP_shl || i->op == KN_OP_shr ||
                 i->op == KN_OP_sar;
    int64_t k;

    if ((!divide && !shift) || is_value(i->arg[1]))
        return KILN_OK;
    k = f->konst[KN_REF_INDEX(i->arg[1])].i;
    if (divide && !k)
        return FAIL(f, i->at, "%s by zero", name_of(i));
    if (shift && (k < 0 || k >= kn_elems[type_of(f, i->dst).elem].bits))
        return FAIL(f, i->at, "%s by %lld is outside its %u bits", name_of(i),
                    (long long)k, kn_elems[type_of(f, i->dst).elem].bits);
    return KILN_OK;
}

static kiln_status
check_compare(const struct kn_fn *f, const struct kn_ins *i)
{
    if (!is_value(i->arg[0]))
        return FAIL(f, i->at, "operand 1 of %s must be a register, not a "
                    "number", name_of(i));
    if (type_of(f, i->arg[0]).n != type_of(f, i->dst).n)
        return FAIL(f, i->at, "%s has as many results as elements",
                    name_of(i));
    return need_same(f, i, type_of(f, i->arg[0]), 0);
}

static kiln_status
check_width(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type to = type_of(f, i->dst), from = { KN_T_i32, 1, 0 };
    uint32_t t = kn_elems[to.elem].bits, s;

    if (i->op == KN_OP_cvt)
        KN_TRY(need_registers(f, i, 0, 1));
    if (is_value(i->arg[0]))     /* a number is an i32 here */
        from = type_of(f, i->arg[0]);
    s = kn_elems[from.elem].bits;
    if (from.n != to.n)
        return FAIL(f, i->at, "%s keeps the number of elements", name_of(i));
    if (i->op == KN_OP_i2f ? from.elem != KN_T_i32
        : i->op == KN_OP_cvt ? s == t
        : i->op == KN_OP_trunc ? s <= t : s >= t)
        return FAIL(f, i->at, "%s cannot make %s of %s", name_of(i),
                    kn_elems[to.elem].text, kn_elems[from.elem].text);
    return KILN_OK;
}

static kiln_status
check_cat(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);
    int n = 0;

    KN_TRY(need_registers(f, i, 0, KN_MAXARG));
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        if (type_of(f, i->arg[a]).elem != t.elem)
            return FAIL(f, i->at, "operand %d of cat has other elements than "
                        "its result", a + 1);
        n += type_of(f, i->arg[a]).n;
    }
    if (n != t.n)
        return FAIL(f, i->at, "cat makes %d elements, its result has %d", n,
                    t.n);
    return KILN_OK;
}

static kiln_status
check_slice(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst), x;
    int32_t first = i->attr[KN_A_first];

    KN_TRY(need_registers(f, i, 0, 1));
    x = type_of(f, i->arg[0]);
    if (x.elem != t.elem || x.n < 2)
        return FAIL(f, i->at, "slice takes elements of its result's type from "
                    "a vector");
    if (first < 0 || first + t.n > x.n)
        return FAIL(f, i->at, "elements %d to %d of a vector of %d", first,
                    first + t.n - 1, x.n);
    return KILN_OK;
}

static kiln_status
check_splat(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    if (t.n < 2 || (is_value(i->arg[0]) &&
                    (type_of(f, i->arg[0]).n != 1 ||
                     type_of(f, i->arg[0]).elem != t.elem)))
        return FAIL(f, i->at, "splat makes a vector of one element of its "
                    "type");
    return KILN_OK;
}

static kiln_status
check_bits(const struct kn_fn *f, const struct kn_ins *i)
{
    KN_TRY(need_registers(f, i, 0, 1));
    if (bits_of(type_of(f, i->arg[0])) != bits_of(type_of(f, i->dst)))
        return FAIL(f, i->at, "bits keeps the number of bits");
    return KILN_OK;
}

static kiln_status
check_uniform(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    KN_TRY(need_registers(f, i, 0, 1));
    KN_TRY(need_same(f, i, t, 0));
    if (t.lane || t.n != 1 || kn_elems[t.elem].bits < 32)
        return FAIL(f, i->at, "the result of uniform is s.i32 or s.i64");
    return KILN_OK;
}

/* ---- memory ---- */

/* `r` is what is loaded or stored. */
static kiln_status
check_access(const struct kn_fn *f, const struct kn_ins *i, kn_ref r)
{
    struct kn_type t = type_of(f, r);
    int32_t e = i->attr[KN_A_elem];
    uint32_t bits = bits_of(t);

    if (e && kn_elems[e].bits != kn_elems[t.elem].bits) {
        if (t.elem != KN_T_i32 || t.n != 1 || (e != KN_T_i8 && e != KN_T_i16))
            return FAIL(f, i->at, "%s of %s in memory needs a register of that "
                        "width, or v.i32 for i8 and i16", name_of(i),
                        kn_elems[e].text);
        bits = kn_elems[e].bits;
    }
    if (kn_elems[t.elem].kind > KN_E_FLOAT || t.elem == KN_T_b1 || bits > 128 ||
        (bits > 16 && bits % 32) || bits == 24)
        return FAIL(f, i->at, "%s moves 1, 2, 4, 8, 12 or 16 bytes a lane",
                    name_of(i));
    return KILN_OK;
}

static kiln_status
check_load(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);
    int32_t tr = i->attr[KN_A_tr];

    if (!t.lane)
        return FAIL(f, i->at, "the result of %s differs per lane", name_of(i));
    if (i->op == KN_OP_lds_ld && tr &&
        ((tr != 8 && tr != 16) || t.elem != KN_T_i32 || t.n != 2))
        return FAIL(f, i->at, "a transposing read has elements of 8 or 16 bits "
                    "and the result v.i32x2");
    return check_access(f, i, i->dst);
}

static kiln_status
check_store(const struct kn_fn *f, const struct kn_ins *i)
{
    KN_TRY(need_registers(f, i, 2, 3));
    return check_access(f, i, i->arg[2]);
}

static kiln_status
check_maximum(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = { KN_T_i32, 1, 0 };

    if (is_value(i->arg[2]))
        t = type_of(f, i->arg[2]);
    if ((t.elem != KN_T_i32 && t.elem != KN_T_i64) || t.n != 1 ||
        i->attr[KN_A_elem] != t.elem)
        return FAIL(f, i->at, "atom.max is of one i32, elem=i32, or one i64, "
                    "elem=i64");
    return check_store(f, i);
}

static kiln_status
check_ldu(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);
    int32_t e = i->attr[KN_A_elem];

    if (t.lane || bits_of(t) < 32 || bits_of(t) > 64 || t.n != 1 ||
        (e && kn_elems[e].bits != kn_elems[t.elem].bits))
        return FAIL(f, i->at, "ldu loads uniform values of 4 or 8 bytes");
    return KILN_OK;
}

static kiln_status
check_accumulator(const struct kn_fn *f, const struct kn_ins *i)
{
    KN_TRY(need_registers(f, i, 2, 3));
    if (type_of(f, i->arg[2]).elem != type_of(f, i->dst).elem ||
        type_of(f, i->arg[2]).n != type_of(f, i->dst).n)
        return FAIL(f, i->at, "operand 3 of %s must be of its result's type",
                    name_of(i));
    return KILN_OK;
}

static kiln_status
check_unpack(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);
    int32_t e = i->attr[KN_A_elem], first = i->attr[KN_A_first];

    if (t.elem != KN_T_f32 || t.n != 2 || !t.lane)
        return FAIL(f, i->at, "the result of unpack is v.f32x2");
    if (e != KN_T_fp8 && e != KN_T_bf8 &&
        (e != KN_T_fp4 || !kn_targets[f->target].scaled))
        return FAIL(f, i->at, "unpack needs elem=fp8 or bf8, on gfx950 also "
                    "fp4");
    if (first < 0 || first * kn_elems[e].bits > 24 ||
        first * kn_elems[e].bits % (2 * kn_elems[e].bits))
        return FAIL(f, i->at, "unpack takes two elements of a dword, from an "
                    "even one on");
    return KILN_OK;
}

static kiln_status
check_widen(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem], first = i->attr[KN_A_first];

    if ((e != KN_T_fp8 && e != KN_T_bf8 && e != KN_T_fp4) ||
        !kn_targets[f->target].scaled)
        return FAIL(f, i->at, "widen needs elem=fp8, bf8 or fp4, on gfx950");
    if (first < 0 || first % 2 || (uint32_t)first * kn_elems[e].bits >= 32)
        return FAIL(f, i->at, "widen takes two elements of a dword, from an "
                    "even one on");
    KN_TRY(need_registers(f, i, 0, 2));
    return need_result(f, i, KN_T_i32, 1);
}

static kiln_status
check_unpack32(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst), from = type_of(f, i->arg[0]);
    int32_t e = i->attr[KN_A_elem];

    if (t.elem != KN_T_f32 || t.n != 32 || !t.lane)
        return FAIL(f, i->at, "the result of unpack32 is v.f32x32");
    if ((e != KN_T_fp6 && e != KN_T_bf6) || !kn_targets[f->target].scaled)
        return FAIL(f, i->at, "unpack32 needs elem=fp6 or bf6, on gfx950");
    if (from.elem != KN_T_i32 || from.n != 6)
        return FAIL(f, i->at, "unpack32 takes 32 elements of 6 bits, an i32x6");
    return KILN_OK;
}

static kiln_status
check_random(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    return t.elem == KN_T_i32 && t.n == 4 && t.lane ? KILN_OK
           : FAIL(f, i->at, "the result of random is v.i32x4");
}

static bool
one_of(const struct kn_fn *f, kn_ref r, uint8_t elem)
{
    return r && type_of(f, r).elem == elem && type_of(f, r).n == 1;
}

static kiln_status
check_fours(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst), from;
    bool pairs, numbers;

    KN_TRY(need_registers(f, i, 0, 1));
    from = type_of(f, i->arg[0]);
    pairs = from.elem == KN_T_i32 && from.n == 4 && one_of(f, i->arg[1], KN_T_i32) && i->arg[2];
    numbers = from.elem == KN_T_f32 && from.n == 8 && !i->arg[2] &&
              (!i->arg[1] || one_of(f, i->arg[1], KN_T_f32));
    if (t.elem != KN_T_i32 || t.n != 1 || !t.lane)
        return FAIL(f, i->at, "the result of codes.4 is v.i32");
    return pairs || (numbers && kn_targets[f->target].fnuz) ? KILN_OK
           : FAIL(f, i->at, "codes.4 takes v.i32x4 and two of v.i32, or of gfx942 v.f32x8, "
                            "and v.f32 if that is multiplied");
}

static kiln_status
check_transform(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst), from;
    int32_t elem = i->attr[KN_A_elem], cols = i->attr[KN_A_cols];

    KN_TRY(need_registers(f, i, 0, 1));
    from = type_of(f, i->arg[0]);
    if ((elem != KN_T_bf16 && elem != KN_T_f16 && elem != KN_T_f32) ||
        (cols != 16 && cols != 32))
        return FAIL(f, i->at, "transform is of cols=16 or 32 numbers of f32, bf16 or f16");
    if (t.elem != KN_T_f32 || t.n != 8 || !t.lane)
        return FAIL(f, i->at, "the result of transform is v.f32x8");
    return elem == KN_T_f32 ? need_same(f, i, t, 0)
         : from.elem == KN_T_i32 && from.n == 4 ? KILN_OK
         : FAIL(f, i->at, "transform takes v.i32x4 of 16-bit numbers");
}

static kiln_status
check_stepped(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst), from;

    KN_TRY(need_registers(f, i, 0, 1));
    from = type_of(f, i->arg[0]);
    return t.elem == KN_T_f32 && t.n == 2 && t.lane && from.elem == t.elem && from.n == t.n
           ? KILN_OK : FAIL(f, i->at, "random.step makes v.f32x2 of one");
}

static kiln_status
check_drawn(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst), from;
    bool pairs;

    KN_TRY(need_registers(f, i, 0, 1));
    from = type_of(f, i->arg[0]);
    pairs = from.elem == KN_T_i32 && from.n == 4 && i->arg[5];
    if (!pairs && (from.elem != KN_T_f32 || from.n != 8 || i->arg[4]))
        return FAIL(f, i->at, "random.codes takes v.f32x8, or v.i32x4 and two of v.i32 more");
    if (t.elem == KN_T_f16 && t.n == 8 && t.lane && kn_elems[i->attr[KN_A_elem]].bits == 6)
        return KILN_OK;
    return t.elem == KN_T_i32 && t.n == 2 && t.lane
           ? KILN_OK : FAIL(f, i->at, "the result of random.codes is v.i32x2, or of 6 bits "
                                      "v.f16x8");
}

static kiln_status
check_at_random(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    KN_TRY(need_registers(f, i, 0, 1));
    return t.elem == KN_T_f32 && (t.n == 1 || t.n == 4) && t.lane &&
                   type_of(f, i->arg[0]).elem == t.elem &&
                   type_of(f, i->arg[0]).n == t.n
           ? KILN_OK : FAIL(f, i->at, "at.random makes v.f32 or v.f32x4 of one");
}

static kiln_status
check_wg(const struct kn_fn *f, const struct kn_ins *i)
{
    if (i->attr[KN_A_first] < 0 || i->attr[KN_A_first] > 2)
        return FAIL(f, i->at, "workgroups are counted along x, or with first=1 "
                    "along y, 2 along z");
    return need_result(f, i, KN_T_i32, 0);
}

static kiln_status
check_fold(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    KN_TRY(need_registers(f, i, 0, 2));
    if ((t.elem != KN_T_f32 && t.elem != KN_T_i32) || t.n != 1 || !t.lane)
        return FAIL(f, i->at, "fold adds v.f32 or v.i32");
    if (i->attr[KN_A_first] < 0 || i->attr[KN_A_first] > 3)
        return FAIL(f, i->at, "fold pairs lanes of one row: first=0 to 3");
    return need_same(f, i, t, 0);
}

static kiln_status
check_turn(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    KN_TRY(need_registers(f, i, 0, 1));
    if (!kn_targets[f->target].swaps)
        return FAIL(f, i->at, "%s cannot exchange rows of lanes",
                    kiln_target_name(f->target));
    if (t.elem != KN_T_i32 || t.n != 4 || !t.lane)
        return FAIL(f, i->at, "rows.turn is for v.i32x4");
    return need_same(f, i, t, 0);
}

static kiln_status
check_flip(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    KN_TRY(need_registers(f, i, 0, 2));
    if (t.elem != KN_T_i32 || !t.lane)
        return FAIL(f, i->at, "rows.flip is for v.i32 and vectors of it");
    if (i->attr[KN_A_first] < 0 || i->attr[KN_A_first] > 1)
        return FAIL(f, i->at, "rows.flip keeps a half of a row: first=0 or 1");
    return need_same(f, i, t, 0);
}

static kiln_status
check_roll(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t = type_of(f, i->dst);

    KN_TRY(need_registers(f, i, 0, 1));
    if (t.elem != KN_T_i32 || t.n != 1 || !t.lane)
        return FAIL(f, i->at, "row.roll is for v.i32");
    if (i->attr[KN_A_span] == 64)
        return i->attr[KN_A_first] == 63 ? need_same(f, i, t, 0)
             : FAIL(f, i->at, "row.roll around 64 lanes is by one: span=64 first=63");
    if (i->attr[KN_A_first] < 1 || i->attr[KN_A_first] > 15)
        return FAIL(f, i->at, "row.roll goes around 16 lanes: first=1 to 15");
    if (i->attr[KN_A_span] != 1 && (i->attr[KN_A_span] != 16 || i->attr[KN_A_first] > 3))
        return FAIL(f, i->at, "row.roll goes around four rows of lanes: span=16, first=1 to 3");
    return need_same(f, i, t, 0);
}

static kiln_status
check_float(const struct kn_fn *f, const struct kn_ins *i)
{
    KN_TRY(need_registers(f, i, 0, 1));
    KN_TRY(need_same(f, i, type_of(f, i->dst), 0));
    if (type_of(f, i->dst).elem != KN_T_f32)
        return FAIL(f, i->at, "%s is for f32", name_of(i));
    return KILN_OK;
}

static kiln_status
check_either(const struct kn_fn *f, const struct kn_ins *i)
{
    if (type_of(f, i->dst).elem != KN_T_f64)
        return check_float(f, i);
    KN_TRY(need_registers(f, i, 0, 1));
    return need_same(f, i, type_of(f, i->dst), 0);
}

static kiln_status
check_divide(const struct kn_fn *f, const struct kn_ins *i)
{
    KN_TRY(need_same(f, i, type_of(f, i->dst), 0));
    if (type_of(f, i->dst).elem != KN_T_f64)
        return FAIL(f, i->at, "%s is for f64", name_of(i));
    return KILN_OK;
}

static kiln_status
check_assume(const struct kn_fn *f, const struct kn_ins *i)
{
    if (is_value(i->arg[1]) || f->konst[KN_REF_INDEX(i->arg[1])].i < 0)
        return FAIL(f, i->at, "assume takes a constant, the largest value");
    return need_same(f, i, type_of(f, i->dst), 0);
}

static kiln_status
check_select(const struct kn_fn *f, const struct kn_ins *i)
{
    return need_same(f, i, type_of(f, i->dst), 1);
}

static kiln_status
check_number(const struct kn_fn *f, const struct kn_ins *i)
{
    return need_result(f, i, KN_T_i32, 1);
}

static kiln_status
check_uniform_number(const struct kn_fn *f, const struct kn_ins *i)
{
    return need_result(f, i, KN_T_i32, 0);
}

static kiln_status
check_group(const struct kn_fn *f, const struct kn_ins *i)
{
    if (i->attr[KN_A_bytes] < 256 || i->attr[KN_A_bytes] % 4)
        return FAIL(f, i->at, "group.max writes 256 of a wave's bytes=, whole dwords");
    return check_number(f, i);
}

static kiln_status
check_addr(const struct kn_fn *f, const struct kn_ins *i)
{
    return need_result(f, i, KN_T_i64, 0);
}

static kiln_status
check_ldexp(const struct kn_fn *f, const struct kn_ins *i)
{
    bool wide = type_of(f, i->dst).elem == KN_T_f64;

    KN_TRY(need_registers(f, i, 0, 2));
    if (wide && type_of(f, i->arg[0]).elem != KN_T_f64)
        return FAIL(f, i->at, "ldexp makes an f64 of one");
    return need_result(f, i, wide ? KN_T_f64 : KN_T_f32, 1);
}

/* NULL: letters and counts say all there is. */
static kiln_status (*const checks[])(const struct kn_fn *,
                                     const struct kn_ins *) = {
    [KN_OP_udiv] = check_constant, [KN_OP_urem] = check_constant,
    [KN_OP_shl] = check_constant, [KN_OP_shr] = check_constant,
    [KN_OP_sar] = check_constant,
    [KN_OP_eq] = check_compare, [KN_OP_ne] = check_compare,
    [KN_OP_slt] = check_compare, [KN_OP_sge] = check_compare,
    [KN_OP_ult] = check_compare,
    [KN_OP_assume] = check_assume,
    [KN_OP_select] = check_select,
    [KN_OP_sext] = check_width, [KN_OP_zext] = check_width,
    [KN_OP_trunc] = check_width, [KN_OP_i2f] = check_width,
    [KN_OP_cvt] = check_width,
    [KN_OP_perm] = check_number, [KN_OP_lerp] = check_number,
    [KN_OP_bfi] = check_number, [KN_OP_scan] = check_number,
    [KN_OP_lane] = check_number, [KN_OP_arrive] = check_number,
    [KN_OP_share] = check_uniform_number,
    [KN_OP_wavemax] = check_number, [KN_OP_groupmax] = check_group,
    [KN_OP_meet] = check_uniform_number, [KN_OP_leave] = check_uniform_number,
    [KN_OP_count] = check_uniform_number,
    [KN_OP_readlane] = check_uniform_number,
    [KN_OP_wave] = check_uniform_number,
    [KN_OP_wg] = check_wg,
    [KN_OP_addr] = check_addr,
    [KN_OP_uniform] = check_uniform,
    [KN_OP_bits] = check_bits,
    [KN_OP_cat] = check_cat,
    [KN_OP_slice] = check_slice,
    [KN_OP_splat] = check_splat,
    [KN_OP_turn] = check_turn,
    [KN_OP_flip] = check_flip,
    [KN_OP_roll] = check_roll,
    [KN_OP_ldg] = check_load, [KN_OP_lds_ld] = check_load,
    [KN_OP_stg] = check_store, [KN_OP_lds_st] = check_store,
    [KN_OP_atom] = check_store, [KN_OP_atmax] = check_maximum,
    [KN_OP_ldu] = check_ldu,
    [KN_OP_mfma] = check_accumulator, [KN_OP_mfmas] = check_accumulator,
    [KN_OP_exp2] = check_float, [KN_OP_rcp] = check_float,
    [KN_OP_rsq] = check_either, [KN_OP_fmin] = check_either,
    [KN_OP_fmax] = check_either, [KN_OP_fpos] = check_either,
    [KN_OP_minimum] = check_float, [KN_OP_maximum] = check_float,
    [KN_OP_fsel] = check_either, [KN_OP_fdiv] = check_divide,
    [KN_OP_held] = check_either,
    [KN_OP_ldexp] = check_ldexp,
    [KN_OP_unpack] = check_unpack,
    [KN_OP_widen] = check_widen,
    [KN_OP_unpack32] = check_unpack32,
    [KN_OP_fold] = check_fold,
    [KN_OP_fours] = check_fours, [KN_OP_stepped] = check_stepped,
    [KN_OP_drawn] = check_drawn,
    [KN_OP_transform] = check_transform,
    [KN_OP_runshift] = kn_verify_run, [KN_OP_runcut] = kn_verify_run,
    [KN_OP_stgpart] = kn_verify_part,
    [KN_OP_random] = check_random,
    [KN_OP_atrandom] = check_at_random,
    [KN_OP_nmax] = kn_verify_near,
    [KN_OP_amax] = kn_verify_magnitude,
    [KN_OP_storeq] = kn_verify_written, [KN_OP_storepanel] = kn_verify_written,
    [KN_OP_rowmax] = kn_verify_largest, [KN_OP_rowshare] = kn_verify_largest,
    [KN_OP_quantrows] = kn_verify_scaled,
    [KN_OP_qmax] = kn_verify_quantise, [KN_OP_cvtmx] = kn_verify_quantise,
    [KN_OP_gate] = kn_verify_gate, [KN_OP_cvtsr] = kn_verify_drawn,
    [KN_OP_cvt6] = kn_verify_sixes,
    [KN_OP_storemx] = kn_verify_format,
    [KN_OP_store] = kn_verify_output, [KN_OP_scatter] = kn_verify_output,
    [KN_OP_apply] = kn_verify_output, [KN_OP_zero] = kn_verify_output
};

kiln_status
kn_verify_types(const struct kn_fn *f, const struct kn_ins *i)
{
    if (i->op >= sizeof checks / sizeof *checks || !checks[i->op])
        return KILN_OK;
    return checks[i->op](f, i);
}
