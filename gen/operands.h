/* operands.h - the operands of a `run`: data made from a seed or the user's
 * files, as the simulator and the reference both read them. */
#ifndef KN_OPERANDS_H
#define KN_OPERANDS_H

#include "../runtime/reference/reference.h"
#include "cmd.h"
#include "gen.h"

/* X(id, text, file flag): C is the output; its file holds what it has before
 * (beta 1). */
#define KN_OPERANDS(X) \
    X(A, "A", a_file) \
    X(B, "B", b_file) \
    X(C, "C", c_file) \
    X(SA, "scales of A", a_scale_file) \
    X(SB, "scales of B", b_scale_file) \
    X(BIAS, "bias", bias_file)

enum kn_operand_id {
#define X(id, text, flag) KN_OPND_##id,
    KN_OPERANDS(X)
#undef X
    KN_NOPERANDS
};

struct kn_operand {
    bool used;
    struct kn_data data;     /* shape, pitch, and data where no file is */
    const uint8_t *file;     /* dense rows; NULL: data */
    uint64_t file_row;       /* bytes of one row of the file */
    uint64_t size, addr;     /* bytes on the device, and where */
};

struct kn_operands_set {
    struct kn_operand o[KN_NOPERANDS];
};

/* Shapes of a normalised problem, and the files the flags name. BAD_INPUT
 * for a file nothing reads or of another shape or type. */
kiln_status kn_operands_make(struct kn_tool *t, const kiln_problem *p,
                             struct kn_operands_set *s);

/* kn_fill_fn and kn_ref_fetch_fn; user is a struct kn_operand. */
void kn_operand_fill(void *user, uint64_t offset, void *dst, size_t size);

/* Device memory for every used operand. */
kiln_status kn_operands_alloc(struct kn_sim *sim, const kiln_problem *p,
                              struct kn_operands_set *s);

/* Group g (batch g, or 0) of the same operands as the reference sees it.
 * offs: group offsets, NULL without groups. */
void kn_operands_reference(const kiln_problem *p, struct kn_operands_set *s,
                           const int64_t *offs, int64_t g,
                           struct kn_ref_problem *out);

#endif
