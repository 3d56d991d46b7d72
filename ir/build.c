/* build.c - the tables of the IR and the functions that append to a kernel. */
#include "ir.h"

#include <string.h>

const struct kn_elem_info kn_elems[KN_NELEM] = {
    [KN_T_NONE] = { "none", 0, KN_E_REF, -1 },
#define T(id, text, bits, kind, mx) [KN_T_##id] = { text, bits, KN_E_##kind, mx },
#include "types.def"
#undef T
};

const struct kn_attr_info kn_attrs[KN_NATTR] = {
#define A(id, text, def, kind) [KN_A_##id] = { text, def, KN_##kind },
#include "attrs.def"
#undef A
};

enum { GFX942 = 1 << KILN_GFX942, GFX950 = 1 << KILN_GFX950,
       BOTH = GFX942 | GFX950 };
const struct kn_mfma_info kn_mfmas[KN_NMFMA] = {
#define MFMA(id, text, mi, k, ab, c, a, b, acc, cyc, intr, targets)           \
    [KN_MFMA_##id] = { text, intr, mi, k, ab, c, KN_T_##a, KN_T_##b,          \
                       KN_T_##acc, cyc, targets },
#include "mfma.def"
#undef MFMA
};

static const struct {
    const char *text, *args, *attrs;
    uint8_t level, kind;
    char dst;
} op_rows[KN_NOP] = {
#define OP(id, text, level, dst, args, attrs, kind)                           \
    [KN_OP_##id] = { text, args, attrs, KN_##level, KN_##kind, dst },
#include "ops.def"
#undef OP
};

enum kn_kind
kn_op_kind(enum kn_op op)
{
    return (enum kn_kind)op_rows[op].kind;
}

struct kn_op_info
kn_op_info(enum kn_op op)
{
    struct kn_op_info i = { op_rows[op].text, op_rows[op].args,
                            op_rows[op].attrs, op_rows[op].level,
                            op_rows[op].kind, op_rows[op].dst, 0, 0 };
    const char *opt = i.args ? strchr(i.args, '?') : NULL;

    if (!i.text)
        return i;
    i.nargs = (uint8_t)(strlen(i.args) - (opt ? 1 : 0));
    i.nopt = (uint8_t)(opt ? strlen(opt + 1) : 0);
    return i;
}

bool
kn_op_takes(enum kn_op op, enum kn_attr attr)
{
    const char *name = kn_attrs[attr].text, *at = op_rows[op].attrs;
    size_t n = strlen(name);

    for (; at && *at; at += *at == ' ') {
        size_t word = strcspn(at, " ");

        if (word == n && !memcmp(at, name, n))
            return true;
        at += word;
    }
    return false;
}

struct kn_fn *
kn_fn_new(struct kn_ctx *c)
{
    struct kn_fn *f = KN_NEW(c, struct kn_fn, 1);

    f->c = c;
    f->shape.mfma = -1;
    kn_new_val(f, "", (struct kn_type){ 0 });
    return f;
}

kn_ref
kn_new_val(struct kn_fn *f, const char *name, struct kn_type t)
{
    f->val = kn_grow(f->c, f->val, &f->capval, f->nval + 1, sizeof *f->val);
    f->val[f->nval] = (struct kn_val){ .name = name, .type = t };
    return KN_REF(KN_R_VAL, f->nval++);
}

static kn_ref
add_const(struct kn_fn *f, struct kn_const k)
{
    for (size_t i = f->nconst > 64 ? f->nconst - 64 : 0; i < f->nconst; i++)
        if (f->konst[i].is_float == k.is_float && f->konst[i].i == k.i &&
            !memcmp(&f->konst[i].f, &k.f, sizeof k.f))
            return KN_REF(KN_R_CONST, i);
    f->konst = kn_grow(f->c, f->konst, &f->capconst, f->nconst + 1,
                       sizeof *f->konst);
    f->konst[f->nconst] = k;
    return KN_REF(KN_R_CONST, f->nconst++);
}

kn_ref
kn_int(struct kn_fn *f, int64_t v)
{
    return add_const(f, (struct kn_const){ .i = v });
}

kn_ref
kn_flt(struct kn_fn *f, double v)
{
    return add_const(f, (struct kn_const){ .f = v, .is_float = true });
}

struct kn_ins *
kn_default_attrs(struct kn_ins *i)
{
    for (int a = 0; a < KN_NATTR; a++)
        i->attr[a] = kn_attrs[a].def;
    return i;
}

struct kn_ins *
kn_add(struct kn_fn *f, enum kn_op op, struct kn_loc at)
{
    struct kn_ins *i;

    f->ins = kn_grow(f->c, f->ins, &f->capins, f->nins + 1, sizeof *f->ins);
    i = &f->ins[f->nins++];
    memset(i, 0, sizeof *i);
    i->op = (uint16_t)op;
    i->at = at;
    return kn_default_attrs(i);
}

int
kn_find_lds(const struct kn_fn *f, const char *name)
{
    for (size_t i = 0; i < f->nlds; i++)
        if (!strcmp(f->lds[i].name, name))
            return (int)i;
    return -1;
}

int
kn_find_elem(const char *text)
{
    for (int e = 1; e < KN_NELEM; e++)
        if (!strcmp(kn_elems[e].text, text))
            return e;
    return 0;
}

int
kn_find_mfma(const char *text)
{
    for (int m = 0; m < KN_NMFMA; m++)
        if (!strcmp(kn_mfmas[m].text, text))
            return m;
    return -1;
}

kiln_status
kn_parse_text(struct kn_ctx *c, const char *file, const char *text,
              struct kn_fn **out)
{
    struct kn_line *lines = NULL;
    size_t n = 0, cap = 0;

    file = kn_strdup(c, file);
    while (*text) {
        size_t len = strcspn(text, "\n");

        lines = kn_grow(c, lines, &cap, n + 1, sizeof *lines);
        lines[n] = (struct kn_line){ kn_strndup(c, text, len),
                                     { file, (int)n + 1, 0, NULL } };
        n++;
        text += len + (text[len] == '\n');
    }
    return kn_parse(c, lines, n, out);
}
