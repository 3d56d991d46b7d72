/* outcome.c - what the launches of a process came to: findings as they occur
 * on the log; at the end JSON, JUnit and the exit status. */
#define _GNU_SOURCE          /* on_exit */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../file.h"
#include "shim.h"

/* ---- while it runs --------------------------------------------------------- */

struct record *
record_of(struct shim *s, struct function *f)
{
    struct record *r = f->record;

    for (r = r ? r : s->records; r && strcmp(r->kernel, f->kernel->name);)
        r = r->next;
    if (!r) {
        r = calloc(1, sizeof *r);
        if (r)
            r->kernel = strdup(f->kernel->name);
        if (!r || !r->kernel) {
            free(r);
            return NULL;
        }
        r->last = &r->found;
        *s->last_record = r;
        s->last_record = &r->next;
    }
    f->record = r;
    return r;
}

void
keep_error(struct record *r, const char *text)
{
    if (!r->error)
        r->error = strdup(text);
}

static kiln_status
read_lines(struct module *m)
{
    KN_ENTER(&m->c);
    return kn_dwarf_read(&m->c, m->bytes, m->size, &m->lines);
}

static void
find_source(struct module *m, struct found *x)
{
    const char *file;
    uint32_t line;

    if (!m->lines && read_lines(m))
        memset(&m->c.err, 0, sizeof m->c.err);
    file = m->lines ? kn_dwarf_find(m->lines, x->f.pc, &line) : NULL;
    if (file)
        snprintf(x->source, sizeof x->source, "%s:%u", file, line);
}

static void
tell_finding(struct shim *s, const struct function *f, const struct found *x)
{
    tell(s, "%s: %s%s%s: at 0x%llx: %s", f->kernel->name,
         x->f.severity == KN_SEV_FINDING ? "" : "advice: ", x->source,
         *x->source ? "" : "no line", (unsigned long long)x->f.pc,
         x->f.text);
}

/* Equal ones of earlier launches, by kind and instruction, are counted. */
static void
keep_finding(struct shim *s, struct function *f, const struct kn_finding *one)
{
    struct record *r = f->record;
    struct found *x = r->found;

    while (x && (x->f.kind != one->kind || x->f.pc != one->pc))
        x = x->next;
    if (x) {
        x->f.count += one->count;
        return;
    }
    x = calloc(1, sizeof *x);
    if (!x)
        return;
    x->f = *one;
    find_source(f->module, x);
    *r->last = x;
    r->last = &x->next;
    tell_finding(s, f, x);
}

void
keep_findings(struct shim *s, struct function *f,
              const struct kn_sim_result *r)
{
    s->nfindings += r->nfindings;
    s->nadvice += r->nadvice;
    for (unsigned i = 0; i < r->nkept; i++)
        keep_finding(s, f, &r->findings[i]);
}

/* ---- the end --------------------------------------------------------------- */

static kiln_status
write_file(struct shim *s, const char *path,
           void (*writer)(struct kn_buf *, const struct shim *))
{
    struct kn_buf b = { .c = &s->c };

    KN_ENTER(&s->c);
    if (!path)
        return KILN_OK;
    writer(&b, s);
    return kn_file_write(&s->c, path, b.s, b.n);
}

/* The status the process is about to end with. */
static int ending;

static void
keep_status(int status, void *user)
{
    (void)user;
    ending = status;
}

void
watch_exit(void)
{
    on_exit(keep_status, NULL);
}

/* Did a launch end without an answer, whatever the program made of it? */
static bool
any_failed(const struct shim *s)
{
    for (const struct record *r = s->records; r; r = r->next)
        if (r->error)
            return true;
    return false;
}

/* After the program's own destructors. Of a process and its forks the last to
 * end writes the files. */
__attribute__((destructor)) static void
finish(void)
{
    struct shim *s = shim_state();

    if (!s->started)
        return;
    if (write_file(s, s->json, write_json))
        sim_error(s, "KILNC_SHIM_JSON", 0);
    if (write_file(s, s->junit, write_junit))
        sim_error(s, "KILNC_SHIM_JUNIT", 0);
    if (s->nfindings || s->sampled)
        tell(s, "%llu findings%s", (unsigned long long)s->nfindings,
             s->sampled ? "; only a sample of the workgroups was run" : "");
    if ((s->nfindings || any_failed(s)) && !ending && s->exit_status) {
        fflush(NULL);
        _exit(s->exit_status);
    }
}
