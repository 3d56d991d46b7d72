/* printf.c - printf of kernels. clang (-mprintf-kind=buffered) appends each
 * call to a buffer: a dword of 4 * size + 2 * (the format is a literal) +
 * (to standard error); the 8 bytes that name the literal, or its text; then the
 * arguments at multiples of 8. It is read after the launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

enum { BUFFER = 1 << 20, HEAD = 8 };

/* An empty buffer, if the kernel has a place for one. */
int
need_printf(struct shim *s, const struct function *f)
{
    const uint32_t head[2] = { 0, BUFFER - HEAD };
    bool wanted = false;

    for (uint32_t i = 0; i < f->kernel->nargs; i++)
        wanted |= !strcmp(f->kernel->args[i].value_kind,
                          "hidden_printf_buffer");
    if (!wanted)
        return 0;
    if (!s->printf_buffer &&
        s->api->alloc(s->sim, BUFFER, 0, NULL, NULL, &s->printf_buffer))
        return sim_error(s, "printf", KN_hipErrorOutOfMemory);
    return s->api->write(s->sim, s->printf_buffer, head, sizeof head)
               ? sim_error(s, "printf", KN_hipErrorLaunchFailure) : 0;
}

/* What is left of a message. */
struct message {
    const uint8_t *p, *end;
    const char *format, *stop; /* of the literal, or of the text */
};

static uint64_t
take(struct message *m)
{
    uint64_t v = 0;

    if (m->end - m->p >= 8)
        memcpy(&v, m->p, 8);
    m->p = m->end - m->p >= 8 ? m->p + 8 : m->end;
    return v;
}

/* A string in the message, to its zero, padded to 8 bytes. */
static const char *
take_text(struct message *m)
{
    const char *text = (const char *)m->p;
    const uint8_t *zero = memchr(m->p, 0, (size_t)(m->end - m->p));

    if (!zero)
        return "";
    m->p += (size_t)(zero - m->p) / 8 * 8 + 8;
    if (m->p > m->end)
        m->p = m->end;
    return text;
}

/* One conversion, `form` from its % to its letter, which holds no star. */
static void
print_one(struct kn_buf *to, const char *form, char letter, struct message *m)
{
    uint64_t v = strchr("s", letter) ? 0 : take(m);
    double d;

    memcpy(&d, &v, sizeof d);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (letter == 's')
        kn_putf(to, form, take_text(m));
    else if (strchr("aAeEfFgG", letter))
        kn_putf(to, form, d);
    else if (letter == 'p')
        kn_putf(to, form, (void *)(uintptr_t)v);
    else if (strstr(form, "ll") || strpbrk(form, "ljzt"))
        kn_putf(to, form, (long long)v);
    else
        kn_putf(to, form, (int)v);
#pragma GCC diagnostic pop
}

/* Copies a conversion with stars replaced by arguments; false: it is none. */
static bool
conversion(struct message *m, char *form, size_t room)
{
    size_t n = 0;

    do {
        char c = *m->format++;

        if (n + 24 > room)
            return false;
        if (c == '*')
            n += (size_t)snprintf(form + n, room - n, "%d", (int)take(m));
        else
            form[n++] = c;
    } while (m->format < m->stop &&
             !strchr("%diouxXcsaAeEfFgGp", form[n - 1] == '%' && n == 1
                                               ? ' ' : form[n - 1]));
    form[n] = '\0';
    return n > 1 && strchr("%diouxXcsaAeEfFgGp", form[n - 1]);
}

static void
print(struct kn_buf *to, struct message *m)
{
    char form[64];

    while (m->format < m->stop) {
        if (*m->format != '%') {
            kn_putf(to, "%c", *m->format++);
            continue;
        }
        if (!conversion(m, form, sizeof form))
            return;
        if (form[strlen(form) - 1] == '%')
            kn_put(to, "%");
        else
            print_one(to, form, form[strlen(form) - 1], m);
    }
}

/* The literal of this number in the module's metadata: "0:0:HEX,TEXT". */
static bool
find_literal(struct module *m, uint64_t number, struct message *out)
{
    char want[24];

    snprintf(want, sizeof want, "%llx", (unsigned long long)number);
    for (uint32_t i = 0; i < m->object.nformats; i++) {
        const char *at = m->object.formats[i], *comma;

        for (int colon = 0; at && colon < 2; colon++)
            at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL;
        comma = at ? strchr(at, ',') : NULL;
        if (comma && (size_t)(comma - at) == strlen(want) &&
            !memcmp(at, want, strlen(want))) {
            out->format = comma + 1;
            out->stop = out->format + strlen(out->format);
            return true;
        }
    }
    return false;
}

static void
print_message(struct shim *s, struct module *m, const uint8_t *p, size_t n)
{
    struct message msg = { .p = p + 4, .end = p + n };
    struct kn_buf text = { .c = &s->c };
    uint64_t number;
    uint32_t head;

    memcpy(&head, p, sizeof head);
    if (head & 2) {
        if (n < 12)
            return;
        memcpy(&number, p + 4, 8);
        msg.p += 8;
        if (!find_literal(m, number, &msg))
            return;
    } else {
        msg.format = take_text(&msg);
        msg.stop = msg.format + strlen(msg.format);
    }
    print(&text, &msg);
    if (text.n)
        fwrite(text.s, 1, text.n, head & 1 ? stderr : stdout);
}

/* Each message begins with its size. */
static kiln_status
print_all(struct shim *s, struct module *m, const uint8_t *p, uint32_t used)
{
    KN_ENTER(&s->c);
    for (uint32_t at = 0; used - at >= 8;) {
        uint32_t n;

        memcpy(&n, p + at, 4);
        n >>= 2;
        if (n < 8 || n > used - at)
            break;
        print_message(s, m, p + at, n);
        at += n;
    }
    return KILN_OK;
}

int
flush_printf(struct shim *s, struct module *m)
{
    uint32_t head[2], used;
    uint8_t *p;

    if (!s->printf_buffer)
        return 0;
    if (s->api->read(s->sim, s->printf_buffer, head, sizeof head))
        return sim_error(s, "printf", KN_hipErrorLaunchFailure);
    used = head[0] < BUFFER - HEAD ? head[0] : BUFFER - HEAD;
    p = used ? malloc(used) : NULL;
    if (!p)
        return 0;
    if (s->api->read(s->sim, s->printf_buffer + HEAD, p, used)) {
        free(p);
        return sim_error(s, "printf", KN_hipErrorLaunchFailure);
    }
    print_all(s, m, p, used);
    free(p);
    head[0] = 0;
    return s->api->write(s->sim, s->printf_buffer, head, sizeof head)
               ? sim_error(s, "printf", KN_hipErrorLaunchFailure) : 0;
}
