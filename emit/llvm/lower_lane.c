/* lower_lane.c - the ids of a thread, values across the lanes of a wave, and
 * vectors from their elements. */
#include "lower.h"

void
lower_wg(struct lower *l, const struct kn_ins *i)
{
    static const char *const ids[] = { "llvm.amdgcn.workgroup.id.x",
                                       "llvm.amdgcn.workgroup.id.y",
                                       "llvm.amdgcn.workgroup.id.z" };

    low_set(l, i, low_id(l, ids[i->attr[KN_A_first]]));
}

void
lower_wave(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_wave(l));
}

/* By way of the wave number, which LLVM cannot hoist out of a loop; the mask
 * tells it the range. */
void
lower_lane(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef first = LLVMBuildShl(l->b, low_wave(l), low_i32(l, 6), "");
    LLVMValueRef v = LLVMBuildSub(l->b, low_id(l, "llvm.amdgcn.workitem.id.x"),
                                  first, "");

    low_set(l, i, LLVMBuildAnd(l->b, v, low_i32(l, 63), ""));
}

void
lower_uniform(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_first_lane(l, low_get(l, i, 0)));
}

void
lower_readlane(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = low_arg(l, i, 0, l->i32), at = low_arg(l, i, 1, l->i32);

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.readlane", { l->i32 }, 1, { v, at }, 2 }));
}

void
lower_count(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef mask = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.ballot", { l->i64 }, 1, { low_arg(l, i, 0, l->i1) }, 1 });
    LLVMValueRef n = low_intrinsic(l, &(struct low_call){
        "llvm.ctpop", { l->i64 }, 1, { mask }, 1 });

    low_set(l, i, LLVMBuildTrunc(l->b, n, l->i32, ""));
}

/* Inclusive sum over the 64 lanes: DPP row shifts by 1, 2, 4, 8, then the
 * last lane of each row (15) and of each half (31) broadcast to what follows
 * (CDNA3 ISA 13.4 DPP). Needs every lane active. */
void
lower_scan(struct lower *l, const struct kn_ins *i)
{
    static const struct {
        uint32_t ctrl, rows;
    } steps[] = { { 0x111, 15 }, { 0x112, 15 }, { 0x114, 15 },
                  { 0x118, 15 }, { 0x142, 10 }, { 0x143, 12 } };
    LLVMValueRef x = low_arg(l, i, 0, l->i32);

    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        LLVMValueRef moved = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.update.dpp", { l->i32 }, 1,
            { low_i32(l, 0), x, low_i32(l, steps[s].ctrl),
              low_i32(l, steps[s].rows), low_i32(l, 15),
              LLVMConstInt(l->i1, 0, 0) }, 6 });

        x = LLVMBuildAdd(l->b, x, moved, "");
    }
    low_set(l, i, x);
}

/* The value of another lane, which f makes of l and by: LDS's crossbar. */
static LLVMValueRef
lane_at(struct lower *l, LLVMValueRef u, LLVMOpcode f, int32_t by)
{
    LLVMValueRef at = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.mbcnt.lo", { NULL }, 0,
        { low_i32(l, UINT32_MAX), low_i32(l, 0) }, 2 });

    at = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.mbcnt.hi", { NULL }, 0, { low_i32(l, UINT32_MAX), at },
        2 });
    at = LLVMBuildBinOp(l->b, f, at, low_i32(l, by), "");
    at = LLVMBuildShl(l->b, at, low_i32(l, 2), "");
    return low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.ds.bpermute", { NULL }, 0, { at, u }, 2 });
}

static LLVMValueRef
lane_across(struct lower *l, LLVMValueRef u, int32_t by)
{
    return lane_at(l, u, LLVMXor, by);
}

typedef LLVMValueRef of_two(struct lower *, LLVMValueRef, LLVMValueRef);

static LLVMValueRef
largest_of(struct lower *l, LLVMValueRef x, LLVMValueRef y)
{
    return low_intrinsic(l, &(struct low_call){ "llvm.umax", { l->i32 }, 1, { x, y }, 2 });
}

static LLVMValueRef
larger(struct lower *l, LLVMValueRef x, LLVMValueRef y)
{
    x = low_intrinsic(l, &(struct low_call){
        "llvm.maxnum", { l->f32 }, 1, { LLVMBuildBitCast(l->b, x, l->f32, ""),
                                        LLVMBuildBitCast(l->b, y, l->f32, "") }, 2 });
    return LLVMBuildBitCast(l->b, x, l->i32, "");
}

/* f of the lanes l and l ^ (16 << s): a swap of a value with itself leaves both of each
 * pair of rows. Where there is none, the values of other lanes come by LDS's crossbar. */
static LLVMValueRef
across_rows(struct lower *l, LLVMValueRef x, int s, of_two *f)
{
    static const char *const swap[] = { "llvm.amdgcn.permlane16.swap",
                                        "llvm.amdgcn.permlane32.swap" };
    LLVMValueRef no = LLVMConstInt(l->i1, 0, 0), pair;

    if (!kn_targets[l->f->target].swaps)
        return f(l, x, lane_across(l, x, 16 << s));
    pair = low_intrinsic(l, &(struct low_call){ swap[s], { NULL }, 0, { x, x, no, no }, 4 });
    return f(l, LLVMBuildExtractValue(l->b, pair, 0, ""),
             LLVMBuildExtractValue(l->b, pair, 1, ""));
}

/* Largest of the lanes l, l ^ 16, l ^ 32, l ^ 48. */
void
lower_qmax(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef x = low_get(l, i, 0);
    LLVMTypeRef t = LLVMTypeOf(x);

    x = LLVMBuildBitCast(l->b, x, l->i32, "");
    for (int s = 0; s < 2; s++)
        x = across_rows(l, x, s, larger);
    low_set(l, i, LLVMBuildBitCast(l->b, x, t, ""));
}

/* The larger of two floats that are none below zero; a NaN is the largest. */
static LLVMValueRef
larger_bits(struct lower *l, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef t = LLVMTypeOf(x), bits = t == l->f32 ? l->i32 : l->i64;

    x = LLVMBuildBitCast(l->b, x, bits, "");
    y = LLVMBuildBitCast(l->b, y, bits, "");
    x = low_intrinsic(l, &(struct low_call){ "llvm.umax", { bits }, 1,
                                             { x, y }, 2 });
    return LLVMBuildBitCast(l->b, x, t, "");
}

/* Of magnitudes, which are a modifier of v_max3_f32 and v_maximum3_f32. */
void
lower_amax(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = l->elem[kn_val(l->f, i->dst)->type.elem];
    LLVMValueRef x = low_get(l, i, 0), most = low_arg(l, i, 1, t);
    bool bits = i->attr[KN_A_mode] &&
                (t != l->f32 || !kn_targets[l->f->target].maximum3);
    unsigned n = kn_val(l->f, i->arg[0])->type.n;

    for (unsigned e = 0; e < n; e++) {
        LLVMValueRef v = n == 1 ? x : LLVMBuildExtractElement(l->b, x,
                                                              low_i32(l, e), "");

        v = low_intrinsic(l, &(struct low_call){ "llvm.fabs", { t }, 1,
                                                 { v }, 1 });
        most = bits ? larger_bits(l, most, v)
             : low_intrinsic(l, &(struct low_call){
            i->attr[KN_A_mode] ? "llvm.maximum" : "llvm.maxnum", { l->f32 }, 1,
            { most, v }, 2 });
    }
    low_set(l, i, most);
}

/* Largest of 4, 8 or 16 lanes side by side, as unsigned numbers: DPP quad_perm
 * 1,0,3,2 and 2,3,0,1, row_half_mirror, row_mirror (CDNA3 ISA 13.4). Or of four that
 * are 16 apart. */
void
lower_nmax(struct lower *l, const struct kn_ins *i)
{
    static const uint32_t ctrl[] = { 0xb1, 0x4e, 0x141, 0x140 };
    LLVMValueRef x = low_arg(l, i, 0, l->i32);

    for (int s = 0; s < 2 && i->attr[KN_A_span] == 16; s++)
        x = across_rows(l, x, s, largest_of);
    for (int s = 0; 1 << s < i->attr[KN_A_parts] && i->attr[KN_A_span] == 1; s++) {
        LLVMValueRef moved = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.update.dpp", { l->i32 }, 1,
            { low_i32(l, 0), x, low_i32(l, ctrl[s]), low_i32(l, 15),
              low_i32(l, 15), LLVMConstInt(l->i1, 1, 0) }, 6 });

        x = largest_of(l, x, moved);
    }
    low_set(l, i, x);
}

void
lower_turn(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = low_get(l, i, 0);

    for (int k = 0; k < 2; k++) {
        LLVMValueRef pair = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.permlane16.swap", { NULL }, 0,
            { LLVMBuildExtractElement(l->b, v, low_i32(l, k), ""),
              LLVMBuildExtractElement(l->b, v, low_i32(l, k + 2), ""),
              LLVMConstInt(l->i1, 0, 0), LLVMConstInt(l->i1, 0, 0) }, 4 });

        for (unsigned h = 0; h < 2; h++)
            v = LLVMBuildInsertElement(l->b, v,
                    LLVMBuildExtractValue(l->b, pair, h, ""),
                    low_i32(l, k + 2 * (int)h), "");
    }
    low_set(l, i, v);
}

/* The first operand where bit 3 of the lane is `first`, elsewhere the second of
 * the lane 8 away: DPP row_ror:8 into half of the banks of four lanes (CDNA3
 * ISA 13.4). */
void
lower_flip(struct lower *l, const struct kn_ins *i)
{
    enum { ROW_ROR_8 = 0x128, LOW = 3, HIGH = 12 };
    unsigned n = kn_val(l->f, i->dst)->type.n;
    LLVMValueRef x = low_get(l, i, 0), y = low_get(l, i, 1);
    LLVMValueRef all = LLVMGetPoison(LLVMTypeOf(x));

    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef at = low_i32(l, (int)k), one;

        one = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.update.dpp", { l->i32 }, 1,
            { n == 1 ? x : LLVMBuildExtractElement(l->b, x, at, ""),
              n == 1 ? y : LLVMBuildExtractElement(l->b, y, at, ""),
              low_i32(l, ROW_ROR_8), low_i32(l, 15),
              low_i32(l, i->attr[KN_A_first] ? LOW : HIGH),
              LLVMConstInt(l->i1, 0, 0) }, 6 });
        all = n == 1 ? one : LLVMBuildInsertElement(l->b, all, one, at, "");
    }
    low_set(l, i, all);
}

/* The value `first` lanes before, around a row of 16: DPP row_ror (CDNA3 ISA
 * 13.4). Or of as many rows before, of lanes modulo 64, or of the next of 64 (wave_rol). */
void
lower_roll(struct lower *l, const struct kn_ins *i)
{
    enum { ROW_ROR = 0x120, WAVE_ROL = 0x134 };
    bool wave = i->attr[KN_A_span] == 64;

    if (i->attr[KN_A_span] == 16) {
        low_set(l, i, lane_at(l, low_get(l, i, 0), LLVMAdd, 64 - 16 * i->attr[KN_A_first]));
        return;
    }
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.update.dpp", { l->i32 }, 1,
        { LLVMGetPoison(l->i32), low_get(l, i, 0),
          low_i32(l, wave ? WAVE_ROL : ROW_ROR + i->attr[KN_A_first]), low_i32(l, 15),
          low_i32(l, 15), LLVMConstInt(l->i1, 0, 0) }, 6 }));
}

/* The sum over two lanes of a row, of the first operand where bit `first` of
 * the lane is 0, else of the second, or of the other's first and the second: DPP
 * quad_perm 1,0,3,2 and 2,3,0,1, row_half_mirror, row_mirror (CDNA3 ISA 13.4). The
 * mirrors swap lower bits too, so higher bits come first. */
void
lower_fold(struct lower *l, const struct kn_ins *i)
{
    static const uint32_t ctrl[] = { 0xb1, 0x4e, 0x141, 0x140 };
    bool ints = kn_val(l->f, i->dst)->type.elem == KN_T_i32;
    LLVMTypeRef t = ints ? l->i32 : l->f32;
    int32_t bit = i->attr[KN_A_first], swap = i->attr[KN_A_swap] != 0;
    LLVMValueRef x = low_arg(l, i, swap, t), y = low_arg(l, i, !swap, t), moved;

    if (!swap && i->arg[0] != i->arg[1]) {
        LLVMValueRef lane = low_id(l, "llvm.amdgcn.workitem.id.x");
        LLVMValueRef low = LLVMBuildAnd(l->b, lane, low_i32(l, 1 << bit), "");
        LLVMValueRef set = LLVMBuildICmp(l->b, LLVMIntNE, low, low_i32(l, 0), "");
        LLVMValueRef mine = LLVMBuildSelect(l->b, set, y, x, "");
        y = LLVMBuildSelect(l->b, set, x, y, "");
        x = mine;
    }
    moved = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.update.dpp", { l->i32 }, 1,
        { low_i32(l, 0), LLVMBuildBitCast(l->b, y, l->i32, ""),
          low_i32(l, ctrl[bit]), low_i32(l, 15), low_i32(l, 15),
          LLVMConstInt(l->i1, 1, 0) }, 6 });
    moved = LLVMBuildBitCast(l->b, moved, t, "");
    low_set(l, i, ints ? LLVMBuildAdd(l->b, x, moved, "")
                       : LLVMBuildFAdd(l->b, x, moved, ""));
}

/* ---- vectors ---- */

static LLVMValueRef
insert(struct lower *l, LLVMValueRef to, LLVMValueRef v, unsigned *at)
{
    bool vector = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
    unsigned n = vector ? LLVMGetVectorSize(LLVMTypeOf(v)) : 1;

    for (unsigned x = 0; x < n; x++) {
        LLVMValueRef e = vector ? LLVMBuildExtractElement(l->b, v,
                                                          low_i32(l, x), "")
                                : v;

        to = LLVMBuildInsertElement(l->b, to, e, low_i32(l, (*at)++), "");
    }
    return to;
}

void
lower_cat(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = LLVMGetPoison(low_result(l, i));
    unsigned at = 0;

    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        v = insert(l, v, low_arg(l, i, a, l->i32), &at);
    low_set(l, i, v);
}

void
lower_slice(struct lower *l, const struct kn_ins *i)
{
    struct kn_type t = kn_val(l->f, i->dst)->type;
    LLVMValueRef v = low_get(l, i, 0), all[32];
    int32_t first = i->attr[KN_A_first];

    if (t.n == 1) {
        low_set(l, i, LLVMBuildExtractElement(l->b, v, low_i32(l, first), ""));
        return;
    }
    for (int x = 0; x < t.n; x++)
        all[x] = low_i32(l, first + x);
    low_set(l, i, LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                         LLVMConstVector(all, t.n), ""));
}

/* LLVM's packed arithmetic takes a splat as a register pair of which one half
 * is any register, such as one being loaded, which it then waits for. Where
 * loads wait in registers during a loop, all of a splat is therefore there:
 * opaque. */
void
lower_splat(struct lower *l, const struct kn_ins *i)
{
    struct kn_type t = kn_val(l->f, i->dst)->type;
    LLVMValueRef x = low_arg(l, i, 0, l->elem[t.elem]);
    LLVMValueRef v = LLVMGetPoison(low_type(l, t));

    for (int n = 0; n < t.n; n++)
        v = LLVMBuildInsertElement(l->b, v, x, low_i32(l, n), "");
    if (l->stages && t.elem == KN_T_f32)
        v = low_intrinsic(l, &(struct low_call){
            "llvm.arithmetic.fence", { LLVMTypeOf(v) }, 1, { v }, 1 });
    low_set(l, i, v);
}
