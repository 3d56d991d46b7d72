/* file.h - whole files in and out. */
#ifndef KN_FILE_H
#define KN_FILE_H

#include "../ir/base.h"

/* The longest input from a pipe or a device, and the longest text, table or
 * code from a file, in bytes. */
#define KN_STREAM_MAX ((size_t)1 << 27)

/* The whole file into the arena, one zero byte behind it; at most
 * KN_STREAM_MAX bytes. */
kiln_status kn_file_read(struct kn_ctx *c, const char *path, uint8_t **out,
                         size_t *size);

/* The same for operands and bundles: a regular file may have any size. */
kiln_status kn_file_read_data(struct kn_ctx *c, const char *path,
                              uint8_t **out, size_t *size);

/* The same for a file nobody named: KILN_IO for what is no regular file or is
 * longer than `most` bytes; never waits for a writer. */
kiln_status kn_file_read_plain(struct kn_ctx *c, const char *path, size_t most,
                               uint8_t **out, size_t *size);

/* Writes a temporary file next to `path` and renames it: the file is there
 * whole or not at all. A symbolic link stays one, the file behind it is
 * replaced. A path that is no regular file, or a name of standard output, is
 * written directly. */
kiln_status kn_file_write(struct kn_ctx *c, const char *path, const void *data,
                          size_t size);

/* All n bytes to an open descriptor; errno, or 0. */
int kn_file_put(int fd, const void *bytes, size_t n);

/* Makes a folder; one that is there is as good. */
kiln_status kn_file_folder(struct kn_ctx *c, const char *path);

/* Bytes that nobody holds all of: `part` gives the n at `at`, n at most
 * KN_PART_MAX, in order; they stay until the next call. It may not jump. */
#define KN_PART_MAX ((size_t)1 << 20)
struct kn_source {
    kiln_status (*part)(void *user, uint64_t at, size_t n,
                        const uint8_t **bytes);
    void *user;
    uint64_t size;
};

/* kn_file_write of them; a file that the disk has no room for is not begun. */
kiln_status kn_file_write_parts(struct kn_ctx *c, const char *path,
                                const struct kn_source *from);

/* kn_file_write, but whatever has the name, a link or a pipe, is replaced. */
kiln_status kn_file_replace(struct kn_ctx *c, const char *path,
                            const void *data, size_t size);

/* Whether kn_file_write makes a file of `path`, rather than filling a device,
 * a pipe or standard output. */
bool kn_file_is_plain(const char *path);

/* Whether `path` is another name of standard output, such as /dev/stdout. */
bool kn_file_is_stdout(const char *path);

/* npy.c - operand files: NumPy .npy (format 1.0 and 2.0, C order, little
 * endian) and raw bytes. Errors are one sentence that starts with the path.
 * Output is atomic (kn_file_write). */

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
