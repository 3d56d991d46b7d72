/* slurp.h - a whole file for a test; the test fails without it. */
#ifndef KN_KIT_SLURP_H
#define KN_KIT_SLURP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct blob {
    uint8_t *p;
    size_t n;
};

static inline struct blob
slurp(const char *dir, const char *name)
{
    struct blob b = { 0 };
    char path[1024];
    FILE *f;
    long n;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing", path);
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    b.p = malloc((size_t)n + 1);
    assert_non_null(b.p);
    b.n = fread(b.p, 1, (size_t)n, f);
    assert_int_equal(b.n, (size_t)n);
    fclose(f);
    return b;
}

#endif
