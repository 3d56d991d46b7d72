/* pass.c - runs the passes in the order of passes.def, verifies before, between
 * and after, and proves what is left. */
#include "ir.h"

static const struct {
    kiln_status (*run)(struct kn_fn **f);
    char letter;
    enum kn_level needs;
} passes[] = {
#define PASS(fn, letter, needs) { fn, letter, needs },
#include "passes.def"
#undef PASS
};

kiln_status
kn_run_passes(struct kn_fn **f, kn_dump_fn dump, void *user)
{
    if (dump)
        dump(user, 't', *f);
    KN_TRY(kn_verify(*f));
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        if ((*f)->level != passes[i].needs)
            continue;
        KN_TRY(passes[i].run(f));
        if (dump)
            dump(user, passes[i].letter, *f);
        KN_TRY(kn_verify(*f));
    }
    return kn_prove(*f);
}
