/* findings.c - collects reports. Each worker thread folds equal ones (kind,
 * instruction) of its workgroups; the launch merges the workers so that the
 * result does not depend on how workgroups were spread over threads: a folded
 * finding shows its occurrence in the first selected workgroup that has it. */
#include <stdio.h>
#include <stdlib.h>

#include "../../emit/isa/hazard.h"
#include "core.h"

/* What makes reports equal. */
struct what {
    enum kn_finding_kind kind;
    enum kn_severity severity;
    uint32_t inst;
};

static struct kn_finding_entry *
find_entry(struct kn_findings *f, struct what x)
{
    for (size_t k = 0; k < f->n; k++)
        if (f->item[k].inst == x.inst && f->item[k].finding.kind == x.kind &&
            f->item[k].finding.severity == x.severity)
            return &f->item[k];
    return NULL;
}

static struct kn_finding_entry *
new_entry(struct kn_findings *f)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 32;
        void *p = realloc(f->item, cap * sizeof *f->item);

        if (!p) {
            f->lost = true;
            return NULL;
        }
        f->item = p;
        f->cap = cap;
    }
    return &f->item[f->n++];
}

static uint64_t
inst_pc(const struct kn_wave *w, uint32_t inst)
{
    return inst < w->group->program->n ? w->group->program->inst[inst].pc : 0;
}

/* The entry that a report at this place has to fill in, NULL if an earlier
 * workgroup has done so. */
static struct kn_finding_entry *
open_entry(struct kn_findings *f, struct what x)
{
    struct kn_finding_entry *e = find_entry(f, x);

    if (e) {
        e->finding.count++;
        return e->group_index <= f->group_index ? NULL : e;
    }
    e = new_entry(f);
    if (e) {
        *e = (struct kn_finding_entry){
            .inst = x.inst, .finding = { .kind = x.kind, .count = 1,
                                         .severity = x.severity } };
    }
    return e;
}

static void
fill_entry(const struct kn_wave *w, struct kn_finding_entry *e,
           const struct kn_inst *i, struct kn_at at)
{
    struct kn_findings *f = w->group->worker->findings;

    e->group_index = f->group_index;
    e->order = f->next_order++;
    e->finding.pc = i ? i->pc : 0;
    e->finding.workgroup = w->group->linear;
    e->finding.wave = w->id;
    e->finding.lane = at.lane < 0 ? UINT32_MAX : (uint32_t)at.lane;
    e->finding.address = at.address;
    e->finding.other_pc = inst_pc(w, at.other_inst);
    e->finding.other_wave = at.other_wave;
}

/* Mnemonic and operands of the instruction; returns the length. */
static size_t
write_instruction(const struct kn_wave *w, const struct kn_inst *i,
                  struct kn_finding *f)
{
    size_t n;

    f->text[0] = 0;
    if (!i)
        return 0;
    kn_inst_text(w->group->target, i, f->text, sizeof f->text / 2);
    n = strlen(f->text);
    memcpy(f->text + n, ": ", 3);
    return n + 2;
}

static void
report(struct kn_wave *w, struct what x, struct kn_at at, const char *fmt,
       va_list ap)
{
    const struct kn_inst *i = x.inst == KN_NO_INST
                              ? NULL : &w->group->program->inst[x.inst];
    struct kn_finding_entry *e = open_entry(w->group->worker->findings, x);
    size_t n;

    if (!e)
        return;
    fill_entry(w, e, i, at);
    n = write_instruction(w, i, &e->finding);
    vsnprintf(e->finding.text + n, sizeof e->finding.text - n, fmt, ap);
}

void
kn_report(struct kn_wave *w, const struct kn_inst *i,
          enum kn_finding_kind kind, struct kn_at at, const char *fmt, ...)
{
    uint32_t inst = i ? kn_inst_index(w, i) : KN_NO_INST;
    va_list ap;

    va_start(ap, fmt);
    report(w, (struct what){ kind, KN_SEV_FINDING, inst }, at, fmt, ap);
    va_end(ap);
}

void
kn_report_states(struct kn_wave *w, const struct kn_inst *i,
                 enum kn_severity rule, struct kn_at at, const char *fmt, ...)
{
    const struct kn_run *r = w->group->run;
    bool own = r->l->own || kn_kernel_is_own(r->kernel);
    va_list ap;

    va_start(ap, fmt);
    report(w, (struct what){ KN_F_WAIT_STATES, kn_hz_severity(rule, own),
                             kn_inst_index(w, i) }, at, fmt, ap);
    va_end(ap);
}

void
kn_unsupported(struct kn_wave *w, const struct kn_inst *i, const char *what)
{
    char text[80];

    if (w->status)
        return;
    kn_inst_text(w->group->target, i, text, sizeof text);
    kn_run_fail(w, KILN_UNSUPPORTED, "%s%s%s at 0x%llx is not simulated: %s",
                kn_isa[i->op].mnemonic, what && *what ? ", " : "",
                what ? what : "", (unsigned long long)i->pc, text);
}

void
kn_run_fail(struct kn_wave *w, kiln_status s, const char *fmt, ...)
{
    struct kn_run *r = w->group->run;
    uint64_t index = w->group->worker->findings->group_index;
    va_list ap;

    w->status = s;
    w->stop = true;
    pthread_mutex_lock(&r->lock);
    if (!r->error || index < r->error_group) {
        r->error = s;
        r->error_group = index;
        va_start(ap, fmt);
        vsnprintf(r->error_text, sizeof r->error_text, fmt, ap);
        va_end(ap);
    }
    if (index < atomic_load(&r->stop_at))
        atomic_store(&r->stop_at, index);
    pthread_mutex_unlock(&r->lock);
}

/* ---- merging ------------------------------------------------------------ */

void
kn_findings_free(struct kn_findings *f)
{
    free(f->item);
    *f = (struct kn_findings){ 0 };
}

static void
merge_one(struct kn_findings *to, const struct kn_finding_entry *e)
{
    struct kn_finding_entry *old = find_entry(to, (struct what){
        e->finding.kind, e->finding.severity, e->inst });
    uint32_t count = e->finding.count;

    if (!old) {
        old = new_entry(to);
        if (old)
            *old = *e;
        return;
    }
    count += old->finding.count;
    if (e->group_index < old->group_index)
        *old = *e;
    old->finding.count = count;
}

void
kn_findings_merge(struct kn_findings *to, const struct kn_findings *from)
{
    for (size_t k = 0; k < from->n; k++)
        merge_one(to, &from->item[k]);
    to->lost |= from->lost;
}

static int
by_place(const void *pa, const void *pb)
{
    const struct kn_finding_entry *a = pa, *b = pb;

    if (a->finding.severity != b->finding.severity)
        return a->finding.severity < b->finding.severity ? -1 : 1;
    if (a->group_index != b->group_index)
        return a->group_index < b->group_index ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return 0;
}

void
kn_findings_deliver(struct kn_ctx *c, struct kn_findings *f, unsigned max,
                    struct kn_sim_result *r)
{
    size_t keep = f->n < max ? f->n : max;

    if (f->n)
        qsort(f->item, f->n, sizeof *f->item, by_place);
    for (size_t k = 0; k < f->n; k++)
        if (f->item[k].finding.severity == KN_SEV_FINDING)
            r->nfindings++;
        else
            r->nadvice++;
    r->nkept = (unsigned)keep;
    r->findings = KN_NEW(c, struct kn_finding, keep ? keep : 1);
    for (size_t k = 0; k < keep; k++)
        r->findings[k] = f->item[k].finding;
}
