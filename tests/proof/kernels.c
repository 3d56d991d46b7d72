/* kernels.c - see kernels.h. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint32_t bm, bn, wm, wn;
} tiles[] = {
    { 256, 256, 2, 4 }, { 128, 256, 2, 4 }, { 128, 128, 2, 2 },
    { 64, 128, 2, 2 },  { 64, 64, 2, 2 },   { 32, 32, 2, 2 },
    { 256, 256, 2, 2 },      /* the assembly lowering's */
};
/* moe: a tile row is block_m sorted rows */
static const struct {
    uint32_t bm, bn, wm, wn;
} moe_tiles[] = {
    { 128, 128, 2, 2 }, { 64, 128, 1, 4 }, { 32, 128, 1, 4 }, { 16, 64, 1, 2 },
};
static const struct {
    int64_t n, k;
    uint32_t base;
} shapes[] = {
    { 4096, 8192, 16 }, { 4096, 4104, 16 }, { 4100, 4100, 16 },
    { 4101, 4101, 4 },
};

/* ---- kernels that are one ---- */

static uint64_t
mix(uint64_t h, uint64_t v)
{
    return kn_mix(h ^ v);
}

static uint64_t
operand_hash(const struct kn_fn *f, uint64_t h, kn_ref r)
{
    const struct kn_const *k = &f->konst[KN_REF_INDEX(r)];

    return KN_REF_TAG(r) == KN_R_CONST ? mix(h, (uint64_t)k->i) : mix(h, r);
}

static uint64_t
order_hash(const struct kn_fn *f)
{
    uint64_t h = mix(0xcbf29ce484222325ull, f->shape.wm << 8 | f->shape.wn);

    for (size_t i = 0; i < f->nlds; i++)
        h = mix(h, (uint64_t)kn_geometry(f, &f->lds[i]).bytes << 8 |
                   f->lds[i].slots);
    for (size_t i = 0; i < f->nins; i++) {
        const struct kn_ins *x = &f->ins[i];

        h = mix(h, (uint64_t)x->op << 32 | x->dst);
        if (x->op == KN_OP_assume)
            continue;
        for (int a = 0; a < KN_MAXARG && x->arg[a]; a++)
            h = operand_hash(f, h, x->arg[a]);
        for (int a = 0; a < KN_NATTR; a++)
            if (a == KN_A_elem)
                h = mix(h, kn_elems[x->attr[a]].bits);
            else if (a != KN_A_shape && a != KN_A_ta && a != KN_A_tb)
                h = mix(h, (uint32_t)x->attr[a]);
    }
    return h | 1;
}

bool
order_is_new(struct digests *s, const struct made *m)
{
    bool met;

    digest_place(s, mix(order_hash(m->f), m->config->lowering), &met);
    return !met;
}

enum { REFUSED = 1, KERNEL };       /* and its number */

static unsigned
pass(struct kernels *k, struct kn_fn *f, const struct made *m)
{
    const kiln_error *e = &f->c->err;
    kiln_status s = kn_run_passes(&f, NULL, NULL);
    struct made made = *m;
    unsigned number = 0;

    if (!s) {
        made.f = f;
        made.number = &number;
        k->distinct++;
        k->kernel(k->user, &made);
        return KERNEL + number;
    }
    printf("# refused: %s %s: %s:%d: %s\n", f->name,
           kiln_target_name(f->target), e->file, e->line, e->text);
    return REFUSED;
}

/* A kernel that differs in its name only has been through all this. */
static void
pass_once(struct kernels *k, struct kn_fn *f, const struct made *m)
{
    uint64_t digest = mix(kernel_digest(f), k->mains ? m->config->lowering : 0);
    unsigned *place, what;
    bool met;

    place = digest_place(&k->tiles, digest, &met);
    if (!met)
        *place = pass(k, f, m);
    what = *place;
    k->refused += what == REFUSED;
    k->made += what >= KERNEL;
    if (what >= KERNEL && met && k->again)
        k->again(k->user, what - KERNEL);
}

static void
one(struct kernels *k, const kiln_problem *problem, struct kn_config g,
    uint32_t base, unsigned number)
{
    kiln_problem p = *problem;
    struct kn_ctx c;
    struct kn_fn *f;

    if (number % k->of != k->shard)
        return;
    kn_ctx_init(&c, NULL, NULL);
    if (!kn_problem_normalise(&c, &p)) {
        g.domain = kn_domain_of(&p, base, 128);
        if (!kn_choose(&c, &p, &g, NULL) && !kn_instantiate(&c, &p, &g, &f))
            pass_once(k, f, &(struct made){ f, &p, &g, NULL });
    }
    kn_ctx_free(&c);
}

bool
generate_made(const struct made *m, struct kn_generated *g,
              unsigned *lacks_row)
{
    struct kn_ctx *c = m->f->c;
    struct kn_watch watch = { .lowering = m->config->lowering };
    kiln_status s = kn_generate_program(c, (struct kn_fn *)(uintptr_t)m->f,
                                        &watch, g);
    struct kn_buf b = { .c = c };

    if (!s)
        return true;
    if (s == KILN_UNSUPPORTED && m->config->lowering == KN_LOWERING_ASM) {
        ++*lacks_row;
        return false;
    }
    *lacks_row += c->crowded; /* a tile that spills is refused, as it should */
    kn_config_print(m->config, &b);
    printf("# not made: %s for %s, scale %s, bias %d, beta %d, %s: %s\n",
           m->f->name, kiln_target_name(m->f->target),
           kn_scale_names[m->problem->scale], m->problem->bias,
           m->problem->beta, b.s, c->err.text);
    return false;
}

/* What nothing was asked for: of rows at lines, at any byte and inside lines; moe in
 * the tiles that its rows come in. */
static void
each_default(struct kernels *k, kiln_problem p, unsigned *number)
{
    static const int64_t sizes[][3] = { { 4096, 4096, 8192 },
                                        { 4099, 4101, 4107 },
                                        { 4096, 4096, 4112 } };

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int by = 0; by < (s ? 1 : KN_NLOWERINGS); by++) {
            struct kn_config g = { .lowering = (enum kn_lowering)by };

            p.m = p.family == KILN_MOE ? p.m : sizes[s][0];
            p.n = sizes[s][1];
            p.k = sizes[s][2];
            p.block_m = p.family != KILN_MOE ? 0 : s ? 32 : 128;
            one(k, &p, g, s == 1 ? 1 : 16, (*number)++);
        }
}

static void
each_setting(struct kernels *k, kiln_problem p, unsigned *number)
{
    bool moe = p.family == KILN_MOE;
    size_t n = moe ? sizeof moe_tiles / sizeof *moe_tiles
                   : sizeof tiles / sizeof *tiles;

    for (size_t t = 0; t < n; t++)
        for (uint32_t stages = 1; stages <= 3; stages++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                for (uint32_t cus = 0; cus <= 256; cus += 256) {
                    struct kn_config g = { .stages = stages, .cus = cus,
                                             .split_k = k->split_k };

                    g.bm = moe ? moe_tiles[t].bm : tiles[t].bm;
                    g.bn = moe ? moe_tiles[t].bn : tiles[t].bn;
                    g.wm = moe ? moe_tiles[t].wm : tiles[t].wm;
                    g.wn = moe ? moe_tiles[t].wn : tiles[t].wn;
                    if (!moe && t + 1 == n)
                        g.lowering = KN_LOWERING_ASM;
                    p.block_m = (uint8_t)(moe ? g.bm : 0);
                    g.early = moe ? *number % KN_NEARLIES : 0;
                    p.n = shapes[s].n;
                    p.k = shapes[s].k;
                    one(k, &p, g, shapes[s].base, (*number)++);
                    if (stages == 1)
                        continue;
                    g.early = 0;
                    g.schedule = stages == 2 ? KN_SCHED_DIRECT
                                             : KN_SCHED_UNROLLED;
                    one(k, &p, g, shapes[s].base, (*number)++);
                }
}

static void
each_config(struct kernels *k, kiln_problem p, unsigned *number)
{
    if (k->mains) {
        each_default(k, p, number);
        return;
    }
    each_setting(k, p, number);
}

static void
each_stage(struct kernels *k, kiln_problem p, unsigned *number)
{
    if (p.family != KILN_MOE) {
        p.bias = p.family != KILN_WGRAD && p.out != KILN_I32;
        p.beta = p.out != KILN_I32;
        each_config(k, p, number);
        return;
    }
    p.tokens = 512;
    p.topk = 4;
    p.m = 4096;
    for (int stage = KILN_MOE_GATE_UP; stage <= KILN_MOE_REDUCE; stage++) {
        p.stage = (uint8_t)stage;
        p.atomic = 0;
        each_config(k, p, number);
    }
    p.stage = KILN_MOE_DOWN;
    p.atomic = 1;
    each_config(k, p, number);
}

static bool
ragged(kiln_family f)
{
    return f == KILN_GROUPED || f == KILN_WGRAD || f == KILN_MOE;
}

/* As they lie in memory, then with B preshuffled, scales shuffled or
 * transposed. */
static void
each_stored(struct kernels *k, kiln_problem p, unsigned *number)
{
    bool nt = p.layout == KILN_NT;

    for (int stored = 0; stored < 6; stored += nt ? 1 : 4) {
        p.b_layout = (uint8_t)(stored & 1);
        p.scale_layout = (uint8_t)(stored >> 1);
        for (int split = 1; split <= (k->mains ? 1 : 4); split += 3) {
            k->split_k = (uint8_t)split;
            each_stage(k, p, number);
        }
    }
}

static void
each_operand(struct kernels *k, kiln_problem p, unsigned *number)
{
    for (int a = 1; a < KILN_NTYPES; a++)
        for (int b = 1; b < KILN_NTYPES; b++)
            for (int layout = 0; layout < KILN_NLAYOUTS; layout++)
                for (int scale = 0; scale < KILN_NSCALES; scale++) {
                    p.a = (kiln_type)a;
                    p.b = (kiln_type)b;
                    p.layout = (kiln_layout)layout;
                    p.scale = (kiln_scale)scale;
                    p.out = p.a == KILN_F64 ? KILN_F64 : KILN_BF16;
                    each_stored(k, p, number);
                }
}

static void
each_problem(struct kernels *k)
{
    unsigned number = 0;
    char name[64];

    for (int family = 0; family < KILN_NFAMILIES; family++)
        for (int target = 1; target < KILN_NTARGETS; target++) {
            kiln_problem p = { .size = sizeof p, .m = 4096,
                               .out = KILN_BF16 };

            p.family = (kiln_family)family;
            p.target = (kiln_target)target;
            p.batch = family == KILN_BATCHED ? 4 : 0;
            p.groups = ragged(p.family) ? 4 : 0;
            each_operand(k, p, &number);
            snprintf(name, sizeof name, "%s for %s", kn_family_names[family],
                     kiln_target_name(p.target));
            if (k->part)
                k->part(k->user, k, name);
        }
    digests_free(&k->tiles);
}

bool
take_share(struct kernels *k, int argc, char **argv)
{
    if (argc < 2)
        return false;
    k->of = argc > 3 ? (unsigned)atoi(argv[2]) : 1;
    k->shard = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    if (!strcmp(argv[1], "all") && k->shard < k->of)
        return true;
    fprintf(stderr, "usage: %s [all [OF SHARD]]\n", argv[0]);
    exit(2);
}

void
each_kernel(struct kernels *k)
{
    k->mains = false;
    each_problem(k);
}

void
each_main(struct kernels *k)
{
    k->mains = true;
    each_problem(k);
}
