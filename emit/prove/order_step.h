/* order_step.h - parts of the step of one instruction. order_source.c: its operands;
 * order_step.c: what it makes of them, lane by lane; order_cases.c: where what it reads
 * is one of a few values, nobody knows which. */
#ifndef KN_ORDER_STEP_H
#define KN_ORDER_STEP_H

#include "order_impl.h"

enum { KN_SOURCES = 4 };

/* An operand: low and high dword, a constant, or a register that one dword is taken of. */
struct kn_source {
    const struct kn_held *lo, *hi;
    uint64_t imm;
    bool is_imm, wide, mask; /* mask: a bit a lane */
    uint8_t sel;             /* SDWA */
};

struct kn_sources {
    unsigned n;
    struct kn_source s[KN_SOURCES], old;
    int carry;               /* index of the lane mask that is read; -1 */
    const struct kn_held *scc;
};

/* A bit a lane, of each wave, and of which lanes it is known. */
struct kn_mask { uint64_t bit[KN_WAVES], known[KN_WAVES]; };

void kn_sources_read(const struct kn_machine *m, const struct kn_inst *i, struct kn_sources *s);
/* What lane l of wave w reads; false: not known. */
bool kn_source_lane(const struct kn_source *s, unsigned w, unsigned l, uint64_t *x);
struct kn_lane kn_sources_lane(const struct kn_sources *s, unsigned w, unsigned l);
/* The same in all waves that are here: one, all of them. */
bool kn_source_alike(const struct kn_machine *m, const struct kn_source *s);
bool kn_sources_alike(const struct kn_machine *m, const struct kn_sources *s);

bool kn_exec_is_alike(const struct kn_machine *m);
void kn_set_reg(struct kn_machine *m, unsigned r, const struct kn_held *v);
/* What a vector instruction makes of s, where lanes that are not active keep what they
 * hold; the mask that a comparison makes, low and high dword. */
const struct kn_held *kn_step_result(struct kn_machine *m, const struct kn_inst *i,
                                     const struct kn_sources *s);
void kn_step_mask(struct kn_machine *m, const struct kn_inst *i, const struct kn_sources *s,
                  const struct kn_held *pair[2]);

/* A vector instruction, or a comparison, whose result is one of a few values; false: not
 * so, and nothing has been done. */
bool kn_cases_vector(struct kn_machine *m, const struct kn_inst *i, const struct kn_sources *s);
bool kn_cases_compare(struct kn_machine *m, const struct kn_inst *i, const struct kn_sources *s);

#endif
