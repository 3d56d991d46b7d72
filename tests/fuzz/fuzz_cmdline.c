/* fuzz_cmdline.c - command lines. A text that begins with "kilnc " is one, word
 * by word; of any other bytes each draws a word from the tables of commands and
 * flags. Every line is parsed as it is; executed with sizes that are small
 * where the simulator would run them, and with names of files in the scratch
 * folder or devices that take or give anything. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "gen/gen.h"

enum { MOST_WORDS = 40, MOST_TEXT = 4096 };

struct line {
    const uint8_t *p, *end;
    const char *word[MOST_WORDS + 1];
    int n;
    char text[MOST_TEXT];
    size_t used;
};

static const char *const files[] = {
    "x.co", "x.s", "x.tir", "x.csv", "x.json", "x.npy", "x.launch", "x.kpk",
    "none", ".", "/dev/null", "/dev/stdout", "link", "folder/none", "", "-",
};

static const char *const values[] = {
    "0", "1", "2", "3", "7", "16", "17", "32", "33", "64", "65", "96", "100",
    "128", "256", "-1", "", "x", "1e3", "0x10", "1.5", "nan", "inf", "-inf",
    "2147483647", "2147483648", "9223372036854775807", "9223372036854775808",
    "64x64x64", "32x32x128", "256x256x64", "1x2x3x4", "0x0x0", "2x2", "1x1",
    "64,0,32", "1,", ",", "sample:3", "sample:0", "all", "1/2", "2/1", "hip:0",
    "sim", "sim:gfx950", "sim:gfx942", "0=out:b:4096", "8=in:x.npy", "0=null",
    "0=out:b:99999999999", "i32:5", "f32:nan", "in:x.npy", "out:c:16", "f16",
    "f16|bf16|f32", "balanced", "extreme:2", "deepseek-v3", "qkv.fwd",
};

static const char *const families[] = {
    "gemm", "batched", "grouped", "wgrad", "moe", "gemv", "nosuch", "",
};

#define COUNT(table) (sizeof (table) / sizeof *(table))

static unsigned
take(struct line *l)
{
    return l->p < l->end ? *l->p++ : 0;
}

static void
put(struct line *l, const char *s, size_t n)
{
    if (l->n == MOST_WORDS || l->used + n + 1 > MOST_TEXT)
        return;
    memcpy(l->text + l->used, s, n);
    l->text[l->used + n] = 0;
    l->word[l->n++] = l->text + l->used;
    l->used += n + 1;
}

static void
put_text(struct line *l, const char *s)
{
    put(l, s, strlen(s));
}

/* ---- words drawn --------------------------------------------------------- */

/* One of the words of a specification such as "a|b|c". */
static void
put_choice(struct line *l, const char *spec)
{
    unsigned k = take(l) % 12;
    size_t n;

    for (; k && strchr(spec, '|'); k--)
        spec = strchr(spec, '|') + 1;
    n = strcspn(spec, "|");
    put(l, spec, n);
}

static void
put_value(struct line *l, const struct kn_flag *f)
{
    unsigned how = take(l) % 8;

    if (how < 6 && f->kind == KN_K_CHOICE)
        put_choice(l, f->spec);
    else if (how < 6 && strstr(f->spec, "FILE"))
        put_text(l, files[take(l) % COUNT(files)]);
    else if (how < 5 && f->kind == KN_K_INT)
        put_text(l, values[take(l) % 15]);
    else
        put_text(l, values[take(l) % COUNT(values)]);
}

static void
draw_words(struct line *l)
{
    enum kn_command cmd = (enum kn_command)(take(l) % KN_NCMDS);
    unsigned flags = take(l) % 10;

    put_text(l, "kilnc");
    put_text(l, kn_command_name(cmd));
    for (unsigned k = take(l) % 8; k < 10 && k >= 2; k = 10)
        put_text(l, k > 3 && k < 7 ? families[take(l) % COUNT(families)]
                                   : files[take(l) % COUNT(files)]);
    for (unsigned i = 0; i < flags; i++) {
        const struct kn_flag *f = &kn_flags[take(l) % KN_NFLAGS];

        for (unsigned k = 0; k < 40 && !(f->commands >> cmd & 1); k++)
            f = &kn_flags[(take(l) + 128 * k) % KN_NFLAGS];
        put_text(l, f->name);
        if (f->kind != KN_K_NONE && take(l) % 16)
            put_value(l, f);
    }
    if (take(l) % 4 == 0)
        put_text(l, files[take(l) % COUNT(files)]);
}

static void
split_words(struct line *l)
{
    while (l->p < l->end) {
        const uint8_t *from = l->p;

        while (l->p < l->end && !isspace(*l->p) && *l->p)
            l->p++;
        if (l->p > from)
            put(l, (const char *)from, (size_t)(l->p - from));
        if (l->p < l->end)
            l->p++;
    }
}

/* ---- what may be executed ------------------------------------------------ */

/* No file beyond the scratch folder. */
static bool
is_safe(const char *word)
{
    return !strcmp(word, "/dev/null") || !strcmp(word, "/dev/stdout") ||
           (!strchr(word, '/') && !strstr(word, "..")) ||
           !strcmp(word, "folder/none");
}

/* Commands that execute or time what they are given. */
static bool
is_slow(const char *command)
{
    static const char *const slow[] = { "run", "exec", "parity", "bench",
                                        "tune", "selftest", "time", "report",
                                        "pack" };

    for (size_t i = 0; i < COUNT(slow); i++)
        if (!strcmp(command, slow[i]))
            return true;
    return false;
}

/* Sizes of problems that take long by themselves. */
static bool
is_large(const char *word)
{
    for (; *word; word++)
        if (isdigit((unsigned char)*word)) {
            char *end;

            if (strtoull(word, &end, 10) > 300)
                return true;
            word = end - 1;
        }
    return false;
}

static bool
may_run(const struct line *l)
{
    for (int i = 1; i < l->n; i++) {
        if (!is_safe(l->word[i]))
            return false;
        if (l->n > 1 && is_slow(l->word[1]) && is_large(l->word[i]) &&
            i > 1 && strcmp(l->word[i], "0=out:b:99999999999") != 0)
            return false;
        if (!strcmp(l->word[i], "--model") || !strcmp(l->word[i], "--preset"))
            return false;
    }
    /* these compile, or run, everything there is */
    return l->n < 2 || (strcmp(l->word[1], "selftest") != 0 &&
                        strcmp(l->word[1], "list") != 0);
}

static void
write_files(void)
{
    static const char csv[] = "family,a,m,n,k\ngemm,bf16,16,32,64\n";
    static const char json[] = "[{\"family\": \"gemm\", \"m\": 16, \"n\": 32, "
                               "\"k\": 64}]";
    const struct kn_generated *g = fuzz_kernel(0);

    fuzz_write("x.co", g->co, g->size);
    fuzz_write("x.co.cert", g->certificate, strlen(g->certificate));
    fuzz_write("x.csv", csv, sizeof csv - 1);
    fuzz_write("x.json", json, sizeof json - 1);
    fuzz_write("x.s", "s_endpgm\n", 9);
    fuzz_write("x.tir", "kernel\n", 7);
    fuzz_write("x.npy", "\223NUMPY", 6);
    fuzz_write("x.launch", "grid 1\nblock 64\n", 16);
    if (symlink("linked", "link"))
        unlink("link");
}

static void
judge_line(struct kn_ctx *c, kiln_status s)
{
    if (s == KILN_NO_MEMORY && c->err.text[0])
        return;              /* what the line asks for is its own affair */
    fuzz_judge(c, s);
}

static kiln_status
parse(struct kn_ctx *c, const struct line *l)
{
    struct kn_cli cli;

    KN_ENTER(c);
    KN_TRY(kn_cli_parse(c, l->n, (char **)l->word, &cli));
    return cli.help ? KILN_OK : kn_cli_judge(c, &cli);
}

static void
quiet(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || dup2(fd, 1) < 0)
        abort();
    close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct line l = { .p = p, .end = p + n };
    struct kn_ctx c;

    quiet();
    if (n > 6 && !memcmp(p, "kilnc ", 6))
        split_words(&l);
    else
        draw_words(&l);
    if (!l.n)
        return 0;
    if (getenv("FUZZ_SHOW"))
        for (int i = 0; i < l.n; i++)
            fprintf(stderr, "'%s'%s", l.word[i], i + 1 < l.n ? " " : "\n");
    kn_ctx_init(&c, NULL, NULL);
    judge_line(&c, parse(&c, &l));
    kn_ctx_free(&c);
    if (!may_run(&l))
        return 0;
    write_files();
    kn_ctx_init(&c, NULL, NULL);
    judge_line(&c, fuzz_command(&c, l.word));
    kn_ctx_free(&c);
    return 0;
}
