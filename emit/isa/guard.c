/* guard.c - reserved encodings on which LLVM 22.1.8's disassembler reads out
 * of bounds, found by giving it random words. None is a legal instruction,
 * so refusing them loses nothing. Encodings: CDNA3 ISA, chapter 13. */
#include "decode.h"

#include <stdbool.h>
#include <stddef.h>

enum { LITERAL = 0xff, SDWA = 0xf9, FIRST_VGPR = 0x100 };
enum { OP_LD_SCALE = 0xd3ac, OP_F8F6F4_16 = 0xd3ad, OP_F8F6F4_32 = 0xd3ae };

static uint32_t
bits(uint32_t w, int high, int low)
{
    return w >> low & ((2u << (high - low)) - 1);
}

/* VOP1, VOP2, VOPC with a sub-dword second word: selects are 0..6. */
static const char *
guard_sdwa(const uint32_t w[4])
{
    bool compare = bits(w[0], 31, 25) == 0x3e;

    if (w[0] >> 31 || bits(w[0], 8, 0) != SDWA)
        return NULL;
    if (bits(w[1], 18, 16) == 7 || bits(w[1], 26, 24) == 7)
        return "reserved SDWA source select";
    if (!compare && (bits(w[1], 10, 8) == 7 || bits(w[1], 12, 11) == 3))
        return "reserved SDWA destination select";
    return NULL;
}

/* Operands are registers or inline constants: no literal follows. */
static const char *
guard_vop3(const uint32_t *w)
{
    uint32_t op = bits(w[0], 25, 16);
    bool scalar = op < 0x100 || op == 0x142 || op == 0x289;

    if (bits(w[0], 31, 26) != 0x34)
        return NULL;
    if (bits(w[1], 8, 0) == LITERAL || bits(w[1], 17, 9) == LITERAL ||
        bits(w[1], 26, 18) == LITERAL)
        return "literal in VOP3";
    if (scalar && bits(w[0], 7, 0) == LITERAL)
        return "literal as scalar destination";
    return NULL;
}

/* v[0], v[1]: a matrix instruction with operand formats. */
static const char *
guard_f8f6f4(const uint32_t *v)
{
    uint32_t op = bits(v[0], 31, 16);

    if (op != OP_F8F6F4_16 && op != OP_F8F6F4_32)
        return NULL;
    if (bits(v[0], 10, 8) > 4 || bits(v[1], 31, 29) > 4)
        return "reserved matrix operand format";
    if (bits(v[1], 8, 0) < FIRST_VGPR || bits(v[1], 17, 9) < FIRST_VGPR)
        return "matrix operand in no vector register";
    return NULL;
}

static const char *
guard_scaled(const uint32_t w[4])
{
    const char *why;

    if (bits(w[0], 31, 16) != OP_LD_SCALE)
        return NULL;
    why = guard_vop3(w + 2);
    return why ? why : guard_f8f6f4(w + 2);
}

static const char *
guard_scalar_operands(const uint32_t w[4])
{
    uint32_t prefix = bits(w[0], 31, 26);

    if ((prefix == 0x38 || prefix == 0x3a) && w[1] >> 24 == LITERAL)
        return "literal as buffer offset";
    if (bits(w[0], 31, 25) == 0x3f && bits(w[0], 16, 9) == 2 &&
        bits(w[0], 24, 17) == LITERAL)
        return "literal as scalar destination";
    return NULL;
}

const char *
kn_guard_words(const uint32_t w[4])
{
    const char *why = guard_sdwa(w);

    if (!why)
        why = guard_vop3(w);
    if (!why)
        why = guard_f8f6f4(w);
    if (!why)
        why = guard_scaled(w);
    return why ? why : guard_scalar_operands(w);
}
