/* bench_list - what each kernel of `kilnc list` costs as the first of its
 * process: a child a kernel, with LLVM's library in memory and nothing of it
 * called yet. From the problem to gated, proven, linked bytes.
 *
 *   bench_list [EVERY [FAMILY]]     each kernel, or each EVERY-th
 *
 * FAMILY few-rows: gemm with 1 to 64 rows. Prints eighths of the kernels, the
 * costliest first, by what makes the bytes, against the goals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gen/choose/choose.h"
#include "gen/gen.h"

enum { MOST = 1024, NAME = 120 };

struct cost {
    double wall, cpu, emit, prove;
    long faults;
    bool made, assembly, small;
    char name[NAME];
};

struct all {
    struct cost *row;
    int n, seen, every;
};

static double
clock_ms(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long
faults(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return r.ru_minflt;
}

/* What a first call costs, in the child. A K of 0 is any K, hence a tail. */
static void
generate(kiln_problem *p, struct cost *out)
{
    double wall = clock_ms(CLOCK_MONOTONIC);
    double cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    struct kn_config cfg = { 0 };
    struct kn_generated g;
    struct kn_ctx c;
    long before = faults();

    kn_ctx_init(&c, NULL, NULL);
    if (!p->k && kn_problem_normalise(&c, p) == KILN_OK)
        cfg.domain = kn_domain_of(p, 256, 0);
    out->made = !c.err.status && kn_generate(&c, p, &cfg, NULL, &g) == KILN_OK;
    out->wall = clock_ms(CLOCK_MONOTONIC) - wall;
    out->cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    out->faults = faults() - before;
    if (!out->made)
        return;
    out->emit = g.emit_ms;
    out->prove = g.prove_ms;
    out->assembly = g.cfg.lowering == KN_LOWERING_ASM;
    snprintf(out->name, sizeof out->name, "%s %s m=%d",
             kiln_target_name(p->target), g.name, (int)p->m);
}

static void
measure(struct all *all, kiln_problem p)
{
    struct cost *out = &all->row[all->n];
    int pipe_of[2];
    pid_t child;

    if (all->seen++ % all->every || all->n == MOST || pipe(pipe_of))
        return;
    *out = (struct cost){ .small = p.m > 0 };
    child = fork();
    if (!child) {
        generate(&p, out);
        _exit(write(pipe_of[1], out, sizeof *out) != sizeof *out);
    }
    close(pipe_of[1]);
    if (read(pipe_of[0], out, sizeof *out) == sizeof *out && out->made)
        all->n++;
    close(pipe_of[0]);
    waitpid(child, NULL, 0);
}

static bool
is_variant(const kiln_problem *p)
{
    kiln_problem own = *p;
    struct kn_ctx c;
    bool ok;

    kn_ctx_init(&c, NULL, NULL);
    ok = kn_problem_normalise(&c, &own) == KILN_OK && own.scale == p->scale;
    kn_ctx_free(&c);
    return ok;
}

static void
measure_family(struct all *all, kiln_problem p)
{
    for (int i = 0; i < (KILN_NTARGETS - 1) * KILN_NTYPES * KILN_NTYPES *
         KILN_NLAYOUTS * KILN_NSCALES; i++) {
        int left = i;

        p.scale = (kiln_scale)(left % KILN_NSCALES);
        left /= KILN_NSCALES;
        p.layout = (kiln_layout)(left % KILN_NLAYOUTS);
        left /= KILN_NLAYOUTS;
        p.b = (kiln_type)(left % KILN_NTYPES);
        left /= KILN_NTYPES;
        p.a = (kiln_type)(left % KILN_NTYPES);
        p.target = (kiln_target)(left / KILN_NTYPES + 1);
        if (p.a >= KILN_F16 && p.b >= KILN_F16 && is_variant(&p))
            measure(all, p);
    }
}

/* Few rows of each pair of types, and of one: gemm in its usual layout. */
static void
measure_small(struct all *all)
{
    static const int rows[] = { 1, 16, 32, 64 };
    kiln_problem p = { .size = sizeof p, .n = 7168, .k = 2048 };

    for (int t = 1; t < KILN_NTARGETS; t++)
        for (int a = KILN_F16; a < KILN_NTYPES; a++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                p.target = (kiln_target)t;
                p.a = p.b = (kiln_type)a;
                p.scale = kn_type_mx[a] ? KILN_SCALE_MX32 : KILN_SCALE_NONE;
                p.m = rows[r];
                if (is_variant(&p))
                    measure(all, p);
            }
}

static int
by_cpu(const void *a, const void *b)
{
    double x = ((const struct cost *)a)->cpu, y = ((const struct cost *)b)->cpu;

    return (x < y) - (x > y);
}

static void
tell(const struct all *all, const char *what, bool small, bool assembly)
{
    double goal = small ? 20 : 60;
    struct cost *row = calloc((size_t)all->n + 1, sizeof *row);
    int n = 0, late = 0;

    for (int i = 0; row && i < all->n; i++)
        if (all->row[i].small == small && all->row[i].assembly == assembly) {
            row[n++] = all->row[i];
            late += all->row[i].cpu > goal;
        }
    if (n) {
        printf("%s: %d kernels, CPU ms median %.1f, worst %.1f; above the "
               "goal of %.0f: %d\n", what, n, row[n / 2].cpu, row[0].cpu, goal,
               late);
        for (int i = 0; i < n; i += n / 8 + 1)
            printf("  %6.1f ms, %6.1f wall, emit %.1f, prove %.1f, %ld faults: "
                   "%s\n", row[i].cpu, row[i].wall, row[i].emit, row[i].prove,
                   row[i].faults, row[i].name);
    }
    free(row);
}

int
main(int argc, char **argv)
{
    static struct cost rows[MOST];
    struct all all = { rows, 0, 0, argc > 1 ? atoi(argv[1]) : 1 };

    all.every = all.every > 0 ? all.every : 1;
    for (int f = 0; f < KILN_NFAMILIES; f++) {
        kiln_problem p = { .size = sizeof p, .family = (kiln_family)f };

        if (kn_family_of(&p)->routed ||
            (argc > 2 && strcmp(argv[2], kn_family_names[f])))
            continue;
        p.batch = kn_family_of(&p)->batch ? 2 : 0;
        p.groups = kn_family_of(&p)->ragged ? 64 : 0;
        measure_family(&all, p);
    }
    if (argc < 3 || !strcmp(argv[2], "few-rows"))
        measure_small(&all);
    qsort(rows, (size_t)all.n, sizeof *rows, by_cpu);
    if (all.n)
        printf("all: %d kernels, CPU ms median %.1f (goal 40), worst %.1f\n",
               all.n, rows[all.n / 2].cpu, rows[0].cpu);
    tell(&all, "the list, assembly", false, true);
    tell(&all, "the list, LLVM's code generator", false, false);
    tell(&all, "few rows, assembly", true, true);
    tell(&all, "few rows, LLVM's code generator", true, false);
    return 0;
}
