/* pack_c.c - writes the C file of `pack --c`; needs nothing of kiln. */
#include "cmd.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "../../emit/isa/object.h"
#include "../../runtime/file.h"
#include "launch/launch.h"

/* Every size and every operand that some family has. */
static const char *const sizes[] = { "m", "n", "k", "batch", "groups", "tokens",
                                     "topk", "lda", "ldb", "ldc", "ldsa",
                                     "ldsb", "ldc2", "ldsa2", "seed",
                                     "stride_a", "stride_b", "stride_c" };
static const char *const operands[] = {
#define X(id, field) #field,
    KILN_OPERANDS(X)
#undef X
};

static void
put_stem(struct kn_buf *b, const char *path)
{
    const char *slash = strrchr(path, '/'), *s = slash ? slash + 1 : path;

    if (!isalpha((unsigned char)*s))
        kn_put(b, "k");
    for (; *s && *s != '.'; s++)
        kn_putf(b, "%c", isalnum((unsigned char)*s) ? *s : '_');
}

static void
put_types(struct kn_buf *b, const char *stem)
{
    kn_putf(b, "/* In elements; what a family has not, and the default, is 0. "
               "*/\nstruct %s_shape {\n    int64_t ", stem);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        kn_putf(b, "%s%s", i ? ", " : "", sizes[i]);
    kn_putf(b, ";\n};\n\n/* Device addresses. */\nstruct %s_operands {\n", stem);
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        kn_putf(b, "    %svoid *%s;\n",
                strcmp(operands[i], "c") ? "const " : "", operands[i]);
    kn_putf(b, "};\n\nstruct %s_launch {\n    const char *kernel;\n"
               "    const void *code;       /* for hipModuleLoadData */\n"
               "    size_t code_size, args_size;\n"
               "    uint64_t workspace;     /* bytes; its first %d are zero */\n"
               "    uint32_t grid, block;   /* in x; a grid of 0: nothing */\n"
               "    unsigned char args[256];\n};\n\n", stem,
            KILN_WORKSPACE_ZEROS);
}

static void
put_code(struct kn_buf *b, const char *name, const struct kn_pack_kernel *k)
{
    kn_putf(b, "static const unsigned char %s_code[%zu]\n#if "
               "defined(__GNUC__)\n    __attribute__((aligned(4096)))\n#endif\n"
               "    = {", name, k->size);
    for (size_t i = 0; i < k->size; i++)
        kn_putf(b, "%s%u,", i % 20 ? "" : "\n", k->co[i]);
    kn_put(b, "\n};\n\n");
}

/* From the general shape and operands to the kernel's own. */
static void
put_make(struct kn_buf *b, const char *stem, const char *name,
         const struct kn_launch *l, const char *kernel)
{
    kn_putf(b, "static const char *\n%s_make(const struct %s_shape *s, const "
               "struct %s_operands *o,\n    struct %s_launch *l)\n{\n"
               "    struct %s_shape x;\n    struct %s_args a;\n"
               "    struct %s_launch y;\n    const char *refused;\n\n", name,
            stem, stem, stem, name, name, name);
    for (uint32_t i = 0; i < l->nsizes; i++)
        kn_putf(b, "    x.%s = s->%s;\n", l->size[i].name, l->size[i].name);
    kn_putf(b, "    refused = %s_plan(&x, &a, &y);\n    if (refused)\n"
               "        return refused;\n", name);
    for (uint32_t i = 0; i < l->nargs; i++)
        if (l->arg[i].type == KN_ARG_PTR && l->arg[i].align)
            kn_putf(b, "    a.%s = o->%s;\n", l->arg[i].name, l->arg[i].name);
    kn_putf(b, "    l->kernel = \"%s\";\n    l->code = %s_code;\n"
               "    l->code_size = sizeof %s_code;\n"
               "    l->args_size = %u;\n    memcpy(l->args, &a, %u);\n"
               "    l->workspace = y.workspace;\n    l->grid = y.grid;\n"
               "    l->block = y.block;\n    return NULL;\n}\n\n",
            kernel, name, name, l->kernarg_size, l->kernarg_size);
}

static kiln_status
put_kernel(struct kn_ctx *c, struct kn_buf *b, const char *stem, size_t i,
           const struct kn_pack_kernel *k)
{
    struct kn_launch *l = KN_NEW(c, struct kn_launch, 1);
    const struct kn_object_kernel *kernel;
    struct kn_buf name = { .c = c };
    struct kn_launch_facts f;
    struct kn_object o;

    KN_TRY(kn_object_read(c, k->key->hex, k->co, k->size, &o));
    KN_TRY(kn_object_kernel(c, &o, NULL, &kernel));
    kn_putf(&name, "%s_%zu", stem, i);
    f = (struct kn_launch_facts){ kernel->name, kiln_target_name(k->p->target),
                                  k->key->config, kn_versions(), kernel->lds };
    kn_launch_describe(c, k->p, k->config, l);
    kn_launch_header(b, name.s, l, &f);
    put_code(b, name.s, k);
    put_make(b, stem, name.s, l, kernel->name);
    return KILN_OK;
}

static void
put_table(struct kn_buf *b, const char *stem, const struct kn_pack_kernel *k,
          size_t n)
{
    kn_putf(b, "static const struct {\n    const char *arch, *problem;\n"
               "    int64_t m;              /* rows it was chosen for */\n"
               "    const char *(*make)(const struct %s_shape *, const struct "
               "%s_operands *,\n        struct %s_launch *);\n} "
               "%s_table[] = {\n", stem, stem, stem, stem);
    for (size_t i = 0; i < n; i++)
        kn_putf(b, "    { \"%s\", \"%s\", INT64_C(%" PRId64 "), %s_%zu_make "
                   "},\n", kiln_target_name(k[i].p->target),
                k[i].key->problem, k[i].p->m ? k[i].p->m : INT64_MAX, stem, i);
    kn_put(b, "};\n\n");
}

/* The least m at or above the shape's, or else the largest. */
static void
put_find(struct kn_buf *b, const char *stem)
{
    kn_putf(b,
        "/* The launch of a problem (as `pack --list` names it) on an "
        "architecture: of the\n * kernels whose domain has the shape, the one "
        "chosen for the fewest rows that are\n * not fewer than its own. NULL, "
        "or why there is none. */\n"
        "const char *%s_find(const char *arch, const char *problem,\n"
        "    const struct %s_shape *s, const struct %s_operands *o,\n"
        "    struct %s_launch *l);\n\n"
        "const char *\n%s_find(const char *arch, const char *problem,\n"
        "    const struct %s_shape *s, const struct %s_operands *o,\n"
        "    struct %s_launch *l)\n{\n"
        "    const char *why = \"no kernel here is for this problem\";\n"
        "    int64_t best = -1;\n\n"
        "    for (size_t i = 0; i < sizeof %s_table / sizeof *%s_table; i++) "
        "{\n"
        "        const int64_t m = %s_table[i].m;\n"
        "        struct %s_launch one;\n"
        "        const char *refused;\n\n"
        "        if (strcmp(%s_table[i].arch, arch) ||\n"
        "            strcmp(%s_table[i].problem, problem))\n"
        "            continue;\n"
        "        refused = %s_table[i].make(s, o, &one);\n"
        "        if (refused && best < 0)\n            why = refused;\n"
        "        if (refused || (best >= 0 && (best >= s->m\n"
        "                ? m < s->m || m >= best : m <= best)))\n"
        "            continue;\n"
        "        best = m;\n        why = NULL;\n        *l = one;\n"
        "    }\n    return why;\n}\n",
        stem, stem, stem, stem, stem, stem, stem, stem, stem, stem, stem, stem,
        stem, stem, stem);
}

kiln_status
kn_pack_c(struct kn_ctx *c, const char *path, const struct kn_pack_kernel *k,
          size_t n)
{
    struct kn_buf b = { .c = c }, stem = { .c = c };

    put_stem(&stem, path);
    kn_putf(&b, "/* %s.c - %zu kernels and what launches them, made by `kilnc "
                "pack --c`;\n * needs nothing of kiln. */\n"
                "#include <stddef.h>\n#include <stdint.h>\n"
                "#include <string.h>\n\n", stem.s, n);
    put_types(&b, stem.s);
    for (size_t i = 0; i < n; i++)
        KN_TRY(put_kernel(c, &b, stem.s, i, &k[i]));
    put_table(&b, stem.s, k, n);
    put_find(&b, stem.s);
    return kn_file_write(c, path, b.s, b.n);
}
