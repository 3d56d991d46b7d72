/* stream.c - streams, events, and graphs captured from a stream. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hip_api.h"
#include "shim.h"

/* The nodes of one stream in order. */
static void
free_graph(struct graph *g)
{
    while (g && g->first) {
        struct node *n = g->first;

        g->first = n->next;
        if (n->kind == NODE_LAUNCH)
            free_launch(&n->launch);
        free(n);
    }
    free(g);
}

int
record_node(struct stream *q, const struct node *node)
{
    struct node *n = malloc(sizeof *n);

    if (!n)
        return KN_hipErrorOutOfMemory;
    *n = *node;
    n->next = NULL;
    *q->graph->last = n;
    q->graph->last = &n->next;
    return 0;
}

static struct graph *
new_graph(void)
{
    struct graph *g = calloc(1, sizeof *g);

    if (g)
        g->last = &g->first;
    return g;
}

static int
create_stream(void **out)
{
    *out = calloc(1, sizeof(struct stream));
    return *out ? 0 : KN_hipErrorOutOfMemory;
}

int
hipStreamCreate(void **out)
{
    int e = enter_for(FN_hipStreamCreate, out);

    return leave(e ? e : create_stream(out));
}

int
hipStreamCreateWithFlags(void **out, unsigned flags)
{
    int e = enter_for(FN_hipStreamCreateWithFlags, out);

    return leave(e ? e : flags > 1 ? KN_hipErrorInvalidValue
                                   : create_stream(out));
}

int
hipStreamDestroy(void *stream)
{
    int e = enter(FN_hipStreamDestroy);
    struct stream *q = stream;

    if (!e && !q)
        e = KN_hipErrorInvalidHandle;
    if (!e) {
        free_graph(q->graph);
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

int
hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return leave(enter(FN_hipStreamWaitEvent));
}

/* ---- capture ------------------------------------------------------------ */

int
hipStreamBeginCapture(void *stream, int mode)
{
    int e = enter(FN_hipStreamBeginCapture);
    struct stream *q = stream;

    if (!e && (!q || q->capturing || mode < 0 || mode > 2))
        e = KN_hipErrorInvalidValue;
    if (!e) {
        q->graph = new_graph();
        e = q->graph ? 0 : KN_hipErrorOutOfMemory;
    }
    if (!e) {
        if (!shim_state()->capturing++)
            shim_state()->broken = false;
        q->capturing = true;
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
    if (!e && (!q || !q->capturing))
        e = KN_hipErrorInvalidValue;
    if (!e) {
        q->capturing = false;
        s->capturing--;
        if (s->broken) {
            free_graph(q->graph);
            e = KN_hipErrorStreamCaptureInvalidated;
        } else {
            *graph = q->graph;
        }
        q->graph = NULL;
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

/* An executable graph is a copy: the graph may be destroyed before it. */
static int
copy_graph(const struct graph *g, struct graph **out)
{
    struct stream q = { .graph = new_graph() };
    int e = q.graph ? 0 : KN_hipErrorOutOfMemory;

    for (const struct node *n = g->first; n && !e; n = n->next) {
        struct node copy = *n;

        if (n->kind == NODE_LAUNCH && n->launch.kernarg_size) {
            copy.launch.kernarg = malloc(n->launch.kernarg_size);
            if (!copy.launch.kernarg) {
                e = KN_hipErrorOutOfMemory;
                break;
            }
            memcpy(copy.launch.kernarg, n->launch.kernarg,
                   n->launch.kernarg_size);
        }
        e = record_node(&q, &copy);
    }
    if (e)
        free_graph(q.graph);
    else
        *out = q.graph;
    return e;
}

int
hipGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t n)
{
    int e = enter_for(FN_hipGraphInstantiate, exec);
    struct graph *copy = NULL;

    if (node)
        *node = NULL;
    if (log && n)
        log[0] = '\0';
    if (!e && !graph)
        e = KN_hipErrorInvalidValue;
    if (!e)
        e = copy_graph(graph, &copy);
    if (exec)
        *exec = copy;
    return leave(e);
}

static int
run_node(struct shim *s, const struct node *n)
{
    switch (n->kind) {
    case NODE_LAUNCH:
        return run_launch(s, &n->launch);
    case NODE_COPY:
        return copy_memory(s, n->dst, n->src, n->n);
    case NODE_SET:
        return set_memory(s, n->dst, n->value, n->n);
    }
    return KN_hipErrorInvalidValue;
}

int
hipGraphLaunch(void *exec, void *stream)
{
    int e = enter(FN_hipGraphLaunch);
    struct graph *g = exec;

    (void)stream;
    if (!e && !g)
        e = KN_hipErrorInvalidValue;
    for (const struct node *n = e ? NULL : g->first; n && !e; n = n->next)
        e = run_node(shim_state(), n);
    return leave(e);
}

int
hipGraphDestroy(void *graph)
{
    int e = enter(FN_hipGraphDestroy);

    free_graph(graph);
    return leave(e);
}

int
hipGraphExecDestroy(void *exec)
{
    int e = enter(FN_hipGraphExecDestroy);

    free_graph(exec);
    return leave(e);
}

/* ---- events: host time ---------------------------------------------------- */

struct event {
    struct timespec at;
    bool recorded;
};

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

    (void)stream;
    if (!e && !v)
        e = KN_hipErrorInvalidHandle;
    if (!e) {
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
