/* findings.c - collects reports. Each worker thread folds equal ones (kind,
 * instruction) of its workgroups; the launch merges the workers so that the
 * result does not depend on how workgroups were spread over threads: a folded
 * finding shows its occurrence in the first selected workgroup that has it. */
#include <stdio.h>
#include <stdlib.h>

#include "core.h"
#include "report.h"

struct place {
    uint32_t other_inst, other_wave;
};
#define NOWHERE UINT32_MAX

static struct kn_finding_entry *
find_entry(struct kn_findings *f, enum kn_finding_kind kind, uint32_t inst)
{
    for (size_t k = 0; k < f->n; k++)
        if (f->item[k].inst == inst && f->item[k].finding.kind == kind)
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

/* Mnemonic and operands of the instruction, then the sentence. */
static void
write_text(const struct kn_wave *w, const struct kn_inst *i,
           struct kn_finding *f, const char *fmt, va_list ap)
{
    int n = 0;

    if (i) {
        kn_inst_text(w->group->target, i, f->text, sizeof f->text / 2);
        n = (int)strlen(f->text);
        n += snprintf(f->text + n, sizeof f->text - (size_t)n, ": ");
    }
    vsnprintf(f->text + n, sizeof f->text - (size_t)n, fmt, ap);
}

static void
report(struct kn_wave *w, const struct kn_inst *i, enum kn_finding_kind kind,
       int lane, uint64_t address, struct place other, const char *fmt,
       va_list ap)
{
    struct kn_findings *f = w->group->worker->findings;
    uint32_t inst = i ? kn_inst_index(w, i) : NOWHERE;
    struct kn_finding_entry *e = find_entry(f, kind, inst);

    if (e) {
        e->finding.count++;
        if (e->group_index <= f->group_index)
            return;
    } else {
        e = new_entry(f);
        if (!e)
            return;
        *e = (struct kn_finding_entry){ 0 };
        e->finding.count = 1;
    }
    e->inst = inst;
    e->group_index = f->group_index;
    e->order = f->next_order++;
    e->finding.kind = kind;
    e->finding.pc = i ? i->pc : 0;
    e->finding.workgroup = w->group->linear;
    e->finding.wave = w->id;
    e->finding.lane = lane < 0 ? UINT32_MAX : (uint32_t)lane;
    e->finding.address = address;
    e->finding.other_pc = inst_pc(w, other.other_inst);
    e->finding.other_wave = other.other_wave;
    write_text(w, i, &e->finding, fmt, ap);
}

void
kn_report(struct kn_wave *w, const struct kn_inst *i,
          enum kn_finding_kind kind, int lane, uint64_t address,
          const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report(w, i, kind, lane, address, (struct place){ NOWHERE, 0 }, fmt, ap);
    va_end(ap);
}

void
kn_report_pair(struct kn_wave *w, const struct kn_inst *i,
               enum kn_finding_kind kind, int lane, uint64_t address,
               uint32_t other_inst, uint32_t other_wave, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report(w, i, kind, lane, address,
           (struct place){ other_inst, other_wave }, fmt, ap);
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
    struct kn_finding_entry *old = find_entry(to, e->finding.kind, e->inst);
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
    r->nfindings = f->n;
    r->nkept = (unsigned)keep;
    r->findings = KN_NEW(c, struct kn_finding, keep ? keep : 1);
    for (size_t k = 0; k < keep; k++)
        r->findings[k] = f->item[k].finding;
}
