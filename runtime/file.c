/* file.c - whole files in and out; output appears under its name only when
 * it is complete. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
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

/* Pipes and devices have no size, some no end: their buffer grows, but not for
 * ever. EFBIG beyond KN_STREAM_MAX. */
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
        if (*size > KN_STREAM_MAX)
            return EFBIG;
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
    struct stat st;

    if (!stat(path, &st) && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size > KN_STREAM_MAX)
        return kn_fail(c, KILN_IO, "%s: has over %zu bytes", path,
                       KN_STREAM_MAX);
    return kn_file_read_data(c, path, out, size);
}

kiln_status
kn_file_read_data(struct kn_ctx *c, const char *path, uint8_t **out,
                  size_t *size)
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

kiln_status
kn_file_read_plain(struct kn_ctx *c, const char *path, size_t most,
                   uint8_t **out, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    jmp_buf *outer = c->oom;
    struct stat st;
    kiln_status s;

    if (fd < 0)
        return io_error(c, path, "open", errno);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        s = kn_fail(c, KILN_IO, "%s: is no regular file", path);
    else if ((uint64_t)st.st_size > most)
        s = kn_fail(c, KILN_IO, "%s: has over %zu bytes", path, most);
    else
        s = read_guarded(c, path, fd, out, size);
    c->oom = outer;
    close(fd);
    return s;
}

int
kn_file_put(int fd, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

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

static kiln_status
write_parts(struct kn_ctx *c, const char *path, int fd,
            const struct kn_source *from)
{
    for (uint64_t at = 0; at < from->size; ) {
        uint64_t left = from->size - at;
        size_t n = left < KN_PART_MAX ? (size_t)left : KN_PART_MAX;
        const uint8_t *bytes;
        int err;

        KN_TRY(from->part(from->user, at, n, &bytes));
        err = kn_file_put(fd, bytes, n);
        if (err)
            return io_error(c, path, "write", err);
        at += n;
    }
    return KILN_OK;
}

static kiln_status
part_of_memory(void *user, uint64_t at, size_t n, const uint8_t **bytes)
{
    (void)n;
    *bytes = (const uint8_t *)user + at;
    return KILN_OK;
}

static struct kn_source
memory_source(const void *data, size_t size)
{
    return (struct kn_source){ part_of_memory, (void *)(uintptr_t)data, size };
}

/* A device or pipe is written in place: there is nothing to rename over. */
static kiln_status
write_in_place(struct kn_ctx *c, const char *path,
               const struct kn_source *from)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    kiln_status s;

    if (fd < 0)
        return io_error(c, path, "open", errno);
    s = write_parts(c, path, fd, from);
    if (close(fd) && !s)
        s = io_error(c, path, "write", errno);
    return s;
}

/* The descriptor of standard output or error, if that is this very file: a
 * name such as /dev/stdout. */
static int
standard_stream(const struct stat *st)
{
    for (int fd = 1; fd <= 2; fd++) {
        struct stat own;

        if (!fstat(fd, &own) && own.st_dev == st->st_dev &&
            own.st_ino == st->st_ino)
            return fd;
    }
    return -1;
}

/* The name behind symbolic links, which stay as they are; NULL where they go
 * round in circles. */
static const char *
follow_links(struct kn_ctx *c, const char *path)
{
    enum { MOST = 40 };
    char to[PATH_MAX];

    for (int i = 0; i < MOST; i++) {
        ssize_t n = readlink(path, to, sizeof to - 1);
        const char *slash = strrchr(path, '/');
        struct kn_buf b = { .c = c };

        if (n < 0)
            return path;
        to[n] = '\0';
        if (*to != '/' && slash)
            kn_putf(&b, "%.*s", (int)(slash + 1 - path), path);
        kn_put(&b, to);
        path = b.s;
    }
    return NULL;
}

enum { NONCE = 16 };         /* hexadecimal digits */

/* Whether NAME.NONCE.tmp is the temporary file of `base`. */
static bool
is_temporary(const char *name, const char *base)
{
    size_t n = strlen(base);

    return !strncmp(name, base, n) && name[n] == '.' &&
           strspn(name + n + 1, "0123456789abcdef") == NONCE &&
           !strcmp(name + n + 1 + NONCE, ".tmp");
}

/* Temporary files of this name whose writer was killed: nobody writes for an
 * hour. */
static void
sweep(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    char folder[PATH_MAX];
    struct dirent *e;
    struct stat st;
    DIR *d;

    if (slash - path >= PATH_MAX)
        return;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path)
                                                  : 1, slash ? path : ".");
    d = opendir(folder);
    while (d && (e = readdir(d)))
        if (is_temporary(e->d_name, base) &&
            !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
            time(NULL) - st.st_mtime > 3600)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

/* A file system that does not know its size has room. */
static bool
has_room(int fd, uint64_t size)
{
    struct statvfs v;

    return fstatvfs(fd, &v) || !v.f_blocks ||
           size / (v.f_frsize ? v.f_frsize : 1) <= v.f_bavail;
}

static kiln_status
write_new(struct kn_ctx *c, const char *path, int fd,
          const struct kn_source *from)
{
    if (!has_room(fd, from->size))
        return io_error(c, path, "write", ENOSPC);
    return write_parts(c, path, fd, from);
}

static kiln_status
replace(struct kn_ctx *c, const char *path, const struct kn_source *from)
{
    struct kn_buf tmp = { .c = c };
    uint64_t nonce = 0;
    kiln_status s;
    int fd;

    if (getrandom(&nonce, sizeof nonce, 0) < 0)
        nonce = (uint64_t)getpid();
    kn_putf(&tmp, "%s.%0*llx.tmp", path, NONCE, (unsigned long long)nonce);
    fd = open(tmp.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return io_error(c, path, "create", errno);
    s = write_new(c, path, fd, from);
    if (close(fd) && !s)
        s = io_error(c, path, "write", errno);
    if (!s && rename(tmp.s, path))
        s = io_error(c, path, "write", errno);
    if (s)
        unlink(tmp.s);
    else
        sweep(path);
    return s;
}

kiln_status
kn_file_replace(struct kn_ctx *c, const char *path, const void *data,
                size_t size)
{
    struct kn_source from = memory_source(data, size);

    return replace(c, path, &from);
}

kiln_status
kn_file_folder(struct kn_ctx *c, const char *path)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return io_error(c, path, "create", errno);
    return KILN_OK;
}

kiln_status
kn_file_write_parts(struct kn_ctx *c, const char *path,
                    const struct kn_source *from)
{
    const char *real;
    struct stat st;
    int fd;

    if (!stat(path, &st)) {
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            return write_in_place(c, path, from);
        fd = standard_stream(&st);
        if (fd >= 0)
            return write_parts(c, path, fd, from);
    }
    real = follow_links(c, path);
    if (!real)
        return io_error(c, path, "create", ELOOP);
    return replace(c, real, from);
}

kiln_status
kn_file_write(struct kn_ctx *c, const char *path, const void *data,
              size_t size)
{
    struct kn_source from = memory_source(data, size);

    return kn_file_write_parts(c, path, &from);
}

bool
kn_file_is_plain(const char *path)
{
    struct stat st;

    return stat(path, &st) ||
           (S_ISREG(st.st_mode) && standard_stream(&st) < 0);
}

bool
kn_file_is_stdout(const char *path)
{
    struct stat st;

    return !stat(path, &st) && standard_stream(&st) == 1;
}
