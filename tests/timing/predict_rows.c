/* predict_rows.c - predicts launches of code objects listed in a file, one a
 * line, for validate.py. Buffers have sizes and no contents. A line:
 *
 *   id=NAME obj=FILE.co grid=X[,Y[,Z]] block=N [kernel=NAME] [lds=BYTES]
 *   [slot=BYTES] [flops=F] [warm=1] args=KIND:VALUE,...
 *
 * args: p:BYTES a buffer, d:FILE a buffer with contents, i:V l:V f:V values of
 * 4, 8 and 4 bytes, z:0 a null pointer. slot: bytes each argument takes (AMD's
 * assembly kernels: 16), 0: natural alignment. Output: id, then the prediction
 * as key=value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/sim/timing/timing_error.h"

enum { MAXARGS = 512 };

struct row {
    const char *id, *obj, *kernel;
    char *args;
    uint32_t grid[3], block, lds, slot;
    double flops;
    bool warm;
    uint8_t kernarg[MAXARGS];
    size_t kernarg_size;
};

static void *
reallocate(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    (void)old;
    if (size)
        return realloc(p, size);
    free(p);
    return NULL;
}

static uint8_t *
read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *p = NULL;
    long size;

    if (!f)
        return NULL;
    if (!fseek(f, 0, SEEK_END) && (size = ftell(f)) >= 0) {
        rewind(f);
        p = malloc((size_t)size + 1);
        *n = p ? fread(p, 1, (size_t)size, f) : 0;
    }
    fclose(f);
    return p;
}

static void
parse_field(struct row *r, char *key, char *value)
{
    if (!strcmp(key, "id"))
        r->id = value;
    else if (!strcmp(key, "obj"))
        r->obj = value;
    else if (!strcmp(key, "kernel"))
        r->kernel = value;
    else if (!strcmp(key, "args"))
        r->args = value;
    else if (!strcmp(key, "grid"))
        sscanf(value, "%u,%u,%u", &r->grid[0], &r->grid[1], &r->grid[2]);
    else if (!strcmp(key, "block"))
        r->block = (uint32_t)strtoul(value, NULL, 10);
    else if (!strcmp(key, "lds"))
        r->lds = (uint32_t)strtoul(value, NULL, 10);
    else if (!strcmp(key, "slot"))
        r->slot = (uint32_t)strtoul(value, NULL, 10);
    else if (!strcmp(key, "flops"))
        r->flops = strtod(value, NULL);
    else if (!strcmp(key, "warm"))
        r->warm = *value == '1';
}

static void
parse_row(char *line, struct row *r)
{
    char *save = NULL;

    *r = (struct row){ .id = "?", .grid = { 1, 1, 1 }, .block = 256 };
    for (char *f = strtok_r(line, " \n", &save); f;
         f = strtok_r(NULL, " \n", &save)) {
        char *eq = strchr(f, '=');

        if (!eq)
            continue;
        *eq = 0;
        parse_field(r, f, eq + 1);
    }
}

/* The bytes of one argument; buffers are allocated. */
static kiln_status
make_arg(struct kn_sim *s, const char *arg, uint64_t *value, unsigned *size)
{
    const char *text = strchr(arg, ':');
    float f = text ? strtof(text + 1, NULL) : 0;
    size_t n = 0;
    uint8_t *data;
    kiln_status st;

    *value = 0;
    *size = strchr("if", arg[0]) ? 4 : 8;
    if (!text || arg[0] == 'z')
        return KILN_OK;
    if (arg[0] == 'p')
        return kn_sim_alloc(s, strtoull(text + 1, NULL, 10), KN_MEM_BLANK,
                            kn_sim_zeros, NULL, value);
    if (arg[0] == 'f') {
        memcpy(value, &f, 4);
        return KILN_OK;
    }
    if (arg[0] != 'd') {
        *value = strtoull(text + 1, NULL, 10);
        return KILN_OK;
    }
    data = read_file(text + 1, &n);
    if (!data)
        return KILN_IO;
    st = kn_sim_alloc(s, n, 0, kn_sim_zeros, NULL, value);
    if (!st)
        st = kn_sim_write(s, *value, data, n);
    free(data);
    return st;
}

static kiln_status
make_kernarg(struct kn_sim *s, struct row *r)
{
    char *save = NULL;

    if (!r->args)
        return KILN_BAD_INPUT;
    for (char *a = strtok_r(r->args, ",", &save); a;
         a = strtok_r(NULL, ",", &save)) {
        unsigned size = 8, to;
        uint64_t value = 0;
        kiln_status st = make_arg(s, a, &value, &size);

        if (st)
            return st;
        to = r->slot ? r->slot : size;
        r->kernarg_size = (r->kernarg_size + to - 1) / to * to;
        if (r->kernarg_size + to > MAXARGS)
            return KILN_BAD_INPUT;
        memcpy(r->kernarg + r->kernarg_size, &value, size);
        r->kernarg_size += to;
    }
    return KILN_OK;
}

static void
print_result(const struct row *r, kiln_target target,
             const struct kn_time_result *t)
{
    struct kn_time_like like = kn_time_like_of(target, t);
    static const char *const types[] = {
#define X(id, text) #id,
        KN_TIME_TYPES(X)
#undef X
    };

    printf("%s us=%.3f tflops=%.1f eff=%.4f loop=%.0f iters=%llu ghz=%.3f "
           "duty=%.3f group=%.0f pro=%.0f epi=%.0f wgs=%llu resident=%u "
           "rounds=%.0f miss=%.3f hbm=%.3f bound=%s lds=%.3f vmem=%.3f "
           "seconds=%.2f type=%s rate=%.2f inloop=%.3f",
           r->id, t->us, t->tflops, t->mfma_efficiency,
           t->loop_cycles, (unsigned long long)t->loop_iterations,
           t->clock_ghz, t->mfma_duty, t->group_cycles, t->prologue_cycles,
           t->epilogue_cycles, (unsigned long long)t->workgroups,
           t->resident, t->rounds, t->l2_miss, t->hbm_share,
           kn_bound_name(t->bound), t->busy_lds, t->busy_vmem, t->seconds,
           types[t->type], like.rate, like.loop);
    for (int k = 0; k < KN_NSTALLS; k++)
        if (t->stall[k] >= 0.005)
            printf(" [%s]=%.1f%%", kn_stall_name((enum kn_stall)k),
                   100 * t->stall[k]);
    printf("\n");
}

static kiln_status
predict_object(struct kn_ctx *c, struct kn_sim *s, struct row *r,
               const uint8_t *bytes, size_t n)
{
    struct kn_sim_launch l = { .kernel = r->kernel,
                               .block = { r->block, 1, 1 },
                               .dynamic_lds = r->lds };
    struct kn_time_query q = { .sim = s, .launch = &l, .flops = r->flops,
                               .warm = r->warm };
    struct kn_time_result t;
    struct kn_sim_code *code;

    KN_TRY(make_kernarg(s, r));
    KN_TRY(kn_sim_load(s, r->obj, bytes, n, &code));
    KN_ENTER(c);
    l.code = code;
    l.kernarg = r->kernarg;
    l.kernarg_size = r->kernarg_size;
    memcpy(l.grid, r->grid, sizeof l.grid);
    KN_TRY(kn_time_predict(c, &q, &t));
    print_result(r, kn_sim_object(code)->target, &t);
    return KILN_OK;
}

static kiln_status
predict_row(struct kn_ctx *c, struct row *r, const uint8_t *bytes, size_t n)
{
    struct kn_object o;
    struct kn_sim *s;
    kiln_status st;

    KN_ENTER(c);
    KN_TRY(kn_object_read(c, r->obj, bytes, n, &o));
    KN_TRY(kn_sim_open(c, o.target, &s));
    st = predict_object(c, s, r, bytes, n);
    kn_sim_close(s);
    return st;
}

static int
run_line(char *line)
{
    struct kn_ctx c;
    struct row r;
    uint8_t *bytes;
    size_t n = 0;
    kiln_status st;

    parse_row(line, &r);
    bytes = r.obj ? read_file(r.obj, &n) : NULL;
    if (!bytes) {
        printf("%s error=no object\n", r.id);
        return 1;
    }
    kn_ctx_init(&c, reallocate, NULL);
    st = predict_row(&c, &r, bytes, n);
    if (st)
        printf("%s error=%s: %s\n", r.id, kiln_status_name(st), c.err.text);
    kn_ctx_free(&c);
    free(bytes);
    fflush(stdout);
    return st != KILN_OK;
}

int
main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;
    char *line = NULL;
    size_t cap = 0;
    int bad = 0;

    if (!f) {
        fprintf(stderr, "usage: predict_rows [ROWS]\n");
        return 2;
    }
    while (getline(&line, &cap, f) > 0)
        if (line[0] != '#' && line[0] != '\n')
            bad |= run_line(line);
    free(line);
    if (f != stdin)
        fclose(f);
    return bad;
}
