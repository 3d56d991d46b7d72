/* LDS order from the final bytes alone, without a certificate: every kernel is
 * decided and clean, and there is a barrier without which it is not; where
 * halves of the waves run a barrier apart, each barrier of one half. What the
 * simulator detects the bytes must tell: tests/sim/mutate_own.c. Without
 * arguments a few of the mains (kernels.h); `all [OF SHARD]` a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "emit/prove/check.h"
#include "kernels.h"

struct result {
    struct digests *seen;
    unsigned kernels, refused, lacks_row, open, found, unturned;
    unsigned barriers, turned, accesses, contexts, most;
    unsigned halves, unseen; /* barriers of some waves; missed by nobody */
};

static bool
is_clean(const struct kn_order *o)
{
    return kn_order_decided(o) && !o->nfindings;
}

static void
say(const struct kn_generated *g, const struct kn_program *p,
    const struct kn_order *o)
{
    if (is_clean(o))
        return;
    print_message("# %s: %u of %u addresses not derived%s%s\n", g->name,
                  o->nopen, o->naccesses, o->undecided ? "; " : "", o->why);
    for (uint32_t k = 0; k < o->nfindings && k < 4; k++)
        print_message("#   at 0x%llx: %s\n", (unsigned long long)
                      p->inst[o->finding[k].inst].pc, o->finding[k].text);
}

/* Each barrier as s_nop: does the verdict turn? */
static unsigned
turned_by(struct kn_ctx *c, struct kn_program *p,
          const struct kn_order *whole, struct result *r)
{
    unsigned turned = 0;

    for (uint32_t n = 0; n < p->n; n++) {
        struct kn_inst keep = p->inst[n];
        struct kn_order o;

        if (keep.op != KN_I_s_barrier)
            continue;
        p->inst[n].op = KN_I_s_nop;
        assert_int_equal(kn_order_check(c, p, &o), KILN_OK);
        p->inst[n] = keep;
        r->barriers++;
        turned += !is_clean(&o);
        if (whole->barrier && whole->barrier[n] == KN_BAR_SOME) {
            r->halves++;
            r->unseen += is_clean(&o);
        }
    }
    r->turned += turned;
    return turned;
}

static void
one_kernel(void *user, const struct made *m)
{
    struct kn_ctx *c = m->f->c;
    struct result *r = user;
    unsigned lacks = r->lacks_row, before;
    const struct kn_object_kernel *k;
    struct kn_generated g;
    struct kn_program p;
    struct kn_object o;
    struct kn_order order;

    if (!order_is_new(r->seen, m))
        return;
    if (!generate_made(m, &g, &r->lacks_row)) {
        r->refused += lacks == r->lacks_row;
        return;
    }
    assert_int_equal(kn_object_read(c, "k", g.co, g.size, &o), KILN_OK);
    assert_int_equal(kn_object_kernel(c, &o, NULL, &k), KILN_OK);
    assert_int_equal(kn_decode(c, &o, k, true, &p), KILN_OK);
    assert_int_equal(kn_order_check(c, &p, &order), KILN_OK);
    say(&g, &p, &order);
    r->kernels++;
    r->open += !kn_order_decided(&order);
    r->found += order.nfindings > 0;
    r->accesses += order.naccesses;
    r->contexts += order.contexts;
    r->most = order.contexts > r->most ? order.contexts : r->most;
    before = r->barriers;
    if (!turned_by(c, &p, &order, r) && r->barriers > before) {
        print_message("# %s: no barrier of %u matters\n", g.name,
                      r->barriers - before);
        r->unturned++;
    }
}

/* One in so many, or what was asked for. */
static struct kernels share = { .of = 397, .shard = 3 };

static void
lds_order_is_decided_from_bytes(void **state)
{
    static struct digests seen;
    struct result r = { .seen = &seen };
    struct kernels k = share;

    (void)state;
    k.kernel = one_kernel;
    k.user = &r;
    each_main(&k);
    print_message("# %u kernels, %u LDS accesses: %u kernels undecided, %u "
                  "with a finding; %u barriers removed, %u turn the verdict; "
                  "%u of %u of one half do not; %u contexts, at most %u a "
                  "kernel\n", r.kernels, r.accesses, r.open, r.found,
                  r.barriers, r.turned, r.unseen, r.halves, r.contexts,
                  r.most);
    assert_true(r.kernels > 0 && r.turned > 0);
    assert_int_equal(r.open + r.found + r.unturned + r.unseen, 0);
    assert_int_equal(k.refused + r.refused, 0);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lds_order_is_decided_from_bytes),
    };

    take_share(&share, argc, argv);
    return cmocka_run_group_tests_name("proof-lds", tests, NULL, NULL);
}
