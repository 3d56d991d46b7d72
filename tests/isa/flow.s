// Kernels for the tests of control flow, census, gates and info. The numbers
// in test_flow.c and test_gates.c are counted by hand from this text.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
	.amdhsa_code_object_version 5

	.macro begin name
	.text
	.p2align 8
	.globl \name
	.protected \name
	.type \name,@function
\name:
	.endm

	.macro finish name, vgpr, accum, lds, scratch
	.size \name, .-\name
	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel \name
	.amdhsa_next_free_vgpr \vgpr
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset \accum
	.amdhsa_group_segment_fixed_size \lds
	.amdhsa_private_segment_fixed_size \scratch
	.end_amdhsa_kernel
	.endm

// A main loop as kiln plans it: 2 matrix instructions, waits vm=6 and vm=4.
	begin pipeline
	s_mov_b32 s4, 8
	v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[12:15], 0
.Lpipe:
	buffer_load_dwordx4 v16, s[8:11], 0 offen lds
	buffer_load_dwordx4 v[20:23], v16, s[8:11], 0 offen
	s_waitcnt vmcnt(6) lgkmcnt(0)
	s_barrier
	ds_read_b128 v[8:11], v17
	ds_read_b128 v[12:15], v17 offset:64
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[12:15], v[0:3]
	s_waitcnt vmcnt(4)
	s_nop 1
	v_mfma_f32_16x16x32_bf16 v[4:7], v[8:11], v[12:15], v[4:7]
	s_sub_u32 s4, s4, 1
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 .Lpipe
	s_endpgm
	finish pipeline, 24, 24, 4096, 0

// An outer loop around the main loop and a diamond, code nobody reaches, and
// accumulators that move.
	begin nested
	s_mov_b32 s4, 2
.Louter:
	s_mov_b32 s5, 3
.Linner:
	v_mfma_f32_32x32x16_f16 a[0:15], v[0:3], v[4:7], a[0:15]
	v_accvgpr_read_b32 v8, a0
	s_sub_u32 s5, s5, 1
	s_cmp_lg_u32 s5, 0
	s_cbranch_scc1 .Linner
	s_cmp_eq_u32 s4, 1
	s_cbranch_scc1 .Lelse
	v_mov_b32 v9, 1
	s_branch .Ljoin
.Lelse:
	v_mov_b32 v9, 2
.Ljoin:
	s_sub_u32 s4, s4, 1
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 .Louter
	s_endpgm
	v_mov_b32 v9, 3
	finish nested, 32, 16, 0, 0

// A cycle entered in two places, and a jump nobody can follow.
	begin tangled
	s_cbranch_scc0 .Lsecond
.Lfirst:
	v_mov_b32 v0, 1
.Lsecond:
	v_mov_b32 v0, 2
	s_cbranch_scc1 .Lfirst
	s_setpc_b64 s[4:5]
	finish tangled, 8, 8, 0, 0

// Registers that live in memory.
	begin spilling
	scratch_store_dword off, v0, off offset:4
	s_endpgm
	finish spilling, 8, 8, 0, 16

	.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: pipeline
    .symbol: pipeline.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 24
    .agpr_count: 0
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 512
    .args:
      - { .name: "a\"b", .offset: 0, .size: 8, .value_kind: global_buffer }
      - { .offset: 8, .size: 4, .value_kind: by_value }
      - { .offset: 16, .size: 4, .value_kind: hidden_block_count_x }
  - .name: nested
    .symbol: nested.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 32
    .agpr_count: 16
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 256
  - .name: tangled
    .symbol: tangled.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 1
    .agpr_count: 0
    .max_flat_workgroup_size: 64
  - .name: spilling
    .symbol: spilling.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 16
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 1
    .agpr_count: 0
    .sgpr_spill_count: 1
    .vgpr_spill_count: 3
    .max_flat_workgroup_size: 64
.end_amdgpu_metadata
