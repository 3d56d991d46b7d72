/* cmd_disasm.c - `kilnc disasm`: the instructions of one kernel, a line each:
 * address, text in LLVM's words, and behind `;` the template line a certificate
 * names. Branch targets and loops are marked, padding is left out. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "inspect.h"

enum { PLACE_COLUMN = 64 };

/* Found once: each looks at the whole kernel. */
struct marks {
    bool *target;            /* of a branch, by block */
    int32_t main_loop;
};

/* Whether a branch of the kernel, other than falling through, leads here. */
static void
mark_targets(const struct kn_cfg *g, bool *target)
{
    for (uint32_t b = 0; b < g->nblocks; b++)
        if (g->blocks[b].succ[1] >= 0)
            target[g->blocks[b].succ[1]] = true;
}

static void
put_block(struct kn_buf *out, const struct kn_subject *s, uint32_t block,
          const struct marks *m)
{
    const struct kn_block *b = &s->g.blocks[block];
    int32_t loop = b->loop;
    bool heads = loop >= 0 && s->g.loops[loop].header == block;

    if (!m->target[block] && !heads)
        return;
    kn_putf(out, "L%" PRIx64 ":", s->p.inst[b->first].pc);
    if (heads)
        kn_putf(out, "%*s; %sloop, depth %u", 12, "",
                loop == m->main_loop ? "main " : "",
                s->g.loops[loop].depth);
    kn_put(out, "\n");
}

static void
put_instruction(struct kn_buf *out, const struct kn_subject *s, uint32_t i,
                const char *text)
{
    const struct kn_block *b = &s->g.blocks[s->g.block_of[i]];
    const char *place = s->place ? s->place[i] : NULL;
    int32_t to = i + 1 == b->end ? b->succ[1] : -1;
    size_t start = out->n;

    kn_putf(out, "  %6" PRIx64 "  %s", s->p.inst[i].pc, text);
    if (to >= 0)
        kn_putf(out, " -> L%" PRIx64, s->p.inst[s->g.blocks[to].first].pc);
    if (place) {
        size_t n = out->n - start;

        kn_putf(out, "%*s; %s", n < PLACE_COLUMN ? (int)(PLACE_COLUMN - n) : 1,
                "", place);
    }
    kn_put(out, "\n");
}

static void
put_kernel(struct kn_ctx *c, struct kn_buf *out, const struct kn_subject *s,
           const char **text)
{
    const struct marks m = { KN_NEW(c, bool, s->g.nblocks + 1),
                             kn_cfg_main_loop(&s->g) };

    mark_targets(&s->g, m.target);
    kn_putf(out, "%s: %s, %u instructions\n", s->k->name,
            kiln_target_name(s->o.target), (unsigned)s->p.n);
    for (uint32_t i = 0; i < s->p.n; i++) {
        uint32_t block = s->g.block_of[i];

        if (s->g.blocks[block].first == i)
            put_block(out, s, block, &m);
        if (s->g.blocks[block].reached)
            put_instruction(out, s, i, text[i]);
    }
}

kiln_status
kn_cmd_disasm(struct kn_tool *t)
{
    struct kn_subject *s = KN_NEW(t->c, struct kn_subject, 1);
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_buf b = { .c = t->c };
    const char **text;

    KN_TRY(kn_subject_open(t, t->cli->pos[0], s));
    KN_TRY(kn_subject_listing(t->c, s, &text));
    put_kernel(t->c, &b, s, text);
    if (o->seen && strcmp(o->s, "-"))
        return kn_file_write(t->c, o->s, b.s, b.n);
    kn_put(t->text, b.s);
    return KILN_OK;
}
