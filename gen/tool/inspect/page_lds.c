/* page_lds.c - LDS accesses drawn bank by bank. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/sim/timing/timing_impl.h"
#include "inspect.h"

enum { LANES = 64, CELL = 12, LEFT = 8, TOP = 44, ROWS = 24, PICTURES = 8 };

/* Fill of a bank by the dwords of one pass that share it. */
static const char *const heat[] = { "#eeeeee", "#7fbf7f", "#ffb000",
                                    "#ff6600", "#d00000" };

struct picture {
    struct kn_buf *out;
    const struct kn_bank_access *a;
    struct kn_sim_access access;
    kiln_target target;
    uint32_t banks, base;    /* base: address of the first row drawn */
};

static uint32_t
lowest(const struct kn_bank_access *a)
{
    uint32_t low = UINT32_MAX;

    for (int l = 0; l < LANES; l++)
        low = a->address[l] < low ? a->address[l] : low;
    return low;
}

/* Distinct dwords of bank `bank` that one pass asks for, the most. */
static unsigned
bank_load(const struct picture *p, unsigned bank)
{
    unsigned most = 0;

    for (unsigned pass = 0; pass < 8; pass++) {
        uint32_t seen[LANES];
        unsigned n = 0;

        for (unsigned l = 0; l < LANES; l++)
            for (uint32_t w = 0; w < p->a->bytes / 4; w++) {
                uint32_t dword = p->a->address[l] / 4 + w;
                unsigned k = 0;

                if (kn_time_lds_pass(p->target, &p->access, l) != pass ||
                    dword % p->banks != bank)
                    continue;
                while (k < n && seen[k] != dword)
                    k++;
                if (k == n && n < LANES)
                    seen[n++] = dword;
            }
        most = n > most ? n : most;
    }
    return most;
}

static void
draw_banks(const struct picture *p)
{
    for (unsigned b = 0; b < p->banks; b++) {
        unsigned n = bank_load(p, b);

        kn_putf(p->out, "<rect class=\"bank\" x=\"%u\" y=\"22\" width=\"%d\" "
                "height=\"14\" fill=\"%s\" stroke=\"#999\"><title>bank %u: %u "
                "dwords in one pass</title></rect>\n", LEFT + b * CELL, CELL,
                heat[n < 4 ? n : 4], b, n);
    }
}

/* One square per dword, its colour by lane: the swizzle is what one sees. */
static void
draw_lanes(const struct picture *p)
{
    for (unsigned l = 0; l < LANES; l++)
        for (uint32_t w = 0; w < p->a->bytes / 4; w++) {
            uint32_t dword = (p->a->address[l] - p->base) / 4 + w;
            uint32_t row = dword / p->banks, col = dword % p->banks;

            if (row >= ROWS)
                continue;
            kn_putf(p->out, "<rect x=\"%u\" y=\"%u\" width=\"%d\" "
                    "height=\"%d\" fill=\"hsl(%u,70%%,60%%)\"><title>lane %u, "
                    "dword %u, byte %u</title></rect>\n", LEFT + col * CELL,
                    TOP + row * CELL, CELL - 1, CELL - 1, l * 45 % 360, l, w,
                    p->a->address[l] + 4 * w);
            if (!w)
                kn_putf(p->out, "<text x=\"%u\" y=\"%u\" font-size=\"8\">%u"
                        "</text>\n", LEFT + col * CELL + 1,
                        TOP + row * CELL + 9, l);
        }
}

static uint32_t
rows_of(const struct picture *p)
{
    uint32_t rows = 1;

    for (int l = 0; l < LANES; l++) {
        uint32_t r = (p->a->address[l] - p->base + p->a->bytes - 1) / 4 /
                     p->banks + 1;

        rows = r > rows ? r : rows;
    }
    return rows > ROWS ? ROWS : rows;
}

static void
draw(const struct picture *p, const struct kn_subject *s, uint32_t times)
{
    const struct kn_inst *i = &s->p.inst[p->a->inst];
    const char *place = s->place[p->a->inst];

    kn_putf(p->out, "<svg class=\"lds\" width=\"%u\" height=\"%u\">\n"
            "<text x=\"%d\" y=\"14\">0x%" PRIx64 " %s%s%s: %" PRIu32
            " clocks of the banks, %" PRIu32 " without conflicts; %" PRIu32
            " accesses of this shape</text>\n", LEFT * 2 + p->banks * CELL,
            TOP + rows_of(p) * CELL + 8, LEFT, i->pc,
            kn_isa[i->op].mnemonic, place ? ", " : "", place ? place : "",
            p->a->clocks, p->a->best, times);
    draw_banks(p);
    draw_lanes(p);
    kn_put(p->out, "</svg><br>\n");
}

/* Same row, same lanes relative to the first. */
static bool
same_shape(const struct kn_subject *s, const struct kn_bank_access *a,
           const struct kn_bank_access *b)
{
    if (s->p.inst[a->inst].op != s->p.inst[b->inst].op)
        return false;
    for (int l = 1; l < LANES; l++)
        if (a->address[l] - a->address[0] != b->address[l] - b->address[0])
            return false;
    return true;
}

/* Whether one of the pictures shows a's shape. */
static bool
is_shown(const struct kn_subject *s, const struct kn_bank_access *a,
         const struct kn_bank_access *const *shown, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (same_shape(s, a, shown[i]))
            return true;
    return false;
}

kiln_status
kn_page_lds(struct kn_ctx *c, const struct kn_subject *s, struct kn_buf *out)
{
    const struct kn_bank_access *shown[PICTURES];
    struct kn_bank_facts f;
    uint32_t drawn = 0;

    KN_TRY(kn_banks_find(c, &s->g, &f));
    kn_putf(out, "<h2 id=\"lds\">LDS accesses and banks</h2>\n<p>%" PRIu32
            " accesses follow from the lane number, %" PRIu32 " do not. The "
            "upper row is the banks: green without, orange to red with "
            "conflicts; below it each dword, coloured by lane.</p>\n",
            f.naccess, f.undecided);
    for (uint32_t k = 0; k < f.naccess && drawn < PICTURES; k++) {
        struct kn_bank_access *a = &f.access[k];
        const struct kn_isa_row *row = &kn_isa[s->p.inst[a->inst].op];
        struct picture p = { out, a, { .mask = ~0ull, .bytes = a->bytes,
                                       .write = row->store,
                                       .lds = a->address },
                             s->o.target, kn_targets[s->o.target].banks, 0 };
        uint32_t times = 0;

        if (is_shown(s, a, shown, drawn))
            continue;
        for (uint32_t q = k; q < f.naccess; q++)
            times += same_shape(s, a, &f.access[q]);
        shown[drawn] = a;
        p.base = lowest(a) / (4 * p.banks) * (4 * p.banks);
        draw(&p, s, times);
        drawn++;
    }
    return KILN_OK;
}
