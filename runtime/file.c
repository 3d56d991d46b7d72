/* file.c - whole files in and out; output appears under its name only when
 * it is complete. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

static kiln_status
io_error(struct kn_ctx *c, const char *path, const char *what, int err)
{
    return kn_fail(c, KILN_IO, "%s: cannot %s: %s", path, what,
                   strerror(err));
}

/* Reads up to n bytes; *got tells how many there were before the end. */
static int
read_all(int fd, uint8_t *p, size_t n, size_t *got)
{
    *got = 0;
    while (*got < n) {
        ssize_t k = read(fd, p + *got, n - *got);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno;
        if (!k)
            return 0;
        *got += (size_t)k;
    }
    return 0;
}

/* Pipes and devices have no size: their buffer grows. */
static int
read_stream(struct kn_ctx *c, int fd, uint8_t **out, size_t *size)
{
    size_t cap = 0, got = 0;
    uint8_t *p = NULL;

    *size = 0;
    do {
        int err;

        p = kn_grow(c, p, &cap, *size + 65536, 1);
        err = read_all(fd, p + *size, cap - *size, &got);
        if (err)
            return err;
        *size += got;
    } while (got && *size == cap);
    *out = kn_grow(c, p, &cap, *size + 1, 1);
    (*out)[*size] = 0;
    return 0;
}

static kiln_status
read_open_file(struct kn_ctx *c, const char *path, int fd, uint8_t **out,
               size_t *size)
{
    struct stat st;
    size_t want;
    int err;

    if (fstat(fd, &st))
        return io_error(c, path, "read", errno);
    if (S_ISDIR(st.st_mode))
        return io_error(c, path, "read", EISDIR);
    if (!S_ISREG(st.st_mode)) {
        err = read_stream(c, fd, out, size);
        return err ? io_error(c, path, "read", err) : KILN_OK;
    }
    want = (size_t)st.st_size;
    *out = KN_NEW(c, uint8_t, want + 1);
    err = read_all(fd, *out, want, size);
    if (err)
        return io_error(c, path, "read", err);
    if (*size != want)
        return kn_fail(c, KILN_IO, "%s: became shorter while it was read",
                       path);
    return KILN_OK;
}

/* kn_alloc may jump out: the descriptor is closed on that way too. */
static kiln_status
read_guarded(struct kn_ctx *c, const char *path, int fd, uint8_t **out,
             size_t *size)
{
    jmp_buf *outer = c->oom, here;

    c->oom = &here;
    if (setjmp(here)) {
        close(fd);
        c->oom = outer;
        if (outer)
            longjmp(*outer, 1);
        return KILN_NO_MEMORY;
    }
    KN_TRY(read_open_file(c, path, fd, out, size));
    c->oom = outer;
    return KILN_OK;
}

kiln_status
kn_file_read(struct kn_ctx *c, const char *path, uint8_t **out, size_t *size)
{
    jmp_buf *outer = c->oom;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    kiln_status s;

    if (fd < 0)
        return io_error(c, path, "open", errno);
    s = read_guarded(c, path, fd, out, size);
    c->oom = outer;
    close(fd);
    return s;
}

static int
write_all(int fd, const uint8_t *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

/* A device or pipe is written in place: there is nothing to rename over. */
static kiln_status
write_in_place(struct kn_ctx *c, const char *path, const void *data,
               size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), err;

    if (fd < 0)
        return io_error(c, path, "open", errno);
    err = write_all(fd, data, size);
    if (close(fd) && !err)
        err = errno;
    return err ? io_error(c, path, "write", err) : KILN_OK;
}

kiln_status
kn_file_write(struct kn_ctx *c, const char *path, const void *data,
              size_t size)
{
    struct kn_buf tmp = { .c = c };
    uint64_t nonce = 0;
    struct stat st;
    int fd, err;

    if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return write_in_place(c, path, data, size);
    if (getrandom(&nonce, sizeof nonce, 0) < 0)
        nonce = (uint64_t)getpid();
    kn_putf(&tmp, "%s.%016llx.tmp", path, (unsigned long long)nonce);
    fd = open(tmp.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return io_error(c, path, "create", errno);
    err = write_all(fd, data, size);
    if (close(fd) && !err)
        err = errno;
    if (!err && rename(tmp.s, path))
        err = errno;
    if (!err)
        return KILN_OK;
    unlink(tmp.s);
    return io_error(c, path, "write", err);
}
