/* kd.c - kernel descriptor: LLVM AMDGPUUsage, "Code Object V3 Kernel
 * Descriptor" (layout unchanged through V6). */
#include "elfview.h"

#include <string.h>

enum {
    KD_LDS = 0, KD_SCRATCH = 4, KD_KERNARG = 8, KD_RSRC3 = 44, KD_RSRC1 = 48,
    KD_RSRC2 = 52, KD_PROPERTIES = 56, KD_PRELOAD = 58
};

static uint32_t
get32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint16_t
get16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* Targets whose VGPRs and AGPRs share one file of 512 (gfx90a and later
 * CDNA): granule 8; the others allocate architectural VGPRs in fours. */
static bool
is_unified(uint32_t mach)
{
    return mach == KN_MACH_GFX90A ||
           kn_target_where(offsetof(struct kn_target_info, mach), mach);
}

static void
decode_registers(uint32_t mach, struct kn_object_kernel *k)
{
    uint32_t vgpr = (k->rsrc1 & 63) + 1, sgpr = (k->rsrc1 >> 6 & 15) + 1;

    k->sgpr = sgpr * 8;
    if (!is_unified(mach)) {
        k->regs = k->vgpr = k->arch_vgpr = vgpr * 4;
        return;
    }
    k->accum_offset = ((k->rsrc3 & 63) + 1) * 4;
    k->regs = k->vgpr = vgpr * 8;
    k->arch_vgpr = k->regs < k->accum_offset ? k->regs : k->accum_offset;
    k->agpr = k->regs - k->arch_vgpr;
}

void
kn_kd_decode(const uint8_t kd[KN_KD_SIZE], uint32_t mach,
             struct kn_object_kernel *k)
{
    uint64_t entry;

    memcpy(&entry, kd + KN_KD_ENTRY, sizeof entry);
    k->entry = k->kd_addr + entry;
    k->lds = get32(kd + KD_LDS);
    k->scratch = get32(kd + KD_SCRATCH);
    k->kernarg_size = get32(kd + KD_KERNARG);
    k->rsrc1 = get32(kd + KD_RSRC1);
    k->rsrc2 = get32(kd + KD_RSRC2);
    k->rsrc3 = get32(kd + KD_RSRC3);
    k->properties = get16(kd + KD_PROPERTIES);
    k->preload_length = get16(kd + KD_PRELOAD) & 127;
    k->preload_offset = get16(kd + KD_PRELOAD) >> 7;
    k->kernarg_align = 16;
    k->wavefront = 64;
    decode_registers(mach, k);
}
