/* Any instruction words: the simulator runs them, names what it cannot do or
 * reports findings; it never crashes or hangs. Byte 0 of the input chooses
 * target, orders and waves, the rest are instructions between a prologue that
 * loads two buffer addresses and s_endpgm. Run by hand with
 * ASAN_OPTIONS=use_sigaltstack=0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

enum { WORDS = 256 };
#define MARK 0xbf800005u     /* s_nop 5: where the words go */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct template {
    struct program_facts facts;
    uint8_t *bytes;
    size_t size, at;
};

static void
build_template(struct template *t, kiln_target target)
{
    const uint32_t mark = MARK;

    t->facts = (struct program_facts){ .target = target, .lds = 4096,
                                       .scratch = 64, .waves = 2 };
    t->bytes = program_object(&t->facts, ".rept 256\ns_nop 5\n.endr\n"
                              "s_endpgm\n", &t->size);
    while (memcmp(t->bytes + t->at, &mark, 4))
        t->at += 4;
}

static void
run(const struct template *t, const uint8_t *bytes, uint8_t how)
{
    struct program p;

    program_open_object(&p, &t->facts, bytes, t->size);
    p.launch.order = how >> 1 & 3;
    p.launch.waves = how >> 3 & 3;
    p.launch.max_steps = 2000;
    program_run(&p);
    program_close(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct template templates[2];
    const struct template *t;
    uint8_t *bytes;
    size_t n;

    if (!templates[0].bytes) {
        build_template(&templates[0], KILN_GFX942);
        build_template(&templates[1], KILN_GFX950);
    }
    if (size < 5)
        return 0;
    t = &templates[data[0] & 1];
    n = (size - 1) & ~(size_t)3;
    bytes = malloc(t->size);
    memcpy(bytes, t->bytes, t->size);
    memcpy(bytes + t->at, data + 1, n < 4 * WORDS ? n : 4 * WORDS);
    run(t, bytes, data[0]);
    free(bytes);
    return 0;
}
