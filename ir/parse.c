/* parse.c - text to kernel, one line at a time.
 *
 *   kernel @NAME tile|wave TARGET
 *   shape bm=N bn=N bk=N wm=N wn=N [mfma=ROW ta=TYPE tb=TYPE] [block=N] [simd=N]
 *   expr EXPRESSION        (formula.h)
 *   arg %NAME ptr|i32|i64|f32 [max=N]
 *   lds %NAME side=a elem=fp8 rows=N cols=N slots=N gk=1 lk=1 unit=16 ...
 *   [%NAME[:TYPE] =] OP OPERAND, OPERAND ... ATTR=VALUE ...   ; comment
 *
 * TYPE is `s.i32` (uniform), `v.f32x4` (per lane), `rsrc`, `view` or `tile`,
 * written where a value first appears. Errors carry file:line:col. */
#include "ir.h"

#include "formula.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct kn_ctx *c;
    struct kn_fn *f;
    const char *line, *s;    /* start of the line, cursor */
    struct kn_loc at;
    const char **slot_name;  /* hash of value names -> index, open addressed */
    uint32_t *slot_val;
    size_t nslots, nnames;
};

#define FAIL(p, ...) kn_fail_at((p)->c, KILN_BAD_INPUT, here(p), __VA_ARGS__)

static struct kn_loc
here(const struct parser *p)
{
    struct kn_loc at = p->at;

    at.col += (int)(p->s - p->line) + 1;
    return at;
}

static void
skip(struct parser *p)
{
    while (*p->s == ' ' || *p->s == '\t')
        p->s++;
}

static bool
at_end(struct parser *p)
{
    skip(p);
    return !*p->s || *p->s == ';' || *p->s == '\n' || *p->s == '\r';
}

static bool
accept(struct parser *p, char ch)
{
    skip(p);
    if (*p->s != ch)
        return false;
    p->s++;
    return true;
}

/* A word of letters, digits, '_' and '.'; empty if there is none. */
static const char *
word(struct parser *p)
{
    const char *from;

    skip(p);
    from = p->s;
    while (isalnum((unsigned char)*p->s) || *p->s == '_' || *p->s == '.')
        p->s++;
    return kn_strndup(p->c, from, (size_t)(p->s - from));
}

static kiln_status
integer(struct parser *p, int64_t *v)
{
    char *end;

    skip(p);
    errno = 0;
    *v = strtoll(p->s, &end, 0);
    if (end == p->s || errno || isalnum((unsigned char)*end))
        return FAIL(p, "expected an integer");
    p->s = end;
    return KILN_OK;
}

/* ---- value names ---- */

static size_t
name_slot(const struct parser *p, const char *name)
{
    uint64_t h = 1469598103934665603u;

    for (const char *s = name; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    h &= p->nslots - 1;
    while (p->slot_name[h] && strcmp(p->slot_name[h], name))
        h = (h + 1) & (p->nslots - 1);
    return (size_t)h;
}

static kn_ref
lookup(const struct parser *p, const char *name)
{
    size_t h = name_slot(p, name);

    return p->slot_name[h] ? KN_REF(KN_R_VAL, p->slot_val[h]) : 0;
}

static void
rehash(struct parser *p)
{
    p->nslots = p->nslots ? p->nslots * 2 : 1024;
    p->slot_name = KN_NEW(p->c, const char *, p->nslots);
    p->slot_val = KN_NEW(p->c, uint32_t, p->nslots);
    for (size_t i = 1; i < p->f->nval; i++) {
        size_t h = name_slot(p, p->f->val[i].name);

        p->slot_name[h] = p->f->val[i].name;
        p->slot_val[h] = (uint32_t)i;
    }
}

static kn_ref
declare(struct parser *p, const char *name, struct kn_type t)
{
    kn_ref r = kn_new_val(p->f, name, t);
    size_t h;

    kn_val(p->f, r)->at = p->at;
    if (p->f->nval * 2 > p->nslots) {
        rehash(p);
        return r;
    }
    h = name_slot(p, name);
    p->slot_name[h] = name;
    p->slot_val[h] = KN_REF_INDEX(r);
    return r;
}

/* ---- types, operands, attributes ---- */

static kiln_status
parse_type(struct parser *p, struct kn_type *t)
{
    const char *w = word(p), *x;
    char *copy, *end;

    *t = (struct kn_type){ .n = 1 };
    t->elem = (uint8_t)kn_find_elem(w);
    if (t->elem && kn_elems[t->elem].kind == KN_E_REF)
        return KILN_OK;
    if ((w[0] != 's' && w[0] != 'v') || w[1] != '.')
        return FAIL(p, "'%s' is no type; write s.i32, v.f32x4, rsrc, view or "
                    "tile", w);
    t->lane = w[0] == 'v';
    copy = kn_strdup(p->c, w + 2);
    x = strrchr(copy, 'x');
    if (x) {
        long n = strtol(x + 1, &end, 10);

        if (*end || n < 1 || n > 32)
            return FAIL(p, "'%s' has no vector length from 1 to 32", w);
        t->n = (uint8_t)n;
        copy[x - copy] = '\0';
    }
    t->elem = (uint8_t)kn_find_elem(copy);
    if (!t->elem || kn_elems[t->elem].kind == KN_E_FMT)
        return FAIL(p, "'%s' names no register type", w);
    return KILN_OK;
}

static kiln_status
parse_slot(struct parser *p, int lds, kn_ref *r)
{
    int64_t slot = KN_ALL_SLOTS;

    if (accept(p, '[')) {
        KN_TRY(integer(p, &slot));
        if (slot < 0 || slot >= p->f->lds[lds].slots)
            return FAIL(p, "%%%s has %u slots, there is no slot %lld",
                        p->f->lds[lds].name, p->f->lds[lds].slots,
                        (long long)slot);
        if (!accept(p, ']'))
            return FAIL(p, "expected ']'");
    }
    *r = KN_REF(KN_R_LDS, (uint32_t)lds << 8 | (uint32_t)slot);
    return KILN_OK;
}

static kiln_status
parse_number(struct parser *p, kn_ref *r)
{
    size_t n = strspn(p->s, "+-0123456789abcdefxABCDEFinp.");
    char *end;

    if (memchr(p->s, '.', n) || (n && strchr("in", p->s[p->s[0] == '-'])) ||
        (memchr(p->s, 'e', n) && !memchr(p->s, 'x', n))) {
        double d = strtod(p->s, &end);

        if (end == p->s)
            return FAIL(p, "expected a number");
        p->s = end;
        *r = kn_flt(p->f, d);
        return KILN_OK;
    } else {
        int64_t v;

        KN_TRY(integer(p, &v));
        *r = kn_int(p->f, v);
        return KILN_OK;
    }
}

static kiln_status
parse_operand(struct parser *p, kn_ref *r)
{
    const char *name;
    int lds;

    skip(p);
    if (*p->s != '%')
        return parse_number(p, r);
    p->s++;
    name = word(p);
    lds = kn_find_lds(p->f, name);
    if (lds >= 0)
        return parse_slot(p, lds, r);
    *r = lookup(p, name);
    if (!*r)
        return FAIL(p, "%%%s is not defined before this line", name);
    return KILN_OK;
}

static kiln_status
parse_attr(struct parser *p, struct kn_ins *i, const char *name)
{
    int64_t v = 0;
    int a = 0;

    while (a < KN_NATTR && strcmp(kn_attrs[a].text, name))
        a++;
    if (a == KN_NATTR || !kn_op_takes(i->op, a))
        return FAIL(p, "%s has no attribute '%s'", kn_op_info(i->op).text,
                    name);
    if (kn_attrs[a].kind == KN_TYPE)
        v = kn_find_elem(word(p));
    else if (kn_attrs[a].kind == KN_MFMA)
        v = kn_find_mfma(word(p));
    else
        KN_TRY(integer(p, &v));
    if (kn_attrs[a].kind != KN_INT && v <= (kn_attrs[a].kind == KN_TYPE ? 0 : -1))
        return FAIL(p, "unknown value for attribute '%s'", name);
    if (v < INT32_MIN || v > INT32_MAX)
        return FAIL(p, "attribute '%s' does not fit 32 bits", name);
    i->attr[a] = (int32_t)v;
    return KILN_OK;
}

/* Operands and attributes after the operation's name. */
static kiln_status
parse_rest(struct parser *p, struct kn_ins *i)
{
    int n = 0;

    while (!at_end(p)) {
        if (isalpha((unsigned char)*p->s) && strncmp(p->s, "inf", 3) &&
            strncmp(p->s, "nan", 3)) {
            const char *name = word(p);

            if (!accept(p, '='))
                return FAIL(p, "expected '=' after attribute '%s'", name);
            KN_TRY(parse_attr(p, i, name));
            continue;
        }
        if (n && !accept(p, ','))
            return FAIL(p, "expected ',' between operands");
        if (n == KN_MAXARG)
            return FAIL(p, "too many operands");
        KN_TRY(parse_operand(p, &i->arg[n++]));
    }
    return KILN_OK;
}

static kiln_status
parse_op(struct parser *p, kn_ref dst, const char *name)
{
    struct kn_ins i = { 0 };
    struct kn_ins *added;

    for (int op = 1; op < KN_NOP && !i.op; op++)
        if (!strcmp(kn_op_info((enum kn_op)op).text, name))
            i.op = (uint16_t)op;
    if (!i.op)
        return FAIL(p, "unknown operation '%s'", name);
    i.at = p->at;
    i.dst = dst;
    kn_default_attrs(&i);
    KN_TRY(parse_rest(p, &i));
    added = kn_add(p->f, i.op, p->at);
    *added = i;
    return KILN_OK;
}

/* `%x[:TYPE] = OP ...` */
static kiln_status
parse_assign(struct parser *p)
{
    const char *name;
    struct kn_type t = { 0 };
    bool typed;
    kn_ref dst;

    p->s++;
    name = word(p);
    if (!*name)
        return FAIL(p, "expected a name after '%%'");
    typed = accept(p, ':');
    if (typed)
        KN_TRY(parse_type(p, &t));
    dst = lookup(p, name);
    if (!dst && !typed)
        return FAIL(p, "%%%s has no type: write %%%s:TYPE where it first "
                    "appears", name, name);
    if (dst && typed && memcmp(&t, &kn_val(p->f, dst)->type, sizeof t))
        return FAIL(p, "%%%s already has another type", name);
    if (dst && kn_val(p->f, dst)->arg)
        return FAIL(p, "%%%s is a kernel argument and cannot be assigned",
                    name);
    if (kn_find_lds(p->f, name) >= 0)
        return FAIL(p, "%%%s is an LDS tile", name);
    if (!dst)
        dst = declare(p, name, t);
    if (!accept(p, '='))
        return FAIL(p, "expected '='");
    return parse_op(p, dst, word(p));
}

/* ---- declarations ---- */

static kiln_status
parse_kernel(struct parser *p)
{
    const char *w;

    if (p->f->name)
        return FAIL(p, "a file holds one kernel");
    if (!accept(p, '@'))
        return FAIL(p, "expected '@' and the kernel's name");
    p->f->name = word(p);
    p->f->at = p->at;
    w = word(p);
    p->f->level = !strcmp(w, "tile") ? KN_TILE : KN_WAVE;
    if (strcmp(w, "tile") && strcmp(w, "wave"))
        return FAIL(p, "expected 'tile' or 'wave'");
    w = word(p);
    for (int t = 1; t < KILN_NTARGETS; t++)
        if (!strcmp(kiln_target_name((kiln_target)t), w))
            p->f->target = (kiln_target)t;
    if (!p->f->target)
        return FAIL(p, "unknown target '%s'", w);
    return KILN_OK;
}

struct field {
    const char *name;
    uint32_t *value;
    uint32_t max;
};

static kiln_status
parse_field(struct parser *p, const struct field *fields, const char *name)
{
    int64_t v;

    for (; fields->name; fields++) {
        if (strcmp(fields->name, name))
            continue;
        KN_TRY(integer(p, &v));
        if (v < 0 || v > fields->max)
            return FAIL(p, "%s must be from 0 to %u", name, fields->max);
        *fields->value = (uint32_t)v;
        return KILN_OK;
    }
    return FAIL(p, "unknown field '%s'", name);
}

static kiln_status
parse_shape(struct parser *p)
{
    struct kn_shape *s = &p->f->shape;
    const struct field fields[] = {
        { "bm", &s->bm, 4096 }, { "bn", &s->bn, 4096 }, { "bk", &s->bk, 4096 },
        { "wm", &s->wm, 16 },   { "wn", &s->wn, 16 },
        { "block", &s->block, 4096 }, { "simd", &s->simd, 8 }, { NULL, NULL, 0 },
    };

    while (!at_end(p)) {
        const char *name = word(p);

        if (!accept(p, '='))
            return FAIL(p, "expected NAME=VALUE");
        if (!strcmp(name, "mfma") && (s->mfma = kn_find_mfma(word(p))) < 0)
            return FAIL(p, "no such matrix instruction");
        else if (!strcmp(name, "ta") && !(s->ta = (uint8_t)kn_find_elem(word(p))))
            return FAIL(p, "no such type");
        else if (!strcmp(name, "tb") && !(s->tb = (uint8_t)kn_find_elem(word(p))))
            return FAIL(p, "no such type");
        else if (strcmp(name, "mfma") && strcmp(name, "ta") &&
                 strcmp(name, "tb"))
            KN_TRY(parse_field(p, fields, name));
    }
    return KILN_OK;
}

static kiln_status
parse_expr(struct parser *p)
{
    struct kn_formula x;
    struct kn_loc at;

    skip(p);
    at = here(p);
    p->f->expr = kn_strndup(p->c, p->s, strcspn(p->s, ";\r\n"));
    p->s += strlen(p->s);
    return kn_formula_parse(p->c, &at, p->f->expr, p->f->shape.ta == KN_T_f64,
                            &x);
}

static kiln_status
parse_arg(struct parser *p)
{
    const char *name, *type;
    struct kn_type t = { .n = 1 };
    struct kn_val *val;

    if (!accept(p, '%'))
        return FAIL(p, "expected '%%' and the argument's name");
    name = word(p);
    type = word(p);
    t.elem = (uint8_t)kn_find_elem(type);
    if (t.elem != KN_T_ptr && t.elem != KN_T_i32 && t.elem != KN_T_i64 &&
        t.elem != KN_T_f32)
        return FAIL(p, "an argument is ptr, i32, i64 or f32, not '%s'", type);
    if (lookup(p, name))
        return FAIL(p, "%%%s is declared twice", name);
    val = kn_val(p->f, declare(p, name, t));
    val->arg = true;
    skip(p);
    if (strncmp(p->s, "max=", 4))
        return KILN_OK;
    p->s += 4;
    if (t.elem != KN_T_i32 && t.elem != KN_T_i64)
        return FAIL(p, "max= is for arguments of type i32 or i64");
    KN_TRY(integer(p, &val->max));
    if (val->max < 1 || (t.elem == KN_T_i32 && val->max > INT32_MAX))
        return FAIL(p, "max= is at least 1 and within the type");
    return KILN_OK;
}

static kiln_status
parse_swizzle(struct parser *p, struct kn_lds *l)
{
    const char *w = word(p);
    unsigned s, n, t;
    int used = 0;

    if (sscanf(w, "%2u.%2u.%2u%n", &s, &n, &t, &used) != 3 || w[used] ||
        s > 15 || n > 8 || t > 8)
        return FAIL(p, "swz is SHIFT.BITS.LEFT, for example 0.3.0");
    l->swz_s = s;
    l->swz_n = n;
    l->swz_t = t;
    return KILN_OK;
}

static kiln_status
parse_memory_type(struct parser *p, struct kn_lds *l)
{
    l->mem = (uint8_t)kn_find_elem(word(p));
    return l->mem ? KILN_OK : FAIL(p, "no such type");
}

static kiln_status
parse_lds(struct parser *p)
{
    struct kn_lds l = { .at = p->at, .kdiv = 1, .slots = 1, .unit = 16 };
    uint32_t gk = 1, lk = 1;
    const struct field fields[] = {
        { "rows", &l.rows, 4096 }, { "cols", &l.cols, 4096 },
        { "slots", &l.slots, 8 },  { "gk", &gk, 1 }, { "lk", &lk, 1 },
        { "unit", &l.unit, 16 },   { "shift", &l.shift, 16 },
        { "kdiv", &l.kdiv, 4096 }, { "panel", &l.panel, 1 },
        { "words", &l.words, KN_WORDS_GPTQ2 },
        { "shuf", &l.shuf, 1 },    { "run", &l.run, 32 },
        { "unaligned", &l.unaligned, 4 },
        { "share", &l.share, 8 },  { "line", &l.line, 1 },
        { "lag", &l.lag, 1 },      { "flip", &l.flip, 8 },
        { NULL, NULL, 0 },
    };
    struct kn_fn *f = p->f;

    if (!accept(p, '%'))
        return FAIL(p, "expected '%%' and the LDS tile's name");
    l.name = word(p);
    while (!at_end(p)) {
        const char *name = word(p);

        if (!accept(p, '='))
            return FAIL(p, "expected NAME=VALUE");
        if (!strcmp(name, "side"))
            l.side = (uint8_t)word(p)[0];
        else if (!strcmp(name, "elem"))
            l.elem = (uint8_t)kn_find_elem(word(p));
        else if (!strcmp(name, "mem"))
            KN_TRY(parse_memory_type(p, &l));
        else if (!strcmp(name, "swz"))
            KN_TRY(parse_swizzle(p, &l));
        else
            KN_TRY(parse_field(p, fields, name));
    }
    if (!l.elem || (l.side != 'a' && l.side != 'b'))
        return FAIL(p, "an LDS tile needs side=a or side=b and elem=TYPE");
    if (l.mem == l.elem && !(gk && !lk))
        l.mem = 0;           /* the same on both sides is no conversion, but
                              * where rows are turned on their way */
    if (kn_find_lds(f, l.name) >= 0 || lookup(p, l.name))
        return FAIL(p, "%%%s is declared twice", l.name);
    l.gk = (uint8_t)gk;
    l.lk = (uint8_t)lk;
    f->lds = kn_grow(f->c, f->lds, &f->caplds, f->nlds + 1, sizeof *f->lds);
    f->lds[f->nlds++] = l;
    return KILN_OK;
}

static kiln_status
parse_line(struct parser *p)
{
    const char *w;

    if (at_end(p))
        return KILN_OK;
    if (*p->s != '%')
        w = word(p);
    else
        w = "";
    if (!*w && *p->s != '%')
        return FAIL(p, "expected an operation or '%%NAME ='");
    if (!strcmp(w, "kernel"))
        return parse_kernel(p);
    if (!p->f->name)
        return FAIL(p, "a file starts with 'kernel @NAME tile|wave TARGET'");
    if (!strcmp(w, "shape"))
        return parse_shape(p);
    if (!strcmp(w, "expr"))
        return parse_expr(p);
    if (!strcmp(w, "arg"))
        return parse_arg(p);
    if (!strcmp(w, "lds"))
        return parse_lds(p);
    return *w ? parse_op(p, 0, w) : parse_assign(p);
}

kiln_status
kn_parse(struct kn_ctx *c, const struct kn_line *lines, size_t n,
         struct kn_fn **out)
{
    struct parser p = { .c = c, .f = kn_fn_new(c) };

    rehash(&p);
    for (size_t i = 0; i < n; i++) {
        p.line = p.s = lines[i].text;
        p.at = lines[i].at;
        KN_TRY(parse_line(&p));
        if (!at_end(&p))
            return FAIL(&p, "unexpected text at the end of the line");
    }
    if (!p.f->name)
        return kn_fail(c, KILN_BAD_INPUT, "the text holds no kernel");
    *out = p.f;
    return KILN_OK;
}
