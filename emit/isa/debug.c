/* debug.c - debug information of one kernel: DWARF 5's line table with the text
 * of its files, the kernel as a function of one unit, and its call frame, which
 * has no caller. Written apart from the code, so that .text is the same. */
#include "object.h"

#include <string.h>

#include "elfview.h"

/* DWARF 5, chapter 7; LLVM's extensions: LLVM AMDGPUUsage. */
enum {
    TAG_UNIT = 0x11, TAG_FUNCTION = 0x2e, UT_COMPILE = 1,
    AT_NAME = 0x03, AT_LINES = 0x10, AT_LOW = 0x11, AT_HIGH = 0x12,
    AT_LANGUAGE = 0x13, AT_FOLDER = 0x1b, AT_PRODUCER = 0x25,
    AT_EXTERNAL = 0x3f,
    FORM_ADDR = 0x01, FORM_DATA2 = 0x05, FORM_DATA8 = 0x07, FORM_STRING = 0x08,
    FORM_UDATA = 0x0f, FORM_OFFSET = 0x17, FORM_PRESENT = 0x19,
    LNCT_PATH = 1, LNCT_FOLDER = 2, LNCT_LLVM_SOURCE = 0x2001,
    LNS_COPY = 1, LNS_ADVANCE_PC = 2, LNS_ADVANCE_LINE = 3, LNS_SET_FILE = 4,
    LNE_END = 1, LNE_SET_ADDRESS = 2,
    CFA_UNDEFINED = 0x07, CFA_EXPRESSION = 0x0f,
    OP_LIT0 = 0x30, OP_LLVM_USER = 0xe9, OP_LLVM_FORM_ASPACE_ADDRESS = 2,
    LANG_ASSEMBLER = 0x8001, /* of GNU as: lines, and no types */
    REG_PC = 16, PRIVATE_WAVE = 6,
    LINE_BASE = -5, LINE_RANGE = 14, OPCODE_BASE = 13, INSTRUCTION = 4
};

static void
put_number(struct kn_buf *b, uint64_t v, unsigned n)
{
    kn_put_bytes(b, &v, n);
}

static void
put_uleb(struct kn_buf *b, uint64_t v)
{
    do {
        put_number(b, (v & 127) | (v > 127 ? 128 : 0), 1);
        v >>= 7;
    } while (v);
}

static void
put_sleb(struct kn_buf *b, int64_t v)
{
    bool more = true;

    while (more) {
        uint8_t low = (uint8_t)((uint64_t)v & 127);

        v = v < 0 ? ~(~v >> 7) : v >> 7;
        more = !(v == 0 && !(low & 64)) && !(v == -1 && low & 64);
        put_number(b, (uint64_t)low | (more ? 128 : 0), 1);
    }
}

static void
put_string(struct kn_buf *b, const char *s)
{
    kn_put_bytes(b, s, strlen(s) + 1);
}

/* A part that begins with its own length, made of `body`. */
static void
put_unit(struct kn_buf *b, const struct kn_buf *body)
{
    put_number(b, body->n, 4);
    kn_put_bytes(b, body->s, body->n);
}

/* ---- lines ---- */

static void
put_files(struct kn_buf *b, const struct kn_debug *d)
{
    static const uint16_t folder[] = { 1, LNCT_PATH, FORM_STRING };
    static const uint16_t file[] = { 3, LNCT_PATH, FORM_STRING, LNCT_FOLDER,
                                     FORM_UDATA, LNCT_LLVM_SOURCE,
                                     FORM_STRING };

    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
        put_uleb(b, folder[i]);
    put_uleb(b, 2);
    put_string(b, ".");
    put_string(b, KN_SOURCE_FOLDER);
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        put_uleb(b, file[i]);
    put_uleb(b, d->nsource);
    for (uint32_t i = 0; i < d->nsource; i++) {
        put_string(b, d->source[i].file);
        put_uleb(b, d->source[i].own);
        put_string(b, d->source[i].text);
    }
}

static void
put_program(struct kn_buf *b, const struct kn_debug *d, uint64_t entry,
            uint64_t size)
{
    uint64_t at = 0, line = 1;

    put_number(b, 0, 1);
    put_uleb(b, 9);
    put_number(b, LNE_SET_ADDRESS, 1);
    put_number(b, entry, 8);
    for (size_t i = 0; i < d->nrow && d->row[i].offset < size; i++) {
        const struct kn_debug_row *r = &d->row[i];

        put_number(b, LNS_ADVANCE_PC, 1);
        put_uleb(b, (r->offset - at) / INSTRUCTION);
        put_number(b, LNS_SET_FILE, 1);
        put_uleb(b, r->file);
        put_number(b, LNS_ADVANCE_LINE, 1);
        put_sleb(b, (int64_t)r->line - (int64_t)line);
        put_number(b, LNS_COPY, 1);
        at = r->offset;
        line = r->line;
    }
    put_number(b, LNS_ADVANCE_PC, 1);
    put_uleb(b, (size - at) / INSTRUCTION);
    put_number(b, 0, 1);
    put_uleb(b, 1);
    put_number(b, LNE_END, 1);
}

static void
put_lines(struct kn_buf *out, const struct kn_debug *d, uint64_t entry,
          uint64_t size)
{
    static const uint8_t operands[OPCODE_BASE - 1] = {
        0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
    };
    struct kn_buf b = { .c = out->c }, names = { .c = out->c };

    put_number(&names, INSTRUCTION, 1);
    put_number(&names, 1, 1);            /* operations of an instruction */
    put_number(&names, 1, 1);            /* each row begins a statement */
    put_number(&names, (uint8_t)LINE_BASE, 1);
    put_number(&names, LINE_RANGE, 1);
    put_number(&names, OPCODE_BASE, 1);
    kn_put_bytes(&names, operands, sizeof operands);
    put_files(&names, d);
    put_number(&b, 5, 2);
    put_number(&b, 8, 1);                /* bytes of an address */
    put_number(&b, 0, 1);
    put_unit(&b, &names);
    put_program(&b, d, entry, size);
    put_unit(out, &b);
}

/* ---- the unit and the kernel in it ---- */

static const uint16_t abbreviations[] = {
    1, TAG_UNIT, 1,
        AT_PRODUCER, FORM_STRING, AT_LANGUAGE, FORM_DATA2, AT_NAME,
        FORM_STRING, AT_FOLDER, FORM_STRING, AT_LINES, FORM_OFFSET, AT_LOW,
        FORM_ADDR, AT_HIGH, FORM_DATA8, 0, 0,
    2, TAG_FUNCTION, 0,
        AT_NAME, FORM_STRING, AT_EXTERNAL, FORM_PRESENT, AT_LOW, FORM_ADDR,
        AT_HIGH, FORM_DATA8, 0, 0,
    0
};

static void
put_info(struct kn_buf *out, const struct kn_debug *d, uint64_t entry,
         uint64_t size)
{
    const struct kn_debug_file *root = &d->source[0];
    struct kn_buf b = { .c = out->c };

    put_number(&b, 5, 2);
    put_number(&b, UT_COMPILE, 1);
    put_number(&b, 8, 1);
    put_number(&b, 0, 4);                /* abbreviations, of the section */
    put_uleb(&b, 1);
    put_string(&b, "kiln");
    put_number(&b, LANG_ASSEMBLER, 2);
    kn_put(&b, root->own ? KN_SOURCE_FOLDER "/" : "");
    put_string(&b, root->file);
    put_string(&b, ".");
    put_number(&b, 0, 4);
    put_number(&b, entry, 8);
    put_number(&b, size, 8);
    put_uleb(&b, 2);
    put_string(&b, d->kernel);
    put_number(&b, entry, 8);
    put_number(&b, size, 8);
    put_number(&b, 0, 1);
    put_unit(out, &b);
}

/* ---- the frame: no stack, and nobody to return to ---- */

static void
pad(struct kn_buf *b)
{
    while ((b->n + 4) % 8)
        put_number(b, 0, 1);             /* DW_CFA_nop */
}

static void
put_frame(struct kn_buf *out, uint64_t entry, uint64_t size)
{
    static const uint8_t frame[] = {
        CFA_EXPRESSION, 4, OP_LIT0, OP_LIT0 + PRIVATE_WAVE, OP_LLVM_USER,
        OP_LLVM_FORM_ASPACE_ADDRESS, CFA_UNDEFINED, REG_PC
    };
    struct kn_buf common = { .c = out->c }, kernel = { .c = out->c };

    put_number(&common, UINT32_MAX, 4);
    put_number(&common, 4, 1);           /* version */
    put_string(&common, "");
    put_number(&common, 8, 1);
    put_number(&common, 0, 1);
    put_uleb(&common, INSTRUCTION);
    put_sleb(&common, INSTRUCTION);      /* data */
    put_uleb(&common, REG_PC);
    kn_put_bytes(&common, frame, sizeof frame);
    pad(&common);
    put_number(&kernel, 0, 4);           /* where the common part is */
    put_number(&kernel, entry, 8);
    put_number(&kernel, size, 8);
    pad(&kernel);
    put_unit(out, &common);
    put_unit(out, &kernel);
}

kiln_status
kn_object_debug(struct kn_ctx *c, const struct kn_debug *d, uint8_t **co,
                size_t *size)
{
    struct kn_buf abbrev = { .c = c }, info = { .c = c }, line = { .c = c },
                  frame = { .c = c };
    const struct kn_object_kernel *k;
    struct kn_object o;

    KN_TRY(kn_object_read(c, d->kernel, *co, *size, &o));
    KN_TRY(kn_object_kernel(c, &o, d->kernel, &k));
    for (size_t i = 0; i < sizeof abbreviations / sizeof *abbreviations; i++)
        put_uleb(&abbrev, abbreviations[i]);
    put_info(&info, d, k->entry, k->code_size);
    put_lines(&line, d, k->entry, k->code_size);
    put_frame(&frame, k->entry, k->code_size);
    return kn_elf_append(c, (struct kn_section[]){
        { ".debug_abbrev", abbrev.s, abbrev.n },
        { ".debug_info", info.s, info.n },
        { ".debug_line", line.s, line.n },
        { ".debug_frame", frame.s, frame.n } }, 4, co, size);
}
