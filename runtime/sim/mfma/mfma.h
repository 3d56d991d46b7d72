/* mfma.h - matrix instructions: shapes, register layouts, arithmetic models.
 *
 * A job is one executed instruction with its operands resolved to register
 * rows; kn_mfma_run needs no wave, so that tests can drive it directly.
 * docs/sim-mfma.md states the models and where they come from. */
#ifndef KN_MFMA_H
#define KN_MFMA_H

#include "../machine.h"
#include "../num.h"

/* F8F6F4 stands for the format that cbsz (A) or blgp (B) names. */
enum kn_mfma_type {
    KN_MT_F64, KN_MT_F32, KN_MT_XF32, KN_MT_F16, KN_MT_BF16, KN_MT_FP8,
    KN_MT_BF8, KN_MT_I8, KN_MT_F8F6F4
};

enum kn_mfma_targets {
    KN_MF_GFX942 = 1 << KILN_GFX942,
    KN_MF_GFX950 = 1 << KILN_GFX950,
    KN_MF_BOTH = KN_MF_GFX942 | KN_MF_GFX950
};

/* A row of mfma.def. */
struct kn_mfma {
    const char *mnemonic;
    uint8_t m, n, k, blocks;
    uint8_t a, b;            /* enum kn_mfma_type */
    uint8_t targets;         /* enum kn_mfma_targets */
    bool sparse;
};
extern const struct kn_mfma kn_mfma_rows[];
extern const unsigned kn_mfma_nrows;

/* The row of a mnemonic, or of an instruction (row of isa.def), on a target;
 * NULL if it has no such instruction. */
const struct kn_mfma *kn_mfma_find(kiln_target t, const char *mnemonic);
const struct kn_mfma *kn_mfma_of(kiln_target t, unsigned op);

kn_exec_fn kn_exec_mfma;

/* Multiplications of one execution. */
static inline uint64_t
kn_mfma_macs(const struct kn_mfma *r)
{
    return (uint64_t)r->m * r->n * r->k * r->blocks / (r->sparse ? 2 : 1);
}

enum {
    KN_MFMA_MAXK = 128,
    KN_MFMA_MAXM = 32,
    KN_MFMA_MAXD = 32,
    KN_MFMA_MAXREGS = 8      /* of A or B */
};

typedef uint32_t kn_vreg_row[KN_LANES];

/* An operand decoded for the sum of products near 1 (mfma_narrow.h), and the
 * registers it was decoded from: a main loop multiplies each operand by many. */
struct kn_mfma_side {
    uint64_t key;            /* format and layout; 0: holds nothing */
    bool near;               /* false: out of that range, f and e hold any */
    unsigned rows;
    int max_e, min_e;        /* of those that are not zero */
    kn_vreg_row raw[KN_MFMA_MAXREGS];
    float f[KN_MFMA_MAXK * 16] __attribute__((aligned(64)));
    int8_t e[KN_MFMA_MAXK * 16] __attribute__((aligned(64)));
};
/* As many operands at a time; one by its registers' address. NULL: no memory. */
enum { KN_MFMA_SIDES = 64 };
struct kn_mfma_side *kn_mfma_sides_new(void);

struct kn_mfma_job {
    const struct kn_mfma *row;
    kiln_target target;
    enum kn_mfma_model model;
    const kn_vreg_row *a, *b;
    const kn_vreg_row *c;    /* NULL: every element of C is c_const */
    uint64_t c_const;
    const uint32_t *sa, *sb; /* scaled form: one word for each lane */
    uint8_t sa_byte, sb_byte;
    const uint32_t *index;   /* sparse form: which 2 of 4, for each lane */
    uint8_t cbsz, abid, blgp;
    uint8_t neg;             /* f64: bit 0 negates A, 1 B, 2 C */
    bool clamp;              /* MODE.FP16_OVFL: overflow gives the largest */
    bool flush;              /* MODE: f32 A and B denormals are zero */
    kn_vreg_row *d;          /* may overlap a, b and c */
    struct kn_mfma_side *sides; /* KN_MFMA_SIDES, of one thread; NULL: none */
};

/* Registers of each operand. */
unsigned kn_mfma_aregs(const struct kn_mfma_job *j);
unsigned kn_mfma_bregs(const struct kn_mfma_job *j);
unsigned kn_mfma_dregs(const struct kn_mfma *r);

/* NULL, or what the instruction asks for that it does not have. */
const char *kn_mfma_check(const struct kn_mfma_job *j);

/* Executes a job that kn_mfma_check accepts. */
void kn_mfma_run(const struct kn_mfma_job *j);

/* The same without the vector kernels: the scalar statement of the model. */
void kn_mfma_run_scalar(const struct kn_mfma_job *j);

/* A vector kernel takes this job, unless its operands leave the range where
 * it is exact. */
bool kn_mfma_is_vector(const struct kn_mfma_job *j);

/* Where an element lives: A by (row, k), B by (column, k). k counts stored
 * elements, so that sparse A has k/2 of them. */
struct kn_mfma_layout {
    uint8_t rows, blocks;
    uint8_t kl;              /* consecutive k in one lane (in one half) */
    uint8_t half;            /* 0, or the k where the second half begins */
};
struct kn_mfma_at {
    uint8_t lane, element;
};
struct kn_mfma_layout kn_mfma_layout_a(const struct kn_mfma_job *j);
struct kn_mfma_layout kn_mfma_layout_b(const struct kn_mfma_job *j);
struct kn_mfma_at kn_mfma_locate(const struct kn_mfma_layout *l, unsigned row,
                                 unsigned k, unsigned block);
/* D and C: lane, and which element (an element of f64 is two registers). */
struct kn_mfma_at kn_mfma_locate_d(const struct kn_mfma *r, unsigned i,
                                   unsigned j, unsigned block);

/* Format of an operand below 32 bits. */
enum kn_num kn_mfma_format(const struct kn_mfma_job *j, bool b);
unsigned kn_mfma_bits(const struct kn_mfma_job *j, bool b);

/* E8M0 byte of row (or column) i, K block q; 127 for the unscaled form. */
uint8_t kn_mfma_scale(const struct kn_mfma_job *j, bool b, unsigned i,
                      unsigned q);

/* One product sum by the scalar model: a decoded operand element. */
enum kn_mfma_kind { KN_MK_FINITE, KN_MK_INF, KN_MK_NAN };
struct kn_mfma_el {
    int32_t sig;             /* signed significand, frac bits of its format */
    int16_t e;               /* exponent; -126 for zero in every format */
    uint8_t kind;            /* enum kn_mfma_kind; Inf has its sign in sig */
};

/* n products of one output element, k ascending, and their C. */
struct kn_mfma_sum {
    unsigned n, group;       /* group: products that are aligned together */
    unsigned frac;           /* fractional bits of a product */
    bool split;              /* even and odd k apart (8-bit and smaller) */
    bool clamp;
    const struct kn_mfma_el *a, *b;
    const int16_t *scale;    /* exponent added to each product, or NULL */
};
/* An overflow: the largest finite value when clamped. */
static inline float
kn_mfma_overflow(bool clamp, bool negative)
{
    return kn_bits_f32((clamp ? 0x7f7fffffu : 0x7f800000u) |
                       (uint32_t)negative << 31);
}
float kn_mfma_sum_cdna3(const struct kn_mfma_sum *s, float c);

/* mfma_vec_*.c - the vector kernels, one for each instruction set. Each returns
 * false, having written nothing, for operands outside its exact range. */

/* D may overlap nothing. */
typedef bool kn_mfma_kernel(const struct kn_mfma_job *j, kn_vreg_row *d);

kn_mfma_kernel kn_mfma_avx512, kn_mfma_avx2, kn_mfma_base;

/* The widest kernel of this CPU, and which ones it can run. */
enum kn_mfma_isa { KN_MFMA_BASE, KN_MFMA_AVX2, KN_MFMA_AVX512, KN_MFMA_NISAS };
kn_mfma_kernel *kn_mfma_select(enum kn_mfma_isa isa);

#endif
