/* An LLVM that lacks what kiln asks it for by name: an error with the name, in
 * the place of LLVM's own answer here. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <string.h>

#include "gen/gen.h"

unsigned LLVMGetEnumAttributeKindForName(const char *name, size_t n);
unsigned LLVMLookupIntrinsicID(const char *name, size_t n);

static const char *lacked;

static unsigned
ask(const char *what, const char *name, size_t n)
{
    unsigned (*own)(const char *, size_t);
    void *f = dlsym(RTLD_NEXT, what);

    if (lacked && strlen(lacked) == n && !memcmp(lacked, name, n))
        return 0;
    memcpy(&own, &f, sizeof own);
    return own(name, n);
}

unsigned
LLVMGetEnumAttributeKindForName(const char *name, size_t n)
{
    return ask(__func__, name, n);
}

unsigned
LLVMLookupIntrinsicID(const char *name, size_t n)
{
    return ask(__func__, name, n);
}

static void
expect(const char *name, kiln_status want, const char *text)
{
    static const struct kn_config cfg = { .lowering = KN_LOWERING_LLVM };
    const kiln_problem p = { .size = sizeof p, .target = KILN_GFX950,
                             .a = KILN_BF16, .b = KILN_BF16, .m = 64, .n = 64,
                             .k = 64 };
    struct kn_generated g;
    struct kn_ctx c;

    lacked = name;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_generate(&c, &p, &cfg, NULL, &g), want);
    if (text)
        assert_non_null(strstr(c.err.text, text));
    kn_ctx_free(&c);
}

static void
test_what_is_lacking_is_named(void **state)
{
    (void)state;
    expect(NULL, KILN_OK, NULL);
    expect("nounwind", KILN_INTERNAL, " has no attribute 'nounwind' as kiln");
    expect("noundef", KILN_INTERNAL, " has no attribute 'noundef' as kiln");
    expect("llvm.amdgcn.workgroup.id.x", KILN_INTERNAL,
           " has no intrinsic 'llvm.amdgcn.workgroup.id.x' as kiln");
    expect("llvm.amdgcn.mfma.f32.16x16x32.bf16", KILN_INTERNAL,
           " has no intrinsic 'llvm.amdgcn.mfma.f32.16x16x32.bf16' as kiln");
    expect("no such name", KILN_OK, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_lacking_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
