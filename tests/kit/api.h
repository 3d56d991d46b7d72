/* api.h - what the tests of the public interface share. They know kiln.h and
 * nothing else. */
#ifndef KN_KIT_API_H
#define KN_KIT_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kiln.h>

/* A folder of its own, removed by drop_folder with everything in it. */
void make_folder(char path[64]);
void drop_folder(const char *path);
/* Number of files whose name ends so. */
int count_files(const char *folder, const char *ending);
/* The first such file. */
void find_file(const char *folder, const char *ending, char path[512]);
size_t read_bytes(const char *path, unsigned char *out, size_t cap);
void write_bytes(const char *path, const void *p, size_t n);

/* A small exact GEMM: bf16, f32 output, integers. */
kiln_problem small_problem(int64_t m, int64_t n, int64_t k);

/* Log lines, newest last. */
struct log {
    int lines;
    char last[512];
};
void keep_log(void *user, kiln_log_level level, const char *text);

/* Compiles nothing, logs to l, caches in `folder` (NULL: nowhere). */
kiln_context *open_context(const char *folder, uint32_t flags, struct log *l);
kiln_device *open_device(kiln_context *x, const char *name);

/* A context and a simulated device for all tests of a file: set-up, tear-down. */
extern struct shared {
    kiln_context *x;
    kiln_device *d;
} shared;
int open_shared(void **state);
int close_shared(void **state);

/* The operands of small_problem on a device; the output is checked against
 * sums made here. */
struct operands {
    kiln_device *device;
    kiln_problem p;
    kiln_arguments args;
    void *memory[3];
};
void make_operands(struct operands *o, kiln_device *d, const kiln_problem *p);
void clear_output(struct operands *o);
void check_output(struct operands *o);
void drop_operands(struct operands *o);

/* One kernel on one device, ready to be launched; its user opens x and sets p. */
struct ready {
    kiln_context *x;
    kiln_device *d;
    kiln_problem p;
    struct operands o;
    kiln_kernel *k;
    kiln_function *f;
    kiln_plan plan;
};
void make_ready(struct ready *r, const char *device, const char *config);
/* Closes x as well. */
void drop_ready(struct ready *r);

/* One small kernel by a context of its own: where it came from, and its bytes. */
struct got {
    kiln_status status;
    kiln_source source;
    size_t size;
    unsigned char code[65536];
    kiln_error error;
    struct log log;
};
void get_kernel(struct got *g, const char *folder, uint32_t flags);
/* It comes from there, with so many warnings. */
void expect_kernel(const char *folder, uint32_t flags, kiln_source source,
                   int warnings);

/* True if this process has mapped a file whose name contains the text. */
bool is_mapped(const char *text);

#define assert_ok(call, e) \
    do { \
        kiln_status s_ = (call); \
        if (s_) \
            fail_msg("%s: %s", kiln_status_name(s_), (e)->text); \
    } while (0)

#endif
