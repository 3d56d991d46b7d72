/* stream.c - streams, their capture, events. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hip_api.h"
#include "shim.h"

struct event {
    struct timespec at;
    bool recorded;
    uint64_t capture;        /* number of the one it was recorded in, or 0 */
};

static int
create_stream(void **out, unsigned flags, int priority)
{
    struct stream *q;

    if (flags > 1)
        return KN_hipErrorInvalidValue;
    q = calloc(1, sizeof *q);
    if (q)
        *q = (struct stream){ .next = shim_state()->streams, .flags = flags,
                              .priority = priority };
    if (q)
        shim_state()->streams = q;
    *out = q;
    return q ? 0 : KN_hipErrorOutOfMemory;
}

int
hipStreamCreate(void **out)
{
    int e = enter_for(FN_hipStreamCreate, out);

    return leave(e ? e : create_stream(out, 0, 0));
}

int
hipStreamCreateWithFlags(void **out, unsigned flags)
{
    int e = enter_for(FN_hipStreamCreateWithFlags, out);

    return leave(e ? e : create_stream(out, flags, 0));
}

int
hipStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    int e = enter_for(FN_hipStreamCreateWithPriority, out);

    return leave(e ? e : create_stream(out, flags, priority));
}

int
hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    int e = enter(FN_hipDeviceGetStreamPriorityRange);

    if (least)
        *least = 1;
    if (greatest)
        *greatest = -1;
    return leave(e);
}

int
hipStreamGetFlags(void *stream, unsigned *flags)
{
    int e = enter_for(FN_hipStreamGetFlags, flags);
    const struct stream *q = stream;

    if (!e)
        *flags = q ? q->flags : 0;
    return leave(e);
}

int
hipStreamGetPriority(void *stream, int *priority)
{
    int e = enter_for(FN_hipStreamGetPriority, priority);
    const struct stream *q = stream;

    if (!e)
        *priority = q ? q->priority : 0;
    return leave(e);
}

/* All streams that are in it. */
static void
end_capture(struct shim *s, uint64_t capture)
{
    for (struct stream *q = s->streams; q; q = q->next)
        if (q->capturing && q->capture == capture) {
            q->capturing = q->began = false;
            q->graph = NULL;
        }
}

int
hipStreamDestroy(void *stream)
{
    int e = enter(FN_hipStreamDestroy);
    struct shim *s = shim_state();
    struct stream *q = stream, **p = &s->streams;

    while (!e && *p && *p != q)
        p = &(*p)->next;
    if (!e && !*p)
        e = KN_hipErrorInvalidHandle;
    if (!e) {
        *p = q->next;
        free(q);
    }
    return leave(e);
}

int
hipStreamSynchronize(void *stream)
{
    (void)stream;            /* work is done when it is enqueued */
    return leave(enter(FN_hipStreamSynchronize));
}

int
hipStreamQuery(void *stream)
{
    (void)stream;
    return leave(enter(FN_hipStreamQuery));
}

/* The stream where a capture that is under way began. */
static const struct stream *
capture_of(uint64_t capture)
{
    const struct stream *q = shim_state()->streams;

    while (q && !(capture && q->began && q->capture == capture))
        q = q->next;
    return q;
}

/* A stream that waits for an event of a capture joins it. Operations are in
 * the graph in the order of their calls, which keeps every dependency. */
int
hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    int e = enter(FN_hipStreamWaitEvent);
    struct stream *q = stream;
    const struct event *v = event;
    const struct stream *from = e || !v ? NULL : capture_of(v->capture);

    (void)flags;
    if (q && from && !q->capturing) {
        q->capture = from->capture;
        q->graph = from->graph;
        q->capturing = true;
    }
    return leave(e);
}

/* hipStreamAddCallback's takes stream and status too. */
struct callback {
    void (*call)(void *stream, int status, void *user);
    void *stream, *user;
};

static void
call_back(void *p)
{
    const struct callback *c = p;

    c->call(c->stream, 0, c->user);
}

int
hipStreamAddCallback(void *stream, void (*call)(void *, int, void *),
                     void *user, unsigned flags)
{
    int e = enter(FN_hipStreamAddCallback);
    struct callback c = { call, stream, user };

    if (!e && (!call || flags))
        e = KN_hipErrorInvalidValue;
    e = leave(e);
    if (!e)
        call_back(&c);
    return e;
}

int
hipLaunchHostFunc(void *stream, void (*call)(void *), void *user)
{
    int e = enter(FN_hipLaunchHostFunc);
    struct stream *q = stream;
    struct node n = { .kind = NODE_CALL, .call = call, .user = user };
    bool now = !q || !q->capturing;

    if (!e && !call)
        e = KN_hipErrorInvalidValue;
    if (!e && !now)
        e = record_node(q->graph, &n, NULL);
    e = leave(e);
    if (!e && now)
        call(user);
    return e;
}

/* ---- capture ------------------------------------------------------------ */

int
hipStreamBeginCapture(void *stream, int mode)
{
    int e = enter(FN_hipStreamBeginCapture);
    struct shim *s = shim_state();
    struct stream *q = stream;

    if (!e && (!q || q->capturing || mode < 0 || mode > 2))
        e = KN_hipErrorInvalidValue;
    if (!e) {
        q->graph = new_graph();
        e = q->graph ? 0 : KN_hipErrorOutOfMemory;
    }
    if (!e) {
        if (!s->capturing++)
            s->broken = false;
        q->capture = ++s->captures;
        q->capturing = q->began = true;
    }
    return leave(e);
}

int
hipStreamEndCapture(void *stream, void **graph)
{
    int e = enter_for(FN_hipStreamEndCapture, graph);
    struct stream *q = stream;
    struct shim *s = shim_state();

    if (graph)
        *graph = NULL;
    if (!e && (!q || !q->began))
        e = KN_hipErrorInvalidValue;
    if (!e) {
        if (s->broken) {
            free_graph(q->graph);
            e = KN_hipErrorStreamCaptureInvalidated;
        } else {
            *graph = q->graph;
        }
        s->capturing--;
        end_capture(s, q->capture);
    }
    return leave(e);
}

int
hipStreamIsCapturing(void *stream, int *status)
{
    int e = enter_for(FN_hipStreamIsCapturing, status);
    struct stream *q = stream;

    if (status)
        *status = q && q->capturing ? shim_state()->broken ? 2 : 1 : 0;
    return leave(e);
}

/* ---- events: host time ---------------------------------------------------- */

static int
create_event(void **out)
{
    *out = calloc(1, sizeof(struct event));
    return *out ? 0 : KN_hipErrorOutOfMemory;
}

int
hipEventCreate(void **out)
{
    int e = enter_for(FN_hipEventCreate, out);

    return leave(e ? e : create_event(out));
}

int
hipEventCreateWithFlags(void **out, unsigned flags)
{
    int e = enter_for(FN_hipEventCreateWithFlags, out);

    (void)flags;
    return leave(e ? e : create_event(out));
}

int
hipEventRecord(void *event, void *stream)
{
    int e = enter(FN_hipEventRecord);
    struct event *v = event;
    struct stream *q = stream;

    if (!e && !v)
        e = KN_hipErrorInvalidHandle;
    if (!e) {
        v->capture = q && q->capturing ? q->capture : 0;
        clock_gettime(CLOCK_MONOTONIC, &v->at);
        v->recorded = true;
    }
    return leave(e);
}

int
hipEventSynchronize(void *event)
{
    int e = enter(FN_hipEventSynchronize);

    return leave(e ? e : event ? 0 : KN_hipErrorInvalidHandle);
}

int
hipEventQuery(void *event)
{
    int e = enter(FN_hipEventQuery);

    return leave(e ? e : event ? 0 : KN_hipErrorInvalidHandle);
}

int
hipEventElapsedTime(float *ms, void *start, void *stop)
{
    int e = enter_for(FN_hipEventElapsedTime, ms);
    const struct event *a = start, *b = stop;

    if (!e && (!a || !b || !a->recorded || !b->recorded))
        e = KN_hipErrorInvalidHandle;
    if (!e)
        *ms = (float)((double)(b->at.tv_sec - a->at.tv_sec) * 1e3 +
                      (double)(b->at.tv_nsec - a->at.tv_nsec) / 1e6);
    return leave(e);
}

int
hipEventDestroy(void *event)
{
    int e = enter(FN_hipEventDestroy);

    free(event);
    return leave(e);
}
