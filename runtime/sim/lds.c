/* lds.c - the bytes of a workgroup's LDS and a shadow that knows who wrote
 * and who read them.
 *
 * Every LDS-writing instruction of the workgroup takes a stamp; a granule (a
 * dword, or a byte once a narrower or unaligned access appears) keeps the
 * stamp of its last writer. An update by one wave is ordered before an access
 * by another iff the writer had waited for it (lgkmcnt for ds_write, vmcnt
 * for a direct-to-LDS copy) when the last barrier released both. At each
 * barrier `safe` becomes the newest stamp below which everything is ordered:
 * the common access costs one comparison, the rest is decided exactly from
 * the writer's queue. Reads keep, for each wave, the LDS sequence number of
 * the last read of a granule. Reads of parts of dwords, as scales are, leave
 * granules as they are while all is plainly in order; for everything else, a
 * report in particular, granules are bytes. */
#include "granule.h"

static uint32_t
byte_address(const struct kn_lds_shadow *s, uint32_t granule)
{
    return granule << s->shift;
}

/* ---- who wrote it ------------------------------------------------------- */

/* The writer of a stamp, NULL if it is too long ago to matter. */
static const struct kn_lds_op *
writer_of(const struct kn_lds_shadow *s, uint32_t stamp)
{
    stamp &= ~KN_LDS_UNDEF;
    if (stamp <= s->safe || s->stamp - stamp >= KN_LDS_OPS)
        return NULL;
    return &s->op[stamp % KN_LDS_OPS];
}

static bool
other_wave_ordered(const struct kn_group *g, const struct kn_lds_op *op)
{
    const struct kn_async *a = g->wave[op->wave].async;

    return op->seq <= (op->kind == KN_L_DMA ? a->vm_barrier : a->ds_barrier);
}

static const char *
why_unordered(const struct kn_group *g, const struct kn_lds_op *op)
{
    const struct kn_async *a = g->wave[op->wave].async;
    bool dma = op->kind == KN_L_DMA;

    if (op->seq <= (dma ? a->vm_done : a->ds_done))
        return "no barrier between";
    return dma ? "that wave has not waited for vmcnt before a barrier"
               : "that wave has not waited for lgkmcnt before a barrier";
}

static const char *
op_name(const struct kn_wave *w, uint32_t inst)
{
    return kn_isa[w->group->program->inst[inst].op].mnemonic;
}

/* One granule of one lane's access. */
struct spot {
    struct kn_wave *w;
    const struct kn_inst *i;
    int lane;
    uint32_t addr;           /* of its first byte */
    enum kn_lds_kind kind;   /* of an update */
};

/* The update that reading a granule with this stamp is not ordered behind. */
static const struct kn_lds_op *
read_too_early(const struct kn_wave *w, uint32_t stamp)
{
    const struct kn_lds_op *op = writer_of(w->group->shadow, stamp);
    bool ordered = !op || (op->wave != w->id
                               ? other_wave_ordered(w->group, op)
                               : op->kind != KN_L_DMA ||
                                     op->seq <= w->async->vm_done);

    return ordered ? NULL : op;
}

/* Is reading a granule with this stamp wrong? Reports it if so. */
static bool
read_conflict(const struct spot *p, uint32_t stamp)
{
    struct kn_wave *w = p->w;
    const struct kn_lds_op *op = read_too_early(w, stamp);
    const struct kn_async *a = w->async;

    if (!op)
        return false;
    if (op->wave != w->id) {
        kn_report(w, p->i, KN_F_LDS_RACE_RAW,
                  KN_PAIR(p->lane, p->addr, op->inst, op->wave),
                  "LDS 0x%x written by wave %u, %s: %s", p->addr, op->wave,
                  op_name(w, op->inst), why_unordered(w->group, op));
        return true;
    }
    kn_report(w, p->i, KN_F_USE_BEFORE_WAIT,
              KN_PAIR(p->lane, p->addr, op->inst, w->id),
              "LDS 0x%x is the target of %s, vmcnt %u of %u", p->addr,
              op_name(w, op->inst), a->vm_seq - a->vm_done,
              a->vm_seq - op->seq);
    return true;
}

/* Own LDS instructions stay in order; a copy and an LDS write do not. */
static bool
own_write_ordered(const struct kn_wave *w, const struct kn_lds_op *op,
                  enum kn_lds_kind kind)
{
    bool dma = op->kind == KN_L_DMA;

    if (dma == (kind == KN_L_DMA))
        return true;
    return op->seq <= (dma ? w->async->vm_done : w->async->ds_done);
}

/* The update that an update of this kind is not ordered behind. */
static const struct kn_lds_op *
written_too_early(const struct kn_wave *w, uint32_t stamp,
                  enum kn_lds_kind kind)
{
    const struct kn_lds_op *op = writer_of(w->group->shadow, stamp);
    bool ordered = !op || (op->kind == KN_L_ATOMIC && kind == KN_L_ATOMIC) ||
                   (op->wave == w->id ? own_write_ordered(w, op, kind)
                                      : other_wave_ordered(w->group, op));

    return ordered ? NULL : op;
}

static void
write_conflict(const struct spot *p, uint32_t stamp)
{
    struct kn_wave *w = p->w;
    const struct kn_lds_op *op = written_too_early(w, stamp, p->kind);

    if (!op)
        return;
    kn_report(w, p->i, KN_F_LDS_RACE_WAW,
              KN_PAIR(p->lane, p->addr, op->inst, op->wave),
              "LDS 0x%x also written by wave %u, %s: %s", p->addr, op->wave,
              op_name(w, op->inst), why_unordered(w->group, op));
}

/* ---- reads -------------------------------------------------------------- */

static inline bool
doubt(const uint32_t *writer, unsigned n, uint32_t safe)
{
    struct kn_doubt d = { { 0 }, 0 };

    kn_doubt_read(&d, writer, n, safe);
    return kn_in_doubt(&d);
}

/* One lane that is not plainly safe. */
static void
read_slow(struct kn_wave *w, const struct kn_inst *i, struct kn_lds_access *x,
          unsigned lane)
{
    static const uint32_t poison = KN_POISON;
    struct kn_lds_shadow *s = w->group->shadow;
    unsigned step = 1u << s->shift;
    struct spot p = { w, i, (int)lane, 0, KN_L_WRITE };
    unsigned defined = 0;    /* bit k: some byte of dword k is */

    for (unsigned b = 0; b < x->bytes; b += step) {
        uint32_t g = (x->addr[lane] + b) >> s->shift;
        uint32_t stamp = s->writer[g];

        if (stamp && !(stamp & KN_LDS_UNDEF))
            defined |= 1u << b / 4;
        p.addr = byte_address(s, g);
        if (stamp && read_conflict(&p, stamp))
            memcpy(x->buf[lane] + b, &poison, step);
    }
    for (unsigned k = 0; k * 4 < x->bytes; k++)
        x->undef[k] |= (uint64_t)(~defined >> k & 1) << lane;
}

/* An observed launch moves the data and judges nothing: nobody reads its
 * findings. */
static bool
is_observed(const struct kn_wave *w)
{
    return w->group->run->l->tap != NULL;
}

static void
read_observed(const struct kn_wave *w, struct kn_lds_access *x)
{
    for (uint64_t m = x->mask; m; m &= m - 1) {
        unsigned l = (unsigned)__builtin_ctzll(m);

        memcpy(x->buf[l], w->group->lds + x->addr[l], 16); /* padded */
    }
}

/* Moves n granules of each lane and notes that they were read; whether one of
 * them is not plainly safe. */
KN_INLINE bool
read_lanes(const struct kn_group *g, struct kn_lds_access *x,
           uint16_t *reader, uint16_t mark, unsigned n)
{
    const uint32_t *writer = g->shadow->writer;
    uint32_t safe = g->shadow->safe, shift = g->shadow->shift;
    struct kn_doubt d = { { 0 }, 0 };
    const uint8_t *lds = g->lds;

    for (uint64_t m = x->mask; m; m &= m - 1) {
        unsigned l = (unsigned)__builtin_ctzll(m);
        uint32_t at = x->addr[l] >> shift;

        memcpy(x->buf[l], lds + x->addr[l], 16); /* padded */
        kn_doubt_read(&d, writer + at, n, safe);
        kn_mark_run(reader + at, n, mark);
    }
    return kn_in_doubt(&d);
}

/* Reads of whole dwords beside such of parts. */
static __attribute__((noinline)) void
note_wide(const struct kn_wave *w, const struct kn_lds_access *x, uint16_t mark,
          unsigned n)
{
    const struct kn_lds_shadow *s = w->group->shadow;
    uint16_t *wide = s->wide + (size_t)w->id * s->n;

    for (uint64_t m = x->mask; m; m &= m - 1)
        for (unsigned k = 0; k < n; k++)
            wide[(x->addr[__builtin_ctzll(m)] >> 2) + k] = mark;
}

static bool
read_plain(struct kn_wave *w, struct kn_lds_access *x, unsigned n)
{
    const struct kn_group *g = w->group;
    uint16_t mark = kn_lds_reader_mark(w);
    uint16_t *reader = g->shadow->reader + (size_t)w->id * g->shadow->n;

    if (g->shadow->narrow)
        note_wide(w, x, mark, n);
    switch (n) {             /* loops of a length that the compiler knows */
    case 1: return read_lanes(g, x, reader, mark, 1);
    case 2: return read_lanes(g, x, reader, mark, 2);
    case 4: return read_lanes(g, x, reader, mark, 4);
    case 8: return read_lanes(g, x, reader, mark, 8);
    case 16: return read_lanes(g, x, reader, mark, 16);
    default: return read_lanes(g, x, reader, mark, n);
    }
}

typedef bool out_of_order(const struct kn_wave *w, uint32_t stamp,
                          enum kn_lds_kind kind);

/* Is the access in order behind whoever wrote n granules of each lane? */
KN_INLINE bool
goes_well(const struct kn_wave *w, const struct kn_lds_access *x, unsigned n,
          out_of_order *wrong)
{
    const struct kn_lds_shadow *s = w->group->shadow;
    uint32_t good = 0;       /* the newest stamp that was found in order */

    for (uint64_t m = x->mask; m; m &= m - 1) {
        const uint32_t *stamp =
            s->writer + (x->addr[__builtin_ctzll(m)] >> s->shift);

        for (unsigned k = 0; k < n; k++) {
            if (stamp[k] == good && good)
                continue;
            if (wrong(w, stamp[k], x->kind))
                return false;
            good = stamp[k];
        }
    }
    return true;
}

static bool
is_misread(const struct kn_wave *w, uint32_t stamp, enum kn_lds_kind kind)
{
    (void)kind;
    return !stamp || stamp & KN_LDS_UNDEF || read_too_early(w, stamp);
}

/* Parts of dwords within the allocation, each in one dword, that can be read. */
static bool
is_narrow(const struct kn_wave *w, const struct kn_lds_access *x)
{
    const struct kn_group *g = w->group;
    uint32_t over = 0;

    for (uint64_t m = x->mask; m; m &= m - 1) {
        uint32_t at = x->addr[__builtin_ctzll(m)];

        over |= at >= g->lds_size || (at & 3) + x->bytes > 4;
    }
    return !over && g->lds_size % 4 == 0 && goes_well(w, x, 1, is_misread);
}

static __attribute__((noinline)) bool
read_narrow(struct kn_wave *w, struct kn_lds_access *x)
{
    struct kn_group *g = w->group;
    struct kn_lds_shadow *s = g->shadow;
    uint16_t *reader = s->reader + (size_t)w->id * s->n;
    uint16_t *part = s->part + (size_t)w->id * s->n * 4, mark;

    if (!is_narrow(w, x))
        return false;
    if (!s->narrow)
        kn_lds_narrow(g);
    mark = kn_lds_reader_mark(w);
    for (uint64_t m = x->mask; m; m &= m - 1) {
        unsigned l = (unsigned)__builtin_ctzll(m);

        memcpy(x->buf[l], g->lds + x->addr[l], 16); /* padded */
        reader[x->addr[l] >> 2] = mark;
        for (unsigned b = 0; b < x->bytes; b++)
            part[x->addr[l] + b] = mark;
    }
    return true;
}

void
kn_lds_read(struct kn_wave *w, const struct kn_inst *i,
            struct kn_lds_access *x)
{
    struct kn_lds_shadow *s = w->group->shadow;
    unsigned n;

    memset(x->undef, 0, sizeof x->undef);
    if (x->bytes < 4 && s->shift && !is_observed(w) && read_narrow(w, x))
        return;
    kn_lds_range(w, i, x);
    kn_lds_tap(w, x, false);
    if (is_observed(w)) {
        read_observed(w, x);
        return;
    }
    n = s->shift ? x->bytes / 4 : x->bytes;
    if (!read_plain(w, x, n))
        return;
    if (goes_well(w, x, n, is_misread))
        return;
    if (s->narrow) {
        kn_lds_refine(w->group);
        n = x->bytes;
    }
    for (uint64_t m = x->mask; m; m &= m - 1) {
        unsigned l = (unsigned)__builtin_ctzll(m);

        if (doubt(s->writer + (x->addr[l] >> s->shift), n, s->safe))
            read_slow(w, i, x, l);
    }
}

/* ---- updates ------------------------------------------------------------ */

struct readers {             /* waves with reads that are not ordered */
    unsigned n;
    uint16_t wave[16], limit[16];
};

/* Reads up to limit are ordered before an update by w. */
static void
find_readers(struct kn_wave *w, enum kn_lds_kind kind, struct readers *r)
{
    struct kn_group *g = w->group;
    struct kn_lds_shadow *s = g->shadow;

    r->n = 0;
    for (uint32_t k = 0; k < g->nwaves && r->n < 16; k++) {
        const struct kn_async *a = g->wave[k].async;
        uint32_t done = k == w->id ? a->ds_done : a->ds_barrier;

        if (k == w->id && kind != KN_L_DMA)
            continue;        /* LDS instructions of a wave stay in order */
        if (s->last_read[k] <= done)
            continue;
        r->wave[r->n] = (uint16_t)k;
        r->limit[r->n++] = (uint16_t)(done > s->read_base[k]
                                      ? done - s->read_base[k] : 0);
    }
}

static void
report_reader(const struct spot *p, unsigned reader)
{
    struct kn_lds_shadow *s = p->w->group->shadow;
    const struct kn_async *a = p->w->group->wave[reader].async;
    uint32_t seq = s->reader[(size_t)reader * s->n + (p->addr >> s->shift)] +
                   s->read_base[reader];
    uint32_t inst = s->read_inst[(size_t)reader * KN_LDS_READS +
                                 seq % KN_LDS_READS];
    bool known = a->ds_seq - seq < KN_LDS_READS;

    kn_report(p->w, p->i,
              p->kind == KN_L_DMA ? KN_F_LDS_REFILL : KN_F_LDS_RACE_WAR,
              KN_PAIR(p->lane, p->addr, known ? inst : KN_NO_INST, reader),
              "LDS 0x%x read by wave %u, %s: %s", p->addr, reader,
              known ? op_name(p->w, inst) : "long ago",
              seq > a->ds_done ? "its read may not have happened yet"
                               : "no barrier between");
}

/* n granules from the spot on. */
static void
check_readers(struct spot p, const struct readers *r, unsigned n)
{
    struct kn_lds_shadow *s = p.w->group->shadow;
    uint32_t g = p.addr >> s->shift;

    for (unsigned k = 0; k < r->n; k++) {
        const uint16_t *row = s->reader + (size_t)r->wave[k] * s->n + g;

        for (unsigned b = 0; b < n; b++)
            if (row[b] > r->limit[k]) {
                p.addr = byte_address(s, g + b);
                report_reader(&p, r->wave[k]);
            }
    }
}

/* An atomic on bytes that hold nothing; a swap needs no old value. */
static void
check_old_value(const struct spot *p)
{
    if (kn_step_of(p->w, p->i)->mem.atomic != KN_AT_SWAP)
        kn_report(p->w, p->i, KN_F_UNINIT_LDS, KN_AT(p->lane, p->addr),
                  "updates LDS 0x%x that was never written", p->addr);
}

/* A reader among n granules whose read is not ordered before. */
static inline bool
is_needed(const uint16_t *row, unsigned n, uint16_t limit)
{
    uint16_t late = 0;

    for (unsigned k = 0; k < n; k++)
        late |= row[k] > limit;
    return late;
}

static bool
is_miswritten(const struct kn_wave *w, uint32_t stamp, enum kn_lds_kind kind)
{
    return stamp > w->group->shadow->safe && written_too_early(w, stamp, kind);
}

/* Marks n defined granules of each lane, if nobody can still need any. */
KN_INLINE bool
mark_lanes(const struct kn_wave *w, const struct kn_lds_access *x,
           const struct readers *r, unsigned n)
{
    struct kn_lds_shadow *s = w->group->shadow;
    struct kn_doubt d = { { 0 }, 0 };

    for (uint64_t m = x->mask; m; m &= m - 1) {
        uint32_t at = x->addr[__builtin_ctzll(m)] >> s->shift;

        kn_doubt_write(&d, s->writer + at, n, s->safe);
    }
    for (unsigned k = 0; k < r->n; k++)
        if (kn_read_later(s->reader + (size_t)r->wave[k] * s->n, x, s->shift, n,
                          r->limit[k]))
            return false;
    if (kn_in_doubt(&d) && !goes_well(w, x, n, is_miswritten))
        return false;
    for (uint64_t m = x->mask; m; m &= m - 1)
        kn_stamp_run(s->writer + (x->addr[__builtin_ctzll(m)] >> s->shift), n,
                     s->stamp);
    return true;
}

/* Is the update of all lanes marked, there being nothing to say of it? */
static bool
mark_plain(const struct kn_wave *w, const struct kn_lds_access *x,
           const struct readers *r)
{
    if (x->kind == KN_L_ATOMIC ||
        x->undef[0] | x->undef[1] | x->undef[2] | x->undef[3])
        return false;
    switch (w->group->shadow->shift ? x->bytes / 4 : x->bytes) {
    case 1: return mark_lanes(w, x, r, 1);
    case 2: return mark_lanes(w, x, r, 2);
    case 4: return mark_lanes(w, x, r, 4);
    case 16: return mark_lanes(w, x, r, 16);
    default: return false;
    }
}

/* Is there nothing to say of this lane's update? */
static bool
updates_well(const struct kn_wave *w, const struct kn_lds_access *x,
             const struct readers *r, unsigned l)
{
    const struct kn_lds_shadow *s = w->group->shadow;
    uint32_t at = x->addr[l] >> 2, n = x->bytes / 4;

    for (unsigned k = 0; k < n; k++)
        if (s->writer[at + k] > s->safe &&
            written_too_early(w, s->writer[at + k], x->kind))
            return false;
    for (unsigned k = 0; k < r->n; k++)
        if (is_needed(s->reader + (size_t)r->wave[k] * s->n + at, n,
                      r->limit[k]))
            return false;
    return x->kind != KN_L_ATOMIC;
}

static void
mark_lane(struct kn_wave *w, const struct kn_inst *i,
          const struct kn_lds_access *x, const struct readers *r, unsigned l)
{
    struct kn_lds_shadow *s = w->group->shadow;
    unsigned n = s->shift ? x->bytes / 4 : x->bytes;
    uint32_t g = x->addr[l] >> s->shift;
    struct spot p = { w, i, (int)l, 0, x->kind };

    for (unsigned k = 0; k < n; k++) {
        unsigned dword = s->shift ? k : k / 4;
        uint32_t old = s->writer[g + k];

        p.addr = byte_address(s, g + k);
        if (x->kind == KN_L_ATOMIC && (!old || old & KN_LDS_UNDEF))
            check_old_value(&p);
        if (old > s->safe)
            write_conflict(&p, old);
        s->writer[g + k] = s->stamp |
            (x->undef[dword] >> l & 1 ? KN_LDS_UNDEF : 0);
    }
    p.addr = byte_address(s, g);
    if (r->n)
        check_readers(p, r, n);
}

/* Marks what the update makes of each of its lanes, against its readers. */
static void
judge_update(struct kn_wave *w, const struct kn_inst *i,
             const struct kn_lds_access *x)
{
    struct kn_lds_shadow *s = w->group->shadow;
    struct readers r;

    find_readers(w, x->kind, &r);
    if (mark_plain(w, x, &r))
        return;
    for (uint64_t m = x->mask; m; m &= m - 1) {
        unsigned l = (unsigned)__builtin_ctzll(m);

        if (s->narrow && !updates_well(w, x, &r, l))
            kn_lds_refine(w->group);
        mark_lane(w, i, x, &r, l);
    }
}

void
kn_lds_update(struct kn_wave *w, const struct kn_inst *i,
              struct kn_lds_access *x, struct kn_op *op)
{
    struct kn_lds_shadow *s = w->group->shadow;

    kn_lds_range(w, i, x);
    if (x->kind != KN_L_DMA)
        kn_lds_tap(w, x, true);
    if (++s->stamp == KN_LDS_UNDEF - 1)
        kn_run_fail(w, KILN_UNSUPPORTED,
                    "a workgroup with 2^31 LDS writes is not simulated");
    op->stamp = s->stamp;
    s->op[s->stamp % KN_LDS_OPS] = (struct kn_lds_op){
        (uint16_t)w->id, (uint8_t)x->kind, op->seq, op->inst };
    if (!is_observed(w))
        judge_update(w, i, x);
    if (x->kind == KN_L_WRITE)
        kn_put_rows(w->group->lds, x->addr, x->buf[0], x->mask, x->bytes);
}

void
kn_lds_commit(struct kn_wave *w, const struct kn_op *op)
{
    kn_put_rows(w->group->lds, op->lds, (const uint8_t *)op->data, op->exec,
                op->size);
}
