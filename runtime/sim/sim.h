/* sim.h - the ISA-level simulator as a device: memory, code objects, launch.
 *
 * Executes the emitted code object itself. Results of asynchronous operations
 * become visible as late as the waits allow (default), so a missing fence is
 * a report and a wrong number, deterministically. Depends on ir/base.h and
 * emit/isa only. */
#ifndef KN_SIM_H
#define KN_SIM_H

#include "../../emit/isa/isa.h"

struct kn_sim;               /* one simulated device; one host thread at a time */
struct kn_sim_code;          /* a loaded code object */

enum kn_sim_order { KN_ORDER_LATEST, KN_ORDER_EARLIEST, KN_ORDER_RANDOM };
enum kn_sim_waves { KN_WAVES_ADVERSARIAL, KN_WAVES_RR, KN_WAVES_RANDOM };

/* How the products of one matrix instruction become its result.
 * CDNA3: the published bit-exact model of CDNA3 (arXiv 2511.10909); on gfx950
 * the same rules with the same numbers, extended to its own instructions.
 * FUSED: all products and C added in f64, one rounding to f32.
 * CHAIN: one f64 addition and one rounding to f32 for each k. */
enum kn_mfma_model { KN_MFMA_CDNA3, KN_MFMA_FUSED, KN_MFMA_CHAIN };

enum kn_mem_flags {
    KN_MEM_OUTPUT = 1,       /* starts poisoned; bytes never written are found */
    KN_MEM_READONLY = 2,     /* a store into it is a finding */
    KN_MEM_BLANK = 4         /* an observed launch reads zero from it and
                                drops its stores: no host memory */
};

/* Fills bytes [offset, offset+size) of an allocation on first touch. Pure:
 * may be called in any order, from any worker thread, more than once. */
typedef void (*kn_fill_fn)(void *user, uint64_t offset, void *dst, size_t size);

/* The fill of memory that starts as zeros. */
void kn_sim_zeros(void *user, uint64_t offset, void *dst, size_t size);

kiln_status kn_sim_open(struct kn_ctx *c, kiln_target target,
                        struct kn_sim **out);
void kn_sim_close(struct kn_sim *s);
/* A device with the memory of `s` as it is, at the same addresses: launches
 * there leave `s` alone. `s` must stay and be idle until it is closed. */
kiln_status kn_sim_shadow(struct kn_ctx *c, struct kn_sim *s,
                          struct kn_sim **out);

/* Device memory, lazily backed by pages, guard zones between allocations.
 * fill == NULL: reads of never-written bytes are uninitialised (poison).
 * The address is at least 256-byte aligned. size may exceed host memory. */
kiln_status kn_sim_alloc(struct kn_sim *s, uint64_t size, unsigned flags,
                         kn_fill_fn fill, void *user, uint64_t *addr);
kiln_status kn_sim_free(struct kn_sim *s, uint64_t addr);
/* Bytes of all allocations. */
uint64_t kn_sim_size(const struct kn_sim *s);
kiln_status kn_sim_write(struct kn_sim *s, uint64_t addr, const void *src,
                         size_t n);
kiln_status kn_sim_read(struct kn_sim *s, uint64_t addr, void *dst, size_t n);
/* 1 if every byte of the range was written by a kernel or kn_sim_write. */
int kn_sim_written(struct kn_sim *s, uint64_t addr, size_t n);
/* Number of bytes of an OUTPUT allocation no kernel has written. */
uint64_t kn_sim_unwritten(struct kn_sim *s, uint64_t addr);

kiln_status kn_sim_load(struct kn_sim *s, const char *name, const void *bytes,
                        size_t size, struct kn_sim_code **out);
void kn_sim_unload(struct kn_sim *s, struct kn_sim_code *code);
/* Code loaded on a device, for launches on its shadow, as long as that. */
kiln_status kn_sim_adopt(struct kn_sim *shadow, const struct kn_sim_code *code,
                         struct kn_sim_code **out);
const struct kn_object *kn_sim_object(const struct kn_sim_code *code);
/* What its virtual addresses are to be added to for an address in memory. */
uint64_t kn_sim_base(const struct kn_sim_code *code);

/* Which workgroups run: all, or the listed linear ids. */
struct kn_sim_select {
    bool all;
    const uint64_t *ids;
    size_t n;
};

/* The addresses of one memory instruction. */
struct kn_sim_access {
    uint64_t mask;           /* lanes that really access */
    unsigned bytes;          /* of each lane */
    bool write, dma;         /* dma: memory to LDS */
    const uint32_t *lds;     /* [64], or NULL */
    const uint64_t *mem;     /* [64], or NULL */
    const uint32_t *into;    /* [64], where in LDS a dma puts each lane */
};

/* An observer of a launch (the timing model). Such a launch runs on the
 * calling thread. `access` comes before the `inst` of the same instruction,
 * twice for an instruction of two addresses. */
struct kn_sim_tap {
    void *user;
    bool skip_mfma;          /* leave the results of matrix operations out */
    bool alone;              /* barriers wait for nobody */
    bool lean;               /* leave out what reaches no address and no
                                branch, and judge nothing */
    bool no_lds;             /* leave out what only LDS would see, if lean */
    const bool *blind;       /* [waves]: of these `access` is not wanted, if
                                lean; read before each instruction. NULL: of
                                none */
    void (*group)(void *user, uint64_t linear);
    bool (*inst)(void *user, uint32_t wave, uint32_t inst); /* false: end it */
    void (*access)(void *user, uint32_t wave, const struct kn_sim_access *a);
};

/* Instructions of a wave after which a launch is stopped, unless it says
 * otherwise: the longest of a GEMM with K of a million takes a hundredth. */
#define KN_SIM_STEPS ((uint64_t)1 << 28)

struct kn_sim_launch {
    const struct kn_sim_code *code;
    const char *kernel;      /* NULL: the only one */
    uint32_t grid[3];        /* workgroups */
    uint32_t block[3];       /* work-items */
    const void *kernarg;     /* copied; hidden arguments are filled in */
    size_t kernarg_size;
    uint32_t dynamic_lds;
    uint32_t stack;          /* least bytes of scratch a lane, of a kernel that
                                calls what its maker does not know; 0: 1024 */
    uint64_t printf_buffer;  /* device address, for hidden_printf_buffer */
    struct kn_sim_select select;
    enum kn_sim_order order;
    enum kn_sim_waves waves;
    enum kn_mfma_model mfma;
    bool own;                /* kiln made the kernel, whatever its name: no
                                finding is advice */
    uint64_t seed;           /* for the random orders */
    unsigned threads;        /* 0: as many as the machine has */
    uint64_t max_steps;      /* instructions per wave; 0: KN_SIM_STEPS */
    double max_seconds;      /* of the launch; 0: no limit */
    unsigned max_findings;   /* kept; 0: 64. The total is always counted */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *progress_user;
    const struct kn_sim_tap *tap; /* NULL: nobody watches */
};

/* X(id, text): what the simulator reports. */
#define KN_FINDINGS(X) \
    X(USE_BEFORE_WAIT, "use before wait") \
    X(LDS_RACE_RAW, "LDS race: read after write") \
    X(LDS_RACE_WAR, "LDS race: write after read") \
    X(LDS_RACE_WAW, "LDS race: write after write") \
    X(LDS_REFILL, "LDS refill of bytes still needed") \
    X(UNINIT_LDS, "uninitialised LDS read") \
    X(UNINIT_REG, "uninitialised register") \
    X(UNINIT_MEM, "uninitialised memory read") \
    X(WAIT_STATES, "missing wait states") \
    X(BAD_ADDRESS, "access outside any buffer") \
    X(READONLY_STORE, "store to a read-only buffer") \
    X(SOFFSET_RULE, "SRD range verdict depends on the soffset rule") \
    X(MISALIGNED, "misaligned access") \
    X(LDS_RANGE, "LDS access outside the workgroup's allocation") \
    X(BARRIER, "barrier divergence or deadlock") \
    X(RUNAWAY, "stopped at a limit") \
    X(UNWRITTEN, "output bytes never written") \
    X(SRD_EDGE, "SRD range verdict that no manual settles")

enum kn_finding_kind {
#define X(id, text) KN_F_##id,
    KN_FINDINGS(X)
#undef X
    KN_NFINDINGS
};

struct kn_finding {
    enum kn_finding_kind kind;
    enum kn_severity severity;
    uint64_t pc;             /* virtual address in the code object */
    uint64_t workgroup;      /* linear id */
    uint32_t wave, lane;
    uint64_t address;        /* memory or LDS address, or register number */
    uint64_t other_pc;       /* the conflicting access; 0 if none */
    uint32_t other_wave;
    uint32_t count;          /* equal findings folded into this one */
    char text[160];          /* one sentence: instruction, counters, ... */
    char place[56];          /* tile-IR line, filled in by who knows it */
};

/* How far the bits of a matrix instruction can be trusted: as the hardware,
 * by a model of other hardware, by an assumption. docs/sim-mfma.md. */
enum kn_quality { KN_Q_EXACT, KN_Q_MODELLED, KN_Q_UNVERIFIED };
struct kn_sim_mfma {
    const char *mnemonic;
    enum kn_quality quality;
};

struct kn_sim_result {
    const char *kernel;      /* its name, in the code object */
    uint64_t workgroups, waves, instructions, macs;
    uint64_t srd_oob_loads, srd_oob_stores;  /* lanes; normal at edges */
    double seconds;
    const char *stopped;     /* at a limit: which, and where a wave was; the
                                launch is no answer. NULL: it ended */
    uint64_t nfindings;      /* all of them, kept or not, without advice */
    uint64_t nadvice;
    unsigned nkept;
    struct kn_finding *findings;  /* in the context's arena; advice last */
    unsigned mfma_exact, mfma_modelled, mfma_unverified; /* distinct opcodes */
    struct kn_sim_mfma *mfma; /* those opcodes, nmfma of them, by first pc */
    unsigned nmfma;
};

/* After the launches that write it: the finding for an OUTPUT allocation at
 * `addr`, `name` for the user, with the address of its first byte that no
 * kernel has written; false if there is none. */
bool kn_sim_find_unwritten(struct kn_sim *s, uint64_t addr, const char *name,
                           struct kn_finding *f);

/* Runs the selected workgroups. OK: it ran (look at nfindings);
 * UNSUPPORTED: an instruction or modifier nobody implemented, named;
 * BAD_INPUT: launch that the hardware would refuse. The error is in the
 * context given to kn_sim_open. Same result for any thread count. */
kiln_status kn_sim_run(struct kn_sim *s, const struct kn_sim_launch *l,
                       struct kn_sim_result *r);

#endif
