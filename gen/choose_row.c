/* choose_row.c - what a tuned row decides. */
#include "choose.h"
#include "forms.h"
#include "resources.h"
#include "gemv.h"
#include "tuning.h"

/* Where `deep` can, it takes the tile and the map of a row that leaves waves and
 * schedule open, or has its waves; other rows were found with other loops. */
static void
take_deep(struct kn_ctx *c, const kiln_problem *p, struct kn_config *row,
          bool waves)
{
    struct kn_config open = *row;

    if (row->schedule && !kn_schedules[row->schedule].asm_only)
        return;
    open.wm = open.wn = open.stages = 0;
    open.schedule = 0;
    kn_prefer_deep(c, p, &open, &(struct kn_openings){ 0 });
    if (open.schedule && kn_schedules[open.schedule].asm_only &&
        (!waves || (open.wm == row->wm && open.wn == row->wn)))
        *row = open;
}

/* Fills what the user left open from a tuned row; false if the row cannot be
 * built for this problem. Rows are found with aligned operands: others take
 * other loads, and the rules. */
static bool
take_row(struct kn_ctx *c, const kiln_problem *p, const char *text,
         struct kn_config *g)
{
    struct kn_config row = { 0 };
    bool waves;

    if (kn_config_parse(c, text, &row))
        return false;
    waves = row.wm != 0;
    row.bk = g->bk ? g->bk : row.bk;
    if (g->wm) {
        row.wm = g->wm;
        row.wn = g->wn;
    }
    kn_config_over(&row, g);
    if (kn_reads_of(&row) == KN_READS_RUNS) {
        if (kn_gemv_choose(p, &row))
            return false;
        *g = row;
        return true;
    }
    if (p->family == KILN_MOE && kn_moe_lacks(c, p, &row))
        return false;
    kn_default_waves(&row);
    if (kn_bk_lacks(c, p, &row))
        return false;
    row.domain = g->domain.align_a ? g->domain : kn_domain_of(p, 256, row.bk);
    if (!g->wm && !g->schedule && !g->stages)
        take_deep(c, p, &row, waves);
    if (row.domain.align_a < 16 || row.domain.align_b < 16 ||
        !kn_shareable(&row) || row.stages > KN_MAX_STAGES || !kn_tile_fit(c, p, &row))
        return false;
    *g = row;
    return true;
}

kiln_status
kn_pick_tuned(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
           struct kn_buf *why)
{
    struct kn_tuned *row;
    size_t n;

    KN_TRY(kn_tuning_find(c, p, &row, &n));
    for (size_t i = 0; i < n; i++) {
        bool taken = take_row(c, p, row[i].config, g);

        if (why)
            kn_putf(why, "tuned row %s %s\n", row[i].place,
                    taken ? "decides" : "cannot be built for this problem");
        if (taken)
            return KILN_OK;
    }
    if (why && !n)
        kn_put(why, "no tuned row fits\n");
    return KILN_OK;
}
