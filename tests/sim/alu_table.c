/* alu_table.c - see alu_table.h. */
#include "alu_table.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

double
alu_h(uint64_t bits)
{
    int sign = bits >> 15 & 1, e = (int)(bits >> 10 & 31);
    double m = (double)(bits & 1023), v;

    if (e == 31)
        v = m != 0 ? (double)NAN : (double)INFINITY;
    else
        v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return sign ? -v : v;
}

uint64_t
alu_hb(double v)
{
    uint64_t sign = signbit(v) ? 0x8000 : 0, lo = 0, hi = 0x7c00;
    double x = fabs(v), below, above;

    if (v != v)
        return 0x7e00 | sign;
    if (x >= 65520)
        return sign | 0x7c00;
    while (hi - lo > 1) {    /* codes of one sign are in order */
        uint64_t mid = (lo + hi) / 2;

        *(alu_h(mid) <= x ? &lo : &hi) = mid;
    }
    below = x - alu_h(lo);
    above = (hi == 0x7c00 ? 65536 : alu_h(hi)) - x;
    if (above < below || (above == below && lo & 1))
        lo = hi;
    return sign | lo;
}

static void
set_operands(struct snippet *s, const struct alu_row *r, uint64_t in[3][64],
             struct snippet_rng *rng)
{
    for (size_t k = 0; k < 3; k++)
        for (unsigned l = 0; l < KN_LANES; l++) {
            in[k][l] = k < strlen(r->in) ? snippet_operand(rng, r->in[k]) : 0;
            s->v[20 + k * 2][l] = (uint32_t)in[k][l];
            s->v[21 + k * 2][l] = (uint32_t)(in[k][l] >> 32);
        }
    for (unsigned h = 0; h < 2; h++)
        s->w.s[20 + h] = (uint32_t)snippet_next(rng);
}

static bool
is_nan(uint64_t v, char letter)
{
    switch (letter) {
    case 'f': return alu_f(v) != alu_f(v);
    case 'd': return alu_d(v) != alu_d(v);
    case 'h': return (v & 0x7fff) > 0x7c00;
    default: return false;
    }
}

static bool
is_wide(char letter)
{
    return letter == 'q' || letter == 's' || letter == 'd' || letter == 'P';
}

static void
compare_lane(const struct snippet *s, const struct alu_row *r, unsigned l,
             uint64_t in[3][64])
{
    uint64_t mask = s->w.s[20] | (uint64_t)s->w.s[21] << 32;
    uint64_t out = s->w.s[22] | (uint64_t)s->w.s[23] << 32;
    uint64_t want = r->ref(in[0][l], in[1][l], in[2][l], mask >> l & 1);
    uint64_t got = s->v[10][l] | (uint64_t)s->v[11][l] << 32;

    if (r->out == 'm')
        got = out >> l & 1;
    else if (!is_wide(r->out))
        got = (uint32_t)got;
    if (got == want || (is_nan(got, r->out) && is_nan(want, r->out)))
        return;
    fail_msg("%s: a %llx b %llx c %llx: %llx, want %llx", r->text,
             (unsigned long long)in[0][l], (unsigned long long)in[1][l],
             (unsigned long long)in[2][l], (unsigned long long)got,
             (unsigned long long)want);
}

static void
check_row(const struct alu_row *r, uint64_t seed)
{
    struct snippet *s = snippet_open(r->target ? r->target : KILN_GFX950,
                                     r->text);
    struct snippet_rng rng = { seed };
    uint64_t in[3][64];

    for (unsigned round = 0; round < 40; round++) {
        set_operands(s, r, in, &rng);
        s->w.status = KILN_OK;
        if (snippet_run(s))
            fail_msg("%s: %s", r->text, s->run.error_text);
        for (unsigned l = 0; l < KN_LANES; l++)
            compare_lane(s, r, l, in);
    }
    snippet_close(s);
}

void
alu_check(const struct alu_row *rows, size_t n)
{
    for (size_t k = 0; k < n; k++)
        check_row(&rows[k], 1000 + k);
}
