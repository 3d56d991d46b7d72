/* comgr.c - libamd_comgr by dlopen. Handles are 64-bit values in a struct;
 * data kinds, metadata kinds, symbol infos and status codes are the same in
 * 2.x and 3.x, action numbers are not (amd_comgr.h of ROCm 5.2 and 7.0). */
#include "comgr.h"
#include "../ir/lock.h"
#include "shared.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

enum {
    DATA_LOG = 5, DATA_RELOCATABLE = 7, DATA_EXECUTABLE = 8, DATA_FATBIN = 16,
};
enum { META_STRING = 1, META_MAP = 2, META_LIST = 3 };
enum { SYM_NAME_LENGTH, SYM_NAME, SYM_TYPE, SYM_SIZE, SYM_UNDEF, SYM_VALUE };
enum { MAX_DEPTH = 8, MAX_PATH = 512 };

struct handle {
    uint64_t h;
};

/* amd_comgr_code_object_info_t */
struct object_info {
    const char *isa;
    size_t size;
    uint64_t offset;
};

struct kn_comgr {
    void *so;
    struct kn_comgr_version version;
    const char *isa[KILN_NTARGETS]; /* as comgr spells it, NULL: unknown */
    int (*lookup_code_object)(struct handle, struct object_info *, size_t);
#define X(name, ret, args) ret (*name) args;
#include "comgr.def"
#undef X
};

/* kn_alloc must not jump over comgr's frames, handles or the lock. */
static void *
try_alloc(struct kn_ctx *c, size_t n, size_t size)
{
    jmp_buf *outer = c->oom, here;
    void *p;

    c->oom = &here;
    if (setjmp(here)) {
        c->oom = outer;
        return NULL;
    }
    p = kn_alloc(c, n, size);
    c->oom = outer;
    return p;
}

static kiln_status
load_functions(struct kn_ctx *c, struct kn_comgr *g)
{
    static const struct kn_shared_function table[] = {
#define X(name, ret, args) \
        { "amd_comgr_" #name, offsetof(struct kn_comgr, name) },
#include "comgr.def"
#undef X
    };
    const char *lacks = kn_shared_functions(g->so, table, sizeof table / sizeof *table, g);
    void *look;

    if (lacks)
        return kn_fail(c, KILN_UNSUPPORTED, "libamd_comgr has no function %s", lacks);
    look = dlsym(g->so, "amd_comgr_lookup_code_object"); /* since 2.3 */
    memcpy(&g->lookup_code_object, &look, sizeof look);
    return KILN_OK;
}

static void
target_isa(kiln_target t, char *buf, size_t n)
{
    snprintf(buf, n, "amdgcn-amd-amdhsa--%s", kiln_target_name(t));
}

static void
probe_targets(struct kn_comgr *g)
{
    size_t n = 0;

    g->get_isa_count(&n);
    for (size_t i = 0; i < n; i++) {
        const char *isa;
        char want[64];

        if (g->get_isa_name(i, &isa))
            continue;
        for (int t = 1; t < KILN_NTARGETS; t++) {
            target_isa(t, want, sizeof want);
            if (!strcmp(isa, want))
                g->isa[t] = isa;
        }
    }
}

/* Never unloaded: comgr leaves its options registered in a libLLVM that
 * stays, and loading it a second time then aborts the process. */
static void *
open_library(const char *path)
{
    static const char *const names[] = {
        "libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so",
    };

    return kn_shared_open(path, names, sizeof names / sizeof *names);
}

kiln_status
kn_comgr_open(struct kn_ctx *c, const char *path, struct kn_comgr **out)
{
    struct kn_comgr *g = KN_NEW(c, struct kn_comgr, 1);
    size_t major = 0, minor = 0;

    g->so = open_library(path);
    if (!g->so)
        return kn_fail(c, KILN_UNSUPPORTED, "no libamd_comgr: %s",
                       dlerror());
    KN_TRY(load_functions(c, g));
    g->get_version(&major, &minor);
    g->version = (struct kn_comgr_version){ (unsigned)major,
                                            (unsigned)minor };
    probe_targets(g);
    *out = g;
    return KILN_OK;
}

struct kn_comgr_version
kn_comgr_version(const struct kn_comgr *g)
{
    return g->version;
}

bool
kn_comgr_knows(const struct kn_comgr *g, kiln_target t)
{
    return kn_comgr_target(g, t) != NULL;
}

const char *
kn_comgr_target(const struct kn_comgr *g, kiln_target t)
{
    return kn_is_target(t) ? g->isa[t] : NULL;
}

int
kn_comgr_link_action(unsigned major)
{
    static const int action[] = { -1, -1, 9, 7 };

    return major < sizeof action / sizeof *action ? action[major] : -1;
}

static kiln_status
comgr_error(struct kn_comgr *g, struct kn_ctx *c, const char *what, int status)
{
    const char *text = "?";

    g->status_string(status, &text);
    return kn_fail(c, KILN_UNSUPPORTED, "comgr %u.%u cannot %s: %s",
                   g->version.major, g->version.minor, what, text);
}

static kiln_status
make_data(struct kn_comgr *g, struct kn_ctx *c, int kind,
          struct kn_bytes b, struct handle *d)
{
    int s = g->create_data(kind, d);

    if (s)
        return comgr_error(g, c, "hold data", s);
    s = g->set_data(*d, b.n, (const char *)b.p);
    if (!s)
        s = g->set_data_name(*d, kind == DATA_RELOCATABLE ? "kiln.o"
                                                          : "kiln.co");
    if (!s)
        return KILN_OK;
    g->release_data(*d);
    return comgr_error(g, c, "hold data", s);
}

/* First result of this kind, copied with a zero byte behind it; NULL when
 * there is none. */
static uint8_t *
copy_result(struct kn_comgr *g, struct kn_ctx *c, struct handle set, int kind,
            size_t *size)
{
    struct handle d;
    uint8_t *p = NULL;
    size_t n = 0;

    if (g->action_data_count(set, kind, &n) || !n ||
        g->action_data_get_data(set, kind, 0, &d))
        return NULL;
    if (!g->get_data(d, size, NULL) && (p = try_alloc(c, *size + 1, 1)) &&
        g->get_data(d, size, (char *)p))
        p = NULL;
    g->release_data(d);
    return p;
}

/* One line of a log for an error sentence. */
static void
shorten_log(char *log)
{
    char *end = log + strlen(log);

    while (end > log && (end[-1] == '\n' || end[-1] == ' '))
        *--end = 0;
    for (char *p = log; *p; p++)
        if (*p == '\n')
            *p = ' ';
    if (end - log > 140)
        log[140] = 0;
}

struct link {
    struct handle in, out, info, data;
    int action;
    const char *isa;
};

/* Under the lock, with all handles of *l created. */
static kiln_status
run_link(struct kn_comgr *g, struct kn_ctx *c, const struct link *l,
         struct kn_bytes *out)
{
    int s = g->data_set_add(l->in, l->data);
    uint8_t *log;
    size_t size;

    if (!s)
        s = g->action_info_set_isa_name(l->info, l->isa);
    if (!s)
        s = g->action_info_set_logging(l->info, true);
    if (!s)
        s = g->do_action(l->action, l->info, l->in, l->out);
    out->p = s ? NULL : copy_result(g, c, l->out, DATA_EXECUTABLE, &out->n);
    if (out->p)
        return KILN_OK;
    if (c->err.status)
        return c->err.status;
    log = copy_result(g, c, l->out, DATA_LOG, &size);
    if (!log || !*log)
        return comgr_error(g, c, "link", s ? s : 1);
    shorten_log((char *)log);
    return kn_fail(c, KILN_UNSUPPORTED, "comgr %u.%u cannot link: %s",
                   g->version.major, g->version.minor, (char *)log);
}

static kiln_status
link_data(struct kn_comgr *g, struct kn_ctx *c, struct link *l,
          struct kn_bytes *out)
{
    kiln_status s = KILN_OK;
    int e = g->create_data_set(&l->in);

    if (e)
        return comgr_error(g, c, "make a data set", e);
    e = g->create_data_set(&l->out);
    if (e) {
        s = comgr_error(g, c, "make a data set", e);
    } else {
        e = g->create_action_info(&l->info);
        s = e ? comgr_error(g, c, "make an action", e)
              : run_link(g, c, l, out);
        if (!e)
            g->destroy_action_info(l->info);
        g->destroy_data_set(l->out);
    }
    g->destroy_data_set(l->in);
    return s;
}

kiln_status
kn_comgr_link(struct kn_comgr *g, struct kn_ctx *c, kiln_target t,
              struct kn_bytes rel, struct kn_bytes *out)
{
    struct link l = { .action = kn_comgr_link_action(g->version.major) };
    kiln_status s;

    if (l.action < 0)
        return kn_fail(c, KILN_UNSUPPORTED,
                       "comgr %u.%u: its action numbers are not known",
                       g->version.major, g->version.minor);
    /* The action wants an ISA it knows but links by the object's own flags:
     * comgr 2.4 links gfx950 objects under the name of gfx90a. */
    l.isa = kn_comgr_knows(g, t) ? kn_comgr_target(g, t)
                                 : "amdgcn-amd-amdhsa--gfx90a";
    KN_TRY(make_data(g, c, DATA_RELOCATABLE, rel, &l.data));
    kn_llvm_own();
    s = link_data(g, c, &l, out);
    kn_llvm_disown();
    g->release_data(l.data);
    return s;
}

/* Executable or relocatable, by the ELF header. */
static kiln_status
open_object(struct kn_comgr *g, struct kn_ctx *c, struct kn_bytes co,
            struct handle *d)
{
    Elf64_Ehdr h;

    if (co.n < sizeof h || memcmp(co.p, ELFMAG, SELFMAG))
        return kn_fail(c, KILN_BAD_INPUT, "comgr: not an ELF file");
    memcpy(&h, co.p, sizeof h);
    return make_data(g, c, h.e_type == ET_REL ? DATA_RELOCATABLE
                                              : DATA_EXECUTABLE,
                     co, d);
}

struct symbol_walk {
    struct kn_comgr *g;
    struct kn_ctx *c;
    struct kn_comgr_symbol *sym;
    size_t n, cap;
};

static int
count_symbol(struct handle y, void *user)
{
    (void)y;
    ((struct symbol_walk *)user)->cap++;
    return 0;
}

static int
take_symbol(struct handle y, void *user)
{
    struct symbol_walk *w = user;
    struct kn_comgr *g = w->g;
    struct kn_comgr_symbol *s = &w->sym[w->n];
    uint64_t len = 0;
    char *name;

    if (w->n == w->cap || g->symbol_get_info(y, SYM_NAME_LENGTH, &len))
        return 1;
    name = try_alloc(w->c, len + 1, 1);
    if (!name || g->symbol_get_info(y, SYM_NAME, name) ||
        g->symbol_get_info(y, SYM_TYPE, &s->type) ||
        g->symbol_get_info(y, SYM_SIZE, &s->size) ||
        g->symbol_get_info(y, SYM_VALUE, &s->value))
        return 1;
    s->name = name;
    w->n++;
    return 0;
}

kiln_status
kn_comgr_symbols(struct kn_comgr *g, struct kn_ctx *c, struct kn_bytes co,
                 struct kn_comgr_symbols *out)
{
    struct symbol_walk w = { .g = g, .c = c };
    struct handle d;
    int s;

    KN_TRY(open_object(g, c, co, &d));
    s = g->iterate_symbols(d, count_symbol, &w);
    if (!s)
        w.sym = try_alloc(c, w.cap, sizeof *w.sym);
    if (!s && w.sym)
        s = g->iterate_symbols(d, take_symbol, &w);
    g->release_data(d);
    if (c->err.status)
        return c->err.status;
    if (s)
        return comgr_error(g, c, "list symbols", s);
    *out = (struct kn_comgr_symbols){ w.n, w.sym };
    return KILN_OK;
}

/* Where the walk over the metadata is, and the text so far. */
struct meta_walk {
    struct kn_comgr *g;
    struct kn_buf *b;
    char path[MAX_PATH];
    size_t n;                /* of path */
    int depth;
};

/* kn_put may jump: everything from comgr is copied by size first. */
static int
node_string(struct meta_walk *w, struct handle node, char **s)
{
    size_t n = 0;

    if (w->g->get_metadata_string(node, &n, NULL))
        return 1;
    *s = try_alloc(w->b->c, n + 1, 1);
    return !*s || w->g->get_metadata_string(node, &n, *s);
}

static bool
try_line(struct kn_buf *b, const char *path, const char *value)
{
    jmp_buf *outer = b->c->oom, here;

    b->c->oom = &here;
    if (setjmp(here)) {
        b->c->oom = outer;
        return false;
    }
    kn_putf(b, "%s = %s\n", path, value);
    b->c->oom = outer;
    return true;
}

static int walk_node(struct meta_walk *w, struct handle node);

static int
walk_below(struct meta_walk *w, struct handle node, const char *step)
{
    size_t n = w->n, len = strlen(step);
    int s;

    if (w->depth == MAX_DEPTH || n + len >= sizeof w->path)
        return 1;
    memcpy(w->path + n, step, len + 1);
    w->n += len;
    w->depth++;
    s = walk_node(w, node);
    w->depth--;
    w->n = n;
    w->path[n] = 0;
    return s;
}

static int
walk_entry(struct handle key, struct handle value, void *user)
{
    struct meta_walk *w = user;
    char *name;

    return node_string(w, key, &name) || walk_below(w, value, name);
}

static int
walk_list(struct meta_walk *w, struct handle node)
{
    size_t n = 0;

    if (w->g->get_metadata_list_size(node, &n))
        return 1;
    for (size_t i = 0; i < n; i++) {
        struct handle item;
        char step[32];
        int s;

        if (w->g->index_list_metadata(node, i, &item))
            return 1;
        snprintf(step, sizeof step, "[%zu]", i);
        s = walk_below(w, item, step);
        w->g->destroy_metadata(item);
        if (s)
            return s;
    }
    return 0;
}

static int
walk_node(struct meta_walk *w, struct handle node)
{
    char *s;
    int kind;

    if (w->g->get_metadata_kind(node, &kind))
        return 1;
    if (kind == META_MAP)
        return w->g->iterate_map_metadata(node, walk_entry, w);
    if (kind == META_LIST)
        return walk_list(w, node);
    return kind != META_STRING || node_string(w, node, &s) ||
           !try_line(w->b, w->path, s);
}

kiln_status
kn_comgr_metadata(struct kn_comgr *g, struct kn_ctx *c, struct kn_bytes co,
                  struct kn_buf *out)
{
    struct meta_walk w = { .g = g, .b = out };
    struct handle d, root;
    int s;

    KN_TRY(open_object(g, c, co, &d));
    s = g->get_data_metadata(d, &root);
    if (!s) {
        s = walk_node(&w, root);
        g->destroy_metadata(root);
    }
    g->release_data(d);
    if (c->err.status)
        return c->err.status;
    return s ? comgr_error(g, c, "read the metadata", s) : KILN_OK;
}

/* From e_flags: the machine byte (LLVM AMDGPUUsage). */
static const char *
isa_from_header(struct kn_ctx *c, struct kn_bytes co)
{
    kiln_target t;
    char *s = try_alloc(c, 64, 1);
    Elf64_Ehdr h;

    if (!s)
        return NULL;
    memcpy(&h, co.p, sizeof h);  /* open_object has looked at its size */
    t = kn_target_where(offsetof(struct kn_target_info, mach),
                        h.e_flags & 0xff);
    if (t)
        target_isa(t, s, 64);
    return s;
}

kiln_status
kn_comgr_isa_name(struct kn_comgr *g, struct kn_ctx *c, struct kn_bytes co,
                  struct kn_comgr_isa *out)
{
    struct handle d;
    size_t n = 0;
    char *s = NULL;

    KN_TRY(open_object(g, c, co, &d));
    if (!g->get_data_isa_name(d, &n, NULL)) {
        s = try_alloc(c, n + 1, 1);
        if (s && g->get_data_isa_name(d, &n, s))
            s = NULL;
    }
    g->release_data(d);
    out->by_flags = !s || !*s;
    out->name = out->by_flags ? isa_from_header(c, co) : s;
    return c->err.status;
}

/* comgr matches features too, and a device of CDNA has either. */
static const char *const features[] = {
    "", ":sramecc+:xnack-", ":sramecc+:xnack+",
};
enum { NFEATURES = sizeof features / sizeof *features };

bool
kn_comgr_picks(const struct kn_comgr *g, kiln_target t)
{
    return g->lookup_code_object && kn_comgr_knows(g, t);
}

kiln_status
kn_comgr_pick(struct kn_comgr *g, struct kn_ctx *c, kiln_target t,
              struct kn_bytes bundle, struct kn_bytes *out)
{
    struct object_info info[NFEATURES] = { 0 };
    struct kn_buf isa[NFEATURES];
    struct handle d;
    int s;

    if (!kn_comgr_picks(g, t))
        return kn_fail(c, KILN_UNSUPPORTED, "comgr %u.%u cannot look for code "
                       "of %s in an offload bundle", g->version.major,
                       g->version.minor, kiln_target_name(t));
    for (size_t i = 0; i < NFEATURES; i++) {
        isa[i] = (struct kn_buf){ .c = c };
        kn_putf(&isa[i], "%s%s", kn_comgr_target(g, t), features[i]);
        info[i].isa = isa[i].s;
    }
    KN_TRY(make_data(g, c, DATA_FATBIN, bundle, &d));
    s = g->lookup_code_object(d, info, NFEATURES);
    g->release_data(d);
    if (s)
        return comgr_error(g, c, "look into the offload bundle", s);
    *out = (struct kn_bytes){ NULL, 0 };
    for (size_t i = NFEATURES; i-- > 0;)
        if (info[i].size && info[i].offset <= bundle.n &&
            info[i].size <= bundle.n - info[i].offset)
            *out = (struct kn_bytes){ bundle.p + info[i].offset,
                                      info[i].size };
    return KILN_OK;
}
