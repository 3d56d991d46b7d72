/* 03_bundle.c - kernels made ahead of time: a program that never compiles and
 * never loads a compiler.
 *
 *   kilnc pack list.csv --arch gfx950 -o lib.kpk
 *   03_bundle lib.kpk [DEVICE]
 */
#include <kiln.h>
#include <stdio.h>
#include <string.h>

static int
is_mapped(const char *text)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int found = 0;

    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, text) != NULL;
    if (f)
        fclose(f);
    return found;
}

int
main(int argc, char **argv)
{
    kiln_options o = { .size = sizeof o,
                       .flags = KILN_RUN_ONLY | KILN_NO_DISK };
    kiln_problem p = { .size = sizeof p, .target = KILN_GFX950,
                       .a = KILN_BF16, .m = 300, .n = 512, .k = 256 };
    kiln_kernel_info info = { .size = sizeof info };
    kiln_plan plan;
    kiln_context *context;
    kiln_kernel *kernel;
    kiln_error e;

    if (argc < 2)
        return fprintf(stderr, "usage: 03_bundle lib.kpk\n"), 2;
    if (kiln_open(&o, &context, &e) || kiln_add_bundle(context, argv[1], &e) ||
        kiln_lookup(context, &p, NULL, &kernel, &e) ||
        kiln_make_plan(kernel, &p, &plan, &e))
        return fprintf(stderr, "%s\n", e.text), 1;
    kiln_get_kernel(kernel, &info);
    printf("%s: %u workgroups of %u, %zu bytes of code\n", info.name,
           plan.grid[0], plan.block[0], info.code_size);
    printf("LLVM loaded: %s\n", is_mapped("libLLVM") ? "yes" : "no");
    kiln_release(kernel);
    kiln_close(context);
    return 0;
}
