/* cmd_pack.c - `kilnc pack`: the kernels of a list of problems as one bundle.
 * Generated on all cores; each goes through the kernel cache, so that an
 * interrupted run is resumed by repeating it. The bytes depend on the list
 * and the generator only, not on the order in which kernels were done. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "../../emit/prove/cert.h"
#include "../../runtime/api/bundle.h"
#include "../../runtime/api/context.h"
#include "../../runtime/file.h"
#include "cmd.h"
#include "json.h"
#include "cli.h"
#include "progress.h"
#include "run/run.h"
#include "bench/bench.h"

struct job {
    kiln_problem p;
    struct kn_config given, cfg;
    struct kn_key key;
    struct kn_ctx c;         /* of co */
    const uint8_t *co;
    size_t size;
    const char *certificate;
    bool cached;
    kiln_status status;
};

struct pack {
    struct kn_tool *t;
    struct kn_worklist list;
    struct job *job;
    size_t njobs, cap, rows;
    size_t cached, refused;
    const char *dir;         /* of the cache, NULL: none */
    bool no_cache;           /* it cannot be written: told once */
    pthread_mutex_t lock;
    size_t next, done;       /* under lock */
};

/* ---- what to make ------------------------------------------------------- */

static bool
is_known(const struct pack *k, const struct kn_key *key)
{
    for (size_t i = 0; i < k->njobs; i++)
        if (!memcmp(k->job[i].key.digest, key->digest, KN_DIGEST))
            return true;
    return false;
}

static void
add_job(struct pack *k, const struct job *j)
{
    if (is_known(k, &j->key))
        return;
    k->job = kn_grow(k->t->c, k->job, &k->cap, k->njobs + 1, sizeof *k->job);
    k->job[k->njobs++] = *j;
}

static kiln_status
decide(struct kn_ctx *c, const struct kn_work *w, kiln_target target,
       struct job *j)
{
    const char *more[] = { "--arch", kiln_target_name(target), NULL };
    struct kn_cli *cli = KN_NEW(c, struct kn_cli, 1);

    KN_TRY(kn_work_cli(c, w, KN_CMD_generate, more, cli));
    KN_TRY(kn_cli_problem(c, cli, target, &j->p));
    KN_TRY(kn_problem_normalise(c, &j->p));
    KN_TRY(kn_config_parse(c, cli->config, &j->cfg));
    if (!j->cfg.split_k)
        j->cfg.split_k = 1;  /* as kiln_compile does */
    if (!cli->v[KN_FLAG_k].seen)
        j->cfg.domain = kn_domain_of(&j->p, 256, 0); /* any K: a tail */
    j->given = j->cfg;
    KN_TRY(kn_choose(c, &j->p, &j->cfg, NULL));
    kn_make_key(c, &j->p, &j->cfg, &j->key);
    return KILN_OK;
}

/* A row may be more than one target can do: that is said, and the others are
 * packed. Anything else wrong with the list ends the command. */
static kiln_status
add_row(struct pack *k, const struct kn_work *w, kiln_target target)
{
    struct kn_ctx *c = k->t->c;
    struct job j = { 0 };
    kiln_status s = decide(c, w, target, &j);

    k->rows++;
    if (s == KILN_UNSUPPORTED) {
        kn_putf(k->t->text, "left out: row %zu for %s: %s\n", w->row + 1,
                kiln_target_name(target), c->err.text);
        memset(&c->err, 0, sizeof c->err);
        k->refused++;
        return KILN_OK;
    }
    if (!s)
        add_job(k, &j);
    return s;
}

/* --arch gfx942,gfx950; without it each row's own target. */
static kiln_status
read_targets(struct kn_tool *t, bool wanted[KILN_NTARGETS])
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_archs];
    static const char *const targets[] = {
#define X(id, text) text,
        KILN_TARGETS(X)
#undef X
    };
    char *text, *save = NULL;

    if (!v->seen)
        return KILN_OK;
    text = kn_strdup(t->c, v->s);
    for (char *w = strtok_r(text, ",", &save); w;
         w = strtok_r(NULL, ",", &save)) {
        int i = KILN_TARGET_NONE + 1;
        kiln_target any;
        const char *name = kn_alias(w, &any);

        while (i < KILN_NTARGETS &&
               strcmp(name, kiln_target_name((kiln_target)i)))
            i++;
        if (i == KILN_NTARGETS)
            return kn_fail(t->c, KILN_BAD_INPUT, "--arch takes targets "
                           "separated by commas, there is no '%s'%s", w,
                           kn_did_you_mean(t->c, w, targets,
                                           KILN_NTARGETS - 1));
        wanted[i] = true;
    }
    return KILN_OK;
}

static kiln_status
read_jobs(struct pack *k)
{
    bool wanted[KILN_NTARGETS] = { false };
    bool any = k->t->cli->v[KN_FLAG_archs].seen;

    KN_TRY(read_targets(k->t, wanted));
    KN_TRY(kn_worklist_read(k->t, &k->list));
    for (size_t i = 0; i < k->list.n; i++)
        for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++)
            if (any ? wanted[t] : (int)k->list.w[i].target == t)
                KN_TRY(add_row(k, &k->list.w[i], (kiln_target)t));
    if (!k->njobs)
        return kn_fail(k->t->c, k->refused ? KILN_UNSUPPORTED : KILN_BAD_INPUT,
                       "'%s' has no problem that could be packed",
                       k->list.name);
    return KILN_OK;
}

/* ---- making them -------------------------------------------------------- */

static void
save(struct pack *k, struct job *j)
{
    if (!k->dir ||
        (!kn_cache_write(&j->c, k->dir, &j->key, j->co, j->size) &&
         !kn_cache_write_certificate(&j->c, k->dir, &j->key, j->certificate)))
        return;
    pthread_mutex_lock(&k->lock);
    k->no_cache = true;
    pthread_mutex_unlock(&k->lock);
    memset(&j->c.err, 0, sizeof j->c.err);
}

/* `kilnc check` on an entry of the cache: its certificate is of these bytes,
 * and the checker finds nothing. */
static kiln_status
check_cached(struct kn_ctx *c, const struct kn_cached *e, const char *text)
{
    const struct kn_object_kernel *kernel;
    struct kn_check_result r;
    struct kn_program p;
    struct kn_object o;
    struct kn_slots slots;

    KN_TRY(kn_object_read(c, "the cache's", e->co, e->size, &o));
    KN_TRY(kn_object_kernel(c, &o, NULL, &kernel));
    KN_TRY(kn_decode(c, &o, kernel, true, &p));
    KN_TRY(kn_cert_read(c, text, strlen(text), &p, &slots));
    KN_TRY(kn_check_program(c, &p, &slots, &r));
    return r.nfindings || r.undecided ? KILN_FINDING : KILN_OK;
}

/* What fails the check, or has no certificate, is made again. */
static kiln_status
take_cached(struct pack *k, struct job *j)
{
    struct kn_cached e = { 0 };
    const char *text = NULL;

    if (!k->dir)
        return KILN_OK;
    KN_TRY(kn_cache_read(&j->c, k->dir, &j->key, &e));
    if (e.co)
        KN_TRY(kn_cache_read_certificate(&j->c, k->dir, &j->key, &text));
    if (!text)
        return KILN_OK;
    if (check_cached(&j->c, &e, text)) {
        memset(&j->c.err, 0, sizeof j->c.err);
        return KILN_OK;
    }
    j->cached = true;
    j->co = e.co;
    j->size = e.size;
    j->certificate = text;
    return KILN_OK;
}

static kiln_status
make(struct pack *k, struct job *j)
{
    struct kn_generated g;

    KN_ENTER(&j->c);
    KN_TRY(take_cached(k, j));
    if (j->cached)
        return KILN_OK;
    KN_TRY(kn_generate(&j->c, &j->p, &j->given, NULL, &g));
    j->cfg = g.cfg;
    kn_make_key(&j->c, &j->p, &j->cfg, &j->key);
    j->co = g.co;
    j->size = g.size;
    j->certificate = g.certificate;
    save(k, j);
    return KILN_OK;
}

static void *
work(void *user)
{
    struct pack *k = user;
    bool more = true;

    while (more) {
        struct job *j = NULL;

        pthread_mutex_lock(&k->lock);
        if (k->next < k->njobs)
            j = &k->job[k->next++];
        pthread_mutex_unlock(&k->lock);
        more = j != NULL;
        if (!more)
            break;
        j->status = make(k, j);
        pthread_mutex_lock(&k->lock);
        kn_progress_update(k->t->progress, ++k->done, k->njobs);
        pthread_mutex_unlock(&k->lock);
    }
    return NULL;
}

static void
make_all(struct pack *k)
{
    enum { MOST = 64 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t thread[MOST];
    int n = 0;

    kn_progress_stage(k->t->progress, "generating kernels");
    while (n < MOST && n + 1 < cores && (size_t)n + 1 < k->njobs &&
           !pthread_create(&thread[n], NULL, work, k))
        n++;
    work(k);
    while (n)
        pthread_join(thread[--n], NULL);
}

/* ---- the bundle --------------------------------------------------------- */

/* The first failure in the order of the list. */
static kiln_status
check_jobs(struct pack *k)
{
    for (size_t i = 0; i < k->njobs; i++) {
        const struct job *j = &k->job[i];

        if (j->status)
            return kn_fail(k->t->c, j->status, "%s with %s: %s",
                           j->key.problem, j->key.config, j->c.err.text);
        k->cached += j->cached;
    }
    return KILN_OK;
}

static void
report(struct pack *k, struct kn_json *j, const char *path, size_t size)
{
    kn_putf(k->t->text, "%s: %zu kernels for %zu rows, %zu bytes; %zu "
            "generated, %zu from the cache, %zu rows left out\n", path,
            k->njobs, k->rows, size, k->njobs - k->cached, k->cached,
            k->refused);
    if (k->no_cache)
        kn_putf(k->t->text, "the kernel cache %s cannot be written\n", k->dir);
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "bundle", path);
    kn_json_str(j, "versions", kn_versions());
    kn_json_uint(j, "rows", k->rows);
    kn_json_uint(j, "kernels", k->njobs);
    kn_json_uint(j, "generated", k->njobs - k->cached);
    kn_json_uint(j, "cached", k->cached);
    kn_json_uint(j, "left_out", k->refused);
    kn_json_uint(j, "bytes", size);
    kn_json_close(j, '}');
}

static kiln_status
write_c(struct pack *k, const char *path)
{
    struct kn_pack_kernel *list = KN_NEW(k->t->c, struct kn_pack_kernel,
                                         k->njobs);

    for (size_t i = 0; i < k->njobs; i++)
        list[i] = (struct kn_pack_kernel){ &k->job[i].p, &k->job[i].cfg,
                                           &k->job[i].key, k->job[i].co,
                                           k->job[i].size };
    return kn_pack_c(k->t->c, path, list, k->njobs);
}

static kiln_status
write_bundle(struct pack *k)
{
    const struct kn_value *o = &k->t->cli->v[KN_FLAG_o];
    struct kn_ctx *c = k->t->c;
    struct kn_packed *packed = KN_NEW(c, struct kn_packed, k->njobs);
    struct kn_json j = { .b = { .c = c } };
    uint8_t *bytes;
    size_t size;

    for (size_t i = 0; i < k->njobs; i++)
        packed[i] = (struct kn_packed){ k->job[i].key, k->job[i].co,
                                        k->job[i].size,
                                        k->job[i].certificate };
    KN_TRY(kn_bundle_make(c, packed, (uint32_t)k->njobs, &bytes, &size));
    KN_TRY(kn_file_write(c, o->s, bytes, size));
    if (k->t->cli->v[KN_FLAG_pack_c].seen)
        KN_TRY(write_c(k, k->t->cli->v[KN_FLAG_pack_c].s));
    report(k, &j, o->s, size);
    return kn_report_write(k->t, &j);
}

kiln_status
kn_cmd_pack(struct kn_tool *t)
{
    const struct kn_value *extract = &t->cli->v[KN_FLAG_extract];
    struct pack *k = KN_NEW(t->c, struct pack, 1);
    kiln_status s;

    if (t->cli->v[KN_FLAG_pack_list].seen && extract->seen)
        return kn_fail(t->c, KILN_BAD_INPUT, "--list and --extract are two "
                       "questions");
    if (t->cli->v[KN_FLAG_pack_list].seen)
        return kn_bundle_view(t, t->cli->pos[0]);
    if (extract->seen)
        return kn_bundle_extract(t, t->cli->pos[0], extract->s);
    k->t = t;
    if (!t->cli->v[KN_FLAG_o].seen)
        return kn_fail(t->c, KILN_BAD_INPUT, "'pack' needs -o FILE.kpk");
    KN_TRY(read_jobs(k));
    k->dir = kn_cache_dir(t->c);
    for (size_t i = 0; i < k->njobs; i++) {
        kn_ctx_init(&k->job[i].c, t->c->realloc, t->c->user);
        k->job[i].c.tuning = t->c->tuning;
    }
    pthread_mutex_init(&k->lock, NULL);
    make_all(k);
    pthread_mutex_destroy(&k->lock);
    s = check_jobs(k);
    if (!s)
        s = write_bundle(k);
    for (size_t i = 0; i < k->njobs; i++)
        kn_ctx_free(&k->job[i].c);
    return s;
}
