/* Every matrix instruction from its assembly text: what LLVM encodes, the
 * decoder reads and the executor does, against mfma_kit.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../kit/mfma.h"
#include "../kit/snippet.h"

enum { D = 96, A = 0, B = 16, C = 32, SA = 80, SB = 81, INDEX = 82 };

/* "v[4:7]", "a2", ... */
static void
name_registers(char *out, char bank, unsigned first, unsigned n)
{
    if (n == 1)
        sprintf(out, "%c%u", bank, first);
    else
        sprintf(out, "%c[%u:%u]", bank, first, first + n - 1);
}

static void
append_modifiers(const struct kit *t, char *text)
{
    const struct kn_mfma_job *j = &t->job;
    char *at = text + strlen(text);

    if (j->sa)
        at += sprintf(at, " op_sel:[%u,%u,0] op_sel_hi:[%u,%u,0]",
                      j->sa_byte & 1u, j->sb_byte & 1u, j->sa_byte >> 1,
                      j->sb_byte >> 1);
    if (j->neg)
        at += sprintf(at, " neg:[%d,%d,%d]", j->neg & 1, j->neg >> 1 & 1,
                      j->neg >> 2);
    if (j->cbsz)
        at += sprintf(at, " cbsz:%u", j->cbsz);
    if (j->abid)
        at += sprintf(at, " abid:%u", j->abid);
    if (j->blgp)
        sprintf(at, " blgp:%u", j->blgp);
}

/* agprs: A, B, and C with D in accumulation registers. */
static void
write_text(const struct kit *t, unsigned agprs, const char *constant,
           char *text)
{
    const struct kn_mfma *r = t->job.row;
    char d[16], a[16], b[16], c[16];

    name_registers(d, agprs & 4 ? 'a' : 'v', D, kn_mfma_dregs(r));
    name_registers(a, agprs & 1 ? 'a' : 'v', A, kn_mfma_aregs(&t->job));
    name_registers(b, agprs & 2 ? 'a' : 'v', B, kn_mfma_bregs(&t->job));
    name_registers(c, agprs & 4 ? 'a' : 'v', C, kn_mfma_dregs(r));
    if (r->sparse)
        sprintf(c, "v%d", INDEX);
    else if (constant)
        strcpy(c, constant);
    sprintf(text, "%s %s, %s, %s, %s", r->mnemonic, d, a, b, c);
    if (t->job.sa)
        sprintf(text + strlen(text), ", v%d, v%d", SA, SB);
    append_modifiers(t, text);
}

static void
load_registers(struct snippet *s, const struct kit *t, unsigned agprs)
{
    unsigned acc = s->w.accum_offset;
    size_t row = sizeof s->v[0];
    unsigned c = t->job.row->sparse ? D : C;

    memcpy(s->v[A + (agprs & 1 ? acc : 0)], t->a, 16 * row);
    memcpy(s->v[B + (agprs & 2 ? acc : 0)], t->b, 16 * row);
    memcpy(s->v[c + (agprs & 4 ? acc : 0)], t->c, 32 * row);
    memcpy(s->v[SA], t->sa, row);
    memcpy(s->v[SB], t->sb, row);
    memcpy(s->v[INDEX], t->index, row);
}

static void
run_text(struct kit *t, unsigned agprs, const char *constant)
{
    const struct kn_mfma *r = t->job.row;
    struct snippet *s;
    char text[256];

    write_text(t, agprs, constant, text);
    s = snippet_open(t->job.target, text);
    load_registers(s, t, agprs);
    s->w.s[KN_S_EXEC] = s->w.s[KN_S_EXEC + 1] = 0;
    assert_int_equal(snippet_run(s), KILN_OK);
    memcpy(t->d, s->v[D + (agprs & 4 ? s->w.accum_offset : 0)], sizeof t->d);
    for (unsigned b = 0; b < r->blocks; b++)
        for (unsigned i = 0; i < r->m; i++)
            for (unsigned j = 0; j < r->n; j++)
                if (kit_result(t, b, i, j) != kit_expect(t, b, i, j))
                    fail_msg("%s: block %u D[%u][%u] is %#llx, should be %#llx",
                             text, b, i, j,
                             (unsigned long long)kit_result(t, b, i, j),
                             (unsigned long long)kit_expect(t, b, i, j));
    snippet_close(s);
}

static void
draw_modifiers(struct kit *t, struct kit_rng *rng)
{
    struct kn_mfma_job *j = &t->job;

    if (j->row->a == KN_MT_F8F6F4) {
        j->cbsz = (uint8_t)kit_below(rng, 5);
        j->blgp = (uint8_t)kit_below(rng, 5);
    } else if (j->row->a == KN_MT_F64) {
        j->neg = (uint8_t)kit_below(rng, 8);
    } else if (j->row->blocks > 1) {
        j->cbsz = (uint8_t)kit_below(rng, 2);
        j->abid = (uint8_t)kit_below(rng, 1u << j->cbsz);
        j->blgp = (uint8_t)kit_below(rng, 8);
    } else if (j->row->sparse && j->row->targets == KN_MF_BOTH) {
        j->abid = (uint8_t)kit_below(rng, 2);
    }
    j->sa_byte = (uint8_t)kit_below(rng, 4);
    j->sb_byte = (uint8_t)kit_below(rng, 4);
}

static void
run_target(kiln_target target)
{
    unsigned bit = target == KILN_GFX942 ? KN_MF_GFX942 : KN_MF_GFX950;
    struct kit_rng rng = {target};
    static struct kit t;

    for (unsigned i = 0; i < kn_mfma_nrows; i++)
        for (unsigned n = 0; n < 4; n++) {
            if (!(kn_mfma_rows[i].targets & bit))
                continue;
            kit_init(&t, target, &kn_mfma_rows[i]);
            draw_modifiers(&t, &rng);
            kit_fill(&t, &rng, n % 2 ? KIT_NEAR : KIT_WIDE);
            run_text(&t, kit_below(&rng, 8), NULL);
        }
}

static void
test_gfx942(void **state)
{
    (void)state;
    run_target(KILN_GFX942);
}

static void
test_gfx950(void **state)
{
    (void)state;
    run_target(KILN_GFX950);
}

struct constant {
    const char *mnemonic, *text;
    uint64_t bits;
};

static void
test_constants(void **state)
{
    static const struct constant list[] = {
        {"v_mfma_f32_16x16x32_bf16", "0", 0},
        {"v_mfma_f32_16x16x32_bf16", "1.0", 0x3f800000},
        {"v_mfma_f32_16x16x32_bf16", "-4.0", 0xc0800000},
        {"v_mfma_f32_16x16x32_bf16", "7", 7},
        {"v_mfma_i32_16x16x64_i8", "-16", 0xfffffff0},
        {"v_mfma_f64_16x16x4_f64", "1.0", 0x3ff0000000000000},
        {"v_mfma_f64_16x16x4_f64", "-0.5", 0xbfe0000000000000},
        {"v_mfma_scale_f32_32x32x64_f8f6f4", "2.0", 0x40000000},
    };
    struct kit_rng rng = {8};
    static struct kit t;

    (void)state;
    for (unsigned n = 0; n < sizeof list / sizeof list[0]; n++) {
        kit_init(&t, KILN_GFX950,
                 kn_mfma_find(KILN_GFX950, list[n].mnemonic));
        kit_fill(&t, &rng, KIT_NEAR);
        t.job.c = NULL;
        t.job.c_const = list[n].bits;
        run_text(&t, 0, list[n].text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gfx942),
        cmocka_unit_test(test_gfx950),
        cmocka_unit_test(test_constants),
    };

    return cmocka_run_group_tests_name("mfma_text", tests, NULL, NULL);
}
