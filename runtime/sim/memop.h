/* memop.h - a memory instruction with its fields resolved for execution.
 * What it does comes from isa.def; register numbers and offsets come from the
 * encoding itself (CDNA3 ISA 13.6 MUBUF, 13.7 FLAT, 12.x DS, SMEM), where
 * they do not depend on how the assembler orders operands. */
#ifndef KN_MEMOP_H
#define KN_MEMOP_H

#include "machine.h"

/* X(id): read-modify-write functions of buffer, flat, LDS and scalar memory. */
#define KN_ATOMICS(X) \
    X(SWAP) X(CMPSWAP) X(ADD) X(SUB) X(RSUB) X(SMIN) X(UMIN) X(SMAX) \
    X(UMAX) X(AND) X(OR) X(XOR) X(INC) X(DEC) X(MSKOR) X(WRAP) \
    X(ADD_F32) X(MIN_F32) X(MAX_F32) X(CMPSWAP_F32) X(ADD_F64) X(MIN_F64) \
    X(MAX_F64) X(CMPSWAP_F64) X(PK_ADD_F16) X(PK_ADD_BF16)

enum kn_atomic_kind {
    KN_AT_NONE,
#define X(id) KN_AT_##id,
    KN_ATOMICS(X)
#undef X
};

enum kn_memop_kind {
    KN_MO_UNKNOWN,           /* refused when executed */
    KN_MO_LOAD, KN_MO_STORE, KN_MO_ATOMIC,
    KN_MO_DMA,               /* memory to LDS */
    KN_MO_CACHE,             /* cache control: no data */
    KN_MO_TRANSPOSE,         /* ds_read_*_tr_* */
    KN_MO_SWIZZLE, KN_MO_PERMUTE, KN_MO_BPERMUTE,
    KN_MO_TIME
};

enum { KN_NOREG = 0xffff };
enum kn_half { KN_HALF_NONE, KN_HALF_LO, KN_HALF_HI };

struct kn_memop {
    uint8_t kind;            /* enum kn_memop_kind */
    uint8_t mem;             /* enum kn_memkind */
    uint8_t atomic;          /* enum kn_atomic_kind */
    uint8_t bytes;           /* one access of one lane */
    uint8_t nreg;            /* dwords of data (of one access) */
    uint8_t ndst, naddr, ndata;
    uint8_t half;            /* KN_HALF_*: part of the register that moves */
    bool sext, two, rtn, offen, idxen;
    uint8_t element;         /* transposing reads: bits */
    uint16_t dst, data, data1, addr;    /* unified VGPRs or KN_NOREG */
    uint16_t sbase, soffset; /* SGPRs or KN_NOREG */
    uint32_t soffset_imm;    /* when soffset is no register */
    int32_t offset, offset1; /* bytes */
};

/* false: a field this simulator does not implement; *what names it. */
bool kn_memop_decode(const struct kn_inst *i, unsigned accum_offset,
                     struct kn_memop *m, const char **what);

#endif
