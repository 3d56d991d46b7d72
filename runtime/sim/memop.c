/* memop.c - resolves the fields of memory instructions. */
#include "memop.h"

#include <string.h>

/* Spelling of each atomic after its family prefix, without _rtn and _x2. */
static const struct {
    const char *vmem, *ds;
    uint8_t kind;
} atomics[] = {
    { "swap", "wrxchg", KN_AT_SWAP },
    { "cmpswap", "cmpst", KN_AT_CMPSWAP },
    { "add", "add", KN_AT_ADD },
    { "sub", "sub", KN_AT_SUB },
    { NULL, "rsub", KN_AT_RSUB },
    { "smin", NULL, KN_AT_SMIN },
    { "umin", NULL, KN_AT_UMIN },
    { "smax", NULL, KN_AT_SMAX },
    { "umax", NULL, KN_AT_UMAX },
    { "and", "and", KN_AT_AND },
    { "or", "or", KN_AT_OR },
    { "xor", "xor", KN_AT_XOR },
    { "inc", "inc", KN_AT_INC },
    { "dec", "dec", KN_AT_DEC },
    { NULL, "mskor", KN_AT_MSKOR },
    { NULL, "wrap", KN_AT_WRAP },
    { NULL, "min_i", KN_AT_SMIN },
    { NULL, "min_u", KN_AT_UMIN },
    { NULL, "max_i", KN_AT_SMAX },
    { NULL, "max_u", KN_AT_UMAX },
    { "add_f32", "add_f32", KN_AT_ADD_F32 },
    { NULL, "min_f32", KN_AT_MIN_F32 },
    { NULL, "max_f32", KN_AT_MAX_F32 },
    { NULL, "cmpst_f32", KN_AT_CMPSWAP_F32 },
    { "add_f64", "add_f64", KN_AT_ADD_F64 },
    { "min_f64", "min_f64", KN_AT_MIN_F64 },
    { "max_f64", "max_f64", KN_AT_MAX_F64 },
    { NULL, "cmpst_f64", KN_AT_CMPSWAP_F64 },
    { "pk_add_f16", "pk_add_f16", KN_AT_PK_ADD_F16 },
    { "pk_add_bf16", "pk_add_bf16", KN_AT_PK_ADD_BF16 },
};

/* ds_add_rtn_u32 -> "add_u32"; the type of integer operations is dropped
 * where the size says enough. */
static void
ds_stem(const char *mnemonic, char *out, size_t n)
{
    static const char *const types[] = { "_u32", "_u64", "_b32", "_b64" };
    const char *rtn = strstr(mnemonic, "_rtn");
    size_t len = rtn ? (size_t)(rtn - mnemonic) : strlen(mnemonic);

    out[0] = 0;
    if (strlen(mnemonic) >= n || len <= 3)
        return;
    memcpy(out, mnemonic + 3, len - 3);
    strcpy(out + len - 3, rtn ? rtn + 4 : "");
    for (size_t k = 0; k < 4; k++) {
        char *t = strstr(out, types[k]);
        if (t)
            *t = 0;
    }
    if (!strncmp(out, "min", 3) || !strncmp(out, "max", 3)) {
        if (!out[3])         /* unsigned: the type was cut off */
            strcpy(out + 3, "_u");
        else if (out[4] == 'i')
            out[5] = 0;
    }
}

static uint8_t
atomic_kind(const char *mnemonic, bool ds)
{
    char stem[32];

    if (ds) {
        ds_stem(mnemonic, stem, sizeof stem);
    } else {
        const char *at = strstr(mnemonic, "atomic_");
        char *x2;

        if (!at || strlen(at + 7) >= sizeof stem)
            return KN_AT_NONE;
        strcpy(stem, at + 7);
        x2 = strstr(stem, "_x2");
        if (x2)
            *x2 = 0;
    }
    for (size_t k = 0; k < sizeof atomics / sizeof atomics[0]; k++) {
        const char *name = ds ? atomics[k].ds : atomics[k].vmem;
        if (name && !strcmp(name, stem))
            return atomics[k].kind;
    }
    return KN_AT_NONE;
}

static unsigned
atomic_operands(uint8_t kind)
{
    return kind == KN_AT_CMPSWAP || kind == KN_AT_CMPSWAP_F32 ||
                   kind == KN_AT_CMPSWAP_F64 || kind == KN_AT_MSKOR ||
                   kind == KN_AT_WRAP
               ? 2 : 1;
}

static bool
has(const char *mnemonic, const char *part)
{
    return strstr(mnemonic, part) != NULL;
}

/* What the mnemonic says, the same in every family. */
static void
decode_kind(const char *mn, const struct kn_isa_row *row, struct kn_memop *m)
{
    m->mem = row->mem;
    m->bytes = row->bytes;
    m->nreg = (uint8_t)((row->bytes + 3) / 4);
    m->half = has(mn, "_d16_hi") ? KN_HALF_HI
              : has(mn, "_d16") ? KN_HALF_LO : KN_HALF_NONE;
    m->sext = has(mn, "sbyte") || has(mn, "sshort") || has(mn, "read_i");
    if (has(mn, "_format_") || has(mn, "_gws_") || !row->bytes)
        m->kind = KN_MO_UNKNOWN;
    else if (has(mn, "time"))
        m->kind = KN_MO_TIME;
    else if (has(mn, "_load_lds_"))
        m->kind = KN_MO_DMA;
    else if (has(mn, "_load_"))
        m->kind = KN_MO_LOAD;
    else if (has(mn, "_store_"))
        m->kind = KN_MO_STORE;
    else if (has(mn, "_atomic_"))
        m->kind = KN_MO_ATOMIC;
    if (m->kind == KN_MO_ATOMIC) {
        m->atomic = atomic_kind(mn, false);
        m->ndata = (uint8_t)(m->nreg * atomic_operands(m->atomic));
        if (!m->atomic)
            m->kind = KN_MO_UNKNOWN;
    } else if (m->kind == KN_MO_STORE) {
        m->ndata = m->nreg;
    } else if (m->kind == KN_MO_LOAD || m->kind == KN_MO_TIME) {
        m->ndst = m->nreg;
    }
}

static uint16_t
vgpr(unsigned reg, bool acc, unsigned accum_offset)
{
    return (uint16_t)(reg + (acc ? accum_offset : 0));
}

static const char *
decode_buffer(const struct kn_inst *i, unsigned acc, struct kn_memop *m)
{
    uint32_t lo = i->raw[0], hi = i->raw[1];
    uint16_t data = vgpr(hi >> 8 & 255, hi >> 23 & 1, acc);
    unsigned soffset = hi >> 24;

    m->offset = lo & 0xfff;
    m->offen = lo >> 12 & 1;
    m->idxen = lo >> 13 & 1;
    m->rtn = lo >> 14 & 1;
    m->naddr = (uint8_t)(m->offen + m->idxen);
    m->addr = m->naddr ? (uint16_t)(hi & 255) : KN_NOREG;
    m->sbase = (uint16_t)((hi >> 16 & 31) * 4);
    if (lo >> 16 & 1) {
        if (m->kind != KN_MO_LOAD || m->half || m->bytes == 8)
            return "lds";
        m->kind = KN_MO_DMA;
        m->ndst = 0;
    }
    if (soffset < 128) {
        m->soffset = (uint16_t)soffset;
    } else if (soffset <= 208) { /* inline integer, CDNA3 ISA table 10 */
        m->soffset_imm = soffset <= 192 ? soffset - 128 : 192 - soffset;
    } else {
        return "soffset operand";
    }
    m->dst = m->data = data;
    return NULL;
}

static const char *
decode_flat(const struct kn_inst *i, unsigned acc, struct kn_memop *m)
{
    uint32_t lo = i->raw[0], hi = i->raw[1];
    bool agpr = hi >> 23 & 1;
    unsigned saddr = hi >> 16 & 127;

    m->rtn = lo >> 16 & 1;
    m->offset = m->mem == KN_M_FLAT ? (int32_t)(lo & 0xfff)
                                    : (int32_t)(lo << 19) >> 19;
    if (m->mem != KN_M_FLAT && saddr != 127)
        m->sbase = (uint16_t)saddr;
    m->addr = (uint16_t)(hi & 255);
    if (m->mem == KN_M_SCRATCH) {
        m->naddr = lo >> 13 & 1;     /* sve */
        if (!m->naddr)
            m->addr = KN_NOREG;
    } else {
        m->naddr = m->sbase == KN_NOREG ? 2 : 1;
    }
    m->data = vgpr(hi >> 8 & 255, agpr, acc);
    m->dst = vgpr(hi >> 24, agpr, acc);
    return NULL;
}

/* LDS instructions that are neither plain loads, stores nor atomics. */
static bool
decode_ds_special(const char *mn, struct kn_memop *m)
{
    static const struct {
        const char *name;
        uint8_t kind, element;
    } special[] = {
        { "ds_swizzle_b32", KN_MO_SWIZZLE, 0 },
        { "ds_permute_b32", KN_MO_PERMUTE, 0 },
        { "ds_bpermute_b32", KN_MO_BPERMUTE, 0 },
        { "ds_read_b64_tr_b16", KN_MO_TRANSPOSE, 16 },
        { "ds_read_b64_tr_b8", KN_MO_TRANSPOSE, 8 },
        { "ds_read_b64_tr_b4", KN_MO_TRANSPOSE, 4 },
        { "ds_read_b96_tr_b6", KN_MO_TRANSPOSE, 6 },
    };

    for (size_t k = 0; k < sizeof special / sizeof special[0]; k++)
        if (!strcmp(mn, special[k].name)) {
            m->kind = special[k].kind;
            m->element = special[k].element;
            m->ndst = m->nreg;
            m->ndata = m->kind == KN_MO_PERMUTE || m->kind == KN_MO_BPERMUTE;
            return true;
        }
    return false;
}

static void
decode_ds_kind(const char *mn, struct kn_memop *m)
{
    if (decode_ds_special(mn, m))
        return;
    m->two = has(mn, "read2") || has(mn, "write2");
    m->rtn = has(mn, "_rtn");
    if (!strncmp(mn, "ds_read", 7)) {
        m->kind = KN_MO_LOAD;
        m->ndst = (uint8_t)(m->nreg << m->two);
    } else if (!strncmp(mn, "ds_write", 8)) {
        m->kind = KN_MO_STORE;
        m->ndata = m->nreg;
    } else {
        m->atomic = atomic_kind(mn, true);
        m->kind = m->atomic ? KN_MO_ATOMIC : KN_MO_UNKNOWN;
        m->ndata = m->nreg;
        m->ndst = m->rtn ? m->nreg : 0;
    }
}

static const char *
decode_ds(const struct kn_inst *i, unsigned acc, struct kn_memop *m)
{
    const char *mn = kn_isa[i->op].mnemonic;
    uint32_t lo = i->raw[0], hi = i->raw[1];
    bool agpr = lo >> 25 & 1;

    decode_ds_kind(mn, m);
    if (lo >> 16 & 1)
        return "gds";
    m->offset = lo & 0xffff;
    m->naddr = m->kind != KN_MO_SWIZZLE;
    m->addr = (uint16_t)(hi & 255);
    m->data = vgpr(hi >> 8 & 255, agpr, acc);
    m->data1 = vgpr(hi >> 16 & 255, agpr, acc);
    m->dst = vgpr(hi >> 24, agpr, acc);
    if (m->kind == KN_MO_SWIZZLE) { /* its source is the address field */
        m->data = vgpr(hi & 255, agpr, acc);
        m->addr = KN_NOREG;
        m->ndata = 1;
    }
    if (m->two) {
        int unit = m->bytes * (has(mn, "st64") ? 64 : 1);
        m->offset = (int32_t)(lo & 255) * unit;
        m->offset1 = (int32_t)(lo >> 8 & 255) * unit;
    }
    if (m->two ? m->kind == KN_MO_LOAD
               : m->kind != KN_MO_ATOMIC || atomic_operands(m->atomic) == 1)
        m->data1 = KN_NOREG;
    return NULL;
}

static const char *
decode_smem(const struct kn_inst *i, struct kn_memop *m)
{
    uint32_t lo = i->raw[0], hi = i->raw[1];
    bool imm = lo >> 17 & 1, soffset = lo >> 14 & 1;

    if (has(kn_isa[i->op].mnemonic, "scratch"))
        return "s_scratch access";
    m->sbase = (uint16_t)((lo & 63) * 2);
    m->dst = m->data = (uint16_t)(lo >> 6 & 127);
    m->rtn = lo >> 16 & 1;
    if (imm)
        m->offset = (int32_t)(hi << 11) >> 11;
    if (soffset)
        m->soffset = (uint16_t)(hi >> 25);
    else if (!imm)
        m->soffset = (uint16_t)(hi & 127);
    return NULL;
}

/* Returning atomics of the vector memory write their old value. */
static void
finish(struct kn_memop *m)
{
    if (m->mem != KN_M_DS && m->kind == KN_MO_ATOMIC)
        m->ndst = m->rtn ? m->nreg : 0;
}

bool
kn_memop_decode(const struct kn_inst *i, unsigned accum_offset,
                struct kn_memop *m, const char **what)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    *m = (struct kn_memop){ 0 };
    m->dst = m->data = m->data1 = m->addr = KN_NOREG;
    m->sbase = m->soffset = KN_NOREG;
    *what = NULL;
    if (!row->bytes && has(row->mnemonic, "_gws_"))
        *what = "global wave sync";
    decode_kind(row->mnemonic, row, m);
    if (!row->bytes && !*what) {
        m->kind = KN_MO_CACHE;
        return true;
    }
    switch (row->mem) {
    case KN_M_BUFFER: *what = decode_buffer(i, accum_offset, m); break;
    case KN_M_DS: *what = decode_ds(i, accum_offset, m); break;
    case KN_M_SMEM: *what = decode_smem(i, m); break;
    default: *what = decode_flat(i, accum_offset, m); break;
    }
    if (!*what && m->kind == KN_MO_UNKNOWN)
        *what = "this kind of memory access";
    finish(m);
    return !*what;
}
