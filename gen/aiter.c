/* aiter.c - aiter.def: which loader launches a problem, what it asks of a
 * kernel, and a launch as it makes it. */
#include "aiter.h"

#include <string.h>

#include "forms.h"
#include "instantiate.h"
#include "launch/terms.h"

/* LARGE: a tile of so many rows and columns has a loop for four waves of its
 * own. */
enum {
    SLOT = 16, WAVES = 4, PANEL_ROWS = 16, LARGE = 256, MOST_SHARES = 16,
    PANEL_COLUMNS = 128      /* of gate, where a tile is open */
};

struct loader {
    const char *folder, *columns;
    uint32_t tile_n, unit_n, unit_k, slots;
    bool either;
    char split;
};

static const struct loader loaders[KN_NLOADERS] = {
#define LOADER(id, folder, tile_n, unit_n, unit_k, slots, either, split,      \
               columns)                                                       \
    [KN_LOADER_##id] = { folder, columns, tile_n, unit_n, unit_k, slots,      \
                         either, split },
#include "aiter.def"
};

static const struct product {
    enum kn_loader loader;
    kiln_type a, b, out;
    kiln_scale scale;
    kiln_scale_layout scale_layout;
    kiln_epilogue epilogue;
    kiln_out_scale out_scale;
    kiln_moe_stage stage;
    bool weighed;
    const char *table;
} products[] = {
#define SERVES(id, table, a, b, out, scale, layout, epilogue)                 \
    { KN_LOADER_##id, KILN_##a, KILN_##b, KILN_##out, KILN_SCALE_##scale,     \
      KILN_SCALE_##layout, KILN_EPILOGUE_##epilogue, KILN_OUT_PLAIN,          \
      KILN_MOE_NONE, false, table },
#define GATES(id, table, a, b, out, out_scale, scale, layout, weigh)          \
    { KN_LOADER_##id, KILN_##a, KILN_##b, KILN_##out, KILN_SCALE_##scale,     \
      KILN_SCALE_##layout, KILN_EPILOGUE_NONE, KILN_OUT_##out_scale,          \
      KILN_MOE_GATE_UP, KILN_WEIGHT_##weigh == KILN_WEIGHT_BEFORE, table },
#include "aiter.def"
};

static const struct product *
product_of(const kiln_problem *p, const struct kn_config *g)
{
    bool weighed = p->stage && p->weigh == KILN_WEIGHT_BEFORE;

    if (g->abi != KN_ABI_AITER || p->family != (p->stage ? KILN_MOE : KILN_GEMM) ||
        p->layout != KILN_NT || p->beta || p->quant || p->amax || p->out2 || p->round ||
        kn_powers(p))
        return NULL;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const struct product *q = &products[i];

        if (p->a == q->a && p->b == q->b && p->out == q->out &&
            p->scale == q->scale && p->scale_layout == q->scale_layout &&
            p->epilogue == q->epilogue && p->out_scale == q->out_scale &&
            p->stage == q->stage && weighed == q->weighed)
            return q;
    }
    return NULL;
}

enum kn_loader
kn_loader_of(const kiln_problem *p, const struct kn_config *g)
{
    const struct product *q = product_of(p, g);

    return q ? q->loader : KN_LOADER_none;
}

bool
kn_loader_alpha(enum kn_loader l)
{
    static const bool has[KN_NLOADERS] = {
#define ALPHA(id, slot) [KN_LOADER_##id] = true,
#include "aiter.def"
    };

    return has[l];
}

/* What aiter has a loader for, of the same types if there is one. */
static kiln_status
refuse(struct kn_ctx *c, const kiln_problem *p)
{
    const struct product *q = products;
    size_t n = sizeof products / sizeof *products;

    for (size_t i = 2 * n; i-- > 0;) {   /* first any scale, then its own */
        const struct product *of = &products[i % n];

        if (of->a == p->a && of->b == p->b &&
            (of->stage != 0) == kn_family_of(p)->routed &&
            (i >= n || of->scale == p->scale))
            q = of;
    }
    return kn_fail(c, KILN_UNSUPPORTED, "aiter has no assembly loader for this "
                   "product; it has one for %s, %s x %s -> %s, scale %s, "
                   "scale layout %s, epilogue %s",
                   q->stage ? "moe gemm1" : "gemm nt", kiln_type_name(q->a),
                   kiln_type_name(q->b), kiln_type_name(q->out),
                   kn_scale_names[q->scale], kn_scale_layout_names[q->scale_layout],
                   kn_epilogue_names[q->epilogue]);
}

/* The domain of all that the loader launches with a tile of bn columns. */
static struct kn_domain
domain_of(const kiln_problem *p, const struct loader *l, uint32_t bn,
          uint32_t bk)
{
    kiln_problem least = *p;
    uint32_t unit = l->unit_n ? l->unit_n : bn ? bn : PANEL_ROWS;

    least.m = 1;
    least.n = p->b_layout && unit < PANEL_ROWS ? PANEL_ROWS : unit;
    least.k = l->unit_k;
    least.lda = least.ldb = least.ldc = 0;
    return kn_domain_of(&least, 256, bk);
}

/* A tile of the columns that all of the loader's have. */
static void
take_columns(const kiln_problem *p, uint32_t columns, uint32_t bk,
             struct kn_config *g)
{
    g->bn = columns;
    g->bk = bk;
    g->bm = kn_block_rows(p);
    if (!p->stage)
        g->bm = p->m && p->m <= 32 ? 32 : p->m && p->m <= 64 ? 64 : 128;
}

static uint32_t
columns_of(const kiln_problem *p, const struct kn_config *g)
{
    return g->bn ? kn_tile_columns(p, g) : 0;
}

/* What the loader gives sorted rows with. */
static kiln_status
check_moe(struct kn_ctx *c, const kiln_problem *p)
{
    if ((p->ldc && p->ldc != p->n) || p->ldsa || p->ldsb)
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loader of moe gemm1 has "
                       "dense rows of D and of scales: no --ldc, --ldsa, --ldsb");
    if (p->b_layout == KILN_B_HALVES && p->id_format == KILN_IDS_PACKED &&
        (p->act == KILN_SILU || p->act == KILN_GELU_TANH))
        return KILN_OK;
    return kn_fail(c, KILN_UNSUPPORTED, "aiter's loader of moe gemm1 has packed "
                   "ids, weights of --b-layout preshuffled-halves, and --act "
                   "silu or gelu_tanh");
}

kiln_status
kn_aiter_serves(struct kn_ctx *c, const kiln_problem *p,
                const struct kn_config *g)
{
    enum kn_loader l = kn_loader_of(p, g);

    if (!loaders[l].slots)
        return refuse(c, p);
    if (p->alpha_set && !kn_loader_alpha(l))
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loader %s gives the "
                       "product no factor: no --alpha", loaders[l].folder);
    return p->stage ? check_moe(c, p) : KILN_OK;
}

void
kn_aiter_open(const kiln_problem *p, uint32_t bk, struct kn_config *g)
{
    const struct loader *l = &loaders[kn_loader_of(p, g)];

    if (!g->bm && (l->tile_n || p->stage))
        take_columns(p, p->stage ? 2 * PANEL_COLUMNS : l->tile_n, bk, g);
    if (!g->wm && !kn_schedules[g->schedule].asm_only &&
        (g->bm < LARGE || g->bn < LARGE)) {
        g->wm = g->bm && (g->bm < (p->stage ? 128 : 32) ||
                          g->bm % (2 * PANEL_ROWS)) ? 1 : 2;
        g->wn = WAVES / g->wm;
    }
    if (g->split_k > 1)
        g->loader_split = g->split_k;
    g->split_k = 1;
    if (l->split == 'F') {
        g->loader_split = MOST_SHARES;
        g->early = g->early ? g->early : KN_EARLY_IDS;
    }
    g->domain = domain_of(p, l, columns_of(p, g), g->bk ? g->bk : bk);
}

/* Shares are added to D in pairs of columns. */
static kiln_status
settle_split(struct kn_ctx *c, struct kn_config *g, const struct loader *l)
{
    uint32_t n = g->loader_split;

    if (n < 2 || l->split == 'F')    /* there, an empty share ends */
        return KILN_OK;
    if (l->split == 'G')
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loader of moe gemm1 with "
                       "block scales does not divide K: no --split-k");
    if (l->split == 'Z' && n & (n - 1))
        return kn_fail(c, KILN_BAD_INPUT, "aiter's loader %s divides K into 2, "
                       "4, 8 or 16 shares, not %u", l->folder, n);
    if (g->domain.vec < 2 || g->store == KN_STORE_LDS)
        return kn_fail(c, KILN_UNSUPPORTED, "shares of K are added to D in pairs "
                       "of columns: %s", g->domain.vec < 2
                       ? "--b-layout preshuffled" : "no --store lds");
    g->domain.ktail = 1;     /* a share may be empty */
    return KILN_OK;
}

kiln_status
kn_aiter_settle(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    const struct loader *l = &loaders[kn_loader_of(p, g)];

    if (g->wm * g->wn != WAVES)
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loaders launch 4 waves a "
                       "workgroup, not %u: --waves 2x2, 1x4 or 4x1",
                       g->wm * g->wn);
    if (g->cus || g->split_after)
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loaders launch a workgroup "
                       "a tile: no --%s", g->cus ? "cus" : "split-after");
    if (l->either && g->store == KN_STORE_LDS)
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loader %s says in the launch "
                       "what D is of, so it is not stored by LDS", l->folder);
    if (l->tile_n && g->bn != l->tile_n)
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loader %s has tiles of %u "
                       "columns, not %u", l->folder, l->tile_n, g->bn);
    g->domain = domain_of(p, l, columns_of(p, g), g->bk);
    return settle_split(c, g, l);
}

/* ---- the kernel's arguments --------------------------------------------- */

struct argument {
    enum kn_loader loader;
    uint32_t slot;
    const char *name, *type; /* of the tile IR */
};

static const struct argument arguments[] = {
#define POINTER(id, slot, operand)                                            \
    { KN_LOADER_##id, slot, #operand "0", "ptr" },
#define NUMBER(id, slot, name, most, formula)                                 \
    { KN_LOADER_##id, slot, #name, "i32 max=$(" #most ")" },
#define ALPHA(id, slot) { KN_LOADER_##id, slot, "alpha", "f32" },
#include "aiter.def"
};

static const char *const shares[KN_NLOADERS] = {
#define SHARES(id, text) [KN_LOADER_##id] = text,
#include "aiter.def"
};

static const struct {
    enum kn_loader loader;
    const char *name, *type, *text;
} derived[] = {
#define THEN(id, name, type, text) { KN_LOADER_##id, #name, #type, text },
#include "aiter.def"
};

enum {
    NARGUMENTS = sizeof arguments / sizeof *arguments,
    NDERIVED = sizeof derived / sizeof *derived
};

static const struct argument *
argument_at(enum kn_loader l, uint32_t slot)
{
    for (size_t i = 0; i < NARGUMENTS; i++)
        if (arguments[i].loader == l && arguments[i].slot == slot)
            return &arguments[i];
    return NULL;
}

static bool
has_argument(enum kn_loader l, const char *name)
{
    for (size_t i = 0; i < NARGUMENTS; i++)
        if (arguments[i].loader == l && !strcmp(arguments[i].name, name))
            return true;
    return false;
}

/* The workgroup's tile of columns along x and rows along y, its share of K. */
static void
put_tile(struct kn_buf *b, enum kn_loader l)
{
    bool x = loaders[l].split == 'X';

    kn_put(b, ".def aiter_tile()\n.if loader_split\n");
    kn_put(b, shares[l] ? shares[l] : "");
    kn_putf(b, "%%share:s.i32 = %s\n%%share = assume %%share, 15\n%s",
            x ? "urem %pid, %ks" : "wg first=2",
            x ? "%pid = udiv %pid, %ks\n" : "");
    kn_put(b, "%first:s.b1 = eq %share, 0\n"
           "%nb:s.i32 = select %first, %n, 0\n.end\n"
           "%row:s.i32 = wg first=1\n%row = mul %row, %tn\n"
           "%pid = add %pid, %row\n%pid = assume %pid, $TILES\n.end\n");
}

/* The counter of the workgroup's tile, which every wave of every share counts in,
 * and those of the first once more, when they have filled D with zeros: the last
 * returns it to zero. */
static const char counter[] =
    "%one:s.i32 = assume %pid, 1023\n%one = shl %one, 2\n"
    "%sem:s.ptr = padd %SEM0, %one\n"
    "%most:s.i32 = shl %ks, 2\n%most = add %most, 3\n";

/* D filled with zeros by the first share: what the others may add to. */
static const char zeros[] =
    ".if loader_split\n%opens:s.i32 = select %first, %ks, 1\n"
    "%divided:s.b1 = ne %opens, 1\n%wide:s.b1 = eq %half, 0\nif %divided\n"
    "counter()\nif %wide\n"
    "store.zero %acc, %C, %m0, %n0, %M, %N, %pc elem=f32 vec=2\nelse\n"
    "store.zero %acc, %C, %m0, %n0, %M, %N, %pc elem=bf16 vec=2\nend\n"
    "count.in %sem, %most\nend\n.end\n";

/* There may be more shares than K tiles. */
static const char no_share[] =
    "%empty:s.b1 = eq %K, 0\nif %empty\nstop\nend\n";

/* Of bf16 or f32, as the launch says. */
static const char store_as[] =
    ".def store_as(type, how)\nstore %$ACC, %C, %m0, %n0, %M, %N, "
    "%pc$(store_by_lds ? ', %sC[0]' : '') elem=$type vec=$VEC$how\n.end\n",
                  either[] =
    ".def either(how)\n%wide:s.b1 = eq %half, 0\nif %wide\n"
    "store_as('f32', how)\nelse\nstore_as('bf16', how)\nend\n.end\n";

static const char stores_either[] =
    ".if loader_split\n%usual:s.b1 = eq %ks, 1\nif %usual\neither('')\nelse\n"
    "counter()\ncount.wait %sem\neither(' atomic=1')\ncount.in %sem, %most\n"
    "end\n.else\neither('')\n.end\n";

static const char stores_one[] =
    ".if loader_split\n%usual:s.b1 = eq %ks, 1\nif %usual\n"
    "store_as(TC, '')\nelse\nstore_as(TC, ' atomic=1')\nend\n"
    ".else\nstore_as(TC, '')\n.end\n";

/* Of moe's gemm1: an activation as the launch says; where it divides K there is
 * none, and gate and up are added to f32 [rows, 2 N]. */
static const char gates[] =
    ".def either_gate()\n%silu:s.b1 = eq %gelu, 0\nif %silu\nstore_gated(0)\n"
    "else\nstore_gated(3)\nend\n.end\n"
    ".def aiter_gate()\n.if loader_split\nshared_gate()\n.else\neither_gate()\n"
    ".end\n.end\n",
                  shares_of_gate[] =
    ".def shared_gate()\n%usual:s.b1 = eq %ks, 1\nif %usual\neither_gate()\n"
    "else\n"
    "%cleft:s.i32 = sub %N, %n0\n%pboth:s.i32 = shl %n, 3\n%pboth = assume %pboth, $MAX_pc\n"
    "%off = sext %n0\nadd_columns(4)\n%off = sext %n\n%g64 = sext %n0\n"
    "%off = add %off, %g64\nadd_columns(5)\nend\n.end\n"
    ".def add_columns(of)\n%part:tile = acc.gate %$ACC act=$of\n"
    "%off = shl %off, 2\n%CT:s.ptr = padd %C, %off\n"
    "store.rows %part, %CT, %rid, %live, %topk, %cleft, %pboth elem=f32 vec=1 "
    "slots=1 atomic=1\n.end\n";

/* What comes before the sums, and how they leave. */
static void
put_store(struct kn_buf *b, enum kn_loader l)
{
    bool counted = loaders[l].split == 'S';

    kn_put(b, store_as);
    if (loaders[l].split == 'F' || loaders[l].split == 'G')
        kn_put(b, gates);
    if (loaders[l].split == 'F')
        kn_put(b, shares_of_gate);
    if (counted)
        kn_putf(b, ".def counter()\n%s.end\n%s", counter, either);
    kn_putf(b, ".def aiter_open()\n%s.end\n", counted ? zeros
            : loaders[l].split == 'F' ? no_share : "");
    kn_putf(b, ".def aiter_store()\n%s.end\n",
            counted ? stores_either : stores_one);
}

const char *
kn_loader_template(struct kn_ctx *c, enum kn_loader l)
{
    static const char *const pointers[] = { "SA0", "SB0", "BIAS0" };
    struct kn_buf b = { .c = c };

    kn_put(&b, ".def aiter_args()\n");
    for (uint32_t slot = 0; slot < loaders[l].slots; slot++) {
        const struct argument *a = argument_at(l, slot);

        if (a)
            kn_putf(&b, "arg %%%s %s\narg %%_%u i64\n", a->name, a->type, slot);
        else
            kn_putf(&b, "arg %%_%u i64\narg %%__%u i64\n", slot, slot);
    }
    for (size_t i = 0; i < NDERIVED; i++)
        if (derived[i].loader == l)
            kn_putf(&b, "%%%s:s.%s = %s\n", derived[i].name, derived[i].type,
                    derived[i].text);
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        if (!has_argument(l, pointers[i]))
            kn_putf(&b, "%%%s:s.ptr = padd %%C0, 0\n", pointers[i]);
    if (!has_argument(l, "G"))
        kn_put(&b, "%G:s.i32 = mov 1\n");
    kn_put(&b, ".end\n");
    put_tile(&b, l);
    put_store(&b, l);
    return b.s;
}

/* ---- a launch ----------------------------------------------------------- */

static void
put(struct kn_plan *plan, uint32_t slot, const void *v, size_t size)
{
    memcpy(plan->kernarg + (size_t)slot * SLOT, v, size);
}

static void
put_pointer(struct kn_plan *plan, uint32_t slot, uint64_t at)
{
    put(plan, slot, &at, sizeof at);
}

static void
put_number(struct kn_plan *plan, uint32_t slot, int64_t v)
{
    uint32_t low = (uint32_t)v;

    put(plan, slot, &low, sizeof low);
}

/* Everything of them that aiter.def says. */
static void
fill(const kiln_problem *p, const struct kn_config *g,
     const struct kn_operands *o, struct kn_plan *plan)
{
    const uint64_t C = o->c, A = o->a, B = o->b, SA = o->sa, SB = o->sb,
                   BIAS = o->bias, OFFS = o->offs, EIDS = o->experts,
                   NPAD = o->padded, WTS = o->weights;
    const enum kn_loader loader = kn_loader_of(p, g);
    const int64_t ks = g->loader_split ? g->loader_split : 1;
    const uint64_t SEM = 0;  /* a launch of more shares is the loader's own */

#define SIZE(name, has, value, meaning) KN_TERM(name, value)
#define KNOWN(name, value) KN_TERM(name, value)
#define LET(name, formula) KN_TERM(name, formula)
#include "launch/launch.def"
    memset(plan->kernarg, 0, sizeof plan->kernarg);
#define POINTER(id, slot, operand)                                            \
    if (loader == KN_LOADER_##id)                                             \
        put_pointer(plan, slot, operand);
#define NUMBER(id, slot, name, most, formula)                                 \
    if (loader == KN_LOADER_##id)                                             \
        put_number(plan, slot, formula);
#define GIVEN(id, slot, formula)                                              \
    if (loader == KN_LOADER_##id)                                             \
        put_number(plan, slot, formula);
#define ALPHA(id, slot)                                                       \
    if (loader == KN_LOADER_##id)                                             \
        put(plan, slot, &p->alpha, sizeof p->alpha);
#include "aiter.def"
    plan->grid[0] = (uint32_t)up(n, kn_tile_columns(p, g));
    plan->grid[1] = (uint32_t)up(m, g->bm);
    if (loaders[loader].split == 'X')
        plan->grid[0] *= (uint32_t)ks;
    else if (ks > 1 && !routed) /* of f4gemm: shares of whole 256 K */
        plan->grid[2] = loaders[loader].split == 'S' ? (uint32_t)ks
                      : (uint32_t)up(k, 256 * up(k / ks, 256));
}

int64_t
kn_loader_stride(const struct kn_limits *most)
{
    return least(least(most->pa, most->pb), most->pc / 2);
}

/* f4gemm's are of one row, of 32 in the shuffled layout; others count f32. */
int64_t
kn_loader_scales(const kiln_problem *p, const struct kn_limits *most)
{
    return least(most->psa, most->psb) / (kn_shuffled(p) ? 32 : 4);
}

kiln_status
kn_aiter_plan(struct kn_ctx *c, const kiln_problem *p,
              const struct kn_config *g, const struct kn_operands *o,
              struct kn_plan *plan)
{
    const struct kn_limits most = kn_limits_of(p, g);
    const struct kn_pitches t = kn_pitches_of(p);
    int64_t longest = t.a > t.b ? t.a : t.b, unit = kn_shuffled(p) ? 32 : 4;

    longest = longest > t.c ? longest : t.c;
    if (longest > kn_loader_stride(&most) / 2 ||
        t.sa / unit > kn_loader_scales(p, &most) ||
        t.sb / unit > kn_loader_scales(p, &most))
        return kn_fail(c, KILN_UNSUPPORTED, "a row is longer than the %lld "
                       "bytes that the kernel is proven for with aiter's "
                       "arguments", (long long)kn_loader_stride(&most) / 2);
    fill(p, g, o, plan);
    plan->kernarg_size = SLOT * loaders[kn_loader_of(p, g)].slots;
    return KILN_OK;
}

/* ---- its table ---------------------------------------------------------- */

const char *
kn_loader_folder(struct kn_ctx *c, const kiln_problem *p,
                const struct kn_config *g)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%s/%s", kiln_target_name(p->target),
            loaders[kn_loader_of(p, g)].folder);
    return b.s;
}

const char *
kn_loader_table(const kiln_problem *p, const struct kn_config *g)
{
    return product_of(p, g)->table;
}

static const char *
number(struct kn_ctx *c, uint32_t v)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%u", v);
    return b.s;
}

/* The value of a column that is made of `what`. */
static const char *
value_of(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
         const char *what, const char *file)
{
    switch (*what) {
    case 'M': return number(c, g->bm);
    case 'N': return number(c, kn_tile_columns(p, g));
    case 'U': return number(c, g->bk);
    case 'B': return number(c, p->b_layout);
    case 'S': return number(c, g->loader_split > 1);
    case 'K': return kn_kernel_name(c, p, g);
    case 'F': return file;
    default:  return kn_strndup(c, what, strcspn(what, ","));
    }
}

const char *
kn_loader_column(struct kn_ctx *c, const kiln_problem *p,
                const struct kn_config *g, const char *name, const char *file)
{
    const char *at = loaders[kn_loader_of(p, g)].columns;
    size_t n = strlen(name);

    while (at) {
        if (!strncmp(at, name, n) && at[n] == '=')
            return value_of(c, p, g, at + n + 1, file);
        at = strchr(at, ',');
        at += at != NULL;
    }
    return NULL;
}

const char **
kn_loader_columns(struct kn_ctx *c, const kiln_problem *p,
                 const struct kn_config *g)
{
    const char *at = loaders[kn_loader_of(p, g)].columns;
    const char **all = KN_NEW(c, const char *, strlen(at) + 1);

    for (size_t n = 0; at; n++) {
        all[n] = kn_strndup(c, at, strcspn(at, "="));
        at = strchr(at, ',');
        at += at != NULL;
    }
    return all;
}
