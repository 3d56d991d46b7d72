/* text.c - parses the disassembler's text of one instruction.
 *
 * The text decides mnemonic, operands and which modifiers are there; numbers
 * that the text abbreviates (offsets, DPP and SDWA controls, wait counts,
 * op_sel) are read from the instruction word by raw.c, which knows their
 * defaults. A token nobody knows is an error, never skipped. */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

/* ---- mnemonics ---- */

static uint32_t
hash_name(const char *s, size_t n)
{
    uint32_t h = 2166136261u;    /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return (h ^ h >> 15) & (KN_INDEX_SLOTS - 1);
}

void
kn_isa_index_init(struct kn_isa_index *x)
{
    memset(x, 0, sizeof *x);
    for (uint16_t op = 1; op < KN_NISA; op++) {
        const char *m = kn_isa[op].mnemonic;
        uint32_t h = hash_name(m, strlen(m));

        while (x->slot[h])
            h = (h + 1) & (KN_INDEX_SLOTS - 1);
        x->slot[h] = op;
    }
}

uint16_t
kn_isa_lookup(const struct kn_isa_index *x, const char *s, size_t n)
{
    uint32_t h = hash_name(s, n);

    for (; x->slot[h]; h = (h + 1) & (KN_INDEX_SLOTS - 1)) {
        const char *m = kn_isa[x->slot[h]].mnemonic;

        if (!strncmp(m, s, n) && !m[n])
            return x->slot[h];
    }
    return KN_I_unknown;
}

static const struct {
    char text[6];
    uint8_t n, enc;
} suffixes[] = {
    { "_e32", 4, KN_E_E32 }, { "_e64", 4, KN_E_E64 },
    { "_dpp", 4, KN_E_DPP }, { "_sdwa", 5, KN_E_SDWA },
};

static size_t
strip_suffix(const char *s, size_t n, uint8_t *enc)
{
    *enc = KN_E_NONE;
    for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
        size_t sn = suffixes[k].n;

        if (n > sn && !memcmp(s + n - sn, suffixes[k].text, sn)) {
            *enc = suffixes[k].enc;
            return n - sn;
        }
    }
    return n;
}

/* ---- operands ---- */

struct parser {
    const char *p;
    struct kn_inst *i;
    struct kn_text_error *e;
};

static bool
fail(struct parser *t, const char *what, const char *at)
{
    size_t n = strcspn(at, " ,\t");

    if (n >= sizeof t->e->token)
        n = sizeof t->e->token - 1;
    t->e->what = what;
    memcpy(t->e->token, at, n);
    t->e->token[n] = 0;
    return false;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_';
}

static unsigned
read_number(const char **p)
{
    unsigned v = 0;

    while (is_digit(**p) && v < 100000)
        v = v * 10 + (unsigned)(*(*p)++ - '0');
    return v;
}

/* Registers with a name of their own (CDNA3 ISA 5.1, operand numbers). */
static const struct {
    const char *name;
    uint8_t kind, width;
    uint16_t reg;
} named[] = {
    { "vcc", KN_O_SGPR, 2, 106 },
    { "exec", KN_O_SGPR, 2, 126 },
    { "off", KN_O_NONE, 0, 0 },
    { "m0", KN_O_SGPR, 1, 124 },
    { "vcc_lo", KN_O_SGPR, 1, 106 },
    { "vcc_hi", KN_O_SGPR, 1, 107 },
    { "exec_lo", KN_O_SGPR, 1, 126 },
    { "exec_hi", KN_O_SGPR, 1, 127 },
    { "flat_scratch", KN_O_SGPR, 2, 102 },
    { "flat_scratch_lo", KN_O_SGPR, 1, 102 },
    { "flat_scratch_hi", KN_O_SGPR, 1, 103 },
    { "xnack_mask", KN_O_SGPR, 2, 104 },
    { "xnack_mask_lo", KN_O_SGPR, 1, 104 },
    { "xnack_mask_hi", KN_O_SGPR, 1, 105 },
    { "src_shared_base", KN_O_SPECIAL, 2, 235 },
    { "src_shared_limit", KN_O_SPECIAL, 2, 236 },
    { "src_private_base", KN_O_SPECIAL, 2, 237 },
    { "src_private_limit", KN_O_SPECIAL, 2, 238 },
    { "src_vccz", KN_O_SPECIAL, 1, 251 },
    { "src_execz", KN_O_SPECIAL, 1, 252 },
    { "src_scc", KN_O_SPECIAL, 1, 253 },
};

static bool
parse_named(struct parser *t, struct kn_opnd *o)
{
    size_t n = 0;

    while (is_word(t->p[n]))
        n++;
    for (size_t k = 0; n && k < sizeof named / sizeof *named; k++)
        if (!strncmp(named[k].name, t->p, n) && !named[k].name[n]) {
            o->kind = named[k].kind;
            o->width = named[k].width;
            o->reg = named[k].reg;
            t->p += n;
            return true;
        }
    return fail(t, "unknown operand", t->p);
}

/* v7, a[4:7], s[0:1], ttmp3. */
static bool
parse_register(struct parser *t, struct kn_opnd *o)
{
    const char *s = t->p;
    unsigned base = 0, last;

    if (!strncmp(s, "ttmp", 4)) {
        o->kind = KN_O_SGPR;
        base = 108;
        s += 4;
    } else {
        o->kind = *s == 'v' ? KN_O_VGPR : *s == 'a' ? KN_O_AGPR : KN_O_SGPR;
        s++;
    }
    if (*s == '[') {
        s++;
        o->reg = (uint16_t)(base + read_number(&s));
        if (*s++ != ':')
            return fail(t, "malformed register range", t->p);
        last = base + read_number(&s);
        if (*s++ != ']' || last < o->reg || last - o->reg > 31)
            return fail(t, "malformed register range", t->p);
        o->width = (uint8_t)(last - o->reg + 1);
    } else {
        o->reg = (uint16_t)(base + read_number(&s));
        o->width = 1;
    }
    if (o->reg + o->width > (o->kind == KN_O_SGPR ? 128 : 256))
        return fail(t, "register number out of range", t->p);
    t->p = s;
    return true;
}

/* The inline float constants, by operand type (CDNA3 ISA 5.1.3). */
static const struct {
    const char *text;
    uint8_t n;
    uint16_t f16, bf16;
    uint32_t f32;
    uint64_t f64;
} floats[] = {
    { "0.5", 3, 0x3800, 0x3f00, 0x3f000000, 0x3fe0000000000000 },
    { "1.0", 3, 0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000 },
    { "2.0", 3, 0x4000, 0x4000, 0x40000000, 0x4000000000000000 },
    { "4.0", 3, 0x4400, 0x4080, 0x40800000, 0x4010000000000000 },
    { "0.15", 4, 0x3118, 0x3e23, 0x3e22f983, 0x3fc45f306dc9c882 },
};

static bool
is_wide(char letter)
{
    return letter && strchr("dqsCmS", letter);
}

static bool
parse_float(struct parser *t, char letter, bool minus, struct kn_opnd *o)
{
    const char *end = t->p + strspn(t->p, "0123456789.");

    for (size_t k = 0; k < sizeof floats / sizeof *floats; k++) {
        if (strncmp(t->p, floats[k].text, floats[k].n) ||
            (k < 4 && end != t->p + floats[k].n))
            continue;
        o->is_float = true;
        if (is_wide(letter))
            o->imm = (int64_t)(floats[k].f64 | (uint64_t)minus << 63);
        else if (strchr("hp", letter))
            o->imm = floats[k].f16 | minus << 15;
        else if (strchr("bB", letter))
            o->imm = floats[k].bf16 | minus << 15;
        else
            o->imm = floats[k].f32 | (uint32_t)minus << 31;
        t->p = end;
        return true;
    }
    return fail(t, "unknown float constant", t->p);
}

/* Decimal: an inline integer, sign-extended. Hex: a literal of 32 bits; for
 * an f64 operand its high half, for a 64-bit unsigned one zero-extended. */
static bool
parse_constant(struct parser *t, char letter, struct kn_opnd *o)
{
    bool minus = *t->p == '-';
    const char *s = t->p + minus;
    char *end;
    uint64_t v;

    o->kind = KN_O_IMM;
    o->width = is_wide(letter) || letter == 'P' ? 2 : 1;
    if (s[0] == '0' && s[1] == 'x') {
        v = strtoull(s + 2, &end, 16);
        if (letter == 'd')
            v <<= 32;
        else if (letter != 'q')
            v = (uint64_t)(int64_t)(int32_t)v;
        o->imm = (int64_t)v;
        t->p = end;
        return true;
    }
    t->p = s;
    if (s[strspn(s, "0123456789")] == '.')
        return parse_float(t, letter, minus, o);
    v = strtoull(s, &end, 10);
    o->imm = minus ? -(int64_t)v : (int64_t)v;
    t->p = end;
    return true;
}

/* hwreg(...), sendmsg(...), gpr_idx(...): the value is in the word. */
static bool
parse_macro(struct parser *t, struct kn_opnd *o)
{
    const char *close = strchr(t->p, ')');

    if (!close)
        return fail(t, "missing )", t->p);
    o->kind = KN_O_IMM;
    t->p = close + 1;
    return true;
}

/* lit(0x...): a literal whose value an inline constant would have too. */
static bool
parse_literal(struct parser *t, char letter, struct kn_opnd *o)
{
    t->p += 4;
    if (!is_digit(*t->p) || !parse_constant(t, letter, o) || *t->p != ')')
        return fail(t, "unknown literal", t->p);
    t->p++;
    return true;
}

static bool
parse_plain(struct parser *t, char letter, struct kn_opnd *o)
{
    const char *s = t->p;

    if (!strncmp(s, "lit(", 4))
        return parse_literal(t, letter, o);
    if (is_digit(*s) || (*s == '-' && is_digit(s[1])))
        return parse_constant(t, letter, o);
    if ((*s == 'v' || *s == 'a' || *s == 's') &&
        (is_digit(s[1]) || s[1] == '['))
        return parse_register(t, o);
    if (!strncmp(s, "ttmp", 4))
        return parse_register(t, o);
    if (!strncmp(s, "hwreg(", 6) || !strncmp(s, "sendmsg(", 8) ||
        !strncmp(s, "gpr_idx(", 8))
        return parse_macro(t, o);
    return parse_named(t, o);
}

static bool
expect(struct parser *t, char c)
{
    if (*t->p != c)
        return fail(t, "malformed operand", t->p);
    t->p++;
    return true;
}

static bool
parse_operand(struct parser *t, char letter, struct kn_opnd *o)
{
    const char *s = t->p;
    bool paren = false;

    o->sel = 6;
    if (!strncmp(s, "neg(", 4) || !strncmp(s, "sext(", 5)) {
        paren = true;
        o->neg = *s == 'n';
        o->sext = *s == 's';
        t->p += *s == 'n' ? 4 : 5;
    } else if (*s == '-' && !is_digit(s[1])) {
        o->neg = 1;
        t->p++;
    }
    if (*t->p == '|') {
        o->abs = 1;
        t->p++;
    }
    if (!parse_plain(t, letter, o))
        return false;
    if (o->abs && !expect(t, '|'))
        return false;
    return !paren || expect(t, ')');
}

/* ---- modifiers ---- */

enum { M_FLAG, M_NUMBER, M_RAW, M_OMOD };
#define MOD(name, kind, field) { name, sizeof name - 1, kind, \
                                 offsetof(struct kn_inst, field) }
/* RAW: raw.c takes the value from the word; op stands for no field. */
static const struct {
    const char *name;
    uint8_t n, kind;
    uint16_t at;
} modifiers[] = {
    MOD("offset:", M_RAW, op), MOD("offset0:", M_RAW, op),
    MOD("offset1:", M_RAW, op), MOD("offen", M_FLAG, offen),
    MOD("idxen", M_FLAG, idxen), MOD("lds", M_FLAG, lds),
    MOD("sc0", M_FLAG, sc0), MOD("sc1", M_FLAG, sc1), MOD("nt", M_FLAG, nt),
    MOD("glc", M_FLAG, glc), MOD("gds", M_FLAG, gds), MOD("tfe", M_FLAG, tfe),
    MOD("op_sel:", M_RAW, op), MOD("op_sel_hi:", M_RAW, op),
    MOD("neg_lo:", M_RAW, op), MOD("neg_hi:", M_RAW, op),
    MOD("neg:", M_RAW, op), MOD("cbsz:", M_NUMBER, cbsz),
    MOD("abid:", M_NUMBER, abid), MOD("blgp:", M_NUMBER, blgp),
    MOD("clamp", M_FLAG, clamp), MOD("mul:2", M_OMOD, omod),
    MOD("mul:4", M_OMOD, omod), MOD("div:2", M_OMOD, omod),
    MOD("bitop3:", M_NUMBER, bitop3), MOD("format:", M_RAW, op),
    MOD("quad_perm:", M_RAW, op), MOD("row_shl:", M_RAW, op),
    MOD("row_shr:", M_RAW, op), MOD("row_ror:", M_RAW, op),
    MOD("wave_shl:", M_RAW, op), MOD("wave_rol:", M_RAW, op),
    MOD("wave_shr:", M_RAW, op), MOD("wave_ror:", M_RAW, op),
    MOD("row_mirror", M_RAW, op), MOD("row_half_mirror", M_RAW, op),
    MOD("row_bcast:", M_RAW, op), MOD("row_newbcast:", M_RAW, op),
    MOD("row_mask:", M_RAW, op), MOD("bank_mask:", M_RAW, op),
    MOD("bound_ctrl:", M_RAW, op), MOD("dst_sel:", M_RAW, op),
    MOD("dst_unused:", M_RAW, op), MOD("src0_sel:", M_RAW, op),
    MOD("src1_sel:", M_RAW, op), MOD("vmcnt(", M_RAW, op),
    MOD("expcnt(", M_RAW, op), MOD("lgkmcnt(", M_RAW, op),
    MOD("gpr_idx(", M_RAW, op),
};

static bool
parse_modifier(struct parser *t)
{
    size_t n = strcspn(t->p, " ");

    for (size_t k = 0; k < sizeof modifiers / sizeof *modifiers; k++) {
        size_t mn = modifiers[k].n;
        char last = modifiers[k].name[mn - 1];
        bool valued = last == ':' || last == '(';
        uint8_t *field = (uint8_t *)t->i + modifiers[k].at;

        if (n < mn || strncmp(t->p, modifiers[k].name, mn) ||
            valued != (n > mn))
            continue;
        if (modifiers[k].kind == M_FLAG)
            *field = 1;
        else if (modifiers[k].kind == M_NUMBER)
            *field = (uint8_t)strtoul(t->p + mn, NULL, 0);
        else if (modifiers[k].kind == M_OMOD)
            *field = t->p[0] == 'd' ? 3 : t->p[4] == '2' ? 1 : 2;
        if (!strncmp(t->p, "op_sel:", 7))
            t->i->op_sel = 1;    /* named: raw.c reads the bits */
        t->p += n;
        return true;
    }
    return fail(t, "unknown modifier", t->p);
}

/* ---- whole lines ---- */

/* Signature letter of operand k. A destination may precede what the row
 * lists (returning atomics); LDS-DMA has no data operand. */
static char
letter_of(const char *sig, int k)
{
    for (; *sig; sig++)
        if (*sig != '=' && !k--)
            return *sig;
    return 0;
}

static int
count_letters(const char *sig)
{
    return (int)strlen(sig) - 1;
}

static int
width_of(char letter)
{
    switch (letter) {
    case 'i': case 'f': case 'h': case 'y': case 'b': case 'p': case 'B':
    case 'w': case 'x': case '1':
        return 1;
    case 'q': case 's': case 'd': case 'P': case 'm': case '2':
        return 2;
    case '4': return 4;
    case '6': return 6;
    case '8': return 8;
    case 'G': return 16;
    case 'W': return 32;
    case 'R': return 4;
    default: return 0;       /* not checked */
    }
}

static bool
is_register(const struct kn_opnd *o)
{
    return o->kind == KN_O_VGPR || o->kind == KN_O_AGPR ||
           o->kind == KN_O_SGPR;
}

/* Operand counts and widths the text must have. */
static bool
check_shape(struct parser *t)
{
    struct kn_inst *i = t->i;
    const struct kn_isa_row *row = &kn_isa[i->op];
    int extra = kn_isa_returns(row) && i->sc0 ? 1 : 0;
    int missing = i->lds && row->mem == KN_M_BUFFER ? 1 : 0;
    int want = count_letters(row->sig) + extra - missing;

    if (i->nopnd != want)
        return fail(t, "wrong number of operands", row->mnemonic);
    i->ndst = (uint8_t)(strchr(row->sig, '=') - row->sig);
    if (extra)
        i->ndst = 1;
    if (missing)
        i->ndst = 0;
    if (row->atomic && (i->sc0 || i->glc) &&
        (row->mem == KN_M_BUFFER || row->mem == KN_M_SMEM))
        i->ndst = 1;
    if (row->flags & KN_IF_RMW || (i->ndst && row->atomic && !extra &&
                                   row->sig[0] == '='))
        i->rmw = (uint8_t)((1u << i->ndst) - 1);
    for (int k = 0; !extra && !missing && k < i->nopnd; k++) {
        int w = width_of(letter_of(row->sig, k));

        if (w && is_register(&i->o[k]) && i->o[k].width != w)
            return fail(t, "unexpected operand width", row->mnemonic);
    }
    return true;
}

static bool
parse_operands(struct parser *t)
{
    const char *sig = kn_isa[t->i->op].sig;
    bool shifted = kn_isa_returns(&kn_isa[t->i->op]);

    for (;;) {
        int k = t->i->nopnd;
        char letter = shifted ? 'i' : letter_of(sig, k);

        if (k == KN_MAXOPND)
            return fail(t, "too many operands", t->p);
        if (!parse_operand(t, letter ? letter : 'i', &t->i->o[k]))
            return false;
        t->i->nopnd++;
        if (strncmp(t->p, ", ", 2))
            return true;
        t->p += 2;
    }
}

bool
kn_text_parse(const struct kn_isa_index *x, const char *text,
              struct kn_inst *i, struct kn_text_error *e)
{
    struct parser t = { text, i, e };
    const char *s = text + strspn(text, "\t ");
    size_t n = strcspn(s, " ");

    i->op = kn_isa_lookup(x, s, strip_suffix(s, n, &i->enc));
    if (!i->op)
        return fail(&t, "unknown mnemonic", s);
    t.p = s + n;
    while (*t.p == ' ')
        t.p++;
    if (i->op == KN_I_s_waitcnt) {
        i->o[0].kind = KN_O_IMM;
        i->nopnd = 1;
    } else if (i->op == KN_I_s_endpgm) {
        t.p += strspn(t.p, "0123456789"); /* for the trap handler */
    } else if (count_letters(kn_isa[i->op].sig) && *t.p) {
        if (!parse_operands(&t))
            return false;
    }
    while (*t.p) {
        if (*t.p == ' ')
            t.p++;
        else if (!parse_modifier(&t))
            return false;
    }
    return check_shape(&t);
}
