// A wave that spins for ever, and one that writes into its own code.
    .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
    .amdhsa_code_object_version 5
    .text
    .globl spin
    .p2align 8
    .type spin,@function
spin:
    s_branch spin
    s_endpgm
    .size spin, .-spin

    .globl patch
    .p2align 8
    .type patch,@function
patch:
    s_getpc_b64 s[2:3]
    v_mov_b32_e32 v1, 0
    v_mov_b32_e32 v2, 0
    global_store_dword v1, v2, s[2:3]
    s_endpgm
    .size patch, .-patch

    .rodata
    .p2align 6
    .amdhsa_kernel spin
        .amdhsa_next_free_vgpr 4
        .amdhsa_next_free_sgpr 16
        .amdhsa_accum_offset 4
    .end_amdhsa_kernel
    .amdhsa_kernel patch
        .amdhsa_next_free_vgpr 4
        .amdhsa_next_free_sgpr 16
        .amdhsa_accum_offset 4
    .end_amdhsa_kernel

    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: spin
    .symbol: spin.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args: []
  - .name: patch
    .symbol: patch.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args: []
...
    .end_amdgpu_metadata
