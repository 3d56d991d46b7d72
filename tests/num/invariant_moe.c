/* Batch invariance of moe: with kiln_problem.invariant a slot of a token has the
 * same bits whatever the number of tokens and the height of the sorted blocks.
 * What it is compared with `run moe` has computed, and held against the
 * reference; the launches are kiln_run's, which compiles a class once.
 *
 * usage: invariant_moe TARGET [full]   full: every number of tokens to 512 */
#include "moe.h"

enum { TOPK = 2, EXPERTS = 5, SEED = 5, NPARTS = 9 };

static const char *target;
static bool full;

static const struct kind {
    const char *line;        /* as `run moe` has it */
    kiln_moe_stage stage;
    kiln_type type;
    kiln_scale scale;
} kinds[] = {
    { "gemm1 --a bf16", KILN_MOE_GATE_UP, KILN_BF16, KILN_SCALE_NONE },
    { "gemm2 --a bf16", KILN_MOE_DOWN, KILN_BF16, KILN_SCALE_NONE },
    { "gemm1 --a fp8 --scale row", KILN_MOE_GATE_UP, KILN_FP8, KILN_SCALE_ROW },
    { "gemm2 --a fp8 --scale block128", KILN_MOE_DOWN, KILN_FP8,
      KILN_SCALE_BLOCK128 },
    { "gemm1 --a mxfp8", KILN_MOE_GATE_UP, KILN_MXFP8, KILN_SCALE_MX32 },
    { "gemm2 --a mxfp4", KILN_MOE_DOWN, KILN_MXFP4, KILN_SCALE_MX32 },
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

static const struct sizes { int64_t n, k; } sizes[] = {
    { 48, 320 }, { 32, 544 }, { 80, 256 },
};
enum { NSIZES = sizeof sizes / sizeof *sizes };

/* What lies on the device. */
enum part { A, B, SA, SB, IDS, OWNERS, PADDED, WEIGHTS, C };

struct room {
    const struct kind *x;
    const struct sizes *z;
    int64_t most;            /* tokens that there are operands for */
    kiln_context *context;
    kiln_device *device;
    void *at[NPARTS];
    uint8_t *golden, *got;
    size_t row;              /* bytes of a slot of the output */
};

static void
ok(kiln_status s, const kiln_error *e)
{
    if (s)
        fail_msg("%s: %s", kiln_status_name(s), e->text);
}

static void
take(struct room *r, enum part part, uint64_t size)
{
    kiln_error e;

    ok(kiln_malloc(r->device, (size + 4) / 4 * 4, &r->at[part], &e), &e);
}

static void
put(struct room *r, enum part part, const void *data, uint64_t size)
{
    kiln_error e;

    ok(kiln_upload(r->device, r->at[part], data, (size_t)size, &e), &e);
}

/* The operand that `run moe` has of this seed and number. */
static void
fill(struct room *r, enum part part, uint64_t seed, struct kn_data d)
{
    bool down = r->x->stage == KILN_MOE_DOWN;
    uint8_t *bytes;

    d.seed = seed;
    d.operand = (down ? 4u : 0u) + (uint32_t)part;
    d.target = strcmp(target, "gfx942") ? KILN_GFX950 : KILN_GFX942;
    d.scale = part == SA || part == SB;
    d.batches += !d.batches;
    kn_data_shape(&d, 0, 0);
    bytes = malloc(kn_data_bytes(&d));
    assert_non_null(bytes);
    kn_data_fill(&d, 0, bytes, kn_data_bytes(&d));
    if (!r->at[part])
        take(r, part, kn_data_bytes(&d));
    put(r, part, bytes, kn_data_bytes(&d));
    free(bytes);
}

static void
fill_all(struct room *r, uint64_t seed)
{
    bool up = r->x->stage == KILN_MOE_GATE_UP;
    int64_t rows = r->most * (up ? 1 : TOPK), n = up ? 2 * r->z->n : r->z->n;
    int64_t k = r->z->k;
    kiln_type t = r->x->type;

    fill(r, A, seed, (struct kn_data){ .type = t, .rows = rows, .cols = k });
    fill(r, B, seed, (struct kn_data){ .type = t, .batches = EXPERTS, .rows = n,
                                       .cols = k });
    if (r->x->scale == KILN_SCALE_ROW) {
        fill(r, SA, seed, (struct kn_data){ .type = KILN_F32, .rows = 1,
                                            .cols = rows });
        fill(r, SB, seed, (struct kn_data){ .type = KILN_F32, .rows = 1,
                                            .batches = EXPERTS, .cols = n });
    } else if (r->x->scale) {
        bool mx = r->x->scale == KILN_SCALE_MX32;
        int64_t blocks = mx ? (k + 31) / 32 : (k + 127) / 128;

        t = mx ? t : KILN_F32;
        fill(r, SA, seed, (struct kn_data){ .type = t, .rows = rows,
                                            .cols = blocks });
        fill(r, SB, seed, (struct kn_data){
            .type = t, .batches = EXPERTS, .rows = mx ? n : (n + 127) / 128,
            .cols = blocks });
    }
}

/* Slots of the most tokens, by `run moe`. */
static void
make_golden(struct room *r)
{
    const char *wide = r->x->stage == KILN_MOE_DOWN ? "hidden" : "inter";
    size_t size = (size_t)(r->most * TOPK) * r->row;
    char line[300];
    struct kn_ctx c;

    snprintf(line, sizeof line, "--stage %s --%s %d --%s %d --experts %d --topk "
             "%d --tokens %d --invariant --seed %d --device sim:%s --out-file "
             "moe-golden-%s.bin", r->x->line, wide, (int)r->z->n,
             strcmp(wide, "inter") ? "inter" : "hidden", (int)r->z->k, EXPERTS,
             TOPK, (int)r->most, SEED, target, target);
    expect_run(line, KILN_OK);
    snprintf(line, sizeof line, "moe-golden-%s.bin", target);
    kn_ctx_init(&c, NULL, NULL);
    r->golden = malloc(size);
    r->got = malloc(size);
    assert_true(r->golden && r->got);
    memcpy(r->golden, read_file(&c, line, size), size);
    kn_ctx_free(&c);
}

static void
open_room(struct room *r, const struct kind *x, const struct sizes *z)
{
    kiln_options o = { .size = sizeof o, .flags = KILN_NO_DISK };
    uint64_t most = 4 * (uint64_t)kn_moe_room(full ? 512 : 96, TOPK, EXPERTS, 128);
    char name[16];
    kiln_error e;

    *r = (struct room){ .x = x, .z = z, .most = full ? 512 : 96,
                        .row = (size_t)z->n * 2 };
    make_golden(r);
    ok(kiln_open(&o, &r->context, &e), &e);
    snprintf(name, sizeof name, "sim:%s", target);
    ok(kiln_open_device(r->context, name, &r->device, &e), &e);
    fill_all(r, SEED);
    for (enum part i = IDS; i < C; i++)
        take(r, i, most);
    take(r, C, (uint64_t)(r->most * TOPK) * r->row);
}

static void
close_room(struct room *r)
{
    kiln_close_device(r->device);
    kiln_close(r->context);
    free(r->golden);
    free(r->got);
}

/* The routing of so many tokens, sorted in blocks; the rows there is room for. */
static int64_t
sort(struct room *r, int64_t tokens, uint32_t block_m)
{
    struct kn_moe_routing routing = { .tokens = tokens, .topk = TOPK,
                                      .experts = EXPERTS };
    struct kn_moe_sorted s = { 0 };
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_moe_route(&c, SEED, EXPERTS, false, &routing), KILN_OK);
    assert_int_equal(kn_moe_sort(&c, &routing, block_m, &s), KILN_OK);
    put(r, IDS, s.ids, 4 * (uint64_t)s.room);
    put(r, WEIGHTS, s.weights, 4 * (uint64_t)s.room);
    put(r, OWNERS, s.experts, 4 * (uint64_t)(s.room / block_m));
    put(r, PADDED, &s.padded, 4);
    kn_ctx_free(&c);
    return s.room;
}

/* Whether all slots of so many tokens have golden's bits. */
static bool
same(struct room *r, int64_t tokens)
{
    uint8_t block_m = (uint8_t)(16 << tokens % 4);
    kiln_problem p = {
        .size = sizeof p, .family = KILN_MOE, .a = r->x->type, .b = r->x->type,
        .out = KILN_BF16, .scale = r->x->scale, .stage = (uint8_t)r->x->stage,
        .block_m = block_m, .invariant = 1, .m = sort(r, tokens, block_m),
        .n = r->z->n, .k = r->z->k, .groups = EXPERTS, .tokens = tokens,
        .topk = TOPK,
    };
    kiln_arguments args = {
        .size = sizeof args, .a = r->at[A], .b = r->at[B], .c = r->at[C],
        .sa = r->at[SA], .sb = r->at[SB], .offsets = r->at[IDS],
        .experts = r->at[OWNERS], .padded = r->at[PADDED],
        .weights = r->at[WEIGHTS],
    };
    size_t size = (size_t)(tokens * TOPK) * r->row;
    kiln_error e;

    memset(r->got, 0xff, size);
    put(r, C, r->got, size);
    ok(kiln_run(r->device, &p, &args, &e), &e);
    ok(kiln_download(r->device, r->got, r->at[C], size, &e), &e);
    return !memcmp(r->got, r->golden, size);
}

static void
test_kind(void **state)
{
    static const int few[] = { 1, 2, 7, 16, 33, 96 };
    const struct kind *x = *state;
    struct room r;

    for (size_t z = 0; z < NSIZES; z++) {
        int64_t n = full ? 512 : sizeof few / sizeof *few;

        if (!full && z != (size_t)(x - kinds) % NSIZES)
            continue;
        open_room(&r, x, &sizes[z]);
        for (int64_t i = 0; i < n; i++) {
            int64_t tokens = full ? i + 1 : few[i];

            if (!same(&r, tokens))
                fail_msg("%s, N %d K %d, %d tokens: other bits", x->line,
                         (int)r.z->n, (int)r.z->k, (int)tokens);
        }
        close_room(&r);
    }
}

/* The comparison sees operands of another seed. */
static void
test_others_differ(void **state)
{
    struct room r;

    (void)state;
    open_room(&r, &kinds[0], &sizes[0]);
    assert_true(same(&r, 3));
    fill_all(&r, SEED + 1);
    assert_false(same(&r, 3));
    close_room(&r);
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[NKINDS + 1];
    size_t n = 0;

    if (argc < 2)
        return 2;
    target = argv[1];
    full = argc > 2;
    for (; n < NKINDS; n++)
        tests[n] = (struct CMUnitTest){ kinds[n].line, test_kind, NULL, NULL,
                                        (void *)(uintptr_t)&kinds[n] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_others_differ);
    return _cmocka_run_group_tests("invariant_moe", tests, n, NULL, NULL);
}
