/* The assembly lowering by itself: wait states, counters, registers that do
 * not suffice, operations it does not have. Results are compared in
 * tests/num/asm.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "emit/asm/asm.h"
#include "emit/emit.h"
#include "emit/isa/object.h"

static const char head[] =
    "kernel @k wave gfx950\n"
    "shape bm=16 bn=32 bk=32 wm=1 wn=2 mfma=bf16.16x16x32 ta=bf16 tb=bf16\n"
    "arg %P ptr\n"
    "arg %n i32\n";

struct run {
    struct kn_ctx c;
    jmp_buf oom;
    struct kn_buf text;
    kiln_status status;
};

static void
lower(struct run *r, const char *body)
{
    struct kn_buf t = { .c = &r->c };
    struct kn_fn *f;

    memset(r, 0, sizeof *r);
    kn_ctx_init(&r->c, NULL, NULL);
    r->c.oom = &r->oom;
    r->text.c = &r->c;
    kn_put(&t, head);
    kn_put(&t, body);
    assert_int_equal(kn_parse_text(&r->c, "k.tir", t.s, &f), KILN_OK);
    assert_int_equal(kn_verify(f), KILN_OK);
    r->status = kn_asm_text(&r->c, f, &r->text);
}

/* The instructions, without the lines and what surrounds the code. */
static char *
code(struct run *r)
{
    struct kn_buf b = { .c = &r->c };
    char *line = strstr(r->text.s, "\nk:\n");

    assert_non_null(line);
    line += 4;
    while (strncmp(line, ".Lend", 5)) {
        char *end = strchr(line, '\n');

        if (strncmp(line, "\t.loc", 5))
            kn_putf(&b, "%.*s", (int)(end + 1 - line), line);
        line = end + 1;
    }
    return b.s;
}

static void
expect(struct run *r, const char *what)
{
    char *got = code(r);

    if (!strstr(got, what))
        print_message("missing:\n%s\nin:\n%s\n", what, got);
    assert_non_null(strstr(got, what));
}

static const char matrix[] =
    "  %a:v.i32 = lane\n"
    "  %b:v.i32 = add %a, 100\n"
    "  %fa:v.i32x4 = splat %b\n"
    "  %acc:v.f32x4 = mov 0.0\n"
    "  %acc = mfma %fa, %fa, %acc shape=bf16.16x16x32 ta=bf16 tb=bf16\n"
    "  %q:s.i64 = addr %P\n"
    "  %r:rsrc = rsrc %q, 4096\n"
    "  %o:v.i32 = shl %a, 4\n"
    "  stg %r, %o, %acc elem=f32\n";

/* hazard.def: a VALU result read by a matrix instruction needs 2 states, a
 * 4-pass result read by a store 8 on gfx950; six instructions lie between. Few
 * accumulators are not in AGPRs. */
static void
test_wait_states(void **state)
{
    struct run r;

    (void)state;
    lower(&r, matrix);
    assert_int_equal(r.status, KILN_OK);
    expect(&r, "v_mov_b32 v3, v4\n\ts_nop 1\n\tv_mfma_f32_16x16x32_bf16 "
               "v[4:7], v[0:3], v[0:3], 0\n");
    expect(&r, "\ts_nop 1\n\tbuffer_store_dwordx4 v[4:7]");
    assert_null(strstr(code(&r), "accvgpr"));
    kn_ctx_free(&r.c);
}

/* The same bytes pass LLVM's assembler and make an object. */
static void
test_object(void **state)
{
    struct run r;
    struct kn_emitted e;
    struct kn_buf t;
    struct kn_fn *f;

    (void)state;
    lower(&r, matrix);
    t = (struct kn_buf){ .c = &r.c };
    kn_putf(&t, "%s%s", head, matrix);
    assert_int_equal(kn_parse_text(&r.c, "k.tir", t.s, &f), KILN_OK);
    assert_int_equal(kn_emit_asm(&r.c, f, KN_EMIT_ASM, &e), KILN_OK);
    assert_true(e.rel_size > 500);
    assert_string_equal(e.assembly, r.text.s);
    assert_int_equal(kn_emit_asm(&r.c, f, KN_EMIT_LLVM, &e), KILN_UNSUPPORTED);
    kn_ctx_free(&r.c);
}

/* The bytes are those of the text in full. */
static void
test_repetitions(void **state)
{
    struct run r;
    struct kn_buf body, rel;
    struct kn_fn f = { .name = "k", .target = KILN_GFX950 };
    const char *short_text;
    uint8_t *co[2];
    size_t size[2];

    (void)state;
    lower(&r, matrix);
    assert_int_equal(kn_asm_words(&r.c, &f, r.text.s, &short_text), KILN_OK);
    assert_ptr_equal(short_text, r.text.s); /* too few to be worth it */
    body = rel = (struct kn_buf){ .c = &r.c };
    for (int k = 0; k < 200; k++)
        kn_put(&body, "\tv_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[4:7], "
               "v[0:3]\n\ts_add_u32 m0, s0, 0x12345\n\ts_nop 1\n");
    kn_putf(&body, "\ts_branch .L0\n.L0:\n%s", strstr(r.text.s, "\nk:\n") + 4);
    r.text.n = (size_t)(strstr(r.text.s, "\nk:\n") + 4 - r.text.s);
    kn_put(&r.text, body.s);
    assert_int_equal(kn_asm_words(&r.c, &f, r.text.s, &short_text), KILN_OK);
    assert_non_null(strstr(short_text, "\t.long "));
    for (int k = 0; k < 2; k++) {
        rel = (struct kn_buf){ .c = &r.c };
        assert_int_equal(kn_assemble_own(&r.c, f.name,
                                         k ? short_text : r.text.s, f.target,
                                         &rel), KILN_OK);
        assert_int_equal(kn_object_link(&r.c, rel.s, rel.n, &co[k], &size[k]),
                         KILN_OK);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(co[0], co[1], size[0]);
    kn_ctx_free(&r.c);
}

/* Scalar loads take lgkmcnt(0); LDS reads complete in order, so the first of
 * two leaves one outstanding. */
static void
test_counters(void **state)
{
    struct run r;

    (void)state;
    lower(&r,
          "lds %s side=a elem=bf16 rows=16 cols=32 slots=1 gk=1 lk=1 unit=16\n"
          "  %q:s.i64 = addr %P\n"
          "  %r:rsrc = rsrc %q, %n\n"
          "  %l:v.i32 = lane\n"
          "  %o:v.i32 = shl %l, 2\n"
          "  %x:v.i32 = lds.ld %s[0], %o elem=i32\n"
          "  %y:v.i32 = lds.ld %s[0], %o offset=256 elem=i32\n"
          "  %z:v.i32 = add %x, 1\n"
          "  %w:v.i32 = xor %y, %z\n"
          "  stg %r, %o, %w elem=i32\n");
    assert_int_equal(r.status, KILN_OK);
    expect(&r, "s_waitcnt lgkmcnt(1)\n\tv_add_u32 ");
    expect(&r, "s_waitcnt lgkmcnt(0)\n\ts_and_b32 ");
    expect(&r, "s_waitcnt lgkmcnt(0)\n\tv_xor_b32 ");
    kn_ctx_free(&r.c);
}

/* Operations that are one instruction with the one behind them, and not where
 * somebody else reads the first or it has another scalar. */
static void
test_pairs(void **state)
{
    static const struct {
        const char *body, *code;
    } pairs[] = {
        { "%a:v.i32 = shl %l, 3\n %w:v.i32 = or %a, %l\n", "v_lshl_or_b32 " },
        { "%a:v.i32 = and %l, 7\n %w:v.i32 = or %l, %a\n", "v_and_or_b32 " },
        { "%a:v.i32 = add %l, 3\n %w:v.i32 = add %a, %l\n", "v_add3_u32 " },
        { "%a:v.i32 = add %l, %n\n %w:v.i32 = add %a, 1234\n",
          "v_add_u32 v1, 0x4d2, v1" },
        { "%a:v.i32 = shl %l, 3\n %b:v.i32 = or %a, %l\n"
          " %w:v.i32 = mul %a, %b\n", "v_or_b32 " },
        { "%f:v.f32 = bits %l\n %g:v.f32 = fmax %f, -2.0\n"
          " %h:v.f32 = fmin %g, 2.0\n %w:v.i32 = bits %h\n",
          "v_med3_f32 " },
        { "%f:v.f32 = bits %l\n %g:v.f32 = fmax %f, 3.0\n"
          " %h:v.f32 = fmin %g, 2.0\n %w:v.i32 = bits %h\n", "v_min_f32 " },
    };

    (void)state;
    for (size_t n = 0; n < sizeof pairs / sizeof *pairs; n++) {
        char body[512];
        struct run r;

        snprintf(body, sizeof body, "  %%l:v.i32 = lane\n  %s"
                 "  %%q:s.i64 = addr %%P\n  %%r:rsrc = rsrc %%q, 4096\n"
                 "  stg %%r, %%l, %%w elem=i32\n", pairs[n].body);
        lower(&r, body);
        assert_int_equal(r.status, KILN_OK);
        expect(&r, pairs[n].code);
        kn_ctx_free(&r.c);
    }
}

/* An address and a size that advance stand in their descriptor, whose upper half
 * is masked there; not if the address is read after it was. */
static void
test_descriptor(void **state)
{
    static const char loop[] =
        "  %i:s.i32 = mov %n\n"
        "  %l:v.i32 = lane\n"
        "  %q:s.i64 = addr %P\n"
        "  loop\n"
        "    %r:rsrc = rsrc %q, %i\n";
    static const char rest[] =
        "    stg %r, %l, %l elem=i32\n"
        "    %done:s.b1 = eq %i, 0\n"
        "    break %done\n"
        "  end\n";
    struct kn_buf b;
    struct run r;

    (void)state;
    for (int late = 0; late < 2; late++) {
        const char *advance = "    %q = add %q, 64\n    %i = sub %i, 64\n";
        jmp_buf oom;

        memset(&r, 0, sizeof r);
        kn_ctx_init(&r.c, NULL, NULL);
        r.c.oom = &oom;
        b = (struct kn_buf){ .c = &r.c };
        kn_putf(&b, "%s%s    stg %%r, %%l, %%l elem=i32\n%s%s", loop,
                late ? advance : "", late ? "" : advance,
                late ? rest : strstr(rest, "    %done"));
        lower(&r, b.s);
        assert_int_equal(r.status, KILN_OK);
        if (late)
            expect(&r, "s_mov_b32 s");
        else
            assert_null(strstr(strstr(code(&r), ".L0:"), "s_mov_b32 s4, s"));
        kn_ctx_free(&r.c);
    }
}

static void
test_loop(void **state)
{
    struct run r;

    (void)state;
    lower(&r,
          "  %i:s.i32 = mov %n\n"
          "  %l:v.i32 = lane\n"
          "  %q:s.i64 = addr %P\n"
          "  loop\n"
          "    %r:rsrc = rsrc %q, 4096\n"
          "    %o:v.i32 = shl %l, 2\n"
          "    stg %r, %o, %l elem=i32\n"
          "    %i = sub %i, 1\n"
          "    %done:s.b1 = eq %i, 0\n"
          "    break %done\n"
          "  end\n");
    assert_int_equal(r.status, KILN_OK);
    /* the resource and the offset are made in front, the way back is short */
    expect(&r, ".L0:\n\tbuffer_store_dword v");
    expect(&r, "s_cmp_eq_u32 s");
    expect(&r, "s_cbranch_scc0 .L0\n");
    kn_ctx_free(&r.c);
}

/* What hardly ever runs, and in it what runs more rarely still, is behind the end. */
static void
test_rare(void **state)
{
    struct run r;
    const char *end;

    (void)state;
    lower(&r,
          "  %l:v.i32 = lane\n"
          "  %q:s.i64 = addr %P\n"
          "  %r:rsrc = rsrc %q, 4096\n"
          "  %o:v.i32 = shl %l, 2\n"
          "  %last:s.b1 = eq %n, 7\n"
          "  if %last likely=2\n"
          "    stg %r, %o, %l elem=i32\n"
          "    %odd:s.b1 = eq %n, 5\n"
          "    if %odd likely=2\n"
          "      stg %r, %l, %l elem=i32\n"
          "    end\n"
          "  else\n"
          "    stg %r, %o, %o elem=i32\n"
          "  end\n");
    assert_int_equal(r.status, KILN_OK);
    expect(&r, "s_cbranch_scc1 .L3\n");
    end = strstr(code(&r), "s_endpgm");
    assert_non_null(end);
    assert_non_null(end = strstr(end, ".L3:\n\tbuffer_store_dword v"));
    assert_non_null(end = strstr(end, "s_cbranch_scc1 .L4\n.L1:\n\ts_branch .L2\n"));
    assert_non_null(strstr(end, ".L4:\n\tbuffer_store_dword v"));
    kn_ctx_free(&r.c);
}

static void
test_registers_run_out(void **state)
{
    struct run r;
    struct kn_buf b;
    jmp_buf oom;

    (void)state;
    memset(&r, 0, sizeof r);
    kn_ctx_init(&r.c, NULL, NULL);
    r.c.oom = &oom;
    b = (struct kn_buf){ .c = &r.c };
    kn_put(&b, "  %l:v.i32 = lane\n");
    for (int n = 0; n < 300; n++)
        kn_putf(&b, "  %%x%d:v.i32 = mul %%l, %d\n", n, 2 * n + 3);
    kn_put(&b, "  %q:s.i64 = addr %P\n  %r:rsrc = rsrc %q, %n\n");
    for (int n = 0; n < 300; n++)
        kn_putf(&b, "  stg %%r, %%x%d, %%x%d elem=i32\n", n, 299 - n);
    lower(&r, b.s);
    assert_int_equal(r.status, KILN_UNSUPPORTED);
    assert_non_null(strstr(r.c.err.text, "needs more than the 256 vector "
                           "registers a wave has"));
    kn_ctx_free(&r.c);
}

static void
test_lacks(void **state)
{
    struct run r;

    (void)state;
    lower(&r, "  stagger\n  rejoin\n");
    assert_int_equal(r.status, KILN_UNSUPPORTED);
    assert_string_equal(r.c.err.text,
                        "the assembly lowering does not do stagger yet");
    kn_ctx_free(&r.c);
}

/* An address's offset of 32 bits is extended with its sign: its register's
 * neighbour is another value. */
static void
test_narrow_offset(void **state)
{
    struct run r;

    (void)state;
    lower(&r, "  %o:s.i32 = mul %n, 12\n"
              "  %p:s.ptr = padd %P, %o\n"
              "  %q:s.i64 = addr %p\n"
              "  %r:rsrc = rsrc %q, 4096\n"
              "  %l:v.i32 = lane\n"
              "  %at:v.i32 = shl %l, 2\n"
              "  stg %r, %at, %o elem=i32\n");
    assert_int_equal(r.status, KILN_OK);
    expect(&r, "s_ashr_i32");
    kn_ctx_free(&r.c);
}

/* x = 1, y = x, x = 2 and around again: what a scheduler must not do to them. */
static kiln_status
moved(size_t one, size_t other)
{
    struct kn_asm_reg reg[] = { { KN_ASM_S, 1, 1, 0, 0, -1 },
                                { KN_ASM_S, 1, 1, 0, 0, -1 } };
    struct kn_asm_opnd x = { KN_ASM_REG, 0, 1, 0, 0, 0, 0 }, y = x;
    struct kn_asm_opnd imm = { KN_ASM_IMM, 0, 1, 0, 1, 0, 0 };
    struct kn_asm_opnd label = { KN_ASM_LABEL, 0, 0, 0, 0, 0, 0 };
    struct kn_asm_op op[] = {
        { .what = KN_ASM_AT, .nopnd = 1, .o = { label } },
        { .nopnd = 2, .ndst = 1, .isa = KN_I_s_mov_b32, .o = { x, imm } },
        { .nopnd = 2, .ndst = 1, .isa = KN_I_s_mov_b32, .o = { [1] = x } },
        { .nopnd = 2, .ndst = 1, .isa = KN_I_s_mov_b32, .o = { x, imm } },
        { .nopnd = 1, .isa = KN_I_s_branch, .o = { label } },
    }, held;
    struct kn_asm_reads before;
    struct kn_fn f = { .name = "k" };
    struct kn_asm a = { .f = &f, .op = op, .nop = 5, .reg = reg, .nreg = 2,
                        .nlabel = 1 };
    struct kn_ctx c;
    jmp_buf oom;
    kiln_status status;

    y.v = 1;
    op[2].o[0] = y;
    kn_ctx_init(&c, NULL, NULL);
    c.oom = &oom;
    a.c = &c;
    before = kn_asm_note_reads(&a);
    held = op[one];
    op[one] = op[other];
    op[other] = held;
    status = kn_asm_same_reads(&a, &before);
    kn_ctx_free(&c);
    return status;
}

static void
test_moved(void **state)
{
    (void)state;
    assert_int_equal(moved(1, 1), KILN_OK);
    assert_int_equal(moved(1, 2), KILN_FINDING);
    assert_int_equal(moved(2, 3), KILN_FINDING);
}

/* Four integers in a register, each written where it belongs; a wait state between two
 * bytes of one (hazard.def). */
static void
test_bytes(void **state)
{
    struct run r;

    (void)state;
    lower(&r, "  %a:v.i32 = lane\n"
              "  %f:v.f32 = i2f %a\n"
              "  %four:v.f32x4 = splat %f\n"
              "  %x:v.i32 = cvt.8 %four elem=i8\n"
              "  %q:s.i64 = addr %P\n"
              "  %r:rsrc = rsrc %q, 4096\n"
              "  %o:v.i32 = shl %a, 2\n"
              "  %y:v.i32 = add %x, 1\n"
              "  stg %r, %o, %y elem=i32\n");
    assert_int_equal(r.status, KILN_OK);
    for (char n = '1'; n <= '3'; n++) {
        char what[] = "dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD\n\ts_nop 0";

        what[13] = n;
        what[n < '3' ? sizeof what - 1 : strcspn(what, "\n")] = 0;
        expect(&r, what);
    }
    kn_ctx_free(&r.c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_states),
        cmocka_unit_test(test_object),
        cmocka_unit_test(test_repetitions),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_rare),
        cmocka_unit_test(test_registers_run_out),
        cmocka_unit_test(test_narrow_offset),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_lacks),
    };

    return cmocka_run_group_tests_name("asm", tests, NULL, NULL);
}
