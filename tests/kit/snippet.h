/* snippet.h - a few instructions on one wave, without the run loop: every
 * instruction's exec function is called in turn, on registers the test sets
 * and reads. No waits, hazards or memory; for arithmetic only. */
#ifndef KN_KIT_SNIPPET_H
#define KN_KIT_SNIPPET_H

#include "../../runtime/sim/core.h"
#include "program.h"

struct snippet {
    struct program p;
    struct kn_program prog;
    struct kn_run run;
    struct kn_worker worker;
    struct kn_findings findings;
    struct kn_group group;
    struct kn_wave w;
    uint32_t v[KN_NVREG + 32][KN_LANES];
};

/* Assembles; EXEC full, MODE as clang sets it (nearest, denormals, IEEE and
 * DX10_CLAMP on), everything else 0. An s_endpgm is added. */
struct snippet *snippet_open(kiln_target t, const char *text);
void snippet_close(struct snippet *s);
/* Runs from the first instruction to s_endpgm; the wave's status. */
kiln_status snippet_run(struct snippet *s);

/* splitmix64, and operands that hit the corners of a type: the letters of
 * isa.def (f d h i q ...). */
struct snippet_rng {
    uint64_t s;
};
uint64_t snippet_next(struct snippet_rng *r);
uint64_t snippet_operand(struct snippet_rng *r, char letter);

#endif
