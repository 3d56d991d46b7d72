/* verify_declared.c - the lines of a kernel ahead of its operations: the shape of
 * the tile and its waves, and how each LDS tile is stored. */
#include "verify.h"

static bool
is_convert(const struct kn_lds *l)
{
    for (size_t i = 0; i < kn_nconverts; i++)
        if (kn_converts[i].from == l->mem && kn_converts[i].to == l->elem)
            return true;
    return false;
}

static bool
shared_rows(const struct kn_fn *f, const struct kn_lds *l)
{
    const struct kn_shape *s = &f->shape;
    uint32_t waves = l->side == 'a' ? s->wm : s->wn;

    return l->gk && l->lk && l->kdiv == 1 && !l->mem && !l->panel &&
           !l->shift && l->slots == l->share << kn_share_bits(l) && waves &&
           l->rows * l->share == (l->side == 'a' ? s->bm : s->bn) &&
           l->rows % (16 * waves) == 0;
}

/* Pieces of whole dwords, and a tile that is a multiple of four bytes from the
 * next: where a row begins in a dword is the same in all. */
static bool
unaligned_rows(const struct kn_lds *l, const struct kn_geom *g)
{
    uint32_t step = l->gk ? l->cols * kn_memory_bits(l) / 8 : l->cols;

    return l->unit == 16 && l->slots &&
           !l->panel && !l->shuf &&
           !l->share && (!l->line || l->unaligned > 1) && step % 4 == 0 &&
           (l->gk || l->kdiv == 1) && (g->transpose || g->mem % 4 == 0);
}

/* Rows along K of whole lines, 8 or 16 lanes each, a multiple of 16 in a step, of which
 * each is swizzled alike. */
static bool
rows_by_lines(const struct kn_fn *f, const struct kn_lds *l, const struct kn_geom *g)
{
    return l->gk && l->lk && l->kdiv == 1 && !l->mem && !l->lag && g->chunk == 16 &&
           (g->cpr == 8 || g->cpr == 16) && kn_waves(f) * 64 / g->cpr % 16 == 0 &&
           kn_waves(f) * 64 / g->cpr % (1u << (l->swz_n ? l->swz_s + l->swz_n : 0)) == 0;
}

/* Rows a multiple of 16 apart begin alike in a line, and so do those of a lane's
 * fragments. */
static bool
lagging_rows(const struct kn_fn *f, const struct kn_lds *l,
             const struct kn_geom *g)
{
    return l->gk && l->lk && l->unit == 16 && l->kdiv == 1 && !l->mem &&
           l->slots > 1 && g->pitch % KN_LINE == 0 && !l->panel && !l->shuf &&
           !l->line && !l->shift && !l->unaligned &&
           g->chunk <= kn_targets[f->target].dma;
}

static bool
rows_of_lines(const struct kn_fn *f, const struct kn_lds *l)
{
    return l->gk && l->lk && l->unit == 16 && l->kdiv == 1 && !l->mem && l->slots > 1 &&
           !l->panel && !l->shuf && !l->shift && l->cols == f->shape.bk &&
           kn_fragment(f, l->side).ksteps == 1 && kn_targets[f->target].dma >= 16;
}

/* Bytes of a load: one a run, in whole bytes, or two to a byte; of words a dword, of
 * f16 those of a word's columns. */
static uint32_t
load_of_zeros(const struct kn_lds *l)
{
    uint32_t bits = kn_memory_bits(l);

    return l->words && bits == 4 ? 4
         : (bits + 7) / 8 * (l->words == KN_WORDS_AWQ ? 8 : 1);
}

static kiln_status
check_zeros(const struct kn_fn *f, const struct kn_lds *l)
{
    bool runs = l->run == 16 || l->run == 32;
    bool numbers = l->mem && l->elem == KN_T_f32 && !l->lk &&
                   l->unit == load_of_zeros(l);
    bool plain = !l->panel && !l->shuf && !l->share && !l->line && !l->shift &&
                 !l->unaligned;

    if (!runs || l->kdiv % l->run || l->cols * l->kdiv != f->shape.bk ||
        !numbers || !plain)
        return FAIL(f, l->at, "%%%s: zero points are K-outer, become f32, and "
                    "one is of whole runs of 16 or 32 elements", l->name);
    return KILN_OK;
}

/* Scales of rows whose runs have one each or more, of whole K tiles. */
static bool
whole_runs(const struct kn_fn *f, const struct kn_lds *l)
{
    return (l->kdiv == 32 || l->kdiv == 16) &&
           l->cols * l->kdiv % f->shape.bk == 0;
}

static kiln_status
check_unaligned(const struct kn_fn *f, const struct kn_lds *l, const struct kn_geom *g)
{
    if (l->unaligned && !unaligned_rows(l, g))
        return FAIL(f, l->at, "%%%s: rows that begin at any byte are plain "
                    "rows of whole dwords", l->name);
    if (l->unaligned > 1 && !rows_by_lines(f, l, g))
        return FAIL(f, l->at, "%%%s: rows that are loaded by lines are plain rows of 8 or "
                    "16 chunks, of which all waves load a multiple of 16", l->name);
    return KILN_OK;
}

/* Panels of codes that a lane converts whole chunks of, or whose chunks it shares with its
 * neighbours. */
static bool
converts_chunks(const struct kn_fn *f, const struct kn_lds *l)
{
    uint32_t mem = kn_geometry(f, l).mem;

    return l->gk && l->lk && l->kdiv == 1 && l->unit == 16 && !l->unaligned && !kn_quantised(l) &&
           kn_memory_bits(l) != 6 && (mem % 16 == 0 || mem == 8);
}

static kiln_status
check_size(const struct kn_fn *f, const struct kn_lds *l)
{
    if (!l->rows || !l->cols || !l->kdiv)
        return FAIL(f, l->at, "%%%s needs rows and cols", l->name);
    if (l->unit != 1 && l->unit != 2 && l->unit != 4 && l->unit != 16)
        return FAIL(f, l->at, "%%%s: unit is 1, 2, 4 or 16", l->name);
    return KILN_OK;
}

/* What becomes another type on its way to LDS. */
static kiln_status
check_converted(const struct kn_fn *f, const struct kn_lds *l)
{
    if (l->mem && !is_convert(l))
        return FAIL(f, l->at, "%%%s: %s is not staged as %s", l->name,
                    kn_elems[l->mem].text, kn_elems[l->elem].text);
    if (l->mem && (l->shuf || (l->panel && !converts_chunks(f, l))))
        return FAIL(f, l->at, "%%%s: what is converted is stored in plain "
                    "rows, or in panels of 8- or 4-bit codes", l->name);
    if (l->mem && l->gk && (l->kdiv != 1) == l->lk)
        return FAIL(f, l->at, "%%%s: converted scales are staged K-outer, "
                    "operands K-contiguous", l->name);
    return KILN_OK;
}

static kiln_status
check_runs(const struct kn_fn *f, const struct kn_lds *l)
{
    if (l->run && (l->run < 8 || l->run & (l->run - 1) || !l->mem || !l->gk ||
                   (l->kdiv != 1 && (l->run == 8 || !whole_runs(f, l)))))
        return FAIL(f, l->at, "%%%s: run is 8, 16 or 32 elements of an operand "
                    "that is converted along K, or whose scales are",
                    l->name);
    if (l->mem && l->gk && l->kdiv == 1 && l->cols % (l->run ? l->run : 16))
        return FAIL(f, l->at, "%%%s: %u elements along K are converted at a "
                    "time", l->name, l->run ? l->run : 16);
    return KILN_OK;
}

/* Elements of memory and of LDS, and which way K runs in either. */
static kiln_status
check_direction(const struct kn_fn *f, const struct kn_lds *l)
{
    uint32_t bits = kn_memory_bits(l);

    if (l->gk && !l->lk && !l->mem)
        return FAIL(f, l->at, "%%%s: a K-contiguous operand is staged "
                    "K-contiguous", l->name);
    if ((l->lk ? l->cols : l->rows) * bits % 8)
        return FAIL(f, l->at, "%%%s: a row is no whole number of bytes",
                    l->name);
    if (l->words &&
        ((l->mem ? l->mem : l->elem) != KN_T_i4 || l->gk || !l->lk || l->kdiv != 1 ||
         l->unit != 4 ||
         l->cols % 8 || l->rows % 8))
        return FAIL(f, l->at, "%%%s: words are i4 in memory, K-outer there and "
                    "K-contiguous in LDS, loaded as dwords", l->name);
    if (!l->gk && bits < 8 && !l->words)
        return FAIL(f, l->at, "%%%s: %s cannot be staged from K-outer memory",
                    l->name, kn_elems[l->elem].text);
    if (!l->lk && !l->mem && l->kdiv == 1 && !kn_targets[f->target].lds_tr)
        return FAIL(f, l->at, "%%%s: %s has no transposing LDS read", l->name,
                    kiln_target_name(f->target));
    return KILN_OK;
}

/* Rows that all waves have a slot each of, or that are copied by lines. */
static kiln_status
check_lines(const struct kn_fn *f, const struct kn_lds *l, const struct kn_geom *g)
{
    if (l->share && !shared_rows(f, l))
        return FAIL(f, l->at, "%%%s: a slot for each share holds that of every "
                    "wave's rows, of an operand in plain rows", l->name);
    if (l->line && !rows_of_lines(f, l))
        return FAIL(f, l->at, "%%%s: lines are of an operand in plain rows whose K "
                    "tile is a K step, in two slots or more", l->name);
    if (l->lag && !lagging_rows(f, l, g))
        return FAIL(f, l->at, "%%%s: rows that are copied by lines are plain "
                    "rows of whole lines of 16-byte chunks, in two slots or "
                    "more", l->name);
    return KILN_OK;
}

/* Chunks that lie otherwise than rows do in memory. */
static kiln_status
check_places(const struct kn_fn *f, const struct kn_lds *l, const struct kn_geom *g)
{
    uint32_t bits = kn_memory_bits(l);

    if (l->panel && (!l->gk || l->kdiv != 1 || l->shift || g->chunk != 16))
        return FAIL(f, l->at, "%%%s: panels are K-contiguous rows of whole "
                    "16-byte chunks", l->name);
    if (l->shuf && (!l->gk || bits != 8 || l->kdiv != 32 || l->shift ||
                    l->rows % 32 || l->cols % 8))
        return FAIL(f, l->at, "%%%s: shuffled scales come in blocks of 32 rows "
                    "and 8 times 32 K", l->name);
    return KILN_OK;
}

/* How chunks turn on their way, and what one load of them is. */
static kiln_status
check_chunks(const struct kn_fn *f, const struct kn_lds *l, const struct kn_geom *g)
{
    uint32_t bits = kn_memory_bits(l);

    if (l->flip && (!kn_may_flip(f, l) || l->flip & (l->flip - 1)))
        return FAIL(f, l->at, "%%%s: halves of chunks change places where rows "
                    "are converted on their way to LDS, of one bit", l->name);
    if (g->transpose && (l->rows % g->pb || l->cols % g->kb))
        return FAIL(f, l->at, "%%%s: %u x %u cannot be transposed in blocks of "
                    "%u x %u", l->name, l->rows, l->cols, g->pb, g->kb);
    if (l->unit * 8 < bits || !kn_waves(f))
        return FAIL(f, l->at, "%%%s: unit is smaller than an element",
                    l->name);
    return KILN_OK;
}

static kiln_status
check_lds(const struct kn_fn *f, const struct kn_lds *l)
{
    struct kn_geom g;

    KN_TRY(check_size(f, l));
    KN_TRY(check_converted(f, l));
    if (kn_is_zeros(l))
        return check_zeros(f, l);
    KN_TRY(check_runs(f, l));
    KN_TRY(check_direction(f, l));
    g = kn_geometry(f, l);
    KN_TRY(check_places(f, l, &g));
    KN_TRY(check_unaligned(f, l, &g));
    KN_TRY(check_lines(f, l, &g));
    return check_chunks(f, l, &g);
}

static kiln_status
check_shape(const struct kn_fn *f)
{
    const struct kn_shape *s = &f->shape;
    const struct kn_mfma_info *m;

    if (!s->wm || !s->wn || s->wm * s->wn > 16)
        return FAIL(f, f->at, "a workgroup has 1 to 16 waves, not %u x %u",
                    s->wm, s->wn);
    if (f->level != KN_TILE)
        return KILN_OK;
    if (s->mfma < 0 || !s->ta || !s->tb)
        return FAIL(f, f->at, "a tile-level kernel needs mfma=, ta= and tb=");
    m = &kn_mfmas[s->mfma];
    if (!(m->targets >> f->target & 1))
        return FAIL(f, f->at, "%s does not exist on %s", m->text,
                    kiln_target_name(f->target));
    if (!kn_mfma_takes(m, s->tb, s->ta))
        return FAIL(f, f->at, "%s does not multiply %s by %s", m->text,
                    kn_elems[s->ta].text, kn_elems[s->tb].text);
    if (s->bm % (s->wm * m->mi) || s->bn % (s->wn * m->mi) || !s->bm || !s->bn)
        return FAIL(f, f->at, "a %u x %u tile cannot be shared by %u x %u "
                    "waves in %u x %u matrix instructions", s->bm, s->bn,
                    s->wm, s->wn, m->mi, m->mi);
    if (s->block && (m->a == KN_T_b1 || s->block % m->k))
        return FAIL(f, f->at, "block=%u is not made of whole %s", s->block,
                    m->text);
    if (!s->bk || s->bk % kn_fragment(f, 'a').k)
        return FAIL(f, f->at, "bk=%u is no multiple of the %u K elements one "
                    "fragment spans", s->bk, kn_fragment(f, 'a').k);
    return KILN_OK;
}

kiln_status
kn_verify_declarations(const struct kn_fn *f)
{
    KN_TRY(check_shape(f));
    for (size_t i = 0; i < f->nlds; i++)
        KN_TRY(check_lds(f, &f->lds[i]));
    if (kn_lds_bytes(f) > kn_targets[f->target].lds)
        return FAIL(f, f->at, "the LDS tiles need %llu bytes, %s has %u",
                    (unsigned long long)kn_lds_bytes(f),
                    kiln_target_name(f->target), kn_targets[f->target].lds);
    return KILN_OK;
}
