/* launchplan.c - from gen's plan to the public one: kernarg bytes with the
 * places of the addresses, and the alignment each address must have. */
#include "context.h"

#include <string.h>

#define NO_EXTENT ((size_t)-1) /* moe's own: kn_extents knows nothing of it */

static const struct {
    size_t public, own, extent;
    const char *name;
} operands[KILN_NOPERANDS] = {
    [KILN_ARG_A] = { offsetof(kiln_arguments, a),
                     offsetof(struct kn_operands, a),
                     offsetof(struct kn_extents, a), "a" },
    [KILN_ARG_B] = { offsetof(kiln_arguments, b),
                     offsetof(struct kn_operands, b),
                     offsetof(struct kn_extents, b), "b" },
    [KILN_ARG_C] = { offsetof(kiln_arguments, c),
                     offsetof(struct kn_operands, c),
                     offsetof(struct kn_extents, c), "c" },
    [KILN_ARG_SA] = { offsetof(kiln_arguments, sa),
                      offsetof(struct kn_operands, sa),
                      offsetof(struct kn_extents, sa), "sa" },
    [KILN_ARG_SB] = { offsetof(kiln_arguments, sb),
                      offsetof(struct kn_operands, sb),
                      offsetof(struct kn_extents, sb), "sb" },
    [KILN_ARG_BIAS] = { offsetof(kiln_arguments, bias),
                        offsetof(struct kn_operands, bias),
                        offsetof(struct kn_extents, bias), "bias" },
    [KILN_ARG_OFFSETS] = { offsetof(kiln_arguments, offsets),
                           offsetof(struct kn_operands, offs),
                           offsetof(struct kn_extents, offs), "offsets" },
    [KILN_ARG_TIGHT] = { offsetof(kiln_arguments, tight),
                         offsetof(struct kn_operands, tight),
                         offsetof(struct kn_extents, tight), "tight" },
    [KILN_ARG_EXPERTS] = { offsetof(kiln_arguments, experts),
                           offsetof(struct kn_operands, experts), NO_EXTENT,
                           "experts" },
    [KILN_ARG_PADDED] = { offsetof(kiln_arguments, padded),
                          offsetof(struct kn_operands, padded), NO_EXTENT,
                          "padded" },
    [KILN_ARG_WEIGHTS] = { offsetof(kiln_arguments, weights),
                           offsetof(struct kn_operands, weights), NO_EXTENT,
                           "weights" },
    [KILN_ARG_WORKSPACE] = { offsetof(kiln_arguments, workspace),
                             offsetof(struct kn_operands, workspace),
                             NO_EXTENT, "workspace" },
#define X(i) [KILN_ARG_X##i] = { offsetof(kiln_arguments, x##i),               \
                                 offsetof(struct kn_operands, x[i]),           \
                                 offsetof(struct kn_extents, x[i]), "x" #i }
    X(0), X(1), X(2), X(3),
#undef X
    [KILN_ARG_SC] = { offsetof(kiln_arguments, sc),
                      offsetof(struct kn_operands, sc),
                      offsetof(struct kn_extents, sc), "sc" },
    [KILN_ARG_AMAX] = { offsetof(kiln_arguments, amax),
                        offsetof(struct kn_operands, amax),
                        offsetof(struct kn_extents, amax), "amax" },
    [KILN_ARG_OUT2] = { offsetof(kiln_arguments, out2),
                        offsetof(struct kn_operands, out2),
                        offsetof(struct kn_extents, out2), "out2" },
    [KILN_ARG_SC2] = { offsetof(kiln_arguments, sc2),
                       offsetof(struct kn_operands, sc2),
                       offsetof(struct kn_extents, sc2), "sc2" },
};

static uint64_t
u64_at(const void *p, size_t offset)
{
    uint64_t v;

    memcpy(&v, (const char *)p + offset, sizeof v);
    return v;
}

/* An address no argument can equal by chance, aligned to anything. */
static uint64_t
marker(int operand)
{
    return 0x7e57000000000000u + ((uint64_t)operand + 1) * 0x100000;
}

/* Whether a launch of the problem reads or writes the operand. */
static bool
is_used(const kiln_problem *p, int operand)
{
    const struct kn_extents e = kn_extents_of(p);

    if (operand == KILN_ARG_WORKSPACE ||     /* where a kernel takes one */
        (kn_family_of(p)->routed && operand == KILN_ARG_OFFSETS))
        return true;
    if (operands[operand].extent == NO_EXTENT)
        return kn_family_of(p)->routed && (operand != KILN_ARG_WEIGHTS ||
                                           p->stage == KILN_MOE_DOWN ||
                                           p->weigh == KILN_WEIGHT_BEFORE);
    return u64_at(&e, operands[operand].extent) != 0;
}

/* Where the markers went; an operand the problem has not is zero for good. */
static void
find_pointers(const kiln_kernel *k, const kiln_problem *p,
              const uint8_t *marked, kiln_plan *plan)
{
    for (uint32_t at = 0; at + 8 <= plan->kernarg_size; at += 8) {
        for (int i = 0; i < KILN_NOPERANDS; i++) {
            if (u64_at(marked, at) != marker(i))
                continue;
            memset(plan->kernarg + at, 0, 8);
            if (is_used(p, i))
                plan->pointer[plan->npointers++] = (kiln_pointer){
                    (uint16_t)at, (uint8_t)i, kn_operand_align(&k->problem,
                                                       &k->config.domain,
                                                       (kiln_operand)i) };
        }
    }
}

kiln_status
kn_launch_plan(struct kn_ctx *c, const kiln_kernel *k, const kiln_problem *p,
               kiln_plan *plan)
{
    struct kn_operands marked = { 0 };
    struct kn_plan own;

    if (!kn_same_kernel_part(&k->problem, p))
        return kn_fail(c, KILN_BAD_INPUT, "the problem is of another kind "
                       "(types, layout, scales, epilogue or target) than the "
                       "kernel %s", k->name);
    for (int i = 0; i < KILN_NOPERANDS; i++) {
        uint64_t v = marker(i);

        memcpy((char *)&marked + operands[i].own, &v, sizeof v);
    }
    KN_TRY(kn_plan_launch(c, p, &k->config, &marked, &own));
    if (k->config.abi == KN_ABI_AITER)
        return kn_fail(c, KILN_UNSUPPORTED, "the kernel %s takes aiter's "
                       "arguments (abi=aiter): aiter's loader launches it",
                       k->name);
    memset(plan, 0, sizeof *plan);
    plan->size = sizeof *plan;
    memcpy(plan->grid, own.grid, sizeof plan->grid);
    memcpy(plan->block, own.block, sizeof plan->block);
    if (!p->m || !p->n)
        plan->grid[0] = 0;
    plan->lds = k->facts.lds;
    plan->workspace = own.workspace;
    if (kn_family_of(p)->ragged) {
        plan->offsets_at = (own.workspace + 15) / 16 * 16;
        plan->offsets_size = kn_extents_of(p).offs + kn_extents_of(p).tight;
        plan->workspace = plan->offsets_at + plan->offsets_size;
    }
    if (kn_family_of(p)->ragged == 'm' && !k->config.cus &&
        !k->config.split_after && !(p->group_flags & KILN_TAIL_ZERO))
        plan->tile_row = own.grid[0] / (uint32_t)(p->m / k->config.bm + p->groups);
    plan->kernarg_size = own.kernarg_size;
    plan->cus_at = own.cus_at;
    plan->zeroed = p->amax ? 1u << KILN_ARG_AMAX : 0;
    memcpy(plan->kernarg, own.kernarg, own.kernarg_size);
    find_pointers(k, p, own.kernarg, plan);
    return KILN_OK;
}

kiln_status
kn_fill_kernarg(struct kn_ctx *c, const kiln_plan *plan,
                const kiln_arguments *args,
                uint8_t kernarg[sizeof plan->kernarg])
{
    memcpy(kernarg, plan->kernarg, sizeof plan->kernarg);
    if (plan->cus_at && args->max_cus && args->max_cus < plan->grid[0])
        memcpy(kernarg + plan->cus_at, &args->max_cus, 4);
    for (uint32_t i = 0; i < plan->npointers; i++) {
        const kiln_pointer *q = &plan->pointer[i];
        uint64_t v = u64_at(args, operands[q->operand].public);

        if (!v)
            return kn_fail(c, KILN_BAD_INPUT, "the kernel needs '%s', its "
                           "address is NULL", operands[q->operand].name);
        if (v % q->align)
            return kn_fail(c, KILN_BAD_INPUT, "the address of '%s' must be a "
                           "multiple of %u for this kernel",
                           operands[q->operand].name, q->align);
        memcpy(kernarg + q->offset, &v, sizeof v);
    }
    return KILN_OK;
}

uint32_t
kn_arguments_align(const kiln_arguments *args)
{
    uint64_t all = 256;

    for (int i = 0; i < KILN_NOPERANDS; i++)
        all |= u64_at(args, operands[i].public);
    return (uint32_t)(all & -all);
}
