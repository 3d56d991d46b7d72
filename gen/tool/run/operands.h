/* operands.h - the operands of a `run`: data made from a seed or the user's
 * files, as the simulator and the reference both read them. */
#ifndef KN_OPERANDS_H
#define KN_OPERANDS_H

#include "../../../runtime/backend.h"
#include "../../../runtime/reference/reference.h"
#include "../cmd.h"
#include "../../gen.h"
#include "../../panels.h"

/* X(id, text, file flag): C is the output; its file holds what it has before
 * (beta 1). */
#define KN_OPERANDS(X) \
    X(A, "A", a_file) \
    X(B, "B", b_file) \
    X(C, "C", c_file) \
    X(SA, "scales of A", a_scale_file) \
    X(SB, "scales of B", b_scale_file) \
    X(BIAS, "bias", bias_file) \
    X(SC, "scale of the output", out_scale_file)

enum kn_operand_id {
#define X(id, text, flag) KN_OPND_##id,
    KN_OPERANDS(X)
#undef X
    KN_OPND_AMAX,            /* one f32, zero before a launch */
    KN_OPND_OUT2,            /* the second output */
    KN_OPND_ARRAY,           /* those that the epilogue's expression declares */
    KN_NOPERANDS = KN_OPND_ARRAY + KN_FORMULA_ARRAYS
};

enum { KN_STORED_PLAIN, KN_STORED_PANELS, KN_STORED_SCALES };

struct kn_operand {
    bool used;
    uint8_t stored;          /* KN_STORED_*: on the device (gen/layout.h) */
    bool words;              /* eight codes of 4 bits each, int32 in a file */
    uint64_t half;           /* gate rows stored in turn with up rows, or 0 */
    const int64_t *rowmap;   /* stored scale row -> row, -1: padding */
    uint64_t mapped;         /* stored scale rows, with a rowmap */
    struct kn_data data;     /* shape, pitch, and data where no file is */
    const uint8_t *file;     /* dense rows; NULL: data */
    bool made;               /* ... which are the data, made once for all */
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

/* Makes the data of a launch that reads all of them, so that simulator and
 * reference do not each make them anew; beyond a GB they do. */
void kn_operands_gather(struct kn_ctx *c, const kiln_problem *p,
                        struct kn_operands_set *s);

/* The operand's data from a file of its shape; `vector`: of one dimension. */
/* The flag of a file of what is in the place of A's scales. */
enum kn_flag_id kn_operand_sa_flag(const kiln_problem *p);
/* A file of this operand (KN_OPND_*) has one dimension, of many problems two. */
bool kn_operand_is_vector(const kiln_problem *p, int id);
kiln_status kn_operand_read(struct kn_tool *t, struct kn_operand *o,
                            bool vector, const char *path);

/* kn_fill_fn and kn_ref_fetch_fn; user is a struct kn_operand. */
void kn_operand_fill(void *user, uint64_t offset, void *dst, size_t size);

/* The same for the device's memory, as the operand is stored there. */
void kn_operand_stored(void *user, uint64_t offset, void *dst, size_t size);
uint64_t kn_operand_room(const struct kn_operand *o);
/* Bytes stored so, made plain: one batch of data.rows after the other. */
const uint8_t *kn_operand_plain(struct kn_ctx *c, const struct kn_operand *o,
                                const uint8_t *bytes);
/* How a problem stores B and the scales. */
void kn_operands_store(const kiln_problem *p, struct kn_operand *b,
                       struct kn_operand *sa, struct kn_operand *sb);

/* The device's memory of an operand that is used. */
struct kn_memory kn_operand_memory(const kiln_problem *p,
                                   struct kn_operands_set *s, int id);

/* Group g (batch g, or 0) of the same operands as the reference sees it.
 * offs: group offsets, NULL without groups. */
void kn_operands_reference(const kiln_problem *p, struct kn_operands_set *s,
                           const int64_t *offs, int64_t g,
                           struct kn_ref_problem *out);

/* What the reference has to know of an output of 8 bits. */
void kn_operands_codes(const kiln_problem *p, struct kn_operands_set *s,
                       struct kn_ref_result *out);

#endif
