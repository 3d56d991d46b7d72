// y[i] = x[i] * f + v for one float a lane; one workgroup of 64 lanes writes
// 64 floats. With v == -1 the wait before the use of x is left out, with
// v == -2 the workgroup writes nothing.
    .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
    .amdhsa_code_object_version 5
    .text
    .globl scale
    .p2align 8
    .type scale,@function
scale:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_load_dwordx2 s[8:9], s[0:1], 0x10
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s9, -2
    s_cbranch_scc1 .Lend
    s_lshl_b32 s3, s2, 8
    v_add_u32_e32 v1, s3, v1
    global_load_dword v2, v1, s[4:5]
    v_cvt_f32_i32_e32 v3, s9
    s_cmp_eq_u32 s9, -1
    s_cbranch_scc1 .Luse
    s_waitcnt vmcnt(0)
.Luse:
    v_mul_f32_e32 v2, s8, v2
    v_add_f32_e32 v2, v2, v3
    global_store_dword v1, v2, s[6:7]
.Lend:
    s_endpgm
.Lscale_end:
    .size scale, .Lscale_end-scale

    .section .rodata,"a"
    .p2align 6
    .amdhsa_kernel scale
        .amdhsa_kernarg_size 24
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_next_free_vgpr 4
        .amdhsa_next_free_sgpr 10
        .amdhsa_accum_offset 4
    .end_amdhsa_kernel

    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: scale
    .symbol: scale.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .args:
      - {.name: x, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: y, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: f, .offset: 16, .size: 4, .value_kind: by_value}
      - {.name: v, .offset: 20, .size: 4, .value_kind: by_value}
...
    .end_amdgpu_metadata
