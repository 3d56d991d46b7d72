/* shuffle.c - device memory of operands that are stored as peers store them,
 * made from their plain rows byte by byte on demand. */
#include <string.h>

#include "../../layout.h"
#include "operands.h"

static uint64_t
source_row(const struct kn_operand *o, uint64_t row)
{
    return o->half ? kn_gate_source(row, o->half) : row;
}

/* 32 rows of 8 scales. */
static void
scale_tile(struct kn_operand *o, uint64_t batch, uint64_t tile, uint8_t *to)
{
    uint64_t blocks = (uint64_t)o->data.cols, row, block;
    uint64_t rows = o->rowmap ? o->mapped : (uint64_t)o->data.rows;

    memset(to, KN_SCALE_PAD, 256);
    for (uint64_t in = 0; in < 64; in += in % 2 ? 3 : 1) {
        uint8_t run[KN_SCALE_BLOCKS];
        int64_t from;
        uint64_t n;

        kn_scale_source(tile * 256 + in, blocks, &row, &block);
        n = blocks - block < sizeof run ? blocks - block : sizeof run;
        if (row >= rows)
            continue;
        from = o->rowmap ? o->rowmap[row] : (int64_t)source_row(o, row);
        if (from < 0)
            continue;
        kn_operand_fill(o, batch * o->data.batch_bytes + (uint64_t)from *
                        o->data.row_bytes + block, run, n);
        for (uint64_t b = 0; b < n; b++)
            to[kn_scale_place(row, b, 1) % 256] = run[b];
    }
}

static void
fill_scales(struct kn_operand *o, uint64_t offset, uint8_t *dst, size_t size)
{
    uint64_t rows = o->rowmap ? o->mapped : (uint64_t)o->data.rows;
    uint64_t all = kn_scale_bytes(rows, (uint64_t)o->data.cols);

    while (size) {
        uint64_t in = offset % all, at = in % 256;
        uint64_t n = 256 - at < size ? 256 - at : size;
        uint8_t tile[256];

        scale_tile(o, offset / all, in / 256, tile);
        memcpy(dst, tile + at, n);
        offset += n;
        dst += n;
        size -= n;
    }
}

/* Rows, in panels or not, 16 gate and 16 up in turn or not. */
static void
fill_rows(struct kn_operand *o, uint64_t offset, uint8_t *dst, size_t size)
{
    uint64_t row_bytes = o->data.row_bytes;
    uint64_t all = row_bytes * (uint64_t)o->data.rows;

    while (size) {
        uint64_t in = offset % all, row = in / row_bytes, at = in % row_bytes;
        uint64_t n = row_bytes - at;

        if (offset / all >= (uint64_t)o->data.batches) {
            memset(dst, 0xff, size);
            return;
        }
        if (o->stored == KN_STORED_PANELS) {
            kn_panel_source(in, row_bytes, &row, &at);
            n = 16 - in % 16;
        }
        n = n < size ? n : size;
        kn_operand_fill(o, offset / all * o->data.batch_bytes +
                        source_row(o, row) * row_bytes + at, dst, n);
        offset += n;
        dst += n;
        size -= n;
    }
}

void
kn_operand_stored(void *user, uint64_t offset, void *dst, size_t size)
{
    struct kn_operand *o = user;

    if (o->stored == KN_STORED_PLAIN && !o->half)
        kn_operand_fill(o, offset, dst, size);
    else if (o->stored == KN_STORED_SCALES)
        fill_scales(o, offset, dst, size);
    else
        fill_rows(o, offset, dst, size);
}

uint64_t
kn_operand_room(const struct kn_operand *o)
{
    uint64_t rows = o->rowmap ? o->mapped : (uint64_t)o->data.rows;

    if (o->stored == KN_STORED_SCALES)
        return (uint64_t)o->data.batches *
               kn_scale_bytes(rows, (uint64_t)o->data.cols);
    return o->size;
}

const uint8_t *
kn_operand_plain(struct kn_ctx *c, const struct kn_operand *o,
                 const uint8_t *bytes)
{
    uint64_t rows = (uint64_t)o->data.rows, row = o->file_row;
    uint64_t all = row * rows, from = o->stored == KN_STORED_SCALES
                                    ? kn_scale_bytes(rows, row) : all;
    uint8_t *to;

    if (o->stored == KN_STORED_PLAIN)
        return bytes;
    to = KN_NEW(c, uint8_t, all * (uint64_t)o->data.batches + 1);
    for (uint64_t b = 0; b < (uint64_t)o->data.batches; b++)
        if (o->stored == KN_STORED_PANELS)
            kn_from_panels(to + b * all, bytes + b * from, rows, row);
        else
            kn_unshuffle_scales(to + b * all, bytes + b * from, rows, row);
    return to;
}

void
kn_operands_store(const kiln_problem *p, struct kn_operand *b,
                  struct kn_operand *sa, struct kn_operand *sb)
{
    if (p->b_layout && !kn_in_words(p))
        b->stored = KN_STORED_PANELS;
    if (kn_shuffled(p))
        sa->stored = sb->stored = KN_STORED_SCALES;
    if (kn_gate_stored(p))
        b->half = sb->half = (uint64_t)p->n;
}
