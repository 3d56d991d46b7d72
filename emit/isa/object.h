/* object.h - reads an AMDGPU code object (ELF64, ET_REL or ET_DYN) that may
 * come from anyone: every offset is bounds-checked, nothing is assumed.
 * No LLVM, no comgr. */
#ifndef KN_OBJECT_H
#define KN_OBJECT_H

#include "../../ir/base.h"

enum kn_arg_kind {           /* .value_kind of the metadata */
    KN_ARG_BY_VALUE,
    KN_ARG_GLOBAL_BUFFER,
    KN_ARG_DYNAMIC_LDS,      /* dynamic_shared_pointer */
    KN_ARG_HIDDEN,           /* any hidden_*; see `hidden` */
    KN_ARG_OTHER
};

struct kn_kernel_arg {
    const char *name;        /* "" if the metadata has none */
    const char *value_kind;  /* as spelled, e.g. "hidden_block_count_x" */
    enum kn_arg_kind kind;
    uint32_t offset, size;   /* bytes in the kernarg segment */
};

/* One kernel: facts of its metadata (note) and its kernel descriptor. */
struct kn_object_kernel {
    const char *name;        /* without ".kd" */
    uint64_t kd_addr;        /* virtual address of the descriptor */
    uint64_t entry;          /* virtual address of the first instruction */
    uint64_t code_size;      /* bytes, from the symbol or to the next one */
    uint32_t lds, scratch;   /* group / private segment fixed size, bytes */
    uint32_t kernarg_size, kernarg_align;  /* size covers every argument */
    uint32_t vgpr, agpr, sgpr;             /* .vgpr_count etc. */
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t max_workgroup, wavefront;
    uint32_t accum_offset;   /* first AGPR in the unified file, 4..256 */
    uint32_t regs;           /* unified VGPRs allocated per lane, granule 8 */
    uint32_t preload_offset, preload_length; /* kernarg preload, dwords */
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t properties;     /* kernel_code_properties */
    uint32_t nargs;
    struct kn_kernel_arg *args;
    uint32_t arch_vgpr;      /* .vgpr_count without the AGPRs */
    bool metadata;           /* false: facts come from the descriptor only */
};

struct kn_segment {          /* a PT_LOAD, or a loaded section of ET_REL */
    uint64_t addr, size;     /* virtual address and bytes in memory */
    const uint8_t *data;     /* file bytes */
    uint64_t filesz;
    bool exec, write;
};

/* A field of 8 bytes that the loader fills in: where the image lies + value. */
struct kn_reloc {
    uint64_t at, value;      /* virtual addresses */
};

struct kn_variable {         /* a data object other code can name */
    const char *name;
    uint64_t addr, size;
};

struct kn_object {
    kiln_target target;      /* from e_flags; NONE: some other AMDGPU */
    uint32_t e_flags;
    uint8_t abi;             /* e_ident[EI_ABIVERSION]: 2=V4 3=V5 4=V6 */
    bool relocatable;        /* was ET_REL: what follows is its linked image */
    uint32_t nsegments;
    struct kn_segment *segments;
    uint32_t nkernels;
    struct kn_object_kernel *kernels;
    uint32_t nrelocs, nvariables;
    struct kn_reloc *relocs; /* each field lies in one segment */
    struct kn_variable *variables;
    uint32_t nformats;       /* amdhsa.printf of the metadata */
    const char **formats;
};

/* Parses `bytes`, which must stay alive as long as *out. BAD_INPUT with one
 * sentence naming the defect; UNSUPPORTED for another machine or a feature
 * we do not read. `name` is the file name used in messages. An ET_REL is
 * linked first (kn_object_link), so that addresses are those of the linked
 * code object. Guaranteed on success: segments ascend and do not overlap;
 * descriptor and code of every kernel lie in file bytes of one segment. */
kiln_status kn_object_read(struct kn_ctx *c, const char *name,
                           const void *bytes, size_t size,
                           struct kn_object *out);

/* Whether kiln made the kernel, as far as the object tells: by its name. A
 * certificate beside the object says so too. */
bool kn_kernel_is_own(const struct kn_object_kernel *k);

/* Kernel by name; NULL name = the only one. BAD_INPUT lists what there is. */
kiln_status kn_object_kernel(struct kn_ctx *c, const struct kn_object *o,
                             const char *name,
                             const struct kn_object_kernel **out);

/* The deterministic in-process linker: an ET_REL made by LLVM with exactly
 * one R_AMDGPU_REL64 per kernel descriptor -> a loadable ET_DYN (COV5).
 * Anything else is refused. The result lives in c's arena. */
kiln_status kn_object_link(struct kn_ctx *c, const void *rel, size_t size,
                           uint8_t **out, size_t *out_size);

/* stamp.c - a text in a section of its own, which no loader looks at. */
kiln_status kn_object_stamp(struct kn_ctx *c, const char *text, uint8_t **co,
                            size_t *size);
/* *text NULL: it has none. */
kiln_status kn_object_stamped(struct kn_ctx *c, const void *co, size_t size,
                              const char **text);

/* File bytes of [addr, addr+n) if one segment has them all, else NULL. */
const uint8_t *kn_object_bytes(const struct kn_object *o, uint64_t addr,
                               uint64_t n);

/* dwarf.c - source lines of a code object, from DWARF's line tables (versions
 * 2 to 5). The file may come from anyone: every read is bounds-checked. */

struct kn_dwarf;

/* NULL without debug information. What is malformed ends the table it is in:
 * a wrong line is worse than none. `bytes` must stay as long as *out. */
kiln_status kn_dwarf_read(struct kn_ctx *c, const void *bytes, size_t size,
                          struct kn_dwarf **out);

/* Places where the line changes; 0 of NULL. */
size_t kn_dwarf_rows(const struct kn_dwarf *l);

/* The line of a virtual address, or NULL: its file, as the compiler named it,
 * in *line the number. */
const char *kn_dwarf_find(const struct kn_dwarf *l, uint64_t addr,
                          uint32_t *line);

/* offload.c - clang's offload bundle: code objects of one program, one a
 * target, each under an id like "hipv4-amdgcn-amd-amdhsa--gfx950:xnack-". */

bool kn_is_offload(const void *p, size_t n);

/* The code object for a target in a bundle of at most `most` bytes, NULL:
 * it has none. SIZE_MAX: who calls vouches for the bytes. */
const uint8_t *kn_offload_find(kiln_target t, const void *bundle, size_t most,
                               size_t *size);

/* debug.c - debug information in a code object, for debuggers and traces that
 * show source lines. */

/* Where the files that are not the user's own are said to be. */
#define KN_SOURCE_FOLDER "kiln-src"

struct kn_debug_file {
    const char *file, *text;
    bool own;                /* in KN_SOURCE_FOLDER */
};

/* The line from an offset on, up to the next row's. */
struct kn_debug_row {
    uint32_t offset;         /* bytes from the kernel's first instruction */
    uint32_t file, line;     /* of source[]; line 0: of no line */
};

struct kn_debug {
    const char *kernel;
    uint32_t nsource;        /* at least 1; the first one names the unit */
    const struct kn_debug_file *source;
    size_t nrow;
    const struct kn_debug_row *row;      /* ascending offsets */
};

/* Puts .debug_line, .debug_info, .debug_abbrev and .debug_frame (DWARF 5, with
 * the texts embedded) behind a linked code object: no other byte of a section
 * changes. */
kiln_status kn_object_debug(struct kn_ctx *c, const struct kn_debug *d,
                            uint8_t **co, size_t *size);

#endif
