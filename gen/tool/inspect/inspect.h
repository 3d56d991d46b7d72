/* inspect.h - what the commands that look at kernels share: a kernel as read or
 * made, what its bytes say, and how that is shown. */
#ifndef KN_INSPECT_H
#define KN_INSPECT_H

#include "../../../emit/isa/diff.h"
#include "../run/session.h"

/* input.c - what info, diff, parity and report look at: a code object,
 * assembly text, or the kernel of a problem, decoded. */

struct kn_subject {
    const char *name;        /* as the user wrote it, or the kernel's */
    const uint8_t *bytes;    /* of a code object or relocatable object */
    size_t size;
    const char *cert;        /* its certificate's text, NULL: none */
    size_t cert_size;
    bool made;               /* from a problem: the next three are set */
    kiln_problem problem;
    struct kn_config config;
    int64_t *offs;           /* group offsets, NULL without groups */
    struct kn_object o;
    const struct kn_object_kernel *k;
    struct kn_program p;
    struct kn_cfg g;
    const char **place;      /* per instruction "gemm.tir:31 mfma" or NULL */
};

/* Makes a file's bytes, if they are an offload bundle, those of its code object
 * for `want` (0: for the only target of ours that it has). */
kiln_status kn_code_take(struct kn_ctx *c, const char *path, kiln_target want,
                         struct kn_bytes *file);

/* Reads a file of code, and takes that. */
kiln_status kn_code_read(struct kn_ctx *c, const char *path, kiln_target want,
                         struct kn_bytes *out);

/* The problem that the family `word` names with the command's flags; *offs: the
 * group offsets, where they are given, else NULL. */
kiln_status kn_subject_problem(struct kn_tool *t, const struct kn_cli *from,
                               const char *word, kiln_problem *p,
                               int64_t **offs);

/* Reads FILE.co or FILE.s, or generates the kernel of the family `word`
 * names with the command's problem flags (a file of that name goes first).
 * Sets everything down to `offs`. */
kiln_status kn_subject_read(struct kn_tool *t, const char *word,
                            struct kn_subject *s);

/* The same, and decodes the kernel --kernel names, or the only one. */
kiln_status kn_subject_open(struct kn_tool *t, const char *word,
                            struct kn_subject *s);

/* Kernel k of a subject that was read: program, control flow, places. */
kiln_status kn_subject_decode(struct kn_ctx *c, struct kn_subject *s,
                              const struct kn_object_kernel *k);

/* The text of every instruction, in LLVM's words. */
kiln_status kn_subject_listing(struct kn_ctx *c, const struct kn_subject *s,
                               const char ***out);

/* check_sums.c - `kilnc check FAMILY`. */

/* kn_launch_sums of this problem's launch. offs: of the groups, NULL without. */
kiln_status kn_check_sums(struct kn_ctx *c, const kiln_problem *p,
                          const int64_t *offs, const struct kn_generated *g,
                          struct kn_sums_facts *out);
kiln_status kn_check_problem(struct kn_tool *t, const char *word);

/* The same of a launch that `run` is about to make: FINDING, or the JSON says what
 * was followed. Nothing is said of a kernel without MFMAs, an object, or where the
 * order depends on what the launch does not say. */
kiln_status kn_run_sums(struct kn_tool *t, struct kn_json *j,
                        const kiln_problem *p, const int64_t *offs,
                        const struct kn_generated *g);

/* source_map.c - which template line and operation each instruction of a kernel
 * of kiln comes from ("loop_simple.tir:7 mfma", "compiler" for what LLVM
 * added), by its certificate. Nothing is known of other kernels. */

struct kn_places {
    struct kn_program p;
    const char **at;         /* per instruction, NULL where nobody says */
};

/* The text of PATH.cert beside a code object; NULL if there is no such file. */
kiln_status kn_cert_beside(struct kn_ctx *c, const char *path,
                           const char **text);

/* cert may be NULL, or of another kernel: then no instruction has a place. */
kiln_status kn_places_find(struct kn_ctx *c, const struct kn_object *o,
                           const struct kn_object_kernel *k, const char *cert,
                           struct kn_places *out);
kiln_status kn_places_generated(struct kn_ctx *c, const struct kn_generated *g,
                                struct kn_places *out);

/* Fills in the kept findings' places. */
void kn_places_put(const struct kn_places *w, struct kn_sim_result *r);

/* banks.c, loops.c - what the bytes alone say about a kernel beyond counting: bank
 * conflicts of LDS accesses, work and bound of loops. */

/* The LDS address of each lane of the first wave, where the kernel computes
 * it from the lane number alone; a part that is the same for all lanes may be
 * missing, which turns the banks but makes no conflict. */
struct kn_bank_access {
    uint32_t inst;
    uint32_t bytes;          /* of each lane */
    uint32_t clocks, best;   /* of the banks; without conflicts */
    const uint32_t *address; /* [64] */
};

struct kn_bank_facts {
    uint32_t naccess;        /* decided ones, by instruction */
    struct kn_bank_access *access;
    uint32_t undecided;      /* LDS accesses whose addresses are not known */
};

/* Follows the registers of the first wave, all lanes active, along every
 * path. */
kiln_status kn_banks_find(struct kn_ctx *c, const struct kn_cfg *g,
                          struct kn_bank_facts *out);

/* Multiplications and additions of one matrix instruction, all of a wave; 0
 * if it is none. */
uint64_t kn_inst_flops(const struct kn_inst *i);

/* How often a loop runs, if its counter starts, steps and ends at constants:
 * that count; else 0, and *end names the register it ends at (-1: unknown). */
uint64_t kn_loop_bound(const struct kn_cfg *g, uint32_t loop, int *end);

/* info.c - the facts of a code object for `kilnc info`. */

/* How many waves of a kernel fit, and what stops more. */
struct kn_occupancy {
    uint32_t waves_per_simd; /* 0: does not fit at all */
    uint32_t workgroups_per_cu;
    const char *limit;       /* "registers", "LDS" or "wave slots" */
};

/* For workgroups of k->max_workgroup work-items (256 if it says none) and
 * `dynamic_lds` bytes beside the kernel's own. */
struct kn_occupancy kn_occupancy_of(kiln_target t,
                                    const struct kn_object_kernel *k,
                                    uint32_t dynamic_lds);

/* Appends the facts of the object, as text or as one JSON object: target,
 * kernels, arguments, registers, memory, occupancy, code, loops and their
 * instructions. Code of a target that cannot be decoded is left out. Errors
 * go to out->c. */
kiln_status kn_info_print(const char *name, const void *bytes, size_t size,
                          bool json, struct kn_buf *out);

/* The same of a subject that was read, with the places its certificate gives
 * the instructions. */
kiln_status kn_info_subject(struct kn_subject *s, bool json,
                            struct kn_buf *out);

/* annotate.c - says in LLVM IR and assembly which operation of which template
 * line each instruction came from. */

/* Text of kn_emit for `f`, whose debug "lines" count f's operations from 1;
 * the result assembles or parses to the same. */
char *kn_annotate_assembly(struct kn_ctx *c, const char *text,
                           const struct kn_fn *f);
char *kn_annotate_llvm(struct kn_ctx *c, const char *text,
                       const struct kn_fn *f);

/* check_object.c - `kilnc check FILE.co`. */

/* Checks every kernel of a code object, with FILE.co.cert if it is there.
 * FINDING: something is wrong; UNSUPPORTED: undecided. */
kiln_status kn_check_object(struct kn_tool *t, const char *path,
                            const uint8_t *bytes, size_t size);

/* `kilnc check FILE.kpk`: digests, then every kernel of the bundle. */
kiln_status kn_check_bundle(struct kn_tool *t, const char *path);

/* launchfile.c - how to launch somebody else's kernel on the operands of a
 * problem, as a text file:
 *
 *   grid X [Y [Z]]        workgroups
 *   block X [Y [Z]]       work-items
 *   lds BYTES             dynamic LDS
 *   kernarg BYTES         size of the segment, zero where nothing is said
 *   ptr OFFSET OPERAND    a b c sa sb bias; offs of the groups; of moe ids
 *                         experts padded weights, and a-sorted: the rows of A
 *                         in the order of the ids, zeros where an id is none
 *   i32|i64 OFFSET N      N: a number, or of the problem m n k lda ldb ldc
 *                         ldsa ldsb batch groups tokens topk
 *   f32 OFFSET X
 *
 * '#' starts a comment. */

struct kn_launch_data {      /* device addresses, 0: the problem has none */
    const kiln_problem *p;
    struct kn_operands o;
    uint64_t a_sorted;
    uint64_t out_size;       /* bytes of o.c */
};

struct kn_launch_text {
    uint32_t grid[3], block[3], lds;
    uint32_t size;           /* of the kernarg segment */
    uint8_t kernarg[4096];
};

/* BAD_INPUT names line and column. */
kiln_status kn_launch_read(struct kn_ctx *c, const char *path,
                           const struct kn_launch_data *d,
                           struct kn_launch_text *out);

struct kn_session;
struct kn_job;
/* The launch of j's kernel is what the text says. */
void kn_job_take_launch(struct kn_job *j, const struct kn_launch_text *text);
/* The same of a file, on the operands that are at j->at; *text stays with j. */
kiln_status kn_session_foreign(struct kn_session *s, struct kn_job *j,
                               const char *path, struct kn_launch_text *text);

/* parity_run.c - `kilnc parity`: some kernels, each against the first, and what
 * executing them on the operands of one problem gave. */

enum { KN_SIDES = 8 };

enum { KN_ROUNDS = 9 };

struct kn_side {
    struct kn_parity *of;
    struct kn_subject s;
    const char *launch_file; /* NULL: a kiln kernel's own arguments */
    struct kn_launch_data on;        /* the operands on its device */
    struct kn_job job;       /* the last one */
    struct kn_sim_result result;
    struct kn_time_result time;
    double us[KN_ROUNDS];    /* of a GPU: each round, the kernels by turns */
    uint8_t *out;            /* the output operand after the launch */
    uint64_t differing, first; /* bytes of it other than the first kernel's */
    struct kn_diff d;        /* from the first kernel to this one */
};

struct kn_parity {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_problem p;
    int64_t *offs;           /* of the groups, or NULL */
    int n;
    struct kn_side side[KN_SIDES];
    bool run;
    struct kn_place place;   /* where */
    uint64_t bytes;          /* of the output */
};

/* Executes the kernels on the operands of the command's problem, compares
 * the outputs byte by byte, and predicts their times. A GPU measures them too,
 * by turns, so that clock and temperature are the same for all. */
kiln_status kn_parity_run(struct kn_parity *q, const char *family);

/* page.c - pages for people: a document of sections, which page.html draws. */

struct kn_section {
    const char *id;
    const char *form;        /* what page.html draws: its FORMS */
    const char *title, *note; /* may be NULL */
};

void kn_page_open(struct kn_json *j, const char *title);
/* The page around the document. */
void kn_page_close(struct kn_json *j, struct kn_buf *out);

/* Opens an object; its form's members, then kn_page_end. */
void kn_page_section(struct kn_json *j, const struct kn_section *s);
void kn_page_end(struct kn_json *j);

/* A section of lines as they are. */
void kn_page_text(struct kn_json *j, const struct kn_section *s,
                  const char *text);

/* An array of n texts, NULL ones empty. */
void kn_page_row(struct kn_json *j, const char *key, int n,
                 const char *const *cell);

/* Text with the characters XML gives a meaning replaced. */
void kn_xml_text(struct kn_buf *b, const char *s);

/* diff_print.c - a comparison as text, page or JSON. */

struct kn_diff_view {
    struct kn_ctx *c;
    const struct kn_subject *a, *b;
    const struct kn_diff *d;
    const char **text_a, **text_b; /* kn_subject_listing */
    uint32_t nfacts;         /* differences of the kernels' descriptors */
    struct { const char *what; uint64_t a, b; } fact[8];
    bool colour;
};

/* Fills everything but `colour`. */
kiln_status kn_diff_view(struct kn_ctx *c, const struct kn_subject *a,
                         const struct kn_subject *b, const struct kn_diff *d,
                         struct kn_diff_view *v);

bool kn_diff_view_equal(const struct kn_diff_view *v);

void kn_diff_text(const struct kn_diff_view *v, struct kn_buf *out);
void kn_diff_page(const struct kn_diff_view *v, struct kn_buf *out);
/* As members of the object that is open. */
void kn_diff_json(const struct kn_diff_view *v, struct kn_json *j);

/* page_*.c - the sections of the page `kilnc report` writes. What a subject
 * cannot show is said in a sentence. */

/* The LDS accesses of the kernel that differ: where each lane's dwords lie, and
 * how many dwords of a bank one pass asks for. */
kiln_status kn_page_lds(struct kn_ctx *c, const struct kn_subject *s,
                        struct kn_json *j);

/* One iteration of the main loop from a Chrome trace of the timing model,
 * beside its instructions. */
kiln_status kn_page_timeline(const struct kn_subject *s,
                             const struct kn_buf *trace,
                             const struct kn_time_result *r,
                             struct kn_json *j);

/* Each asynchronous instruction and what covers it, from the certificate. */
kiln_status kn_page_fences(struct kn_ctx *c, const struct kn_subject *s,
                           struct kn_json *j);

#endif
