/* cells.c - an output in squares: a tile of 64x64 alone would have the operands
 * read, made and decoded for few products. */
#include <stdlib.h>
#include <string.h>

#include "reference.h"

/* As many squares as tiles of a launch begin before the first are complete. */
enum { SIDE = 512, MOST = 48 };

struct kn_ref_cell {
    struct kn_ref_cell *next;
    int64_t group;
    struct kn_ref_rect rect;
    int64_t left;            /* elements not taken yet */
    struct kn_ref_sums sums;
};

static void
free_cell(struct kn_ref_cell *e)
{
    free(e->sums.value);
    free(e->sums.abssum);
    free(e->sums.both);
    free(e);
}

void
kn_ref_cells_free(struct kn_ref_cells *all)
{
    while (all->first) {
        struct kn_ref_cell *e = all->first;

        all->first = e->next;
        free_cell(e);
    }
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A square becomes the first of the list. */
static void
put_first(struct kn_ref_cells *all, struct kn_ref_cell *e)
{
    e->next = all->first;
    all->first = e;
}

/* Whether the square that begins at (m0, n0) is there; it is the first then. Of
 * many the longest unused are let go. */
static bool
recall(struct kn_ref_cells *all, int64_t m0, int64_t n0)
{
    struct kn_ref_cell **q = &all->first, *e;

    for (int n = 0; *q && n < MOST; n++, q = &(*q)->next) {
        e = *q;
        if (e->group != all->group || e->rect.m0 != m0 || e->rect.n0 != n0)
            continue;
        *q = e->next;
        put_first(all, e);
        return true;
    }
    kn_ref_cells_free(&(struct kn_ref_cells){ .first = *q });
    *q = NULL;
    return false;
}

static kiln_status
fill_cell(struct kn_ctx *c, const struct kn_ref_problem *p,
          struct kn_ref_cell *e)
{
    size_t n = (size_t)e->left;

    e->sums.value = malloc(n * sizeof(double));
    e->sums.abssum = malloc(n * sizeof(double));
    e->sums.both = malloc(n);
    if (!e->sums.value || !e->sums.abssum || !e->sums.both)
        return kn_fail(c, KILN_NO_MEMORY, "no memory for the reference");
    return kn_ref_tile(c, p, &e->rect, &e->sums);
}

static kiln_status
make_cell(struct kn_ctx *c, struct kn_ref_cells *all, int64_t m0, int64_t n0)
{
    const struct kn_ref_problem *p = all->p;
    struct kn_ref_cell *e = calloc(1, sizeof *e);
    kiln_status s;

    if (!e)
        return kn_fail(c, KILN_NO_MEMORY, "no memory for the reference");
    e->group = all->group;
    e->rect = (struct kn_ref_rect){ m0, n0, least(SIDE, p->m - m0),
                                    least(SIDE, p->n - n0) };
    e->left = e->rect.rows * e->rect.cols;
    e->sums.least = all->least;
    s = fill_cell(c, p, e);
    if (s)
        free_cell(e);
    else
        put_first(all, e);
    return s;
}

/* What the first square has of r; its corner is (m, n). */
static void
copy_part(struct kn_ref_cells *all, const struct kn_ref_rect *r, int64_t m,
          int64_t n, const struct kn_ref_sums *out)
{
    struct kn_ref_cell *e = all->first;
    int64_t rows = least(e->rect.m0 + e->rect.rows, r->m0 + r->rows) - m;
    int64_t cols = least(e->rect.n0 + e->rect.cols, r->n0 + r->cols) - n;

    for (int64_t i = 0; i < rows; i++) {
        int64_t to = (m + i - r->m0) * r->cols + n - r->n0;
        int64_t from = (m + i - e->rect.m0) * e->rect.cols + n - e->rect.n0;
        size_t size = (size_t)cols * sizeof(double);

        memcpy(out->value + to, e->sums.value + from, size);
        memcpy(out->abssum + to, e->sums.abssum + from, size);
        memcpy(out->both + to, e->sums.both + from, (size_t)cols);
    }
    e->left -= rows * cols;
    if (e->left > 0)
        return;
    all->first = e->next;
    free_cell(e);
}

kiln_status
kn_ref_take(struct kn_ctx *c, struct kn_ref_cells *all,
            const struct kn_ref_rect *r, const struct kn_ref_sums *out)
{
    int64_t m = r->m0, n;

    for (; m < r->m0 + r->rows; m = (m / SIDE + 1) * SIDE)
        for (n = r->n0; n < r->n0 + r->cols; n = (n / SIDE + 1) * SIDE) {
            int64_t m0 = m / SIDE * SIDE, n0 = n / SIDE * SIDE;

            if (!recall(all, m0, n0))
                KN_TRY(make_cell(c, all, m0, n0));
            copy_part(all, r, m, n, out);
        }
    return KILN_OK;
}
