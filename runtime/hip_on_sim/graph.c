/* graph.c - graphs: captured, or built node by node, instantiated, launched.
 * An executable graph is a copy in an order that keeps every dependency. */
#include <stdlib.h>
#include <string.h>

#include "hip_api.h"
#include "shim.h"

struct graph *
new_graph(void)
{
    struct graph *g = calloc(1, sizeof *g);

    if (g)
        g->last = &g->first;
    return g;
}

void
free_graph(struct graph *g)
{
    while (g && g->first) {
        struct node *n = g->first;

        g->first = n->next;
        free_launch(&n->launch);
        free(n->after);
        free(n);
    }
    free(g);
}

int
record_node(struct graph *g, const struct node *node, struct node **out)
{
    struct node *n = malloc(sizeof *n);

    if (!n)
        return KN_hipErrorOutOfMemory;
    *n = *node;
    n->next = NULL;
    *g->last = n;
    g->last = &n->next;
    if (out)
        *out = n;
    return 0;
}

int
run_node(struct shim *s, const struct node *n)
{
    switch (n->kind) {
    case NODE_LAUNCH:
        return run_launch(s, &n->launch);
    case NODE_COPY:
        return copy_rows(s, n->dst, n->src, n->rows);
    case NODE_SET:
        return set_rows(s, n);
    case NODE_CALL:
        n->call(n->user);
        return 0;
    case NODE_EMPTY:
        return 0;
    }
    return KN_hipErrorInvalidValue;
}

/* ---- instantiation -------------------------------------------------------- */

static int
copy_node(struct graph *g, struct node *n)
{
    struct node copy = *n;
    int e;

    copy.after = NULL;
    copy.nafter = 0;
    if (n->launch.kernarg) {
        size_t size = n->launch.kernarg_size;

        copy.launch.kernarg = malloc(size ? size : 1);
        if (!copy.launch.kernarg)
            return KN_hipErrorOutOfMemory;
        memcpy(copy.launch.kernarg, n->launch.kernarg, size);
    }
    e = record_node(g, &copy, &n->copy);
    if (e)
        free_launch(&copy.launch);
    return e;
}

static bool
is_ready(const struct node *n)
{
    for (size_t k = 0; k < n->nafter; k++)
        if (!n->after[k]->copy)
            return false;
    return true;
}

/* Each round copies the nodes whose dependencies are copied; a round without
 * one leaves a circle. */
static int
order_nodes(struct graph *from, struct graph *to)
{
    bool left = true, moved = true;

    for (struct node *n = from->first; n; n = n->next)
        n->copy = NULL;
    while (left && moved) {
        left = moved = false;
        for (struct node *n = from->first; n; n = n->next) {
            int e = 0;

            if (n->copy)
                continue;
            left = true;
            if (!is_ready(n))
                continue;
            e = copy_node(to, n);
            if (e)
                return e;
            moved = true;
        }
    }
    return left ? KN_hipErrorInvalidValue : 0;
}

static int
instantiate(void **exec, struct graph *graph)
{
    struct graph *g = graph ? new_graph() : NULL;
    int e = !graph ? KN_hipErrorInvalidValue
            : g ? order_nodes(graph, g) : KN_hipErrorOutOfMemory;

    if (e)
        free_graph(g);
    else
        *exec = g;
    return e;
}

int
hipGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t n)
{
    int e = enter_for(FN_hipGraphInstantiate, exec);

    if (exec)
        *exec = NULL;
    if (node)
        *node = NULL;
    if (log && n)
        log[0] = '\0';
    return leave(e ? e : instantiate(exec, graph));
}

int
hipGraphInstantiateWithFlags(void **exec, void *graph,
                             unsigned long long flags)
{
    int e = enter_for(FN_hipGraphInstantiateWithFlags, exec);

    (void)flags;
    if (exec)
        *exec = NULL;
    return leave(e ? e : instantiate(exec, graph));
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

/* ---- node by node --------------------------------------------------------- */

int
hipGraphCreate(void **out, unsigned flags)
{
    int e = enter_for(FN_hipGraphCreate, out);

    if (!e && flags)
        e = KN_hipErrorInvalidValue;
    if (!e) {
        *out = new_graph();
        e = *out ? 0 : KN_hipErrorOutOfMemory;
    }
    return leave(e);
}

static int
depend(struct node *n, struct node *const *on, size_t count)
{
    struct node **all;

    if (!count)
        return 0;
    if (!on)
        return KN_hipErrorInvalidValue;
    all = realloc(n->after, (n->nafter + count) * sizeof *all);
    if (!all)
        return KN_hipErrorOutOfMemory;
    memcpy(all + n->nafter, on, count * sizeof *all);
    n->after = all;
    n->nafter += count;
    return 0;
}

struct dependencies {
    void *const *on;
    size_t n;
};

static int
add_node(void **out, struct graph *g, struct dependencies d,
         const struct node *n)
{
    struct node *added;
    int e;

    if (!g || !out)
        return KN_hipErrorInvalidValue;
    e = record_node(g, n, &added);
    if (e)
        return e;
    *out = added;
    return depend(added, (struct node *const *)d.on, d.n);
}

int
hipGraphAddEmptyNode(void **out, void *graph, void *const *on, size_t n)
{
    int e = enter_for(FN_hipGraphAddEmptyNode, out);
    struct node node = { .kind = NODE_EMPTY };

    return leave(e ? e : add_node(out, graph, (struct dependencies){ on, n },
                                  &node));
}

int
hipGraphAddHostNode(void **out, void *graph, void *const *on, size_t n,
                    const void *params)
{
    int e = enter_for(FN_hipGraphAddHostNode, params ? out : NULL);
    const struct {           /* hipHostNodeParams */
        void (*call)(void *);
        void *user;
    } *p = params;
    struct node node = { .kind = NODE_CALL };

    if (!e) {
        node.call = p->call;
        node.user = p->user;
        e = add_node(out, graph, (struct dependencies){ on, n }, &node);
    }
    return leave(e);
}

int
hipGraphAddMemsetNode(void **out, void *graph, void *const *on, size_t n,
                      const void *params)
{
    int e = enter_for(FN_hipGraphAddMemsetNode, params ? out : NULL);
    const struct {           /* hipMemsetParams */
        void *dst;
        unsigned element;
        size_t height, pitch;
        unsigned value;
        size_t width;
    } *p = params;

    if (!e && p->element != 1 && p->element != 2 && p->element != 4)
        e = KN_hipErrorInvalidValue;
    if (!e) {
        struct node node = {
            .kind = NODE_SET, .dst = p->dst, .value = p->value,
            .element = p->element,
            .rows = { .dpitch = p->pitch, .width = p->width * p->element,
                      .height = p->height ? p->height : 1 } };

        e = add_node(out, graph, (struct dependencies){ on, n }, &node);
    }
    return leave(e);
}

int
hipGraphAddMemcpyNode1D(void **out, void *graph, void *const *on, size_t n,
                        void *dst, const void *src, size_t bytes, int kind)
{
    int e = enter_for(FN_hipGraphAddMemcpyNode1D, out);
    struct node node = { .kind = NODE_COPY, .dst = dst, .src = src,
                         .rows = { .width = bytes, .height = 1 } };

    (void)kind;              /* the addresses decide */
    return leave(e ? e : add_node(out, graph, (struct dependencies){ on, n },
                                  &node));
}

int
hipGraphAddMemcpyNode(void **out, void *graph, void *const *on, size_t n,
                      const void *params)
{
    int e = enter_for(FN_hipGraphAddMemcpyNode, params ? out : NULL);
    struct node node;

    if (!e)
        e = volume_node(params, &node);
    return leave(e ? e : add_node(out, graph, (struct dependencies){ on, n },
                                  &node));
}

/* The function is a host stub, or a handle of hipModuleGetFunction. */
static int
launch_of(struct shim *s, const void *params, struct launch *l)
{
    const struct {           /* hipKernelNodeParams */
        struct kn_dim3 block;
        void **extra;
        void *function;
        struct kn_dim3 grid;
        void **args;
        unsigned lds;
    } *p = params;
    int e = registered_function(s, p->function, &l->f);

    if (e == KN_hipErrorInvalidDeviceFunction && p->function) {
        l->f = p->function;
        e = 0;
    }
    if (e)
        return e;
    l->grid[0] = p->grid.x;
    l->grid[1] = p->grid.y;
    l->grid[2] = p->grid.z;
    l->block[0] = p->block.x;
    l->block[1] = p->block.y;
    l->block[2] = p->block.z;
    l->lds = p->lds;
    return make_launch(l, p->args, p->extra);
}

int
hipGraphAddKernelNode(void **out, void *graph, void *const *on, size_t n,
                      const void *params)
{
    int e = enter_for(FN_hipGraphAddKernelNode, params ? out : NULL);
    struct node node = { .kind = NODE_LAUNCH };

    if (!e)
        e = launch_of(shim_state(), params, &node.launch);
    if (!e)
        e = add_node(out, graph, (struct dependencies){ on, n }, &node);
    else
        free_launch(&node.launch);
    return leave(e);
}

int
hipGraphAddDependencies(void *graph, void *const *from, void *const *to,
                        size_t n)
{
    int e = enter(FN_hipGraphAddDependencies);

    if (!e && (!graph || (n && (!from || !to))))
        e = KN_hipErrorInvalidValue;
    for (size_t k = 0; k < n && !e; k++)
        e = to[k] && from[k]
                ? depend(to[k], (struct node *const *)&from[k], 1)
                : KN_hipErrorInvalidValue;
    return leave(e);
}

int
hipGraphGetNodes(void *graph, void **nodes, size_t *n)
{
    int e = enter_for(FN_hipGraphGetNodes, graph ? n : NULL);
    const struct graph *g = graph;
    size_t k = 0;

    for (struct node *x = e ? NULL : g->first; x; x = x->next) {
        if (nodes && k < *n)
            nodes[k] = x;
        k++;
    }
    if (!e && (!nodes || k < *n))
        *n = k;
    return leave(e);
}

int
hipGraphNodeGetType(void *node, int *type)
{
    int e = enter_for(FN_hipGraphNodeGetType, node ? type : NULL);

    if (!e)
        *type = (int)((struct node *)node)->kind;
    return leave(e);
}
