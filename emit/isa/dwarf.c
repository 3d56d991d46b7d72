/* dwarf.c - DWARF line tables (DWARF 5, 6.2; versions 2 to 4 differ in their
 * headers). Rows are kept in one array, sorted by address. */
#include "object.h"

#include <stdlib.h>
#include <string.h>

#include "elfview.h"

enum { MAX_ROWS = 1 << 22, MAX_FORMS = 16 };

struct row {
    uint64_t addr;
    uint32_t line;
    uint32_t order;
    const char *file;        /* NULL: the end of a sequence */
};

struct kn_dwarf {
    struct row *row;
    size_t n, cap;
};

/* A piece of a section; `bad` once something was read beyond it. */
struct cursor {
    const uint8_t *p, *end;
    bool bad;
};

struct section {
    const uint8_t *p;
    uint64_t n;
};

struct unit {
    struct kn_ctx *c;
    struct kn_dwarf *out;
    const struct section *str, *line_str;
    unsigned version, min_inst, line_range, opcode_base;
    int line_base;
    uint8_t lengths[256];    /* operands of the standard opcodes */
    const char **file;
    size_t nfiles;
    bool wide;               /* 64-bit DWARF */
};

/* ---- reading --------------------------------------------------------------- */

static uint64_t
take(struct cursor *c, unsigned n)
{
    uint64_t v = 0;

    if ((size_t)(c->end - c->p) < n) {
        c->bad = true;
        c->p = c->end;
        return 0;
    }
    memcpy(&v, c->p, n);
    c->p += n;
    return v;
}

static uint64_t
take_uleb(struct cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; !c->bad; shift += 7) {
        uint64_t b = take(c, 1);

        if (shift < 64)
            v |= (b & 127) << shift;
        if (!(b & 128))
            break;
    }
    return v;
}

static int64_t
take_sleb(struct cursor *c)
{
    uint64_t v = 0, b = 0;
    unsigned shift = 0;

    do {
        b = take(c, 1);
        if (shift < 64)
            v |= (b & 127) << shift;
        shift += 7;
    } while (b & 128 && !c->bad);
    if (shift < 64 && b & 64)
        v |= ~(uint64_t)0 << shift;
    return (int64_t)v;
}

static void
skip(struct cursor *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->p)) {
        c->bad = true;
        n = (uint64_t)(c->end - c->p);
    }
    c->p += n;
}

static const char *
take_string(struct cursor *c)
{
    const uint8_t *start = c->p;
    const uint8_t *zero = memchr(start, 0, (size_t)(c->end - start));

    if (!zero) {
        c->bad = true;
        c->p = c->end;
        return "";
    }
    c->p = zero + 1;
    return (const char *)start;
}

static const char *
string_at(const struct section *s, uint64_t at)
{
    if (!s || at >= s->n || !memchr(s->p + at, 0, (size_t)(s->n - at)))
        return "";
    return (const char *)s->p + at;
}

/* ---- names ------------------------------------------------------------------ */

enum {                       /* DW_FORM */
    FORM_BLOCK = 9, FORM_DATA1 = 11, FORM_DATA2 = 5, FORM_DATA4 = 6,
    FORM_DATA8 = 7, FORM_DATA16 = 30, FORM_STRING = 8, FORM_STRP = 14,
    FORM_UDATA = 15, FORM_LINE_STRP = 31
};

struct value {
    const char *text;
    uint64_t number;
};

static struct value
take_form(const struct unit *u, struct cursor *c, uint64_t form)
{
    struct value v = { "", 0 };

    switch (form) {
    case FORM_STRING: v.text = take_string(c); break;
    case FORM_STRP: v.text = string_at(u->str, take(c, u->wide ? 8 : 4)); break;
    case FORM_LINE_STRP:
        v.text = string_at(u->line_str, take(c, u->wide ? 8 : 4));
        break;
    case FORM_DATA1: v.number = take(c, 1); break;
    case FORM_DATA2: v.number = take(c, 2); break;
    case FORM_DATA4: v.number = take(c, 4); break;
    case FORM_DATA8: v.number = take(c, 8); break;
    case FORM_DATA16: skip(c, 16); break;
    case FORM_UDATA: v.number = take_uleb(c); break;
    case FORM_BLOCK: skip(c, take_uleb(c)); break;
    default: c->bad = true;
    }
    return v;
}

static const char *
join(struct unit *u, const char *folder, const char *name)
{
    struct kn_buf b = { .c = u->c };

    if (!*folder || *name == '/')
        return name;
    kn_putf(&b, "%s/%s", folder, name);
    return b.s;
}

/* One table of version 5: directories (folder NULL), or files. */
static const char **
take_entries(struct unit *u, struct cursor *c, const char **folder,
             size_t *count)
{
    uint64_t form[MAX_FORMS][2], nforms = take(c, 1), n;
    const char **out;

    if (nforms > MAX_FORMS)
        c->bad = true;
    for (uint64_t k = 0; k < nforms && !c->bad; k++)
        for (int j = 0; j < 2; j++)
            form[k][j] = take_uleb(c);
    n = take_uleb(c);
    if (c->bad || n > (uint64_t)(c->end - c->p))
        c->bad = true, n = 0;
    out = KN_NEW(u->c, const char *, n);
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        const char *name = "";
        uint64_t dir = 0;

        for (uint64_t k = 0; k < nforms; k++) {
            struct value v = take_form(u, c, form[k][1]);

            if (form[k][0] == 1)         /* DW_LNCT_path */
                name = v.text;
            else if (form[k][0] == 2)    /* DW_LNCT_directory_index */
                dir = v.number;
        }
        out[i] = folder && dir < *count && dir ? join(u, folder[dir], name)
                                               : name;
    }
    *count = n;
    return out;
}

static void
take_names5(struct unit *u, struct cursor *c)
{
    const char **folder;
    size_t n = 0;

    folder = take_entries(u, c, NULL, &n);
    u->file = take_entries(u, c, folder, &n);
    u->nfiles = n;
}

/* Versions 2 to 4: lists that end with an empty name; both count from 1. */
static void
take_names4(struct unit *u, struct cursor *c)
{
    size_t n = 1, cap = 0, nfolders;
    const char **folder = NULL, **file = NULL;

    for (const char *s; !c->bad && *(s = take_string(c)); n++) {
        folder = kn_grow(u->c, folder, &cap, n + 1, sizeof *folder);
        folder[n] = s;
    }
    nfolders = n;
    cap = 0;
    n = 1;
    for (const char *s; !c->bad && *(s = take_string(c)); n++) {
        uint64_t dir = take_uleb(c);

        take_uleb(c);
        take_uleb(c);
        file = kn_grow(u->c, file, &cap, n + 1, sizeof *file);
        file[n] = dir && dir < nfolders ? join(u, folder[dir], s) : s;
    }
    u->file = file;
    u->nfiles = file ? n : 0;
}

/* ---- the program ------------------------------------------------------------ */

struct machine {
    uint64_t addr, file, line;
    bool dead;               /* of code the linker left out: at address 0 */
};

static void
add_row(struct unit *u, const struct machine *m, bool end)
{
    struct kn_dwarf *l = u->out;
    const char *file = m->file < u->nfiles ? u->file[m->file] : NULL;

    if (l->n >= MAX_ROWS || m->dead)
        return;
    l->row = kn_grow(u->c, l->row, &l->cap, l->n + 1, sizeof *l->row);
    l->row[l->n] = (struct row){ m->addr, (uint32_t)m->line, (uint32_t)l->n,
                                 end || !file ? NULL : file };
    l->n++;
}

static void
advance(struct unit *u, struct machine *m, uint64_t operations)
{
    m->addr += operations * u->min_inst;
}

static void
extended(struct unit *u, struct cursor *c, struct machine *m)
{
    uint64_t n = take_uleb(c);
    const uint8_t *next;
    uint64_t op;

    if (n > (uint64_t)(c->end - c->p) || !n) {
        c->bad = true;
        return;
    }
    next = c->p + n;
    op = take(c, 1);
    if (op == 1) {                       /* DW_LNE_end_sequence */
        add_row(u, m, true);
        *m = (struct machine){ 0, 1, 1, false };
    } else if (op == 2) {                /* DW_LNE_set_address */
        m->addr = n == 9 ? take(c, 8) : 0;
        m->dead = !m->addr;
    }
    c->p = next;
}

static void
standard(struct unit *u, struct cursor *c, struct machine *m, unsigned op)
{
    switch (op) {
    case 1: add_row(u, m, false); break;
    case 2: advance(u, m, take_uleb(c)); break;
    case 3: m->line += (uint64_t)take_sleb(c); break;
    case 4: m->file = take_uleb(c); break;
    case 8: advance(u, m, (255 - u->opcode_base) / u->line_range); break;
    case 9: m->addr += take(c, 2); break;
    default:                 /* columns, marks: their operands */
        for (unsigned k = 0; k < u->lengths[op]; k++)
            take_uleb(c);
    }
}

static void
run_program(struct unit *u, struct cursor *c)
{
    struct machine m = { 0, 1, 1, false };

    while (c->p < c->end && !c->bad) {
        unsigned op = (unsigned)take(c, 1);

        if (!op) {
            extended(u, c, &m);
        } else if (op < u->opcode_base) {
            standard(u, c, &m, op);
        } else {
            unsigned k = op - u->opcode_base;

            advance(u, &m, k / u->line_range);
            m.line += (uint64_t)(u->line_base + (int)(k % u->line_range));
            add_row(u, &m, false);
        }
    }
}

/* Header and program of one unit; `c` is all of it behind its length. */
static void
read_unit(struct unit *u, struct cursor *c)
{
    struct cursor names;
    uint64_t length;

    u->version = (unsigned)take(c, 2);
    if (u->version < 2 || u->version > 5)
        return;
    if (u->version == 5)
        take(c, 2);          /* sizes of addresses and selectors */
    length = take(c, u->wide ? 8 : 4);
    if (c->bad || length > (uint64_t)(c->end - c->p))
        return;
    names = (struct cursor){ c->p, c->p + length, false };
    c->p += length;
    u->min_inst = (unsigned)take(&names, 1);
    if (u->version >= 4)
        take(&names, 1);     /* operations of a VLIW instruction */
    take(&names, 1);         /* default_is_stmt */
    u->line_base = (int8_t)take(&names, 1);
    u->line_range = (unsigned)take(&names, 1);
    u->opcode_base = (unsigned)take(&names, 1);
    for (unsigned k = 1; k < u->opcode_base; k++)
        u->lengths[k] = (uint8_t)take(&names, 1);
    if (names.bad || !u->line_range || !u->opcode_base)
        return;
    if (u->version == 5)
        take_names5(u, &names);
    else
        take_names4(u, &names);
    if (!names.bad)
        run_program(u, c);
}

/* ---- a file ------------------------------------------------------------------ */

static struct section
find_section(const struct kn_elf *e, const char *name)
{
    for (uint32_t i = 0; i < e->nsh; i++)
        if (e->sh[i].sh_type != SHT_NOBITS && e->sh[i].sh_type != SHT_NULL &&
            !(e->sh[i].sh_flags & SHF_COMPRESSED) &&
            !strcmp(kn_elf_section_name(e, i), name))
            return (struct section){ e->p + e->sh[i].sh_offset,
                                     e->sh[i].sh_size };
    return (struct section){ NULL, 0 };
}

static int
by_address(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    if (!a->file != !b->file)            /* a sequence ends before the next */
        return a->file ? 1 : -1;
    return a->order < b->order ? -1 : a->order > b->order;
}

kiln_status
kn_dwarf_read(struct kn_ctx *c, const void *bytes, size_t size,
              struct kn_dwarf **out)
{
    struct section line, str, line_str;
    struct cursor at;
    struct kn_elf e;

    *out = NULL;
    KN_TRY(kn_elf_open(c, "code object", bytes, size, &e));
    line = find_section(&e, ".debug_line");
    str = find_section(&e, ".debug_str");
    line_str = find_section(&e, ".debug_line_str");
    if (e.eh.e_type != ET_DYN || !line.n)
        return KILN_OK;
    *out = KN_NEW(c, struct kn_dwarf, 1);
    at = (struct cursor){ line.p, line.p + line.n, false };
    while (at.p < at.end) {
        struct unit u = { .c = c, .out = *out, .str = &str,
                          .line_str = &line_str };
        uint64_t n = take(&at, 4);
        struct cursor body;

        u.wide = n == UINT32_MAX;
        if (u.wide)
            n = take(&at, 8);
        if (at.bad || n > (uint64_t)(at.end - at.p))
            break;
        body = (struct cursor){ at.p, at.p + n, false };
        at.p += n;
        read_unit(&u, &body);
    }
    if ((*out)->n)
        qsort((*out)->row, (*out)->n, sizeof *(*out)->row, by_address);
    return KILN_OK;
}

size_t
kn_dwarf_rows(const struct kn_dwarf *l)
{
    return l ? l->n : 0;
}

const char *
kn_dwarf_find(const struct kn_dwarf *l, uint64_t addr, uint32_t *line)
{
    size_t lo = 0, hi = l ? l->n : 0;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (l->row[mid].addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    /* Line 0 is what belongs to no line: the one before it is nearest. */
    while (lo && l->row[lo - 1].file && !l->row[lo - 1].line)
        lo--;
    if (!lo || !l->row[lo - 1].file)
        return NULL;
    *line = l->row[lo - 1].line;
    return l->row[lo - 1].file;
}
