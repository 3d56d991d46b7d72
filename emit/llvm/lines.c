/* lines.c - a DWARF 4 line program (DWARF 4, section 6.2) to a map. */
#include "../emit.h"

#include <string.h>

#include "../isa/elfview.h"

struct reader {
    const uint8_t *p, *end;
    bool bad;
};

static uint64_t
fixed(struct reader *r, unsigned n)
{
    uint64_t v = 0;

    if ((size_t)(r->end - r->p) < n) {
        r->bad = true;
        return 0;
    }
    memcpy(&v, r->p, n);
    r->p += n;
    return v;
}

static uint64_t
uleb(struct reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = (uint8_t)fixed(r, 1);

        v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128) || r->bad)
            return v;
    }
    r->bad = true;
    return 0;
}

static int64_t
sleb(struct reader *r)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b;

    do {
        b = (uint8_t)fixed(r, 1);
        v |= (uint64_t)(b & 127) << shift;
        shift += 7;
    } while ((b & 128) && !r->bad && shift < 63);
    if (b & 64)
        v |= ~(uint64_t)0 << shift;
    return (int64_t)v;
}

struct program {
    struct kn_ctx *c;
    struct kn_line_map *out;
    size_t cap;
    uint64_t address;
    int64_t line;
    uint8_t min_inst, range, opcode_base;
    int8_t line_base;
    uint8_t lengths[256];
};

static void
emit_row(struct program *p)
{
    struct kn_line_map *m = p->out;
    struct kn_line_row row = { (uint32_t)p->address,
                               p->line > 0 ? (uint32_t)p->line - 1
                                           : UINT32_MAX };

    if (m->n && m->row[m->n - 1].offset == row.offset) {
        m->row[m->n - 1] = row;
        return;
    }
    m->row = kn_grow(p->c, m->row, &p->cap, m->n + 1, sizeof *m->row);
    m->row[m->n++] = row;
}

static void
extended(struct program *p, struct reader *r)
{
    uint64_t len = uleb(r);
    const uint8_t *next = r->p + len;
    uint8_t op;

    if (len < 1 || len > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return;
    }
    op = (uint8_t)fixed(r, 1);
    if (op == 1) {           /* end_sequence */
        p->line = 0;
        emit_row(p);
        p->line = 1;
        p->address = 0;
    } else if (op == 2) {    /* set_address: .text starts at 0 */
        p->address = fixed(r, 8);
    }
    r->p = next;
}

static void
advance(struct program *p, uint64_t operations)
{
    p->address += operations * p->min_inst;
}

static void
standard(struct program *p, struct reader *r, uint8_t op)
{
    switch (op) {
    case 1: emit_row(p); break;                      /* copy */
    case 2: advance(p, uleb(r)); break;              /* advance_pc */
    case 3: p->line += sleb(r); break;               /* advance_line */
    case 8: advance(p, (255u - p->opcode_base) / p->range); break;
    case 9: p->address += fixed(r, 2); break;        /* fixed_advance_pc */
    default:
        for (uint8_t i = 0; i < p->lengths[op]; i++)
            uleb(r);
    }
}

static void
run(struct program *p, struct reader *r)
{
    while (r->p < r->end && !r->bad) {
        uint8_t op = (uint8_t)fixed(r, 1);

        if (!op) {
            extended(p, r);
        } else if (op < p->opcode_base) {
            standard(p, r, op);
        } else {
            op = (uint8_t)(op - p->opcode_base);
            advance(p, op / p->range);
            p->line += p->line_base + op % p->range;
            emit_row(p);
        }
    }
}

static kiln_status
read_table(struct program *p, struct reader *r)
{
    uint64_t header;
    const uint8_t *start;

    fixed(r, 4);             /* unit_length: the section has one unit */
    if (fixed(r, 2) != 4)
        return kn_fail(p->c, KILN_BAD_INPUT, "the line table is not DWARF 4");
    header = fixed(r, 4);
    start = r->p;
    p->min_inst = (uint8_t)fixed(r, 1);
    fixed(r, 2);             /* maximum_operations, default_is_stmt */
    p->line_base = (int8_t)fixed(r, 1);
    p->range = (uint8_t)fixed(r, 1);
    p->opcode_base = (uint8_t)fixed(r, 1);
    for (int i = 1; i < p->opcode_base; i++)
        p->lengths[i] = (uint8_t)fixed(r, 1);
    if (r->bad || !p->range || !p->opcode_base ||
        header > (uint64_t)(r->end - start))
        return kn_fail(p->c, KILN_BAD_INPUT, "the line table is damaged");
    r->p = start + header;
    run(p, r);
    return r->bad ? kn_fail(p->c, KILN_BAD_INPUT, "the line table is damaged")
                  : KILN_OK;
}

kiln_status
kn_lines_read(struct kn_ctx *c, const void *rel, size_t size,
              struct kn_line_map *out)
{
    struct program p = { .c = c, .out = out, .line = 1 };
    struct kn_elf e;

    *out = (struct kn_line_map){ 0 };
    KN_TRY(kn_elf_open(c, "object", rel, size, &e));
    for (uint32_t i = 0; i < e.nsh; i++) {
        const char *name = kn_elf_section_name(&e, i);

        if (name && !strcmp(name, ".debug_line")) {
            struct reader r = { e.p + e.sh[i].sh_offset,
                                e.p + e.sh[i].sh_offset + e.sh[i].sh_size,
                                false };

            return read_table(&p, &r);
        }
    }
    return KILN_OK;
}

uint32_t
kn_lines_find(const struct kn_line_map *m, uint64_t offset)
{
    size_t lo = 0, hi = m->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (m->row[mid].offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? m->row[lo - 1].ins : UINT32_MAX;
}

uint32_t
kn_lines_next(const struct kn_line_map *m, uint64_t offset, size_t *row)
{
    while (*row < m->n && m->row[*row].offset <= offset)
        ++*row;
    return *row ? m->row[*row - 1].ins : UINT32_MAX;
}
