/* stamp.c - sections no loader looks at, behind what a code object is: among
 * them what it was made of, as text. */
#include <string.h>

#include "elfview.h"

static const char stamp[] = ".kiln";

static uint64_t
align8(uint64_t n)
{
    return (n + 7) & ~(uint64_t)7;
}

/* Bytes that stay: section headers are at the end of what kiln links. */
static size_t
kept(const struct kn_elf *e)
{
    size_t end = (size_t)e->eh.e_shoff + e->nsh * sizeof (Elf64_Shdr);

    return end == e->size ? (size_t)e->eh.e_shoff : e->size;
}

/* Where everything goes: the contents, the names, the headers. */
static size_t
lay_out(const struct kn_elf *e, const struct kn_section *s, size_t n,
        Elf64_Shdr *sh)
{
    Elf64_Shdr *names = &sh[e->eh.e_shstrndx];
    size_t at = kept(e), end = (size_t)names->sh_size;

    for (size_t i = 0; i < n; i++) {
        sh[e->nsh + i] = (Elf64_Shdr){ .sh_name = (uint32_t)end,
                                       .sh_type = SHT_PROGBITS,
                                       .sh_offset = at, .sh_size = s[i].n,
                                       .sh_addralign = 1 };
        at += s[i].n;
        end += strlen(s[i].name) + 1;
    }
    names->sh_offset = at;
    names->sh_size = end;
    return (size_t)align8(at + end);
}

kiln_status
kn_elf_append(struct kn_ctx *c, const struct kn_section *s, size_t n,
              uint8_t **co, size_t *size)
{
    struct kn_elf e;
    Elf64_Shdr *sh, *names;
    size_t headers;
    uint8_t *p;

    KN_TRY(kn_elf_open(c, "the code object", *co, *size, &e));
    sh = KN_NEW(c, Elf64_Shdr, e.nsh + n);
    memcpy(sh, e.sh, e.nsh * sizeof *sh);
    names = &sh[e.eh.e_shstrndx];
    headers = lay_out(&e, s, n, sh);
    *size = headers + (e.nsh + n) * sizeof *sh;
    p = KN_NEW(c, uint8_t, *size);
    memcpy(p, *co, kept(&e));
    memcpy(p + names->sh_offset, *co + e.sh[e.eh.e_shstrndx].sh_offset,
           (size_t)e.sh[e.eh.e_shstrndx].sh_size);
    for (size_t i = 0; i < n; i++) {
        memcpy(p + sh[e.nsh + i].sh_offset, s[i].p, s[i].n);
        memcpy(p + names->sh_offset + sh[e.nsh + i].sh_name, s[i].name,
               strlen(s[i].name) + 1);
    }
    memcpy(p + headers, sh, (e.nsh + n) * sizeof *sh);
    e.eh.e_shoff = headers;
    e.eh.e_shnum = (uint16_t)(e.nsh + n);
    memcpy(p, &e.eh, sizeof e.eh);
    *co = p;
    return KILN_OK;
}

kiln_status
kn_object_stamp(struct kn_ctx *c, const char *text, uint8_t **co, size_t *size)
{
    struct kn_section s = { stamp, text, strlen(text) };

    return kn_elf_append(c, &s, 1, co, size);
}

kiln_status
kn_object_stamped(struct kn_ctx *c, const void *co, size_t size,
                  const char **text)
{
    struct kn_elf e;

    *text = NULL;
    KN_TRY(kn_elf_open(c, "the code object", co, size, &e));
    for (uint32_t i = 1; i < e.nsh; i++)
        if (e.sh[i].sh_type == SHT_PROGBITS &&
            !strcmp(kn_elf_section_name(&e, i), stamp))
            *text = kn_strndup(c, (const char *)co + e.sh[i].sh_offset,
                               (size_t)e.sh[i].sh_size);
    return KILN_OK;
}
