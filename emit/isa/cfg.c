/* cfg.c - basic blocks, dominators (Georgiadis, "Linear-Time Algorithms for
 * Dominators and Related Problems", Semi-NCA) and natural loops. Code may be
 * hostile: no recursion, and time near linear in the code and its loops. */
#include "cfg.h"

#include <stdlib.h>
#include <string.h>

/* Bound on the blocks of all loops, for code made to exhaust memory. */
enum { MAX_LOOP_BLOCKS = 1 << 25 };

struct builder {
    struct kn_ctx *c;
    struct kn_cfg *g;
    uint32_t norder;
    uint32_t *order;         /* reverse postorder of the reached blocks */
    uint32_t *rank;          /* block -> place in order */
    uint32_t *pred, *pred_at;  /* predecessors of block b: pred[pred_at[b]..] */
    uint32_t *vertex;        /* reached blocks, depth first */
    uint32_t *number;        /* block -> place in vertex */
    uint32_t *parent;        /* of a place in the depth-first tree */
    uint32_t *in, *size;     /* block -> interval of the dominator tree */
};

static bool
ends_block(const struct kn_inst *i)
{
    return kn_isa[i->op].flags & (KN_IF_BRANCH | KN_IF_JUMP | KN_IF_END) ||
           i->target >= 0;
}

static bool
falls_through(const struct kn_inst *i)
{
    return !(kn_isa[i->op].flags & (KN_IF_JUMP | KN_IF_END));
}

/* A jump whose target the text does not say, or that leaves the kernel. */
static bool
is_indirect(const struct kn_inst *i)
{
    return kn_isa[i->op].flags & (KN_IF_JUMP | KN_IF_BRANCH) && i->target < 0;
}

static uint8_t *
find_leaders(struct kn_ctx *c, const struct kn_program *p)
{
    uint8_t *leader = KN_NEW(c, uint8_t, (size_t)p->n + 1);

    leader[0] = 1;
    leader[p->entry] = 1;
    for (uint32_t i = 0; i < p->n; i++)
        if (ends_block(&p->inst[i])) {
            leader[i + 1] = 1;
            if (p->inst[i].target >= 0)
                leader[p->inst[i].target] = 1;
        }
    return leader;
}

static void
make_blocks(struct kn_ctx *c, struct kn_cfg *g)
{
    const struct kn_program *p = g->p;
    uint8_t *leader = find_leaders(c, p);
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n; i++)
        n += leader[i];
    g->blocks = KN_NEW(c, struct kn_block, n);
    g->block_of = KN_NEW(c, uint32_t, p->n);
    for (uint32_t i = 0; i < p->n; i++) {
        if (leader[i])
            g->blocks[g->nblocks++] = (struct kn_block){
                .first = i, .idom = -1, .loop = -1
            };
        g->block_of[i] = g->nblocks - 1;
        g->blocks[g->nblocks - 1].end = i + 1;
    }
}

static void
link_blocks(struct kn_cfg *g)
{
    for (uint32_t b = 0; b < g->nblocks; b++) {
        struct kn_block *k = &g->blocks[b];
        const struct kn_inst *last = &g->p->inst[k->end - 1];

        k->succ[0] = falls_through(last) && b + 1 < g->nblocks
                         ? (int32_t)b + 1 : -1;
        k->succ[1] = last->target >= 0
                         ? (int32_t)g->block_of[last->target] : -1;
    }
}

/* Depth first from the entry with a stack of our own: code may be hostile. */
static void
number_blocks(struct builder *b)
{
    struct kn_cfg *g = b->g;
    uint32_t *stack = KN_NEW(b->c, uint32_t, g->nblocks);
    uint8_t *next = KN_NEW(b->c, uint8_t, g->nblocks);
    uint32_t top = 0, done = 0, entry = g->block_of[g->p->entry];
    uint32_t *post = KN_NEW(b->c, uint32_t, g->nblocks), found = 1;

    b->vertex = KN_NEW(b->c, uint32_t, g->nblocks);
    b->number = KN_NEW(b->c, uint32_t, g->nblocks);
    b->parent = KN_NEW(b->c, uint32_t, g->nblocks);
    b->vertex[0] = entry;
    stack[top++] = entry;
    g->blocks[entry].reached = true;
    while (top) {
        uint32_t at = stack[top - 1];
        int32_t to;

        if (next[at] == 2) {
            post[done++] = at;
            top--;
            continue;
        }
        to = g->blocks[at].succ[next[at]++];
        if (to >= 0 && !g->blocks[to].reached) {
            g->blocks[to].reached = true;
            b->parent[found] = b->number[at];
            b->number[to] = found;
            b->vertex[found++] = (uint32_t)to;
            stack[top++] = (uint32_t)to;
        }
    }
    b->norder = done;
    b->order = KN_NEW(b->c, uint32_t, g->nblocks);
    b->rank = KN_NEW(b->c, uint32_t, g->nblocks);
    for (uint32_t i = 0; i < done; i++) {
        b->order[i] = post[done - 1 - i];
        b->rank[b->order[i]] = i;
    }
    g->norder = done;
    g->order = b->order;
}

static void
list_predecessors(struct builder *b)
{
    struct kn_cfg *g = b->g;

    b->pred_at = KN_NEW(b->c, uint32_t, (size_t)g->nblocks + 2);
    b->pred = KN_NEW(b->c, uint32_t, 2 * (size_t)g->nblocks);
    for (uint32_t i = 0; i < g->nblocks; i++)
        for (int k = 0; k < 2; k++)
            if (g->blocks[i].reached && g->blocks[i].succ[k] >= 0)
                b->pred_at[g->blocks[i].succ[k] + 2]++;
    for (uint32_t i = 2; i < g->nblocks + 2; i++)
        b->pred_at[i] += b->pred_at[i - 1];
    for (uint32_t i = 0; i < g->nblocks; i++)
        for (int k = 0; k < 2; k++)
            if (g->blocks[i].reached && g->blocks[i].succ[k] >= 0)
                b->pred[b->pred_at[g->blocks[i].succ[k] + 1]++] = i;
}

/* All by place in the depth-first order. */
struct semi {
    uint32_t *semi;          /* semidominator */
    uint32_t *up;            /* ancestor, compressed as it is asked for */
    uint32_t *label;         /* of the least semidominator on the way there */
    uint32_t *stack;
};

/* The place of the least semidominator among v and its ancestors that are
 * linked, from `linked` on. */
static uint32_t
evaluate(struct semi *s, uint32_t v, uint32_t linked)
{
    uint32_t top = 0, above;

    if (s->up[v] < linked)
        return s->label[v];
    do {
        s->stack[top++] = v;
        v = s->up[v];
    } while (s->up[v] >= linked);
    while (top) {
        above = v;
        v = s->stack[--top];
        s->up[v] = s->up[above];
        if (s->semi[s->label[above]] < s->semi[s->label[v]])
            s->label[v] = s->label[above];
    }
    return s->label[v];
}

static void
find_semidominators(const struct builder *b, struct semi *s)
{
    for (uint32_t i = b->norder; i-- > 1;) {
        uint32_t at = b->vertex[i];

        s->semi[i] = b->parent[i];
        for (uint32_t e = b->pred_at[at]; e < b->pred_at[at + 1]; e++) {
            uint32_t u = evaluate(s, b->number[b->pred[e]], i + 1);

            if (s->semi[u] < s->semi[i])
                s->semi[i] = s->semi[u];
        }
    }
}

/* Intervals of the dominator tree: a block dominates what lies in its own. */
static void
number_tree(struct builder *b, const uint32_t *idom)
{
    uint32_t *next = KN_NEW(b->c, uint32_t, b->norder);

    b->in = KN_NEW(b->c, uint32_t, b->g->nblocks);
    b->size = KN_NEW(b->c, uint32_t, b->g->nblocks);
    for (uint32_t i = b->norder; i-- > 0;) {
        b->size[b->vertex[i]]++;
        if (i)
            b->size[b->vertex[idom[i]]] += b->size[b->vertex[i]];
    }
    next[0] = 1;
    for (uint32_t i = 1; i < b->norder; i++) {
        b->in[b->vertex[i]] = next[idom[i]];
        next[idom[i]] += b->size[b->vertex[i]];
        next[i] = b->in[b->vertex[i]] + 1;
    }
}

static void
find_dominators(struct builder *b)
{
    uint32_t n = b->norder, *idom = KN_NEW(b->c, uint32_t, n);
    struct semi s = { .semi = KN_NEW(b->c, uint32_t, n),
                      .up = KN_NEW(b->c, uint32_t, n),
                      .label = KN_NEW(b->c, uint32_t, n),
                      .stack = KN_NEW(b->c, uint32_t, n) };

    for (uint32_t i = 0; i < n; i++) {
        s.semi[i] = s.label[i] = i;
        s.up[i] = idom[i] = b->parent[i];
    }
    find_semidominators(b, &s);
    for (uint32_t i = 1; i < n; i++) {
        while (idom[i] > s.semi[i])
            idom[i] = idom[idom[i]];
        b->g->blocks[b->vertex[i]].idom = (int32_t)b->vertex[idom[i]];
    }
    number_tree(b, idom);
}

static bool
dominates(const struct builder *b, uint32_t a, uint32_t x)
{
    return b->in[x] - b->in[a] < b->size[a];
}

static uint32_t
count_back_edges(const struct builder *b, uint32_t header)
{
    uint32_t n = 0;

    for (uint32_t e = b->pred_at[header]; e < b->pred_at[header + 1]; e++)
        n += dominates(b, header, b->pred[e]);
    return n;
}

/* The blocks that reach `header` without passing it, from the sources of its
 * back edges; mark[x] is true for each. Returns how many. */
static uint32_t
collect_body(const struct builder *b, uint32_t header, uint8_t *mark,
             uint32_t *body)
{
    uint32_t n = 0;

    mark[header] = 1;
    body[n++] = header;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = body[i];

        for (uint32_t e = b->pred_at[at]; e < b->pred_at[at + 1]; e++) {
            uint32_t from = b->pred[e];

            if (mark[from] || (at == header && !dominates(b, header, from)))
                continue;
            mark[from] = 1;
            body[n++] = from;
        }
    }
    return n;
}

static int
ascending(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    return (a > b) - (a < b);
}

static void
take_loop(struct builder *b, struct kn_loop *l, const uint32_t *body,
          uint32_t n)
{
    struct kn_cfg *g = b->g;

    l->parent = g->blocks[l->header].loop;
    l->depth = l->parent < 0 ? 1 : g->loops[l->parent].depth + 1;
    l->blocks = KN_NEW(b->c, uint32_t, n);
    l->nblocks = n;
    memcpy(l->blocks, body, n * sizeof *body);
    qsort(l->blocks, n, sizeof *body, ascending);
    for (uint32_t i = 0; i < n; i++)
        g->blocks[body[i]].loop = (int32_t)g->nloops;
}

/* Headers are visited in reverse postorder, so an enclosing loop comes
 * before the loops in it. */
static kiln_status
find_loops(struct builder *b)
{
    struct kn_cfg *g = b->g;
    uint8_t *mark = KN_NEW(b->c, uint8_t, g->nblocks);
    uint32_t *body = KN_NEW(b->c, uint32_t, g->nblocks);
    uint64_t total = 0;
    size_t cap = 0;

    for (uint32_t i = 0; i < b->norder; i++) {
        uint32_t header = b->order[i], n;
        uint32_t nback = count_back_edges(b, header);

        if (!nback)
            continue;
        n = collect_body(b, header, mark, body);
        for (uint32_t k = 0; k < n; k++)
            mark[body[k]] = 0;
        total += n;
        if (total > MAX_LOOP_BLOCKS)
            return kn_fail(b->c, KILN_UNSUPPORTED,
                           "%s: %u blocks and %u loops are more than kiln "
                           "looks at", g->p->kernel->name, g->nblocks,
                           g->nloops);
        g->loops = kn_grow(b->c, g->loops, &cap, g->nloops + 1,
                           sizeof *g->loops);
        g->loops[g->nloops] = (struct kn_loop){ .header = header,
                                                .nback = nback };
        take_loop(b, &g->loops[g->nloops], body, n);
        g->nloops++;
    }
    return KILN_OK;
}

/* An enclosing loop comes before those in it. */
static void
number_loops(struct builder *b)
{
    struct kn_loop *l = b->g->loops;
    uint32_t *next = KN_NEW(b->c, uint32_t, (size_t)b->g->nloops + 1);

    for (uint32_t i = b->g->nloops; i-- > 0;) {
        l[i].size++;
        if (l[i].parent >= 0)
            l[l[i].parent].size += l[i].size;
    }
    for (uint32_t i = 0; i < b->g->nloops; i++) {
        uint32_t *at = l[i].parent < 0 ? &next[b->g->nloops]
                                       : &next[l[i].parent];

        l[i].in = *at;
        *at += l[i].size;
        next[i] = l[i].in + 1;
    }
}

/* A retreating edge whose target does not dominate its source. */
static void
find_oddities(struct builder *b)
{
    struct kn_cfg *g = b->g;

    for (uint32_t i = 0; i < b->norder; i++) {
        const struct kn_block *k = &g->blocks[b->order[i]];

        g->indirect |= is_indirect(&g->p->inst[k->end - 1]);
        for (int s = 0; s < 2; s++)
            if (k->succ[s] >= 0 && b->rank[k->succ[s]] <= i &&
                !dominates(b, (uint32_t)k->succ[s], b->order[i]))
                g->irreducible = true;
    }
}

kiln_status
kn_cfg_build(struct kn_ctx *c, const struct kn_program *p,
             struct kn_cfg *out)
{
    struct builder b = { .c = c, .g = out };

    *out = (struct kn_cfg){ .p = p };
    if (!p->n)
        return kn_fail(c, KILN_BAD_INPUT, "a kernel without instructions");
    make_blocks(c, out);
    link_blocks(out);
    number_blocks(&b);
    list_predecessors(&b);
    find_dominators(&b);
    KN_TRY(find_loops(&b));
    number_loops(&b);
    find_oddities(&b);
    return KILN_OK;
}

bool
kn_loop_contains(const struct kn_cfg *g, uint32_t loop, uint32_t i)
{
    int32_t at = g->blocks[g->block_of[i]].loop;
    const struct kn_loop *l = &g->loops[loop];

    return at >= 0 && g->loops[at].in - l->in < l->size;
}

int32_t
kn_cfg_main_loop(const struct kn_cfg *g)
{
    uint32_t most = 0;
    int32_t best = -1;

    for (uint32_t l = 0; l < g->nloops; l++) {
        uint32_t n = 0;

        for (uint32_t k = 0; k < g->loops[l].nblocks; k++) {
            const struct kn_block *b = &g->blocks[g->loops[l].blocks[k]];

            for (uint32_t i = b->first; i < b->end; i++)
                n += b->loop == (int32_t)l &&
                     kn_isa[g->p->inst[i].op].unit == KN_U_MFMA;
        }
        /* a walk over tiles may have a turn of the loop in front of it */
        if (n > most || (n && n == most && g->loops[l].parent == best)) {
            most = n;
            best = (int32_t)l;
        }
    }
    return best;
}
