/* tir.h - shared by the tests of the tile IR: a context per test, inputs from
 * files, and cases files of the form
 *
 *     === LINE[:COL]: MESSAGE
 *     text of the kernel
 *
 * A case whose text starts neither with `kernel` nor with a comment is put
 * behind the prelude of its file, the text of the section `=== prelude`. */
#ifndef KN_KIT_TIR_H
#define KN_KIT_TIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/ir.h"

struct kit {
    struct kn_ctx c;
    jmp_buf oom;
};

void kit_open(struct kit *k);
void kit_close(struct kit *k);

/* Text of DIR/name; DIR is the program's first argument. */
void kit_set_dir(const char *dir);
char *kit_file(struct kit *k, const char *name);

/* Parses or fails the test. */
struct kn_fn *kit_parse(struct kit *k, const char *text);
char *kit_print(struct kit *k, const struct kn_fn *f);

struct kit_case {
    int line, col;           /* expected place; line counts inside `text` */
    const char *message;     /* expected sentence */
    const char *text;
    int at;                  /* line of the case in its file */
};
/* The cases of a file; returns their number. */
size_t kit_cases(struct kit *k, const char *name, struct kit_case **out);

/* The kernels of Inputs/, ends with NULL. */
extern const char *const kit_kernels[];

/* Deterministic random numbers (xorshift64*). */
uint32_t kit_random(uint64_t *state, uint32_t below);

#endif
