/* page.c - pages for people: page.html, which draws a document of sections that
 * the commands write as JSON. Nothing is loaded from elsewhere. */
#include "inspect.h"

#include <string.h>

#include "../../tuning/tuning.h"

extern const struct kn_text kn_pages[];

static const char hole[] = "@DOCUMENT@";

void
kn_page_open(struct kn_json *j, const char *title)
{
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "title", title);
    kn_json_open(j, "sections", '[');
}

void
kn_page_section(struct kn_json *j, const struct kn_section *s)
{
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "id", s->id);
    kn_json_str(j, "form", s->form);
    kn_json_str(j, "title", s->title ? s->title : "");
    if (s->note)
        kn_json_str(j, "note", s->note);
}

void
kn_page_end(struct kn_json *j)
{
    kn_json_close(j, '}');
}

void
kn_page_text(struct kn_json *j, const struct kn_section *s, const char *text)
{
    struct kn_section as = *s;

    as.form = "text";
    kn_page_section(j, &as);
    kn_json_str(j, "text", text ? text : "");
    kn_page_end(j);
}

void
kn_page_row(struct kn_json *j, const char *key, int n, const char *const *cell)
{
    kn_json_open(j, key, '[');
    for (int i = 0; i < n; i++)
        kn_json_str(j, NULL, cell[i] ? cell[i] : "");
    kn_json_close(j, ']');
}

/* '<' would let a name end the script; outside of strings JSON has none. */
void
kn_page_close(struct kn_json *j, struct kn_buf *out)
{
    const char *page = kn_pages->text, *at = strstr(page, hole);
    struct kn_buf line = { .c = j->b.c };

    kn_json_close(j, ']');
    kn_json_close(j, '}');
    kn_json_line(j, &line);
    kn_put(out, kn_strndup(out->c, page, (size_t)(at - page)));
    for (const char *s = line.s; *s; s++)
        if (*s == '<')
            kn_put(out, "\\u003c");
        else
            kn_putf(out, "%c", *s);
    kn_put(out, at + strlen(hole));
}

void
kn_xml_text(struct kn_buf *b, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '<': kn_put(b, "&lt;"); break;
        case '>': kn_put(b, "&gt;"); break;
        case '&': kn_put(b, "&amp;"); break;
        case '"': kn_put(b, "&quot;"); break;
        default: kn_putf(b, "%c", (unsigned char)*s < 0x20 ? ' ' : *s);
        }
}
