/* asm_select_mem.c - memory and LDS operations. */
#include "asm_select.h"

/* Word 3 of a raw buffer resource (CDNA3 ISA 9.1.8: 32-bit data format). */
enum { SRD_WORD3 = 0x00020000 };
/* What the offset field of an LDS and of a buffer instruction holds. */
enum { LDS_NEAR = 0xffff, BUFFER_NEAR = 0xfff };

uint32_t
kn_asm_slot(const struct kn_fn *f, kn_ref r)
{
    uint32_t at = 0;

    for (uint32_t l = 0; l <= KN_REF_LDS(r); l++) {
        uint32_t n = l < KN_REF_LDS(r) ? f->lds[l].slots : KN_REF_SLOT(r);

        at += n * ((kn_geometry(f, &f->lds[l]).bytes + 15) & ~15u);
    }
    return at;
}

void
select_rsrc(struct select *s)
{
    struct kn_asm_opnd base = kn_asm_arg(s, 0), n = kn_asm_arg(s, 1);
    struct kn_asm_opnd d = kn_asm_dst(s);

    if (base.kind != KN_ASM_REG) {
        kn_asm_lack(s, "resources at a constant address");
        return;
    }
    if (base.v != d.v)
        ADD(s, s_mov_b32, 1, kn_begin(kn_part(d, 0, 1)), kn_part(base, 0, 1));
    ADD(s, s_and_b32, 1, kn_part(d, 1, 1), kn_part(base, 1, 1),
        kn_imm(0xffff));
    ADD(s, s_mov_b32, 1, kn_part(d, 2, 1), n);
    ADD(s, s_mov_b32, 1, kn_part(d, 3, 1), kn_imm(SRD_WORD3));
}

/* Bytes a memory operation moves for value v: a narrow integer element is
 * widened in the register. */
static uint32_t
bytes_of(const struct select *s, kn_ref v)
{
    const struct kn_type *t = &kn_val(s->f, v)->type;
    int32_t e = s->i->attr[KN_A_elem];

    if (t->elem == KN_T_i32 && t->n == 1 && (e == KN_T_i8 || e == KN_T_i16))
        return kn_elems[e].bits / 8;
    return kn_elems[t->elem].bits * t->n / 8u;
}

/* Instructions by bytes: 1 2 4 8 12 16. */
static uint16_t
by_size(const uint16_t isa[6], uint32_t bytes)
{
    return bytes == 1 ? isa[0] : bytes == 2 ? isa[1] : bytes == 4 ? isa[2]
         : bytes == 8 ? isa[3] : bytes == 12 ? isa[4] : bytes == 16 ? isa[5]
         : KN_I_unknown;
}

static const char *
buffer_mods(struct select *s)
{
    uint32_t off = (uint32_t)s->i->attr[KN_A_offset];

    if (off > BUFFER_NEAR)
        kn_asm_lack(s, "buffer offsets beyond 4095");
    return kn_asm_mods(s, off ? " offen offset:%u%s%s" : " offen%.0u%s%s", off,
                       s->i->attr[KN_A_nt] ? " nt" : "",
                       s->i->attr[KN_A_coh] ? " sc1" : "");
}

void
select_ldg(struct select *s)
{
    static const uint16_t loads[] = {
        KN_I_buffer_load_ubyte, KN_I_buffer_load_ushort, KN_I_buffer_load_dword,
        KN_I_buffer_load_dwordx2, KN_I_buffer_load_dwordx3,
        KN_I_buffer_load_dwordx4,
    };
    struct kn_asm_opnd v = kn_asm_vector(s, kn_asm_arg(s, 1));
    struct kn_asm_opnd o[] = { kn_asm_dst(s), v, kn_asm_arg(s, 0), kn_imm(0) };
    uint16_t isa = by_size(loads, bytes_of(s, s->i->dst));

    if (!isa || kn_asm_cls(s, o[0]) != KN_ASM_V)
        kn_asm_lack(s, "loads of this size");
    kn_asm_add(s, isa, 1, o, 4)->mods = buffer_mods(s);
}

void
select_stg(struct select *s)
{
    static const uint16_t stores[] = {
        KN_I_buffer_store_byte, KN_I_buffer_store_short,
        KN_I_buffer_store_dword, KN_I_buffer_store_dwordx2,
        KN_I_buffer_store_dwordx3, KN_I_buffer_store_dwordx4,
    };
    struct kn_asm_opnd v = kn_asm_vector(s, kn_asm_arg(s, 1));
    struct kn_asm_opnd x = kn_asm_arg(s, 2);
    uint32_t bytes = KN_REF_TAG(s->i->arg[2]) == KN_R_VAL
                   ? bytes_of(s, s->i->arg[2]) : 0;
    uint16_t isa = by_size(stores, bytes);

    if (!isa) {
        kn_asm_lack(s, "stores of this size");
        return;
    }
    struct kn_asm_opnd o[] = { kn_asm_vector(s, x), v, kn_asm_arg(s, 0),
                               kn_imm(0) };

    kn_asm_add(s, isa, 0, o, 4)->mods = buffer_mods(s);
}

/* Where no buffer atomic adds bf16: the lanes within the buffer, by its address,
 * which the resource's first words are. Every lane is active before and after. */
static void
masked_atomic(struct select *s)
{
    struct kn_asm_opnd v = kn_asm_vector(s, kn_asm_arg(s, 1)),
                       x = kn_asm_vector(s, kn_asm_arg(s, 2)),
                       r = kn_asm_arg(s, 0),
                       in = kn_asm_new(s->a, KN_ASM_S, 2),
                       was = kn_asm_new(s->a, KN_ASM_S, 2);
    uint32_t off = (uint32_t)s->i->attr[KN_A_offset];

    if (off)
        kn_asm_lack(s, "atomics at an offset");
    kn_asm_edge(s);
    VALU(s, v_cmp_lt_u32, kn_begin(in), v, kn_part(r, 2, 1));
    ADD(s, s_and_saveexec_b64, 1, kn_begin(was), in);
    ADD(s, global_atomic_pk_add_bf16, 0, v, x, kn_part(r, 0, 2));
    ADD(s, s_or_saveexec_b64, 1, was, kn_imm(-1));
    kn_asm_edge(s);
}

/* Atomics reach the point where the dies' caches agree without bits that say
 * so (AMDGPUUsage, memory model gfx942). */
void
select_atom(struct select *s)
{
    struct kn_asm_opnd o[] = { kn_asm_vector(s, kn_asm_arg(s, 2)),
                               kn_asm_vector(s, kn_asm_arg(s, 1)),
                               kn_asm_arg(s, 0), kn_imm(0) };
    bool f32 = kn_asm_type(s, s->i->arg[2])->elem == KN_T_f32;

    if (!f32 && !kn_targets[s->f->target].atomic_bf16)
        masked_atomic(s);
    else
        kn_asm_add(s, f32 ? KN_I_buffer_atomic_add_f32
                          : KN_I_buffer_atomic_pk_add_bf16, 0, o, 4)->mods =
            buffer_mods(s);
}

void
select_atmax(struct select *s)
{
    struct kn_asm_opnd o[] = { kn_asm_vector(s, kn_asm_arg(s, 2)),
                               kn_asm_vector(s, kn_asm_arg(s, 1)),
                               kn_asm_arg(s, 0), kn_imm(0) };

    if (s->i->attr[KN_A_elem] != KN_T_i32)
        kn_asm_lack(s, "atomics of 64 bits");
    kn_asm_add(s, KN_I_buffer_atomic_umax, 0, o, 4)->mods = buffer_mods(s);
}

/* The count before, in the register of what it wraps at. */
void
select_arrive(struct select *s)
{
    struct kn_asm_opnd d = kn_asm_dst(s);
    struct kn_asm_opnd o[] = { d, kn_asm_vector(s, kn_asm_arg(s, 1)),
                               kn_asm_arg(s, 0), kn_imm(0) };

    kn_asm_copy(s, d, kn_asm_arg(s, 2));
    o[0].fresh = 0;
    kn_asm_add(s, KN_I_buffer_atomic_inc, 1, o, 4)->mods =
        kn_asm_mods(s, "%s sc0", buffer_mods(s));
}

/* The destination in LDS is a scalar in M0. */
void
select_dma(struct select *s)
{
    uint32_t base = kn_asm_slot(s->f, s->i->arg[0]) +
                    (uint32_t)s->i->attr[KN_A_offset];
    struct kn_asm_opnd m0 = { .kind = KN_ASM_M0, .n = 1 };
    struct kn_asm_opnd u = kn_asm_arg(s, 1);
    struct kn_asm_opnd v = kn_asm_vector(s, kn_asm_arg(s, 3));
    struct kn_asm_opnd o[] = { v, kn_asm_arg(s, 2), kn_imm(0) };
    uint16_t isa = s->i->attr[KN_A_bytes] == 16 ? KN_I_buffer_load_dwordx4
                 : s->i->attr[KN_A_bytes] == 4 ? KN_I_buffer_load_dword : 0;

    if (!isa)
        kn_asm_lack(s, "copies of this size");
    if (u.kind == KN_ASM_IMM)
        ADD(s, s_mov_b32, 1, m0, kn_imm((int32_t)base + u.v));
    else
        ADD(s, s_add_u32, 1, m0, u, kn_imm((int32_t)base));
    kn_asm_add(s, isa, 0, o, 3)->mods =
        s->i->attr[KN_A_nt] ? " offen nt lds" : " offen lds";
}

/* The byte of an LDS access beyond its address (asm_tidy.c keeps it near). */
static uint32_t
lds_offset(struct select *s)
{
    uint32_t all = kn_asm_slot(s->f, s->i->arg[0]) +
                   (uint32_t)s->i->attr[KN_A_offset];

    if (all > LDS_NEAR)
        kn_asm_lack(s, "LDS addresses that change in a loop, beyond 64 KB");
    return all;
}

void
select_lds_ld(struct select *s)
{
    static const uint16_t loads[] = {
        KN_I_ds_read_u8, KN_I_ds_read_u16, KN_I_ds_read_b32, KN_I_ds_read_b64,
        KN_I_ds_read_b96, KN_I_ds_read_b128,
    };
    uint32_t offset = lds_offset(s), tr = (uint32_t)s->i->attr[KN_A_tr];
    struct kn_asm_opnd v = kn_asm_vector(s, kn_asm_arg(s, 1));
    struct kn_asm_opnd o[] = { kn_asm_dst(s), v };
    uint16_t isa = tr == 16 ? KN_I_ds_read_b64_tr_b16
                 : tr ? KN_I_ds_read_b64_tr_b8
                 : by_size(loads, bytes_of(s, s->i->dst));

    if (!isa || kn_asm_cls(s, o[0]) != KN_ASM_V)
        kn_asm_lack(s, "LDS reads of this size");
    o[0].fresh = o[0].sub == 0;
    kn_asm_add(s, isa, 1, o, 2)->mods =
        offset ? kn_asm_mods(s, " offset:%u", offset) : NULL;
}

void
select_lds_st(struct select *s)
{
    static const uint16_t stores[] = {
        KN_I_ds_write_b8, KN_I_ds_write_b16, KN_I_ds_write_b32,
        KN_I_ds_write_b64, KN_I_ds_write_b96, KN_I_ds_write_b128,
    };
    uint32_t offset = lds_offset(s);
    struct kn_asm_opnd v = kn_asm_vector(s, kn_asm_arg(s, 1));
    struct kn_asm_opnd x = kn_asm_arg(s, 2);
    uint16_t isa = KN_REF_TAG(s->i->arg[2]) == KN_R_VAL
                 ? by_size(stores, bytes_of(s, s->i->arg[2])) : KN_I_ds_write_b32;
    struct kn_asm_opnd o[] = { v, kn_asm_vector(s, x) };

    if (!isa)
        kn_asm_lack(s, "LDS writes of this size");
    kn_asm_add(s, isa, 0, o, 2)->mods =
        offset ? kn_asm_mods(s, " offset:%u", offset) : NULL;
}

/* A load the same for all lanes; the offset is a scalar or a constant. */
void
select_ldu(struct select *s)
{
    struct kn_asm_opnd d = kn_asm_dst(s), at = kn_asm_arg(s, 1);
    struct kn_asm_opnd base = kn_asm_arg(s, 0);
    uint16_t isa = d.n == 1 ? KN_I_s_load_dword
                 : d.n == 2 ? KN_I_s_load_dwordx2
                 : d.n == 4 ? KN_I_s_load_dwordx4 : KN_I_unknown;

    if (!isa || kn_asm_cls(s, d) != KN_ASM_S || base.kind != KN_ASM_REG) {
        kn_asm_lack(s, "uniform loads of this size");
        return;
    }
    if (at.kind == KN_ASM_IMM && at.v >= 0 && at.v < 1 << 20) {
        struct kn_asm_opnd o[] = { d, base };

        kn_asm_add(s, isa, 1, o, 2)->mods = kn_asm_mods(s, ", 0x%x",
                                                        (unsigned)at.v);
    } else {
        struct kn_asm_opnd o[] = { d, base, kn_asm_scalar(s, at) };

        kn_asm_add(s, isa, 1, o, 3);
    }
}
