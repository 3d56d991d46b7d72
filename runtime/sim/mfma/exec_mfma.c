/* exec_mfma.c - v_mfma_*, v_mfma_scale_* and v_smfmac_* on a wave.
 *
 * Operands in the assembler's order: D, A, B, then C (dense), C and the two
 * scale words (scaled) or the index register (sparse, where D is also C).
 * EXEC has no effect on a matrix instruction (CDNA3 ISA 7.1). */
#include "mfma.h"
#include "../operand.h"

/* Inline constant of a 32- or 64-bit accumulator; a float constant may come
 * as bits of either width. */
static uint64_t
constant_bits(const struct kn_opnd *o, bool wide)
{
    uint64_t u = (uint64_t)o->imm;
    bool is_f64 = u >> 32 != 0;

    if (!o->is_float)
        return wide ? u : (uint32_t)u;
    if (wide)
        return is_f64 || !u ? u : kn_f64_bits((double)kn_bits_f32((uint32_t)u));
    return is_f64 ? kn_f32_bits((float)kn_bits_f64(u)) : (uint32_t)u;
}

static kn_vreg_row *
rows_of(const struct kn_wave *w, const struct kn_opnd *o)
{
    return w->v + kn_vreg(w, o);
}

static const kn_vreg_row *
read_rows(const struct kn_wave *w, const struct kn_opnd *o)
{
    return (const kn_vreg_row *)rows_of(w, o);
}

static const char *
take_accumulator(const struct kn_wave *w, const struct kn_opnd *o,
                 struct kn_mfma_job *j)
{
    if (kn_is_vector(o))
        j->c = read_rows(w, o);
    else if (o->kind == KN_O_IMM)
        j->c_const = constant_bits(o, j->row->a == KN_MT_F64);
    else
        return "accumulator operand";
    return NULL;
}

static const char *
take_scales(const struct kn_wave *w, const struct kn_inst *i,
            struct kn_mfma_job *j)
{
    if (i->nopnd < 6)
        return NULL;
    if (!kn_is_vector(&i->o[4]) || !kn_is_vector(&i->o[5]))
        return "scale operand";
    j->sa = *rows_of(w, &i->o[4]);
    j->sb = *rows_of(w, &i->o[5]);
    j->sa_byte = (uint8_t)((i->op_sel & 1) | (i->op_sel_hi & 1) << 1);
    j->sb_byte = (uint8_t)((i->op_sel >> 1 & 1) | (i->op_sel_hi & 2));
    return NULL;
}

static const char *
take_operands(const struct kn_wave *w, const struct kn_inst *i,
              struct kn_mfma_job *j)
{
    const char *bad;

    if (i->nopnd < 4 || !kn_is_vector(&i->o[0]) || !kn_is_vector(&i->o[1]) ||
        !kn_is_vector(&i->o[2]))
        return "operands";
    j->d = rows_of(w, &i->o[0]);
    j->a = read_rows(w, &i->o[1]);
    j->b = read_rows(w, &i->o[2]);
    if (j->row->sparse) {
        if (!kn_is_vector(&i->o[3]))
            return "sparse index operand";
        j->c = read_rows(w, &i->o[0]);
        j->index = *rows_of(w, &i->o[3]);
        return NULL;
    }
    bad = take_accumulator(w, &i->o[3], j);
    return bad ? bad : take_scales(w, i, j);
}

/* neg:[a,b,c] of the f64 forms is the blgp field of the encoding. */
static void
take_modifiers(const struct kn_inst *i, struct kn_mfma_job *j)
{
    j->cbsz = i->cbsz;
    j->abid = i->abid;
    j->blgp = i->blgp;
    j->neg = i->neg_lo;
    if (j->row->a == KN_MT_F64) {
        j->neg |= i->blgp;
        j->blgp = 0;
    }
}

void
kn_exec_mfma(struct kn_wave *w, const struct kn_inst *i)
{
    struct kn_mfma_job j = {.target = w->group->target,
                            .model = w->group->mfma,
                            .sides = w->group->sides};
    const char *bad;

    j.row = kn_mfma_of(j.target, i->op);
    if (!j.row) {
        kn_unsupported(w, i, "matrix instruction");
        return;
    }
    take_modifiers(i, &j);
    j.clamp = w->mode & KN_MODE_FP16_OVFL;
    j.flush = j.row->a == KN_MT_F32 && !(w->mode & KN_MODE_DENORM_IN32);
    bad = take_operands(w, i, &j);
    if (!bad)
        bad = kn_mfma_check(&j);
    if (bad) {
        kn_unsupported(w, i, bad);
        return;
    }
    kn_mfma_run(&j);
    w->macs += kn_mfma_macs(j.row);
}

/* Do FUSED and CHAIN compute it as CDNA3 does? */
static bool
is_one_model(const struct kn_mfma *r)
{
    return r->a == KN_MT_I8 || r->a == KN_MT_F32 || r->a == KN_MT_F64;
}

/* Rules measured on silicon are exact: integers, and what CDNA3 has. The
 * same instruction on gfx950 is modelled (CDNA3's numbers assumed), and so is
 * any by another model; no public source states the rounding of gfx950's own
 * instructions or of sparse sums. */
enum kn_quality
kn_mfma_quality(kiln_target t, enum kn_mfma_model model,
                const struct kn_inst *i)
{
    const struct kn_mfma *r = kn_mfma_of(t, i->op);

    if (!r)
        return KN_Q_UNVERIFIED;
    if (r->a == KN_MT_I8)
        return KN_Q_EXACT;
    if (r->sparse || r->targets == KN_MF_GFX950)
        return KN_Q_UNVERIFIED;
    return kn_targets[t].mfma_known && (model == KN_MFMA_CDNA3 || is_one_model(r))
               ? KN_Q_EXACT
               : KN_Q_MODELLED;
}
