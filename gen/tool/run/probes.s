// probes.s - what `selftest` asks a GPU before it launches a kernel: a few
// instructions each, with what the simulator assumes of them beside it.
//
// `//: key value` lines describe the probe that follows them:
//   probe NAME TARGET|both   begins one
//   says SENTENCE            the assumption
//   lds BYTES, groups N      of the launch; a workgroup is one wave
//   in WORD...               input in hexadecimal, repeated to 4,096 words;
//                            without it word i is i
//   out N                    words of output, which hold 0xc7c7c7c7 before
//   zero                     or, with this, 0
//   want FIRST COUNT BASE STEP
//                            what the assumption makes of some of them: word
//                            FIRST + i is BASE + i * STEP
//   shows N WHAT             the first N words are told, and judged by nobody:
//                            no two GPUs need agree
//
// Before the instructions: s[4:5] input, s[6:7] output, s8 and s9 their bytes,
// s[12:15] and s[16:19] their descriptors, s2 the workgroup, v0 the lane, v1
// four times it. s_endpgm is added.

//: probe lds-copy both
//: says a dword copied to LDS lands at M0 + 4 * lane, wherever it came from
//: lds 1024
//: out 64
//: want 0 64 63 -1
s_movk_i32 m0, 0x100
v_sub_u32_e32 v2, 0xfc, v1
buffer_load_dword v2, s[12:15], 0 offen lds
s_waitcnt vmcnt(0)
v_add_u32_e32 v3, 0x100, v1
ds_read_b32 v4, v3
s_waitcnt lgkmcnt(0)
buffer_store_dword v4, v1, s[16:19], 0 offen

//: probe lds-copy-offset both
//: says the offset of the instruction counts on both sides of a copy to LDS
//: lds 1024
//: out 64
//: want 0 64 64 1
s_mov_b32 m0, 0x100
s_nop 0
buffer_load_dword v1, s[12:15], 0 offen offset:256 lds
s_waitcnt vmcnt(0)
v_add_u32_e32 v3, 0x200, v1
ds_read_b32 v4, v3
s_waitcnt lgkmcnt(0)
buffer_store_dword v4, v1, s[16:19], 0 offen

//: probe lds-copy-high gfx950
//: says 16 bytes a lane land at M0 + 16 * lane, with M0 of 18 bits, up to the last of 160 KB
//: lds 163840
//: out 768
//: want 0 768 0 1
v_lshlrev_b32_e32 v2, 4, v0
.irp at, 0, 1, 2
.if \at == 0
s_mov_b32 m0, 0x10000
.elseif \at == 1
s_mov_b32 m0, 0x20000
.else
s_mov_b32 m0, 0x27c00
.endif
v_add_u32_e32 v3, 1024 * \at, v2
buffer_load_dwordx4 v3, s[12:15], 0 offen lds
.endr
s_waitcnt vmcnt(0)
v_add_u32_e32 v3, 0x10000, v2
ds_read_b128 v[4:7], v3
v_add_u32_e32 v3, 0x20000, v2
ds_read_b128 v[8:11], v3
v_add_u32_e32 v3, 0x27c00, v2
ds_read_b128 v[12:15], v3
s_waitcnt lgkmcnt(0)
buffer_store_dwordx4 v[4:7], v2, s[16:19], 0 offen
buffer_store_dwordx4 v[8:11], v2, s[16:19], 0 offen offset:1024
buffer_store_dwordx4 v[12:15], v2, s[16:19], 0 offen offset:2048

//: probe lds-copy-outside both
//: says a lane past the records writes zero to LDS
//: lds 256
//: out 64
//: want 0 32 0 1
//: want 32 32 0 0
v_mov_b32_e32 v2, 0x5a5a5a5a
ds_write_b32 v1, v2
s_movk_i32 s14, 0x80
s_mov_b32 m0, 0
s_waitcnt lgkmcnt(0)
buffer_load_dword v1, s[12:15], 0 offen lds
s_waitcnt vmcnt(0)
ds_read_b32 v4, v1
s_waitcnt lgkmcnt(0)
buffer_store_dword v4, v1, s[16:19], 0 offen

//: probe lds-copy-edge gfx950
//: says of 16 bytes to LDS each dword past the records is zero by itself
//: lds 1024
//: out 256
//: want 0 42 0 1
//: want 42 214 0 0
v_mov_b32_e32 v4, 0x5a5a5a5a
v_mov_b32_e32 v5, v4
v_mov_b32_e32 v6, v4
v_mov_b32_e32 v7, v4
v_lshlrev_b32_e32 v2, 4, v0
ds_write_b128 v2, v[4:7]
s_movk_i32 s14, 0xa8
s_mov_b32 m0, 0
s_waitcnt lgkmcnt(0)
buffer_load_dwordx4 v2, s[12:15], 0 offen lds
s_waitcnt vmcnt(0)
ds_read_b128 v[8:11], v2
s_waitcnt lgkmcnt(0)
buffer_store_dwordx4 v[8:11], v2, s[16:19], 0 offen

//: probe load-edge both
//: says of a 16-byte load each dword past the records is zero by itself
//: out 256
//: want 0 42 0 1
//: want 42 214 0 0
s_movk_i32 s14, 0xa8
v_lshlrev_b32_e32 v2, 4, v0
buffer_load_dwordx4 v[4:7], v2, s[12:15], 0 offen
s_waitcnt vmcnt(0)
buffer_store_dwordx4 v[4:7], v2, s[16:19], 0 offen

//: probe load-edge-8 both
//: says the same of an 8-byte load
//: out 128
//: want 0 43 0 1
//: want 43 85 0 0
s_movk_i32 s14, 0xac
v_lshlrev_b32_e32 v2, 3, v0
buffer_load_dwordx2 v[4:5], v2, s[12:15], 0 offen
s_waitcnt vmcnt(0)
buffer_store_dwordx2 v[4:5], v2, s[16:19], 0 offen

//: probe store-edge both
//: says of a 16-byte store each dword past the records is dropped by itself
//: out 256
//: want 0 42 0 1
//: want 42 214 0xc7c7c7c7 0
v_lshlrev_b32_e32 v2, 4, v0
v_lshlrev_b32_e32 v4, 2, v0
v_or_b32_e32 v5, 1, v4
v_or_b32_e32 v6, 2, v4
v_or_b32_e32 v7, 3, v4
s_movk_i32 s18, 0xa8
buffer_store_dwordx4 v[4:7], v2, s[16:19], 0 offen

//: probe far-offset both
//: says the offset 0x7fffffff of a masked lane is outside: loads give zero, stores nothing
//: out 128
//: want 0 64 0 0
//: want 64 64 0xc7c7c7c7 0
v_bfrev_b32_e32 v2, -2
v_mov_b32_e32 v8, 1
v_mov_b32_e32 v9, 2
v_mov_b32_e32 v10, 3
v_mov_b32_e32 v11, 4
buffer_load_dwordx4 v[4:7], v2, s[12:15], 0 offen
s_waitcnt vmcnt(0)
v_or_b32_e32 v4, v4, v5
v_or3_b32 v4, v4, v6, v7
buffer_store_dword v4, v1, s[16:19], 0 offen
buffer_store_dwordx4 v[8:11], v2, s[16:19], 0 offen

//: probe read-tr-b16 gfx950
//: says ds_read_b64_tr_b16 hands the 4x16 elements of 16 lanes out by columns
//: lds 512
//: out 128
v_lshlrev_b32_e32 v2, 3, v0
v_lshlrev_b32_e32 v3, 2, v0
v_add_u32_e32 v5, 1, v3
v_lshl_or_b32 v4, v5, 16, v3
v_add_u32_e32 v6, 2, v3
v_add_u32_e32 v7, 3, v3
v_lshl_or_b32 v5, v7, 16, v6
ds_write_b64 v2, v[4:5]
s_waitcnt lgkmcnt(0)
ds_read_b64_tr_b16 v[8:9], v2
s_waitcnt lgkmcnt(0)
buffer_store_dwordx2 v[8:9], v2, s[16:19], 0 offen

//: probe read-tr-b8 gfx950
//: says ds_read_b64_tr_b8 hands the 8x16 elements of 16 lanes out by columns
//: lds 512
//: in 03020100 07060504 0b0a0908 0f0e0d0c 13121110 17161514 1b1a1918 1f1e1d1c
//: in 23222120 27262524 2b2a2928 2f2e2d2c 33323130 37363534 3b3a3938 3f3e3d3c
//: in 43424140 47464544 4b4a4948 4f4e4d4c 53525150 57565554 5b5a5958 5f5e5d5c
//: in 63626160 67666564 6b6a6968 6f6e6d6c 73727170 77767574 7b7a7978 7f7e7d7c
//: out 128
v_lshlrev_b32_e32 v2, 3, v0
buffer_load_dwordx2 v[4:5], v2, s[12:15], 0 offen
s_waitcnt vmcnt(0)
ds_write_b64 v2, v[4:5]
s_waitcnt lgkmcnt(0)
ds_read_b64_tr_b8 v[8:9], v2
s_waitcnt lgkmcnt(0)
buffer_store_dwordx2 v[8:9], v2, s[16:19], 0 offen

//: probe read-tr-b4 gfx950
//: says ds_read_b64_tr_b4 hands the 16x16 elements of 16 lanes out by columns
//: lds 512
//: in 76543210 fedcba98 80f7a1b3 0fa5c3d2 13579bdf 02468ace 31415926 27182818
//: in 5a0ff05a 91e6d3c4 b8a79665 0badc0de 6789abcd 4321fedc 99aabb00 13371ace
//: in e1d2c3b4 a5968778 69780f1e 2d3c4b5a
//: out 128
v_lshlrev_b32_e32 v2, 3, v0
buffer_load_dwordx2 v[4:5], v2, s[12:15], 0 offen
s_waitcnt vmcnt(0)
ds_write_b64 v2, v[4:5]
s_waitcnt lgkmcnt(0)
ds_read_b64_tr_b4 v[8:9], v2
s_waitcnt lgkmcnt(0)
buffer_store_dwordx2 v[8:9], v2, s[16:19], 0 offen

//: probe read-tr-b6 gfx950
//: says ds_read_b96_tr_b6 hands the 16x16 elements of 16 lanes out by columns
//: lds 1024
//: in 76543210 fedcba98 80f7a1b3 0fa5c3d2 13579bdf 02468ace 31415926 27182818
//: in 5a0ff05a 91e6d3c4 b8a79665 0badc0de 6789abcd 4321fedc 99aabb00 13371ace
//: in e1d2c3b4 a5968778 69780f1e 2d3c4b5a 70f1e2d3
//: out 256
v_lshlrev_b32_e32 v2, 4, v0
buffer_load_dwordx4 v[4:7], v2, s[12:15], 0 offen
s_waitcnt vmcnt(0)
ds_write_b128 v2, v[4:7]
s_waitcnt lgkmcnt(0)
ds_read_b96_tr_b6 v[8:10], v2
s_waitcnt lgkmcnt(0)
buffer_store_dwordx3 v[8:10], v2, s[16:19], 0 offen

//: probe permlane16-swap gfx950
//: says the odd rows of 16 lanes of the first register change places with the even rows of the second
//: out 128
//: want 0 16 0 1
//: want 16 16 100 1
//: want 32 16 32 1
//: want 48 16 132 1
//: want 64 16 16 1
//: want 80 16 116 1
//: want 96 16 48 1
//: want 112 16 148 1
v_mov_b32_e32 v2, v0
v_add_u32_e32 v3, 0x64, v0
s_nop 4
v_permlane16_swap_b32_e32 v2, v3
s_nop 4
buffer_store_dword v2, v1, s[16:19], 0 offen
buffer_store_dword v3, v1, s[16:19], 0 offen offset:256

//: probe permlane32-swap gfx950
//: says the upper half of the first register changes places with the lower half of the second
//: out 128
//: want 0 32 0 1
//: want 32 32 100 1
//: want 64 32 32 1
//: want 96 32 132 1
v_mov_b32_e32 v2, v0
v_add_u32_e32 v3, 0x64, v0
s_nop 4
v_permlane32_swap_b32_e32 v2, v3
s_nop 4
buffer_store_dword v2, v1, s[16:19], 0 offen
buffer_store_dword v3, v1, s[16:19], 0 offen offset:256

//: probe cvt-8-bit both
//: says f32 to fp8 and bf8 rounds to nearest even first and is judged to overflow after that: 448.00003 (gfx942: 240.00002) is the largest, not NaN
//: in 43e00000 43e00001 43e7ffff 43e80000 43e80001 43f00000 7f7fffff 7f800000
//: in 43700000 43700001 4377ffff 43780000 43780001 43800000 ff800000 7fc00000
//: in 47600000 47600001 476fffff 47700000 47700001 47800000 ff7fffff 80000000
//: in 3b000000 3a800000 3a800001 3a7fffff 3ac00000 37800000 37000000 37000001
//: in b6ffffff 36ffffff 3a000000 3a000001 b9ffffff 37400000 00000001 00800000
//: in 3f800000 3f880000 3f980000 bf880001 3fa00000 3fe00000 3f900000 3fb00000
//: in c3e00001 c3700001 c7600001 3c7fffff 3c780000 3c840000 38700000 387fffff
//: in 00000000 3f7fffff 40400000 c0a00000 43dfffff 436fffff 475fffff ffc00001
//: out 128
buffer_load_dword v2, v1, s[12:15], 0 offen
v_mov_b32_e32 v3, 0
v_mov_b32_e32 v4, 0
s_waitcnt vmcnt(0)
v_cvt_pk_fp8_f32 v3, v2, v2
v_cvt_pk_bf8_f32 v4, v2, v2
s_nop 1
buffer_store_dword v3, v1, s[16:19], 0 offen
buffer_store_dword v4, v1, s[16:19], 0 offen offset:256

//: probe cvt-16-bit both
//: says f32 to f16 rounds to nearest even, keeps denormals and overflows to infinity
//: in 477fe000 477fefff 477ff000 477ff001 47800000 7f7fffff ff800000 7fc00000
//: in 38800000 387fe000 387fffff 33800000 33000000 33000001 32ffffff 80000000
//: in 3f801000 3f803000 3f800fff 3f801001 bf801000 00000001 c77ff000 7fa00001
//: out 64
buffer_load_dword v2, v1, s[12:15], 0 offen
s_waitcnt vmcnt(0)
v_cvt_f16_f32_e32 v3, v2
buffer_store_dword v3, v1, s[16:19], 0 offen

//: probe cvt-bf16 gfx950
//: says f32 to bf16 rounds to nearest even and keeps NaN a NaN
//: in 3f800000 3f808000 3f818000 3f807fff 3f808001 bf808000 7f7fffff 7f7f7fff
//: in 7f7f8000 7f800000 ff800000 7fc00000 7f800001 ffbfffff 00000001 00008000
//: in 00018000 807fffff 80000000 00000000
//: out 64
buffer_load_dword v2, v1, s[12:15], 0 offen
s_waitcnt vmcnt(0)
v_cvt_pk_bf16_f32 v3, v2, v2
s_nop 1
buffer_store_dword v3, v1, s[16:19], 0 offen

//: probe cvt-scaled gfx950
//: says scaled conversions divide by the scale's power of two, then round once: fp8, bf8 and fp4 of f32
//: in 43e00000 43e00001 43e80000 43e80001 43f00000 7f7fffff 7f800000 7fc00000
//: in 40c00000 40c00001 40dfffff 40e00000 41000000 3e800000 3e800001 3e7fffff
//: in 3f400000 3fa00000 3fe00000 40200000 40a00000 bf400000 c0a00000 80000000
//: in 47600001 47700000 3b000000 3a800001 37000001 00000001 00000000 c0e00000
//: out 384
buffer_load_dword v2, v1, s[12:15], 0 offen
v_mov_b32_e32 v3, 0
v_mov_b32_e32 v4, 0
v_mov_b32_e32 v5, 0
v_mov_b32_e32 v6, 0
v_mov_b32_e32 v7, 0
v_mov_b32_e32 v8, 0
v_mov_b32_e32 v9, 2.0
v_mov_b32_e32 v10, 1.0
s_waitcnt vmcnt(0)
v_cvt_scalef32_pk_fp8_f32 v3, v2, v2, v10
v_cvt_scalef32_pk_bf8_f32 v4, v2, v2, v10
v_cvt_scalef32_pk_fp4_f32 v5, v2, v2, v10
v_cvt_scalef32_pk_fp8_f32 v6, v2, v2, v9
v_cvt_scalef32_pk_bf8_f32 v7, v2, v2, v9
v_cvt_scalef32_pk_fp4_f32 v8, v2, v2, v9
s_nop 1
buffer_store_dword v3, v1, s[16:19], 0 offen
buffer_store_dword v4, v1, s[16:19], 0 offen offset:256
buffer_store_dword v5, v1, s[16:19], 0 offen offset:512
buffer_store_dword v6, v1, s[16:19], 0 offen offset:768
buffer_store_dword v7, v1, s[16:19], 0 offen offset:1024
buffer_store_dword v8, v1, s[16:19], 0 offen offset:1280

//: probe cvt-fp6 gfx950
//: says 32 bf16 become fp6 and bf6 by one rounding each, and the largest where they are larger
//: in 3f803f80 40f040e0 40ef40f1 bdff3dff 3e003e01 7f807f7f ffc07fc0 80000000
//: in 41e041d0 41df41e1 3f083f18 3f883f98 be80be7f 3d803d7f 00010080 c0f0c0e8
//: out 768
v_lshlrev_b32_e32 v2, 6, v0
v_and_b32_e32 v2, 0xfff, v2
buffer_load_dwordx4 v[16:19], v2, s[12:15], 0 offen
buffer_load_dwordx4 v[20:23], v2, s[12:15], 0 offen offset:16
buffer_load_dwordx4 v[24:27], v2, s[12:15], 0 offen offset:32
buffer_load_dwordx4 v[28:31], v2, s[12:15], 0 offen offset:48
v_mov_b32_e32 v3, 1.0
s_waitcnt vmcnt(0)
v_cvt_scalef32_pk32_fp6_bf16 v[4:9], v[16:31], v3
v_cvt_scalef32_pk32_bf6_bf16 v[10:15], v[16:31], v3
s_nop 1
v_mul_u32_u24_e32 v2, 48, v0
buffer_store_dwordx2 v[4:5], v2, s[16:19], 0 offen
buffer_store_dwordx2 v[6:7], v2, s[16:19], 0 offen offset:8
buffer_store_dwordx2 v[8:9], v2, s[16:19], 0 offen offset:16
buffer_store_dwordx2 v[10:11], v2, s[16:19], 0 offen offset:24
buffer_store_dwordx2 v[12:13], v2, s[16:19], 0 offen offset:32
buffer_store_dwordx2 v[14:15], v2, s[16:19], 0 offen offset:40

//: probe xcd-message both
//: says what a workgroup stored with sc1 before it counted itself in, the last to count reads with sc1, though its L2 held the old bytes
//: groups 64
//: out 33792
//: zero
//: want 0 8 0 0
//: want 256 512 1 0
s_mov_b32 s20, 0
.Lround:
s_lshl_b32 s22, s20, 14
s_addk_i32 s22, 0x1000
s_mov_b32 s23, 0
.Lwarm:
v_add_u32_e32 v2, s22, v1
buffer_load_dword v3, v2, s[16:19], 0 offen
s_addk_i32 s22, 0x100
s_addk_i32 s23, 1
s_cmp_lt_u32 s23, 64
s_cbranch_scc1 .Lwarm
s_waitcnt vmcnt(0)
s_lshl_b32 s22, s20, 6
s_add_u32 s22, s22, s2
s_lshl_b32 s23, s22, 6
s_addk_i32 s23, 1
v_add_u32_e32 v4, s23, v0
s_lshl_b32 s24, s22, 8
s_addk_i32 s24, 0x1000
v_add_u32_e32 v2, s24, v1
buffer_store_dword v4, v2, s[16:19], 0 offen sc1
s_waitcnt vmcnt(0)
v_mov_b32_e32 v5, 63
s_lshl_b32 s25, s20, 2
v_mov_b32_e32 v6, s25
v_cmp_eq_u32_e32 vcc, 0, v0
s_and_saveexec_b64 s[26:27], vcc
buffer_atomic_inc v5, v6, s[16:19], 0 offen sc0
s_waitcnt vmcnt(0)
s_mov_b64 exec, s[26:27]
v_readfirstlane_b32 s28, v5
s_cmp_lg_u32 s28, 63
s_cbranch_scc1 .Lnext
v_mov_b32_e32 v7, 1
s_lshl_b32 s22, s20, 14
s_addk_i32 s22, 0x1000
s_lshl_b32 s23, s20, 12
s_addk_i32 s23, 1
s_mov_b32 s24, 0
.Lread:
v_add_u32_e32 v2, s22, v1
buffer_load_dword v3, v2, s[16:19], 0 offen sc1
v_add_u32_e32 v4, s23, v0
s_waitcnt vmcnt(0)
v_cmp_ne_u32_e32 vcc, v3, v4
s_nop 1
v_cndmask_b32_e64 v8, 0, 1, vcc
v_add_u32_e32 v7, v7, v8
s_addk_i32 s22, 0x100
s_addk_i32 s23, 64
s_addk_i32 s24, 1
s_cmp_lt_u32 s24, 64
s_cbranch_scc1 .Lread
s_lshl_b32 s25, s20, 8
s_addk_i32 s25, 0x400
v_add_u32_e32 v2, s25, v1
buffer_store_dword v7, v2, s[16:19], 0 offen
.Lnext:
s_addk_i32 s20, 1
s_cmp_lt_u32 s20, 8
s_cbranch_scc1 .Lround

//: probe xcc-map both
//: says workgroups are dealt to the chiplets in turn: N goes to N mod 8 of a whole chip
//: groups 64
//: out 64
//: shows 64 chiplet of each workgroup
s_getreg_b32 s20, hwreg(HW_REG_XCC_ID)
v_mov_b32_e32 v2, s20
s_lshl_b32 s21, s2, 2
v_mov_b32_e32 v3, s21
v_cmp_eq_u32_e32 vcc, 0, v0
s_and_saveexec_b64 s[26:27], vcc
buffer_store_dword v2, v3, s[16:19], 0 offen

//: probe instruction-cache both
//: says a line of 64 bytes that is not cached costs 213 clk, one that is costs no more than its jump
//: out 2
//: shows 2 clocks of 512 jumps from line to line, first and second time
s_mov_b32 s30, 0
.Lpass:
s_memtime s[20:21]
s_waitcnt lgkmcnt(0)
s_branch .Lchain
.p2align 6
.Lchain:
.rept 512
s_branch 1f
.p2align 6
1:
.endr
s_memtime s[22:23]
s_waitcnt lgkmcnt(0)
s_sub_u32 s24, s22, s20
v_mov_b32_e32 v2, s24
s_lshl_b32 s25, s30, 2
v_mov_b32_e32 v3, s25
v_cmp_eq_u32_e32 vcc, 0, v0
s_and_saveexec_b64 s[26:27], vcc
buffer_store_dword v2, v3, s[16:19], 0 offen
s_mov_b64 exec, s[26:27]
s_addk_i32 s30, 1
s_cmp_lt_u32 s30, 2
s_cbranch_scc1 .Lpass

//: probe scaled-issue gfx950
//: says a scaled matrix instruction takes one issue slot: 64 of fp4 take 1024 clk with up to three additions after each
//: out 5
//: shows 5 clocks of 64 with 0, 1, 2, 3 and 4 additions after each
.irp r, 32, 33, 34, 35, 36, 37, 38, 39, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 66, 67, 68, 69
v_mov_b32_e32 v\r, 0
.endr
v_mov_b32_e32 v64, 0x7f7f7f7f
v_mov_b32_e32 v65, 0x7f7f7f7f
.macro step n, d
v_mfma_scale_f32_16x16x128_f8f6f4 v[\d:\d+3], v[32:35], v[36:39], v[\d:\d+3], v64, v65 op_sel_hi:[0,0,0] cbsz:4 blgp:4
.if \n > 0
v_add_u32_e32 v66, 1, v66
.endif
.if \n > 1
v_add_u32_e32 v67, 1, v67
.endif
.if \n > 2
v_add_u32_e32 v68, 1, v68
.endif
.if \n > 3
v_add_u32_e32 v69, 1, v69
.endif
.endm
.irp n, 0, 1, 2, 3, 4
s_nop 15
s_memtime s[20:21]
s_waitcnt lgkmcnt(0)
.rept 16
step \n, 48
step \n, 52
step \n, 56
step \n, 60
.endr
s_memtime s[22:23]
s_waitcnt lgkmcnt(0)
s_sub_u32 s24, s22, s20
v_mov_b32_e32 v2, s24
v_mov_b32_e32 v3, 4 * \n
v_cmp_eq_u32_e32 vcc, 0, v0
s_and_saveexec_b64 s[26:27], vcc
buffer_store_dword v2, v3, s[16:19], 0 offen
s_mov_b64 exec, s[26:27]
.endr
