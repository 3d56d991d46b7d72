/* json.h - writes JSON into a text buffer. A key is NULL inside an array. */
#ifndef KN_JSON_H
#define KN_JSON_H

#include "../../ir/base.h"

struct kn_json {
    struct kn_buf b;
    int depth;
    bool filled;             /* the open object or array has an item */
};

/* open is '{' or '['; close the matching bracket. */
void kn_json_open(struct kn_json *j, const char *key, char open);
void kn_json_close(struct kn_json *j, char close);
void kn_json_str(struct kn_json *j, const char *key, const char *s);
void kn_json_int(struct kn_json *j, const char *key, int64_t v);
void kn_json_uint(struct kn_json *j, const char *key, uint64_t v);
void kn_json_bool(struct kn_json *j, const char *key, bool v);
/* NaN and infinities have no JSON form and become null. */
void kn_json_real(struct kn_json *j, const char *key, double v);
/* What was written, on one line. */
void kn_json_line(const struct kn_json *j, struct kn_buf *out);

#endif
