/* page_fence.c - the certificate as a table. */
#include <jansson.h>
#include <string.h>

#include "inspect.h"

enum { CELLS = 5 };

static const char *
instruction(struct kn_ctx *c, const struct kn_subject *s, const char **text,
            const json_t *offset)
{
    uint64_t pc = s->p.inst[0].pc;
    struct kn_buf b = { .c = c };
    int32_t n;

    if (!offset)
        return "";
    pc += (uint64_t)json_integer_value(offset);
    n = kn_program_at(&s->p, pc);
    kn_putf(&b, "0x%llx %s", (unsigned long long)pc, n >= 0 ? text[n] : "");
    return b.s;
}

static void
put_entry(struct kn_json *j, const struct kn_subject *s, const char **text,
          const json_t *root, const json_t *e)
{
    const json_t *slot = json_object_get(e, "slot");
    const char *name = json_string_value(json_array_get(
        json_object_get(root, "slots"), (size_t)json_integer_value(slot)));
    struct kn_ctx *c = j->b.c;

    kn_page_row(j, NULL, CELLS, (const char *const[]){
        instruction(c, s, text, json_object_get(e, "at")),
        slot ? name : json_string_value(json_object_get(e, "registers")),
        instruction(c, s, text, json_object_get(e, "wait")),
        instruction(c, s, text, json_object_get(e, "barrier")),
        json_string_value(json_object_get(e, "from")) });
}

kiln_status
kn_page_fences(struct kn_ctx *c, const struct kn_subject *s, struct kn_json *j)
{
    json_t *root = s->cert ? json_loadb(s->cert, s->cert_size, 0, NULL) : NULL;
    const json_t *list = json_object_get(root, "asynchronous");
    struct kn_section part = { "fences", list ? "table" : "nothing",
                               "Waits, from the certificate",
                               list ? NULL : "There is no certificate beside "
                                             "this object." };
    const char **text;

    kn_page_section(j, &part);
    if (list) {
        KN_TRY(kn_subject_listing(c, s, &text));
        kn_page_row(j, "head", CELLS, (const char *const[]){
            "asynchronous instruction", "LDS slot or registers", "wait",
            "barrier", "from" });
        kn_json_open(j, "rows", '[');
        for (size_t k = 0; k < json_array_size(list); k++)
            put_entry(j, s, text, root, json_array_get(list, k));
        kn_json_close(j, ']');
    }
    kn_page_end(j);
    json_decref(root);
    return KILN_OK;
}
