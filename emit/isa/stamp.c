/* stamp.c - a text in a code object, in a section no loader looks at: what it
 * was made of. */
#include <string.h>

#include "elfview.h"

static const char section[] = ".kiln";

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

kiln_status
kn_object_stamp(struct kn_ctx *c, const char *text, uint8_t **co, size_t *size)
{
    struct kn_elf e;
    Elf64_Shdr *sh, *names;
    size_t n = strlen(text), at, names_at, headers_at;
    uint8_t *p;

    KN_TRY(kn_elf_open(c, "the code object", *co, *size, &e));
    at = kept(&e);
    sh = KN_NEW(c, Elf64_Shdr, e.nsh + 1);
    memcpy(sh, e.sh, e.nsh * sizeof *sh);
    names = &sh[e.eh.e_shstrndx];
    names_at = at + n;
    headers_at = (size_t)align8(names_at + names->sh_size + sizeof section);
    sh[e.nsh] = (Elf64_Shdr){ .sh_name = (uint32_t)names->sh_size,
                              .sh_type = SHT_PROGBITS, .sh_offset = at,
                              .sh_size = n, .sh_addralign = 1 };
    *size = headers_at + (e.nsh + 1) * sizeof *sh;
    p = KN_NEW(c, uint8_t, *size);
    memcpy(p, *co, at);
    memcpy(p + at, text, n);
    memcpy(p + names_at, *co + names->sh_offset, (size_t)names->sh_size);
    memcpy(p + names_at + names->sh_size, section, sizeof section);
    names->sh_offset = names_at;
    names->sh_size += sizeof section;
    memcpy(p + headers_at, sh, (e.nsh + 1) * sizeof *sh);
    e.eh.e_shoff = headers_at;
    e.eh.e_shnum = (uint16_t)(e.nsh + 1);
    memcpy(p, &e.eh, sizeof e.eh);
    *co = p;
    return KILN_OK;
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
            !strcmp(kn_elf_section_name(&e, i), section))
            *text = kn_strndup(c, (const char *)co + e.sh[i].sh_offset,
                               (size_t)e.sh[i].sh_size);
    return KILN_OK;
}
