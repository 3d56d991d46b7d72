/* fuzz.h - what fuzz targets share. A target is LLVMFuzzerTestOneInput, which
 * any bytes must leave alive; driver.c or libFuzzer calls it. */
#ifndef KN_FUZZ_H
#define KN_FUZZ_H

#include "gen/tool/cmd.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Seeds that are made, not kept: the i-th, false when there is none. The bytes
 * are the target's. Optional. */
bool fuzz_seed(unsigned i, const uint8_t **p, size_t *n);

/* Whether an input stays as its mutation left it; the other half has its
 * digests refitted, to come further. */
bool fuzz_as_it_is(const uint8_t *p, size_t n);

/* A file of the scratch folder, which is the working directory; its name. */
const char *fuzz_write(const char *name, const void *p, size_t n);

/* Aborts unless a status and its sentence agree, and unless memory was enough:
 * a file never makes the tool ask for more than there may be. */
void fuzz_judge(const struct kn_ctx *c, kiln_status s);

/* `kilnc WORD...` in this process, as kilnc.c does it; NULL ends the words. */
kiln_status fuzz_command(struct kn_ctx *c, const char *const *words);

/* The same, judged. */
void fuzz_run(const char *const *words);

/* A small kernel of ours with its certificate: number 0 or 1. */
const struct kn_generated *fuzz_kernel(unsigned which);
kiln_problem fuzz_problem(unsigned which);

#endif
