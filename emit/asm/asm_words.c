/* asm_words.c - the bytes of repeated instructions, assembled once.
 *
 * An unrolled loop says most of its instructions several times, and LLVM's
 * assembler takes as long for each. What occurs more than once is assembled
 * alone first; in the kernel's text its repetitions are the words that LLVM
 * made of it. A branch depends on its place and stays as it is. */
#include "asm.h"

#include <string.h>

#include "../emit.h"
#include "../isa/elfview.h"

/* Bytes of the longest instruction, to which shorter ones are filled up with a
 * word that no instruction of ours ends in. */
enum { SLOT = 16, WORTH = 256 };
#define FILL 0xbf80a5a5u     /* s_nop 0xa5a5 */

struct line {
    const char *s;
    size_t n;
    uint32_t times, slot;
};

struct words {
    struct kn_ctx *c;
    struct line *line;       /* distinct ones, a hash table */
    size_t size;
    uint32_t slots;          /* lines that occur more than once */
    const uint8_t *made;     /* [slots][SLOT] */
};

/* An instruction whose bytes do not depend on where it is. */
static bool
is_fixed(const char *s, size_t n)
{
    return n > 1 && s[0] == '\t' && s[1] != '.' && !memchr(s, '.', n);
}

static struct line *
find(const struct words *w, const char *s, size_t n)
{
    size_t row = kn_mix(kn_hash(s, n)) & (w->size - 1);

    while (w->line[row].n &&
           (w->line[row].n != n || memcmp(w->line[row].s, s, n)))
        row = (row + 1) & (w->size - 1);
    return &w->line[row];
}

/* The code's lines, up to its end; *n is a line's length without its end. */
static const char *
next_line(const char *s, size_t *n)
{
    if (!s || !strncmp(s, ".Lend:", 6))
        return NULL;
    *n = strcspn(s, "\n");
    return s[*n] ? s + *n + 1 : NULL;
}

/* Returns how many lines need not be assembled. */
static size_t
count(struct words *w, const char *text)
{
    size_t n, saved = 0;

    for (const char *s = text, *next; (next = next_line(s, &n)); s = next) {
        struct line *l;

        if (!is_fixed(s, n))
            continue;
        l = find(w, s, n);
        l->s = s;
        l->n = n;
        saved += l->times++ > 1;
    }
    return saved;
}

static kiln_status
assemble_repeated(struct words *w, const struct kn_fn *f)
{
    struct kn_buf text = { .c = w->c }, rel = { .c = w->c };
    struct kn_elf e;

    kn_put(&text, "\t.text\n");
    for (size_t k = 0; k < w->size; k++) {
        struct line *l = &w->line[k];

        if (l->times < 2)
            continue;
        l->slot = w->slots++;
        kn_putf(&text, "%.*s\n\t.p2alignl 4, %u\n", (int)l->n, l->s, FILL);
    }
    KN_TRY(kn_assemble_own(w->c, f->name, text.s, f->target, &rel));
    KN_TRY(kn_elf_open(w->c, f->name, rel.s, rel.n, &e));
    for (uint32_t i = 0; i < e.nsh; i++) {
        const char *section = kn_elf_section_name(&e, i);

        if (section && !strcmp(section, ".text") &&
            e.sh[i].sh_size >= (uint64_t)w->slots * SLOT)
            w->made = e.p + e.sh[i].sh_offset;
    }
    return w->made ? KILN_OK
                   : kn_fail(w->c, KILN_INTERNAL, "LLVM's code for %u "
                             "instructions is too short", w->slots);
}

static void
put_words(const struct words *w, const struct line *l, struct kn_buf *out)
{
    uint32_t word[SLOT / 4];
    int n = SLOT / 4;

    memcpy(word, w->made + (size_t)l->slot * SLOT, SLOT);
    while (n > 1 && word[n - 1] == FILL)
        n--;
    for (int k = 0; k < n; k++)
        kn_put_number(out, k ? "," : "\t.long ", word[k]);
}

static void
put_text(const struct words *w, const char *text, struct kn_buf *out)
{
    const char *s = text, *next;
    size_t n;

    for (; (next = next_line(s, &n)); s = next) {
        const struct line *l = is_fixed(s, n) ? find(w, s, n) : NULL;

        if (l && l->times > 1)
            put_words(w, l, out);
        else
            kn_putf(out, "%.*s", (int)n, s);
        kn_put(out, "\n");
    }
    kn_put(out, s);
}

kiln_status
kn_asm_words(struct kn_ctx *c, const struct kn_fn *f, const char *text,
             const char **out)
{
    struct words w = { .c = c, .size = 1024 };
    struct kn_buf words = { .c = c };
    size_t lines = 0;

    *out = text;
    for (const char *s = text; (s = strchr(s, '\n')); s++)
        lines++;
    while (w.size < 2 * lines)
        w.size *= 2;
    w.line = KN_NEW(c, struct line, w.size);
    if (strstr(text, "0xbf80a5a5") || count(&w, text) < WORTH)
        return KILN_OK;
    KN_TRY(assemble_repeated(&w, f));
    put_text(&w, text, &words);
    *out = words.s;
    return KILN_OK;
}
