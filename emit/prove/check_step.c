/* check_step.c - what one instruction does to the outstanding operations of a
 * wave, and what it may not find outstanding. */
#include "check_impl.h"

#include <stdio.h>
#include <string.h>

/* What a finding is about: register `name``number`, or a slot's number. */
struct subject {
    const char *what, *name;
    unsigned number, since;
};

static void
finding(struct kn_stepper *k, uint32_t inst, const struct subject *s)
{
    struct kn_check_finding *f;
    char text[128];

    if (!k->report)
        return;
    f = kn_check_add(k->out, inst, KN_SEV_FINDING);
    if (!f)
        return;
    kn_inst_text(k->p->target, &k->p->inst[inst], text, sizeof text);
    snprintf(f->text, sizeof f->text, "%s: %s %s%u, %u operations issued "
             "since", text, s->what, s->name, s->number, s->since);
}

/* ---- lattice ---- */

static uint8_t
least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Without branches, as the loops over all registers below: they are most of
 * the work, and compilers make vectors of them. */
static bool
meet_registers(uint8_t a[NVREG], const uint8_t b[NVREG])
{
    uint8_t changed = 0;

    for (size_t i = 0; i < NVREG; i++) {
        changed |= b[i] < a[i];
        a[i] = b[i] < a[i] ? b[i] : a[i];
    }
    return changed;
}

bool
kn_states_meet(const struct kn_stepper *k, struct kn_wave_state *a,
               const struct kn_wave_state *b)
{
    bool changed = !a->live;

    if (!b->live)
        return false;
    if (!a->live) {
        struct kn_slot_state *keep = a->slot;

        *a = *b;
        a->slot = keep;
        memcpy(a->slot, b->slot, k->nslots * sizeof *a->slot);
        return true;
    }
    changed |= meet_registers(a->vm, b->vm);
    changed |= meet_registers(a->ds, b->ds);
    for (int i = 0; i < NSREG; i++) {
        if (b->scalar[i] > a->scalar[i])
            a->scalar[i] = changed = true;
        if (a->known[i] != b->known[i] && a->known[i]) {
            a->known[i] = K_UNKNOWN;
            changed = true;
        }
    }
    if (b->apart && !a->apart)
        a->apart = changed = true;
    if (b->smem && !a->smem)
        a->smem = changed = true;
    for (uint32_t s = 0; s < k->nslots; s++) {
        struct kn_slot_state *x = &a->slot[s];
        const struct kn_slot_state *y = &b->slot[s];

        if (y->write < x->write || y->read < x->read || y->by_lds > x->by_lds)
            changed = true;
        x->write = least(x->write, y->write);
        x->read = least(x->read, y->read);
        x->by_lds |= y->by_lds;
    }
    return changed;
}

/* ---- registers ---- */

static unsigned
vector_index(const struct kn_opnd *o)
{
    return o->reg + (o->kind == KN_O_AGPR ? 256u : 0u);
}

static bool
is_vector(const struct kn_opnd *o)
{
    return o->kind == KN_O_VGPR || o->kind == KN_O_AGPR;
}

/* A load may overwrite the pending result of an earlier one of its counter:
 * they return in order. */
static void
use_operand(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n,
            const struct kn_opnd *o, unsigned loads)
{
    unsigned width = o->width ? o->width : 1;

    for (unsigned i = 0; i < width; i++) {
        if (is_vector(o)) {
            unsigned r = vector_index(o) + i;

            if (r >= NVREG)
                return;
            if (s->vm[r] < FREE && !(loads & KN_C_VM)) {
                finding(k, n, &(struct subject){
                    "no vmcnt wait covers the load into", r < 256 ? "v" : "a",
                    r % 256, s->vm[r] });
                s->vm[r] = FREE;
            }
            if (s->ds[r] < FREE && !(loads & KN_C_LGKM)) {
                finding(k, n, &(struct subject){
                    "no lgkmcnt wait covers the LDS read into",
                    r < 256 ? "v" : "a", r % 256, s->ds[r] });
                s->ds[r] = FREE;
            }
        } else if (o->kind == KN_O_SGPR && o->reg + i < NSREG &&
                   s->scalar[o->reg + i]) {
            finding(k, n, &(struct subject){
                "no lgkmcnt(0) covers the scalar load into", "s", o->reg + i,
                0 });
            s->scalar[o->reg + i] = 0;
        }
    }
}

static void
use_registers(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n)
{
    const struct kn_inst *i = &k->p->inst[n];
    const struct kn_isa_row *row = &kn_isa[i->op];
    unsigned loads = !row->store && !row->atomic ? row->counter : 0;

    for (unsigned o = 0; o < i->nopnd; o++)
        use_operand(k, s, n, &i->o[o], o < i->ndst ? loads : 0);
}

static void
set_pending(uint8_t *table, const struct kn_inst *i)
{
    for (unsigned o = 0; o < i->ndst; o++)
        for (unsigned w = 0; is_vector(&i->o[o]) && w < i->o[o].width; w++)
            if (vector_index(&i->o[o]) + w < NVREG)
                table[vector_index(&i->o[o]) + w] = 0;
}

/* ---- counters ---- */

static void
count_up(uint8_t t[NVREG], uint8_t most)
{
    for (size_t i = 0; i < NVREG; i++)
        t[i] = (uint8_t)(t[i] + (t[i] < most));
}

static void
set_free(uint8_t t[NVREG], uint8_t from)
{
    for (size_t i = 0; i < NVREG; i++)
        t[i] = t[i] >= from ? FREE : t[i];
}

static void
issue_vm(struct kn_stepper *k, struct kn_wave_state *s)
{
    count_up(s->vm, 63);
    for (uint32_t i = 0; i < k->nslots; i++)
        if (!s->slot[i].by_lds && s->slot[i].write < W_PENDING_MAX)
            s->slot[i].write++;
}

static void
issue_lgkm(struct kn_stepper *k, struct kn_wave_state *s)
{
    count_up(s->ds, 15);
    for (uint32_t i = 0; i < k->nslots; i++) {
        if (s->slot[i].by_lds && s->slot[i].write < R_PENDING_MAX)
            s->slot[i].write++;
        if (s->slot[i].read < R_PENDING_MAX)
            s->slot[i].read++;
    }
}

static void
barrier(struct kn_stepper *k, struct kn_wave_state *s)
{
    for (uint32_t i = 0; i < k->nslots; i++) {
        if (s->slot[i].write == W_APART || s->slot[i].write == W_LANDED)
            s->slot[i].write++;
        if (s->slot[i].read == R_APART || s->slot[i].read == R_DONE)
            s->slot[i].read++;
    }
}

/* A workgroup of one wave: what it waited for is there for everybody, and
 * LLVM leaves its barriers out. */
static bool
is_alone(const struct kn_stepper *k)
{
    uint32_t most = k->p->kernel->max_workgroup;

    return most && most <= 64;
}

static void
wait_vm(struct kn_stepper *k, struct kn_wave_state *s, unsigned n)
{
    set_free(s->vm, (uint8_t)n);
    for (uint32_t i = 0; i < k->nslots; i++)
        if (!s->slot[i].by_lds && s->slot[i].write < W_APART &&
            s->slot[i].write >= n)
            s->slot[i].write = s->apart ? W_APART : W_LANDED;
    if (is_alone(k))
        barrier(k, s);
}

/* With scalar loads outstanding only a wait for zero says anything. */
static void
wait_lgkm(struct kn_stepper *k, struct kn_wave_state *s, unsigned n)
{
    if (s->smem && n)
        return;
    set_free(s->ds, (uint8_t)n);
    for (uint32_t i = 0; i < k->nslots; i++) {
        struct kn_slot_state *x = &s->slot[i];

        if (x->by_lds && x->write < W_APART && x->write >= n)
            x->write = s->apart ? W_APART : W_LANDED;
        if (x->read < R_APART && x->read >= n)
            x->read = s->apart ? R_APART : R_DONE;
    }
    if (is_alone(k))
        barrier(k, s);
    if (!n) {
        memset(s->scalar, 0, sizeof s->scalar);
        s->smem = false;
    }
}

/* ---- LDS slots ---- */

static void
read_slot(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n,
          const struct kn_access *a, uint16_t slot)
{
    struct kn_slot_state *x = &s->slot[slot];
    /* A lane's own ds_write and ds_read of one address keep their order. */
    unsigned need = !a->own ? W_VISIBLE : x->by_lds ? 0 : W_APART;

    if (x->write < need)
        finding(k, n, &(struct subject){
            x->write < W_APART ? "no wait covers the writes into LDS slot"
            : s->apart ? "too few barriers publish LDS slot"
                       : "no barrier publishes LDS slot",
            "", slot, x->write < W_APART ? x->write : 0 });
    if (!a->own)
        x->read = 0;
}

static void
write_slot(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n,
           const struct kn_access *a)
{
    struct kn_slot_state *x = &s->slot[a->slot];

    if (x->read != R_NONE)
        finding(k, n, &(struct subject){
            x->read < R_APART ? "reads are outstanding of LDS slot"
            : s->apart ? "too few barriers separate another wave's reads from "
                         "the refill of LDS slot"
                       : "no barrier separates another wave's reads from the "
                         "refill of LDS slot",
            "", a->slot, x->read < R_APART ? x->read : 0 });
    x->by_lds = a->kind == KN_ACC_WRITE;
    x->write = 0;
}

/* ---- one instruction ---- */

static void
issue(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n)
{
    const struct kn_inst *i = &k->p->inst[n];
    const struct kn_isa_row *row = &kn_isa[i->op];
    const struct kn_access *a = k->access ? &k->access[n] : NULL;

    if (row->counter & KN_C_VM)
        issue_vm(k, s);
    if (row->counter & KN_C_LGKM)
        issue_lgkm(k, s);
    if (row->mem == KN_M_SMEM) {
        s->smem = true;
        for (unsigned o = 0; o < i->ndst; o++)
            for (unsigned w = 0; w < i->o[o].width; w++)
                if (i->o[o].kind == KN_O_SGPR && i->o[o].reg + w < NSREG)
                    s->scalar[i->o[o].reg + w] = 1;
    } else if (row->counter & KN_C_VM) {
        set_pending(s->vm, i);
    } else if (row->mem == KN_M_DS) {
        set_pending(s->ds, i);
    }
    if (row->mem == KN_M_FLAT)
        set_pending(s->ds, i);
    if (a && a->kind == KN_ACC_READ)
        for (int h = 0; h <= (a->more != 0); h++)
            read_slot(k, s, n, a, (uint16_t)(a->slot + (unsigned)h * a->more));
    else if (a && a->kind != KN_ACC_NONE)
        write_slot(k, s, n, a);
}

/* What a mask operand is known to hold. */
static uint8_t
mask_of(const struct kn_wave_state *s, const struct kn_opnd *o)
{
    if (o->kind == KN_O_IMM)
        return o->imm == 0 ? K_ZERO : o->imm == -1 ? K_ONES : K_UNKNOWN;
    if (o->kind == KN_O_SGPR && o->reg == 126)
        return K_NONZERO;    /* exec */
    return o->kind == KN_O_SGPR && o->reg < NSREG ? s->known[o->reg] : K_UNKNOWN;
}

static uint8_t
mask_result(const struct kn_wave_state *s, const struct kn_inst *i)
{
    uint8_t a, b;

    if (i->op == KN_I_s_mov_b64 || i->op == KN_I_s_mov_b32)
        return mask_of(s, &i->o[1]);
    if (i->op != KN_I_s_and_b64 && i->op != KN_I_s_andn2_b64)
        return K_UNKNOWN;
    a = mask_of(s, &i->o[1]);
    b = mask_of(s, &i->o[2]);
    if (i->op == KN_I_s_andn2_b64)
        b = b == K_ZERO ? K_ONES : b == K_ONES ? K_ZERO : K_UNKNOWN;
    if (a == K_ZERO || b == K_ZERO)
        return K_ZERO;
    return a == K_ONES ? b : b == K_ONES ? a : K_UNKNOWN;
}

static void
track_masks(struct kn_wave_state *s, const struct kn_inst *i)
{
    uint8_t v = i->nopnd > 1 ? mask_result(s, i) : K_UNKNOWN;

    for (unsigned o = 0; o < i->ndst; o++)
        for (unsigned w = 0; w < i->o[o].width; w++)
            if (i->o[o].kind == KN_O_SGPR && i->o[o].reg + w < NSREG)
                s->known[i->o[o].reg + w] = v;
}

/* A barrier of all waves, or of the half that the certificate says. */
static void
meet_waves(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n)
{
    uint8_t kind = k->access ? k->access[n].kind : KN_ACC_NONE;

    s->apart = kind == KN_ACC_STAGGER || (s->apart && kind != KN_ACC_REJOIN);
    if (kind != KN_ACC_STAGGER)
        barrier(k, s);
}

/* LDS is another workgroup's when the wave has ended. */
static void
end_wave(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n)
{
    for (uint32_t i = 0; i < k->nslots; i++)
        if (!s->slot[i].by_lds && s->slot[i].write < W_APART)
            finding(k, n, &(struct subject){
                "copies are still under way into LDS slot", "", i,
                s->slot[i].write });
}

void
kn_check_step(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n)
{
    const struct kn_inst *i = &k->p->inst[n];

    if (i->op == KN_I_s_waitcnt) {
        if (i->vm < 63)
            wait_vm(k, s, i->vm);
        if (i->lgkm < 15)
            wait_lgkm(k, s, i->lgkm);
        return;
    }
    use_registers(k, s, n);
    track_masks(s, i);
    if (i->op == KN_I_s_barrier)
        meet_waves(k, s, n);
    else if (kn_isa[i->op].flags & KN_IF_END)
        end_wave(k, s, n);
    else if (kn_isa[i->op].counter)
        issue(k, s, n);
}
