/* mutate.c - see mutate.h. One to six changes: of bits, bytes, whole numbers in
 * binary and in text, of pieces that are cut, doubled, moved, or taken from
 * another seed. */
#include "mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base.h"

struct mutant {
    const struct corpus *k;
    uint64_t state;
    uint8_t *p;
    size_t n;
};

static uint64_t
draw(struct mutant *m, uint64_t below)
{
    m->state = kn_mix(m->state + 1);
    return below ? m->state % below : 0;
}

static const uint64_t numbers[] = {
    0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 4095,
    4096, 32767, 32768, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff,
    0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
};

static const char *const words[] = {
    "0", "-1", "1", "2147483647", "2147483648", "-2147483648", "4294967296",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "99999999999999999999999", "1e999", "-1e999", "nan", "inf", "1e-999",
    "0x10", "00", "", "-", "null", "true", "{", "}", "[", "]", "\"", ",", ":",
    "\n", "\r\n", "\t", " ", "#", "%s%n", "\\u0000", "../../x", "\xff\xfe", "=",
    "(", ")", "'",
};

/* Makes [at, at + old) `size` bytes long. */
static bool
resize(struct mutant *m, size_t at, size_t old, size_t size)
{
    if (m->n - old + size > MUTANT_MOST)
        return false;
    memmove(m->p + at + size, m->p + at + old, m->n - at - old);
    m->n = m->n - old + size;
    return true;
}

static void
replace(struct mutant *m, size_t at, size_t old, const void *with, size_t n)
{
    if (resize(m, at, old, n) && n)
        memcpy(m->p + at, with, n);
}

static void
change_bits(struct mutant *m)
{
    if (m->n)
        m->p[draw(m, m->n)] ^= (uint8_t)(1u << draw(m, 8));
}

static void
change_byte(struct mutant *m)
{
    if (m->n)
        m->p[draw(m, m->n)] = (uint8_t)draw(m, 256);
}

static void
change_number(struct mutant *m)
{
    size_t width = (size_t)1 << draw(m, 4), at;
    uint64_t v = numbers[draw(m, sizeof numbers / sizeof *numbers)];

    if (m->n < width)
        return;
    at = draw(m, m->n - width + 1);
    if (draw(m, 4))
        at &= ~(width - 1);
    if (!draw(m, 3)) {       /* the number that is there, a little off */
        memcpy(&v, m->p + at, width);
        v += draw(m, 9) - 4;
    }
    memcpy(m->p + at, &v, width);
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* A number or a word of text by another. */
static void
change_word(struct mutant *m)
{
    const char *with = words[draw(m, sizeof words / sizeof *words)];
    size_t at = draw(m, m->n + 1), end;

    while (at < m->n && !is_digit(m->p[at]))
        at++;
    for (end = at; end < m->n && is_digit(m->p[end]); end++)
        ;
    replace(m, at, end - at, with, strlen(with));
}

static void
insert_word(struct mutant *m)
{
    const char *with = words[draw(m, sizeof words / sizeof *words)];

    replace(m, draw(m, m->n + 1), 0, with, strlen(with));
}

static size_t
piece(struct mutant *m, size_t n, size_t *at)
{
    size_t most = draw(m, 3) ? 32 : n;

    *at = draw(m, n + 1);
    most = most < n - *at ? most : n - *at;
    return draw(m, most + 1);
}

static void
cut_piece(struct mutant *m)
{
    size_t at, n = piece(m, m->n, &at);

    resize(m, at, n, 0);
}

static void
copy_piece(struct mutant *m)
{
    const struct seed *s = &m->k->seed[draw(m, m->k->n)];
    size_t from, n = piece(m, s->n, &from), at = draw(m, m->n + 1);
    size_t over = draw(m, 2) ? n : 0;

    over = over < m->n - at ? over : m->n - at;
    replace(m, at, over, s->p + from, n);
}

static void
double_piece(struct mutant *m)
{
    size_t at, n = piece(m, m->n, &at), times = draw(m, 8) ? 1 : draw(m, 200);

    while (times-- && resize(m, at, 0, n))
        memcpy(m->p + at, m->p + at + n, n);
}

static void
shorten(struct mutant *m)
{
    m->n = draw(m, m->n + 1);
}

static void (*const changes[])(struct mutant *m) = {
    change_bits, change_bits, change_byte, change_number, change_number,
    change_word, change_word, insert_word, cut_piece, copy_piece,
    double_piece, shorten,
};

void
corpus_add(struct corpus *k, const uint8_t *p, size_t n)
{
    k->seed = realloc(k->seed, (k->n + 1) * sizeof *k->seed);
    if (!k->seed)
        exit(2);
    k->seed[k->n++] = (struct seed){ p, n < MUTANT_MOST ? n : MUTANT_MOST };
}

size_t
mutate(const struct corpus *k, uint64_t number, uint8_t *out)
{
    struct mutant m = { .k = k, .state = number, .p = out };
    const struct seed *s = &k->seed[draw(&m, k->n)];
    uint64_t most = 1 + draw(&m, 6);

    memcpy(out, s->p, s->n);
    m.n = s->n;
    for (uint64_t i = 0; i < most; i++)
        changes[draw(&m, sizeof changes / sizeof *changes)](&m);
    return m.n;
}
