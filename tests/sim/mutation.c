/* Binary mutation of foreign kernels: each s_waitcnt, s_barrier and s_nop is
 * overwritten with `s_nop 0`, one at a time. The simulator must report every
 * one that matters; the survivors are listed with the reason why each is
 * harmless, and a survivor that is not listed fails. */
#include "triton.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NOP 0xbf800000u

struct survivor {
    unsigned object;
    uint64_t pc;
    const char *why;
};

static const struct survivor survivors[] = {
#include "survivors.def"
};

static const char *folder;
static uint8_t bytes[1 << 16];

static bool
is_fence(const struct kn_inst *i)
{
    return i->op == KN_I_s_waitcnt || i->op == KN_I_s_barrier ||
           i->op == KN_I_s_nop;
}

static uint8_t *
code_at(const struct kn_object *o, uint64_t pc)
{
    for (uint32_t k = 0; k < o->nsegments; k++)
        if (pc - o->segments[k].addr < o->segments[k].filesz)
            return bytes + (o->segments[k].data - bytes) +
                   (pc - o->segments[k].addr);
    return NULL;
}

/* Is anything reported with this instruction gone? */
static bool
detected(const struct object *o, size_t size)
{
    struct kn_sim_result r;
    struct job j;
    kiln_status s;

    /* one workgroup: the first, or the first of wgrad's long group */
    uint64_t id;

    triton_open(&j, o, bytes, size);
    id = o->family == WGRAD ? 2 * j.launch.grid[0] : 0;
    j.launch.select.all = false;
    j.launch.select.ids = &id;
    j.launch.select.n = 1;
    j.launch.max_steps = 1 << 20;
    s = kn_sim_run(j.sim, &j.launch, &r);
    triton_close(&j);
    return s || r.nfindings;
}

static bool
listed(unsigned object, uint64_t pc)
{
    for (size_t k = 0; k < sizeof survivors / sizeof survivors[0]; k++)
        if (survivors[k].object == object && survivors[k].pc == pc)
            return true;
    return false;
}

static void
mutate_all(void **state)
{
    const struct object *o = *state;
    unsigned object = (unsigned)(o - triton_objects), total = 0, killed = 0;
    size_t size = triton_read(folder, o, bytes, sizeof bytes);
    struct kn_program p;
    struct kn_object ko;
    struct kn_ctx c;
    bool wrong = false;

    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_object_read(&c, o->name, bytes, size, &ko), KILN_OK);
    assert_int_equal(kn_decode(&c, &ko, &ko.kernels[0], true, &p), KILN_OK);
    for (uint32_t k = p.entry; k < p.n; k++) {
        uint8_t *at = code_at(&ko, p.inst[k].pc);
        uint32_t old, nop = NOP;
        bool hit;

        assert_non_null(at);
        memcpy(&old, at, 4);
        if (!is_fence(&p.inst[k]) || old == NOP)
            continue;
        memcpy(at, &nop, 4);
        hit = detected(o, size);
        memcpy(at, &old, 4);
        total++;
        killed += hit;
        if (hit == listed(object, p.inst[k].pc)) {
            print_message("# { %u, 0x%llx } %s\n", object,
                          (unsigned long long)p.inst[k].pc,
                          hit ? "is listed but detected" : "survives");
            wrong = true;
        }
    }
    print_message("# %s: %u of %u detected\n", o->name, killed, total);
    kn_ctx_free(&c);
    assert_false(wrong);
    assert_true(total > 20);
}

/* The small tiles, one of each kind of main loop. */
static const unsigned mutated[] = { 0, 1, 2, 10, 15, 17 };
enum { NMUTATED = sizeof mutated / sizeof mutated[0] };

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[NMUTATED];

    folder = argc > 1 ? argv[1] : "tests/data/triton";
    for (int k = 0; k < NMUTATED; k++)
        tests[k] = (struct CMUnitTest){
            triton_objects[mutated[k]].name, mutate_all, NULL, NULL,
            (void *)(uintptr_t)&triton_objects[mutated[k]] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
