/* fuzz_json.c - any bytes as JSON: a list of problems, results, AMD's tuned
 * configurations. */
#include "fuzz.h"
#include "gen/tool/bench/bench.h"

static kiln_status
table(struct kn_ctx *c, const char *text)
{
    struct kn_csv t;

    KN_ENTER(c);
    return kn_json_table(c, "x.json", text, &t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char amd[] = "gfx950-BATCHED_GEMM-AFP4WFP4-N=512-K=128.json";
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    fuzz_judge(&c, table(&c, kn_strndup(&c, (const char *)p, n)));
    kn_ctx_free(&c);
    fuzz_write("x.json", p, n);
    fuzz_write(amd, p, n);
    fuzz_run((const char *[]){ "kilnc", "bench", "x.json", "--shard", "1000/1000",
                          NULL });
    fuzz_run((const char *[]){ "kilnc", "compare", "x.json", "x.json", NULL });
    fuzz_run((const char *[]){ "kilnc", "bench", amd, "--shard", "1000/1000",
                          NULL });
    return 0;
}
