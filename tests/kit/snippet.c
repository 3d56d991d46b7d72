/* snippet.c - see snippet.h. */
#include "snippet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MODE_DEFAULT = 0xf0 | 1 << 8 | 1 << 9 };

static void
decode_text(struct snippet *s)
{
    const struct kn_object *o = kn_sim_object(s->p.code);

    if (kn_decode(&s->p.ctx, o, &o->kernels[0], true, &s->prog))
        fail_msg("%s", s->p.ctx.err.text);
}

struct snippet *
snippet_open(kiln_target t, const char *text)
{
    struct program_facts facts = { .target = t };
    struct snippet *s = calloc(1, sizeof *s);
    char ended[4096];

    assert_non_null(s);
    assert_true(snprintf(ended, sizeof ended, "%s\ns_endpgm\n", text) <
                (int)sizeof ended);
    program_open_bare(&s->p, &facts, ended);
    decode_text(s);
    s->run.program = &s->prog;
    pthread_mutex_init(&s->run.lock, NULL);
    s->worker.run = &s->run;
    s->worker.findings = &s->findings;
    s->group.run = &s->run;
    s->group.worker = &s->worker;
    s->group.target = t;
    s->group.program = &s->prog;
    s->group.code_base = 0x100000;
    s->w.group = &s->group;
    s->w.accum_offset = 256;
    s->w.nvreg = KN_NVREG;
    s->w.v = s->v;
    s->w.mode = MODE_DEFAULT;
    s->w.s[KN_S_EXEC] = s->w.s[KN_S_EXEC + 1] = UINT32_MAX;
    return s;
}

void
snippet_close(struct snippet *s)
{
    pthread_mutex_destroy(&s->run.lock);
    program_close(&s->p);
    free(s);
}

kiln_status
snippet_run(struct snippet *s)
{
    struct kn_wave *w = &s->w;

    w->pc = s->prog.entry;
    for (unsigned steps = 0; !w->status && steps < 1000; steps++) {
        const struct kn_inst *i = &s->prog.inst[w->pc];
        kn_exec_fn *fn = kn_exec_of(i);

        if (i->op == KN_I_s_endpgm)
            return KILN_OK;
        assert_non_null(fn);
        w->pc = (uint32_t)i->next;
        fn(w, i);
    }
    return w->status;
}

uint64_t
snippet_next(struct snippet_rng *r)
{
    uint64_t z = r->s += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Zeroes, denormals, one, two, halves, largest, Inf, NaN, sNaN. */
static const uint32_t corners32[] = {
    0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800000,
    0x40000000, 0x3f000000, 0x3fc00000, 0x4b000001, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x4effffff, 0xcf000000,
    0x7fffffff, 0xffffffff, 0x80000001, 0x0000ffff, 0x00010000
};
static const uint16_t corners16[] = {
    0, 0x8000, 1, 0x83ff, 0x0400, 0x3c00, 0xbc00, 0x4000, 0x3800, 0x3e00,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x7fff, 0xffff, 0x8001
};
static const uint64_t corners64[] = {
    0, 0x8000000000000000, 1, 0x000fffffffffffff, 0x3ff0000000000000,
    0xbff0000000000000, 0x4000000000000000, 0x7fefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
    0x7ff0000000000001, 0xffffffffffffffff, 0x7fffffffffffffff,
    0x00000000ffffffff, 0x41dfffffffc00000
};
#define PICK(a) a[snippet_next(r) % (sizeof a / sizeof *a)]

/* Random bits with an exponent near 1, so that sums interact. */
static uint64_t
near_one(struct snippet_rng *r, char letter)
{
    uint64_t u = snippet_next(r), e = u >> 56 & 31;

    switch (letter) {
    case 'f': return (u & 0x807fffff) | (112 + e) << 23;
    case 'h': return (u & 0xffff);
    case 'd': return (u & 0x800fffffffffffff) | (1008 + e) << 52;
    default: return u;
    }
}

uint64_t
snippet_operand(struct snippet_rng *r, char letter)
{
    bool corner = snippet_next(r) % 3 == 0;

    switch (letter) {
    case 'f': case 'i':
        return corner ? PICK(corners32) : (uint32_t)near_one(r, letter);
    case 'h': case 'y': case 'b':
        return corner ? PICK(corners16) : near_one(r, letter) & 0xffff;
    case 'p': case 'w':
        return snippet_operand(r, 'h') | snippet_operand(r, 'h') << 16;
    case 'P':
        return snippet_operand(r, 'f') | snippet_operand(r, 'f') << 32;
    default:
        return corner ? PICK(corners64) : near_one(r, letter);
    }
}
