/* isolate.c - fork, work, one message back through a memory file. */
#include "isolate.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RESULT, WORDS, NFD };

struct message {
    kiln_status status;
    kiln_error error;
    bool crowded;            /* of it, as in kn_ctx */
    uint64_t size;           /* of what follows */
};

static kiln_status
call(struct kn_ctx *c, kn_isolated_fn *fn, void *user, struct kn_buf *out)
{
    KN_ENTER(c);
    return fn(c, user, out);
}

/* What is always taken: the caller knows what he compiles. */
static const struct kn_cage open_cage = {
    .who = "the compiler process", .death = KILN_INTERNAL,
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAPS_EVERYTHING 1    /* a sanitizer's shadow of the address space */
#else
#define MAPS_EVERYTHING 0
#endif

/* Bytes this process has mapped. */
static uint64_t
mapped(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void
limit(int what, uint64_t soft, uint64_t hard)
{
    const struct rlimit r = { soft, hard };

    setrlimit((__rlimit_resource_t)what, &r);
}

static void
enter_cage(const struct kn_cage *cage)
{
    if (cage->wall)
        limit(RLIMIT_CORE, 0, 0);
    if (!cage->seconds)
        return;
    if (!MAPS_EVERYTHING)
        limit(RLIMIT_AS, mapped() + cage->memory, mapped() + cage->memory);
    limit(RLIMIT_CPU, cage->seconds, cage->seconds + 1);
    limit(RLIMIT_FSIZE, cage->written, cage->written);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_NOFILE, 0, 0);
}

/* The child: LLVM's words go to a file, not to the user's terminal. */
static int
child(const struct kn_cage *cage, kn_isolated_fn *fn, void *user,
      const int fd[NFD])
{
    struct kn_ctx c;
    struct kn_buf out = { .c = &c };
    struct message m = { 0 };

    dup2(fd[WORDS], 1);
    dup2(fd[WORDS], 2);
    enter_cage(cage);
    kn_ctx_init(&c, NULL, NULL);
    m.status = call(&c, fn, user, &out);
    m.error = c.err;
    m.crowded = c.crowded;
    m.size = out.n;
    return kn_file_put(fd[RESULT], &m, sizeof m) ||
           kn_file_put(fd[RESULT], out.s, out.n);
}

/* At most n bytes from `at`; how many there were. */
static size_t
get(int fd, void *out, size_t n, off_t at)
{
    size_t have = 0;

    while (have < n) {
        ssize_t k = pread(fd, (char *)out + have, n - have,
                          at + (off_t)have);

        if (!k || (k < 0 && errno != EINTR))
            break;
        have += k > 0 ? (size_t)k : 0;
    }
    return have;
}

/* The first line of what a dead child said. */
static kiln_status
tell_death(struct kn_ctx *c, const struct kn_cage *cage, int fd, int status)
{
    char words[160];
    size_t n = get(fd, words, sizeof words - 1, 0);
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    words[n] = '\0';
    words[strcspn(words, "\n")] = '\0';
    if (cage->seconds && (sig == SIGXCPU || sig == SIGKILL))
        return kn_fail(c, cage->death, "%s took more than %u s", cage->who,
                       cage->seconds);
    if (cage->seconds && sig == SIGXFSZ)
        return kn_fail(c, cage->death, "%s made more than %llu MB", cage->who,
                       (unsigned long long)cage->written >> 20);
    if (sig)
        return kn_fail(c, cage->death, "%s died of signal %d (%s)%s%s",
                       cage->who, sig, strsignal(sig), *words ? ": " : "",
                       words);
    return kn_fail(c, cage->death, "%s ended with status %d%s%s", cage->who,
                   WEXITSTATUS(status), *words ? ": " : "", words);
}

static kiln_status
collect(struct kn_ctx *c, const struct kn_cage *cage, const int fd[NFD],
        int status, struct kn_bytes *out)
{
    struct message m;
    uint8_t *p;

    if (!WIFEXITED(status) || WEXITSTATUS(status) ||
        get(fd[RESULT], &m, sizeof m, 0) != sizeof m)
        return tell_death(c, cage, fd[WORDS], status);
    if (m.status) {
        if (!c->err.status) {
            c->err = m.error;
            c->crowded = m.crowded;
        }
        return m.status;
    }
    p = KN_NEW(c, uint8_t, m.size + 1);
    if (get(fd[RESULT], p, m.size, sizeof m) != m.size)
        return tell_death(c, cage, fd[WORDS], status);
    *out = (struct kn_bytes){ p, m.size };
    return KILN_OK;
}

static void
close_all(const int fd[NFD])
{
    for (int i = 0; i < NFD; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static kiln_status
failed(struct kn_ctx *c, const char *what)
{
    return kn_fail(c, KILN_IO, "the compiler process: cannot %s: %s", what,
                   strerror(errno));
}

struct work {
    const struct kn_cage *cage;
    kn_isolated_fn *fn;
    void *user;
};

/* Whether the child has ended within so many seconds. */
static bool
ended_within(pid_t pid, double seconds, int *status)
{
    const struct timespec pause = { .tv_nsec = 5000000 };
    struct timespec now, start;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);

        if (got == pid || (got < 0 && errno != EINTR))
            return got == pid;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((double)(now.tv_sec - start.tv_sec) +
            (double)(now.tv_nsec - start.tv_nsec) * 1e-9 > seconds)
            return false;
        nanosleep(&pause, NULL);
    }
}

/* A child that a driver holds does not end even then, and is left. */
static kiln_status
await(struct kn_ctx *c, const struct kn_cage *cage, pid_t pid, int *status)
{
    enum { PATIENCE = 5 };

    if (cage->wall && !ended_within(pid, cage->wall, status)) {
        kill(pid, SIGKILL);
        (void)ended_within(pid, PATIENCE, status);
        return kn_fail(c, cage->death, "%s hung: ended after %u s", cage->who,
                       cage->wall);
    }
    while (!cage->wall && waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return failed(c, "wait for it");
    return KILN_OK;
}

static kiln_status
run(struct kn_ctx *c, const struct work *w, const int fd[NFD],
    struct kn_bytes *out)
{
    int status;
    pid_t pid = fork();

    if (pid < 0)
        return failed(c, "start it");
    if (!pid)
        _exit(child(w->cage, w->fn, w->user, fd));
    KN_TRY(await(c, w->cage, pid, &status));
    return collect(c, w->cage, fd, status, out);
}

kiln_status
kn_isolate_in(struct kn_ctx *c, const struct kn_cage *cage,
              kn_isolated_fn *fn, void *user, struct kn_bytes *out)
{
    const struct work w = { cage, fn, user };
    jmp_buf *outer = c->oom, here;
    kiln_status s;
    int fd[NFD];

    for (int i = 0; i < NFD; i++)
        fd[i] = memfd_create("kiln-isolate", MFD_CLOEXEC);
    c->oom = &here;
    if (setjmp(here))
        s = KILN_NO_MEMORY;
    else
        s = fd[RESULT] < 0 || fd[WORDS] < 0 ? failed(c, "make a memory file")
                                            : run(c, &w, fd, out);
    c->oom = outer;
    close_all(fd);
    return s;
}

kiln_status
kn_isolate(struct kn_ctx *c, kn_isolated_fn *fn, void *user,
           struct kn_bytes *out)
{
    return kn_isolate_in(c, &open_cage, fn, user, out);
}
