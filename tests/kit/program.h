/* program.h - assembles a few instructions into a kernel, launches it on the
 * simulator and looks at memory and findings. */
#ifndef KN_KIT_PROGRAM_H
#define KN_KIT_PROGRAM_H

#include "../../runtime/sim/sim.h"

struct program {
    struct kn_ctx ctx;
    struct kn_sim *sim;
    struct kn_sim_code *code;
    struct kn_sim_launch launch;
    struct kn_sim_result result;
    kiln_status status;
    uint64_t in, out;        /* device buffers, also kernel arguments 0, 1 */
    uint64_t args[8];
};

enum { PROGRAM_BYTES = 1 << 16 };

/* Kernel facts beyond the instructions. The kernel gets s[0:1] = kernarg
 * pointer, s2 = workgroup id x, v0 = packed work-item id, exec full. */
struct program_facts {
    kiln_target target;      /* 0: gfx950 */
    unsigned lds, scratch;
    unsigned waves;          /* of 64 lanes; 0: 1 */
    unsigned groups;         /* grid x; 0: 1 */
    unsigned preload;        /* kernarg dwords in s2.., id behind them */
};

/* Opens a device with the buffers: `in` holds the dwords 0, 1, 2, ...; `out`
 * is an OUTPUT buffer. The text needs its own s_endpgm. A `prologue` that
 * loads both pointers into s[4:5] and s[6:7] and puts the byte offset of the
 * lane's dword into v1 is in front of it. Aborts the test on a bad text. */
void program_open(struct program *p, const struct program_facts *f,
                  const char *text);
/* The same without prologue. */
void program_open_bare(struct program *p, const struct program_facts *f,
                       const char *text);
void program_close(struct program *p);
/* The object itself, to be changed by the caller; free() it. */
void *program_object(const struct program_facts *f, const char *text,
                     size_t *size);
/* A device with such an object; launch and buffers as program_open. */
void program_open_object(struct program *p, const struct program_facts *f,
                         const void *bytes, size_t size);

/* Launches; the status is kept, not checked. */
void program_run(struct program *p);
/* Opens, runs and closes; the number of findings of `kind`, or of all kinds
 * if kind is KN_NFINDINGS. Fails the test if the run fails. */
unsigned program_findings(const struct program_facts *f, const char *text,
                          enum kn_finding_kind kind);
/* One finding of this kind and no other. */
void program_fires(const struct program_facts *f, const char *text,
                   enum kn_finding_kind kind);
/* No finding of any kind. */
void program_clean(const struct program_facts *f, const char *text);

uint32_t program_out(struct program *p, unsigned dword);
const struct kn_finding *program_find(const struct program *p,
                                      enum kn_finding_kind kind);

#endif
