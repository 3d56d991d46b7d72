/* places.c - where elements lie, as kiln's own maps have them: what the
 * pictures of layouts.py are drawn from. One line each, numbers only:
 *   panel ROW CHUNK PLACE      preshuffled B, rows of 8 chunks of 16 bytes
 *   scale ROW BLOCK PLACE      shuffled E8M0, rows of 16 blocks
 *   NAME ROW K LANE ELEMENT    operand A of the matrix instruction NAME
 *   NAME.d ROW COL LANE ELEMENT */
#include "../../gen/layout.h"
#include "../../runtime/sim/mfma/mfma.h"

#include <stdio.h>

static void
print_stored(void)
{
    for (unsigned row = 0; row < 32; row++)
        for (unsigned chunk = 0; chunk < 8; chunk++)
            printf("panel %u %u %u\n", row, chunk,
                   (unsigned)kn_panel_place(row, chunk * 16, 128) / 16);
    for (unsigned row = 0; row < 32; row++)
        for (unsigned block = 0; block < 16; block++)
            printf("scale %u %u %u\n", row, block,
                   (unsigned)kn_scale_place(row, block, 16));
}

static void
print_instruction(const char *name)
{
    struct kn_mfma_job job = {.row = kn_mfma_find(KILN_GFX950, name),
                              .target = KILN_GFX950};
    struct kn_mfma_layout a = kn_mfma_layout_a(&job);

    for (unsigned i = 0; i < job.row->m; i++)
        for (unsigned k = 0; k < job.row->k; k++) {
            struct kn_mfma_at at = kn_mfma_locate(&a, i, k, 0);

            printf("%s %u %u %u %u\n", name, i, k, at.lane, at.element);
        }
    for (unsigned i = 0; i < job.row->m; i++)
        for (unsigned j = 0; j < job.row->n; j++) {
            struct kn_mfma_at at = kn_mfma_locate_d(job.row, i, j, 0);

            printf("%s.d %u %u %u %u\n", name, i, j, at.lane, at.element);
        }
}

int
main(void)
{
    print_stored();
    print_instruction("v_mfma_f32_16x16x32_bf16");
    print_instruction("v_mfma_f32_32x32x16_bf16");
    print_instruction("v_mfma_scale_f32_16x16x128_f8f6f4");
    return 0;
}
