/* page_fence.c - the certificate as a table. */
#include <jansson.h>
#include <string.h>

#include "inspect.h"

static void
put_instruction(struct kn_buf *out, const struct kn_subject *s,
                const char **text, const json_t *offset)
{
    uint64_t pc = s->p.inst[0].pc;
    int32_t n;

    kn_put(out, "<td>");
    if (offset) {
        pc += (uint64_t)json_integer_value(offset);
        n = kn_program_at(&s->p, pc);
        kn_putf(out, "0x%llx ", (unsigned long long)pc);
        if (n >= 0)
            kn_html_text(out, text[n]);
    }
    kn_put(out, "</td>");
}

static void
put_entry(struct kn_buf *out, const struct kn_subject *s, const char **text,
          const json_t *root, const json_t *e)
{
    const json_t *slot = json_object_get(e, "slot");
    const char *name = json_string_value(json_array_get(
        json_object_get(root, "slots"), (size_t)json_integer_value(slot)));
    const char *what = slot ? name
                     : json_string_value(json_object_get(e, "registers"));
    const char *from = json_string_value(json_object_get(e, "from"));

    kn_put(out, "<tr class=\"fence\">");
    put_instruction(out, s, text, json_object_get(e, "at"));
    kn_put(out, "<td>");
    kn_html_text(out, what ? what : "");
    kn_put(out, "</td>");
    put_instruction(out, s, text, json_object_get(e, "wait"));
    put_instruction(out, s, text, json_object_get(e, "barrier"));
    kn_put(out, "<td>");
    kn_html_text(out, from ? from : "");
    kn_put(out, "</td></tr>\n");
}

kiln_status
kn_page_fences(struct kn_ctx *c, const struct kn_subject *s,
               struct kn_buf *out)
{
    json_t *root = s->cert ? json_loadb(s->cert, s->cert_size, 0, NULL) : NULL;
    const json_t *list = json_object_get(root, "asynchronous");
    const char **text;

    kn_put(out, "<h2 id=\"fences\">Waits, from the certificate</h2>\n");
    if (!list) {
        json_decref(root);
        kn_put(out, "<p>There is no certificate beside this object.</p>\n");
        return KILN_OK;
    }
    KN_TRY(kn_subject_listing(c, s, &text));
    kn_put(out, "<table>\n");
    kn_html_row(out, "th", 5, (const char *const[]){
        "asynchronous instruction", "LDS slot or registers", "wait",
        "barrier", "from" });
    for (size_t k = 0; k < json_array_size(list); k++)
        put_entry(out, s, text, root, json_array_get(list, k));
    kn_put(out, "</table>\n");
    json_decref(root);
    return KILN_OK;
}
