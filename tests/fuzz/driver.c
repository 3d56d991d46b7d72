/* driver.c - runs a fuzz target without libFuzzer: mutants of its seeds, the
 * same for the same seed, in children with limits.
 *
 * usage: fuzz_NAME [--runs N | --seconds S] [--seed X] [--limit SECONDS]
 *                  [--write FOLDER] [SEED FILE OR FOLDER...]
 *
 * Every seed is run as it is, then mutants are. A crash, over 10 s (--limit) of
 * processor time or over 2 GB for one input is reported, its input is kept in
 * the working directory, and the run goes on behind it. Exit status 1 then. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate.h"

#pragma weak fuzz_seed

enum { BATCH = 64, BLOCKED = 120 };
#define MOST_MEMORY ((rlim_t)2 << 30)

struct run {
    const char *name;
    uint64_t seed, runs;     /* runs: mutants */
    time_t until;            /* 0: none */
    unsigned limit;
    struct corpus corpus;
    volatile uint64_t *at;   /* the input a child is at */
    unsigned bad;
    long most;               /* KB */
    char home[PATH_MAX], scratch[64];
};

/* ---- seeds --------------------------------------------------------------- */

static void
add_file(struct corpus *k, const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *p = malloc(MUTANT_MOST);
    size_t n;

    if (!f || !p) {
        perror(path);
        exit(2);
    }
    n = fread(p, 1, MUTANT_MOST, f);
    fclose(f);
    corpus_add(k, p, n);
}

static int
is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static void
add_path(struct corpus *k, const char *path)
{
    struct dirent **e;
    struct stat st;
    char name[PATH_MAX];
    int n;

    if (stat(path, &st)) {
        perror(path);
        exit(2);
    }
    if (!S_ISDIR(st.st_mode)) {
        add_file(k, path);
        return;
    }
    n = scandir(path, &e, is_visible, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s/%s", path, e[i]->d_name);
        add_file(k, name);
    }
}

static void
add_made(struct corpus *k)
{
    const uint8_t *p;
    size_t n;

    for (unsigned i = 0; fuzz_seed && fuzz_seed(i, &p, &n); i++)
        corpus_add(k, p, n);
}

/* ---- one input ----------------------------------------------------------- */

/* Input i: the seeds first. */
static size_t
input(const struct run *r, uint64_t i, uint8_t *out)
{
    const struct seed *s = &r->corpus.seed[i < r->corpus.n ? i : 0];

    if (i >= r->corpus.n)
        return mutate(&r->corpus, kn_mix(kn_mix(r->seed) + i), out);
    memcpy(out, s->p, s->n);
    return s->n;
}

/* Seeds and mutants as files. */
static int
write_inputs(const struct run *r, const char *folder)
{
    uint8_t *out = malloc(MUTANT_MOST);
    char name[PATH_MAX];

    for (uint64_t i = 0; i < r->corpus.n + r->runs; i++) {
        snprintf(name, sizeof name, "%s/%06llu", folder,
                 (unsigned long long)i);
        fuzz_write(name, out, input(r, i, out));
    }
    free(out);
    return 0;
}

static void
set_limits(void)
{
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &(struct rlimit){ MOST_MEMORY, MOST_MEMORY });
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

static void
run_inputs(const struct run *r, uint64_t from, uint64_t to)
{
    uint8_t *out = malloc(MUTANT_MOST);

    set_limits();
    for (uint64_t i = from; i < to; i++) {
        size_t n = input(r, i, out);
        uint8_t *exact = malloc(n ? n : 1);

        memcpy(exact, out, n);
        *r->at = i;
        setitimer(ITIMER_PROF, &(struct itimerval){
            .it_value = { .tv_sec = r->limit } }, NULL);
        alarm(BLOCKED);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    *r->at = UINT64_MAX;
    _exit(0);
}

/* ---- batches ------------------------------------------------------------- */

static void
report(struct run *r, const char *what)
{
    uint8_t *out = malloc(MUTANT_MOST);
    char name[2 * PATH_MAX];
    size_t n = input(r, *r->at, out);

    snprintf(name, sizeof name, "%s/%s-%llu-%llu.bin", r->home, r->name,
             (unsigned long long)r->seed, (unsigned long long)*r->at);
    fuzz_write(name, out, n);
    free(out);
    r->bad++;
    printf("%s: %s at input %llu of seed %llu, kept as %s\n", r->name, what,
           (unsigned long long)*r->at, (unsigned long long)r->seed, name);
    fflush(stdout);
}

/* Where the next batch begins. */
static uint64_t
judge_child(struct run *r, int status, const struct rusage *use, uint64_t to)
{
    char text[80];

    r->most = use->ru_maxrss > r->most ? use->ru_maxrss : r->most;
    if (*r->at == UINT64_MAX) {
        *r->at = to - 1;
        if ((rlim_t)use->ru_maxrss * 1024 <= MOST_MEMORY)
            return to;
        report(r, "over 2 GB of memory up to");
        return to;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        report(r, "hang");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        report(r, "blocked for ever");
    else {
        snprintf(text, sizeof text, "crash (%s %d)",
                 WIFSIGNALED(status) ? "signal" : "exit status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        report(r, text);
    }
    return *r->at + 1;
}

static void
clean(const struct run *r, bool whole)
{
    char command[128];

    snprintf(command, sizeof command, whole ? "rm -rf '%s'"
             : "find '%s' -mindepth 1 -delete", r->scratch);
    if (system(command))
        fprintf(stderr, "%s is left\n", r->scratch);
}

static void
run_all(struct run *r)
{
    uint64_t i = 0, end = r->corpus.n + r->runs;

    while (r->until ? time(NULL) < r->until || i < r->corpus.n : i < end) {
        uint64_t to = r->until || end - i > BATCH ? i + BATCH : end;
        struct rusage use;
        pid_t child = fork();
        int status;

        if (!child)
            run_inputs(r, i, to);
        if (child < 0 || wait4(child, &status, 0, &use) != child) {
            perror("fork");
            exit(2);
        }
        i = judge_child(r, status, &use, to);
        clean(r, false);
    }
    printf("%s: %llu inputs, %zu of them seeds; %u bad; at most %ld MB\n",
           r->name, (unsigned long long)i, r->corpus.n, r->bad,
           r->most / 1024);
}

/* ---- the program --------------------------------------------------------- */

static uint64_t
number_of(char **argv, int *i)
{
    return argv[*i + 1] ? strtoull(argv[++*i], NULL, 0) : 0;
}

static void
open_run(struct run *r, const char *program)
{
    const char *slash = strrchr(program, '/');

    r->name = slash ? slash + 1 : program;
    r->at = mmap(NULL, sizeof *r->at, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strcpy(r->scratch, "/tmp/kiln-fuzz-XXXXXX");
    if (r->at == MAP_FAILED || !getcwd(r->home, sizeof r->home) ||
        !mkdtemp(r->scratch)) {
        perror(program);
        exit(2);
    }
}

int
main(int argc, char **argv)
{
    struct run r = { .seed = 1, .runs = 1000, .limit = 10 };
    const char *folder = NULL;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--runs"))
            r.runs = number_of(argv, &i);
        else if (!strcmp(argv[i], "--seconds"))
            r.until = time(NULL) + (time_t)number_of(argv, &i);
        else if (!strcmp(argv[i], "--seed"))
            r.seed = number_of(argv, &i);
        else if (!strcmp(argv[i], "--limit"))
            r.limit = (unsigned)number_of(argv, &i);
        else if (!strcmp(argv[i], "--write") && argv[i + 1])
            folder = argv[++i];
        else
            add_path(&r.corpus, argv[i]);
    }
    add_made(&r.corpus);
    if (folder)
        return write_inputs(&r, folder);
    if (!r.corpus.n)
        corpus_add(&r.corpus, (const uint8_t *)"", 0);
    open_run(&r, argv[0]);
    if (chdir(r.scratch))
        return 2;
    run_all(&r);
    clean(&r, true);
    return r.bad != 0;
}
