/* alu_table.h - one vector instruction against a function of the host, over
 * corners and random operands in all lanes. */
#ifndef KN_ALU_TABLE_H
#define KN_ALU_TABLE_H

#include "../kit/snippet.h"

/* Operands are a = v[20:21], b = v[22:23], c = v[24:25], the result v[10:11],
 * lane masks s[20:21] in, s[22:23] out. in: a letter of isa.def for each of
 * a, b, c; out: the result's. Raw bits everywhere. mask: its bit of the lane
 * mask; for out 'm' the low bit of the result is the mask bit. */
struct alu_row {
    const char *text;
    const char *in;
    char out;
    uint64_t (*ref)(uint64_t a, uint64_t b, uint64_t c, int mask);
    kiln_target target;      /* 0: gfx950 */
};

void alu_check(const struct alu_row *rows, size_t n);

/* Bits <-> values. */
static inline float
alu_f(uint64_t u)
{
    uint32_t v = (uint32_t)u;
    float f;

    memcpy(&f, &v, 4);
    return f;
}
static inline uint64_t
alu_fb(float f)
{
    uint32_t v;

    memcpy(&v, &f, 4);
    return v;
}
static inline double
alu_d(uint64_t u)
{
    double d;

    memcpy(&d, &u, 8);
    return d;
}
static inline uint64_t
alu_db(double d)
{
    uint64_t v;

    memcpy(&v, &d, 8);
    return v;
}

/* f16 by its definition, and back by searching all codes for the nearest. */
double alu_h(uint64_t bits);
uint64_t alu_hb(double v);

#endif
