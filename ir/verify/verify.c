/* verify.c - what a kernel must satisfy before anything works on it: levels,
 * operand kinds and types, structure, definite assignment, targets, LDS
 * geometry. Everything LLVM would abort on is refused here, with the place in
 * the user's text. */
#include "verify.h"

#include <string.h>

/* ---- types of operands ---- */

static bool
is_kind(const struct kn_fn *f, kn_ref r, int kind)
{
    if (is_value(r))
        return kn_elems[kn_val(f, r)->type.elem].kind == kind;
    return KN_REF_TAG(r) == KN_R_CONST &&
           f->konst[KN_REF_INDEX(r)].is_float == (kind == KN_E_FLOAT);
}

static bool
has_elem(const struct kn_fn *f, kn_ref r, int elem)
{
    return is_value(r) && kn_val(f, r)->type.elem == elem;
}

static bool
is_int(const struct kn_fn *f, kn_ref r, int elem, bool lane_ok)
{
    if (!is_value(r))
        return is_kind(f, r, KN_E_INT);
    return kn_val(f, r)->type.elem == elem && kn_val(f, r)->type.n == 1 &&
           (lane_ok || !kn_val(f, r)->type.lane);
}

static const char *
letter_text(char letter)
{
    switch (letter) {
    case 'i': return "an integer";
    case 'f': return "a float";
    case 'x': return "a register value";
    case 'b': return "a b1 value";
    case 'u': return "a uniform i32";
    case 'w': return "a uniform i64";
    case 'v': return "an i32";
    case 'r': return "a buffer resource";
    case 'p': return "a pointer argument";
    case 'L': return "an LDS slot such as %sA[0]";
    case 'S': return "an LDS tile";
    case 'y': return "an LDS slot or a register value";
    case 'Y': return "an LDS slot or a tile of registers";
    case 'V': return "a view";
    case 'T': return "a tile";
    }
    return "?";
}

static bool
fits(const struct kn_fn *f, char letter, kn_ref r)
{
    switch (letter) {
    case 'i': return is_kind(f, r, KN_E_INT) && !has_elem(f, r, KN_T_b1);
    case 'f': return is_kind(f, r, KN_E_FLOAT);
    case 'x': return is_kind(f, r, KN_E_INT) || is_kind(f, r, KN_E_FLOAT);
    case 'b': return has_elem(f, r, KN_T_b1);
    case 'u': return is_int(f, r, KN_T_i32, false);
    case 'w': return is_value(r) && is_int(f, r, KN_T_i64, false);
    case 'v': return is_int(f, r, KN_T_i32, true);
    case 'r': return has_elem(f, r, KN_T_rsrc);
    case 'p': return has_elem(f, r, KN_T_ptr);
    case 'L': return KN_REF_TAG(r) == KN_R_LDS && KN_REF_SLOT(r) != KN_ALL_SLOTS;
    case 'S': return KN_REF_TAG(r) == KN_R_LDS && KN_REF_SLOT(r) == KN_ALL_SLOTS;
    case 'y': return fits(f, 'L', r) || (is_value(r) && fits(f, 'x', r));
    case 'Y': return fits(f, 'L', r) || fits(f, 'T', r);
    case 'V': return has_elem(f, r, KN_T_view);
    case 'T': return has_elem(f, r, KN_T_tile);
    }
    return false;
}

static kiln_status
check_operands(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_op_info o = kn_op_info((enum kn_op)i->op);
    const char *letter = o.args;
    int n = 0;

    while (n < KN_MAXARG && i->arg[n])
        n++;
    if (n > o.nargs || n < o.nargs - o.nopt)
        return FAIL(f, i->at, "%s takes %d operands, not %d", o.text,
                    o.nargs - o.nopt, n);
    for (int a = 0; a < n; a++, letter++) {
        letter += *letter == '?';
        if (!fits(f, *letter, i->arg[a]))
            return FAIL(f, i->at, "operand %d of %s must be %s", a + 1, o.text,
                        letter_text(*letter));
    }
    return KILN_OK;
}

static kiln_status
check_result(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_op_info o = kn_op_info((enum kn_op)i->op);

    if (o.dst == '-')
        return i->dst ? FAIL(f, i->at, "%s has no result", o.text) : KILN_OK;
    if (!i->dst)
        return FAIL(f, i->at, "the result of %s needs a name", o.text);
    if (!fits(f, o.dst, i->dst))
        return FAIL(f, i->at, "the result of %s must be %s", o.text,
                    letter_text(o.dst));
    return KILN_OK;
}

static bool
crosses_lanes(enum kn_op op)
{
    return op == KN_OP_uniform || op == KN_OP_count ||
           op == KN_OP_readlane;
}

/* A per-lane operand cannot make a uniform result, except across lanes. */
static kiln_status
check_uniform(const struct kn_fn *f, const struct kn_ins *i)
{
    if (!i->dst || kn_val(f, i->dst)->type.lane || crosses_lanes((enum kn_op)i->op) ||
        kn_elems[kn_val(f, i->dst)->type.elem].kind == KN_E_REF)
        return KILN_OK;
    if (i->op == KN_OP_lane)
        return FAIL(f, i->at, "lane differs per lane, its result must be v.i32");
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (is_value(i->arg[a]) && kn_val(f, i->arg[a])->type.lane)
            return FAIL(f, i->at, "%%%s is uniform but operand %d differs per "
                        "lane", kn_val(f, i->dst)->name, a + 1);
    return KILN_OK;
}

/* Operations whose operands and result must be of one type. */
static bool
same_type_op(enum kn_op op)
{
    return (op >= KN_OP_add && op <= KN_OP_umax) || op == KN_OP_fadd ||
           op == KN_OP_fmul || op == KN_OP_fma || op == KN_OP_mov;
}

static kiln_status
check_same_type(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_type t;

    if (!same_type_op((enum kn_op)i->op))
        return KILN_OK;
    t = kn_val(f, i->dst)->type;
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        const struct kn_type *x = &kn_val(f, i->arg[a])->type;

        if (!is_value(i->arg[a])) {
            if (f->konst[KN_REF_INDEX(i->arg[a])].is_float !=
                (kn_elems[t.elem].kind == KN_E_FLOAT))
                return FAIL(f, i->at, "operand %d of %s is of another kind "
                            "than its result", a + 1,
                            kn_op_info((enum kn_op)i->op).text);
        } else if (x->elem != t.elem || x->n != t.n) {
            return FAIL(f, i->at, "operand %d of %s has another type than its "
                        "result", a + 1, kn_op_info((enum kn_op)i->op).text);
        }
    }
    return KILN_OK;
}

/* ---- single operations ---- */

static uint32_t
value_bits(const struct kn_fn *f, kn_ref r)
{
    const struct kn_type *t = &kn_val(f, r)->type;

    return kn_elems[t->elem].bits * t->n;
}

static kiln_status
check_mfma(const struct kn_fn *f, const struct kn_ins *i)
{
    const struct kn_mfma_info *m;
    const uint8_t want[2] = { (uint8_t)i->attr[KN_A_ta],
                              (uint8_t)i->attr[KN_A_tb] };

    if ((i->attr[KN_A_sela] | i->attr[KN_A_selb]) & ~3)
        return FAIL(f, i->at, "sela and selb are from 0 to 3");
    if (i->attr[KN_A_shape] < 0)
        return FAIL(f, i->at, "a matrix instruction needs shape=");
    m = &kn_mfmas[i->attr[KN_A_shape]];
    if (!(m->targets >> f->target & 1))
        return FAIL(f, i->at, "%s does not exist on %s", m->text,
                    kiln_target_name(f->target));
    if (i->op == KN_OP_mfmas && m->a != KN_T_b1)
        return FAIL(f, i->at, "%s takes no scales", m->text);
    for (int a = 0; a < 2; a++) {
        uint32_t bits = m->regs_ab * 32u;

        if (m->a == KN_T_b1) {
            if (kn_elems[want[a]].mx < 0)
                return FAIL(f, i->at, "%s cannot multiply %s", m->text,
                            kn_elems[want[a]].text);
            bits = m->k * kn_elems[want[a]].bits / 4u;
        }
        if (!is_value(i->arg[a]) || value_bits(f, i->arg[a]) != bits)
            return FAIL(f, i->at, "operand %d of %s must hold %u bits a lane",
                        a + 1, m->text, bits);
    }
    if (value_bits(f, i->dst) != m->regs_c * (uint32_t)kn_elems[m->acc].bits ||
        kn_val(f, i->dst)->type.elem != m->acc)
        return FAIL(f, i->at, "the accumulator of %s is v.%sx%u", m->text,
                    kn_elems[m->acc].text, m->regs_c);
    return KILN_OK;
}

static kiln_status
check_memory(const struct kn_fn *f, const struct kn_ins *i)
{
    int32_t off = i->attr[KN_A_offset];

    if (i->op == KN_OP_dma) {
        if (i->attr[KN_A_bytes] != 4 && i->attr[KN_A_bytes] != 16)
            return FAIL(f, i->at, "dma moves 4 or 16 bytes a lane, not %d",
                        i->attr[KN_A_bytes]);
        if ((uint32_t)i->attr[KN_A_bytes] > kn_targets[f->target].dma)
            return FAIL(f, i->at, "%s copies at most %u bytes a lane directly "
                        "to LDS", kiln_target_name(f->target),
                        kn_targets[f->target].dma);
    }
    if ((i->op == KN_OP_lds_ld || i->op == KN_OP_lds_st) &&
        (off < 0 || off > 163839))
        return FAIL(f, i->at, "an LDS offset is from 0 to 163839");
    if (i->op == KN_OP_lds_ld && i->attr[KN_A_span] != 1 &&
        (i->attr[KN_A_span] != 2 || i->attr[KN_A_own]))
        return FAIL(f, i->at, "span= is 1 or 2, and 1 of what is a lane's own");
    if (i->op == KN_OP_lds_ld && i->attr[KN_A_ring] &&
        (i->attr[KN_A_ring] < 0 || i->attr[KN_A_span] != 1 || i->attr[KN_A_own]))
        return FAIL(f, i->at, "ring= is a number of slots, and 0 of what spans two "
                    "or is a lane's own");
    if (i->op == KN_OP_lds_ld && i->attr[KN_A_tr] &&
        !kn_targets[f->target].lds_tr)
        return FAIL(f, i->at, "%s has no transposing LDS read",
                    kiln_target_name(f->target));
    if (i->op == KN_OP_atom && i->attr[KN_A_elem] != KN_T_bf16 &&
        i->attr[KN_A_elem] != KN_T_f32)
        return FAIL(f, i->at, "atom.add adds pairs of bf16, or f32");
    if (i->op == KN_OP_scatter && i->attr[KN_A_atomic] &&
        i->attr[KN_A_elem] != KN_T_bf16 && i->attr[KN_A_elem] != KN_T_f32)
        return FAIL(f, i->at, "store.rows atomic=1 adds bf16 or f32");
    if ((i->op == KN_OP_park || i->op == KN_OP_share || i->op == KN_OP_join) &&
        (i->attr[KN_A_splits] < 1 || i->attr[KN_A_splits] > 16))
        return FAIL(f, i->at, "splits= is from 1 to 16");
    if ((i->op == KN_OP_ldg || i->op == KN_OP_stg) && (off < 0 || off > 4095))
        return FAIL(f, i->at, "a buffer offset is from 0 to 4095");
    return KILN_OK;
}

static kiln_status
check_fence(const struct kn_fn *f, const struct kn_ins *i)
{
    if (i->attr[KN_A_vm] < 0 || i->attr[KN_A_vm] > 63)
        return FAIL(f, i->at, "fence vm= is from 0 to 63 (6-bit counter)");
    if (i->attr[KN_A_lgkm] < 0 || i->attr[KN_A_lgkm] > 15)
        return FAIL(f, i->at, "fence lgkm= is from 0 to 15 (4-bit counter)");
    return KILN_OK;
}

static kiln_status
check_halves(const struct kn_fn *f, const struct kn_ins *i)
{
    if (kn_waves(f) % 2)
        return FAIL(f, i->at, "%s divides the waves into halves, which %u %s "
                    "not have", kn_op_info((enum kn_op)i->op).text, kn_waves(f),
                    kn_waves(f) == 1 ? "wave does" : "waves do");
    return KILN_OK;
}

static kiln_status
check_copy(const struct kn_fn *f, const struct kn_ins *i)
{
    const struct kn_lds *l;
    struct kn_geom g;

    if (kn_op_info(i->op).level == KN_TILE && kn_op_takes(i->op, KN_A_part) &&
        (i->attr[KN_A_parts] < 1 || i->attr[KN_A_part] < 0 ||
         i->attr[KN_A_part] >= i->attr[KN_A_parts]))
        return FAIL(f, i->at, "part= must be below parts=");
    if (i->op == KN_OP_mma && (i->attr[KN_A_half] < 0 || i->attr[KN_A_half] > 2))
        return FAIL(f, i->at, "half= is 1 or 2");
    if (i->op != KN_OP_copy)
        return KILN_OK;
    l = &f->lds[KN_REF_LDS(i->arg[0])];
    g = kn_geometry(f, l);
    if (l->mem)
        return FAIL(f, i->at, "a direct copy cannot convert %%%s: use fetch "
                    "and put", l->name);
    if (l->unaligned)
        return FAIL(f, i->at, "a direct copy cannot shift rows of %%%s: use "
                    "fetch and put", l->name);
    if (g.transpose)
        return FAIL(f, i->at, "a direct copy cannot transpose %%%s: use fetch "
                    "and put", l->name);
    if (g.chunk > kn_targets[f->target].dma || g.chunk > l->unit ||
        g.chunk < 4)
        return FAIL(f, i->at, "%%%s cannot be copied directly: its chunks are "
                    "%u bytes, loads %u, and %s copies %u", l->name, g.chunk,
                    l->unit, kiln_target_name(f->target),
                    kn_targets[f->target].dma);
    return KILN_OK;
}

static kiln_status
check_ins(const struct kn_fn *f, const struct kn_ins *i)
{
    struct kn_op_info o = kn_op_info((enum kn_op)i->op);

    if (!(o.level & f->level))
        return FAIL(f, i->at, "%s is no %s-level operation", o.text,
                    f->level == KN_TILE ? "tile" : "wave");
    KN_TRY(check_operands(f, i));
    KN_TRY(check_result(f, i));
    KN_TRY(check_uniform(f, i));
    KN_TRY(check_same_type(f, i));
    if (i->op == KN_OP_mfma || i->op == KN_OP_mfmas)
        KN_TRY(check_mfma(f, i));
    if (o.kind == KN_MEM)
        KN_TRY(check_memory(f, i));
    if (i->op == KN_OP_fence)
        KN_TRY(check_fence(f, i));
    if (i->op == KN_OP_stagger || i->op == KN_OP_rejoin)
        KN_TRY(check_halves(f, i));
    if ((i->op == KN_OP_break || i->op == KN_OP_if) &&
        kn_val(f, i->arg[0])->type.lane)
        return FAIL(f, i->at, "%s needs a uniform condition", o.text);
    KN_TRY(kn_verify_types(f, i));
    return check_copy(f, i);
}

/* ---- structure and definite assignment ---- */

enum { MAX_DEPTH = 32 };

struct flow {
    const struct kn_fn *f;
    size_t words;
};

typedef uint64_t bitset;     /* [words], a bit per value */

static bool
assigned(const bitset *s, kn_ref r)
{
    uint32_t i = KN_REF_INDEX(r);

    return s[i / 64] >> (i % 64) & 1;
}

static void
intersect(const struct flow *w, bitset *a, const bitset *b)
{
    for (size_t i = 0; i < w->words; i++)
        a[i] &= b[i];
}

static bitset *
new_set(const struct flow *w, const bitset *from)
{
    bitset *s = KN_NEW(w->f->c, bitset, w->words);

    memcpy(s, from, w->words * sizeof *s);
    return s;
}

static kiln_status
use_and_define(const struct flow *w, const struct kn_ins *i, bitset *s)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (is_value(i->arg[a]) && !assigned(s, i->arg[a]))
            return FAIL(w->f, i->at, "%%%s may be used before it is assigned",
                        kn_val(w->f, i->arg[a])->name);
    if (i->dst)
        s[KN_REF_INDEX(i->dst) / 64] |= 1ull << (KN_REF_INDEX(i->dst) % 64);
    return KILN_OK;
}

static kiln_status flow_block(const struct flow *w, size_t *at, bitset *s,
                              bitset *exit_set, int depth);

static kiln_status
flow_loop(const struct flow *w, size_t *at, bitset *s, int depth)
{
    const struct kn_ins *open = &w->f->ins[*at];
    bitset *body = new_set(w, s), *out = KN_NEW(w->f->c, bitset, w->words);

    memset(out, 0xff, w->words * sizeof *out);
    ++*at;
    KN_TRY(flow_block(w, at, body, out, depth + 1));
    if (out[w->words - 1] >> 63)
        return FAIL(w->f, open->at, "this loop has no break");
    memcpy(s, out, w->words * sizeof *s);
    return KILN_OK;
}

static kiln_status
flow_if(const struct flow *w, size_t *at, bitset *s, bitset *exit_set,
        int depth)
{
    bitset *other = new_set(w, s);

    ++*at;
    KN_TRY(flow_block(w, at, s, exit_set, depth + 1));
    if (w->f->ins[*at].op == KN_OP_else) {
        ++*at;
        KN_TRY(flow_block(w, at, other, exit_set, depth + 1));
    }
    intersect(w, s, other);
    return KILN_OK;
}

/* Walks to the `end`/`else` of this level; *at is left on it. */
static kiln_status
flow_block(const struct flow *w, size_t *at, bitset *s, bitset *exit_set,
           int depth)
{
    size_t open = *at;

    for (; *at < w->f->nins; ++*at) {
        const struct kn_ins *i = &w->f->ins[*at];

        if (depth == MAX_DEPTH)
            return FAIL(w->f, i->at, "control flow is nested deeper than %d",
                        MAX_DEPTH);
        KN_TRY(check_ins(w->f, i));
        if ((i->op == KN_OP_end || i->op == KN_OP_else) && depth)
            return KILN_OK;
        if (i->op == KN_OP_end || i->op == KN_OP_else)
            return FAIL(w->f, i->at, "%s without loop or if",
                        kn_op_info((enum kn_op)i->op).text);
        KN_TRY(use_and_define(w, i, s));
        if (i->op == KN_OP_loop) {
            KN_TRY(flow_loop(w, at, s, depth));
        } else if (i->op == KN_OP_if) {
            KN_TRY(flow_if(w, at, s, exit_set, depth));
        } else if (i->op == KN_OP_break) {
            if (!exit_set)
                return FAIL(w->f, i->at, "break outside a loop");
            intersect(w, exit_set, s);
        }
    }
    if (depth)
        return FAIL(w->f, w->f->ins[open ? open - 1 : 0].at,
                    "loop or if without end");
    return KILN_OK;
}

kiln_status
kn_verify(const struct kn_fn *f)
{
    struct flow w = { f, f->nval / 64 + 2 }; /* the last bit is never a value */
    bitset *s = KN_NEW(f->c, bitset, w.words);
    size_t at = 0;

    KN_TRY(kn_verify_declarations(f));
    for (size_t i = 1; i < f->nval; i++)
        if (f->val[i].arg)
            s[i / 64] |= 1ull << (i % 64);
    KN_TRY(flow_block(&w, &at, s, NULL, 0));
    return f->level == KN_TILE ? kn_verify_tiles(f) : KILN_OK;
}
