/* verify.h - the parts of the verifier (verify.c says what it is for). */
#ifndef KN_VERIFY_H
#define KN_VERIFY_H

#include "../ir.h"

#define FAIL(f, at, ...) kn_fail_at((f)->c, KILN_BAD_INPUT, at, __VA_ARGS__)

/* verify_declared.c: the shape of the kernel and its LDS tiles. */
kiln_status kn_verify_declarations(const struct kn_fn *f);

/* verify_types.c: widths and types one operation allows, beyond the letters of
 * ops.def. */
kiln_status kn_verify_types(const struct kn_fn *f, const struct kn_ins *i);

/* verify_output.c: the same of operations that store outputs, or make codes and
 * scales of them. */
kiln_status kn_verify_output(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_format(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_run(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_part(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_near(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_magnitude(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_written(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_largest(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_scaled(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_quantise(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_sixes(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_drawn(const struct kn_fn *f, const struct kn_ins *i);
kiln_status kn_verify_gate(const struct kn_fn *f, const struct kn_ins *i);

/* verify_tiles.c: every tile and view is of one kind, used as that kind. */
kiln_status kn_verify_tiles(const struct kn_fn *f);

/* ---- what both ask of an operand ---- */

static inline const char *
name_of(const struct kn_ins *i)
{
    return kn_op_info((enum kn_op)i->op).text;
}

static inline bool
is_value(kn_ref r)
{
    return r && KN_REF_TAG(r) == KN_R_VAL;
}

static inline struct kn_type
type_of(const struct kn_fn *f, kn_ref r)
{
    return kn_val(f, r)->type;
}

static inline uint32_t
bits_of(struct kn_type t)
{
    return (uint32_t)kn_elems[t.elem].bits * t.n;
}

static inline kiln_status
need_registers(const struct kn_fn *f, const struct kn_ins *i, int from, int to)
{
    for (int a = from; a < to && i->arg[a]; a++)
        if (!is_value(i->arg[a]))
            return FAIL(f, i->at, "operand %d of %s must be a register, not a "
                        "number", a + 1, name_of(i));
    return KILN_OK;
}

/* The result is one of this type. */
static inline kiln_status
need_result(const struct kn_fn *f, const struct kn_ins *i, int elem, int lane)
{
    struct kn_type t = type_of(f, i->dst);

    if (t.elem != elem || t.n != 1 || t.lane != lane)
        return FAIL(f, i->at, "the result of %s is %c.%s", name_of(i),
                    lane ? 'v' : 's', kn_elems[elem].text);
    return KILN_OK;
}

#endif
