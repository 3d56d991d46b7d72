#include "api.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
make_folder(char path[64])
{
    strcpy(path, "/tmp/kiln-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void
drop_folder(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    char name[512];

    while (d && (e = readdir(d))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (unlink(name))
            drop_folder(name);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

static bool
ends_in(const char *s, const char *ending)
{
    size_t n = strlen(s), k = strlen(ending);

    return n >= k && !strcmp(s + n - k, ending);
}

int
count_files(const char *folder, const char *ending)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.' && ends_in(e->d_name, ending);
    if (d)
        closedir(d);
    return n;
}

void
find_file(const char *folder, const char *ending, char path[512])
{
    DIR *d = opendir(folder);
    struct dirent *e;

    path[0] = '\0';
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' && ends_in(e->d_name, ending))
            snprintf(path, 512, "%s/%s", folder, e->d_name);
    if (d)
        closedir(d);
    assert_true(path[0]);
}

size_t
read_bytes(const char *path, unsigned char *out, size_t cap)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(out, 1, cap, f);
    assert_true(n < cap);
    fclose(f);
    return n;
}

void
write_bytes(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

kiln_problem
small_problem(int64_t m, int64_t n, int64_t k)
{
    kiln_problem p = { .size = sizeof p, .target = KILN_GFX950,
                       .a = KILN_BF16, .out = KILN_F32, .m = m, .n = n,
                       .k = k };

    return p;
}

void
keep_log(void *user, kiln_log_level level, const char *text)
{
    struct log *l = user;

    if (level != KILN_LOG_WARNING)
        return;
    l->lines++;
    snprintf(l->last, sizeof l->last, "%s", text);
}

kiln_context *
open_context(const char *folder, uint32_t flags, struct log *l)
{
    kiln_options o = { .size = sizeof o,
                       .flags = flags | (folder ? 0 : KILN_NO_DISK),
                       .cache_dir = folder };
    kiln_context *x;
    kiln_error e;

    if (l) {
        o.log = keep_log;
        o.log_user = l;
    }
    assert_ok(kiln_open(&o, &x, &e), &e);
    return x;
}

kiln_device *
open_device(kiln_context *x, const char *name)
{
    kiln_device *d;
    kiln_error e;

    assert_ok(kiln_open_device(x, name, &d, &e), &e);
    return d;
}

static int
a_at(int64_t i)
{
    return i % 7 == 3 ? 2 : 1;
}

static int
b_at(int64_t i)
{
    return i % 5 == 1 ? -1 : 1;
}

/* bf16 is the upper half of f32. */
static void
fill(uint16_t *out, int64_t n, int (*at)(int64_t))
{
    for (int64_t i = 0; i < n; i++) {
        float x = (float)at(i);
        uint32_t bits;

        memcpy(&bits, &x, 4);
        out[i] = (uint16_t)(bits >> 16);
    }
}

static void *
upload_new(kiln_device *d, int64_t n, int (*at)(int64_t))
{
    uint16_t *host = malloc((size_t)n * 2 + 1);
    kiln_error e;
    void *p;

    fill(host, n, at);
    assert_ok(kiln_malloc(d, (size_t)n * 2, &p, &e), &e);
    assert_ok(kiln_upload(d, p, host, (size_t)n * 2, &e), &e);
    free(host);
    return p;
}

struct shared shared;

int
open_shared(void **state)
{
    (void)state;
    shared.x = open_context(NULL, 0, NULL);
    shared.d = open_device(shared.x, "sim:gfx950");
    return 0;
}

int
close_shared(void **state)
{
    (void)state;
    kiln_close_device(shared.d);
    kiln_close(shared.x);
    return 0;
}

void
make_operands(struct operands *o, kiln_device *d, const kiln_problem *p)
{
    kiln_error e;

    *o = (struct operands){ .device = d, .p = *p };
    o->memory[0] = upload_new(d, p->m * p->k, a_at);
    o->memory[1] = upload_new(d, p->n * p->k, b_at);
    assert_ok(kiln_malloc(d, (size_t)(p->m * p->n) * 4, &o->memory[2], &e),
              &e);
    o->args = (kiln_arguments){ .size = sizeof o->args, .a = o->memory[0],
                                .b = o->memory[1], .c = o->memory[2] };
}

void
clear_output(struct operands *o)
{
    size_t n = (size_t)(o->p.m * o->p.n) * 4;
    void *zero = calloc(1, n);
    kiln_error e;

    assert_ok(kiln_upload(o->device, o->memory[2], zero, n, &e), &e);
    free(zero);
}

void
check_output(struct operands *o)
{
    int64_t m = o->p.m, n = o->p.n, k = o->p.k;
    float *c = malloc((size_t)(m * n) * 4);
    kiln_error e;

    assert_ok(kiln_download(o->device, c, o->memory[2], (size_t)(m * n) * 4,
                            &e), &e);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int sum = 0;

            for (int64_t l = 0; l < k; l++)
                sum += a_at(i * k + l) * b_at(j * k + l);
            if (c[i * n + j] != (float)sum)
                fail_msg("C[%d][%d] is %g, not %d", (int)i, (int)j,
                         (double)c[i * n + j], sum);
        }
    free(c);
}

void
drop_operands(struct operands *o)
{
    kiln_error e;

    for (int i = 0; i < 3; i++)
        assert_ok(kiln_free(o->device, o->memory[i], &e), &e);
}

void
make_ready(struct ready *r, const char *device, const char *config)
{
    kiln_error e;

    r->d = open_device(r->x, device);
    make_operands(&r->o, r->d, &r->p);
    assert_ok(kiln_compile(r->x, &r->p, config, &r->k, &e), &e);
    assert_ok(kiln_make_plan(r->k, &r->p, &r->plan, &e), &e);
    assert_ok(kiln_load(r->d, r->k, &r->f, &e), &e);
}

void
drop_ready(struct ready *r)
{
    drop_operands(&r->o);
    kiln_unload(r->f);
    kiln_release(r->k);
    kiln_close_device(r->d);
    kiln_close(r->x);
}

bool
is_mapped(const char *text)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1024];
    bool found = false;

    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        found |= strstr(line, text) != NULL;
    fclose(f);
    return found;
}

void
get_kernel(struct got *g, const char *folder, uint32_t flags)
{
    kiln_context *x = open_context(folder, flags, &g->log);
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;

    g->log = (struct log){ 0 };
    g->status = kiln_compile(x, &p, "tile=32x32x64", &k, &g->error);
    if (!g->status) {
        kiln_get_kernel(k, &info);
        g->source = info.source;
        g->size = info.code_size;
        assert_true(g->size < sizeof g->code);
        memcpy(g->code, info.code, g->size);
    }
    kiln_release(k);
    kiln_close(x);
}

void
expect_kernel(const char *folder, uint32_t flags, kiln_source source,
              int warnings)
{
    struct got *g = malloc(sizeof *g);

    assert_non_null(g);
    get_kernel(g, folder, flags);
    assert_ok(g->status, &g->error);
    assert_int_equal(g->source, source);
    if (g->log.lines != warnings)
        fail_msg("%d warnings, not %d: %s", g->log.lines, warnings, g->log.last);
    free(g);
}
