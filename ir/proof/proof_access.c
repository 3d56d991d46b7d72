/* proof_access.c - which bytes of its slot every LDS access touches, for each
 * thread of the workgroup, by running the address arithmetic.
 *
 * LDS addresses depend on lane, wave and constants only; one that does not is
 * refused, because nothing can be said about it; but a read with ring= may choose by
 * anything between a place in its slot and the same in a later one, and a write of what the
 * lanes of a row turn among themselves by where the row begins in 16 bytes is run for each
 * beginning, since rows are apart. From the bytes follow: no
 * access leaves its slot; who owns which byte (the wave that alone writes it:
 * for its own bytes a wave needs waits but no barrier); and which writes a
 * slot needs before a read finds all its bytes. */
#include "proof.h"

#include <string.h>

enum { NOBODY = 0, MANY = 255 }; /* owner of a byte: 1 + wave, or these */

struct computed;

struct access_map {
    struct proof *p;
    const struct kn_fn *f;
    uint32_t threads;
    struct proof_fixed known;
    bool *wanted;            /* by value: part of an LDS address */
    uint32_t **value;        /* of an address so far, by thread; or NULL */
    uint32_t **other;        /* of one that is chosen: the second operand */
    struct computed *met[1024]; /* operations, by what they compute */
    uint32_t *list;          /* LDS accesses and what their addresses come
                              * from, in order */
    size_t nlist;
    uint32_t **at;           /* by instruction: first byte, by thread */
    uint32_t **run[PROOF_BEGINS]; /* the same, by where rows begin */
    uint32_t nrun, nbyte;    /* of them; where rows begin in the run at hand */
    uint32_t **there;        /* ring=: ... in the later slot */
    uint32_t *same;          /* by access: the first one of its tile,
                              * direction and bytes */
    /* of the tile at hand */
    uint32_t bytes;          /* of one slot */
    uint8_t *owner;          /* by byte */
    uint16_t *class;         /* by byte: which set of writes fills it */
    struct proof_set *sets;
    uint16_t nset;
    size_t capset;
    uint32_t nwrite;
};

static bool
is_lds_access(const struct kn_ins *i)
{
    return i->op == KN_OP_dma || i->op == KN_OP_lds_ld || i->op == KN_OP_lds_st;
}

/* Bytes one lane moves. */
static uint32_t
width(const struct kn_fn *f, const struct kn_ins *i)
{
    kn_ref r = i->op == KN_OP_lds_ld ? i->dst : i->arg[2];
    uint32_t mem = kn_elems[i->attr[KN_A_elem]].bits, bits;

    if (i->op == KN_OP_dma)
        return (uint32_t)i->attr[KN_A_bytes];
    if (!proof_is_value(r))
        return mem / 8;
    bits = kn_elems[kn_val(f, r)->type.elem].bits * kn_val(f, r)->type.n;
    return (bits == 32 && mem && mem < 32 ? mem : bits) / 8;
}

/* ---- where addresses come from ---- */

static void
find_wanted(struct access_map *m)
{
    const struct kn_fn *f = m->f;

    for (size_t i = f->nins; i-- > 0;) {
        const struct kn_ins *ins = &f->ins[i];

        if (is_lds_access(ins) && proof_is_value(ins->arg[1]))
            m->wanted[KN_REF_INDEX(ins->arg[1])] = true;
        if (!ins->dst || !m->wanted[KN_REF_INDEX(ins->dst)])
            continue;
        for (int a = 0; a < KN_MAXARG && ins->arg[a]; a++)
            if (proof_is_value(ins->arg[a]))
                m->wanted[KN_REF_INDEX(ins->arg[a])] = true;
    }
}

static struct proof_operand
operand(const struct access_map *m, kn_ref r)
{
    if (proof_is_value(r))
        return (struct proof_operand){ m->value[KN_REF_INDEX(r)], 0 };
    return (struct proof_operand){
        NULL, r ? (uint32_t)m->f->konst[KN_REF_INDEX(r)].i : 0,
    };
}

static bool
addresses(const struct access_map *m, const struct kn_ins *i)
{
    return i->dst && m->known.fixed[KN_REF_INDEX(i->dst)] &&
           m->wanted[KN_REF_INDEX(i->dst)];
}

/* What an operation gave: unrolled steps compute most addresses again. Ahead
 * of the operations: what has this content, first bytes, and which access has
 * them first. */
enum { CONTENT = UINT16_MAX - 3, AT, READ, WRITE };
struct computed {
    struct computed *next;   /* of the same hash */
    uint16_t op;
    struct proof_operand o[3];
    uint32_t *out;           /* by thread; never written again */
};

/* The entry of an operation: met before, or a new one without `out`. */
static struct computed *
look_up(struct access_map *m, uint16_t op, const struct proof_operand *o)
{
    struct computed *x, **list;
    uint64_t h = op;

    for (int a = 0; a < 3; a++)
        h = (h ^ (uintptr_t)o[a].each ^ o[a].all) * 0x9e3779b97f4a7c15u;
    list = &m->met[(h >> 32) % (sizeof m->met / sizeof *m->met)];
    for (x = *list; x; x = x->next) {
        bool same = x->op == op;

        for (int a = 0; same && a < 3; a++)
            same = x->o[a].each == o[a].each && x->o[a].all == o[a].all;
        if (same)
            return x;
    }
    x = KN_NEW(m->f->c, struct computed, 1);
    *x = (struct computed){ *list, op, { o[0], o[1], o[2] }, NULL };
    return *list = x;
}

static uint32_t *
result(struct access_map *m, const struct kn_ins *i, const struct proof_operand *o)
{
    struct computed *x = look_up(m, i->op, o);

    if (!x->out) {
        x->out = KN_NEW(m->f->c, uint32_t, m->threads);
        proof_evaluate(i, o, m->threads, x->out);
    }
    return x->out;
}

static void
run_address(struct access_map *m, const struct kn_ins *i)
{
    uint32_t v = KN_REF_INDEX(i->dst);
    struct proof_operand o[3] = { 0 };

    if (m->known.begin[v] && m->known.turned[v]) {
        o[0] = o[1] = (struct proof_operand){ NULL, m->nbyte };
        m->value[v] = result(m, i, o);
        return;
    }

    for (int a = 0; a < 3 && i->arg[a]; a++)
        o[a] = operand(m, i->arg[a]);
    if (m->known.chosen[v] && i->op == KN_OP_mov) {
        m->other[v] = m->other[KN_REF_INDEX(i->arg[0])];
    } else if (m->known.chosen[v]) {
        o[0] = (struct proof_operand){ NULL, 1 };
        m->other[v] = result(m, i, o);
        o[0].all = 0;
    }
    m->value[v] = result(m, i, o);
}

/* One array of all with its content, but for those of one hash. */
static uint32_t *
intern(struct access_map *m, uint32_t *run)
{
    struct computed *x;
    uint64_t h = 0;

    for (uint32_t t = 0; t < m->threads; t++)
        h = (h ^ run[t]) * 0x9e3779b97f4a7c15u;
    x = look_up(m, CONTENT, (struct proof_operand[3]){ { NULL, (uint32_t)h },
                                                 { NULL, (uint32_t)(h >> 32) },
                                                 { 0 } });
    if (!x->out)
        x->out = run;
    return memcmp(x->out, run, m->threads * sizeof *run) ? run : x->out;
}

/* First byte of the access, of every thread. */
static uint32_t *
run_access(struct access_map *m, const struct kn_ins *i)
{
    uint32_t lane = i->op == KN_OP_dma ? (uint32_t)i->attr[KN_A_bytes] : 0;
    struct proof_operand o[3] = { operand(m, i->arg[1]),
                            { NULL, (uint32_t)i->attr[KN_A_offset] },
                            { NULL, lane } };
    struct computed *x = look_up(m, AT, o);
    uint32_t *run;

    if (x->out)
        return x->out;
    run = KN_NEW(m->f->c, uint32_t, m->threads);
    for (uint32_t t = 0; t < m->threads; t++)
        run[t] = proof_of_thread(o[0], t) + o[1].all + t % 64 * lane;
    return x->out = intern(m, run);
}

/* Slots from the first that a read reaches into to the last, which is the only
 * other one. */
static uint32_t
last_of(const struct kn_ins *i)
{
    if (i->op != KN_OP_lds_ld)
        return 0;
    return i->attr[KN_A_ring] ? (uint32_t)i->attr[KN_A_ring]
                              : i->attr[KN_A_span] == 2;
}

/* Slots a read's bytes are in. */
static uint32_t
span_of(const struct kn_ins *i)
{
    return last_of(i) ? 2 : 1;
}

static bool
is_write(const struct kn_ins *i)
{
    return i->op != KN_OP_lds_ld;
}

static void
find_same(struct access_map *m, size_t at)
{
    const struct kn_ins *i = &m->f->ins[at];
    bool turned = m->nrun > 1 && is_write(i);
    struct proof_operand o[3] = { { m->run[0][at], 0 },
                            { turned ? m->run[1][at] : m->there[at], KN_REF_LDS(i->arg[0]) },
                            { turned ? m->run[2][at] : NULL,
                              width(m->f, i) << 8 | last_of(i) } };
    uint16_t op = is_write(i) ? WRITE : READ;
    struct computed *x = look_up(m, op, o);

    m->same[at] = (uint32_t)at;
    if (!x->out)
        x->out = &m->same[at];
    m->same[at] = turned && m->run[3][*x->out] != m->run[3][at] ? (uint32_t)at : *x->out;
}

/* Lanes of a row of the slot begin alike, whichever value says where. */
static bool
rows_begin_alike(const struct access_map *m, const struct kn_lds *l)
{
    uint32_t lanes = kn_geometry(m->f, l).pitch / 16;

    for (size_t i = 0; i < m->f->nins; i++) {
        kn_ref v = m->f->ins[i].dst;

        if (v && m->wanted[KN_REF_INDEX(v)] && m->known.begin[KN_REF_INDEX(v)] &&
            m->known.turned[KN_REF_INDEX(v)] &&
            !proof_groups_agree(m->f, &m->known, m->value, m->f->ins[i].arg[0], lanes))
            return false;
    }
    return lanes && 64 % lanes == 0;
}

static bool
can_be_told(const struct access_map *m, const struct kn_ins *i)
{
    bool ring = i->op == KN_OP_lds_ld && i->attr[KN_A_ring];

    if (proof_is_value(i->arg[1]) && m->known.turned[KN_REF_INDEX(i->arg[1])])
        return i->op == KN_OP_lds_st && m->known.fixed[KN_REF_INDEX(i->arg[1])] &&
               rows_begin_alike(m, &m->f->lds[KN_REF_LDS(i->arg[0])]);
    return proof_is_fixed(&m->known, i->arg[1]) ||
           (ring && m->known.chosen[KN_REF_INDEX(i->arg[1])]);
}

static kiln_status
run_threads(struct access_map *m)
{
    const struct kn_fn *f = m->f;

    m->value = KN_NEW(f->c, uint32_t *, f->nval);
    for (size_t i = 0; i < f->nins; i++)
        if (is_lds_access(&f->ins[i]) || addresses(m, &f->ins[i]))
            m->list[m->nlist++] = (uint32_t)i;
    for (size_t k = 0; k < m->nlist; k++) {
        uint32_t i = m->list[k];
        const struct kn_ins *ins = &f->ins[i];

        if (is_lds_access(ins)) {
            if (!can_be_told(m, ins))
                return PROOF_FAIL(m->p, ins->at, "LDS address %%%s depends on "
                                  "more than lane, wave and constants: the "
                                  "bytes it reaches cannot be told",
                                  kn_val(f, ins->arg[1])->name);
            m->at[i] = run_access(m, ins);
            if (!proof_is_fixed(&m->known, ins->arg[1]))
                m->there[i] = m->other[KN_REF_INDEX(ins->arg[1])];
        }
        if (addresses(m, ins))
            run_address(m, ins);
    }
    return KILN_OK;
}

/* Of every value that rows may begin at, if addresses depend on one. */
static kiln_status
run_begins(struct access_map *m)
{
    m->nrun = 1;
    for (uint32_t v = 0; v < m->f->nval; v++)
        if (m->wanted[v] && m->known.begin[v] && m->known.turned[v])
            m->nrun = PROOF_BEGINS;
    for (uint32_t k = 0; k < m->nrun; k++) {
        m->at = m->run[k] = KN_NEW(m->f->c, uint32_t *, m->f->nins);
        m->nbyte = 4 * k;
        m->nlist = 0;
        KN_TRY(run_threads(m));
    }
    for (size_t k = 0; k < m->nlist; k++)
        if (is_lds_access(&m->f->ins[m->list[k]]))
            find_same(m, m->list[k]);
    return KILN_OK;
}

/* ---- one tile ---- */

/* A lane reads here, or the same place of the slot that ring= says. */
static kiln_status
check_ring(const struct access_map *m, size_t at)
{
    const struct kn_ins *i = &m->f->ins[at];
    uint32_t offset = (uint32_t)i->attr[KN_A_offset];
    uint32_t further = (uint32_t)i->attr[KN_A_ring] * m->bytes;

    for (uint32_t t = 0; t < m->threads; t++)
        if (m->there[at][t] + offset - m->at[at][t] != further)
            return PROOF_FAIL(m->p, i->at, "lane %u of wave %u may read another "
                              "place of a later slot than of %%%s[%u]", t % 64,
                              t / 64, m->f->lds[KN_REF_LDS(i->arg[0])].name,
                              KN_REF_SLOT(i->arg[0]));
    return KILN_OK;
}

/* Of slots that are apart no lane reads one between. */
static kiln_status
check_apart(const struct access_map *m, size_t at)
{
    const struct kn_ins *i = &m->f->ins[at];
    uint32_t last = last_of(i);

    for (uint32_t t = 0; last && t < m->threads; t++)
        if (m->at[at][t] / m->bytes % last)
            return PROOF_FAIL(m->p, i->at, "lane %u of wave %u reads neither "
                              "%%%s[%u] nor the slot that ring=%u says", t % 64, t / 64,
                              m->f->lds[KN_REF_LDS(i->arg[0])].name,
                              KN_REF_SLOT(i->arg[0]), last);
    return KILN_OK;
}

static kiln_status
check_range(struct access_map *m, size_t at)
{
    const struct kn_ins *i = &m->f->ins[at];
    uint32_t n = width(m->f, i), slot = KN_REF_SLOT(i->arg[0]);
    uint32_t last = last_of(i);
    uint64_t bytes = (uint64_t)m->bytes * (m->there[at] ? 1 : last + 1);

    if (!n)
        return PROOF_FAIL(m->p, i->at, "the width of this access is not known: "
                          "write elem=");
    if (slot + last >= m->f->lds[KN_REF_LDS(i->arg[0])].slots)
        return PROOF_FAIL(m->p, i->at, "no slot comes after %%%s[%u]",
                          m->f->lds[KN_REF_LDS(i->arg[0])].name, slot);
    KN_TRY(m->there[at] ? check_ring(m, at) : check_apart(m, at));
    for (uint32_t t = 0; t < m->threads; t++)
        if ((uint64_t)m->at[at][t] + n > bytes ||
            m->at[at][t] % m->bytes + n > m->bytes)
            return PROOF_FAIL(m->p, i->at, "lane %u of wave %u reaches byte "
                              "%llu of LDS slot %%%s[%u], which has %u", t % 64,
                              t / 64, (unsigned long long)m->at[at][t] + n - 1,
                              m->f->lds[KN_REF_LDS(i->arg[0])].name,
                              slot, (uint32_t)bytes);
    return KILN_OK;
}

/* The class of bytes of class `old` that write `id` fills too. */
static uint16_t
refine(struct access_map *m, uint16_t old, uint32_t id, uint16_t *cache)
{
    if (!cache[old]) {
        m->sets = kn_grow(m->f->c, m->sets, &m->capset, m->nset + 1u,
                          sizeof *m->sets);
        m->sets[m->nset] = m->sets[old];
        m->sets[m->nset].w[id / 64] |= 1ull << (id % 64);
        cache[old] = m->nset++;
    }
    return cache[old];
}

static void
write_bytes(struct access_map *m, size_t at, uint32_t id)
{
    uint32_t n = width(m->f, &m->f->ins[at]);
    uint16_t first = m->nset, *cache = KN_NEW(m->f->c, uint16_t, first);

    for (uint32_t t = 0; t < m->threads; t++)
        for (uint32_t b = m->at[at][t]; b < m->at[at][t] + n; b++) {
            uint8_t own = (uint8_t)(1 + t / 64);

            m->owner[b] = m->owner[b] == NOBODY || m->owner[b] == own ? own
                                                                      : MANY;
            if (m->class[b] < first)
                m->class[b] = refine(m, m->class[b], id, cache);
        }
}

static kiln_status
collect_writes(struct access_map *m, uint32_t tile)
{
    const struct kn_fn *f = m->f;

    for (size_t k = 0; k < m->nlist; k++) {
        uint32_t i = m->list[k];

        if (!m->at[i] || KN_REF_LDS(f->ins[i].arg[0]) != tile)
            continue;
        if (m->same[i] < i) {
            m->p->access[i].id = m->p->access[m->same[i]].id;
            continue;
        }
        KN_TRY(check_range(m, i));
        if (!is_write(&f->ins[i]))
            continue;
        if (m->nwrite == PROOF_WRITES || m->nset > UINT16_MAX / 2)
            return PROOF_FAIL(m->p, f->ins[i].at, "%%%s is written in more "
                              "than %d different ways", f->lds[tile].name,
                              PROOF_WRITES);
        m->p->access[i].id = (uint16_t)m->nwrite;
        write_bytes(m, i, m->nwrite++);
    }
    return KILN_OK;
}

static bool
owns(const struct access_map *m, size_t at)
{
    uint32_t n = width(m->f, &m->f->ins[at]);

    for (uint32_t t = 0; t < m->threads; t++) {
        const uint8_t *o = &m->owner[m->at[at][t]];

        /* all equal: the bytes are the same one byte further on */
        if (*o != 1 + t / 64 || memcmp(o, o + 1, n - 1) != 0)
            return false;
    }
    return true;
}

/* What must have filled the h-th slot the read reaches into. */
static kiln_status
need_of(struct access_map *m, size_t at, uint32_t h)
{
    const struct kn_ins *i = &m->f->ins[at];
    uint32_t n = width(m->f, i), count = 0;
    bool *seen = KN_NEW(m->f->c, bool, m->nset);
    struct proof_access *x = &m->p->access[at];
    struct proof_set *need;

    for (uint32_t t = 0; t < m->threads; t++) {
        uint32_t first = m->at[at][t] % m->bytes;
        const uint16_t *k = &m->class[first];
        bool alike;

        if (m->at[at][t] / m->bytes != h * last_of(i) && !m->there[at])
            continue;        /* this lane's are in the other slot */
        alike = !memcmp(k, k + 1, (n - 1) * sizeof *k);
        for (uint32_t b = 0; b < (alike ? 1 : n); b++) {
            if (!k[b])
                return PROOF_FAIL(m->p, i->at, "lane %u of wave %u reads byte "
                                  "%u of LDS slot %%%s[%u], which nothing "
                                  "writes", t % 64, t / 64, first + b,
                                  m->f->lds[KN_REF_LDS(i->arg[0])].name,
                                  KN_REF_SLOT(i->arg[0]) + h * last_of(i));
            count += !seen[k[b]];
            seen[k[b]] = true;
        }
    }
    need = KN_NEW(m->f->c, struct proof_set, x->nneed[h] + count);
    for (uint32_t k = 0; k < x->nneed[h]; k++)
        *need++ = x->need[h][k]; /* as rows begin elsewhere */
    x->need[h] = need - x->nneed[h];
    x->nneed[h] += count;
    for (uint16_t k = 0; k < m->nset; k++)
        if (seen[k])
            *need++ = m->sets[k];
    return KILN_OK;
}

/* own=1 says so; here it must be true. */
static kiln_status
check_claims(const struct access_map *m, uint32_t tile)
{
    const struct kn_fn *f = m->f;

    for (size_t k = 0; k < m->nlist; k++) {
        uint32_t i = m->list[k];
        const struct kn_ins *ins = &f->ins[i];

        if (m->at[i] && KN_REF_LDS(ins->arg[0]) == tile &&
            ins->attr[KN_A_own] && !m->p->access[i].own)
            return PROOF_FAIL(m->p, ins->at, "own= is not true: other waves write some of "
                              "these bytes of LDS slot %%%s[%u]", f->lds[tile].name,
                              KN_REF_SLOT(ins->arg[0]));
    }
    return KILN_OK;
}

/* The writes that fill each byte, and what each read needs of them, as rows begin. */
static kiln_status
one_run(struct access_map *m, uint32_t tile)
{
    const struct kn_fn *f = m->f;

    m->class = KN_NEW(f->c, uint16_t, m->bytes);
    m->sets = NULL;
    m->capset = m->nwrite = 0;
    m->sets = kn_grow(f->c, NULL, &m->capset, 1, sizeof *m->sets);
    m->nset = 1;             /* class 0: written by nothing */
    KN_TRY(collect_writes(m, tile));
    for (size_t k = 0; k < m->nlist; k++) {
        uint32_t i = m->list[k];

        if (!m->at[i] || KN_REF_LDS(f->ins[i].arg[0]) != tile || m->same[i] < i)
            continue;
        for (uint32_t h = 0; !is_write(&f->ins[i]) && h < span_of(&f->ins[i]); h++)
            KN_TRY(need_of(m, i, h));
    }
    return KILN_OK;
}

static kiln_status
one_tile(struct access_map *m, uint32_t tile)
{
    const struct kn_fn *f = m->f;
    struct proof_access *access = m->p->access;

    m->bytes = kn_geometry(f, &f->lds[tile]).bytes;
    m->owner = KN_NEW(f->c, uint8_t, m->bytes);
    for (uint32_t k = 0; k < m->nrun; k++) {
        m->at = m->run[k];
        KN_TRY(one_run(m, tile));
    }
    for (size_t k = 0; k < m->nlist; k++) {
        uint32_t i = m->list[k], same = m->same[i];

        if (!m->at[i] || KN_REF_LDS(f->ins[i].arg[0]) != tile)
            continue;
        access[i].slot = (int32_t)(m->p->first[tile] + KN_REF_SLOT(f->ins[i].arg[0]));
        access[i].span = (uint8_t)span_of(&f->ins[i]);
        access[i].next = (uint8_t)last_of(&f->ins[i]);
        if (same < i) {
            access[i].own = access[same].own;
            memcpy(access[i].need, access[same].need, sizeof access[i].need);
            memcpy(access[i].nneed, access[same].nneed, sizeof access[i].nneed);
            continue;
        }
        access[i].own = access[i].span == 1 && owns(m, i);
    }
    return check_claims(m, tile);
}

kiln_status
proof_accesses(struct proof *p)
{
    const struct kn_fn *f = p->f;
    struct access_map m = { .p = p, .f = f, .threads = kn_waves(f) * 64 };

    m.wanted = KN_NEW(p->c, bool, f->nval);
    m.list = KN_NEW(p->c, uint32_t, f->nins + 1);
    m.there = KN_NEW(p->c, uint32_t *, f->nins);
    m.other = KN_NEW(p->c, uint32_t *, f->nval);
    m.same = KN_NEW(p->c, uint32_t, f->nins);
    p->access = KN_NEW(p->c, struct proof_access, f->nins);
    for (size_t i = 0; i < f->nins; i++)
        p->access[i].slot = -1;
    m.known = proof_fixed_values(f);
    find_wanted(&m);
    KN_TRY(run_begins(&m));
    for (uint32_t t = 0; t < f->nlds; t++)
        KN_TRY(one_tile(&m, t));
    return KILN_OK;
}
