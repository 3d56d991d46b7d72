/* fuzz_csv.c - any bytes as a table: of problems, of results, of tuned
 * configurations. */
#include <string.h>

#include "fuzz.h"
#include "gen/tuning/tuning.h"
#include "gen/tool/bench/bench.h"

static kiln_status
tables(struct kn_ctx *c, const char *text)
{
    struct kn_csv t;

    KN_ENTER(c);
    KN_TRY(kn_csv_parse(c, "x.csv", text, &t));
    return kn_tuning_check(c, &t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_ctx c;
    char *text;

    kn_ctx_init(&c, NULL, NULL);
    text = kn_strndup(&c, (const char *)p, n);
    fuzz_judge(&c, tables(&c, text));
    kn_ctx_free(&c);
    fuzz_write("x.csv", p, n);
    fuzz_run((const char *[]){ "kilnc", "compare", "x.csv", "x.csv", NULL });
    fuzz_run((const char *[]){ "kilnc", "merge", "x.csv", "x.csv", NULL });
    fuzz_run((const char *[]){ "kilnc", "bench", "x.csv", "--shard", "1000/1000",
                          NULL });
    return 0;
}
