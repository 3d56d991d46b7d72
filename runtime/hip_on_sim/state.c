/* state.c - the frame of every call, its settings, errors. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "../config.h"
#include "hip_api.h"
#include "shim.h"

static struct shim shim = { .lock = PTHREAD_MUTEX_INITIALIZER,
                            .fail_call = -1 };
static _Thread_local int last_error;

static const struct {
    const char *name;
    bool captured;
} calls[FN_COUNT] = {
#define X(name, captured) { #name, captured },
#include "calls.def"
#undef X
};

struct shim *
shim_state(void)
{
    return &shim;
}

static uint64_t
number(const char *text, uint64_t otherwise)
{
    char *end;
    unsigned long long v;

    if (!text || *text < '0' || *text > '9')
        return otherwise;
    v = strtoull(text, &end, 10);
    return *end ? otherwise : v;
}

static kiln_target
named_target(const char *name)
{
    for (int t = KILN_TARGET_NONE + 1; name && t < KILN_NTARGETS; t++)
        if (!strcmp(name, kiln_target_name((kiln_target)t)))
            return (kiln_target)t;
    return KILN_TARGET_NONE;
}

static void
start(struct shim *s)
{
    struct kn_env env;

    kn_env_read(&env);
    s->target = named_target(env.shim_target);
    if (!s->target)
        s->target = registered_target();
    if (!s->target)
        s->target = KN_TARGET_DEFAULT;
    s->cus = (uint32_t)number(env.shim_cus, kn_targets[s->target].cus);
    s->xcds = (uint32_t)number(env.shim_xcds, kn_targets[s->target].xcds);
    s->log = env.shim_log;
    s->json = env.shim_json;
    s->junit = env.shim_junit;
    s->sample = number(env.shim_sample, 0);
    s->exit_status = (int)(number(env.shim_exit, 1) & 255);
    s->go_on = number(env.shim_go_on, 0) == 1;
    s->last_record = &s->records;
    kn_ctx_init(&s->c, NULL, NULL);
    watch_exit();
    s->started = true;
}

int
enter(enum hip_call f)
{
    struct shim *s = &shim;

    pthread_mutex_lock(&s->lock);
    if (!s->started)
        start(s);
    s->calls[f]++;
    if (s->fail_call == (int)f)
        return s->fail_with;
    if (s->capturing && !calls[f].captured) {
        s->broken = true;
        return KN_hipErrorStreamCaptureUnsupported;
    }
    return 0;
}

int
enter_for(enum hip_call f, const void *out)
{
    int e = enter(f);

    return e || out ? e : KN_hipErrorInvalidValue;
}

int
leave(int e)
{
    pthread_mutex_unlock(&shim.lock);
    if (e)
        last_error = e;
    return e;
}

void
tell(struct shim *s, const char *fmt, ...)
{
    char text[512] = "kilnhip: ";
    size_t n = strlen(text);
    va_list ap;
    int fd = 2;

    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - n - 1, fmt, ap);
    va_end(ap);
    strcat(text, "\n");
    if (s->log)
        fd = open(s->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        s->log = NULL;       /* nowhere to tell it */
    if (fd > 2)
        close(fd);
}

int
sim_error(struct shim *s, const char *what, int fallback)
{
    int e = s->c.err.status == KILN_NO_MEMORY ? KN_hipErrorOutOfMemory
                                              : fallback;

    tell(s, "%s: %s", what, s->c.err.text);
    memset(&s->c.err, 0, sizeof s->c.err);
    return e;
}

static kiln_status
open_sim(struct shim *s)
{
    KN_ENTER(&s->c);
    KN_TRY(kn_simulator_open(&s->c, &s->api));
    return s->api->open(&s->c, s->target, &s->sim);
}

int
need_sim(struct shim *s)
{
    if (s->sim)
        return 0;
    return open_sim(s) ? sim_error(s, "no simulator", KN_hipErrorNotInitialized)
                       : 0;
}

/* ---- for tests ---------------------------------------------------------- */

static int
call_index(const char *name)
{
    for (int i = 0; i < FN_COUNT; i++)
        if (!strcmp(calls[i].name, name))
            return i;
    return -1;
}

unsigned long
kilnhip_calls(const char *name)
{
    unsigned long n = 0;

    pthread_mutex_lock(&shim.lock);
    for (int i = 0; i < FN_COUNT; i++)
        if (!name || !strcmp(calls[i].name, name))
            n += shim.calls[i];
    pthread_mutex_unlock(&shim.lock);
    return n;
}

void
kilnhip_fail(const char *name, int error)
{
    pthread_mutex_lock(&shim.lock);
    shim.fail_call = name ? call_index(name) : -1;
    shim.fail_with = error;
    pthread_mutex_unlock(&shim.lock);
}

/* ---- errors ------------------------------------------------------------- */

const char *
hipGetErrorName(int e)
{
    switch (e) {
#define X(id, value) case value: return #id;
        KN_HIP_ERRORS(X)
#undef X
    default:
        return "hipErrorUnknown";
    }
}

const char *
hipGetErrorString(int e)
{
    return hipGetErrorName(e);
}

int
hipGetLastError(void)
{
    int e = last_error;

    last_error = 0;
    return e;
}

int
hipPeekAtLastError(void)
{
    return last_error;
}
