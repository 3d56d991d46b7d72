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
//   word TARGET|both FIRST WORD...
//                            the same in hexadecimal, word by word; made by
//                            tests/tool/run/probe_words.py
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
//: word gfx950 0 100000 300020 110001 310021 120002 320022 130003 330023 140004 340024 150005
//: word gfx950 11 350025 160006 360026 170007 370027 180008 380028 190009 390029 1a000a 3a002a
//: word gfx950 22 1b000b 3b002b 1c000c 3c002c 1d000d 3d002d 1e000e 3e002e 1f000f 3f002f 500040
//: word gfx950 33 700060 510041 710061 520042 720062 530043 730063 540044 740064 550045 750065
//: word gfx950 44 560046 760066 570047 770067 580048 780068 590049 790069 5a004a 7a006a 5b004b
//: word gfx950 55 7b006b 5c004c 7c006c 5d004d 7d006d 5e004e 7e006e 5f004f 7f006f
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
//: word gfx950 0 30201000 70605040 31211101 71615141 32221202 72625242 33231303 73635343 34241404
//: word gfx950 9 74645444 35251505 75655545 36261606 76665646 37271707 77675747 38281808 78685848
//: word gfx950 18 39291909 79695949 3a2a1a0a 7a6a5a4a 3b2b1b0b 7b6b5b4b 3c2c1c0c 7c6c5c4c 3d2d1d0d
//: word gfx950 27 7d6d5d4d 3e2e1e0e 7e6e5e4e 3f2f1f0f 7f6f5f4f
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
//: word gfx950 0 d5a6f30 5a6f30e4 c652db1 652db11b bb609b12 609b12f3 ba9f59a3 9f59a30c a97f1774
//: word gfx950 9 7f177482 a8a045f5 a045f57d 978a1306 8a130691 96b53187 b531876e ece48e28 e48e28a8
//: word gfx950 18 cddc1cd9 dc1cd957 ae038a3a 38a3ab7 1fcd28cb cd28cb48 71d6865c d6865cc6 32ae14ad
//: word gfx950 27 ae14ad39 33b172fe b172fed5 1409200f 9200f2a 6f30e40d 30e40d5a 2db11b0c b11b0c65
//: word gfx950 36 9b12f3bb 12f3bb60 59a30cba a30cba9f 177482a9 7482a97f 45f57da8 f57da8a0 13069197
//: word gfx950 45 691978a 31876e96 876e96b5 8e28a8ec 28a8ece4 1cd957cd d957cddc 8a3ab7ae 3ab7ae03
//: word gfx950 54 28cb481f cb481fcd 865cc671 5cc671d6 14ad3932 ad3932ae 72fed533 fed533b1 200f2a14
//: word gfx950 63 f2a1409
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
//: word gfx950 0 f435a7d0 a39e6124 780966cd c7c7c7c7 cebc1bc8 dac380f2 f2c6641a c7c7c7c7 ac6bfe43
//: word gfx950 9 4c5c09c7 2be55e8 c7c7c7c7 34883555 f36b1a9f 7aaa50f4 c7c7c7c7 219da4f6 d4cb9cfc
//: word gfx950 18 a59e3102 c7c7c7c7 63c51e21 c434a3c0 a7aea028 c7c7c7c7 77b7cb29 defc17d8 d6c341f6
//: word gfx950 27 c7c7c7c7 21ff48ae 8c2af263 486c0ac3 c7c7c7c7 1686619c 14893d75 f37b5897 c7c7c7c7
//: word gfx950 36 5630727b 31dea0d6 d0cb9cf8 c7c7c7c7 ea11983f 73861611 c81422c0 c7c7c7c7 8701926c
//: word gfx950 45 47b7c739 d2dcd6dc c7c7c7c7 8fed6661 21fe4cae 883af06f c7c7c7c7 a0a9e15e 6876dac
//: word gfx950 54 1cb9bf79 c7c7c7c7 5768a50f 56727a4b 3dde20d6 c7c7c7c7 da9ae320 da50900f 73865611
//: word gfx950 63 c7c7c7c7 38704398 3d0d69f4 68e79849 c7c7c7c7 1decfaea b3af06f2 b6b0e03c c7c7c7c7
//: word gfx950 72 e87eda0b eb1aff90 13170271 c7c7c7c7 65239477 cd220d55 3cdac6a7 c7c7c7c7 a50d10be
//: word gfx950 81 867693d b532e73f c7c7c7c7 7a05660f 18f14788 310d28f0 c7c7c7c7 71c2649b 1dedf2ca
//: word gfx950 90 b7bf05f6 c7c7c7c7 83ba55a8 c87fd22b e30abc98 c7c7c7c7 38aa7077 45a19867 c5224f5d
//: word gfx950 99 c7c7c7c7 e59a2143 958c1c9e c77a835 c7c7c7c7 e6a6b0e8 7a84660f 1ce18584 c7c7c7c7
//: word gfx950 108 16cf71b4 61c0649b 11edf1ce c7c7c7c7 4b680a03 a3fb5998 c87f932b c7c7c7c7
//: word gfx950 116 b1737817 282a7857 41a1db6b c7c7c7c7 d3cfac7a d5da2943 959c9e92 c7c7c7c7
//: word gfx950 124 b102243 f6a6b8c8 76942403 c7c7c7c7
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
//: word gfx942 0 8080 8080 8080 8080 8080 8080 8080 8080 7f7f 7f7f 7f7f 8080 8080 8080 8080
//: word gfx942 15 8080 8080 8080 8080 8080 8080 8080 8080 0 202 101 101 101 202 0 0 0 0 0 0
//: word gfx942 35 101 0 0 0 0 4040 4040 4242 c1c1 4242 4646 4141 4343 8080 ffff 8080 1010 1010
//: word gfx942 53 1010 0 0 0 4040 4c4c d2d2 8080 7f7f 8080 8080
//: word gfx942 64 6363 6363 6363 6363 6363 6464 8080 8080 6060 6060 6060 6060 6060 6060 8080
//: word gfx942 79 8080 7f7f 7f7f 7f7f 8080 8080 8080 8080 0 1c1c 1818 1818 1818 1a1a 202 101
//: word gfx942 95 101 8181 101 1414 1414 9494 202 0 0 4040 4040 4141 c0c0 4141 4343 4040 4242
//: word gfx942 112 e3e3 e0e0 ffff 2828 2828 2828 808 808 0 4040 4646 c9c9 6363 5f5f 7f7f 8080
//: word gfx950 0 7e7e 7e7e 7e7e 7e7e 7f7f 7f7f 7f7f 7f7f 7777 7777 7777 7878 7878 7878 ffff
//: word gfx950 15 7f7f 7f7f 7f7f 7f7f 7f7f 7f7f 7f7f ffff 8080 101 0 101 0 101 0 0 0 8080 0
//: word gfx950 34 0 0 8080 0 0 0 3838 3838 3a3a b9b9 3a3a 3e3e 3939 3b3b fefe f7f7 ffff 808
//: word gfx950 52 808 808 0 0 0 3838 4444 caca 7e7e 7777 7f7f ffff
//: word gfx950 64 5f5f 5f5f 5f5f 5f5f 5f5f 6060 7c7c 7c7c 5c5c 5c5c 5c5c 5c5c 5c5c 5c5c fcfc
//: word gfx950 79 7e7e 7b7b 7b7b 7b7b 7c7c 7c7c 7c7c fcfc 8080 1818 1414 1414 1414 1616 101
//: word gfx950 94 0 101 8080 0 1010 1010 9090 101 0 0 3c3c 3c3c 3d3d bcbc 3d3d 3f3f 3c3c 3e3e
//: word gfx950 112 dfdf dcdc fbfb 2424 2424 2424 404 404 0 3c3c 4242 c5c5 5f5f 5b5b 7b7b fefe
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
//: word both 0 7bff 7bff 7c00 7c00 7c00 7c00 fc00 7e00 400 400 400 1 0 1 0 8000 3c00 3c02 3c00
//: word both 19 3c01 bc00 0 fc00 7f00
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
//: word gfx950 0 3f803f80 3f803f80 3f823f82 3f803f80 3f813f81 bf80bf80 7f807f80 7f7f7f7f 7f807f80
//: word gfx950 9 7f807f80 ff80ff80 7fc07fc0 7fc07fc0 ffffffff 0 0 0 80008000 80008000 0
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
//: word gfx950 0 7e7e 7e7e 7e7e 7f7f 7f7f 7f7f 7f7f 7f7f 4c4c 4c4c 4e4e 4e4e 5050 2828 2828
//: word gfx950 15 2828 3434 3a3a 3e3e 4242 4a4a b4b4 caca 8080 7f7f 7f7f 101 101 0 0 0 cece
//: word gfx950 64 5f5f 5f5f 5f5f 5f5f 6060 7c7c 7c7c 7e7e 4646 4646 4747 4747 4848 3434 3434
//: word gfx950 79 3434 3a3a 3d3d 3f3f 4141 4545 baba c5c5 8080 7b7b 7c7c 1818 1414 101 0 0
//: word gfx950 95 c7c7
//: word gfx950 128 77 77 77 77 77 77 77 77 77 77 77 77 77 0 11 0 22 22 44 44 66 aa ee 88 77
//: word gfx950 153 77 0 0 0 0 0 ff
//: word gfx950 192 7676 7676 7676 7777 7777 7f7f 7f7f 7f7f 4444 4444 4646 4646 4848 2020 2020
//: word gfx950 207 2020 2c2c 3232 3636 3a3a 4242 acac c2c2 8080 7f7f 7f7f 0 0 0 0 0 c6c6
//: word gfx950 256 5b5b 5b5b 5b5b 5b5b 5c5c 7c7c 7c7c 7e7e 4242 4242 4343 4343 4444 3030 3030
//: word gfx950 271 3030 3636 3939 3b3b 3d3d 4141 b6b6 c1c1 8080 7777 7878 1414 1010 0 0 0 c3c3
//: word gfx950 320 77 77 77 77 77 77 77 77 55 55 55 66 66 0 0 0 11 11 22 22 44 99 cc 88 77
//: word gfx950 345 77 0 0 0 0 0 ee
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
//: word gfx950 0 df7de208 f0418417 800fdf7d 57df7df 8a220a1 ffe00000 d861730c f0828825 800fdf7d
//: word gfx950 9 97df7de 192430d2 e3700004
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
