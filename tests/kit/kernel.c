#include "kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "readers.h"

enum { MAX_WORDS = 48, MAX_LINE = 512 };

/* line is cut into words in place. */
static int
split(char *line, char **argv)
{
    int n = 0;

    for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) {
        assert_true(n < MAX_WORDS);
        argv[n++] = w;
    }
    return n;
}

static kiln_status
parse(struct own *o, const char *words)
{
    static char line[MAX_LINE];
    char *argv[MAX_WORDS];

    snprintf(line, sizeof line, "kilnc run %s", words);
    memset(o, 0, sizeof *o);
    kn_ctx_init(&o->c, NULL, NULL);
    o->cli = KN_NEW(&o->c, struct kn_cli, 1);
    o->text.c = &o->c;
    kn_progress_open(&o->progress, stderr, true);
    o->tool = (struct kn_tool){ .c = &o->c, .cli = o->cli,
                                .progress = &o->progress, .text = &o->text };
    return kn_cli_parse(&o->c, split(line, argv), argv, o->cli);
}

static kiln_status
generate(struct own *o)
{
    kiln_target target = KILN_GFX950;
    struct kn_config cfg = { 0 };

    KN_TRY(kn_tool_device(&o->tool, &target));
    KN_TRY(kn_cli_problem(&o->c, o->cli, target, &o->p));
    KN_TRY(kn_groups_make(&o->c, o->cli, &o->p, &o->offs));
    KN_TRY(kn_problem_normalise(&o->c, &o->p));
    KN_TRY(kn_config_parse(&o->c, o->cli->config, &cfg));
    KN_TRY(kn_generate(&o->c, &o->p, &cfg, NULL, &o->g));
    o->co = malloc(o->g.size);
    assert_non_null(o->co);
    memcpy(o->co, o->g.co, o->g.size);
    KN_TRY(kit_readers_agree(&o->c, o->co, o->g.size));
    KN_TRY(kn_object_read(&o->c, o->g.name, o->co, o->g.size, &o->object));
    return kn_decode(&o->c, &o->object, &o->object.kernels[0], true,
                     &o->program);
}

static void
expect_ok(const struct own *o, kiln_status s)
{
    if (s)
        fail_msg("%s", o->c.err.text);
}

void
own_open(struct own *o, const char *words)
{
    expect_ok(o, parse(o, words));
    expect_ok(o, generate(o));
}

void
own_close(struct own *o)
{
    free(o->co);
    kn_ctx_free(&o->c);
}

uint8_t *
own_code(struct own *o, uint64_t pc)
{
    for (uint32_t k = 0; k < o->object.nsegments; k++) {
        const struct kn_segment *s = &o->object.segments[k];

        if (s->exec && pc - s->addr < s->filesz)
            return o->co + (s->data - o->co) + (pc - s->addr);
    }
    fail_msg("no code at 0x%llx", (unsigned long long)pc);
    return NULL;
}

static kiln_status
prepare(struct own *o, struct own_launch *x)
{
    const struct kn_operand *op = x->ops.o;
    struct kn_operands addr;
    struct kn_sim_code *code;

    KN_TRY(kn_sim_open(&o->c, o->p.target, &x->sim));
    KN_TRY(kn_operands_make(&o->tool, &o->p, &x->ops));
    for (int i = 0; i < KN_NOPERANDS; i++) {
        struct kn_memory m = kn_operand_memory(&o->p, &x->ops, i);

        if (op[i].used)
            KN_TRY(kn_sim_alloc(x->sim, m.size, m.flags, m.fill, m.user,
                                &x->ops.o[i].addr));
    }
    if (o->offs) {
        size_t size = ((size_t)o->p.groups + 1) * sizeof *o->offs;

        KN_TRY(kn_sim_alloc(x->sim, size, KN_MEM_READONLY, NULL, NULL,
                            &x->offs_addr));
        KN_TRY(kn_sim_write(x->sim, x->offs_addr, o->offs, size));
    }
    addr = (struct kn_operands){
        .a = op[KN_OPND_A].addr,   .b = op[KN_OPND_B].addr,
        .c = op[KN_OPND_C].addr,   .sa = op[KN_OPND_SA].addr,
        .sb = op[KN_OPND_SB].addr, .bias = op[KN_OPND_BIAS].addr,
        .offs = x->offs_addr,
        .x = { op[KN_OPND_ARRAY].addr, op[KN_OPND_ARRAY + 1].addr,
               op[KN_OPND_ARRAY + 2].addr, op[KN_OPND_ARRAY + 3].addr },
    };
    KN_TRY(kn_plan_launch(&o->c, &o->p, &o->g.cfg, &addr, &x->plan));
    if (x->plan.workspace)
        return kn_fail(&o->c, KILN_UNSUPPORTED,
                       "a divided K needs a workspace: give --split-k 1");
    KN_TRY(kn_sim_load(x->sim, o->g.name, o->co, o->g.size, &code));
    x->l = (struct kn_sim_launch){ .code = code, .kernarg = x->plan.kernarg,
                                   .kernarg_size = x->plan.kernarg_size,
                                   .select = { .all = true } };
    memcpy(x->l.grid, x->plan.grid, sizeof x->l.grid);
    memcpy(x->l.block, x->plan.block, sizeof x->l.block);
    return KILN_OK;
}

void
own_launch_open(struct own *o, struct own_launch *x)
{
    memset(x, 0, sizeof *x);
    expect_ok(o, prepare(o, x));
}

void
own_launch_close(struct own_launch *x)
{
    kn_sim_close(x->sim);
}

uint64_t
own_output_size(const struct own_launch *x)
{
    return x->ops.o[KN_OPND_C].size;
}

void
own_output(struct own_launch *x, uint8_t *bytes)
{
    const struct kn_operand *c = &x->ops.o[KN_OPND_C];

    assert_int_equal(kn_sim_read(x->sim, c->addr, bytes, c->size), KILN_OK);
}
