/* check_facts.c - what a kernel declares against what its bytes do: LDS,
 * scratch, and wait counters that gfx9 has no bits for. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "../../ir/ir.h"

/* A sentence with up to two numbers about an instruction. */
struct fact {
    uint32_t inst;
    const char *why;
    uint32_t a, b;
};

static void
add(const struct kn_program *p, struct kn_check_result *out, struct fact x)
{
    struct kn_check_finding *f = kn_check_add(out, x.inst, KN_SEV_FINDING);
    char text[80], fact[112];

    if (!f)
        return;
    kn_inst_text(p->target, &p->inst[x.inst], text, sizeof text);
    snprintf(fact, sizeof fact, x.why, x.a, x.b);
    snprintf(f->text, sizeof f->text, "%s: %s", text, fact);
}

struct kn_check_finding *
kn_check_add(struct kn_check_result *r, uint32_t inst,
             enum kn_severity severity)
{
    struct kn_check_finding *f = r->finding;
    uint32_t at = r->nkept;

    if (severity == KN_SEV_FINDING)
        at = r->nfindings++;
    else
        r->nadvice++;
    if (at >= KN_CHECK_KEPT)
        return NULL;
    r->nkept += r->nkept < KN_CHECK_KEPT;
    memmove(&f[at + 1], &f[at], (r->nkept - 1 - at) * sizeof *f);
    f[at] = (struct kn_check_finding){ .inst = inst, .severity = severity };
    return &f[at];
}

/* The highest LDS byte an access reaches from an address of zero: LDS
 * addresses are unsigned and do not wrap. 0: it touches no LDS. */
static uint32_t
reach(const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    uint32_t unit = row->flags & KN_IF_ST64 ? 64u * row->bytes : row->bytes;
    uint32_t a = (uint32_t)i->offset, b = (uint32_t)i->offset1;

    if (row->mem != KN_M_DS || !row->bytes || row->flags & KN_IF_XLANE ||
        i->op == KN_I_ds_swizzle_b32)
        return 0;
    if (!(row->flags & KN_IF_TWO))
        return a + row->bytes;
    return (a > b ? a : b) * unit + row->bytes;
}

enum { WAIT_UNUSED = 0x3000, DYNAMIC_STACK = 1 << 11 };

static void
check_inst(const struct kn_program *p, struct kn_check_result *out, uint32_t n)
{
    const struct kn_object_kernel *k = p->kernel;
    const struct kn_inst *i = &p->inst[n];

    if (i->op == KN_I_s_waitcnt && i->raw[0] & WAIT_UNUSED)
        add(p, out, (struct fact){ n, "bits 13:12 are set (0x%x), which no "
            "counter of this target has: a larger count is not waited for",
            i->raw[0] & 0xffff, 0 });
    if (k->lds && reach(i) > k->lds)
        add(p, out, (struct fact){ n, "reaches LDS byte %u at least, the "
            "kernel has %u", reach(i) - 1, k->lds });
    if (kn_isa[i->op].mem == KN_M_SCRATCH && !k->scratch &&
        !(k->properties & DYNAMIC_STACK))
        add(p, out, (struct fact){ n, "uses scratch, the kernel declares none",
                                   0, 0 });
}

kiln_status
kn_check_facts(const struct kn_program *p, struct kn_check_result *out)
{
    uint32_t most = kn_targets[p->target].lds;

    if (p->kernel->lds > most)
        add(p, out, (struct fact){ p->entry, "the kernel declares %u bytes of "
            "LDS, the target has %u", p->kernel->lds, most });
    for (uint32_t n = 0; n < p->n; n++)
        check_inst(p, out, n);
    return KILN_OK;
}
