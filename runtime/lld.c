/* lld.c - ld.lld as a child process with its input, output and messages in
 * anonymous memory files. */
#include "lld.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { IN, OUT, LOG, NFD };

static kiln_status
system_error(struct kn_ctx *c, const char *what, int err)
{
    return kn_fail(c, KILN_IO, "ld.lld: cannot %s: %s", what, strerror(err));
}

static void
close_all(const int fd[NFD])
{
    for (int i = 0; i < NFD; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static int
write_all(int fd, const uint8_t *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = write(fd, p + at, n - at);

        if (k < 0 && errno != EINTR)
            return errno;
        at += k > 0 ? (size_t)k : 0;
    }
    return 0;
}

static kiln_status
open_all(struct kn_ctx *c, struct kn_bytes rel, int fd[NFD])
{
    int err;

    for (int i = 0; i < NFD; i++)
        fd[i] = -1;
    for (int i = 0; i < NFD; i++) {
        fd[i] = memfd_create("kiln-link", MFD_CLOEXEC);
        if (fd[i] < 0)
            return system_error(c, "make a memory file", errno);
    }
    err = write_all(fd[IN], rel.p, rel.n);
    return err ? system_error(c, "write its input", err) : KILN_OK;
}

static int
spawn(const char *program, const int fd[NFD], pid_t *pid)
{
    char *argv[] = { (char *)program, "-shared", "--threads=1",
                     "/proc/self/fd/0", "-o", "-", NULL };
    posix_spawn_file_actions_t a;
    int err = posix_spawn_file_actions_init(&a);

    if (err)
        return err;
    for (int i = 0; i < NFD && !err; i++)
        err = posix_spawn_file_actions_adddup2(&a, fd[i], i);
    if (!err)
        err = posix_spawnp(pid, program, &a, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&a);
    return err;
}

static int
spawn_any(const char *program, const int fd[NFD], pid_t *pid)
{
    static const char *const names[] = {
        "ld.lld-22", "/usr/lib/llvm-22/bin/ld.lld", "ld.lld",
    };
    int err = ENOENT;

    if (program)
        return spawn(program, fd, pid);
    for (size_t i = 0; i < sizeof names / sizeof *names && err == ENOENT; i++)
        err = spawn(names[i], fd, pid);
    return err;
}

/* The whole memory file with a zero byte behind it. Uses pread: its offset
 * is where the child left it. */
static kiln_status
collect(struct kn_ctx *c, int fd, struct kn_bytes *out)
{
    off_t end = lseek(fd, 0, SEEK_END);
    uint8_t *p;

    if (end < 0)
        return system_error(c, "measure its output", errno);
    p = KN_NEW(c, uint8_t, (size_t)end + 1);
    *out = (struct kn_bytes){ p, 0 };
    while (out->n < (size_t)end) {
        ssize_t k = pread(fd, p + out->n, (size_t)end - out->n,
                          (off_t)out->n);

        if (!k || (k < 0 && errno != EINTR))
            return system_error(c, "read its output", errno);
        out->n += k > 0 ? (size_t)k : 0;
    }
    return KILN_OK;
}

static kiln_status
run(struct kn_ctx *c, const char *program, const int fd[NFD],
    struct kn_bytes *out)
{
    pid_t pid;
    int status, err = spawn_any(program, fd, &pid);
    struct kn_bytes log;
    int line;

    if (err == ENOENT)
        return kn_fail(c, KILN_UNSUPPORTED, "there is no linker '%s'",
                       program ? program : "ld.lld");
    if (err)
        return system_error(c, "start it", err);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return system_error(c, "wait for it", errno);
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return collect(c, fd[OUT], out);
    KN_TRY(collect(c, fd[LOG], &log));
    line = (int)strcspn((const char *)log.p, "\n");
    if (!line)
        return kn_fail(c, KILN_UNSUPPORTED, "ld.lld died without a message");
    return kn_fail(c, KILN_UNSUPPORTED, "%.*s", line, (const char *)log.p);
}

kiln_status
kn_lld_link(struct kn_ctx *c, const char *program, struct kn_bytes rel,
            struct kn_bytes *out)
{
    jmp_buf *outer = c->oom, here;
    kiln_status s;
    int fd[NFD];

    s = open_all(c, rel, fd);
    c->oom = &here;
    if (setjmp(here)) {
        close_all(fd);
        c->oom = outer;
        return KILN_NO_MEMORY;
    }
    if (!s)
        s = run(c, program, fd, out);
    c->oom = outer;
    close_all(fd);
    return s;
}
