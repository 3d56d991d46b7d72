/* fake_comgr.c - a libamd_comgr that records what it is asked. Built once per
 * MAJOR version; only the link action of that version works, and its result
 * names the ISA it was given. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct handle {
    uint64_t h;
};
struct data {
    int kind;
    size_t n;
    char *p;
};

static int last_action;
static char last_isa[64];
static struct data inputs[4], output;
static int ninputs, live;

EXPORT int fake_action(void);
EXPORT int fake_live(void);
int fake_action(void) { return last_action; }
int fake_live(void) { return live; }

#define F(name) EXPORT int amd_comgr_##name
EXPORT void amd_comgr_get_version(size_t *major, size_t *minor);
void
amd_comgr_get_version(size_t *major, size_t *minor)
{
    *major = MAJOR;
    *minor = 1;
}

F(status_string)(int s, const char **t);
int
amd_comgr_status_string(int s, const char **t)
{
    *t = s ? "FAKE_ERROR" : "SUCCESS";
    return 0;
}

static const char *const isas[] = {
    "amdgcn-amd-amdhsa--gfx90a", "amdgcn-amd-amdhsa--gfx950",
};

F(get_isa_count)(size_t *n);
int
amd_comgr_get_isa_count(size_t *n)
{
    *n = MAJOR >= 3 ? 2 : 1;
    return 0;
}

F(get_isa_name)(size_t i, const char **s);
int
amd_comgr_get_isa_name(size_t i, const char **s)
{
    *s = isas[i];
    return 0;
}

F(create_data)(int kind, struct handle *d);
int
amd_comgr_create_data(int kind, struct handle *d)
{
    struct data *x = &inputs[ninputs++ % 4];

    live++;
    x->kind = kind;
    d->h = (uintptr_t)x;
    return 0;
}

F(release_data)(struct handle d);
int
amd_comgr_release_data(struct handle d)
{
    (void)d;
    live--;
    return 0;
}

F(set_data)(struct handle d, size_t n, const char *p);
int
amd_comgr_set_data(struct handle d, size_t n, const char *p)
{
    struct data *x = (struct data *)(uintptr_t)d.h;

    x->n = n;
    x->p = (char *)p;
    return 0;
}

F(set_data_name)(struct handle d, const char *name);
int
amd_comgr_set_data_name(struct handle d, const char *name)
{
    (void)d;
    (void)name;
    return 0;
}

F(get_data)(struct handle d, size_t *n, char *p);
int
amd_comgr_get_data(struct handle d, size_t *n, char *p)
{
    struct data *x = (struct data *)(uintptr_t)d.h;

    if (p)
        memcpy(p, x->p, *n);
    else
        *n = x->n;
    return 0;
}

F(create_data_set)(struct handle *d);
int
amd_comgr_create_data_set(struct handle *d)
{
    live++;
    d->h = 1;
    return 0;
}

F(destroy_data_set)(struct handle d);
int
amd_comgr_destroy_data_set(struct handle d)
{
    (void)d;
    live--;
    return 0;
}

F(data_set_add)(struct handle s, struct handle d);
int
amd_comgr_data_set_add(struct handle s, struct handle d)
{
    (void)s;
    return ((struct data *)(uintptr_t)d.h)->kind != 7;
}

F(create_action_info)(struct handle *d);
int
amd_comgr_create_action_info(struct handle *d)
{
    live++;
    d->h = 2;
    return 0;
}

F(destroy_action_info)(struct handle d);
int
amd_comgr_destroy_action_info(struct handle d)
{
    (void)d;
    live--;
    return 0;
}

F(action_info_set_isa_name)(struct handle d, const char *isa);
int
amd_comgr_action_info_set_isa_name(struct handle d, const char *isa)
{
    size_t n;

    (void)d;
    amd_comgr_get_isa_count(&n);
    strncpy(last_isa, isa, sizeof last_isa - 1);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(isas[i], isa))
            return 0;
    return 2;
}

F(action_info_set_logging)(struct handle d, bool on);
int
amd_comgr_action_info_set_logging(struct handle d, bool on)
{
    (void)d;
    return !on;
}

F(do_action)(int a, struct handle i, struct handle in, struct handle out);
int
amd_comgr_do_action(int a, struct handle i, struct handle in,
                    struct handle out)
{
    (void)i;
    (void)in;
    (void)out;
    last_action = a;
    output.p = a == (MAJOR >= 3 ? 7 : 9) ? last_isa : "lld: error: fake\n";
    output.kind = output.p == last_isa ? 8 : 5;
    output.n = strlen(output.p);
    return output.p != last_isa;
}

F(action_data_count)(struct handle s, int kind, size_t *n);
int
amd_comgr_action_data_count(struct handle s, int kind, size_t *n)
{
    (void)s;
    *n = kind == output.kind;
    return 0;
}

F(action_data_get_data)(struct handle s, int kind, size_t i,
                        struct handle *d);
int
amd_comgr_action_data_get_data(struct handle s, int kind, size_t i,
                               struct handle *d)
{
    (void)s;
    (void)i;
    live++;
    d->h = (uintptr_t)&output;
    return kind != output.kind;
}

F(get_data_isa_name)(struct handle d, size_t *n, char *p);
int
amd_comgr_get_data_isa_name(struct handle d, size_t *n, char *p)
{
    (void)d;
    *n = strlen(isas[1]) + 1;
    if (p)
        memcpy(p, isas[1], *n);
    return MAJOR < 3;
}

/* Present but never right: the queries below are tested on a real comgr. */
#define ABSENT(name) \
    F(name)(void); \
    int amd_comgr_##name(void) { return 1; }
ABSENT(get_data_metadata)
ABSENT(destroy_metadata)
ABSENT(get_metadata_kind)
ABSENT(get_metadata_string)
ABSENT(iterate_map_metadata)
ABSENT(get_metadata_list_size)
ABSENT(index_list_metadata)
ABSENT(iterate_symbols)
#ifndef INCOMPLETE
ABSENT(symbol_get_info)
#endif
