/* The tables are complete: every operation has a kernel that uses it and ways
 * to use it wrongly that are refused; every attribute, type and matrix
 * instruction is named once. */
#include "../kit/tir.h"

#include <string.h>

static void
every_operation_is_used(void **state)
{
    bool op[KN_NOP] = { false }, attr[KN_NATTR] = { false };

    (void)state;
    for (size_t i = 0; kit_kernels[i]; i++) {
        struct kit k;
        struct kn_fn *f;

        kit_open(&k);
        f = kit_parse(&k, kit_file(&k, kit_kernels[i]));
        assert_int_equal(kn_verify(f), KILN_OK);
        for (size_t n = 0; n < f->nins; n++) {
            op[f->ins[n].op] = true;
            for (int a = 0; a < KN_NATTR; a++)
                if (f->ins[n].attr[a] != kn_attrs[a].def)
                    attr[a] = true;
        }
        kit_close(&k);
    }
    for (int n = 1; n < KN_NOP; n++)
        if (!op[n])
            fail_msg("no kernel uses %s", kn_op_info((enum kn_op)n).text);
    for (int n = 0; n < KN_NATTR; n++)
        if (!attr[n])
            fail_msg("no kernel uses %s=", kn_attrs[n].text);
}

/* One line into a kernel that has a value of every letter. */
static kiln_status
try_line(struct kit *k, enum kn_level level, const char *line)
{
    struct kn_buf b = { .c = &k->c };
    struct kn_fn *f;

    kn_putf(&b, "kernel @t %s gfx950\n"
            "shape bm=16 bn=16 bk=32 wm=1 wn=1 mfma=bf16.16x16x32 ta=bf16 "
            "tb=bf16\n"
            "arg %%P ptr\narg %%I i32\narg %%F f32\n"
            "lds %%S side=a elem=bf16 rows=16 cols=32 slots=2\n"
            "%%b:s.b1 = eq %%I, 0\n%%w:s.i64 = addr %%P\n%s\n",
            level == KN_TILE ? "tile" : "wave", line);
    if (kn_parse_text(&k->c, "t.tir", b.s, &f))
        return k->c.err.status;
    return kn_verify(f);
}

static enum kn_level
level_of(const struct kn_op_info *o)
{
    return o->level == KN_TILE ? KN_TILE : KN_WAVE;
}

static const char *
result_of(const struct kn_op_info *o)
{
    switch (o->dst) {
    case '-': return "";
    case 'i': return "%x:v.i32 = ";
    case 'f': return "%x:v.f32 = ";
    case 'b': return "%x:v.b1 = ";
    case 'r': return "%x:rsrc = ";
    case 'V': return "%x:view = ";
    case 'T': return "%x:tile = ";
    }
    return "%x:v.f32x4 = ";
}

/* Operand text that fits no letter but the one of an LDS tile; for those
 * letters a number. */
static const char *
misfit(char letter)
{
    return letter == 'S' || letter == 'L' ? "1" : "%S";
}

static void
expect_refusal(enum kn_level level, const char *line, const char *message)
{
    struct kit k;

    kit_open(&k);
    if (!try_line(&k, level, line) || !strstr(k.c.err.text, message))
        fail_msg("'%s' gave '%s', not '%s'", line, k.c.err.text, message);
    assert_true(k.c.err.line == 9);
    kit_close(&k);
}

static void
too_many_operands(struct kit *k, const struct kn_op_info *o)
{
    struct kn_buf b = { .c = &k->c };

    if (o->nargs == KN_MAXARG)
        return;
    kn_putf(&b, "%s%s ", result_of(o), o->text);
    for (int n = 0; n <= o->nargs; n++)
        kn_putf(&b, "%s1", n ? ", " : "");
    expect_refusal(level_of(o), b.s, "operands, not");
}

static void
wrong_operand(struct kit *k, const struct kn_op_info *o)
{
    struct kn_buf b = { .c = &k->c };
    int n = o->nargs - o->nopt;

    if (!n)
        return;
    kn_putf(&b, "%s%s %s", result_of(o), o->text, misfit(o->args[0]));
    for (int i = 1; i < n; i++)
        kn_put(&b, ", 1");
    expect_refusal(level_of(o), b.s, "operand 1 of");
}

static void
wrong_result(struct kit *k, const struct kn_op_info *o)
{
    struct kn_buf b = { .c = &k->c };
    const char *dst = o->dst == '-' ? "%x:s.i32 = " : "";

    kn_putf(&b, "%s%s", dst, o->text);
    for (int n = 0; n < o->nargs - o->nopt; n++) {
        static const char *const fit[128] = {
            ['i'] = "%I", ['f'] = "%F", ['x'] = "%I", ['b'] = "%b",
            ['u'] = "%I", ['w'] = "%w", ['v'] = "%I", ['p'] = "%P",
            ['L'] = "%S[0]", ['S'] = "%S",
        };
        const char *text = fit[(unsigned char)o->args[n]];

        if (!text)           /* needs a value made by another operation */
            return;
        kn_putf(&b, "%s%s", n ? ", " : " ", text);
    }
    expect_refusal(level_of(o), b.s, *dst ? "has no result" : "needs a name");
}

static void
wrong_attribute(struct kit *k, enum kn_op op, const struct kn_op_info *o)
{
    for (int a = 0; a < KN_NATTR; a++) {
        struct kn_buf b = { .c = &k->c };

        if (kn_op_takes(op, (enum kn_attr)a))
            continue;
        kn_putf(&b, "%s%s %s=1", result_of(o), o->text, kn_attrs[a].text);
        expect_refusal(level_of(o), b.s, "has no attribute");
        return;
    }
}

static void
every_operation_is_refused_somehow(void **state)
{
    struct kit k;

    (void)state;
    kit_open(&k);
    for (int n = 1; n < KN_NOP; n++) {
        struct kn_op_info o = kn_op_info((enum kn_op)n);
        struct kn_buf b = { .c = &k.c };

        too_many_operands(&k, &o);
        wrong_operand(&k, &o);
        wrong_result(&k, &o);
        wrong_attribute(&k, (enum kn_op)n, &o);
        if (o.level == KN_BOTH)
            continue;
        kn_putf(&b, "%s%s", result_of(&o), o.text);
        expect_refusal(level_of(&o) == KN_TILE ? KN_WAVE : KN_TILE, b.s,
                       "-level operation");
    }
    kit_close(&k);
}

static void
names_are_unique(void **state)
{
    (void)state;
    for (int a = 1; a < KN_NOP; a++)
        for (int b = 1; b < a; b++)
            assert_string_not_equal(kn_op_info((enum kn_op)a).text,
                                    kn_op_info((enum kn_op)b).text);
    for (int a = 0; a < KN_NATTR; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(kn_attrs[a].text, kn_attrs[b].text);
    for (int a = 0; a < KN_NMFMA; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(kn_mfmas[a].text, kn_mfmas[b].text);
}

/* Every name in a row's attribute list is an attribute. */
static void
attribute_lists_are_known(void **state)
{
    (void)state;
    for (int n = 1; n < KN_NOP; n++) {
        struct kn_op_info o = kn_op_info((enum kn_op)n);
        int words = *o.attrs != '\0', bits = 0;

        for (const char *s = o.attrs; *s; s++)
            words += *s == ' ';
        for (int a = 0; a < KN_NATTR; a++)
            bits += kn_op_takes((enum kn_op)n, (enum kn_attr)a);
        assert_int_equal(words, bits);
    }
}

/* A matrix row's registers hold exactly its share of the operands. */
static void
matrix_rows_add_up(void **state)
{
    (void)state;
    for (int n = 0; n < KN_NMFMA; n++) {
        const struct kn_mfma_info *m = &kn_mfmas[n];

        assert_int_equal(m->mi * m->mi, 64 * m->regs_c);
        if (m->a == KN_T_b1)
            continue;
        assert_int_equal(m->mi * m->k * kn_elems[m->a].bits,
                         64 * 32 * m->regs_ab);
        assert_int_equal(kn_elems[m->a].bits, kn_elems[m->b].bits);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_used),
        cmocka_unit_test(every_operation_is_refused_somehow),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(attribute_lists_are_known),
        cmocka_unit_test(matrix_rows_add_up),
    };

    if (argc > 1)
        kit_set_dir(argv[1]);
    return cmocka_run_group_tests_name("ir-tables", tests, NULL, NULL);
}
