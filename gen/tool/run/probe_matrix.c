/* probe_matrix.c - matrix instructions as probes: A, B, C and scales from the
 * input, a register after the other, D to the output. */
#include "../../../runtime/sim/mfma/mfma.h"
#include "probe.h"

#include <math.h>
#include <string.h>

/* Registers of the operands. */
enum { V_A = 32, V_B = 40, V_D = 48, V_SCALE = 64 };

enum { F8F6F4_FORMATS = 5, E8M0_ONE = 127 };

static bool
is_scaled(const struct kn_mfma *r)
{
    return !strncmp(r->mnemonic, "v_mfma_scale", strlen("v_mfma_scale"));
}

/* What kiln emits or may: one block, dense, an f32 or i32 sum; f8f6f4 in its
 * scaled form. */
static bool
is_probed(const struct kn_mfma *r, kiln_target t)
{
    return r->targets >> t & 1 && r->blocks == 1 && !r->sparse &&
           r->a != KN_MT_F64 && (r->a != KN_MT_F8F6F4 || is_scaled(r));
}

static const char *
name_of(struct kn_ctx *c, const struct kn_mfma_job *m)
{
    static const char *const formats[F8F6F4_FORMATS] = { "fp8", "bf8", "fp6",
                                                         "bf6", "fp4" };
    struct kn_buf b = { .c = c };

    kn_put(&b, m->row->mnemonic);
    if (m->row->a == KN_MT_F8F6F4)
        kn_putf(&b, "-%s-%s", formats[m->cbsz], formats[m->blgp]);
    return b.s;
}

static void
add_row(struct kn_ctx *c, kiln_target t, const struct kn_mfma *r,
        struct kn_probes *out)
{
    unsigned formats = r->a == KN_MT_F8F6F4 ? F8F6F4_FORMATS : 1;

    for (unsigned a = 0; a < formats; a++)
        for (unsigned b = 0; b < formats; b++) {
            struct kn_probe *p = &out->p[out->n++];
            struct kn_mfma_job *m = KN_NEW(c, struct kn_mfma_job, 1);

            *m = (struct kn_mfma_job){ .row = r, .target = t,
                                       .cbsz = (uint8_t)a,
                                       .blgp = (uint8_t)b };
            *p = (struct kn_probe){
                .name = name_of(c, m),
                .target = t, .groups = 1, .out = kn_mfma_dregs(r) * KN_LANES,
                .says = "lanes as docs/sim-mfma.md has them, sums by its "
                        "model cdna3",
                .matrix = m,
            };
        }
}

size_t
kn_probe_matrices_most(void)
{
    return (size_t)kn_mfma_nrows * F8F6F4_FORMATS * F8F6F4_FORMATS;
}

void
kn_probe_matrices(struct kn_ctx *c, kiln_target t, struct kn_probes *out)
{
    for (unsigned i = 0; i < kn_mfma_nrows; i++)
        if (is_probed(&kn_mfma_rows[i], t))
            add_row(c, t, &kn_mfma_rows[i], out);
}

/* ---- its instructions --------------------------------------------------- */

static void
put_registers(struct kn_buf *b, unsigned first, unsigned n)
{
    if (n == 1)
        kn_putf(b, "v%u", first);
    else
        kn_putf(b, "v[%u:%u]", first, first + n - 1);
}

static void
put_loads(struct kn_buf *b, unsigned first, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        kn_putf(b, "global_load_dword v%u, v1, s[4:5]\n"
                "s_add_u32 s4, s4, 0x100\ns_addc_u32 s5, s5, 0\n", first + i);
}

static void
put_instruction(struct kn_buf *b, const struct kn_mfma_job *m)
{
    unsigned d = kn_mfma_dregs(m->row);

    kn_putf(b, "%s ", m->row->mnemonic);
    put_registers(b, V_D, d);
    kn_put(b, ", ");
    put_registers(b, V_A, kn_mfma_aregs(m));
    kn_put(b, ", ");
    put_registers(b, V_B, kn_mfma_bregs(m));
    kn_put(b, ", ");
    put_registers(b, V_D, d);
    if (is_scaled(m->row))
        kn_putf(b, ", v%u, v%u op_sel_hi:[0,0,0] cbsz:%u blgp:%u", V_SCALE,
                V_SCALE + 1, m->cbsz, m->blgp);
    kn_put(b, "\n");
}

void
kn_probe_matrix_text(const struct kn_probe *p, struct kn_buf *b)
{
    const struct kn_mfma_job *m = p->matrix;
    unsigned d = kn_mfma_dregs(m->row);

    put_loads(b, V_A, kn_mfma_aregs(m));
    put_loads(b, V_B, kn_mfma_bregs(m));
    put_loads(b, V_D, d);
    if (is_scaled(m->row))
        put_loads(b, V_SCALE, 2);
    kn_put(b, "s_waitcnt vmcnt(0)\n");
    put_instruction(b, m);
    kn_put(b, "s_nop 15\ns_nop 15\n");
    for (unsigned i = 0; i < d; i++)
        kn_putf(b, "buffer_store_dword v%u, v1, s[16:19], 0 offen "
                "offset:%u\n", V_D + i, i * 256);
}

/* ---- its operands ------------------------------------------------------- */

struct draw {
    uint64_t state;
    bool exact;
};

/* splitmix64 */
static uint32_t
draw(struct draw *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 16);
}

/* An f32: an integer, or any of 2^-8 to 2^8. */
static uint32_t
draw_f32(struct draw *r)
{
    uint32_t u = draw(r);

    if (r->exact)
        return kn_f32_bits((float)((int)(u % 33) - 16));
    return (u & 0x807fffffu) | (119 + draw(r) % 17) << 23;
}

/* Of a format below 32 bits: an integer, or any finite number that is near 1
 * where the format has room for others. */
static uint32_t
draw_code(struct draw *r, enum kn_num format)
{
    const struct kn_num_format *f = &kn_num_format[format];
    uint32_t code;

    if (r->exact)
        return kn_num_rne(format, (float)((int)(draw(r) % 5) - 2));
    if (f->bits == 16)
        return kn_num_rne(format, kn_bits_f32(draw_f32(r)));
    do
        code = draw(r) & ((1u << f->bits) - 1);
    while (!isfinite(kn_num_to_f64(format, code)));
    return code;
}

static uint32_t
draw_element(struct draw *r, const struct kn_mfma_job *m, bool b)
{
    enum kn_mfma_type t = (enum kn_mfma_type)(b ? m->row->b : m->row->a);

    if (t == KN_MT_F32 || t == KN_MT_XF32)
        return draw_f32(r);
    if (t == KN_MT_I8)
        return draw(r) & (r->exact ? 0x83 : 0xff);
    return draw_code(r, kn_mfma_format(m, b));
}

/* Elements of one lane, a bit stream over its registers. */
static void
draw_lane(struct draw *r, const struct kn_mfma_job *m, bool b, uint32_t *word)
{
    unsigned regs = b ? kn_mfma_bregs(m) : kn_mfma_aregs(m);
    unsigned bits = kn_mfma_bits(m, b);

    for (unsigned at = 0; at < regs * 32; at += bits) {
        uint64_t v = (uint64_t)draw_element(r, m, b) << at % 32;

        word[at / 32 * KN_LANES] |= (uint32_t)v;
        if (at % 32 + bits > 32)
            word[(at / 32 + 1) * KN_LANES] |= (uint32_t)(v >> 32);
    }
}

static uint32_t
draw_c(struct draw *r, const struct kn_mfma *row)
{
    return row->a == KN_MT_I8 ? draw(r) >> 12 : draw_f32(r);
}

static uint32_t
draw_scale(struct draw *r)
{
    return r->exact ? E8M0_ONE + draw(r) % 2 : E8M0_ONE - 4 + draw(r) % 9;
}

void
kn_probe_matrix_input(struct kn_ctx *c, struct kn_probe *p, bool exact)
{
    const struct kn_mfma_job *m = p->matrix;
    unsigned a = kn_mfma_aregs(m), b = kn_mfma_bregs(m);
    unsigned d = kn_mfma_dregs(m->row);
    struct draw r = { .state = exact, .exact = exact };
    uint32_t *w = p->in = KN_NEW(c, uint32_t, KN_PROBE_IN);

    p->nin = KN_PROBE_IN;
    for (const char *s = p->name; *s; s++)
        r.state = r.state * 131 + (uint8_t)*s;
    for (unsigned lane = 0; lane < KN_LANES; lane++) {
        draw_lane(&r, m, false, w + lane);
        draw_lane(&r, m, true, w + a * KN_LANES + lane);
        for (unsigned i = 0; i < d; i++)
            w[(a + b + i) * KN_LANES + lane] = draw_c(&r, m->row);
        for (unsigned i = 0; i < 2; i++)
            w[(a + b + d + i) * KN_LANES + lane] = draw_scale(&r);
    }
}
