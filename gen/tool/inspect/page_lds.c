/* page_lds.c - LDS accesses and what each asks of the banks. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/sim/timing/timing_impl.h"
#include "inspect.h"

enum { LANES = 64, PICTURES = 8 };

struct picture {
    const struct kn_bank_access *a;
    struct kn_sim_access access;
    kiln_target target;
    uint32_t banks;
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
put_access(const struct picture *p, const struct kn_subject *s, uint32_t times,
           struct kn_json *j)
{
    const struct kn_inst *i = &s->p.inst[p->a->inst];
    const char *place = s->place[p->a->inst];
    struct kn_buf text = { .c = j->b.c };

    kn_putf(&text, "0x%" PRIx64 " %s%s%s: %" PRIu32 " clocks of the banks, %"
            PRIu32 " without conflicts; %" PRIu32 " accesses of this shape",
            i->pc, kn_isa[i->op].mnemonic, place ? ", " : "",
            place ? place : "", p->a->clocks, p->a->best, times);
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "text", text.s);
    kn_json_uint(j, "bytes", p->a->bytes);
    kn_json_uint(j, "base", lowest(p->a) / (4 * p->banks) * (4 * p->banks));
    kn_json_open(j, "banks", '[');
    for (unsigned b = 0; b < p->banks; b++)
        kn_json_uint(j, NULL, bank_load(p, b));
    kn_json_close(j, ']');
    kn_json_open(j, "lanes", '[');
    for (int l = 0; l < LANES; l++)
        kn_json_uint(j, NULL, p->a->address[l]);
    kn_json_close(j, ']');
    kn_json_close(j, '}');
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

/* Those that differ, up to a number of pictures. */
static void
put_accesses(const struct kn_subject *s, const struct kn_bank_facts *f,
             struct kn_json *j)
{
    const struct kn_bank_access *shown[PICTURES];
    uint32_t drawn = 0;

    for (uint32_t k = 0; k < f->naccess && drawn < PICTURES; k++) {
        struct kn_bank_access *a = &f->access[k];
        const struct kn_isa_row *row = &kn_isa[s->p.inst[a->inst].op];
        struct picture p = { a, { .mask = ~0ull, .bytes = a->bytes,
                                  .write = row->store, .lds = a->address },
                             s->o.target, kn_targets[s->o.target].banks };
        uint32_t times = 0;

        if (is_shown(s, a, shown, drawn))
            continue;
        for (uint32_t q = k; q < f->naccess; q++)
            times += same_shape(s, a, &f->access[q]);
        shown[drawn++] = a;
        put_access(&p, s, times, j);
    }
}

kiln_status
kn_page_lds(struct kn_ctx *c, const struct kn_subject *s, struct kn_json *j)
{
    struct kn_buf note = { .c = c };
    struct kn_bank_facts f;

    KN_TRY(kn_banks_find(c, &s->g, &f));
    kn_putf(&note, "%" PRIu32 " accesses follow from the lane number, %" PRIu32
            " do not. The upper row is the banks: green without, orange to red "
            "with conflicts; below it each dword, coloured by lane.",
            f.naccess, f.undecided);
    kn_page_section(j, &(struct kn_section){ "lds", "banks",
                                             "LDS accesses and banks", note.s });
    kn_json_open(j, "accesses", '[');
    put_accesses(s, &f, j);
    kn_json_close(j, ']');
    kn_page_end(j);
    return KILN_OK;
}
