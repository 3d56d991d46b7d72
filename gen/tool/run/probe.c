/* probe.c - probes.s as probes, and a probe as a code object. */
#include "probe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../emit/emit.h"
#include "../../../emit/isa/object.h"
#include "../../tuning/tuning.h"

enum { UNWRITTEN = 0xc7 };

extern const struct kn_text kn_probe_texts[];

/* ---- probes.s ----------------------------------------------------------- */

static void
read_in(struct kn_ctx *c, struct kn_probe *p, const char *text)
{
    if (!p->in)
        p->in = KN_NEW(c, uint32_t, KN_PROBE_IN);
    for (char *end; p->nin < KN_PROBE_IN; text = end) {
        uint32_t word = (uint32_t)strtoul(text, &end, 16);

        if (end == text)
            return;
        p->in[p->nin++] = word;
    }
}

static void
read_want(struct kn_probe *p, const char *text)
{
    struct kn_probe_want *w = &p->want[p->nwant];
    uint32_t *const to[] = { &w->first, &w->count, &w->base, &w->step };
    char *end = (char *)text;

    if (p->nwant == KN_PROBE_WANTS)
        return;
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        *to[i] = (uint32_t)strtoll(end, &end, 0);
    p->nwant++;
}

/* "TARGET|both FIRST WORD...". */
static void
read_words(struct kn_ctx *c, struct kn_probe *p, const char *text)
{
    size_t n = strcspn(text, " ");
    const char *own = kiln_target_name(p->target);
    char *end;

    if (strncmp(text, "both", n) != 0 &&
        (strlen(own) != n || strncmp(text, own, n) != 0))
        return;
    if (!p->word) {
        p->word = KN_NEW(c, uint32_t, p->out);
        p->told = KN_NEW(c, bool, p->out);
    }
    for (uint32_t i = (uint32_t)strtoul(text + n, &end, 10); i < p->out; i++) {
        const char *at = end;

        p->word[i] = (uint32_t)strtoul(at, &end, 16);
        p->told[i] = end != at;
        if (end == at)
            return;
    }
}

/* A line after `//:`, of the probe it describes. */
static void
read_key(struct kn_ctx *c, struct kn_probe *p, const char *key,
         const char *value)
{
    uint32_t *const number = !strcmp(key, "lds") ? &p->lds
                           : !strcmp(key, "groups") ? &p->groups
                           : !strcmp(key, "out") ? &p->out
                           : !strcmp(key, "shows") ? &p->shows : NULL;
    char *end = (char *)value;

    if (number)
        *number = (uint32_t)strtoul(value, &end, 0);
    if (number == &p->shows)
        p->what = kn_strdup(c, end + strspn(end, " "));
    if (!strcmp(key, "says"))
        p->says = kn_strdup(c, value);
    if (!strcmp(key, "zero"))
        p->fill = 0;
    if (!strcmp(key, "in"))
        read_in(c, p, value);
    if (!strcmp(key, "word"))
        read_words(c, p, value);
    if (!strcmp(key, "want"))
        read_want(p, value);
}

/* "NAME TARGET": false if it is another target's. */
static bool
begin(struct kn_ctx *c, struct kn_probe *p, kiln_target t, const char *value)
{
    size_t n = strcspn(value, " ");
    const char *target = value + n + strspn(value + n, " ");

    *p = (struct kn_probe){ .target = t, .groups = 1, .fill = UNWRITTEN,
                            .name = kn_strndup(c, value, n) };
    return !strcmp(target, "both") || !strcmp(target, kiln_target_name(t));
}

struct reading {
    struct kn_ctx *c;
    kiln_target target;
    struct kn_probes *out;
    struct kn_probe now;
    struct kn_buf body;
    bool wanted;
};

static void
finish(struct reading *r)
{
    r->now.body = r->body.s;
    if (r->wanted)
        r->out->p[r->out->n++] = r->now;
    r->body = (struct kn_buf){ .c = r->c };
    r->wanted = false;
}

static void
read_line(struct reading *r, const char *line)
{
    const char *mark = "//: ", *key = line + strlen(mark);
    size_t n;

    if (strncmp(line, mark, strlen(mark)) != 0) {
        kn_putf(&r->body, "%s\n", line);
        return;
    }
    n = strcspn(key, " ");
    if (!strncmp(key, "probe ", n + 1)) {
        finish(r);
        r->wanted = begin(r->c, &r->now, r->target, key + n + 1);
        return;
    }
    read_key(r->c, &r->now, kn_strndup(r->c, key, n),
             key[n] ? key + n + 1 : "");
}

size_t
kn_probes_most(void)
{
    size_t n = kn_probe_matrices_most();

    for (const char *s = kn_probe_texts->text; (s = strstr(s, "//: probe "));
         s++)
        n++;
    return n;
}

kiln_status
kn_probes_of(struct kn_ctx *c, kiln_target t, struct kn_probes *out)
{
    const char *text = kn_probe_texts->text;
    struct reading r = { .c = c, .target = t, .out = out };
    char *copy = kn_strdup(c, text), *save = NULL;

    *out = (struct kn_probes){ .p = KN_NEW(c, struct kn_probe,
                                                kn_probes_most()) };
    r.body.c = c;
    for (char *l = strtok_r(copy, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save))
        read_line(&r, l);
    finish(&r);
    kn_probe_matrices(c, t, out);
    return KILN_OK;
}

/* ---- the code object ---------------------------------------------------- */

static const char begins[] =
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
    "s_load_dwordx2 s[8:9], s[0:1], 0x10\n"
    "v_and_b32_e32 v0, 0x3ff, v0\n"
    "v_lshlrev_b32_e32 v1, 2, v0\n"
    "s_mov_b32 s15, 0x20000\n"
    "s_mov_b32 s19, 0x20000\n"
    "s_waitcnt lgkmcnt(0)\n"
    "s_mov_b32 s12, s4\n"
    "s_and_b32 s13, s5, 0xffff\n"
    "s_mov_b32 s14, s8\n"
    "s_mov_b32 s16, s6\n"
    "s_and_b32 s17, s7, 0xffff\n"
    "s_mov_b32 s18, s9\n";

static void
put_text(struct kn_buf *b, const struct kn_probe *p, const char *kernel)
{
    kn_putf(b, ".amdgcn_target \"amdgcn-amd-amdhsa--%s\"\n"
            ".amdhsa_code_object_version 5\n.text\n.globl %s\n.p2align 8\n"
            ".type %s,@function\n%s:\n", kiln_target_name(p->target), kernel,
            kernel, kernel);
    kn_put(b, begins);
    if (p->body)
        kn_put(b, p->body);
    else
        kn_probe_matrix_text(p, b);
    kn_putf(b, "s_endpgm\n.Lend:\n.size %s, .Lend-%s\n"
            ".rodata\n.p2align 6\n.amdhsa_kernel %s\n"
            ".amdhsa_next_free_vgpr 128\n.amdhsa_accum_offset 128\n"
            ".amdhsa_next_free_sgpr 96\n"
            ".amdhsa_group_segment_fixed_size %" PRIu32 "\n"
            ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            ".amdhsa_kernarg_size 24\n"
            ".amdhsa_system_sgpr_workgroup_id_x 1\n"
            ".amdhsa_system_vgpr_workitem_id 0\n"
            ".end_amdhsa_kernel\n", kernel, kernel, kernel, p->lds);
}

static void
put_metadata(struct kn_buf *b, const struct kn_probe *p, const char *kernel)
{
    kn_putf(b, ".amdgpu_metadata\n---\namdhsa.version: [ 1, 2 ]\n"
            "amdhsa.kernels:\n"
            "  - .name: %s\n    .symbol: %s.kd\n"
            "    .kernarg_segment_size: 24\n    .kernarg_segment_align: 8\n"
            "    .group_segment_fixed_size: %" PRIu32 "\n"
            "    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n"
            "    .sgpr_count: 96\n    .vgpr_count: 128\n"
            "    .max_flat_workgroup_size: 64\n"
            "    .args:\n"
            "      - {.size: 8, .offset: 0, .value_kind: by_value}\n"
            "      - {.size: 8, .offset: 8, .value_kind: by_value}\n"
            "      - {.size: 4, .offset: 16, .value_kind: by_value}\n"
            "      - {.size: 4, .offset: 20, .value_kind: by_value}\n"
            "...\n.end_amdgpu_metadata\n", kernel, kernel, p->lds);
}

static const char *
kernel_name(struct kn_ctx *c, const struct kn_probe *p)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "kiln_probe_%s", p->name);
    for (size_t i = 0; i < b.n; i++)
        if (strchr("- ,", b.s[i]))
            b.s[i] = '_';
    return b.s;
}

kiln_status
kn_probe_build(struct kn_ctx *c, const struct kn_probe *p, const char **kernel,
               struct kn_bytes *co)
{
    struct kn_buf text = { .c = c }, rel = { .c = c };
    uint8_t *linked;
    size_t size;

    *kernel = kernel_name(c, p);
    put_text(&text, p, *kernel);
    put_metadata(&text, p, *kernel);
    KN_TRY(kn_assemble_own(c, p->name, text.s, p->target, &rel));
    KN_TRY(kn_object_link(c, rel.s, rel.n, &linked, &size));
    *co = (struct kn_bytes){ linked, size };
    return KILN_OK;
}

void
kn_probe_input(const struct kn_probe *p, uint32_t word[KN_PROBE_IN])
{
    for (uint32_t i = 0; i < KN_PROBE_IN; i++)
        word[i] = p->nin ? p->in[i % p->nin] : i;
}

bool
kn_probe_is_wanted(const struct kn_probe *p, const uint32_t *word,
                   uint32_t *first)
{
    for (uint32_t i = 0; p->word && i < p->out; i++)
        if (p->told[i] && word[i] != p->word[i]) {
            *first = i;
            return false;
        }
    for (uint32_t k = 0; k < p->nwant; k++) {
        const struct kn_probe_want *w = &p->want[k];

        for (uint32_t i = 0; i < w->count; i++)
            if (word[w->first + i] != w->base + i * w->step) {
                *first = w->first + i;
                return false;
            }
    }
    return true;
}
