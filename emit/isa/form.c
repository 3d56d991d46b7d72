/* form.c - what an instruction's form leaves open, learned from LLVM: the
 * words are disassembled once more with a number of its own in every field,
 * and the operand that has this number is the field's. Encodings: CDNA3 ISA,
 * chapter 13. */
#include "decode.h"

#include <string.h>

enum field_kind {
    NONE,
    SDST,                    /* scalar register */
    SPAIR, SQUAD,            /* the number of a pair, of four of them */
    SSRC,                    /* scalar register, constant or literal */
    SRC,                     /* those or vector register */
    VREG,                    /* vector register; some write a scalar one */
    RAW,                     /* what raw.c reads */
    /* of sources, what they hold: */
    SGPR, VGPR, INTEGER, LITERAL
};

enum { SGPRS = 102, VGPRS = 256, FIRST_VGPR = 256 };
enum { FIRST_INTEGER = 128, LAST_POSITIVE = 192, LAST_INTEGER = 208 };
enum { SDWA = 249, DPP = 250, HAS_LITERAL = 255 };

static const struct encoding {
    uint32_t mask, value;    /* of the first word */
    uint8_t size;
    struct kn_form_field field[KN_FORM_FIELDS];
} encodings[] = {
    { 0xff800000, 0xbe800000, 4, { { 0, 0, 8, SSRC }, { 0, 16, 7, SDST } } },
    { 0xff800000, 0xbf000000, 4, { { 0, 0, 8, SSRC }, { 0, 8, 8, SSRC } } },
    { 0xff800000, 0xbf800000, 4, { { 0, 0, 16, RAW } } },
    { 0xf0000000, 0xb0000000, 4, { { 0, 0, 16, RAW }, { 0, 16, 7, SDST } } },
    { 0xc0000000, 0x80000000, 4, { { 0, 0, 8, SSRC }, { 0, 8, 8, SSRC },
                                   { 0, 16, 7, SDST } } },
    { 0xfe000000, 0x7e000000, 4, { { 0, 0, 9, SRC }, { 0, 17, 8, VREG } } },
    { 0xfe000000, 0x7c000000, 4, { { 0, 0, 9, SRC }, { 0, 9, 8, VREG } } },
    /* v_madmk, v_madak, v_fmamk, v_fmaak: a literal always follows */
    { 0xfe000000, 0x2e000000, 8, { { 0 } } },
    { 0xfe000000, 0x30000000, 8, { { 0 } } },
    { 0xfc000000, 0x48000000, 8, { { 0 } } },
    { 0x80000000, 0x00000000, 4, { { 0, 0, 9, SRC }, { 0, 9, 8, VREG },
                                   { 0, 17, 8, VREG } } },
    /* the scaled matrix form: its scales are in front */
    { 0xffff0000, 0xd3ac0000, 16, { { 1, 0, 9, SRC }, { 1, 9, 9, SRC },
                                    { 2, 0, 8, VREG }, { 3, 0, 9, SRC },
                                    { 3, 9, 9, SRC }, { 3, 18, 9, SRC } } },
    { 0xfc000000, 0xd0000000, 8, { { 0, 0, 8, VREG }, { 1, 0, 9, SRC },
                                   { 1, 9, 9, SRC }, { 1, 18, 9, SRC } } },
    { 0xfc000000, 0xd8000000, 8, { { 0, 0, 16, RAW }, { 1, 0, 8, VREG },
                                   { 1, 8, 8, VREG }, { 1, 16, 8, VREG },
                                   { 1, 24, 8, VREG } } },
    { 0xfc000000, 0xdc000000, 8, { { 0, 0, 13, RAW }, { 1, 0, 8, VREG },
                                   { 1, 8, 8, VREG }, { 1, 16, 7, SDST },
                                   { 1, 24, 8, VREG } } },
    { 0xfc000000, 0xe0000000, 8, { { 0, 0, 12, RAW }, { 1, 0, 8, VREG },
                                   { 1, 8, 8, VREG }, { 1, 16, 5, SQUAD },
                                   { 1, 24, 8, SSRC } } },
    { 0xfc020000, 0xc0020000, 8, { { 1, 0, 21, RAW }, { 0, 0, 6, SPAIR },
                                   { 0, 6, 7, SDST } } },
};

static uint32_t
get(const uint32_t *w, const struct kn_form_field *f)
{
    return w[f->word] >> f->low & (uint32_t)((1ull << f->bits) - 1);
}

static void
set(uint32_t *w, const struct kn_form_field *f, uint32_t v)
{
    uint32_t ones = (uint32_t)((1ull << f->bits) - 1);

    w[f->word] = (w[f->word] & ~(ones << f->low)) | v << f->low;
}

/* What a field of an encoding holds; NONE: what is no number. */
static uint8_t
kind_of(uint8_t kind, uint32_t v)
{
    switch (kind) {
    case SDST: return v < SGPRS ? SGPR : NONE;
    case SPAIR: return v < SGPRS / 2 ? SPAIR : NONE;
    case SQUAD: return v < SGPRS / 4 ? SQUAD : NONE;
    case SSRC:
    case SRC:
        return v < SGPRS ? SGPR
             : v >= FIRST_VGPR ? VGPR
             : v >= FIRST_INTEGER && v <= LAST_INTEGER ? INTEGER : NONE;
    default: return kind;
    }
}

/* The field's value in a key: only what it holds. */
static uint32_t
key_of(uint8_t kind)
{
    return kind == VGPR ? FIRST_VGPR : kind == INTEGER ? FIRST_INTEGER : 0;
}

static void
add_field(struct kn_form *f, struct kn_form_field x)
{
    set(f->key, &x, key_of(x.kind));
    f->field[f->n++] = x;
}

static const struct encoding *
encoding_of(uint32_t w)
{
    for (size_t k = 0; k < sizeof encodings / sizeof *encodings; k++)
        if ((w & encodings[k].mask) == encodings[k].value)
            return &encodings[k];
    return NULL;
}

/* Whether a source field of a 4-byte encoding says that a word follows. */
static bool
has_more(const struct encoding *e, const uint32_t w[4], bool literal)
{
    for (int k = 0; e->size == 4 && e->field[k].kind; k++) {
        uint8_t kind = e->field[k].kind;
        uint32_t v = get(w, &e->field[k]);

        if (literal && (kind == SSRC || kind == SRC) && v == HAS_LITERAL)
            return true;
        if (!literal && kind == SRC && (v == SDWA || v == DPP))
            return true;
    }
    return false;
}

/* The form of these very words; LLVM says if they are longer. */
static const struct encoding *
form_exact(const uint32_t w[4], struct kn_form *f)
{
    const struct encoding *e = encoding_of(w[0]);

    memset(f, 0, sizeof *f);
    f->size = e ? e->size : 4;
    if (e && (has_more(e, w, true) || has_more(e, w, false)))
        f->size = 8;
    memcpy(f->key, w, f->size);
    return e;
}

static void
form_of(const uint32_t w[4], struct kn_form *f)
{
    const struct encoding *e = form_exact(w, f);

    if (!e || has_more(e, w, false))
        return;
    for (int k = 0; k < KN_FORM_FIELDS && e->field[k].kind; k++) {
        struct kn_form_field x = e->field[k];

        x.kind = kind_of(x.kind, get(w, &x));
        if (x.kind)
            add_field(f, x);
    }
    if (has_more(e, w, true))
        add_field(f, (struct kn_form_field){ 1, 0, 32, LITERAL });
}

/* ---- numbers in words and in operands ---- */

static unsigned
scale_of(uint8_t kind)
{
    return kind == SPAIR ? 2 : kind == SQUAD ? 4 : 1;
}

static bool
is_register(uint8_t kind)
{
    return kind != RAW && kind != INTEGER && kind != LITERAL;
}

static int64_t
number_in(const uint32_t *w, const struct kn_form_field *f)
{
    int64_t v = get(w, f);

    switch (f->kind) {
    case VGPR: return v - FIRST_VGPR;
    case INTEGER:
        return v <= LAST_POSITIVE ? v - FIRST_INTEGER : LAST_POSITIVE - v;
    case LITERAL: return (int32_t)v;
    default: return v * scale_of(f->kind);
    }
}

static bool
holds(const struct kn_opnd *o, const struct kn_form_field *f, int64_t number)
{
    bool vector = o->kind == KN_O_VGPR || o->kind == KN_O_AGPR;

    if (!is_register(f->kind))
        return o->kind == KN_O_IMM && !o->is_float && o->imm == number;
    if (o->reg != number)
        return false;
    if (f->kind == VREG)
        return vector || o->kind == KN_O_SGPR;
    return f->kind == VGPR ? vector : o->kind == KN_O_SGPR;
}

/* Puts a number into an operand; false: LLVM may not accept it. */
static bool
put(struct kn_opnd *o, const struct kn_form_field *f, int64_t number)
{
    bool scalar = o->kind == KN_O_SGPR;
    unsigned align = o->width == 1 ? 1 : o->width == 2 || !scalar ? 2 : 4;

    if (!is_register(f->kind)) {
        o->imm = number;
        return true;
    }
    o->reg = (uint16_t)number;
    return number + o->width <= (scalar ? SGPRS : VGPRS) &&
           number % align == 0;
}

/* ---- learning ---- */

enum { FIRST_NUMBER = 8, STEP = 4, LEARNED_LITERAL = 0x1e3779b1 };

/* A number that fits any operand and that no field of the words has. */
static uint32_t
free_number(const struct kn_form *f, const uint32_t w[4], uint32_t from)
{
    for (unsigned k = 0; k < f->n; k++)
        if (f->field[k].kind != RAW && number_in(w, &f->field[k]) == from)
            return free_number(f, w, from + STEP);
    return from;
}

/* The words with a number of its own in each field of the set. */
static void
tell_apart(const struct kn_form *f, const uint32_t w[4], unsigned fields,
           uint32_t out[4])
{
    uint32_t number = FIRST_NUMBER;

    memcpy(out, w, sizeof f->key);
    for (unsigned k = 0; k < f->n; k++) {
        const struct kn_form_field *x = &f->field[k];

        if (!(fields >> k & 1))
            continue;
        if (x->kind == RAW) {
            set(out, x, get(w, x) ^ STEP);
            continue;
        }
        number = free_number(f, w, number);
        set(out, x, x->kind == LITERAL ? LEARNED_LITERAL
                    : key_of(x->kind) + number / scale_of(x->kind));
        number += STEP;
    }
}

/* The operand of a field, -1: none or several. */
static int
find_operand(const struct kn_inst *i, const struct kn_form_field *f,
             int64_t number)
{
    int found = -1;

    for (int o = 0; o < i->nopnd; o++)
        if (holds(&i->o[o], f, number)) {
            if (found >= 0)
                return -1;
            found = o;
        }
    return found;
}

/* Operands of a field: of no number but that learned from, of any. */
enum { FIXED = -1, ANY = -2 };

/* Asks for the set's operands; false: not all fields of it have one. */
static bool
ask(const struct kn_forms *x, const uint32_t w[4], unsigned fields,
    struct kn_form_known *out)
{
    const struct kn_form *f = &out->form;
    uint32_t apart[4] = { 0 };
    struct kn_inst i = { 0 };

    tell_apart(f, w, fields, apart);
    if (!x->read(x->user, apart, &i) || i.size != f->size ||
        i.op != out->inst.op || i.enc != out->inst.enc ||
        i.nopnd != out->inst.nopnd)
        return false;
    for (unsigned k = 0; k < f->n; k++) {
        out->operand[k] = fields >> k & 1 ? ANY : FIXED;
        if (out->operand[k] == FIXED || f->field[k].kind == RAW)
            continue;
        out->operand[k] = (int8_t)find_operand(
            &i, &f->field[k], number_in(apart, &f->field[k]));
        if (out->operand[k] < 0)
            return false;
    }
    out->inst = i;
    memcpy(out->w, w, sizeof out->w);
    return true;
}

/* A field that names no operand, such as a second source of what has one, is
 * found by leaving it as it is. */
static void
learn(const struct kn_forms *x, const uint32_t w[4],
      struct kn_form_known *known)
{
    const struct kn_form *f = &known->form;
    unsigned all = (1u << f->n) - 1, some = 0;

    known->state = KN_FORM_READY;
    if (ask(x, w, all, known))
        return;
    for (unsigned k = 0; k < f->n; k++)
        if (number_in(w, &f->field[k]))
            some |= 1u << k;
    if (!ask(x, w, some, known))
        some = 0;
    for (unsigned k = 0; k < f->n; k++)
        if (!(some >> k & 1) && ask(x, w, some | 1u << k, known))
            some |= 1u << k;
    if (!ask(x, w, some, known))
        known->state = KN_FORM_REFUSED;
}

/* ---- what is known ---- */

enum { SLOTS = sizeof ((struct kn_forms *)0)->slot / sizeof (void *) };

static struct kn_form_known **
find(struct kn_forms *x, const struct kn_form *f)
{
    uint64_t h = f->size;

    for (int k = 0; k < f->size / 4; k++)
        h = (h ^ f->key[k]) * 0x9e3779b97f4a7c15u;
    for (h ^= h >> 32;; h++) {
        struct kn_form_known **s = &x->slot[h % SLOTS];

        if (!*s || ((*s)->form.size == f->size && (*s)->form.n == f->n &&
                    !memcmp((*s)->form.key, f->key, f->size)))
            return s;
    }
}

static bool
fill(const struct kn_form_known *known, const uint32_t w[4],
     struct kn_inst *out)
{
    const struct kn_form *f = &known->form;

    *out = known->inst;
    for (unsigned k = 0; k < f->n; k++) {
        const struct kn_form_field *x = &f->field[k];

        int o = known->operand[k];

        if (o == FIXED ? get(w, x) != get(known->w, x)
                       : o != ANY && !put(&out->o[o], x, number_in(w, x)))
            return false;
    }
    return true;
}

unsigned
kn_form_size(const uint32_t w[4])
{
    struct kn_form f;

    form_exact(w, &f);
    return f.size;
}

bool
kn_forms_fill(struct kn_forms *x, const uint32_t w[4], struct kn_inst *out)
{
    struct kn_form_known *known;
    struct kn_form f;

    form_of(w, &f);
    known = *find(x, &f);
    if (!known)
        return false;
    if (known->state == KN_FORM_SEEN)
        learn(x, w, known);
    if (known->state == KN_FORM_READY && fill(known, w, out))
        return true;
    form_exact(w, &f);
    known = *find(x, &f);
    return known && fill(known, w, out);
}

void
kn_forms_add(struct kn_forms *x, const uint32_t w[4], const struct kn_inst *i)
{
    struct kn_form_known **at;
    struct kn_form f;

    form_of(w, &f);
    at = find(x, &f);
    if (*at) {
        form_exact(w, &f);
        at = find(x, &f);
    }
    if (*at || i->size != f.size || x->n > SLOTS / 4 * 3)
        return;
    *at = KN_NEW(x->c, struct kn_form_known, 1);
    **at = (struct kn_form_known){ .form = f, .inst = *i };
    (*at)->state = f.n ? KN_FORM_SEEN : KN_FORM_READY;
    x->n++;
}
