/* input.c - a code object, assembly text or a problem, decoded. */
#include "inspect.h"

#include <string.h>
#include <unistd.h>

#include "../../../emit/emit.h"
#include "../../../emit/prove/cert.h"
#include "../../../runtime/file.h"
#include "../../../runtime/isolate.h"
#include "../run/run.h"
#include "../run/moe.h"
#include "../progress.h"

static bool
has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return n >= k && !strcmp(s + n - k, suffix);
}

struct source {
    const char *name, *text;
    kiln_target target;
};

static kiln_status
assemble(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    const struct source *s = user;

    return kn_assemble(c, s->name, s->text, s->target, out);
}

/* LLVM's parser aborts on some text, never ends on other, and reads whatever
 * file the text names. */
static kiln_status
assemble_apart(struct kn_ctx *c, struct source *from, struct kn_bytes *out)
{
    struct kn_buf who = { .c = c };
    struct kn_cage cage = { .death = KILN_BAD_INPUT, .seconds = 4,
                            .memory = (uint64_t)1 << 30,
                            .written = (uint64_t)1 << 26 };

    kn_putf(&who, "%s: the assembler", from->name);
    cage.who = who.s;
    return kn_isolate_in(c, &cage, assemble, from, out);
}

static kiln_status
read_assembly(struct kn_tool *t, struct kn_subject *s)
{
    const char *text = (const char *)s->bytes;
    kiln_target target = kn_assembly_target(text);
    struct kn_bytes rel;

    if (strlen(text) != s->size)
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' is no text: it has zero "
                       "bytes", s->name);
    if (!strstr(text, ".amdhsa_kernel"))
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' describes no kernel: it "
                       "has no .amdhsa_kernel", s->name);
    if (!target)
        target = kn_cli_target(t->cli);
    if (!target)
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' has no .amdgcn_target line "
                       "for gfx942 or gfx950; name the target with --arch",
                       s->name);
    KN_TRY(assemble_apart(t->c, &(struct source){ s->name, text, target },
                          &rel));
    s->bytes = rel.p;
    s->size = rel.n;
    return KILN_OK;
}

/* The bundle's code for `want`, or for the one target of ours it has. */
static kiln_status
unbundle(struct kn_ctx *c, const char *path, kiln_target want,
         struct kn_bytes *file)
{
    struct kn_bytes in = *file;
    int found = 0;

    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++) {
        size_t n;
        const uint8_t *p = want && t != (int)want ? NULL
                         : kn_offload_find((kiln_target)t, in.p, in.n, &n);

        if (p)
            *file = (struct kn_bytes){ p, n };
        found += p != NULL;
    }
    if (found == 1)
        return KILN_OK;
    if (found)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' is an offload bundle with code "
                       "for several targets; choose one with --arch", path);
    return kn_fail(c, KILN_BAD_INPUT, "'%s' is an offload bundle without code "
                   "for %s", path, want ? kiln_target_name(want)
                                        : "a target that kiln knows");
}

kiln_status
kn_code_take(struct kn_ctx *c, const char *path, kiln_target want,
             struct kn_bytes *file)
{
    if (file->n >= 4 && !memcmp(file->p, "CCOB", 4))
        return kn_fail(c, KILN_UNSUPPORTED, "'%s' is a compressed offload "
                       "bundle; compile with --no-offload-compress", path);
    return kn_is_offload(file->p, file->n) ? unbundle(c, path, want, file)
                                           : KILN_OK;
}

kiln_status
kn_code_read(struct kn_ctx *c, const char *path, kiln_target want,
             struct kn_bytes *out)
{
    uint8_t *bytes;

    KN_TRY(kn_file_read(c, path, &bytes, &out->n));
    out->p = bytes;
    return kn_code_take(c, path, want, out);
}

static kiln_status
read_file(struct kn_tool *t, struct kn_subject *s)
{
    struct kn_bytes file;

    KN_TRY(kn_code_read(t->c, s->name, kn_cli_target(t->cli), &file));
    s->bytes = file.p;
    s->size = file.n;
    if (has_suffix(s->name, ".s"))
        return read_assembly(t, s);
    KN_TRY(kn_cert_beside(t->c, s->name, &s->cert));
    s->cert_size = s->cert ? strlen(s->cert) : 0;
    return KILN_OK;
}

kiln_status
kn_subject_problem(struct kn_tool *t, const struct kn_cli *from,
                   const char *word, kiln_problem *p, int64_t **offs)
{
    struct kn_cli cli = *from;
    kiln_target target = kn_cli_target(&cli);

    cli.pos = &word;
    *offs = NULL;
    if (!target)
        target = KN_TARGET_DEFAULT;
    KN_TRY(kn_cli_problem(t->c, &cli, target, p));
    if (kn_family_of(p)->routed)
        KN_TRY(kn_moe_problem(t->c, &cli, target, (int)cli.v[KN_FLAG_stage].i,
                              p));
    else if (cli.v[KN_FLAG_tokens].seen || cli.v[KN_FLAG_group_lens].seen)
        KN_TRY(kn_groups_make(t->c, &cli, p, offs));
    return kn_problem_normalise(t->c, p);
}

static kiln_status
generate(struct kn_tool *t, const char *word, struct kn_subject *s)
{
    struct kn_generated g;

    KN_TRY(kn_subject_problem(t, t->cli, word, &s->problem, &s->offs));
    KN_TRY(kn_config_parse(t->c, t->cli->config, &s->config));
    if (!t->cli->v[KN_FLAG_k].seen && !kn_family_of(&s->problem)->routed)
        s->config.domain = kn_domain_of(&s->problem, 256, 0);
    kn_progress_stage(t->progress, "generating");
    KN_TRY(kn_generate(t->c, &s->problem, &s->config, NULL, &g));
    s->config = g.cfg;
    s->name = g.name;
    s->bytes = g.co;
    s->size = g.size;
    s->cert = g.certificate;
    s->cert_size = strlen(g.certificate);
    s->made = true;
    return KILN_OK;
}

kiln_status
kn_subject_read(struct kn_tool *t, const char *word, struct kn_subject *s)
{
    bool family = kn_name_index(kn_family_names, KILN_NFAMILIES, word) >= 0;

    *s = (struct kn_subject){ .name = word };
    if (family && access(word, F_OK))
        KN_TRY(generate(t, word, s));
    else
        KN_TRY(read_file(t, s));
    return kn_object_read(t->c, s->name, s->bytes, s->size, &s->o);
}

kiln_status
kn_subject_decode(struct kn_ctx *c, struct kn_subject *s,
                  const struct kn_object_kernel *k)
{
    s->k = k;
    KN_TRY(kn_decode(c, &s->o, k, false, &s->p));
    KN_TRY(kn_cfg_build(c, &s->p, &s->g));
    s->place = KN_NEW(c, const char *, s->p.n + 1);
    if (s->cert)
        KN_TRY(kn_cert_places(c, s->cert, s->cert_size, &s->p, &s->place));
    return KILN_OK;
}

kiln_status
kn_subject_open(struct kn_tool *t, const char *word, struct kn_subject *s)
{
    const struct kn_object_kernel *k;

    KN_TRY(kn_subject_read(t, word, s));
    KN_TRY(kn_object_kernel(t->c, &s->o, t->cli->v[KN_FLAG_kernel].s, &k));
    return kn_subject_decode(t->c, s, k);
}

kiln_status
kn_subject_listing(struct kn_ctx *c, const struct kn_subject *s,
                   const char ***out)
{
    struct kn_buf all = { .c = c };
    size_t *at = KN_NEW(c, size_t, s->p.n + 1);
    void *d;

    *out = KN_NEW(c, const char *, s->p.n + 1);
    all.s = KN_NEW(c, char, (size_t)s->p.n * 256 + 1);
    d = kn_disasm_open(s->o.target);
    for (uint32_t i = 0; i < s->p.n; i++) {
        at[i] = all.n;
        kn_disasm_text(d, &s->p.inst[i], all.s + all.n, 256);
        all.n += strlen(all.s + all.n) + 1;
    }
    kn_disasm_close(d);
    for (uint32_t i = 0; i < s->p.n; i++)
        (*out)[i] = all.s + at[i];
    return KILN_OK;
}
