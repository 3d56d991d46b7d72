/* What can be executed at all: every mnemonic of the peers' GEMM objects on
 * its target, and of the whole instruction table all but a list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../runtime/sim/core.h"
#include "../../runtime/sim/mfma/mfma.h"

enum { ONLY942 = 1, ONLY950 = 2, BOTH = 3 };

static const struct peer {
    const char *mnemonic;
    unsigned targets;
} peers[] = {
#define P(mnemonic, targets) { #mnemonic, targets },
#include "peer_isa.def"
#undef P
};

static bool
is_executed(kiln_target t, uint16_t op)
{
    const struct kn_isa_row *row = &kn_isa[op];
    const char *what;
    struct kn_memop m;

    if (!kn_exec_lookup(op))
        return false;
    if (row->flags & KN_IF_MFMA)
        return kn_mfma_of(t, op) != NULL;
    if (row->mem == KN_M_NONE)
        return true;
    return kn_memop_decode(&(struct kn_inst){ .op = op }, 0, &m, &what);
}

static void
peers_are_covered(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof peers / sizeof peers[0]; k++) {
        uint16_t op = kn_isa_find(peers[k].mnemonic);

        if (!op)
            fail_msg("%s is in no table", peers[k].mnemonic);
        if (peers[k].targets & ONLY942 && !is_executed(KILN_GFX942, op))
            fail_msg("%s on gfx942", peers[k].mnemonic);
        if (peers[k].targets & ONLY950 && !is_executed(KILN_GFX950, op))
            fail_msg("%s on gfx950", peers[k].mnemonic);
    }
}

/* Refused by name; docs/sim.md has the same list. */
static bool
is_refused(const char *mnemonic)
{
    static const char *const all[] = {
#define R(mnemonic) #mnemonic,
#include "refused_isa.def"
#undef R
    };

    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (!strcmp(all[k], mnemonic))
            return true;
    return false;
}

static void
refusals_are_listed(void **state)
{
    unsigned wrong = 0;

    (void)state;
    for (uint16_t op = 1; op < KN_NISA; op++) {
        const char *mn = kn_isa[op].mnemonic;
        bool runs = is_executed(KILN_GFX942, op) ||
                    is_executed(KILN_GFX950, op);

        if (runs == is_refused(mn)) {
            print_message("%s %s\n", mn, runs ? "runs" : "is refused");
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_are_covered),
        cmocka_unit_test(refusals_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
