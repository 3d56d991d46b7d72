/* Certificates against patched bytes: in every kernel each wait and barrier
 * becomes an s_nop, and each count of a wait one wider, so that no compiler
 * can repair it. The check with certificate must fail for each: by the replay,
 * which finds the order broken, or by the certificate's list of waits alone,
 * where the replay proves that others cover for it (what the simulator detects
 * the replay finds: tests/sim/mutate_own.c). Without arguments a few of the
 * mains (kernels.h); `all [OF SHARD]` a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "emit/prove/cert.h"
#include "kernels.h"
#include "tests/kit/by_text.h"

/* X(id, text) */
#define PATCHES(X)                                                            \
    X(WAIT, "s_waitcnt removed")                                              \
    X(BARRIER, "s_barrier removed")                                           \
    X(VM, "vmcnt one wider")                                                  \
    X(LGKM, "lgkmcnt one wider")

enum patch {
#define X(id, text) PATCH_##id,
    PATCHES(X)
#undef X
    PATCH_KINDS
};
static const char *const patch_text[] = {
#define X(id, text) text,
    PATCHES(X)
#undef X
};

struct result {
    struct digests *seen;
    unsigned kernels, made[PATCH_KINDS], replay[PATCH_KINDS];
    unsigned claim[PATCH_KINDS], missed, refused, lacks_row;
    unsigned by[KN_NLOWERINGS];
};

struct kernel {
    struct kn_ctx *c;
    struct kn_generated g;
    uint8_t *co;             /* a copy of g.co that is patched */
    const uint8_t *code;     /* of the kernel, in it */
    struct kn_object o;
    struct kn_program p;
    struct kn_slots slots;
};

static void
decode(struct kernel *k)
{
    const struct kn_object_kernel *q;

    assert_int_equal(kn_object_read(k->c, "k", k->co, k->g.size, &k->o),
                     KILN_OK);
    assert_int_equal(kn_object_kernel(k->c, &k->o, NULL, &q), KILN_OK);
    assert_int_equal(kn_decode(k->c, &k->o, q, true, &k->p), KILN_OK);
    assert_int_equal(by_text_differs(&k->p), k->p.n);
    k->code = kn_object_bytes(&k->o, k->p.inst[0].pc, q->code_size);
    assert_non_null(k->code);
}

static bool
build(struct kernel *k, const struct made *m, unsigned *lacks_row)
{
    struct kn_check_result r;

    k->c = m->f->c;
    if (!generate_made(m, &k->g, lacks_row))
        return false;
    k->co = KN_NEW(k->c, uint8_t, k->g.size);
    memcpy(k->co, k->g.co, k->g.size);
    decode(k);
    assert_int_equal(kn_cert_read(k->c, k->g.certificate,
                                  strlen(k->g.certificate), &k->p, &k->slots),
                     KILN_OK);
    assert_int_equal(kn_check_program(k->c, &k->p, &k->slots, &r), KILN_OK);
    assert_int_equal(r.nfindings, 0);
    assert_false(r.undecided);
    return true;
}

/* s_waitcnt of gfx9: vmcnt [3:0] and [15:14], expcnt [6:4], lgkmcnt [11:8]. */
static uint32_t
patched(const struct kn_inst *i, enum patch how)
{
    uint32_t vm = i->vm, lgkm = i->lgkm;

    if (how == PATCH_WAIT || how == PATCH_BARRIER)
        return 0xbf800000;
    vm += how == PATCH_VM;
    lgkm += how == PATCH_LGKM;
    return 0xbf8c0000 | (vm & 15) | (uint32_t)i->exp << 4 | lgkm << 8 |
           (vm >> 4) << 14;
}

static bool
applies(const struct kn_inst *i, enum patch how)
{
    if (how == PATCH_BARRIER)
        return i->op == KN_I_s_barrier;
    return i->op == KN_I_s_waitcnt && (how != PATCH_VM || i->vm < 63) &&
           (how != PATCH_LGKM || i->lgkm < 15);
}

/* The instruction as the decoder reads it from the patched bytes. */
static struct kn_inst
read_patched(struct kernel *k, uint32_t n)
{
    struct kn_program p;

    assert_int_equal(kn_decode(k->c, &k->o, k->p.kernel, true, &p), KILN_OK);
    assert_int_equal(p.n, k->p.n);
    return p.inst[n];
}

/* Decoding all of it for each patch takes most of the time: one of each kind
 * is, and the others must read like it. */
static struct kn_inst
patch_inst(struct kernel *k, uint32_t n, enum patch how, bool decoded)
{
    uint8_t *at = (uint8_t *)(uintptr_t)k->code +
                  (k->p.inst[n].pc - k->p.inst[0].pc);
    uint32_t word = patched(&k->p.inst[n], how);
    struct kn_inst i = k->p.inst[n], got;

    if (how == PATCH_WAIT || how == PATCH_BARRIER)
        i.op = KN_I_s_nop;
    i.vm = (uint8_t)(i.vm + (how == PATCH_VM));
    i.lgkm = (uint8_t)(i.lgkm + (how == PATCH_LGKM));
    if (!decoded)
        return i;
    memcpy(at, &word, 4);
    got = read_patched(k, n);
    memcpy(at, k->p.inst[n].raw, 4);
    assert_int_equal(got.op, i.op);
    if (got.op == KN_I_s_waitcnt) {
        assert_int_equal(got.vm, i.vm);
        assert_int_equal(got.lgkm, i.lgkm);
    }
    return got;
}

static void
try_patch(struct result *r, struct kernel *k, uint32_t n, enum patch how)
{
    struct kn_inst keep = k->p.inst[n];
    struct kn_check_result found;
    struct kn_slots slots;
    bool claim = false;

    k->p.inst[n] = patch_inst(k, n, how, !r->made[how]++);
    assert_int_equal(kn_check_program(k->c, &k->p, &k->slots, &found),
                     KILN_OK);
    if (!found.nfindings)
        claim = kn_cert_read(k->c, k->g.certificate, strlen(k->g.certificate),
                             &k->p, &slots) == KILN_FINDING;
    memset(&k->c->err, 0, sizeof k->c->err);
    k->p.inst[n] = keep;
    r->replay[how] += found.nfindings > 0;
    r->claim[how] += claim;
    if (claim || found.nfindings)
        return;
    r->missed++;
    print_message("# missed: %s of %s at 0x%llx\n", patch_text[how],
                  k->g.name, (unsigned long long)keep.pc);
}

static void
one_kernel(void *user, const struct made *m)
{
    struct result *r = user;
    unsigned lacks = r->lacks_row;
    struct kernel k;

    if (!order_is_new(r->seen, m))
        return;
    if (!build(&k, m, &r->lacks_row)) {
        r->refused += lacks == r->lacks_row;
        return;
    }
    r->kernels++;
    r->by[m->config->lowering]++;
    for (uint32_t n = 0; n < k.p.n; n++)
        for (int how = 0; how < PATCH_KINDS; how++)
            if (applies(&k.p.inst[n], (enum patch)how))
                try_patch(r, &k, n, (enum patch)how);
}

/* One in so many, or what was asked for. */
static struct kernels share = { .of = 797, .shard = 3 };

static void
patched_bytes_are_found(void **state)
{
    static struct digests seen;
    struct result r = { .seen = &seen };
    struct kernels k = share;
    unsigned made = 0, replay = 0;

    (void)state;
    k.kernel = one_kernel;
    k.user = &r;
    each_main(&k);
    for (int how = 0; how < PATCH_KINDS; how++) {
        made += r.made[how];
        replay += r.replay[how];
        print_message("#   %-20s %6u made %6u broken order %5u covered by "
                      "another\n", patch_text[how], r.made[how],
                      r.replay[how], r.claim[how]);
        assert_true(r.replay[how] > 0);
    }
    print_message("# %u kernels, %u of them by the assembly lowering, %u "
                  "patches: the check with certificate fails for %u; without "
                  "its list of waits the replay alone for %u\n", r.kernels,
                  r.by[KN_LOWERING_ASM], made, made - r.missed, replay);
    assert_int_equal(r.missed, 0);
    assert_int_equal(k.refused + r.refused, 0);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patched_bytes_are_found),
    };

    take_share(&share, argc, argv);
    return cmocka_run_group_tests_name("proof-bytes", tests, NULL, NULL);
}
