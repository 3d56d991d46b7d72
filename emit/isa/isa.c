/* isa.c - the instruction table and questions about single instructions. */
#include "isa.h"

#include <string.h>

#define KN_C_VM_LGKM (KN_C_VM | KN_C_LGKM)

const struct kn_isa_row kn_isa[KN_NISA] = {
    [KN_I_unknown] = { .mnemonic = "unknown", .unit = KN_U_INTERNAL,
                       .sig = "=" },
#define X(id, u, c, m, b, s, p942, p950, f)                                   \
    [KN_I_##id] = { .mnemonic = #id, .unit = KN_U_##u, .counter = KN_C_##c,   \
                    .mem = KN_M_##m, .bytes = b,                              \
                    .store = ((f) & KN_IF_STORE) != 0,                        \
                    .atomic = ((f) & KN_IF_ATOMIC) != 0,                      \
                    .passes = { 0, p942, p950 }, .sig = s,                    \
                    .flags = f },
#include "isa.def"
#undef X
};

uint16_t
kn_isa_find(const char *mnemonic)
{
    for (uint16_t i = 1; i < KN_NISA; i++)
        if (!strcmp(kn_isa[i].mnemonic, mnemonic))
            return i;
    return KN_I_unknown;
}

static void
place_operand(struct kn_mem_opnds *m, char letter, int8_t k)
{
    switch (letter) {
    case 'D':
        if (m->data < 0)
            m->data = k;
        else
            m->data1 = k;
        break;
    case 'a': m->addr = k; break;
    case 'R':
    case 'S': m->base = k; break;
    case 'o': m->soffset = k; break;
    }
}

struct kn_mem_opnds
kn_mem_operands(const struct kn_inst *i)
{
    struct kn_mem_opnds m = { -1, -1, -1, -1, -1 };
    const struct kn_isa_row *row = &kn_isa[i->op];
    bool result = false;     /* the first operand is a result, not data */
    int8_t k = 0;

    if (row->mem == KN_M_NONE)
        return m;
    if (kn_isa_returns(row) && i->sc0)
        k = 1;
    if (row->sig[0] == 'D')
        result = strchr(row->sig + 1, 'D');
    for (const char *s = row->sig; *s && k < i->nopnd; s++) {
        if (*s == '=' || (*s == 'D' && i->lds))
            continue;        /* LDS-DMA names no data register */
        if (!(result && k == 0))
            place_operand(&m, *s, k);
        k++;
    }
    return m;
}

const char *const kn_severity_names[KN_NSEVERITIES] = {
#define X(id, text) text,
    KN_SEVERITIES(X)
#undef X
};

/* A pass is 4 cycles. */
uint32_t
kn_mfma_cycles(kiln_target t, const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    uint32_t passes = row->passes[t];

    /* cbsz, blgp: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4 (CDNA4 ISA 7.1). */
    if (row->flags & KN_IF_F8F6F4 && (i->cbsz < 2 || i->blgp < 2))
        passes *= 2;
    return passes * 4;
}

struct kn_mfma_waits
kn_mfma_waits(kiln_target t, const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    uint8_t p = (uint8_t)(kn_mfma_cycles(t, i) / 4);
    struct kn_mfma_waits w = { .same = p == 2 ? 2 : 0 };
    const struct kn_target_info *gpu = &kn_targets[t];

    if (row->flags & KN_IF_F64) {
        bool small = !strncmp(row->mnemonic, "v_mfma_f64_4x4", 14);

        w.read = small ? 6 : (uint8_t)gpu->f64_read;
        w.mem = small ? 9 : (uint8_t)gpu->f64_mem;
        w.cin = small ? 4 : (uint8_t)gpu->f64_cin;
    } else if (strstr(row->sig, "=1")) { /* f32 inputs: not XDL */
        w.read = w.mem = p + 2;
        w.cin = p;
    } else {
        w.read = w.mem = (uint8_t)(p + 3 + (gpu->xdl_late && p != 2));
        w.cin = (uint8_t)(p + 1 + gpu->xdl_late);
        w.war = p - 1;
    }
    return w;
}
