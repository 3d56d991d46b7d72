/* npy.h - operand files: NumPy .npy (format 1.0 and 2.0, C order, little
 * endian) and raw bytes. Errors are one sentence that starts with the path.
 * Output is atomic (kn_file_write). */
#ifndef KN_NPY_H
#define KN_NPY_H

#include "../ir/base.h"

enum { KN_NPY_MAXDIM = 8 };

struct kn_npy {
    char dtype[8];           /* as in the file: "<f4", "|u1"; "" for raw */
    uint32_t elem;           /* bytes of one element; 1 for raw */
    uint32_t ndim;
    int64_t shape[KN_NPY_MAXDIM];
    void *data;
    uint64_t bytes;
};

/* The dtype in which a file holds elements of a kiln type: f16 f32 i8 i32
 * as themselves, bf16 as "<u2", everything of 8 bits or less as "|u1". */
const char *kn_npy_dtype(kiln_type t);

/* Whole file into the arena: a path ending in .npy is parsed, any other is
 * raw bytes (dtype "", one dimension). */
kiln_status kn_npy_read(struct kn_ctx *c, const char *path,
                        struct kn_npy *out);

/* Checks dtype, number of dimensions and shape; a raw file is checked by its
 * size and takes the dtype and shape asked for. -1 in want->shape accepts any
 * length (only in .npy). want->data and want->bytes are not read. */
kiln_status kn_npy_expect(struct kn_ctx *c, const char *path,
                          struct kn_npy *a, const struct kn_npy *want);

/* Writes .npy (by the ending of path) or a->bytes raw bytes. a->elem may be 0
 * and a->bytes unset for .npy: both follow from dtype and shape. */
kiln_status kn_npy_write(struct kn_ctx *c, const char *path,
                         const struct kn_npy *a);

#endif
