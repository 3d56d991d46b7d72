/* asm_print.c - machine operations as AMDGPU assembly, with the kernel
 * descriptor and metadata of code object version 5 (LLVM AMDGPUUsage). */
#include "asm.h"

static void
print_reg(const struct kn_asm *a, const struct kn_asm_opnd *o,
          struct kn_buf *out)
{
    static const char *const names[][2] = {
        { "s", "s[" }, { "v", "v[" }, { "a", "a[" },
    };
    const struct kn_asm_reg *r = &a->reg[o->v];
    unsigned at = (unsigned)(r->at + o->sub);

    kn_put_number(out, names[r->cls][o->n != 1], at);
    if (o->n != 1) {
        kn_put_number(out, ":", at + o->n - 1u);
        kn_put(out, "]");
    }
}

static void
print_operand(const struct kn_asm *a, const struct kn_asm_opnd *o,
              struct kn_buf *out)
{
    switch (o->kind) {
    case KN_ASM_REG:
        kn_put(out, o->abs ? "|" : "");
        print_reg(a, o, out);
        kn_put(out, o->abs ? "|" : "");
        break;
    case KN_ASM_IMM:
        kn_putf(out, o->v >= -16 && o->v <= 64 ? "%d" : "0x%x", o->v);
        break;
    case KN_ASM_M0:
        kn_put(out, "m0");
        break;
    case KN_ASM_LABEL:
        kn_putf(out, ".L%d", o->v);
        break;
    }
}

static void
print_op(const struct kn_asm *a, const struct kn_asm_op *x, struct kn_buf *out)
{
    if (x->what == KN_ASM_AT) {
        kn_putf(out, ".L%d:\n", x->o[0].v);
        return;
    }
    kn_put(out, "\t");
    kn_put(out, kn_isa[x->isa].mnemonic);
    if (x->isa == KN_I_s_waitcnt && x->vm < 63)
        kn_putf(out, " vmcnt(%u)", x->vm);
    if (x->isa == KN_I_s_waitcnt && x->lgkm < 15)
        kn_putf(out, " lgkmcnt(%u)", x->lgkm);
    for (int k = 0; k < x->nopnd; k++) {
        kn_put(out, k ? ", " : " ");
        print_operand(a, &x->o[k], out);
    }
    if (x->mods)
        kn_put(out, x->mods);
    kn_put(out, "\n");
}

static void
print_code(const struct kn_asm *a, struct kn_buf *out)
{
    const char *name = a->f->name;
    uint32_t last = UINT32_MAX;

    kn_putf(out, "\t.amdgcn_target \"amdgcn-amd-amdhsa--%s\"\n"
            "\t.amdhsa_code_object_version 5\n\t.text\n\t.protected\t%s\n"
            "\t.globl\t%s\n\t.p2align\t8\n\t.type\t%s,@function\n"
            "\t.file\t1 \"wave.tir\"\n%s:\n",
            kiln_target_name(a->f->target), name, name, name, name);
    for (size_t n = 0; n < a->nop; n++) {
        if (a->op[n].what == KN_ASM_INST && a->op[n].from != last) {
            last = a->op[n].from;
            kn_put_number(out, "\t.loc\t1 ", last + 1);
            kn_put(out, " 0\n");
        }
        print_op(a, &a->op[n], out);
    }
    /* what instruction prefetch may reach is s_code_end */
    kn_putf(out, ".Lend:\n\t.size\t%s, .Lend-%s\n\t.p2alignl 6, 3212836864\n"
            "\t.fill 64, 4, 3212836864\n", name, name);
}

/* Bytes of the argument block; with `out`, its entries in the metadata. */
static uint32_t
arguments(const struct kn_fn *f, struct kn_buf *out)
{
    uint32_t at = 0;

    for (size_t n = 1; n < f->nval; n++) {
        const struct kn_val *v = &f->val[n];
        uint32_t size = kn_elems[v->type.elem].bits / 8;
        bool pointer = v->type.elem == KN_T_ptr;

        if (!v->arg)
            continue;
        at = (at + size - 1) / size * size;
        if (out)
            kn_putf(out, "      - %s.name: %s\n        .offset: %u\n"
                    "        .size: %u\n        .value_kind: %s\n",
                    pointer ? ".address_space: global\n        " : "",
                    v->name, at, size, pointer ? "global_buffer" : "by_value");
        at += size;
    }
    return (at + 3) & ~3u;
}

struct sizes {
    uint32_t args, lds, offset, vgprs, agprs, sgprs;
};

static struct sizes
sizes(const struct kn_asm *a)
{
    struct sizes z = { .args = arguments(a->f, NULL),
                       .agprs = a->used[KN_ASM_A],
                       .sgprs = a->used[KN_ASM_S],
                       .vgprs = a->used[KN_ASM_V] };

    if (a->f->nlds)
        z.lds = kn_asm_slot(a->f, KN_REF(KN_R_LDS, (a->f->nlds - 1) << 8 |
                                         a->f->lds[a->f->nlds - 1].slots));
    z.offset = (z.vgprs + 3) & ~3u;
    z.offset = z.offset ? z.offset : 4;
    return z;
}

static void
print_descriptor(const struct kn_asm *a, const struct sizes *z,
                 struct kn_buf *out)
{
    kn_putf(out, "\t.section\t.rodata,\"a\",@progbits\n\t.p2align\t6\n"
            "\t.amdhsa_kernel %s\n"
            "\t\t.amdhsa_group_segment_fixed_size %u\n"
            "\t\t.amdhsa_kernarg_size %u\n"
            "\t\t.amdhsa_user_sgpr_count 2\n"
            "\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            "\t\t.amdhsa_system_sgpr_workgroup_id_x 1\n"
            "\t\t.amdhsa_system_sgpr_workgroup_id_y %d\n"
            "\t\t.amdhsa_system_sgpr_workgroup_id_z %d\n"
            "\t\t.amdhsa_system_vgpr_workitem_id 0\n"
            "\t\t.amdhsa_next_free_vgpr %u\n"
            "\t\t.amdhsa_next_free_sgpr %u\n"
            "\t\t.amdhsa_accum_offset %u\n"
            "\t\t.amdhsa_reserve_vcc 0\n"
            "\t\t.amdhsa_float_denorm_mode_32 3\n"
            "\t\t.amdhsa_float_denorm_mode_16_64 3\n"
            "\t.end_amdhsa_kernel\n\t.text\n",
            a->f->name, z->lds, z->args, kn_counts_along(a->f, 1), kn_counts_along(a->f, 2),
            z->agprs ? z->offset + z->agprs : z->vgprs, z->sgprs, z->offset);
}

static void
print_metadata(const struct kn_asm *a, const struct sizes *z,
               struct kn_buf *out)
{
    const char *name = a->f->name;

    kn_putf(out, "\t.amdgpu_metadata\n---\namdhsa.kernels:\n"
            "  - .agpr_count: %u\n    .args:\n", z->agprs);
    arguments(a->f, out);
    kn_putf(out, "    .group_segment_fixed_size: %u\n"
            "    .kernarg_segment_align: 8\n    .kernarg_segment_size: %u\n"
            "    .max_flat_workgroup_size: %u\n    .name: %s\n"
            "    .private_segment_fixed_size: 0\n    .sgpr_count: %u\n"
            "    .sgpr_spill_count: 0\n    .symbol: %s.kd\n"
            "    .uniform_work_group_size: 1\n"
            "    .uses_dynamic_stack: false\n    .vgpr_count: %u\n"
            "    .vgpr_spill_count: 0\n    .wavefront_size: 64\n"
            "amdhsa.target: amdgcn-amd-amdhsa--%s\n"
            "amdhsa.version:\n  - 1\n  - 2\n...\n\t.end_amdgpu_metadata\n",
            z->lds, z->args, kn_waves(a->f) * 64, name, z->sgprs, name,
            z->agprs ? z->offset + z->agprs : z->vgprs,
            kiln_target_name(a->f->target));
}

void
kn_asm_print(const struct kn_asm *a, struct kn_buf *out)
{
    struct sizes z = sizes(a);

    print_code(a, out);
    print_descriptor(a, &z, out);
    print_metadata(a, &z, out);
}
