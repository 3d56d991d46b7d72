/* verify_tiles.c - a name of type tile or view stands for one thing in the
 * whole kernel: a view of an LDS tile, a fetched tile on its way there,
 * fragments read from it, or accumulators. Each use takes one of these. */
#include "verify.h"

enum kind { NOTHING, VIEW, FETCHED, CONVERTED, FRAGMENTS, ACCUMULATORS, ROWS,
            COLUMNS, BASES, FACTORS };

static const char *const kinds[] = {
    "nothing", "a view", "a fetched tile", "a converted tile", "fragments", "accumulators",
    "a value a row", "a value a column", "the base of rows", "factors of K steps",
};

struct tile {
    uint8_t kind;
    int lds;                 /* LDS tile it belongs to, -1: none */
};

struct tiles {
    const struct kn_fn *f;
    struct tile *of;         /* by value */
};

static const char *
lds_name(const struct tiles *w, int lds)
{
    return w->f->lds[lds].name;
}

/* The LDS tile that operation i names, -1: none; that operand a belongs to. */
static int
named_lds(const struct kn_ins *i)
{
    return KN_REF_TAG(i->arg[0]) == KN_R_LDS ? (int)KN_REF_LDS(i->arg[0]) : -1;
}

static int
lds_of(const struct tiles *w, const struct kn_ins *i, int a)
{
    return w->of[KN_REF_INDEX(i->arg[a])].lds;
}

static kiln_status
define(struct tiles *w, const struct kn_ins *i, enum kind kind, int lds)
{
    struct tile *t = &w->of[KN_REF_INDEX(i->dst)];

    if (t->kind && (t->kind != kind || t->lds != lds))
        return FAIL(w->f, i->at, "%%%s is %s elsewhere%s%s",
                    kn_val(w->f, i->dst)->name, kinds[t->kind],
                    t->lds >= 0 ? " of %" : "",
                    t->lds >= 0 ? lds_name(w, t->lds) : "");
    *t = (struct tile){ (uint8_t)kind, lds };
    return KILN_OK;
}

/* Operand a is of this kind; lds: it belongs to that LDS tile, -1: any. */
static kiln_status
need(const struct tiles *w, const struct kn_ins *i, int a, enum kind kind,
     int lds)
{
    struct tile t;

    if (!i->arg[a])
        return KILN_OK;
    t = w->of[KN_REF_INDEX(i->arg[a])];
    if (t.kind != kind)
        return FAIL(w->f, i->at, "operand %d of %s must be %s", a + 1,
                    kn_op_info((enum kn_op)i->op).text, kinds[kind]);
    if (lds >= 0 && t.lds != lds)
        return FAIL(w->f, i->at, "%%%s belongs to %%%s, not to %%%s",
                    kn_val(w->f, i->arg[a])->name, lds_name(w, t.lds),
                    lds_name(w, lds));
    return KILN_OK;
}

/* Fragments of this side, of the operand itself or of its scales. */
static kiln_status
need_side(const struct tiles *w, const struct kn_ins *i, int a, char side,
          bool scales)
{
    const struct kn_lds *l;

    KN_TRY(need(w, i, a, FRAGMENTS, -1));
    if (!i->arg[a])
        return KILN_OK;
    l = &w->f->lds[lds_of(w, i, a)];
    if (l->side != side || (l->kdiv != 1) != scales)
        return FAIL(w->f, i->at, "operand %d of %s must be fragments of %s%c",
                    a + 1, kn_op_info((enum kn_op)i->op).text,
                    scales ? "the scales of " : "", side - 'a' + 'A');
    return KILN_OK;
}

/* Side of a value that belongs to an LDS tile, 0 for others. */
static char
side_of(const struct tiles *w, kn_ref r)
{
    struct tile t = w->of[KN_REF_INDEX(r)];

    return t.kind == FRAGMENTS ? w->f->lds[t.lds].side : 0;
}

/* E8M0 multiplies what becomes bf16, E4M3 only codes whose products both have. */
static bool
has_products(const struct kn_lds *l, const struct kn_lds *s)
{
    return !kn_is_zeros(s) &&
           (s->mem == KN_T_e4m3 ? l->mem == KN_T_fp4
                                : s->mem == KN_T_e8m0 &&
                                      (l->elem == KN_T_bf16 || kn_folds(l)));
}

/* Runs of elements that become 16 bits and the scales of their rows, operand a, or of
 * integers and their zero points. */
static kiln_status
check_scaled(const struct tiles *w, const struct kn_ins *i, int a, int lds)
{
    const struct kn_lds *l = &w->f->lds[lds], *s;

    if (!i->arg[a])
        return KILN_OK;
    KN_TRY(need(w, i, a, FETCHED, -1));
    s = &w->f->lds[lds_of(w, i, a)];
    if (kn_is_zeros(s) && l->mem == KN_T_i4 && l->words == s->words &&
        (l->words || l->run == s->run) &&
        s->rows == l->rows && s->side == l->side && !i->attr[KN_A_kk])
        return KILN_OK;
    return l->run && l->run == s->run && has_products(l, s) &&
                   s->rows == l->rows && s->side == l->side &&
                   (uint32_t)(i->attr[KN_A_kk] + 1) * l->cols <= s->cols * s->kdiv
         ? KILN_OK : FAIL(w->f, i->at, "%%%s does not hold the scales that runs of "
                          "%%%s are multiplied by", s->name, l->name);
}

/* convert: of rows that are converted run by run. */
static kiln_status
check_convert(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 0);
    const struct kn_lds *l = &w->f->lds[lds];

    if (!kn_converts_runs(l) || kn_quantised(l))
        return FAIL(w->f, i->at, "runs of %%%s are not converted", l->name);
    KN_TRY(check_scaled(w, i, 1, lds));
    if (kn_folds(l) && w->f->lds[lds_of(w, i, 1)].cols > 16)
        return FAIL(w->f, i->at, "%%%s is folded with the scales of at most 16 blocks", l->name);
    if (kn_folds(l) != (i->arg[2] != 0))
        return FAIL(w->f, i->at, "%%%s takes %s", l->name,
                    kn_folds(l) ? "scales, and the base of its rows" : "no base of its rows");
    return need(w, i, 2, BASES, i->arg[2] ? lds_of(w, i, 1) : -1);
}

static kiln_status
check_put(struct tiles *w, const struct kn_ins *i)
{
    int lds = named_lds(i);
    bool ready = w->of[KN_REF_INDEX(i->arg[1])].kind == CONVERTED;

    if (kn_quantised(&w->f->lds[lds]))
        return FAIL(w->f, i->at, "%%%s is quantised: put.quant", lds_name(w, lds));
    if (i->arg[2] && kn_folds(&w->f->lds[lds]))
        return FAIL(w->f, i->at, "%%%s is folded: convert", lds_name(w, lds));
    if (ready && i->arg[2])
        return FAIL(w->f, i->at, "%%%s is converted already",
                    kn_val(w->f, i->arg[1])->name);
    if (w->f->lds[lds].unaligned > 1 && !i->arg[2])
        return FAIL(w->f, i->at, "%%%s is loaded by lines: put takes the next K tile's too",
                    lds_name(w, lds));
    if (w->f->lds[lds].unaligned > 1)
        KN_TRY(need(w, i, 2, FETCHED, lds));
    else
        KN_TRY(check_scaled(w, i, 2, lds));
    return need(w, i, 1, ready ? CONVERTED : FETCHED, lds);
}

/* A dword of each block that is folded, in whole fours of rows. */
static bool
has_blocks(const struct kn_lds *s)
{
    return s->kdiv == KN_FOLD && s->elem == KN_T_f32 && !s->mem && !s->gk && !s->lk &&
           s->rows % 4 == 0;
}

/* A dword of each thread. */
static kiln_status
check_any(struct tiles *w, const struct kn_ins *i)
{
    int lds = named_lds(i);
    const struct kn_lds *s = &w->f->lds[lds];

    return s->elem == KN_T_f32 && !s->mem && !s->gk && !s->lk && s->cols == 1 && s->kdiv != 1 &&
                   s->rows == kn_waves(w->f) * 64
         ? KILN_OK : FAIL(w->f, i->at, "%%%s does not hold a dword of each thread",
                          lds_name(w, lds));
}

static kiln_status
check_blocks(const struct tiles *w, const struct kn_ins *i, int lds)
{
    return has_blocks(&w->f->lds[lds])
         ? KILN_OK : FAIL(w->f, i->at, "%%%s does not hold a dword of each block of %d",
                          lds_name(w, lds), KN_FOLD);
}

/* Those of the converted tile, or of the rows whose base it has. */
static kiln_status
check_block_words(const struct tiles *w, const struct kn_ins *i, enum kind kind)
{
    int lds = named_lds(i);
    const struct kn_lds *l, *s = &w->f->lds[lds];

    KN_TRY(check_blocks(w, i, lds));
    KN_TRY(need(w, i, 1, kind, -1));
    l = &w->f->lds[lds_of(w, i, 1)];
    return s->rows == l->rows && s->side == l->side &&
                   (kind == BASES || s->cols * KN_FOLD == l->cols)
         ? KILN_OK : FAIL(w->f, i->at, "%%%s does not hold a dword of each block of %%%s",
                          s->name, l->name);
}

/* Blocks of 32 K for 4 lanes each: codes and E8M0 scales, or where there are
 * no scaled matrix instructions, their values as fp8 and f32 factors. */
static bool
is_blocks(const struct kn_lds *l, const struct kn_lds *s)
{
    bool codes = l->elem == KN_T_fp4 && s->elem == KN_T_e8m0 && s->lk;
    bool values = l->elem == KN_T_fp8 && s->elem == KN_T_f32 && !s->lk;

    return l->run == 8 && (codes || values) && s->kdiv == 32 &&
           s->rows == l->rows && s->cols * 32 == l->cols && s->side == l->side;
}

/* Rows of whole 128 K for lanes side by side, quantised into tiles of A. */
static kiln_status
check_quant(struct tiles *w, const struct kn_ins *i)
{
    int lds = named_lds(i);
    const struct kn_lds *l = &w->f->lds[lds];
    const struct kn_lds *s = &w->f->lds[KN_REF_LDS(i->arg[1])];

    KN_TRY(need(w, i, 2, FETCHED, lds));
    if (i->attr[KN_A_mode] < 0 || i->attr[KN_A_mode] > 3)
        return FAIL(w->f, i->at, "mode= is 0 to 3");
    if (kn_quantised(l) && l->kdiv == 1 && is_blocks(l, s))
        return KILN_OK;
    if (!kn_quantised(l) || l->cols != 128 || l->kdiv != 1 || (l->run != 8 && l->run != 16))
        return FAIL(w->f, i->at, "put.quant takes 128 K of bf16 or f16 to an "
                    "8-bit tile, %%%s is none", l->name);
    if (s->elem != KN_T_f32 || s->mem || s->kdiv != 128 || s->cols != 1 ||
        s->rows != l->rows || s->side != l->side)
        return FAIL(w->f, i->at, "%%%s does not hold an f32 a row of %%%s",
                    s->name, l->name);
    return KILN_OK;
}

/* Factors of a block: of columns and, behind them, of rows, or of either. */
static kiln_status
check_factors(const struct tiles *w, const struct kn_ins *i, unsigned first)
{
    if (!i->arg[first + 1] && side_of(w, i->arg[first]) == 'a')
        return need_side(w, i, first, 'a', true);
    KN_TRY(need_side(w, i, first, 'b', true));
    return need_side(w, i, first + 1, 'a', true);
}

/* K steps of a tile, or of the several whose scales lie in one. */
static uint32_t
steps_in(const struct tiles *w, const struct kn_lds *l)
{
    struct kn_frag fr = kn_fragment(w->f, l->side);

    if (l->line)
        return 4 * kn_ring(l); /* lines that fill all slots, of any type */
    return l->kdiv != 1 && l->cols * l->kdiv > w->f->shape.bk
           ? l->cols * l->kdiv / fr.k : fr.ksteps;
}

/* The scales that a product takes, and how many K steps it may be one of: of a
 * block that shuffled scales come in. */
static kiln_status
check_scales(const struct tiles *w, const struct kn_ins *i, uint32_t *steps)
{
    const struct kn_lds *l;

    if (!i->arg[3])
        return KILN_OK;
    if (!i->arg[4])
        return FAIL(w->f, i->at, "mma takes the scales of both operands or "
                    "none");
    KN_TRY(need_side(w, i, 3, 'a', true));
    KN_TRY(need_side(w, i, 4, 'b', true));
    l = &w->f->lds[lds_of(w, i, 3)];
    if (l->shuf)
        *steps = steps_in(w, l);
    return KILN_OK;
}

static kiln_status
check_matrix(struct tiles *w, const struct kn_ins *i)
{
    uint32_t steps = kn_fragment(w->f, 'a').ksteps;

    KN_TRY(need(w, i, 0, ACCUMULATORS, -1));
    KN_TRY(need_side(w, i, 1, 'a', false));
    KN_TRY(need_side(w, i, 2, 'b', false));
    if (i->op == KN_OP_mma)
        KN_TRY(check_scales(w, i, &steps));
    if (i->attr[KN_A_kk] < 0 || (uint32_t)i->attr[KN_A_kk] >= steps)
        return FAIL(w->f, i->at, "kk=%d, but a tile has %u K steps",
                    i->attr[KN_A_kk], steps);
    return i->op != KN_OP_mma ? check_factors(w, i, 3) : KILN_OK;
}

/* fetch.zeros: of runs that a lane has one value of. */
static kiln_status
check_zeros(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 0);
    const struct kn_lds *l = &w->f->lds[lds];

    return kn_is_zeros(l) && l->side == 'b'
         ? KILN_OK
         : FAIL(w->f, i->at, "%%%s has no zero points of columns", l->name);
}

/* integers: of 4 bits in LDS, of a product's 16 bits, and their zero points. */
static kiln_status
check_integers(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 0);
    const struct kn_lds *l = &w->f->lds[lds];
    bool whole = i->attr[KN_A_kk] >= 0 &&
                 (uint32_t)i->attr[KN_A_kk] < kn_fragment(w->f, 'b').ksteps;

    KN_TRY(need_side(w, i, 0, 'b', false));
    KN_TRY(need(w, i, 1, FETCHED, -1));
    return l->elem == KN_T_i4 && whole && kn_elems[w->f->shape.tb].bits == 16
         ? KILN_OK
         : FAIL(w->f, i->at, "%%%s has no integers of 4 bits of K step %d", l->name,
                i->attr[KN_A_kk]);
}

/* factors: of scales that four K steps at a time are read of. */
static kiln_status
check_steps(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 0);

    return kn_scales_codes(w->f, &w->f->lds[lds])
         ? KILN_OK
         : FAIL(w->f, i->at, "%%%s has no scales of codes", w->f->lds[lds].name);
}

/* scaled: codes in LDS that E8M0 makes bf16 of, and E4M3, of e2m1, either. */
static kiln_status
check_codes(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 0);
    const struct kn_lds *l = &w->f->lds[lds], *s;
    bool bf16 = w->f->shape.tb == KN_T_bf16, step;

    KN_TRY(need_side(w, i, 0, l->side, false));
    KN_TRY(need(w, i, 1, FACTORS, -1));
    s = &w->f->lds[lds_of(w, i, 1)];
    step = i->attr[KN_A_kk] >= 0 && i->attr[KN_A_kk] < KN_SCALED_STEPS;
    return step && l->side == s->side && l->rows == s->rows &&
                   (s->elem == KN_T_e4m3 ? l->elem == KN_T_fp4
                                         : bf16 && kn_elems[l->elem].bits != 6)
         ? KILN_OK
         : FAIL(w->f, i->at, "%%%s has no codes that scales of %%%s multiply", l->name, s->name);
}

static kiln_status
check_read(struct tiles *w, const struct kn_ins *i)
{
    const struct kn_lds *l = &w->f->lds[KN_REF_LDS(i->arg[0])];
    struct kn_frag fr = kn_fragment(w->f, l->side);
    uint32_t n = steps_in(w, l);

    if (i->attr[KN_A_kk] < 0 || (uint32_t)i->attr[KN_A_kk] >= n)
        return FAIL(w->f, i->at, "kk=%d, but %%%s has %u K steps",
                    i->attr[KN_A_kk], l->name, n);
    if (kn_scales_codes(w->f, l) && (i->attr[KN_A_kk] | (int32_t)n) % KN_SCALED_STEPS)
        return FAIL(w->f, i->at, "scales of codes are read four K steps at a time: those of "
                    "%%%s are not", l->name);
    if (i->attr[KN_A_pairs] &&
        (!l->shuf || i->attr[KN_A_kk] % 2 || fr.count % 2))
        return FAIL(w->f, i->at, "pairs=1 reads shuffled scales of an even K "
                    "step, fragments two and two: not those of %%%s", l->name);
    if (i->attr[KN_A_one] && (l->elem != KN_T_f32 || l->side != 'b' ||
                              (1u << l->shift) % (fr.count * 16)))
        return FAIL(w->f, i->at, "one=1 reads the factor of a wave's columns: "
                    "%%%s has several", l->name);
    return KILN_OK;
}

/* Where K ends is cut in rows along K. */
static kiln_status
check_copy(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 1);

    KN_TRY(need(w, i, 1, VIEW, named_lds(i)));
    if (i->arg[2] && !w->f->lds[lds].gk)
        return FAIL(w->f, i->at, "only rows along K are copied up to an end of "
                    "K, not those of %%%s", lds_name(w, lds));
    return KILN_OK;
}

/* What LDS never holds is K-contiguous in memory, unconverted, of pieces that
 * whole loads take; its scales are bytes. */
static kiln_status
check_pull(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 0);
    const struct kn_lds *l = &w->f->lds[lds];
    uint32_t bits = kn_elems[l->elem].bits;

    if (l->slots)
        return FAIL(w->f, i->at, "%%%s has slots: copy and read",
                    l->name);
    if (!l->gk || l->mem || l->shift || l->unit < 4 ||
        (l->kdiv != 1 && (bits != 8 || l->cols * l->kdiv % 128)) ||
        (l->panel && bits == 6))
        return FAIL(w->f, i->at, "fragments of %%%s cannot be loaded straight "
                    "from memory", l->name);
    return KILN_OK;
}

/* A view of something that is staged, or of something that is not. */
static kiln_status
check_staged(struct tiles *w, const struct kn_ins *i)
{
    int lds = lds_of(w, i, 0);

    if (!w->f->lds[lds].slots)
        return FAIL(w->f, i->at, "%%%s has no slots: pull", lds_name(w, lds));
    return KILN_OK;
}

/* What was loaded: fetched, pulled or a value a row. */
static kiln_status
check_loaded(struct tiles *w, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        struct tile t;

        if (KN_REF_TAG(i->arg[a]) != KN_R_VAL)
            continue;
        t = w->of[KN_REF_INDEX(i->arg[a])];
        if ((t.kind != ROWS || i->op != KN_OP_keep) &&
            (t.kind != FRAGMENTS || w->f->lds[t.lds].slots))
            KN_TRY(need(w, i, a, FETCHED, -1));
    }
    return KILN_OK;
}

static bool
on_tile(const struct kn_ins *i)
{
    struct kn_op_info op = kn_op_info(i->op);

    return op.level == KN_TILE && op.args && op.args[0] == 'T';
}

/* What sums of f64 may meet: codes and acc.gate's activations are of f32. */
static kiln_status
check_wide(const struct kn_fn *f, const struct kn_ins *i)
{
    static const uint16_t takes[] = { KN_OP_mma, KN_OP_mulall, KN_OP_mulcols,
        KN_OP_addcols, KN_OP_accmax, KN_OP_apply, KN_OP_store, KN_OP_zero, KN_OP_park,
        KN_OP_join, KN_OP_keep, KN_OP_gate };
    int32_t e = i->attr[KN_A_elem];
    bool floats = (i->op != KN_OP_store && i->op != KN_OP_apply) ||
                  kn_elems[e].kind == KN_E_FLOAT;

    floats &= i->op != KN_OP_gate || i->attr[KN_A_act] >= KN_GATED;

    if (kn_sum_dwords(f) == 1 || !on_tile(i))
        return KILN_OK;
    for (size_t k = 0; k < sizeof takes / sizeof *takes; k++)
        if (takes[k] == i->op && floats)
            return KILN_OK;
    return FAIL(f, i->at, "%s does not take sums of f64", name_of(i));
}

/* ---- what each operation takes of tiles, and makes ---- */

static kiln_status
check_unfold(struct tiles *w, const struct kn_ins *i)
{
    return check_factors(w, i, 1);
}

static kiln_status
check_addblock(struct tiles *w, const struct kn_ins *i)
{
    return check_factors(w, i, 2);
}

static kiln_status
check_putbase(struct tiles *w, const struct kn_ins *i)
{
    return check_block_words(w, i, BASES);
}

static kiln_status
check_putapart(struct tiles *w, const struct kn_ins *i)
{
    return check_block_words(w, i, CONVERTED);
}

/* The LDS tile that a result belongs to. */
enum whose { NOBODYS, NAMED, OF_OPERAND };

/* Operands of a kind come first, then the check, then the result. */
struct rule {
    struct {
        uint8_t operand, kind;       /* NOTHING: none */
    } takes[2];
    kiln_status (*check)(struct tiles *w, const struct kn_ins *i);
    uint8_t makes, whose;            /* NOTHING: no tile */
};

#define NONE { { 0 } }
#define TAKES(...) { __VA_ARGS__ }
#define RULE(op, takes, check, makes, whose) [KN_OP_##op] = { takes, check, makes, whose },
static const struct rule rules[] = {
#include "tiles.def"
};
#undef RULE

/* NULL: it has none. */
static const struct rule *
rule_of(const struct kn_ins *i)
{
    const struct rule *r = i->op < sizeof rules / sizeof *rules ? &rules[i->op] : NULL;

    return r && (r->takes[0].kind || r->check || r->makes) ? r : NULL;
}

static kiln_status
visit(struct tiles *w, const struct kn_ins *i)
{
    const struct rule *r = rule_of(i);

    KN_TRY(check_wide(w->f, i));
    if (!r)
        return on_tile(i) ? need(w, i, 0, ACCUMULATORS, -1) : KILN_OK;
    for (int k = 0; k < 2 && r->takes[k].kind; k++)
        KN_TRY(need(w, i, r->takes[k].operand, r->takes[k].kind, -1));
    if (r->check)
        KN_TRY(r->check(w, i));
    return r->makes == NOTHING ? KILN_OK
         : define(w, i, r->makes, r->whose == NAMED ? named_lds(i)
                                : r->whose == OF_OPERAND ? lds_of(w, i, 0) : -1);
}

kiln_status
kn_verify_tiles(const struct kn_fn *f)
{
    struct tiles w = { f, KN_NEW(f->c, struct tile, f->nval) };

    for (size_t i = 0; i < f->nins; i++)
        KN_TRY(visit(&w, &f->ins[i]));
    return KILN_OK;
}
