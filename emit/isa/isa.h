/* isa.h - the decoded instruction and its static facts. The only ISA decoder:
 * LLVM's disassembler turns bytes into text once at load, decode.c turns the
 * text into struct kn_inst (cross-checked against the raw words), and nobody
 * else parses text. Consumers: simulator, gates, check, info, diff, timing. */
#ifndef KN_ISA_H
#define KN_ISA_H

#include "object.h"

/* Operand of a decoded instruction. Registers are numbered in one space per
 * bank; AGPR a[n] is its own bank so that text and bytes stay comparable. */
enum kn_opnd_kind {
    KN_O_NONE,
    KN_O_VGPR,               /* v[reg .. reg+width-1] */
    KN_O_AGPR,               /* a[reg .. ] */
    KN_O_SGPR,               /* s[reg ..]; 106 vcc, 124 m0, 126 exec, ... */
    KN_O_IMM,                /* inline constant or literal: imm */
    KN_O_SPECIAL,            /* vccz, execz, scc, shared_base, ... in reg */
    KN_O_TARGET              /* branch target: imm = byte address */
};

struct kn_opnd {
    uint8_t kind;
    uint8_t width;           /* dwords; 0 for less than a register */
    uint8_t neg, abs, sext;  /* source modifiers */
    uint8_t sel;             /* SDWA select: 0..3 byte, 4..5 word, 6 dword */
    uint16_t reg;
    int64_t imm;             /* sign-extended integer or IEEE bits */
    bool is_float;           /* the text was a float constant */
};

enum kn_unit {               /* issue category, hw.md: one a slot each */
    KN_U_SALU, KN_U_VALU, KN_U_MFMA, KN_U_VMEM, KN_U_SMEM, KN_U_LDS,
    KN_U_BRANCH, KN_U_INTERNAL, KN_NUNITS
};

enum kn_counter { KN_C_NONE = 0, KN_C_VM = 1, KN_C_LGKM = 2 }; /* bit set */

enum kn_memkind {
    KN_M_NONE, KN_M_SMEM, KN_M_BUFFER, KN_M_GLOBAL, KN_M_FLAT, KN_M_SCRATCH,
    KN_M_DS
};

enum { KN_MAXOPND = 6 };

/* One instruction. dst operands come first (ndst of them), then sources in
 * the assembler's order. */
struct kn_inst {
    uint16_t op;             /* KN_I_*: row of isa.def */
    uint8_t size;            /* bytes: 4, 8, 12 or 16 */
    uint8_t nopnd, ndst;
    uint8_t enc;             /* enum kn_enc: e32 e64 dpp sdwa ... */
    struct kn_opnd o[KN_MAXOPND];
    uint64_t pc;             /* virtual address */
    uint32_t raw[4];
    /* modifiers, zero unless written */
    int32_t offset, offset1; /* memory offset(s), bytes or ds units */
    uint8_t offen, idxen, lds, sc0, sc1, nt, gds, tfe;
    uint8_t clamp, omod;     /* omod: 1 *2, 2 *4, 3 /2 */
    uint8_t cbsz, abid, blgp;
    uint8_t op_sel, op_sel_hi, neg_lo, neg_hi;   /* bit i = operand i */
    uint8_t vm, lgkm, exp;   /* s_waitcnt; 63/15/7 when not named */
    uint16_t dpp_ctrl;
    uint8_t row_mask, bank_mask, bound_ctrl;
    uint8_t dst_sel, dst_unused;
    int32_t next, target;    /* index of fallthrough / branch target, -1 */
};

/* Static facts of a row of isa.def. */
struct kn_isa_row {
    const char *mnemonic;    /* without _e32/_e64/_dpp/_sdwa */
    uint8_t unit, counter, mem;
    uint8_t bytes;           /* memory ops: bytes per lane (or total SMEM) */
    bool store, atomic;
    uint8_t passes942, passes950; /* MFMA: clk/4 of the cheapest format */
    uint32_t flags;          /* KN_IF_* */
};
extern const struct kn_isa_row kn_isa[];

struct kn_program {
    const struct kn_object_kernel *kernel;
    kiln_target target;
    uint32_t n;
    struct kn_inst *inst;    /* in address order */
    uint32_t entry;          /* index of the first executed instruction */
};

/* Decodes a whole kernel once (5,000 instructions in under 10 ms).
 * UNSUPPORTED names the first unknown mnemonic or modifier and its address
 * when `strict`; otherwise unknown ones become KN_I_unknown, and executing
 * one is the error. */
kiln_status kn_decode(struct kn_ctx *c, const struct kn_object *o,
                      const struct kn_object_kernel *k, bool strict,
                      struct kn_program *out);

/* LLVM's text of one instruction, into buf (for listings and reports). */
void kn_inst_text(kiln_target t, const struct kn_inst *i, char *buf, size_t n);

/* MFMA cycles (clk per SIMD) of this instruction on this target, format
 * aware (hw.md 2); 0 if it is no MFMA. */
uint32_t kn_mfma_cycles(kiln_target t, const struct kn_inst *i);

#endif
