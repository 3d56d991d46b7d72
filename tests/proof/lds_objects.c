/* LDS order of anyone's code objects from their bytes alone. An object counts
 * as decided if all its addresses are derived, or an order is found broken,
 * and the verdict turns when one of its barriers is gone; without LDS there is
 * nothing to decide.
 *
 * usage: lds_objects FOLDER LEAST    every FILE.co below FOLDER; fails if
 *                                    fewer than LEAST of 100 are decided */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/prove/check.h"
#include "runtime/file.h"

static struct {
    unsigned objects, decided, found, unturned, barriers, turned;
    uint64_t work;           /* the most for one kernel */
} tally;

static bool
is_clean(const struct kn_order *o)
{
    return kn_order_decided(o) && !o->nfindings;
}

/* Each barrier as s_nop: how many turn a clean verdict, or add a finding? */
static unsigned
turned_by(struct kn_ctx *c, struct kn_program *p, const struct kn_order *whole)
{
    unsigned turned = 0;

    for (uint32_t n = 0; n < p->n; n++) {
        struct kn_inst keep = p->inst[n];
        struct kn_order o;

        if (keep.op != KN_I_s_barrier)
            continue;
        p->inst[n].op = KN_I_s_nop;
        if (kn_order_check(c, p, &o))
            exit(2);
        p->inst[n] = keep;
        tally.barriers++;
        turned += is_clean(whole) ? !is_clean(&o)
                                  : o.nfindings > whole->nfindings;
    }
    tally.turned += turned;
    return turned;
}

static void
say(const struct kn_program *p, const struct kn_order *o, const char *path)
{
    const char *name = strrchr(path, '/');

    printf("%s: ", name ? name + 1 : path);
    if (o->nfindings)
        printf("finding, %s", o->finding[0].text);
    else if (o->undecided)
        printf("undecided at 0x%llx, %s",
               (unsigned long long)p->inst[o->why_inst].pc, o->why);
    else
        printf("%u of %u addresses not derived, the first at 0x%llx", o->nopen,
               o->naccesses, (unsigned long long)p->inst[o->open[0]].pc);
    printf("\n");
}

static void
check_kernel(struct kn_ctx *c, const struct kn_object *o,
             const struct kn_object_kernel *k, const char *path)
{
    struct kn_program p;
    struct kn_order order;

    if (kn_decode(c, o, k, false, &p) || kn_order_check(c, &p, &order)) {
        printf("%s: %s\n", path, c->err.text);
        exit(2);
    }
    tally.objects++;
    tally.found += order.nfindings > 0;
    tally.work = order.work > tally.work ? order.work : tally.work;
    if (!is_clean(&order))
        say(&p, &order, path);
    if (!kn_order_decided(&order) && !order.nfindings)
        return;
    if (order.naccesses && !turned_by(c, &p, &order)) {
        printf("%s: no barrier matters\n", path);
        tally.unturned++;
        return;
    }
    tally.decided++;
}

static int
each_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    size_t n = strlen(path), size;
    struct kn_object o;
    struct kn_ctx c;
    uint8_t *bytes;

    (void)st, (void)at;
    if (type != FTW_F || n < 3 || strcmp(path + n - 3, ".co") != 0)
        return 0;
    kn_ctx_init(&c, NULL, NULL);
    if (kn_file_read(&c, path, &bytes, &size) ||
        kn_object_read(&c, path, bytes, size, &o)) {
        printf("%s\n", c.err.text);
        exit(2);
    }
    for (uint32_t k = 0; k < o.nkernels; k++)
        check_kernel(&c, &o, &o.kernels[k], path);
    kn_ctx_free(&c);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc != 3 || nftw(argv[1], each_file, 16, FTW_PHYS))
        return 2;
    printf("%u kernels: %u decided, %u with a finding, %u where no barrier "
           "matters; %u barriers removed, %u turn the verdict; at most %.2f "
           "%% of the work that is spent on one\n",
           tally.objects, tally.decided, tally.found, tally.unturned,
           tally.barriers, tally.turned,
           100 * (double)tally.work / (double)KN_ORDER_WORK);
    return !tally.objects ||
           tally.decided * 100 < tally.objects * (unsigned)atoi(argv[2]);
}
