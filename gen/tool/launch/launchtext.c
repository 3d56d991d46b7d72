/* launchtext.c - writes what launch.c describes. */
#include "launch.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char *const c_types[] = {
    [KN_ARG_PTR] = "const void *", [KN_ARG_I64] = "int64_t ",
    [KN_ARG_I32] = "int32_t ", [KN_ARG_F32] = "float "
};
static const char *const type_names[] = {
    [KN_ARG_PTR] = "pointer", [KN_ARG_I64] = "i64", [KN_ARG_I32] = "i32",
    [KN_ARG_F32] = "f32"
};

/* The names of one header: x.lower of functions, x.upper of macros. */
struct header {
    struct kn_buf *b;
    const struct kn_launch *l;
    char lower[64], upper[64];
};

static void
name_header(struct header *h, const char *path)
{
    const char *slash = strrchr(path, '/'), *s = slash ? slash + 1 : path;
    size_t n = 0;

    if (!isalpha((unsigned char)*s))
        h->lower[n++] = 'k';
    for (; *s && *s != '.' && n + 1 < sizeof h->lower; s++)
        h->lower[n++] = isalnum((unsigned char)*s) ? *s : '_';
    h->lower[n] = '\0';
    for (size_t i = 0; i <= n; i++)
        h->upper[i] = (char)toupper((unsigned char)h->lower[i]);
}

static void
put_macros(struct header *h, const struct kn_launch_facts *f)
{
    struct kn_buf *b = h->b;
    const char *up = h->upper;

    kn_putf(b, "#define %s_KERNEL \"%s\"\n", up, f->symbol);
    kn_putf(b, "#define %s_TARGET \"%s\"\n", up, f->target);
    kn_putf(b, "#define %s_BLOCK %u          /* work-items, in x */\n", up,
            h->l->block);
    kn_putf(b, "#define %s_LDS %u            /* bytes, declared by the code "
               "object: launch with 0 */\n", up, f->lds);
    kn_putf(b, "#define %s_KERNARG_SIZE %u\n", up, h->l->kernarg_size);
    kn_putf(b, "#define %s_WORKSPACE_ZEROS %d\n", up, KILN_WORKSPACE_ZEROS);
    kn_putf(b, "#define %s_WORKSPACE(args, p) %s\n\n", up,
            strcmp(h->l->workspace, "0") != 0 ? "((args).workspace = (p))"
                                              : "((void)(p))");
}

static void
put_shape(struct header *h)
{
    kn_putf(h->b, "/* What a launch is of, in elements. */\nstruct %s_shape "
                  "{\n", h->lower);
    for (uint32_t i = 0; i < h->l->nsizes; i++)
        kn_putf(h->b, "    int64_t %s; /* %s */\n", h->l->size[i].name,
                h->l->size[i].text);
    kn_put(h->b, "};\n\n");
}

static void
put_args(struct header *h)
{
    const struct kn_launch *l = h->l;

    kn_putf(h->b, "/* The kernel's arguments, as they lie in memory. %s_plan() "
                  "fills in the sizes;\n * addresses are the caller's. */\n"
                  "struct %s_args {\n", h->lower, h->lower);
    for (uint32_t i = 0; i < l->nargs; i++) {
        const struct kn_launch_arg *a = &l->arg[i];

        kn_putf(h->b, "    %s%s;", a->align && !strcmp(a->name, "c")
                ? "void *" : c_types[a->type], a->name);
        if (a->type == KN_ARG_PTR && a->align)
            kn_putf(h->b, " /* %s, a multiple of %u */", a->value, a->align);
        else if (a->type == KN_ARG_PTR)
            kn_put(h->b, " /* not used */");
        kn_put(h->b, "\n");
    }
    kn_put(h->b, "};\n\n");
}

static void
put_helpers(struct header *h)
{
    const char *p = h->lower;

    kn_putf(h->b,
            "struct %s_launch {\n"
            "    uint32_t grid;          /* workgroups in x; 0: nothing to "
            "launch */\n"
            "    uint32_t block;         /* work-items in x */\n"
            "    uint64_t workspace;     /* bytes; the first "
            "%s_WORKSPACE_ZEROS of them\n"
            "                               are zero before its first launch "
            "and after each */\n};\n\n"
            "static inline int64_t %s_up(int64_t n, int64_t d)\n"
            "{ return (n + d - 1) / d; }\n"
            "static inline int64_t %s_when(int64_t c, int64_t v)\n"
            "{ return c ? v : 0; }\n"
            "static inline int64_t %s_least(int64_t x, int64_t y)\n"
            "{ return x < y ? x : y; }\n"
            "static inline int64_t %s_most(int64_t x, int64_t y)\n"
            "{ return x > y ? x : y; }\n\n", p, h->upper, p, p, p, p);
}

static bool
is_helper(const char *word, size_t n)
{
    static const char *const helpers[] = { "up", "when", "least", "most" };

    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (strlen(helpers[i]) == n && !strncmp(helpers[i], word, n))
            return true;
    return false;
}

/* An expression, its functions under the header's names. */
static void
put_expression(struct header *h, const char *s)
{
    while (*s) {
        size_t n = 0;

        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
        if (is_helper(s, n))
            kn_putf(h->b, "%s_", h->lower);
        n += !n;
        kn_putf(h->b, "%.*s", (int)n, s);
        s += n;
    }
}

static void
put_locals(struct header *h)
{
    for (uint32_t i = 0; i < h->l->nsizes; i++)
        kn_putf(h->b, "    const int64_t %s = s->%s;\n", h->l->size[i].name,
                h->l->size[i].name);
    for (uint32_t i = 0; i < h->l->nlets; i++) {
        kn_putf(h->b, "    const int64_t %s = ", h->l->let[i].name);
        put_expression(h, h->l->let[i].text);
        kn_put(h->b, ";\n");
    }
}

static void
put_checks(struct header *h)
{
    for (uint32_t i = 0; i < h->l->nrules; i++) {
        kn_put(h->b, "    if (!(");
        put_expression(h, h->l->rule[i].holds);
        kn_putf(h->b, "))\n        return \"%s\";\n", h->l->rule[i].sentence);
    }
}

static void
put_bound(struct header *h, const struct kn_launch_arg *a)
{
    if (isdigit((unsigned char)*a->value) && !strchr(a->value, '*'))
        return;              /* a number */
    kn_put(h->b, "    if (");
    put_expression(h, a->value);
    kn_putf(h->b, " > %" PRId64 ")\n        return \"%s is beyond what the "
                  "kernel is proven for\";\n", a->most, a->name);
}

static void
put_fill(struct header *h)
{
    for (uint32_t i = 0; i < h->l->nargs; i++) {
        const struct kn_launch_arg *a = &h->l->arg[i];
        const char *type = a->type == KN_ARG_I64 ? "int64_t" : "int32_t";

        if (a->type == KN_ARG_PTR)
            continue;
        if (a->type == KN_ARG_F32) {
            kn_putf(h->b, "    a->%s = 1;\n", a->name);
            continue;
        }
        put_bound(h, a);
        kn_putf(h->b, "    a->%s = (%s)(", a->name, type);
        put_expression(h, a->value);
        kn_put(h->b, ");\n");
    }
}

static void
put_plan(struct header *h)
{
    kn_putf(h->b,
            "/* The launch of a shape: its arguments but the addresses, which are "
            "NULL, with an\n * alpha and scalars of 1; its grid. Returns NULL, or why the "
            "kernel is not for the shape. */\nstatic inline const char *\n%s_plan(const struct "
            "%s_shape *s, struct %s_args *a, struct %s_launch *l)\n{\n",
            h->lower, h->lower, h->lower, h->lower);
    put_locals(h);
    kn_put(h->b, "\n");
    put_checks(h);
    kn_put(h->b, "    memset(a, 0, sizeof *a);\n");
    put_fill(h);
    kn_putf(h->b, "    l->block = %s_BLOCK;\n    l->grid = (uint32_t)(",
            h->upper);
    put_expression(h, h->l->grid);
    kn_put(h->b, ");\n    l->workspace = (uint64_t)(");
    put_expression(h, h->l->workspace);
    kn_put(h->b, ");\n");
    kn_put(h->b, "    return NULL;\n}\n\n");
}

void
kn_launch_header(struct kn_buf *b, const char *path, const struct kn_launch *l,
                 const struct kn_launch_facts *f)
{
    struct header h = { .b = b, .l = l };

    name_header(&h, path);
    kn_putf(b, "/* %s.h - how %s is launched.\n * %s\n * %s\n * made by `kilnc "
               "generate --header`; needs nothing of kiln. */\n"
               "#ifndef %s_LAUNCH_H\n#define %s_LAUNCH_H\n\n"
               "#include <stddef.h>\n#include <stdint.h>\n"
               "#include <string.h>\n\n", h.lower, f->symbol, f->config,
            f->versions, h.upper, h.upper);
    put_macros(&h, f);
    put_shape(&h);
    put_args(&h);
    put_helpers(&h);
    put_plan(&h);
    kn_put(b, "#endif\n");
}

/* ---- JSON --------------------------------------------------------------- */

static void
put_names(struct kn_json *j, const char *key, const struct kn_launch_name *n,
          uint32_t count)
{
    kn_json_open(j, key, '{');
    for (uint32_t i = 0; i < count; i++)
        kn_json_str(j, n[i].name, n[i].text);
    kn_json_close(j, '}');
}

static void
put_json_args(struct kn_json *j, const struct kn_launch *l)
{
    kn_json_open(j, "arguments", '[');
    for (uint32_t i = 0; i < l->nargs; i++) {
        const struct kn_launch_arg *a = &l->arg[i];
        bool pointer = a->type == KN_ARG_PTR;

        kn_json_open(j, NULL, '{');
        kn_json_str(j, "name", a->name);
        kn_json_str(j, "type", type_names[a->type]);
        kn_json_uint(j, "offset", a->offset);
        if (pointer) {
            kn_json_bool(j, "used", a->align != 0);
            kn_json_uint(j, "align", a->align);
        } else if (a->type != KN_ARG_F32) {
            kn_json_int(j, "max", a->most);
        }
        kn_json_str(j, pointer ? "what" : "value", a->value);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
}

void
kn_launch_json(struct kn_json *j, const struct kn_launch *l,
               const struct kn_launch_facts *f)
{
    kn_json_open(j, "launch", '{');
    kn_json_str(j, "kernel", f->symbol);
    kn_json_str(j, "arch", f->target);
    kn_json_uint(j, "block", l->block);
    kn_json_uint(j, "lds", f->lds);
    kn_json_uint(j, "kernarg_size", l->kernarg_size);
    kn_json_uint(j, "workspace_zeros", KILN_WORKSPACE_ZEROS);
    put_names(j, "shape", l->size, l->nsizes);
    put_names(j, "let", l->let, l->nlets);
    kn_json_open(j, "domain", '[');
    for (uint32_t i = 0; i < l->nrules; i++) {
        kn_json_open(j, NULL, '{');
        kn_json_str(j, "holds", l->rule[i].holds);
        kn_json_str(j, "else", l->rule[i].sentence);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
    put_json_args(j, l);
    kn_json_str(j, "grid", l->grid);
    kn_json_str(j, "workspace", l->workspace);
    kn_json_close(j, '}');
}
