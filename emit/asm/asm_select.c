/* asm_select.c - values in registers, and the walk over the kernel. Operations
 * are in the other asm_select_*.c. */
#include "asm_select.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct kn_asm_opnd
kn_asm_new(struct kn_asm *a, enum kn_asm_class cls, uint32_t n)
{
    uint8_t align = cls == KN_ASM_S && n > 3 ? 4 : n > 1 ? 2 : 1;

    a->reg = kn_grow(a->c, a->reg, &a->capreg, a->nreg + 1, sizeof *a->reg);
    a->reg[a->nreg] = (struct kn_asm_reg){ (uint8_t)cls, (uint8_t)n, align,
                                               0, 0, -1 };
    return (struct kn_asm_opnd){ .kind = KN_ASM_REG, .n = (uint8_t)n,
                                 .v = (int32_t)a->nreg++ };
}

struct kn_asm_op *
kn_asm_add(struct select *s, uint16_t isa, uint8_t ndst,
           const struct kn_asm_opnd *o, size_t n)
{
    struct kn_asm *a = s->a;
    struct kn_asm_op *x;

    a->op = kn_grow(a->c, a->op, &a->capop, a->nop + 1, sizeof *a->op);
    x = &a->op[a->nop++];
    *x = (struct kn_asm_op){ .isa = isa, .ndst = ndst, .nopnd = (uint8_t)n,
                             .vm = 63, .lgkm = 15,
                             .from = a->from[s->at] };
    if (n)
        memcpy(x->o, o, n * sizeof *o);
    if (kn_isa[isa].flags & KN_IF_WSCC)
        s->scc = 0;
    return x;
}

const char *
kn_asm_mods(struct select *s, const char *fmt, ...)
{
    char text[80];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return kn_strdup(s->a->c, text);
}

void
kn_asm_lack(struct select *s, const char *what)
{
    if (!s->status)
        s->status = kn_fail_at(s->a->c, KILN_UNSUPPORTED, s->i->at, "the "
                               "assembly lowering does not do %s yet", what);
}

/* ---- values ---- */

uint32_t
kn_asm_dwords(struct kn_type t)
{
    if (t.elem == KN_T_b1)
        return t.lane ? 2 : 1;
    return (kn_elems[t.elem].bits * t.n + 31u) / 32;
}

enum kn_asm_class
kn_asm_cls(const struct select *s, struct kn_asm_opnd o)
{
    return o.kind == KN_ASM_REG ? (enum kn_asm_class)s->a->reg[o.v].cls
                                : KN_ASM_CLASSES;
}

static int32_t
number(const struct kn_const *k, const struct kn_type *t)
{
    float f = (float)k->f;
    int32_t bits;

    if (!k->is_float)
        return (int32_t)k->i;
    memcpy(&bits, &f, sizeof bits);
    return t && t->elem != KN_T_f32 && k->f == 0 ? 0 : bits;
}

struct kn_asm_opnd
kn_asm_arg(struct select *s, int a)
{
    kn_ref r = s->i->arg[a];
    const struct kn_type *t = s->i->dst ? &kn_val(s->f, s->i->dst)->type : NULL;
    struct kn_asm_opnd o;

    if (KN_REF_TAG(r) == KN_R_CONST) {
        const struct kn_const *k = &s->f->konst[KN_REF_INDEX(r)];

        if (k->is_float && k->f != 0 && t && t->elem != KN_T_f32 &&
            t->elem != KN_T_b1) {
            if (t->elem != KN_T_f16)
                kn_asm_lack(s, "constants of 16 bits");
            return kn_asm_halves(s, number(k, NULL), t->n);
        }
        return kn_imm(number(k, t));
    }
    o = s->val[KN_REF_INDEX(r)];
    if (o.kind == KN_ASM_NONE)
        kn_asm_lack(s, "values read before they are written");
    return o;
}

struct kn_asm_opnd
kn_asm_dst(struct select *s)
{
    uint32_t n = KN_REF_INDEX(s->i->dst);
    struct kn_type t = s->f->val[n].type;

    if (s->val[n].kind == KN_ASM_NONE)
        s->val[n] = kn_asm_new(s->a, (enum kn_asm_class)s->cls[n],
                               kn_asm_dwords(t));
    return s->val[n];
}

static void
copy_dword(struct select *s, struct kn_asm_opnd to, struct kn_asm_opnd from)
{
    enum kn_asm_class t = kn_asm_cls(s, to), f = kn_asm_cls(s, from);

    if (t == KN_ASM_S && f == KN_ASM_V)
        ADD(s, v_readfirstlane_b32, 1, to, from);
    else if (t == KN_ASM_S)
        ADD(s, s_mov_b32, 1, to, from);
    else if (t == KN_ASM_V && f == KN_ASM_A)
        ADD(s, v_accvgpr_read_b32, 1, to, from);
    else if (t == KN_ASM_V)
        ADD(s, v_mov_b32, 1, to, from);
    else if (f == KN_ASM_A)
        ADD(s, v_accvgpr_mov_b32, 1, to, from);
    else
        ADD(s, v_accvgpr_write_b32, 1, to, from);
}

/* Whether dwords d and d + 1 of vector registers become zero. */
static bool
clears_two(const struct select *s, struct kn_asm_opnd to, uint32_t d,
           struct kn_asm_opnd from)
{
    return from.kind == KN_ASM_IMM && !from.v && kn_asm_cls(s, to) == KN_ASM_V &&
           d + 1 < to.n && (to.sub + d) % 2 == 0;
}

void
kn_asm_copy(struct select *s, struct kn_asm_opnd to, struct kn_asm_opnd from)
{
    bool same = from.kind == KN_ASM_REG && to.v == from.v && to.sub == from.sub;

    for (uint32_t d = 0; d < to.n && !same; d++) {
        struct kn_asm_opnd x = kn_part(to, d, 1);

        x.fresh = d == 0 && to.n == s->a->reg[to.v].n;
        if (clears_two(s, to, d, from)) {
            x.n = 2;
            ADD(s, v_mov_b64, 1, x, from);
            d++;
            continue;
        }
        copy_dword(s, x, kn_part(from, d, 1));
    }
}

struct kn_asm_opnd
kn_asm_vector(struct select *s, struct kn_asm_opnd o)
{
    struct kn_asm_opnd v;

    if (kn_asm_cls(s, o) == KN_ASM_V)
        return o;
    v = kn_asm_new(s->a, KN_ASM_V, o.n);
    kn_asm_copy(s, v, o);
    return v;
}

struct kn_asm_opnd
kn_asm_scalar(struct select *s, struct kn_asm_opnd o)
{
    struct kn_asm_opnd v;

    if (kn_asm_cls(s, o) == KN_ASM_S)
        return o;
    v = kn_asm_new(s->a, KN_ASM_S, o.n);
    kn_asm_copy(s, v, o);
    return v;
}

/* ---- what vector operations read ---- */

/* Constants every operand can hold (CDNA3 ISA 4.3). */
static bool
is_inline(int32_t v)
{
    static const uint32_t floats[] = {
        0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000,
        0x40800000, 0xc0800000, 0x3e22f983,
    };

    for (size_t n = 0; n < sizeof floats / sizeof *floats; n++)
        if ((uint32_t)v == floats[n])
            return true;
    return v >= -16 && v <= 64;
}

static struct kn_asm_opnd
literal(struct select *s, int32_t v)
{
    struct kn_asm_opnd r;
    uint32_t n;

    for (n = 0; n < s->nliteral && n < 16; n++)
        if (s->literal[n].value == v)
            return s->literal[n].r;
    r = kn_asm_new(s->a, KN_ASM_S, 1);
    ADD(s, s_mov_b32, 1, r, kn_imm(v));
    n = s->nliteral++ % 16;
    s->literal[n].value = v;
    s->literal[n].r = r;
    return r;
}

struct kn_asm_opnd
kn_asm_held(struct select *s, struct kn_asm_opnd o)
{
    struct kn_asm_held *h = s->held;
    uint32_t n;

    if (o.kind != KN_ASM_IMM)
        return kn_asm_vector(s, o);
    for (n = 0; n < s->nheld && n < KN_ASM_HELD; n++)
        if (h[n].value == o.v)
            return h[n].r;
    n = s->nheld++ % KN_ASM_HELD;
    h[n] = (struct kn_asm_held){ o.v, kn_asm_vector(s, o) };
    return h[n].r;
}

/* Integer operations with an encoding of two operands, of which the second is a
 * vector register and the first anything, a literal too (CDNA3 ISA 6.1). */
static const struct { uint16_t isa; bool commutes; } shorts[] = {
    { KN_I_v_add_u32, true }, { KN_I_v_and_b32, true }, { KN_I_v_or_b32, true },
    { KN_I_v_xor_b32, true }, { KN_I_v_min_i32, true }, { KN_I_v_max_i32, true },
    { KN_I_v_min_u32, true }, { KN_I_v_max_u32, true }, { KN_I_v_sub_u32, false },
    { KN_I_v_lshlrev_b32, false }, { KN_I_v_lshrrev_b32, false },
    { KN_I_v_ashrrev_i32, false },
};

/* Turns the operands such as the short encoding takes them; whether it does. */
static bool
shorten(const struct select *s, uint16_t isa, struct kn_asm_opnd *x, size_t n)
{
    struct kn_asm_opnd first = x[1];
    size_t k = 0, all = sizeof shorts / sizeof *shorts;

    while (k < all && shorts[k].isa != isa)
        k++;
    if (k == all || n != 3 || x[1].abs || x[2].abs)
        return false;
    if (shorts[k].commutes && kn_asm_cls(s, x[1]) == KN_ASM_V) {
        x[1] = x[2];
        x[2] = first;
    }
    return kn_asm_cls(s, x[2]) == KN_ASM_V;
}

static bool
has_scalar(const struct select *s, const struct kn_asm_opnd *o, size_t n)
{
    for (size_t k = 1; k < n; k++)
        if (kn_asm_cls(s, o[k]) == KN_ASM_S)
            return true;
    return false;
}

/* One scalar register an instruction, no literal in a long encoding, nothing
 * from accumulators. */
void
kn_asm_valu(struct select *s, uint16_t isa, const struct kn_asm_opnd *o,
            size_t n)
{
    struct kn_asm_opnd x[KN_ASM_MAXOPND], to = o[0];
    int32_t scalar = -1;
    bool brief, busy = has_scalar(s, o, n);

    memcpy(x, o, n * sizeof *o);
    brief = shorten(s, isa, x, n);
    for (size_t k = 1; k < n; k++) {
        if (x[k].kind == KN_ASM_IMM && !is_inline(x[k].v) && !brief) {
            x[k] = busy ? kn_asm_held(s, x[k]) : literal(s, x[k].v);
            busy = true;
        }
        if (kn_asm_cls(s, x[k]) == KN_ASM_A)
            x[k] = kn_asm_vector(s, x[k]);
    }
    for (size_t k = n; k-- > 1;) {   /* a mask comes last and stays */
        if (kn_asm_cls(s, x[k]) != KN_ASM_S)
            continue;
        if (scalar >= 0 && scalar != x[k].v * 32 + x[k].sub)
            x[k] = kn_asm_held(s, x[k]);
        else
            scalar = x[k].v * 32 + x[k].sub;
    }
    for (size_t k = 1; k < n && !brief; k++)
        x[k].abs = o[k].abs; /* of the register it is in now */
    if (kn_asm_cls(s, to) == KN_ASM_A)
        x[0] = kn_asm_new(s->a, KN_ASM_V, to.n);
    kn_asm_add(s, isa, 1, x, n);
    if (kn_asm_cls(s, to) == KN_ASM_A)
        kn_asm_copy(s, to, x[0]);
}

/* ---- the kernel ---- */

static bool
updates(const struct kn_ins *i)
{
    return (i->op == KN_OP_mfma || i->op == KN_OP_mfmas) && i->dst == i->arg[2];
}

/* Accumulators, values a matrix instruction updates, live in AGPRs; not those
 * that the same turn of a loop clears or changes otherwise (sums of one block of scales),
 * whatever comes behind the loop, not where there are few of them, and not those that all
 * AGPRs have no room for. */
static void
place_accumulators(struct select *s)
{
    size_t *within = KN_NEW(s->a->c, size_t, s->f->nval), open[64] = { 0 };
    bool *looped = KN_NEW(s->a->c, bool, s->f->nval);
    int depth = 0;

    for (size_t n = 0; n < s->f->nins; n++) {
        const struct kn_ins *i = &s->f->ins[n];
        uint32_t v = KN_REF_INDEX(i->dst);

        if (i->op == KN_OP_loop || i->op == KN_OP_if) {
            depth++;
            open[depth] = i->op == KN_OP_loop ? n + 1 : open[depth - 1];
        } else if (i->op == KN_OP_end) {
            depth--;
        } else if (updates(i)) {
            if (open[depth] || !looped[v])
                s->cls[v] = within[v] && within[v] == open[depth] ? KN_ASM_V : KN_ASM_A;
            looped[v] |= open[depth] != 0;
        } else if (i->dst) {
            within[v] = open[depth];
        }
    }
    for (size_t v = 1; v < s->f->nval; v++)
        s->a->accumulators += s->cls[v] == KN_ASM_A
                            ? kn_asm_dwords(s->f->val[v].type) : 0;
    for (size_t v = 1; v < s->f->nval && s->a->accumulators <= s->a->few; v++)
        s->cls[v] = s->cls[v] == KN_ASM_A ? KN_ASM_V : s->cls[v];
    for (size_t v = 1, held = 0; v < s->f->nval; v++)
        if (s->cls[v] == KN_ASM_A) {
            held += kn_asm_dwords(s->f->val[v].type);
            s->cls[v] = held > KN_ASM_AGPRS ? KN_ASM_V : KN_ASM_A;
        }
}

static void
classify(struct select *s)
{
    for (size_t n = 1; n < s->f->nval; n++)
        s->cls[n] = s->f->val[n].type.lane && s->f->val[n].type.elem != KN_T_b1
                  ? KN_ASM_V : KN_ASM_S;
    for (size_t n = 0; n < s->f->nins; n++) {
        const struct kn_ins *i = &s->f->ins[n];

        if (i->dst)
            s->times[KN_REF_INDEX(i->dst)]++;
        for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
            if (KN_REF_TAG(i->arg[a]) == KN_R_VAL)
                s->uses[KN_REF_INDEX(i->arg[a])]++;
    }
    place_accumulators(s);
}

static struct kn_asm_opnd
given(struct select *s, enum kn_asm_class cls, uint32_t n, int16_t at)
{
    struct kn_asm_opnd r = kn_asm_new(s->a, cls, n);

    s->a->reg[r.v].at = at;
    return r;
}

static uint32_t
argument_dwords(const struct select *s, size_t n)
{
    return n < s->f->nval && s->f->val[n].arg && s->uses[n]
         ? kn_elems[s->f->val[n].type.elem].bits / 32u : 0;
}

/* How many arguments from n on, which is at `byte`, one load brings: four dwords
 * of those that are used and follow each other, each of 64 bits in an even pair,
 * or one. */
static size_t
loaded_together(const struct select *s, size_t n, uint32_t byte)
{
    uint32_t dwords = 0;
    size_t k = n;

    for (; dwords < 4 && argument_dwords(s, k) &&
           (byte / 4 + dwords) % argument_dwords(s, k) == 0 &&
           dwords % argument_dwords(s, k) == 0; k++)
        dwords += argument_dwords(s, k);
    return dwords == 4 && s->a->order ? k - n : 1;
}

static void
load_arguments(struct select *s)
{
    static const uint16_t loads[] = { 0, KN_I_s_load_dword, KN_I_s_load_dwordx2, 0,
                                      KN_I_s_load_dwordx4 };
    uint32_t at = 0;

    for (size_t n = 1, many; n < s->f->nval; n += many) {
        uint32_t size = kn_elems[s->f->val[n].type.elem].bits / 8, dwords = 0;
        struct kn_asm_opnd r;

        many = 1;
        if (!s->f->val[n].arg)
            continue;
        at = (at + size - 1) / size * size;
        if (!s->uses[n]) {
            at += size;
            continue;
        }
        many = loaded_together(s, n, at);
        for (size_t k = n; k < n + many; k++)
            dwords += argument_dwords(s, k);
        r = kn_asm_new(s->a, KN_ASM_S, dwords);
        kn_asm_add(s, loads[dwords], 1, (struct kn_asm_opnd[]){ r, s->kernarg },
                   2)->mods = kn_asm_mods(s, ", 0x%x", at);
        at += 4 * dwords;
        for (size_t k = n, d = 0; k < n + many; k++) {
            s->val[k] = kn_part(r, (uint32_t)d, argument_dwords(s, k));
            d += argument_dwords(s, k);
        }
    }
}

/* Whether operation `from` .. `to`, a straight run, leaves value v alone. */
static bool
untouched(const struct select *s, size_t from, size_t to, kn_ref v)
{
    for (size_t n = from; n < to; n++) {
        const struct kn_ins *i = &s->f->ins[n];

        if (kn_op_info((enum kn_op)i->op).kind == KN_CTL || i->dst == v)
            return false;
        for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
            if (i->arg[a] == v)
                return false;
    }
    return true;
}

/* Whether operand r, made by `op`, is there for operation `at` alone. */
static bool
just_for(const struct select *s, const uint32_t *def, kn_ref r, size_t at,
         enum kn_op op)
{
    uint32_t v = KN_REF_INDEX(r);

    return KN_REF_TAG(r) == KN_R_VAL && s->times[v] == 1 && s->uses[v] == 1 &&
           s->f->ins[def[v]].op == op &&
           untouched(s, def[v], at, s->f->ins[at].dst);
}

/* The address of a buffer is computed in its resource. */
static void
join_base(struct select *s, const uint32_t *def, size_t at)
{
    kn_ref bits = s->f->ins[at].arg[0], base;

    if (!just_for(s, def, bits, at, KN_OP_addr))
        return;
    base = s->f->ins[def[KN_REF_INDEX(bits)]].arg[0];
    if (!just_for(s, def, base, at, KN_OP_padd))
        return;
    s->i = &s->f->ins[at];
    s->val[KN_REF_INDEX(base)] = s->val[KN_REF_INDEX(bits)] =
        kn_part(kn_asm_dst(s), 0, 2);
}

/* Operations that write their result once, all of it, whatever the register. */
static const bool in_place[KN_NOP] = {
    [KN_OP_lds_ld] = true, [KN_OP_cvt] = true, [KN_OP_perm] = true,
    [KN_OP_and] = true, [KN_OP_or] = true, [KN_OP_shl] = true, [KN_OP_widen] = true,
    [KN_OP_cvt8] = true, [KN_OP_fadd] = true, [KN_OP_fmul] = true,
    [KN_OP_fmin] = true, [KN_OP_fmax] = true, [KN_OP_select] = true,
};

/* Parts that are read or converted just to be joined are made in place, the
 * first of them first: it begins the value. */
static void
join_in_place(struct select *s, const uint32_t *def, size_t at)
{
    const struct kn_ins *i = &s->f->ins[at];
    uint32_t part = 0, before = 0;

    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        uint32_t v = KN_REF_INDEX(i->arg[a]);

        if (KN_REF_TAG(i->arg[a]) != KN_R_VAL || s->times[v] != 1 ||
            s->uses[v] != 1 || s->cls[v] != KN_ASM_V ||
            !in_place[s->f->ins[def[v]].op] ||
            def[v] < before || !untouched(s, def[v], at, i->dst))
            return;
        before = def[v];
    }
    s->i = i;
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        uint32_t n = kn_asm_dwords(kn_val(s->f, i->arg[a])->type);

        s->val[KN_REF_INDEX(i->arg[a])] = kn_part(kn_asm_dst(s), part, n);
        part += n;
    }
    s->a->reg[kn_asm_dst(s).v].parts = 1;
}

/* Values made of parts begin with the first of them. */
static void
begin_parts(struct kn_asm *a)
{
    for (size_t n = 0; n < a->nop; n++)
        for (int k = 0; k < a->op[n].ndst; k++) {
            struct kn_asm_opnd *o = &a->op[n].o[k];

            if (o->kind == KN_ASM_REG && a->reg[o->v].parts)
                o->fresh = !o->sub && (o->fresh || !kn_asm_is_partial(&a->op[n]));
        }
}

static void
join_parts(struct select *s)
{
    uint32_t *def = KN_NEW(s->a->c, uint32_t, s->f->nval);

    for (uint32_t n = 0; n < s->f->nins; n++)
        if (s->f->ins[n].dst)
            def[KN_REF_INDEX(s->f->ins[n].dst)] = n;
    for (size_t n = 0; n < s->f->nins; n++)
        if (s->f->ins[n].op == KN_OP_cat)
            join_in_place(s, def, n);
        else if (s->f->ins[n].op == KN_OP_rsrc)
            join_base(s, def, n);
    s->i = s->f->ins;
}

static kn_select_fn *const rows[KN_NOP] = {
#define ROW(id) [KN_OP_##id] = select_##id,
#include "asm_rows.def"
#undef ROW
};

kiln_status
kn_asm_select(struct kn_asm *a)
{
    struct select s = { .a = a, .f = a->f, .i = a->f->ins };

    s.val = KN_NEW(a->c, struct kn_asm_opnd, a->f->nval);
    s.cls = KN_NEW(a->c, uint8_t, a->f->nval);
    s.uses = KN_NEW(a->c, uint32_t, a->f->nval);
    s.times = KN_NEW(a->c, uint32_t, a->f->nval);
    s.narrow = KN_NEW(a->c, bool, a->f->nval);
    classify(&s);
    join_parts(&s);
    kn_asm_pair(&s);
    /* s[0:1] the argument block, from s2 on the workgroup along each axis that
     * is asked for, v0 the work item */
    s.kernarg = given(&s, KN_ASM_S, 2, 0);
    s.workgroup[0] = given(&s, KN_ASM_S, 1, 2);
    for (int16_t axis = 1, at = 3; axis < 3; axis++)
        if (kn_counts_along(a->f, axis))
            s.workgroup[axis] = given(&s, KN_ASM_S, 1, at++);
    s.workitem = given(&s, KN_ASM_V, 1, 0);
    load_arguments(&s);
    for (s.at = 0; s.at < a->f->nins && !s.status; s.at++) {
        s.i = &a->f->ins[s.at];
        if (rows[s.i->op])
            rows[s.i->op](&s);
        else
            kn_asm_lack(&s, kn_op_info((enum kn_op)s.i->op).text);
    }
    s.at = a->f->nins - 1;
    kn_asm_add(&s, KN_I_s_endpgm, 0, NULL, 0);
    begin_parts(a);
    return s.status;
}
