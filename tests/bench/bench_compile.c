/* bench_compile - what it costs to get a kernel, by the public interface.
 * Prints lines "NAME WALL CPU", milliseconds; bench_compile.py starts it.
 *
 *   bench_compile cold [RUNS]       compile in a warm process: the median
 *   bench_compile hit DIR           memory and disk hits: the median
 *   bench_compile fill DIR          puts the kernel of `load` into DIR
 *   bench_compile load DIR HIPLIB   from nothing to a kernel on hip:0
 *   bench_compile one               one compilation */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kiln.h>

enum { MOST = 101 };

static const struct work {
    const char *name, *config;
    kiln_problem p;
} works[] = {
#define P(type, ...) { .size = sizeof(kiln_problem), .target = KILN_GFX950, \
                       .a = KILN_##type, __VA_ARGS__ }
    { "bf16_256x256", "tile=256x256x64",
      P(BF16, .out = KILN_BF16, .m = 8192, .n = 8192, .k = 8192) },
    { "fp8_256x256", "tile=256x256x128",
      P(FP8, .out = KILN_BF16, .m = 8192, .n = 8192, .k = 8192) },
    { "mxfp8_256x256", "tile=256x256x128",
      P(MXFP8, .out = KILN_BF16, .m = 8192, .n = 8192, .k = 8192) },
    { "mxfp8_small_m", "",
      P(MXFP8, .out = KILN_BF16, .m = 32, .n = 7168, .k = 2048) },
    { "mxfp8_gemv", "",
      P(MXFP8, .out = KILN_BF16, .m = 1, .n = 7168, .k = 2048) },
};

/* Wall time, and the time on a processor: other people's work is not in it. */
struct spent {
    double wall, cpu;
};

static double
clock_ms(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct spent
now(void)
{
    return (struct spent){ clock_ms(CLOCK_MONOTONIC),
                           clock_ms(CLOCK_PROCESS_CPUTIME_ID) };
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The medians. */
static void
tell(const char *name, const struct spent *t, int n)
{
    double wall[MOST], cpu[MOST];

    for (int i = 0; i < n; i++) {
        wall[i] = t[i].wall;
        cpu[i] = t[i].cpu;
    }
    qsort(wall, (size_t)n, sizeof *wall, by_value);
    qsort(cpu, (size_t)n, sizeof *cpu, by_value);
    printf("%s %.4f %.4f\n", name, wall[n / 2], cpu[n / 2]);
}

static void
must(kiln_status s, const kiln_error *e)
{
    if (s) {
        fprintf(stderr, "%s: %s\n", kiln_status_name(s), e->text);
        exit(1);
    }
}

static kiln_context *
open_context(const char *dir, const char *hip)
{
    kiln_options o = { .size = sizeof o, .flags = dir ? 0 : KILN_NO_DISK,
                       .cache_dir = dir, .hip_library = hip };
    kiln_context *x;
    kiln_error e;

    must(kiln_open(&o, &x, &e), &e);
    return x;
}

/* One search, which must end at `source`. */
static struct spent
get(kiln_context *x, const struct work *w, kiln_source source)
{
    kiln_kernel_info info = { .size = sizeof info };
    struct spent start = now(), end;
    kiln_kernel *k;
    kiln_error e;

    must(kiln_compile(x, &w->p, w->config, &k, &e), &e);
    end = now();
    kiln_get_kernel(k, &info);
    if (info.source != source) {
        fprintf(stderr, "%s came from elsewhere\n", w->name);
        exit(1);
    }
    kiln_release(k);
    return (struct spent){ end.wall - start.wall, end.cpu - start.cpu };
}

static void
cold(int runs)
{
    struct spent t[MOST];
    char name[64];
    kiln_context *x = open_context(NULL, NULL);

    get(x, &works[0], KILN_FROM_COMPILER); /* LLVM is loaded and warm */
    kiln_close(x);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        for (int r = 0; r < runs; r++) {
            x = open_context(NULL, NULL);
            t[r] = get(x, &works[i], KILN_FROM_COMPILER);
            kiln_close(x);
        }
        snprintf(name, sizeof name, "cold_%s", works[i].name);
        tell(name, t, runs);
    }
}

static void
hits(const char *dir)
{
    struct spent disk[MOST], memory[MOST];
    kiln_context *x;

    for (int r = 0; r < MOST; r++) {
        x = open_context(dir, NULL);
        disk[r] = get(x, &works[0], KILN_FROM_DISK);
        memory[r] = get(x, &works[0], KILN_FROM_DISK);
        kiln_close(x);
    }
    tell("disk_hit", disk, MOST);
    tell("memory_hit", memory, MOST);
}

static void
load(const char *dir, const char *hip)
{
    kiln_context *x = open_context(dir, hip);
    kiln_function *f;
    kiln_device *d;
    kiln_kernel *k;
    kiln_error e;

    must(kiln_lookup(x, &works[0].p, works[0].config, &k, &e), &e);
    must(kiln_open_device(x, "hip:0", &d, &e), &e);
    must(kiln_load(d, k, &f, &e), &e);
    kiln_unload(f);
    kiln_release(k);
    kiln_close_device(d);
    kiln_close(x);
}

int
main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    kiln_context *x;

    if (!strcmp(mode, "cold")) {
        int runs = argc > 2 ? atoi(argv[2]) : 7;

        cold(runs < 1 ? 1 : runs > MOST ? MOST : runs);
    } else if (!strcmp(mode, "hit") && argc == 3) {
        hits(argv[2]);
    } else if (!strcmp(mode, "fill") && argc == 3) {
        x = open_context(argv[2], NULL);
        get(x, &works[0], KILN_FROM_COMPILER);
        kiln_close(x);
    } else if (!strcmp(mode, "load") && argc == 4) {
        load(argv[2], argv[3]);
    } else if (!strcmp(mode, "one")) {
        x = open_context(NULL, NULL);
        get(x, &works[0], KILN_FROM_COMPILER);
        kiln_close(x);
    } else {
        fprintf(stderr, "usage: bench_compile cold|hit|fill|load|one ...\n");
        return 2;
    }
    return 0;
}
