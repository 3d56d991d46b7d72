/* fuzz_parse.c - any bytes into the parser, and what parses into the verifier,
 * the printer and the passes. libFuzzer entry point; tests/ir/Inputs is a
 * corpus. clang -fsanitize=fuzzer,address tests/ir/fuzz_parse.c ir/(all).c */
#include <assert.h>
#include <string.h>

#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kiln_status
run(struct kn_ctx *c, const char *text)
{
    struct kn_buf one = { .c = c }, two = { .c = c };
    struct kn_fn *f, *g;

    KN_ENTER(c);
    KN_TRY(kn_parse_text(c, "fuzz.tir", text, &f));
    kn_print(f, &one);
    KN_TRY(kn_parse_text(c, "again.tir", one.s, &g));
    kn_print(g, &two);
    assert(!strcmp(one.s, two.s));
    return kn_run_passes(&f, NULL, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kn_ctx c;
    char *text;

    kn_ctx_init(&c, NULL, NULL);
    text = kn_strndup(&c, (const char *)data, size);
    (void)run(&c, text);
    kn_ctx_free(&c);
    return 0;
}
