/* core.h - what the memory, asynchrony and launch files of the simulator share
 * beyond machine.h. Arithmetic (exec_valu, exec_mfma, ...) never needs it. */
#ifndef KN_CORE_H
#define KN_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "memop.h"

/* findings.c - storage of findings and the first error of a launch. */

struct kn_finding_entry {
    struct kn_finding finding;
    uint32_t inst;           /* index; UINT32_MAX: none */
    uint32_t order;          /* ordinal of discovery in this worker */
    uint64_t group_index;    /* position of the workgroup in the selection */
};

struct kn_findings {
    struct kn_finding_entry *item;
    size_t n, cap;
    uint32_t next_order;
    uint64_t group_index;    /* of the workgroup that is running */
    bool lost;               /* the host ran out of memory */
};

/* Stops the launch; of several the first selected workgroup's error wins. */
void kn_run_fail(struct kn_wave *w, kiln_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void kn_findings_free(struct kn_findings *f);
void kn_findings_merge(struct kn_findings *to, const struct kn_findings *from);
/* Sorts by severity, workgroup and discovery; at most max go to the result. */
void kn_findings_deliver(struct kn_ctx *c, struct kn_findings *f, unsigned max,
                         struct kn_sim_result *r);

/* ---- device memory (memory.c) ------------------------------------------ */

enum {
    KN_PAGE_SHIFT = 16,
    KN_PAGE_SIZE = 1 << KN_PAGE_SHIFT,
    KN_TLB = 64
};
enum { KN_MAP_INIT = 1, KN_MAP_KERNEL = 2 }; /* per byte, see kn_page.map */

struct kn_page {
    uint64_t base;           /* device address of data[0] */
    uint32_t lo, hi;         /* bytes of the page inside the allocation */
    uint8_t *map;            /* NULL: every byte defined, nobody counts */
    bool readonly, counted;  /* counted: who wrote a byte is asked for */
    _Alignas(64) uint8_t data[KN_PAGE_SIZE + 64]; /* may be over-read by 16 */
};

enum { KN_LEAF = 512 };      /* pages of a page-table leaf */
#define KN_LEAF_BYTES ((uint64_t)KN_LEAF << KN_PAGE_SHIFT)
struct kn_leaf {
    _Atomic(struct kn_page *) page[KN_LEAF];
};

struct kn_region {            /* one allocation */
    uint64_t addr, size;
    unsigned flags;
    kn_fill_fn fill;
    void *user;
    size_t nleaves;
    _Atomic(struct kn_leaf *) *leaf;
};

struct kn_sim {
    struct kn_ctx *c;
    kiln_target target;
    struct kn_region **block; /* by ascending address */
    size_t nblocks, cap;
    uint64_t next;           /* first address never handed out */
    struct kn_group_store *idle; /* of earlier launches, all of one shape */
};

/* Caches of one host thread. */
struct kn_worker {
    struct kn_run *run;
    struct {
        uint64_t number;     /* page number, 0 = empty */
        struct kn_page *page;
    } tlb[KN_TLB];
    struct kn_findings *findings;
    struct kn_group group;
    struct kn_group_store *store; /* reusable storage of `group` */
    uint64_t instructions, macs, waves, groups;
    uint64_t srd_oob_loads, srd_oob_stores;
    bool out_of_memory;
    bool first;              /* the calling thread: reports progress */
};

/* Page of a device address, NULL outside every allocation. */
struct kn_page *kn_page_fault(struct kn_worker *k, uint64_t addr);

static inline struct kn_page *
kn_page_of(struct kn_worker *k, uint64_t addr)
{
    uint64_t number = addr >> KN_PAGE_SHIFT;
    unsigned slot = number % KN_TLB;

    if (k->tlb[slot].number == number)
        return k->tlb[slot].page;
    return kn_page_fault(k, addr);
}

/* Does the page hold n bytes at addr? */
static inline bool
kn_page_holds(const struct kn_page *p, uint64_t addr, unsigned n)
{
    uint64_t off = addr - p->base;

    return off >= p->lo && off + n <= p->hi;
}

enum kn_access { KN_A_OK, KN_A_UNMAPPED, KN_A_READONLY };

/* n <= 64 bytes; *undef is set if none of them was ever written. */
enum kn_access kn_mem_load(struct kn_worker *k, uint64_t addr, void *dst,
                           unsigned n, bool *undef);
enum kn_access kn_mem_store(struct kn_worker *k, uint64_t addr,
                            const void *src, unsigned n);
/* Pointer for an atomic of n naturally aligned bytes; marks them written. */
enum kn_access kn_mem_atomic(struct kn_worker *k, uint64_t addr, unsigned n,
                             void **p, bool *undef);
/* The allocation nearest to addr, NULL if there is none. */
/* The allocation an address is in, and its page i if somebody touched it;
 * else NULL. */
struct kn_region *kn_block_at(const struct kn_sim *s, uint64_t addr);
struct kn_page *kn_page_known(struct kn_region *b, size_t i);
const struct kn_region *kn_block_near(const struct kn_sim *s, uint64_t addr);
/* kn_sim_alloc of launch-internal storage, and its release. */
kiln_status kn_block_add(struct kn_sim *s, uint64_t size, unsigned flags,
                         kn_fill_fn fill, void *user, uint64_t *addr);

/* ---- pre-decoded instruction (prepare.c) -------------------------------- */

enum { KN_MAXRANGE = 6 };

struct kn_range {            /* registers an instruction touches */
    uint16_t reg;
    uint8_t n;
    uint8_t role;            /* KN_R_* */
};
enum { KN_R_READ = 0, KN_R_WRITE = 1, KN_R_CIN = 2 /* MFMA C */ };

enum {                       /* kn_step.flags */
    KN_ST_MEM = 1,           /* destinations are defined when they arrive */
    KN_ST_ALL_LANES = 2,     /* reads and writes whatever EXEC says */
    KN_ST_BRANCH = 4,
    KN_ST_SCC_WRITE = 8,
    KN_ST_MFMA = 16,
    KN_ST_VECTOR = 32        /* VSKIP leaves it out */
};

enum kn_undef_rule {         /* how undefined inputs reach the outputs */
    KN_UR_NONE,              /* not at all: outputs count as defined */
    KN_UR_ANY,               /* a lane is undefined if any source is */
    KN_UR_ALL,               /* bit operations: only if every source is */
    KN_UR_SELECT,            /* v_cndmask: by the selected source */
    KN_UR_MFMA,              /* rows of A, columns of B, elements of C */
    KN_UR_LANE,              /* readlane, readfirstlane */
    KN_UR_SCC                /* s_cmp: SCC */
};

struct kn_step {
    kn_exec_fn *fn;
    uint8_t nv, ns;          /* ranges in v[], s[] */
    uint8_t flags;
    uint8_t undef_rule;
    uint8_t waits;           /* wait states it takes: s_nop N is N+1 */
    uint8_t produces;        /* hazard.c: what it may leave unsafe, */
    uint16_t rules;          /* and which rules look at it */
    /* MFMA: wait states until its result may be read, stored, used as C, as
     * the same C, until its C may be overwritten */
    struct kn_mfma_waits after;
    struct kn_range v[KN_MAXRANGE], s[KN_MAXRANGE];
    struct kn_memop mem;
    bool data;               /* only moves data: kn_slice_mark */
    const char *refused;     /* a field nobody implements, or NULL */
};

kiln_status kn_prepare(struct kn_ctx *c, const struct kn_program *p,
                       struct kn_step **out);
/* Sets `data` of the steps of p whose results reach no address and no branch
 * (slice.c); of none where that cannot be told. */
kiln_status kn_slice_mark(struct kn_ctx *c, const struct kn_program *p,
                          struct kn_step *step);

/* ---- launch-wide state (launch.c) --------------------------------------- */

struct kn_run {
    struct kn_sim *sim;
    const struct kn_sim_launch *l;
    const struct kn_program *program;
    const struct kn_object_kernel *kernel;
    struct kn_step *step;    /* parallel to program->inst */
    uint8_t *executed;       /* per instruction: some wave got there */
    uint64_t code_base, kernarg, dispatch, queue;
    uint8_t *kernarg_bytes;  /* as filled in, for the preload */
    uint32_t kernarg_size;
    uint32_t lds_size, nwaves, scratch_size;
    uint32_t nvreg;          /* no instruction names a VGPR from here on */
    uint64_t max_steps;
    double deadline;         /* of kn_seconds; 0: none */
    uint64_t code_lo, code_hi; /* the kernel's own, in device memory */
    uint64_t ngroups;        /* selected */
    _Atomic uint64_t next, finished, stop_at;
    pthread_mutex_t lock;    /* guards the first error */
    uint64_t error_group;
    kiln_status error;
    char error_text[256];
    uint64_t stopped_group;  /* the first that met a limit */
    char stopped[256];       /* where it was, "": nowhere */
};

static inline const struct kn_step *
kn_step_of(const struct kn_wave *w, const struct kn_inst *i)
{
    const struct kn_run *r = w->group->run;

    return &r->step[i - r->program->inst];
}

/* Does an observer that wants addresses alone let i leave its data out? */
static inline bool
kn_leaves_data(const struct kn_wave *w, const struct kn_step *st)
{
    const struct kn_sim_tap *tap = w->group->run->l->tap;

    return tap && tap->lean && st->data;
}

static inline uint32_t
kn_inst_index(const struct kn_wave *w, const struct kn_inst *i)
{
    return (uint32_t)(i - w->group->program->inst);
}

/* ---- asynchronous operations (async.c) ---------------------------------- */

enum {
    KN_VM_MAX = 63, KN_LGKM_MAX = 15, /* counter widths, CDNA3 ISA 4.4 */
    KN_VM_RING = 64, KN_DS_RING = 16, KN_OUT_OF_ORDER = 32
};

enum kn_op_kind {
    KN_OP_NONE,              /* store: occupies the counter, returns nothing */
    KN_OP_VGPR, KN_OP_SGPR, KN_OP_DMA
};

struct kn_op {
    uint8_t kind;
    uint8_t nreg;            /* destination dwords */
    uint8_t half;            /* KN_HALF_*: part of the dword written */
    uint8_t need;            /* counters that must still reach zero */
    bool committed;
    uint16_t reg;            /* first destination register, unified */
    uint32_t seq, inst;
    uint32_t stamp;          /* LDS writes: position in the shadow's order */
    uint64_t exec;
    uint8_t size;            /* DMA: bytes per lane */
    uint32_t lds[KN_LANES];  /* DMA: LDS address per lane */
    uint32_t data[4][KN_LANES]; /* [dword][lane]; SGPR: data[0][dword] */
};

struct kn_async {
    /* seq of the newest operation and of the newest retired one */
    uint32_t vm_seq, vm_done, ds_seq, ds_done;
    uint32_t vm_barrier, ds_barrier; /* *_done at the last barrier */
    uint32_t nloose;         /* entries of loose[] in use */
    uint64_t random;         /* state for KN_ORDER_RANDOM */
    struct kn_op vm[KN_VM_RING], ds[KN_DS_RING];
    struct kn_op loose[KN_OUT_OF_ORDER]; /* SMEM and FLAT; free: need 0 */
    uint8_t vcount[KN_NVREG + 16], scount[KN_NSREG]; /* pending writers */
};

void kn_async_reset(struct kn_async *a, uint64_t seed);
/* The next operation of a queue, after the stall a full counter causes. The
 * caller fills it and calls kn_op_issue. */
struct kn_op *kn_op_new(struct kn_wave *w, const struct kn_inst *i,
                        unsigned counters, bool ordered);
void kn_op_issue(struct kn_wave *w, struct kn_op *op);
void kn_wait(struct kn_wave *w, unsigned vm, unsigned lgkm);
/* Reads or overwrites of registers with results on their way. `mask`: the
 * lanes touched; `order`: counter in whose order the access itself is. */
void kn_check_vgpr(struct kn_wave *w, const struct kn_inst *i,
                   const struct kn_range *r, uint64_t mask, unsigned order);
void kn_check_sgpr(struct kn_wave *w, const struct kn_inst *i,
                   const struct kn_range *r);

/* ---- uninitialised values (undef.c) ------------------------------------- */

/* Before an instruction some operand of which is flagged: what its results
 * will be; afterwards: marks them. */
struct kn_undef_note {
    bool per_dword;          /* lanes[] differ: MFMA */
    uint64_t lanes[32];
    uint64_t mask;           /* lanes the instruction writes */
    struct kn_undef origin;
    bool scalar;
};
void kn_undef_before(struct kn_wave *w, const struct kn_inst *i,
                     const struct kn_step *st, struct kn_undef_note *n);
void kn_undef_after(struct kn_wave *w, const struct kn_step *st,
                    const struct kn_undef_note *n);
void kn_undef_branch(struct kn_wave *w, const struct kn_inst *i);
/* Of the lanes in mask, u.lanes become undefined (with u's origin) and the
 * rest defined. */
void kn_set_undef(struct kn_wave *w, unsigned reg, uint64_t mask,
                  struct kn_undef u);
/* Reports lanes in mask of registers that hold nothing; what: "address". */
void kn_require_vgpr(struct kn_wave *w, const struct kn_inst *i,
                     struct kn_range r, uint64_t mask, const char *what);
void kn_require_sgpr(struct kn_wave *w, const struct kn_inst *i, unsigned reg,
                     unsigned n, const char *what);
/* Lanes of n registers that hold nothing, all of them together. */
uint64_t kn_undef_lanes(const struct kn_wave *w, unsigned reg, unsigned n);

/* ---- LDS (lds.c) -------------------------------------------------------- */

enum kn_lds_kind { KN_L_WRITE, KN_L_ATOMIC, KN_L_DMA };

/* The LDS accesses of one instruction: `bytes` at addr[lane] for the lanes of
 * mask; out-of-range lanes leave the mask. buf is [64][16] bytes; undef: the
 * lanes whose dword k holds no defined value. The operation must have been
 * opened with kn_op_new before. */
struct kn_lds_access {
    uint64_t mask;
    unsigned bytes;
    enum kn_lds_kind kind;   /* of an update */
    uint32_t addr[KN_LANES];
    uint64_t undef[4];
    uint8_t buf[KN_LANES][16];
};

void kn_lds_reset(struct kn_group *g);
/* What a read by the wave's newest LDS instruction is noted as. */
uint16_t kn_lds_reader_mark(struct kn_wave *w);
/* From dword to byte granules. */
void kn_lds_refine(struct kn_group *g);
/* From now on reads of parts of dwords are told apart. */
void kn_lds_narrow(struct kn_group *g);
void kn_lds_barrier(struct kn_group *g);
/* A wait of a workgroup's only wave. */
void kn_lds_settle(struct kn_wave *w);
/* Drops lanes outside the allocation; refines if a granule is cut. */
void kn_lds_range(struct kn_wave *w, const struct kn_inst *i,
                  struct kn_lds_access *x);
void kn_lds_tap(struct kn_wave *w, const struct kn_lds_access *x, bool write);
void kn_lds_read(struct kn_wave *w, const struct kn_inst *i,
                 struct kn_lds_access *x);
/* Checks and marks an update; writes the bytes too if kind is WRITE. */
void kn_lds_update(struct kn_wave *w, const struct kn_inst *i,
                   struct kn_lds_access *x, struct kn_op *op);
/* An access whose bytes nobody wants: shows it to the observer. */
void kn_lds_touch(struct kn_wave *w, const struct kn_inst *i,
                  struct kn_lds_access *x, bool write);
/* The bytes of a DMA operation arrive. */
void kn_lds_commit(struct kn_wave *w, const struct kn_op *op);

struct kn_lds_op {           /* who made the writer stamp */
    uint16_t wave;
    uint8_t kind;            /* enum kn_lds_kind */
    uint32_t seq, inst;
};
enum { KN_LDS_OPS = 1 << 15, KN_LDS_READS = 1 << 12 };
#define KN_LDS_UNDEF 0x80000000u /* in a writer stamp: the data is undefined */

struct kn_lds_shadow {
    unsigned shift;          /* granule: 4 bytes (2), or 1 (0) */
    uint32_t n;              /* granules */
    uint32_t stamp, safe;    /* newest; all up to `safe` are ordered */
    uint32_t *writer;        /* [n], room for one per byte */
    uint16_t *reader;        /* [nwaves][n] ds_seq - read_base */
    bool narrow;             /* granules are dwords, but parts have been read: */
    uint16_t *wide;          /* [nwaves][n] as reader, of reads of all of one */
    uint16_t *part;          /* [nwaves][4 n] by byte, of reads of a part */
    uint32_t *read_base;     /* [nwaves] */
    uint32_t *last_read;     /* [nwaves] ds_seq of the newest read */
    uint32_t *read_inst;     /* [nwaves][KN_LDS_READS] by ds_seq */
    struct kn_lds_op *op;    /* [KN_LDS_OPS] by stamp */
};

/* ---- wait states (hazard.c) --------------------------------------------- */

/* A power of two of matrix instructions; none matters KN_HZ_FAR steps on. */
enum { KN_HZ_MFMA = 32, KN_HZ_FAR = 21, KN_HZ_RING = 8, KN_HZ_PRODUCERS = 8 };

struct kn_hazard_mfma {
    uint64_t at;             /* step after its issue; 0: empty */
    uint64_t until;          /* from this step on it does not matter */
    const struct kn_step *st;
    uint32_t inst;
    uint16_t op, d, nd, c, nc; /* registers of D and C */
};

struct kn_hazard {
    uint64_t until;          /* no MFMA matters from this step on */
    uint32_t lo, hi;         /* registers that those which do may hold */
    uint32_t head;           /* of mfma[] */
    struct kn_hazard_mfma mfma[KN_HZ_MFMA];
    uint64_t rare_until;     /* only VALU_VGPR's rules matter from here on */
    uint64_t last[KN_HZ_PRODUCERS]; /* step after the newest of each kind */
    uint32_t nrecent;
    struct {
        uint64_t at;
        uint32_t inst;
        uint8_t produces;
    } recent[KN_HZ_RING];    /* newest producers of short hazards */
};

/* Fills st->produces and st->rules. */
void kn_hazard_classify(kiln_target t, const struct kn_inst *i,
                        struct kn_step *st);
void kn_hazard_reset(struct kn_hazard *h);
/* Before and after the instruction at w->steps. */
void kn_hazard_check(struct kn_wave *w, const struct kn_inst *i,
                     const struct kn_step *st);
void kn_hazard_record(struct kn_wave *w, const struct kn_inst *i,
                      const struct kn_step *st);

/* ---- waves (wave.c) ----------------------------------------------------- */

/* Storage of one workgroup, sized for a launch, reused by one host thread. */
struct kn_group_store {
    struct kn_group_store *next; /* idle */
    uint32_t nwaves, lds_size, scratch_size;
    struct kn_wave *wave;
    uint32_t (*v)[KN_LANES];
    uint8_t *lds, *scratch;
    struct kn_async *async;
    struct kn_hazard *hazard;
    struct kn_lds_shadow shadow;
    struct kn_mfma_side *sides;
    bool failed;
};
/* Takes an idle store of the launch's shape or makes one; NULL: no memory. */
struct kn_group_store *kn_store_take(struct kn_run *r);
void kn_store_put(struct kn_sim *sim, struct kn_group_store *s);
void kn_store_free_idle(struct kn_sim *sim);
/* Runs all waves of g to their end. */
void kn_group_run(struct kn_group *g);

/* ---- launch (launch.c, setup.c) ----------------------------------------- */

struct kn_sim_code {
    struct kn_object object;
    uint64_t block, base;    /* device addresses */
    struct kn_kernel_cache { /* per kernel, made by the first launch */
        bool ready, sliced, calls;
        struct kn_program program, reach; /* reach: with what it calls */
        struct kn_step *step, *reach_step;
    } *cache;
};

/* BAD_INPUT for what the hardware or its driver would refuse. */
kiln_status kn_check_launch(struct kn_run *r);
/* Fills and maps the kernarg segment and the dispatch packet. */
kiln_status kn_map_arguments(struct kn_run *r);
void kn_unmap_arguments(struct kn_run *r);
/* Initial registers, LDS and queues of workgroup `linear`. */
void kn_group_init(struct kn_group *g, uint64_t linear);

#endif
