/* isa.h - the decoded instruction and its static facts. The only ISA decoder:
 * LLVM's disassembler turns an instruction of each form (decode.h) into text at
 * load, decode.c turns the text into struct kn_inst (cross-checked against the
 * raw words), and nobody else parses text. Consumers: simulator, gates, check,
 * info, diff, timing. */
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
    uint8_t neg, abs;        /* source modifiers */
    bool sext : 1;
    bool is_float : 1;       /* the text was a float constant */
    uint8_t sel;             /* SDWA select: 0..3 byte, 4..5 word, 6 dword */
    uint16_t reg;
    int64_t imm;             /* sign-extended integer or IEEE bits */
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

enum kn_enc {                /* suffix of the mnemonic; NONE: it has none */
    KN_E_NONE, KN_E_E32, KN_E_E64, KN_E_DPP, KN_E_SDWA
};

/* kn_inst.op: KN_I_<mnemonic>, KN_I_unknown = 0. */
enum kn_isa_op {
    KN_I_unknown,
#define X(id, unit, counter, mem, bytes, sig, p942, p950, flags) KN_I_##id,
#include "isa.def"
#undef X
    KN_NISA
};

/* kn_isa_row.flags. Implicit registers only: what the text names is in the
 * operands. */
#define KN_IF_WSCC      (1ull <<  0) /* writes SCC */
#define KN_IF_RSCC      (1ull <<  1) /* reads SCC */
#define KN_IF_RVCC      (1ull <<  2) /* reads VCC */
#define KN_IF_WEXEC     (1ull <<  3) /* writes EXEC */
#define KN_IF_REXEC     (1ull <<  4) /* reads EXEC as data */
#define KN_IF_RM0       (1ull <<  5) /* reads M0 */
#define KN_IF_WM0       (1ull <<  6) /* writes M0 */
#define KN_IF_RMW       (1ull <<  7) /* destinations are sources too */
#define KN_IF_PARTIAL   (1ull <<  8) /* keeps a part of its destination */
#define KN_IF_SDST      (1ull <<  9) /* vector op with an SGPR destination */
#define KN_IF_BRANCH    (1ull << 10) /* conditional branch */
#define KN_IF_JUMP      (1ull << 11) /* unconditional branch or call */
#define KN_IF_END       (1ull << 12) /* ends the wave */
#define KN_IF_TRANS     (1ull << 13) /* transcendental */
#define KN_IF_PK16      (1ull << 14) /* packed 16-bit */
#define KN_IF_PK32      (1ull << 15) /* packed f32 */
#define KN_IF_XLANE     (1ull << 16) /* reads other lanes */
#define KN_IF_LANESEL   (1ull << 17) /* last source is a scalar lane number */
#define KN_IF_PERMLANE  (1ull << 18) /* v_permlane16/32_swap */
#define KN_IF_NOEXEC    (1ull << 19) /* ignores EXEC */
#define KN_IF_MFMA      (1ull << 20) /* matrix op, dense or sparse */
#define KN_IF_SMFMAC    (1ull << 21) /* sparse matrix op */
#define KN_IF_SCALED    (1ull << 22) /* has E8M0 scale operands */
#define KN_IF_F8F6F4    (1ull << 23) /* operand formats in cbsz, blgp */
#define KN_IF_F64       (1ull << 24) /* f64 matrix op */
#define KN_IF_STORE     (1ull << 25) /* memory store */
#define KN_IF_ATOMIC    (1ull << 26) /* memory read-modify-write */
#define KN_IF_SIGNED    (1ull << 27) /* load sign-extends */
#define KN_IF_D16       (1ull << 28) /* data is half a register */
#define KN_IF_D16HI     (1ull << 29) /* the upper half */
#define KN_IF_DMA       (1ull << 30) /* loads to LDS, always */
#define KN_IF_TWO       (1ull << 31) /* two accesses: offset, offset1 */
#define KN_IF_ST64      (1ull << 32) /* offsets count 64 elements */
#define KN_IF_TR        (1ull << 33) /* transposing LDS read */
#define KN_IF_FORMAT    (1ull << 34) /* typed buffer access */
#define KN_IF_950       (1ull << 35) /* gfx950 only */
#define KN_IF_942       (1ull << 36) /* gfx942 only */

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
    uint8_t rmw;             /* bit i: destination operand i is read too */
    uint8_t bitop3;          /* truth table of v_bitop3 */
    uint8_t glc;             /* scalar memory */
    uint8_t fmt;             /* tbuffer: dfmt | nfmt << 4 */
};

/* Static facts of a row of isa.def. */
struct kn_isa_row {
    const char *mnemonic;    /* without _e32/_e64/_dpp/_sdwa */
    uint8_t unit, counter, mem;
    uint8_t bytes;           /* memory ops: bytes per lane (or total SMEM) */
    bool store, atomic;
    uint8_t passes[KILN_NTARGETS]; /* MFMA: clk/4 of the cheapest format */
    const char *sig;         /* operands, see isa.def */
    uint64_t flags;          /* KN_IF_* */
};
extern const struct kn_isa_row kn_isa[KN_NISA];

/* Memory operands of an instruction, as indices into i->o, -1 if absent.
 * data is what a store, an atomic or a permute reads, or else what a load
 * writes; a result besides the data is in o[0] (ndst is 1). */
struct kn_mem_opnds {
    int8_t data, data1;      /* data1: second source of write2, cmpst */
    int8_t addr;             /* VGPR address; the operand may be "off" */
    int8_t base;             /* SGPR base or descriptor; may be "off" */
    int8_t soffset;          /* SGPR or constant byte offset */
};
struct kn_mem_opnds kn_mem_operands(const struct kn_inst *i);

/* With sc0 an atomic of this row has a destination before all the operands
 * of its signature (buffer and scalar ones use the data operand instead). */
static inline bool
kn_isa_returns(const struct kn_isa_row *r)
{
    return r->atomic && (r->mem == KN_M_GLOBAL || r->mem == KN_M_FLAT);
}

/* Row index by mnemonic without suffix, KN_I_unknown if there is none. */
uint16_t kn_isa_find(const char *mnemonic);

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

/* Does it jump to an address in a register, or out of the kernel? */
bool kn_program_calls(const struct kn_program *p);
/* For a decoded kernel that calls: decodes all the code its segment holds,
 * the functions among it. */
kiln_status kn_decode_callees(struct kn_ctx *c, const struct kn_object *o,
                              struct kn_program *p);

/* Index of the instruction at a virtual address, -1 if none starts there. */
int32_t kn_program_at(const struct kn_program *p, uint64_t pc);

/* Registers LLVM's AMDGPU target, all parts of it, once in the process: its
 * registry is not safe against two threads that do it at the same time. */
void kn_llvm_init(void);

/* LLVM's text of one instruction, into buf (for listings and reports).
 * kn_inst_text opens a disassembler each time (0.4 ms): for a listing open
 * one. NULL from kn_disasm_open: this LLVM has no AMDGPU disassembler. */
void *kn_disasm_open(kiln_target t);
void kn_disasm_text(void *d, const struct kn_inst *i, char *buf, size_t n);
void kn_disasm_close(void *d);
void kn_inst_text(kiln_target t, const struct kn_inst *i, char *buf, size_t n);

/* MFMA cycles (clk per SIMD) of this instruction on this target, format
 * aware (hw.md 2); 0 if it is no MFMA. */
uint32_t kn_mfma_cycles(kiln_target t, const struct kn_inst *i);

/* How much a broken rule weighs: advice is printed and counted. */
#define KN_SEVERITIES(X) X(FINDING, "finding") X(ADVICE, "advice")

enum kn_severity {
#define X(id, text) KN_SEV_##id,
    KN_SEVERITIES(X)
#undef X
    KN_NSEVERITIES
};
extern const char *const kn_severity_names[KN_NSEVERITIES];

/* Wait states LLVM 22 leaves after a matrix instruction (GCNHazardRecognizer;
 * CDNA3 ISA 4.5 has the same for gfx942) before another instruction reads its
 * result (a memory access: mem), accumulates on an overlapping but different
 * register range or by another opcode (cin), by the same on the same (same),
 * or, being no matrix instruction, overwrites its C operand (war). Every
 * instruction in between is one, s_nop N is N + 1. */
struct kn_mfma_waits {
    uint8_t read, mem, cin, same, war;
};
enum { KN_MFMA_WAITS_MOST = 20 };
struct kn_mfma_waits kn_mfma_waits(kiln_target t, const struct kn_inst *i);

#endif
