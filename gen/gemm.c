/* gemm.c - THE generator: a problem and a configuration name the parameters
 * and regions of templates/gemm.tir. A new variant is another region. */
#include "facts.h"
#include "gemv.h"
#include "instantiate.h"
#include "layout.h"
#include "limits.h"

#include <stdio.h>
#include <string.h>

#include "../templates/templates.h"

/* Payload of an operand in the IR. */
enum kn_elem
kn_payload(kiln_type t)
{
    static const uint8_t map[KILN_NTYPES] = {
        [KILN_F32] = KN_T_f32,   [KILN_I32] = KN_T_i32,
        [KILN_F16] = KN_T_f16,   [KILN_BF16] = KN_T_bf16,
        [KILN_FP8] = KN_T_fp8,   [KILN_BF8] = KN_T_bf8,
        [KILN_I8] = KN_T_i8,     [KILN_MXFP8] = KN_T_fp8,
        [KILN_MXBF8] = KN_T_bf8, [KILN_MXFP6] = KN_T_fp6,
        [KILN_MXBF6] = KN_T_bf6, [KILN_MXFP4] = KN_T_fp4,
    };

    return (enum kn_elem)map[t];
}

static bool
is_mx(kiln_type t)
{
    return kn_elems[kn_payload(t)].mx >= 0 && t != KILN_FP8 && t != KILN_BF8;
}

/* A 16-bit A times an MX B: only B has scales. */
bool
kn_weight_only(const kiln_problem *p)
{
    return is_mx(p->b) && !is_mx(p->a) && !p->quant;
}

/* What A is when it is multiplied: quantised on its way, B's type. */
static kiln_type
multiplied_a(const kiln_problem *p)
{
    return p->quant ? p->b : p->a;
}

bool
kn_dequant(const kiln_problem *p)
{
    kiln_type a = multiplied_a(p);

    return (is_mx(a) || is_mx(p->b)) &&
           (p->target != KILN_GFX950 || !is_mx(a) || !is_mx(p->b));
}

/* The type an operand is multiplied as. FNUZ bytes hold every finite value of
 * the MX formats but e5m2's largest, and have no infinity; f16 has e5m2 as its
 * high byte. */
static enum kn_elem
staged(const kiln_problem *p, kiln_type t)
{
    if (kn_prequant(p))
        return kn_payload(p->b);
    if (t == p->a)
        t = multiplied_a(p);
    if (!kn_dequant(p) || !is_mx(t))
        return kn_payload(t);
    if (!is_mx(multiplied_a(p)) || !is_mx(p->b))
        return kn_payload(is_mx(p->a) ? p->b : p->a);
    return p->a == KILN_MXBF8 || p->b == KILN_MXBF8 ? KN_T_f16 : KN_T_fp8;
}

/* The type an operand has in memory. */
enum kn_elem
kn_stored(const kiln_problem *p, kiln_type t)
{
    if (!kn_dequant(p) || !is_mx(t))
        return kn_payload(t);
    return t == KILN_MXFP8 ? KN_T_e4m3 : t == KILN_MXBF8 ? KN_T_e5m2
                                                         : kn_payload(t);
}

struct kn_shape
kn_shape_of(const kiln_problem *p, const struct kn_config *g)
{
    return (struct kn_shape){ .bm = g->bm, .bn = g->bn, .bk = g->bk,
                              .wm = g->wm, .wn = g->wn,
                              .mfma = kn_pick_mfma(p),
                              .block = kn_dequant(p) ? 32 : 0,
                              .ta = (uint8_t)staged(p, p->a),
                              .tb = (uint8_t)staged(p, p->b) };
}

int
kn_pick_mfma(const kiln_problem *p)
{
    enum kn_elem a = staged(p, p->a), b = staged(p, p->b);

    /* Operands are swapped: B is the instruction's first (ir/distribute_mma). */
    for (int m = 0; m < KN_NMFMA; m++) {
        const struct kn_mfma_info *i = &kn_mfmas[m];

        if (i->target == p->target &&
            (i->a == KN_T_b1 ? kn_elems[a].mx >= 0 && kn_elems[b].mx >= 0
                             : i->a == b && i->b == a))
            return m;
    }
    return -1;
}

/* Direct-to-LDS copies move whole 16-byte (scales: 4-byte) chunks and need
 * the target to have them; everything else goes through registers. */
bool
kn_direct(const kiln_problem *p, const struct kn_config *g)
{
    bool wide = kn_targets[p->target].dma == 16;
    uint32_t scale = g->bk / 32 % 16 == 0 ? 16 : 4;

    if (p->scale == KILN_SCALE_BLOCK128)
        scale = 4;
    if (p->scale_layout)
        scale = 16;
    return wide && !kn_dequant(p) && !kn_prequant(p) && !p->quant && g->domain.align_a == 16 &&
           g->domain.align_b == 16 &&
           g->domain.align_sa >= scale && g->domain.align_sb >= scale;
}

/* Bytes per global load: a dword-aligned run can be loaded 16 bytes at a
 * time (buffer loads need dword alignment); below that, one element. */
static int64_t
unit(uint8_t align, bool transpose, uint32_t bits)
{
    int64_t u = align >= 4 ? 16 : align;

    if (transpose && u > 4)
        u = 4;
    return u * 8 < bits ? bits / 8 : u;
}

static void
operand_params(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g, struct kn_params *q)
{
    bool tr = p->target == KILN_GFX950;  /* has transposing LDS reads */
    bool gka = p->layout != KILN_TN, gkb = p->layout == KILN_NT;
    bool lka = gka || !tr || kn_stored(p, p->a) != staged(p, p->a);
    bool lkb = gkb || !tr || kn_stored(p, p->b) != staged(p, p->b);
    uint32_t a = kn_elems[kn_stored(p, p->a)].bits;
    uint32_t b = kn_elems[kn_stored(p, p->b)].bits;
    bool all = g->schedule == KN_SCHED_WHOLE && !g->domain.ktail;

    kn_set(q, "TA", kn_elems[staged(p, p->a)].text);
    kn_set(q, "TB", kn_elems[staged(p, p->b)].text);
    kn_set(q, "MEMA", kn_elems[kn_stored(p, p->a)].text);
    kn_set(q, "MEMB", kn_elems[kn_stored(p, p->b)].text);
    kn_set(q, "TC", kn_elems[kn_payload(p->out)].text);
    kn_set_int(c, q, "GKA", gka);
    kn_set_int(c, q, "GKB", gkb);
    kn_set_int(c, q, "LKA", lka);
    kn_set_int(c, q, "LKB", lkb);
    kn_set_int(c, q, "PANEL", p->b_layout);
    kn_set(q, "LEFTA", all ? "" : ", %lefta");
    kn_set(q, "LEFTB", all ? "" : ", %leftb");
    kn_set(q, "LEFTSA", all ? "" : ", %leftsa");
    kn_set(q, "LEFTSB", all ? "" : ", %leftsb");
    kn_set_int(c, q, "KTAIL", g->domain.ktail);
    kn_set_int(c, q, "UNITA", unit(g->domain.align_a, !gka && lka, a));
    kn_set_int(c, q, "UNITB", unit(g->domain.align_b, !gkb && lkb, b));
}

static void
scale_params(struct kn_ctx *c, const kiln_problem *p,
             const struct kn_config *g, struct kn_params *q)
{
    bool mx = p->scale == KILN_SCALE_MX32, dequant = kn_dequant(p);

    if (g->domain.ktail)
        kn_set(q, "QLEN", "%left");
    else
        kn_set_int(c, q, "QLEN", g->bk);
    kn_set_int(c, q, "QMODE", p->quant ? p->quant - 1 : 0);
    kn_set(q, "TS", mx && !dequant ? "e8m0" : "f32");
    kn_set(q, "MEMS", mx ? "e8m0" : "f32");
    kn_set_int(c, q, "LKS", !dequant);
    kn_set_int(c, q, "BLOCK", dequant ? 32 : 0);
    kn_set_int(c, q, "KDIV", mx ? 32 : 128);
    kn_set_int(c, q, "BKS", g->bk / (mx ? 32 : 128));
    kn_set_int(c, q, "SHIFTB", mx || p->family == KILN_WGRAD ? 0 : 7);
    kn_set_int(c, q, "SHUF", p->scale_layout);
    kn_set_int(c, q, "BMS", p->scale_layout && g->bm < 32 ? 32 : g->bm);
    /* f32 scales are aligned to themselves whatever the class says. */
    kn_set_int(c, q, "UNITSA",
               mx || g->domain.align_sa > 4 ? g->domain.align_sa : 4);
    kn_set_int(c, q, "UNITSB",
               mx || g->domain.align_sb > 4 ? g->domain.align_sb : 4);
}

static int
shift_of(enum kn_elem from, enum kn_elem to)
{
    for (size_t i = 0; i < kn_nconverts; i++)
        if (kn_converts[i].from == from && kn_converts[i].to == to)
            return kn_converts[i].up;
    return 0;
}

/* The factor that conversion took from the products. */
static bool
unscale_param(struct kn_ctx *c, const kiln_problem *p, struct kn_params *q)
{
    int up = shift_of(kn_stored(p, p->a), staged(p, p->a)) +
             shift_of(kn_stored(p, p->b), staged(p, p->b));
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%lld.0", 1LL << up);
    kn_set(q, "UNSCALE", b.s);
    return up != 0;
}

static void
tile_params(struct kn_ctx *c, const struct kn_config *g, struct kn_params *q)
{
    kn_set_int(c, q, "BM", g->bm);
    kn_set_int(c, q, "BN", g->bn);
    kn_set_int(c, q, "BK", g->bk);
    kn_set_int(c, q, "BM_1", (int64_t)g->bm - 1);
    kn_set_int(c, q, "BN_1", (int64_t)g->bn - 1);
    kn_set_int(c, q, "BK_1", (int64_t)g->bk - 1);
    kn_set_int(c, q, "WM", g->wm);
    kn_set_int(c, q, "WN", g->wn);
    kn_set_int(c, q, "XCD", g->xcd);
    kn_set_int(c, q, "GROUP_M", g->group_m);
    kn_set_int(c, q, "GROUP_N", g->group_n);
    kn_set_int(c, q, "RUN", g->xcd_run);
    kn_set_int(c, q, "ROUND", (int64_t)g->xcd_run * g->xcd);
    kn_set_int(c, q, "CUS", g->cus);
    kn_set_int(c, q, "VEC", g->domain.vec);
    kn_set_int(c, q, "NTB", g->nt_b);
}

/* The shape domain: the kernel declares how large its arguments may be. */
static void
domain_params(struct kn_ctx *c, const kiln_problem *p,
              const struct kn_config *g, struct kn_params *q)
{
    struct kn_limits most = kn_limits_of(p, g);

#define X(name) kn_set_int(c, q, "MAX_" #name, most.name);
    KN_LIMITED(X)
#undef X
    kn_set_int(c, q, "TILES", KN_TILES);
}

/* A row of what a wave turns around in LDS, and 16 bytes so that rows start in
 * different banks. */
uint32_t
kn_store_row(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t cols = g->bn / g->wn, size = 4;

    if (g->domain.vec == 4 && !p->beta)
        size = kn_elems[kn_payload(p->out)].bits / 8;
    return cols * size + 16;
}

static void
store_params(struct kn_ctx *c, const kiln_problem *p,
             const struct kn_config *g, struct kn_params *q)
{
    uint32_t bits = kn_elems[kn_payload(p->out)].bits;
    bool narrow = g->domain.vec == 4 && !p->beta && bits == 16;

    kn_set_int(c, q, "WIDE", narrow && p->target == KILN_GFX950 &&
                             g->bn / g->wn % 32 == 0 ? 8 : g->domain.vec);
    kn_set(q, "TSTAGE", narrow ? kn_elems[kn_payload(p->out)].text : "f32");
    kn_set_int(c, q, "CROWS", 16 * (int64_t)g->wm * g->wn);
    kn_set_int(c, q, "CCOLS", kn_store_row(p, g) / (narrow ? 2 : 4));
}

/* A persistent launch that loads its next tile while it stores this one. */
static bool
walks_ahead(const kiln_problem *p, const struct kn_config *g)
{
    return g->cus && g->schedule == KN_SCHED_DEEP && kn_direct(p, g) &&
           (p->scale < KILN_SCALE_BLOCK128 || kn_super(p, g)) &&
           !(p->group_flags & KILN_TAIL_ZERO);
}

/* Groups: how their table is read, and zeros past the last of them. */
static void
group_params(struct kn_ctx *c, const kiln_problem *p,
             const struct kn_config *g, struct kn_params *q)
{
    const struct kn_elem_info *e = &kn_elems[kn_payload(p->out)];
    uint32_t step = 64u * g->domain.vec;
    struct kn_buf zeros = { .c = c };

    kn_putf(&zeros, g->domain.vec > 1 ? "%sx%u" : "%s", e->text,
            g->domain.vec);
    kn_set(q, "ZEROS", zeros.s);
    kn_set(q, "ZERO", e->kind == KN_E_FLOAT ? "0.0" : "0");
    kn_set_int(c, q, "SPARESTEP", step);
    kn_set_int(c, q, "SPARESTEPS", (g->bn + step - 1) / step);
    kn_set_int(c, q, "NWAVES", g->wm * g->wn);
    kn_set_int(c, q, "ENDS", !(p->group_flags & KILN_GROUP_LENS));
    kn_set_int(c, q, "FEW", KN_FEW_GROUPS);
}

static void
group_regions(const kiln_problem *p, const struct kn_config *g,
              struct kn_params *q)
{
    bool lens = p->group_flags & KILN_GROUP_LENS;
    bool few = g->lookup == KN_LOOKUP_FEW;
    bool zero = p->group_flags & KILN_TAIL_ZERO;

    kn_region(q, "count", few ? "count_few" : "count_many");
    kn_region(q, "find", few ? "find_few"
                       : walks_ahead(p, g) ? "find_kept" : "find_many");
    kn_region(q, "few", lens ? "few_lens" : "few_offs");
    kn_region(q, "few_again", !g->cus || walks_ahead(p, g) ? ""
                            : lens ? "few_lens" : "few_offs");
    kn_region(q, "rows", lens ? "rows_lens" : "rows_offs");
    kn_region(q, "row0", few ? "row0_few" : lens ? "row0_lens" : "row0_offs");
    kn_region(q, "begin", lens ? "begin_lens" : "");
    kn_region(q, "sums", lens ? "sums_lens" : "");
    kn_region(q, "next", lens ? "next_lens" : "");
    kn_region(q, "group_k", lens ? "k_lens" : "k_offs");
    kn_region(q, "spare_rows", !zero ? "" : few ? "spare_tiles"
                               : lens ? "spare_lens" : "spare_offs");
    kn_region(q, "spare", !zero ? "" : g->cus ? "spare_loop" : "spare_one");
}

/* What a family changes of the one kernel. */
static const struct {
    const char *name, *total, *place;
} families[KILN_NFAMILIES] = {
    [KILN_GEMM] = { "gemm", "total_dense", "place_gemm" },
    [KILN_BATCHED] = { "batched", "total_dense", "place_batched" },
    [KILN_GROUPED] = { "grouped", "total_grouped", "place_grouped" },
    [KILN_WGRAD] = { "wgrad", "total_dense", "place_wgrad" },
    [KILN_MOE] = { "moe", "total_moe", "place_moe" }, /* or moe_early */
};

/* Where moe's rows come from and go to; gemm1 gates, gemm2 weighs. */
static void
moe_regions(const kiln_problem *p, const struct kn_config *g,
            struct kn_params *q)
{
    bool gate = p->stage == KILN_MOE_GATE_UP;
    bool apart = gate && !kn_gate_stored(p);
    bool scaled = p->scale >= KILN_SCALE_BLOCK128;
    bool blocks = p->scale == KILN_SCALE_BLOCK128;  /* never stored in turn */
    const char *b = apart ? "view_b_gate" : "view_b_plain";
    const char *sb = apart || (gate && blocks) ? "view_sb_gate"
                                               : "view_sb_plain";
    const char *sa = p->scale_layout ? "view_sa_sorted" : "view_sa_gather";
    bool weighed = p->weigh == (gate ? KILN_WEIGHT_BEFORE : KILN_WEIGHT_AFTER);
    const char *rows = weighed ? "rows_weighed" : "rows_ids";

    if (kn_streams(g)) {
        kn_region(q, "views", b);
        kn_region(q, "rows_view", "view_a_moe");
    } else if (kn_early_copy(g)) {
        kn_region(q, "view_a", scaled ? "view_a_moe_scaled" : "view_a_moe");
        kn_region(q, "views", scaled ? "view_b_moe_scaled" : b);
        kn_region(q, "fill_a", scaled ? "fill_a_scaled" : "fill_a_plain");
        kn_region(q, "fill_b", scaled ? "fill_b_scaled" : "fill_b_plain");
    } else {
        kn_region(q, "views", scaled ? "views_moe_scaled" : "views_moe");
    }
    kn_region(q, "rids_held", weighed ? "held_weighed" : "held_ids");
    kn_region(q, "rids_late", weighed ? "rows_weights" : "");
    kn_region(q, "early", kn_early_ids(g) && !kn_streams(g) ? rows : "");
    kn_region(q, "late", kn_early_ids(g) ? "" : rows);
    kn_region(q, "factors", p->scale != KILN_SCALE_ROW ? ""
                          : gate ? "factors_gate" : "factors_down");
    kn_region(q, "weigh", weighed ? "weigh" : "");
    kn_region(q, "view_b", b);
    kn_region(q, "view_sb", sb);
    kn_region(q, "view_sa", sa);
    kn_region(q, "sb_view", scaled ? sb : "");   /* of what streams */
    kn_region(q, "sa_view", scaled ? sa : "");
    kn_region(q, "args", g->domain.windows ? "args_moe_windows" : "args_moe");
    kn_region(q, "id_token", p->id_format ? "id_plain" : "id_packed");
    kn_region(q, "slots_a", gate ? "" : "slots_of");
    kn_region(q, "slots_c", p->atomic ? "" : "slots_of");
    kn_region(q, "window_sa", scaled && !p->scale_layout ? "window_sa" : "");
    kn_region(q, "finish", !gate ? "finish_down"
                        : kn_quantises(p) ? "finish_gate_mx" : "finish_gate");
}

static void
moe_params(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
           struct kn_params *q)
{
    kn_set(q, "RID", kn_streams_ids(g) ? ", %rid" : "");
    kn_set_int(c, q, "IDPARTS", (g->bm + 63) / 64);
    kn_set_int(c, q, "GATE", p->stage == KILN_MOE_GATE_UP);
    kn_set_int(c, q, "BITSC", kn_elems[kn_payload(p->out)].bits);
    kn_set_int(c, q, "MODE", p->requant);
    kn_set_int(c, q, "PLAIN", p->id_format);
    kn_set_int(c, q, "SLOTA", p->stage == KILN_MOE_DOWN);
    kn_set_int(c, q, "SROW", g->bm < 32 ? 32 / g->bm : 1);
    kn_set_int(c, q, "BNO", kn_tile_columns(p, g));
    kn_set_int(c, q, "BNO_1", (int64_t)kn_tile_columns(p, g) - 1);
    kn_set_int(c, q, "BM_4", 4 * (int64_t)g->bm);
    kn_set_int(c, q, "ACT", p->act == KILN_SWIGLU);
    kn_set_int(c, q, "ATOMIC", p->atomic);
    kn_set_int(c, q, "SLOTROWS", !p->atomic);
}

/* K divided among workgroups (share.tir, join.tir). */
static void
split_regions(const kiln_problem *p, const struct kn_config *g,
              struct kn_params *q)
{
    bool split = g->split_k > 1;
    bool along = split && p->scale >= KILN_SCALE_BLOCK128;

    kn_region(q, "args_split", split ? "args_split" : "");
    kn_region(q, "share_total", split ? "share_total" : "");
    kn_region(q, "share", split ? "share" : "");
    kn_region(q, "share_k", split ? "share_k" : "");
    kn_region(q, "along_a", p->layout != KILN_TN ? "along_run" : "along_rows");
    kn_region(q, "along_b", p->layout == KILN_NT ? "along_run" : "along_rows");
    kn_region(q, "along_scales", along ? "along_scales" : "");
    kn_region(q, "join", split ? "join" : "");
    kn_region(q, "joined", split ? "joined" : "");
}

static void
split_params(struct kn_ctx *c, const kiln_problem *p,
             const struct kn_config *g, struct kn_params *q)
{
    kn_set_int(c, q, "SPLITS", g->split_k);
    kn_set_int(c, q, "AREA", (int64_t)kn_split_area(g));
    kn_set_int(c, q, "COUNTERS", 4 * KN_COUNTERS);
    kn_set_int(c, q, "WAVES4", 4 * (int64_t)g->wm * g->wn);
    kn_set_int(c, q, "BITSA", kn_elems[kn_payload(p->a)].bits);
    kn_set_int(c, q, "BITSB", (int64_t)kn_elems[kn_payload(p->b)].bits *
                              (p->b_layout ? KN_PANEL : 1));
    kn_set_int(c, q, "KSHIFT", p->scale_layout ? 0 : 5);
}

/* Regions that differ without scales, with each tile's, with several tiles'
 * at a time, with those of B alone (a 16-bit A), with those of A that the
 * kernel makes, with both of those. */
static void
scaled_regions(const kiln_problem *p, const struct kn_config *g,
               struct kn_params *q)
{
    static const struct {
        const char *slot, *form[9];
        /* at 6 what streams, without and with scales; at 8 shuffled scales
         * as dwords */
    } forms[] = {
        { "stage", { "stage_plain", "stage_scaled", "stage_super",
                  "stage_scaledb", "stage_quant", "stage_quantmx",
                  "stage_memory_plain", "stage_memory_scaled",
                  "stage_scaled" } },
        { "pull_sa", { [7] = "pull_sa_scaled" } },
        { "pull_sb", { [7] = "pull_sb_scaled" } },
        { "pulled", { [6] = "pulled_plain", "pulled_mx" } },
        { "arrived", { [6] = "arrived_plain", "arrived_scaled" } },
        { "held", { [6] = "held_plain", "held_scaled" } },
        { "landed", { "landed_plain", "landed_scaled", "landed_super",
                    [8] = "landed_scaled" } },
        { "fetch", { "fetch_plain", "fetch_scaled", NULL, "fetch_scaledb",
                  "fetch_plain", "fetch_scaledb" } },
        { "put", { "put_plain", "put_scaled", NULL, "put_scaledb",
                "put_quant", "put_quantmx" } },
        { "kept", { "kept_plain", "kept_scaled", NULL, "kept_scaledb",
                 "kept_plain", "kept_scaledb" } },
        { "feed", { "feed_plain", "feed_scaled", "feed_plain",
                  [8] = "feed_pairs" } },
        { "fed", { "fed_plain", "fed_scaled", "fed_super", NULL } },
        { "fedw", { "fed_plain", NULL, "fedw_super", NULL } },
        { "fedd", { "fedd_plain", NULL, "fedd_super",
                  [8] = "fedd_pairs" } },
        { "lead", { "lead_plain", "lead_mx", "lead_super", NULL } },
        { "ahead", { "ahead_plain", "ahead_mx", "ahead_super", NULL } },
        { "clip", { "clip_plain", NULL, NULL, NULL } },
        { "rations", { "", NULL, "rations_super", NULL } },
        { "weights", { "weights_plain", NULL, "weights_super", NULL } },
        { "deepa", { "deepa_plain", "deepa_mx", "deepa_super",
                   [8] = "deepa_pairs" } },
        { "deepb", { "deepb_plain", "deepb_mx", "deepb_super",
                   [8] = "deepb_pairs" } },
        { "fetchd", { "fetchd_plain", NULL, NULL, NULL } },
        { "awaitd", { "awaitd_plain", NULL, NULL, NULL } },
        { "putd", { "putd_plain", NULL, NULL, NULL } },
        { "tail", { "tail_plain", "tail_scaled", "tail_super",
                  "tail_scaledb", "tail_quant", "tail_quantmx",
                  [8] = "tail_scaled" } },
    };
    int form = kn_streams(g) ? 6 + (p->scale == KILN_SCALE_MX32)
             : kn_pairs(p, g) ? 8
             : kn_prequant(p) ? 4 : p->quant ? 5 : p->scale < KILN_SCALE_BLOCK128 ? 0
             : kn_super(p, g) ? 2 : kn_weight_only(p) ? 3 : 1;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        bool none = !g->domain.ktail && (!strcmp(forms[i].slot, "tail") ||
                                         !strcmp(forms[i].slot, "clip"));
        const char *name = forms[i].form[form];

        kn_region(q, forms[i].slot, none || !name ? "" : name);
    }
}

static void
regions(const kiln_problem *p, const struct kn_config *g, struct kn_params *q)
{
    bool scaled = p->scale >= KILN_SCALE_BLOCK128;
    bool moe = p->family == KILN_MOE, stream = moe && kn_streams_ids(g);
    bool early = g->schedule == KN_SCHED_DEEP && kn_direct(p, g) && !g->cus &&
                 !g->domain.windows && !kn_lines(p, g);

    if (moe) {
        moe_regions(p, g, q);
    } else {
        kn_region(q, "rids_late", "");
        kn_region(q, "rids_held", "");
        kn_region(q, "sa_view", "");
        kn_region(q, "sb_view", "");
        kn_region(q, "early", "");
        kn_region(q, "rows_view", "");
        kn_region(q, "views",
                  early ? scaled ? "views_deep_scaled" : "views_deep"
                  : !scaled ? "views_plain"
                  : kn_weight_only(p) || p->quant ? "views_scaledb"
                                               : "views_scaled");
        kn_region(q, "args", "");
        kn_region(q, "finish", g->store == KN_STORE_LDS ? "finish_lds"
                                                        : "finish_plain");
    }
    kn_region(q, "stage_out", g->store == KN_STORE_LDS ? "stage_out" : "");
    kn_region(q, "total", stream ? "total_moe_stream"
                        : kn_early_copy(g) ? "total_moe_early"
                                           : families[p->family].total);
    kn_region(q, "walk", g->domain.windows ? "walk_windows"
                       : moe && kn_places_room(g) ? "walk_all"
                       : walks_ahead(p, g) ? "walk_ahead"
                       : g->cus ? "walk_persistent" : "walk_one");
    kn_region(q, "level", kn_streams(g) && g->store != KN_STORE_LDS
                        ? "" : "level");
    kn_region(q, "order", g->xcd < 2 ? "order_linear"
                        : g->xcd_run ? "order_cyclic" : "order_xcd");
    kn_region(q, "band", g->group_n ? "band_2d"
                       : g->group_m == 1 && moe ? "band_row" : "band");
    kn_region(q, "place", !moe ? families[p->family].place
                        : stream ? "place_moe_stream"
                        : kn_early_copy(g) ? "place_moe_early"
                        : g->cus ? "place_moe_persistent" : "place_moe");
    kn_region(q, "scales_at",
              p->scale == KILN_SCALE_MX32 ? "scales_at_block"
              : p->scale == KILN_SCALE_BLOCK128 ? "scales_at_block128"
                                                : "scales_at_start");
    kn_region(q, "loop", walks_ahead(p, g) ? "loop_ahead" : kn_loop_of(p, g));
    kn_region(q, "fill0", early ? ""
              : !kn_early_copy(g) ? scaled ? "fill_scaled" : "fill_plain"
              : scaled ? "fill_b_scaled" : "fill_b_plain");
    kn_region(q, "fill", scaled ? "fill_scaled" : "fill_plain");
    scaled_regions(p, g, q);
    if (kn_fold_lines(p, g))
        kn_region(q, "stage", "stage_fold");
    if (kn_lines(p, g))
        kn_region(q, "stage", "stage_line");
    kn_region(q, "clear", kn_prequant(p) ? "clear_float" : "clear_plain");
    kn_region(q, "compute", kn_prequant(p) ? "compute_quant"
                          : kn_weight_only(p) ? "compute_blockb"
                          : kn_dequant(p) ? "compute_block"
                          : p->scale == KILN_SCALE_MX32 ? "compute_mx"
                          : p->scale == KILN_SCALE_BLOCK128 ? "compute_block"
                                                            : "compute_plain");
    kn_region(q, "drain", g->cus ? "drain" : "");
    kn_region(q, "multiply", scaled ? "multiply_mx" : "multiply_plain");
    kn_region(q, "multiplyd", kn_pairs(p, g) ? "multiplyd_pairs"
                                : scaled ? "multiplyd_mx" : "multiplyd_plain");
    kn_region(q, "float",
              p->a == KILN_I8 && p->out != KILN_I32 ? "float_i32" : "");
    kn_region(q, "scale", kn_prequant(p) ? "scale_tensorb"
                        : p->scale == KILN_SCALE_TENSOR ? "scale_tensor"
                        : p->scale == KILN_SCALE_ROW && !moe ? "scale_row"
                                                              : "");
    kn_region(q, "alpha", p->alpha_set ? "alpha" : "");
    kn_region(q, "bias", p->bias ? "bias" : "");
    group_regions(p, g, q);
}

const char *
kn_kernel_name(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    static const char *const stages[] = {
#define X(id, text) text,
        KILN_MOE_STAGES(X)
#undef X
    };
    struct kn_buf b = { .c = c };

    kn_putf(&b, "kiln_%s_%s_%s%s_%s_%s_%ux%ux%u", families[p->family].name,
            p->family == KILN_MOE ? stages[p->stage]
                                  : kn_layout_names[p->layout],
            kiln_type_name(p->a), p->quant ? "q" : "", kiln_type_name(p->b),
            kiln_type_name(p->out), g->bm, g->bn, g->bk);
    return b.s;
}

/* The text of a template of this project. */
static kiln_status
open_template(struct kn_ctx *c, const void *user, const char *name,
              const char **file, const char **text)
{
    size_t n = strlen(name);

    (void)c;
    (void)user;
    for (const struct kn_template *t = kn_templates; t->name; t++)
        if (!strncmp(t->name, name, n) && !strcmp(t->name + n, ".tir")) {
            *file = t->name;
            *text = t->text;
        }
    return KILN_OK;
}

kiln_status
kn_expand_facts(struct kn_ctx *c, const char *root, const struct kn_facts *f,
                struct kn_fn **out)
{
    struct kn_library lib = { f, KILN_INTERNAL, open_template, kn_fact };
    struct kn_line *lines;
    size_t n;

    KN_TRY(kn_template_expand(c, &lib, root, &lines, &n));
    return kn_parse(c, lines, n, out);
}

static kiln_status
expand(struct kn_ctx *c, const char *root, const kiln_problem *p,
       const struct kn_config *g, struct kn_fn **out)
{
    struct kn_facts f = kn_facts_of(c, p, g);

    return kn_expand_facts(c, root, &f, out);
}

kiln_status
kn_instantiate(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g, struct kn_fn **out)
{
    struct kn_params *q = KN_NEW(c, struct kn_params, 1);
    struct kn_fn shape = { .c = c };
    bool regs_i32 = p->a == KILN_I8 && p->out != KILN_I32;
    struct kn_frag a;

    shape.shape = kn_shape_of(p, g);
    if (p->stage == KILN_MOE_REDUCE)
        return expand(c, "moe_reduce", p, g, out);
    if (g->schedule == KN_SCHED_GEMV)
        return expand(c, "gemv", p, g, out);
    if (!families[p->family].name)
        return kn_fail(c, KILN_UNSUPPORTED, "this family has no variant yet");
    if (shape.shape.mfma < 0 || !kn_loop_of(p, g))
        return kn_fail(c, KILN_UNSUPPORTED, "no variant of this family does "
                       "that combination of types, target and stages");
    a = kn_fragment(&shape, 'a');
    /* The next share's A is read while this one's is multiplied. */
    if (g->schedule == KN_SCHED_INTERLEAVE && kn_shares(g, &a) < 2)
        return kn_fail(c, KILN_UNSUPPORTED, "the schedule interleave is for "
                       "waves of at least 32 rows");
    if (g->schedule == KN_SCHED_DEEP && a.ksteps * kn_shares(g, &a) != 8)
        return kn_fail(c, KILN_UNSUPPORTED, "the schedule deep is for waves "
                       "of 128 rows and a tile of one or two K steps");
    return expand(c, "gemm", p, g, out);
    kn_set(q, "NAME", kn_kernel_name(c, p, g));
    kn_set(q, "TARGET", kiln_target_name(p->target));
    kn_set(q, "MFMA", kn_mfmas[shape.shape.mfma].text);
    kn_set(q, "ACC", regs_i32 ? "accf" : "acc");
    tile_params(c, g, q);
    domain_params(c, p, g, q);
    operand_params(c, p, g, q);
    scale_params(c, p, g, q);
    kn_loop_params(c, p, g, &a, q);
    kn_set_int(c, q, "ADD", p->beta);
    kn_set_int(c, q, "SIZEC", kn_elems[kn_payload(p->out)].bits / 8);
    group_params(c, p, g, q);
    store_params(c, p, g, q);
    if (p->family == KILN_MOE)
        moe_params(c, p, g, q);
    split_params(c, p, g, q);
    split_regions(p, g, q);
    kn_region(q, "unscale", unscale_param(c, p, q) ? "unscale" : "");
    regions(p, g, q);
    return kn_expand(c, "gemm", q, out);
}
