/* cert.c - makes and writes certificates. */
#include "cert.h"

#include <string.h>

const char *const kn_cert_kinds[KN_ACC_KINDS] = {
    "none", "dma", "read", "write", "stagger", "rejoin",
};

uint64_t
kn_cert_digest(const struct kn_program *p)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (uint32_t n = 0; n < p->n; n++)
        for (unsigned w = 0; w < p->inst[n].size / 4u; w++)
            h = (h ^ p->inst[n].raw[w]) * 0x100000001b3u;
    return h;
}

/* ---- make ---- */

static uint32_t
slot_base(const struct kn_fn *f, uint32_t lds)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < lds; i++)
        n += f->lds[i].slots;
    return n;
}

static bool
access_of(const struct kn_fn *f, uint32_t ins, struct kn_access *a)
{
    const struct kn_ins *i;

    if (ins >= f->nins)
        return false;
    i = &f->ins[ins];
    if (i->op != KN_OP_dma && i->op != KN_OP_lds_ld && i->op != KN_OP_lds_st)
        return false;
    a->kind = i->op == KN_OP_dma ? KN_ACC_DMA
            : i->op == KN_OP_lds_ld ? KN_ACC_READ : KN_ACC_WRITE;
    a->own = i->attr[KN_A_own] != 0;
    a->slot = (uint16_t)(slot_base(f, KN_REF_LDS(i->arg[0])) +
                         KN_REF_SLOT(i->arg[0]));
    if (i->op == KN_OP_lds_ld)
        a->more = (uint8_t)(i->attr[KN_A_ring] + i->attr[KN_A_span] - 1);
    return true;
}

static void
barrier_of(const struct kn_fn *f, uint32_t ins, struct kn_access *a)
{
    uint16_t op = ins < f->nins ? f->ins[ins].op : KN_OP_barrier;

    a->kind = op == KN_OP_stagger ? KN_ACC_STAGGER
            : op == KN_OP_rejoin ? KN_ACC_REJOIN : KN_ACC_NONE;
}

/* LLVM gives what it joined of several lines none. A kernel whose accesses are
 * not known is not kept; another tile has others, as where registers lack. */
static kiln_status
refuse_access(struct kn_ctx *c, const struct kn_inst *i, bool joined)
{
    if (!joined)
        return kn_fail(c, KILN_INTERNAL, "the LDS access at 0x%llx belongs "
                       "to no operation", (unsigned long long)i->pc);
    return kn_crowded(c, kn_fail(
        c, KILN_UNSUPPORTED, "LLVM joined LDS accesses of several operations "
        "at 0x%llx (%s), which leaves them without a proof; another tile may "
        "do", (unsigned long long)i->pc, kn_isa[i->op].mnemonic));
}

kiln_status
kn_cert_accesses(struct kn_ctx *c, const struct kn_program *p,
                 const struct kn_fn *f, const struct kn_line_map *lines,
                 struct kn_slots *out)
{
    struct kn_access *a = KN_NEW(c, struct kn_access, p->n + 1);
    size_t row = 0;

    for (uint32_t n = 0; n < p->n; n++) {
        uint32_t ins = kn_lines_next(lines, kn_cert_offset(p, n), &row);

        if (p->inst[n].op == KN_I_s_barrier)
            barrier_of(f, ins, &a[n]);
        if (kn_lds_kind(&p->inst[n]) && !access_of(f, ins, &a[n]))
            return refuse_access(c, &p->inst[n], ins >= f->nins);
    }
    *out = (struct kn_slots){ a, slot_base(f, (uint32_t)f->nlds) };
    return KILN_OK;
}

/* ---- write ---- */

/* The first wait at or behind n, in address order, that leaves no more than
 * the operations of its counter issued in between, and the barrier behind
 * it. In a loop the cover may stand before n: the search wraps once around
 * the back edge it meets. p->n: none. */
struct cover {
    uint32_t wait, barrier;
};

/* What that search looks at of an instruction; it goes from one that counts
 * or is waited at to the next such. */
struct hop {
    uint32_t next, back;     /* program->n: none */
    uint32_t first;          /* of those, at this instruction or behind it */
    uint8_t left[2];         /* a wait leaves no more of lgkm, vm */
    bool counts[2];          /* is one more of them */
    bool barrier;
};
enum { ANY = UINT8_MAX };

static struct hop
hop_of(const struct kn_program *p, uint32_t n)
{
    const struct kn_inst *i = &p->inst[n];
    bool wait = i->op == KN_I_s_waitcnt;

    return (struct hop){
        .next = i->next >= 0 ? n + 1 : p->n,
        .back = i->target >= 0 && (uint32_t)i->target <= n
              ? (uint32_t)i->target : p->n,
        .left = { wait && i->lgkm < 15 ? (uint8_t)i->lgkm : ANY,
                  wait && i->vm < 63 ? (uint8_t)i->vm : ANY },
        .counts = { (kn_isa[i->op].counter & KN_C_LGKM) != 0,
                    (kn_isa[i->op].counter & KN_C_VM) != 0 },
        .barrier = i->op == KN_I_s_barrier,
    };
}

static bool
is_stop(const struct kn_program *p, const struct hop *h)
{
    return h->next == p->n || h->back < p->n || h->barrier || h->counts[0] ||
           h->counts[1] || h->left[0] != ANY || h->left[1] != ANY;
}

static struct hop *
find_hops(struct kn_ctx *c, const struct kn_program *p)
{
    struct hop *hop = KN_NEW(c, struct hop, p->n + 1);

    hop[p->n].first = p->n;
    for (uint32_t n = p->n; n-- > 0;) {
        hop[n] = hop_of(p, n);
        hop[n].first = is_stop(p, &hop[n]) ? n : hop[n + 1].first;
        hop[n].next = hop[hop[n].next].first;
    }
    for (uint32_t n = 0; n < p->n; n++)
        hop[n].back = hop[hop[n].back].first;
    return hop;
}

struct writer {
    struct kn_buf *b;
    const struct kn_program *p;
    struct hop *hop;         /* by instruction */
};

static uint32_t
next_hop(const struct writer *w, uint32_t n, bool *wrapped)
{
    const struct hop *h = &w->hop[n];

    if (*wrapped || h->back == w->p->n)
        return h->next;
    *wrapped = true;
    return h->back;
}

static struct cover
find_cover(const struct writer *w, uint32_t n, bool barrier)
{
    uint32_t none = w->p->n, left = 2 * none;
    bool vm = w->hop[n].counts[1];
    struct cover r = { none, none };
    unsigned since = 0;
    bool wrapped = false;

    for (uint32_t x = next_hop(w, n, &wrapped); x < none && left--;
         x = next_hop(w, x, &wrapped)) {
        const struct hop *h = &w->hop[x];

        if (r.wait == none && h->left[vm] != ANY && h->left[vm] <= since)
            r.wait = x;
        else if (r.wait < none && h->barrier)
            r.barrier = x;
        if (r.wait < none && (!barrier || r.barrier < none))
            return r;
        since += h->counts[vm];
    }
    return r;
}

static void
write_loc(struct kn_buf *b, struct kn_loc at)
{
    kn_put(b, at.file);
    kn_put_number(b, ":", (unsigned)at.line);
}

static void
write_registers(struct kn_buf *b, const struct kn_inst *i)
{
    for (unsigned o = 0; o < i->ndst; o++) {
        const char *bank = i->o[o].kind == KN_O_VGPR ? "v"
                         : i->o[o].kind == KN_O_AGPR ? "a" : "s";

        kn_put(b, ", \"registers\": \"");
        kn_put_number(b, bank, i->o[o].reg);
        kn_put_number(b, "+", i->o[o].width);
        kn_put(b, "\"");
    }
}

static void
write_entry(const struct writer *w, uint32_t n, const struct kn_access *a,
            struct kn_loc at)
{
    const struct kn_program *p = w->p;
    struct kn_buf *b = w->b;
    const struct kn_inst *i = &p->inst[n];
    struct cover k = { p->n, p->n };

    if (a->kind < KN_ACC_STAGGER)
        k = find_cover(w, n, a->kind != KN_ACC_NONE);

    kn_put_number(b, "    {\"at\": ", kn_cert_offset(p, n));
    kn_put(b, ", \"kind\": \"");
    kn_put(b, a->kind ? kn_cert_kinds[a->kind] : "load");
    kn_put(b, "\"");
    if (a->kind && a->kind < KN_ACC_STAGGER) {
        kn_put_number(b, ", \"slot\": ", a->slot);
        kn_put_number(b, ", \"own\": ", a->own);
    }
    if (a->more)
        kn_put_number(b, ", \"more\": ", a->more);
    write_registers(b, i);
    if (k.wait < p->n)
        kn_put_number(b, ", \"wait\": ", kn_cert_offset(p, k.wait));
    if (a->kind && k.barrier < p->n)
        kn_put_number(b, ", \"barrier\": ", kn_cert_offset(p, k.barrier));
    if (at.file) {
        kn_put(b, ", \"from\": \"");
        write_loc(b, at);
        kn_put(b, "\"");
    }
    kn_put(b, "}");
}

/* Where each instruction comes from: the places in order of appearance, and
 * pairs of an offset and the place that holds from there on. The first place
 * stands for what LLVM added of its own. */
static void
write_places(struct kn_buf *b, const struct kn_program *p,
             const struct kn_fn *f, const struct kn_line_map *lines)
{
    uint32_t *number = KN_NEW(b->c, uint32_t, f->nins + 1);
    struct kn_buf at = { .c = b->c };
    uint32_t last = UINT32_MAX, names = 0;
    size_t row = 0;

    kn_put(b, ",\n  \"places\": [\"compiler\"");
    for (uint32_t n = 0; n < p->n; n++) {
        uint32_t ins = kn_lines_next(lines, kn_cert_offset(p, n), &row);

        if (ins >= f->nins || !f->ins[ins].at.file)
            ins = (uint32_t)f->nins;
        else if (!number[ins]) {
            number[ins] = ++names;
            kn_put(b, ",\n    \"");
            write_loc(b, f->ins[ins].at);
            kn_put(b, " ");
            kn_put(b, kn_op_info((enum kn_op)f->ins[ins].op).text);
            kn_put(b, "\"");
        }
        if (ins != last) {
            kn_put_number(&at, n ? "," : "", kn_cert_offset(p, n));
            kn_put_number(&at, ",", number[ins]);
        }
        last = ins;
    }
    kn_put(b, "],\n  \"lines\": [");
    kn_put(b, at.s ? at.s : "");
    kn_put(b, "]");
}

/* What the kernel was proven for: the largest value of each argument, and what
 * the launch or its device data promise besides. */
static void
write_domain(struct kn_buf *b, const struct kn_fn *f)
{
    const char *sep = "";

    kn_put(b, ",\n  \"domain\": {");
    for (size_t i = 1; i < f->nval; i++)
        if (f->val[i].arg && f->val[i].max) {
            kn_putf(b, "%s\"%s\": %lld", sep, f->val[i].name,
                    (long long)f->val[i].max);
            sep = ", ";
        }
    kn_put(b, "},\n  \"assumed\": [");
    sep = "\n";
    for (size_t i = 0; i < f->nins; i++) {
        const struct kn_ins *x = &f->ins[i];

        if (x->op != KN_OP_assume)
            continue;
        kn_putf(b, "%s    {\"value\": \"%s\", \"max\": %lld, \"from\": "
                "\"%s:%d\"}", sep, kn_val(f, x->dst)->name,
                (long long)f->konst[KN_REF_INDEX(x->arg[1])].i, x->at.file,
                x->at.line);
        sep = ",\n";
    }
    kn_put(b, "]");
}

/* How each LDS tile lies, and what its fragment reads cost beyond the
 * conflict-free. */
static void
write_tiles(struct kn_buf *b, const struct kn_fn *f)
{
    kn_put(b, ",\n  \"lds\": [");
    for (size_t i = 0; i < f->nlds; i++) {
        const struct kn_lds *l = &f->lds[i];
        struct kn_geom g = kn_geometry(f, l);

        kn_putf(b, "%s\n    {\"tile\": \"%s\", \"rows\": %u, \"chunks\": %u, "
                "\"swizzle\": \"%u.%u.%u\", \"conflicts\": %u}",
                i ? "," : "", l->name, g.lrows, g.cpr, l->swz_s, l->swz_n,
                l->swz_t, kn_conflicts(f, l));
    }
    kn_put(b, "]");
}

/* Every wait with its counts and every barrier, so that a changed one is told
 * even where another covers for it. */
static void
write_waits(struct kn_buf *b, const struct kn_program *p)
{
    const char *sep = "[";

    kn_put(b, ",\n  \"waits\": [");
    for (uint32_t n = 0; n < p->n; n++) {
        const struct kn_inst *i = &p->inst[n];

        if (i->op != KN_I_s_waitcnt && i->op != KN_I_s_barrier)
            continue;
        kn_put_number(b, sep, kn_cert_offset(p, n));
        if (i->op == KN_I_s_waitcnt) {
            kn_put_number(b, ",", i->vm);
            kn_put_number(b, ",", i->lgkm);
        }
        kn_put(b, "]");
        sep = ",[";
    }
    kn_put(b, "]");
}

void
kn_cert_write(const struct kn_program *p, const struct kn_fn *f,
              const struct kn_line_map *lines, const struct kn_slots *slots,
              struct kn_buf *out)
{
    enum { OF_ENTRY = 140, OF_ANY = 12 };   /* bytes, about */
    struct writer w = { out, p, find_hops(out->c, p) };
    const char *sep = "\n";
    size_t row = 0, size = 4096 + p->n * (size_t)OF_ANY;

    for (uint32_t n = 0; n < p->n; n++)
        size += kn_isa[p->inst[n].op].counter ? OF_ENTRY : 0;
    if (!out->s)
        out->s = kn_grow(out->c, NULL, &out->cap, size, 1);
    kn_putf(out, "{\n  \"kiln_certificate\": 1,\n  \"kernel\": \"%s\",\n"
            "  \"arch\": \"%s\",\n  \"code\": \"%016llx\",\n  \"slots\": [",
            f->name, kiln_target_name(f->target),
            (unsigned long long)kn_cert_digest(p));
    for (size_t l = 0; l < f->nlds; l++)
        for (uint32_t s = 0; s < f->lds[l].slots; s++)
            kn_putf(out, "%s\"%s[%u]\"", l || s ? ", " : "", f->lds[l].name, s);
    kn_put(out, "]");
    write_domain(out, f);
    if (f->shape.mfma >= 0)
        write_tiles(out, f);
    kn_put(out, ",\n  \"asynchronous\": [");
    for (uint32_t n = 0; n < p->n; n++) {
        uint32_t ins = kn_lines_next(lines, kn_cert_offset(p, n), &row);
        struct kn_loc none = { 0 };

        if (!kn_isa[p->inst[n].op].counter && !slots->access[n].kind)
            continue;
        kn_put(out, sep);
        write_entry(&w, n, &slots->access[n],
                    ins < f->nins ? f->ins[ins].at : none);
        sep = ",\n";
    }
    kn_put(out, "\n  ]");
    write_waits(out, p);
    write_places(out, p, f, lines);
    kn_put(out, "\n}\n");
}
