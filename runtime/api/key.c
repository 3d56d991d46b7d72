/* key.c - what a kernel is made from as text, and its digest. */
#include "context.h"

#include <sha2.h>
#include <string.h>

/* A new field of the kernel part must get a row below and in gen/identity.c, or two
 * different kernels would share a name. */
_Static_assert(offsetof(kiln_problem, m) == 48 &&
               sizeof ((kiln_problem *)0)->reserved == 7 &&
               offsetof(kiln_problem, expression) + KILN_EXPRESSION ==
                   offsetof(kiln_problem, scalar) &&
               offsetof(kiln_problem, scalar) + 4 * KILN_SCALARS + 40 ==
                   sizeof (kiln_problem),
               "a field was added to the kernel part");

bool
kn_same_kernel_part(const kiln_problem *a, const kiln_problem *b)
{
    return a->family == b->family && a->target == b->target &&
           a->layout == b->layout && a->a == b->a && a->b == b->b &&
           a->out == b->out && a->scale == b->scale && a->epilogue == b->epilogue &&
           a->beta == b->beta && a->alpha_set == b->alpha_set &&
           a->stage == b->stage && a->act == b->act &&
           a->atomic == b->atomic && a->block_m == b->block_m &&
           a->b_layout == b->b_layout && a->scale_layout == b->scale_layout &&
           a->id_format == b->id_format && a->weigh == b->weigh &&
           a->requant == b->requant && a->quant == b->quant &&
           a->group_flags == b->group_flags && a->invariant == b->invariant &&
           a->out_scale == b->out_scale && a->overflow == b->overflow &&
           a->scale_type == b->scale_type &&
           a->zero_points == b->zero_points && a->math == b->math &&
           a->amax == b->amax && a->out2 == b->out2 &&
           a->quant_flags == b->quant_flags && a->hadamard == b->hadamard &&
           a->round == b->round &&
           !strcmp(a->expression, b->expression);
}

/* Enumerators come from a caller: tables are indexed by them. */
static kiln_status
check_enums(struct kn_ctx *c, const kiln_problem *p)
{
    const struct {
        const char *name;
        int value, n;
    } row[] = {
        { "family", (int)p->family, KILN_NFAMILIES },
        { "target", (int)p->target, KILN_NTARGETS },
        { "layout", (int)p->layout, KILN_NLAYOUTS },
        { "a", (int)p->a, KILN_NTYPES },
        { "b", (int)p->b, KILN_NTYPES },
        { "out", (int)p->out, KILN_NTYPES },
        { "scale", (int)p->scale, KILN_NSCALES },
        { "epilogue", p->epilogue, KILN_NEPILOGUES },
        { "beta", p->beta, 2 },
        { "alpha_set", p->alpha_set, 2 },
        { "stage", p->stage, KILN_NMOESTAGES },
        { "act", p->act, KILN_NACTS },
        { "atomic", p->atomic, 2 },
        { "id_format", p->id_format, KILN_NIDFORMATS },
        { "weigh", p->weigh, KILN_NWEIGHTS },
        { "requant", p->requant, 4 },
        { "quant", p->quant, 5 },
        { "b_layout", p->b_layout, KILN_NBLAYOUTS },
        { "scale_layout", p->scale_layout, KILN_NSCALELAYOUTS },
        { "group_flags", p->group_flags, 16 },
        { "invariant", p->invariant, 2 },
        { "out_scale", p->out_scale, KILN_NOUTSCALES },
        { "overflow", p->overflow, 2 },
        { "scale_type", p->scale_type, KILN_NSCALETYPES },
        { "zero_points", p->zero_points, KILN_NZEROPOINTS },
        { "math", p->math, KILN_NMATHS },
        { "amax", p->amax, 2 },
        { "out2", p->out2, KILN_NTYPES },
        { "quant_flags", p->quant_flags, 8 },
        { "hadamard", p->hadamard, 33 },
        { "round", p->round, 2 },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].value < 0 || row[i].value >= row[i].n)
            return kn_fail(c, KILN_BAD_INPUT, "kiln_problem.%s is %d, which "
                           "is no value of it", row[i].name, row[i].value);
    return KILN_OK;
}

kiln_status
kn_problem_take(struct kn_ctx *c, const kiln_problem *given,
                kiln_target target, kiln_problem *out)
{
    uint8_t reserved = 0;

    memset(out, 0, sizeof *out);
    if (given->size < offsetof(kiln_problem, batch) ||
        given->size > sizeof *out)
        return kn_fail(c, KILN_BAD_INPUT, "kiln_problem.size is %u, this "
                       "library knows %zu bytes", given->size, sizeof *out);
    memcpy(out, given, given->size);
    out->size = sizeof *out;
    if (target)
        out->target = target;
    for (size_t i = 0; i < sizeof out->reserved; i++)
        reserved |= out->reserved[i];
    if (reserved)
        return kn_fail(c, KILN_BAD_INPUT, "the reserved fields of "
                       "kiln_problem must be zero");
    if (memchr(out->expression, 0, sizeof out->expression) == NULL)
        return kn_fail(c, KILN_BAD_INPUT, "kiln_problem.expression has no end");
    KN_TRY(check_enums(c, out));
    return kn_problem_normalise(c, out);
}

void
kn_sha256(const void *p, size_t n, uint8_t out[KN_DIGEST])
{
    SHA2_CTX h;

    SHA256Init(&h);
    SHA256Update(&h, p, n);
    SHA256Final(out, &h);
}

void
kn_hex(const uint8_t digest[KN_DIGEST], char out[KN_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < KN_DIGEST; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * KN_DIGEST] = '\0';
}

void
kn_make_key(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
            struct kn_key *out)
{
    struct kn_buf config = { .c = c }, text = { .c = c };

    kn_config_print(g, &config);
    out->problem = kn_problem_text(c, p);
    out->config = config.s;
    kn_putf(&text, "kiln kernel 1\n%s\n%s\n%s\n", out->problem, out->config,
            kn_versions());
    out->text = text.s;
    kn_sha256(text.s, text.n, out->digest);
    kn_hex(out->digest, out->hex);
}
