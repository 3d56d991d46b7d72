"""Hand-written kernels without a certificate: `kilnc check` finds what the
bytes alone tell, and nothing where one more wait state, count or byte is right.

usage: foreign.py KILNC LLVM_MC FOLDER
"""
import os
import subprocess
import sys

MFMA = "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]"
WIDE = "v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[0:15]"
FP6 = ("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[10:15], v[0:3] "
       "cbsz:2 blgp:2")
FP8 = "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]"
ELSE = "v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], v[12:15]"

# text, instructions with NOPS where the wait states go, least number of them
# on gfx942 and gfx950 (None: not on that target)
STATES = [
    ("reads the matrix result", MFMA + "; NOPS; v_mov_b32 v20, v3", 7, 8),
    ("overwrites the matrix result", MFMA + "; NOPS; v_mov_b32 v3, 0", 7, 8),
    ("reads the matrix result",
     MFMA + "; NOPS; global_store_dword v[20:21], v0, off", 7, 8),
    ("reads the matrix result",
     MFMA + "; NOPS; ds_write_b32 v20, v0", 7, 8),
    ("reads the matrix result",
     MFMA + "; NOPS; v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[6:7], v[8:11]",
     7, 8),
    ("accumulates on the matrix result",
     MFMA + "; NOPS; v_mfma_f32_16x16x16_f16 v[2:5], v[6:7], v[6:7], v[2:5]",
     5, 6),
    ("overwrites the matrix result", ELSE + "; NOPS; v_mov_b32 v12, 0", 3, 3),
    ("reads the matrix result", WIDE + "; NOPS; v_mov_b32 v30, v15", 11, 12),
    ("reads the matrix result", FP6 + "; NOPS; v_mov_b32 v30, v3", None, 8),
    ("reads the matrix result", FP8 + "; NOPS; v_mov_b32 v30, v3", None, 12),
    # the nearest way around a loop counts
    ("reads the matrix result", "L: v_mov_b32 v20, v3; s_nop 7; " + MFMA +
     "; NOPS; s_cbranch_scc1 L; s_nop 15", 6, 7),
    # and a jump leaves out what lies behind it
    (None, MFMA + "; s_branch L; v_mov_b32 v20, v3; L: NOPS", 0, 0),
    (None, MFMA + "; NOPS; " + MFMA, 0, 0),
]

# text or None, exit status, LDS, instructions
FACTS = [
    (None, 0, 1024, "ds_read_b32 v0, v1 offset:1020; s_waitcnt lgkmcnt(0)"),
    ("reaches LDS byte 1027 at least, the kernel has 1024", 1, 1024,
     "ds_read_b32 v0, v1 offset:1024; s_waitcnt lgkmcnt(0)"),
    (None, 0, 1024, "ds_read2_b64 v[0:3], v4 offset0:1 offset1:127"),
    ("reaches LDS byte 1031", 1, 1024,
     "ds_read2_b64 v[0:3], v4 offset0:1 offset1:128"),
    (None, 0, 0, "ds_read_b32 v0, v1 offset:1024"),
    ("of LDS, the target has", 1, 200000, "s_nop 0"),
    ("bits 13:12 are set", 1, 0, ".long 0xbf8c3f70"),
    (None, 0, 0, "s_waitcnt vmcnt(63) lgkmcnt(15)"),
    ("uses scratch, the kernel declares none", 1, 0,
     "scratch_load_dword v0, off, s0"),
    ("no vmcnt wait covers the load into v0", 1, 0,
     "global_load_dword v0, v[2:3], off; v_mov_b32 v1, v0"),
    ("no lgkmcnt wait covers the LDS read into v0", 1, 4096,
     "ds_read_b32 v0, v1; s_waitcnt lgkmcnt(1); v_mov_b32 v1, v0"),
    # a matrix instruction ahead of the end of the first LDS reads
    # (rocm-libraries 11174), and a read carried into the next turn (3003)
    ("no lgkmcnt wait covers the LDS read into v4", 1, 4096,
     "ds_read_b64 v[4:5], v8; " + MFMA),
    (None, 0, 4096, "ds_read_b64 v[4:5], v8; s_waitcnt lgkmcnt(0); " + MFMA),
    ("no lgkmcnt wait covers the LDS read into v4", 1, 4096,
     "v_mov_b32 v4, 0; v_mov_b32 v5, 0; s_nop 0; L: " + MFMA +
     "; ds_read_b64 v[4:5], v8; s_cbranch_scc1 L; s_waitcnt lgkmcnt(0)"),
    (None, 0, 4096,
     "v_mov_b32 v4, 0; v_mov_b32 v5, 0; s_nop 0; L: " + MFMA +
     "; ds_read_b64 v[4:5], v8; s_waitcnt lgkmcnt(0); s_cbranch_scc1 L"),
    ("no lgkmcnt(0) covers the scalar load into s4", 1, 0,
     "s_load_dword s4, s[0:1], 0; s_mov_b32 s5, s4"),
    ("an instruction is unknown", 2, 0, ".long 0xfffffff8"),
    ("the code ends without s_endpgm", 2, 0, "s_nop 0; s_nop 0; CUT: s_nop 0"),
    ("a jump's target is not known", 2, 0, "s_setpc_b64 s[4:5]"),
]


def source(target, body, lds):
    return f"""
    .amdgcn_target "amdgcn-amd-amdhsa--{target}"
    .amdhsa_code_object_version 5
    .text
    .globl k
    .p2align 8
    .type k,@function
k:
""" + "\n".join(body.split("; ")) + f"""
    s_endpgm
.Lend:
    .size k, {"CUT" if "CUT:" in body else ".Lend"}-k
    .section .rodata,"a"
    .p2align 6
    .amdhsa_kernel k
        .amdhsa_group_segment_fixed_size {lds}
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_vgpr 64
        .amdhsa_next_free_sgpr 10
        .amdhsa_accum_offset 64
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 64
    .agpr_count: 0
    .max_flat_workgroup_size: 256
    .args: []
...
    .end_amdgpu_metadata
"""


class Runner:
    def __init__(self, kilnc, mc, folder):
        self.kilnc, self.mc, self.folder = kilnc, mc, folder
        self.done = 0
        os.makedirs(folder, exist_ok=True)

    def check(self, target, body, want, status, lds=0):
        s, o = (os.path.join(self.folder, "k" + x) for x in (".s", ".o"))
        with open(s, "w") as f:
            f.write(source(target, body, lds))
        subprocess.run([self.mc, "-triple=amdgcn-amd-amdhsa",
                        "-mcpu=" + target, "-filetype=obj", s, "-o", o],
                       check=True)
        r = subprocess.run([self.kilnc, "check", o], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out = r.stdout + r.stderr
        assert r.returncode == status, (target, body, out)
        assert (want or "clean") in out, (target, body, out)
        self.done += 1


def nops(n):
    return "; ".join(["s_nop 0"] * (n % 3) + ["s_nop 2"] * (n // 3))


def main():
    run = Runner(*sys.argv[1:])
    for text, body, *least in STATES:
        for target, need in zip(("gfx942", "gfx950"), least):
            if need is None:
                continue
            fill = lambda n: body.replace("NOPS", nops(n) or "; ")
            run.check(target, fill(need), None, 0, 4096)
            if text:
                run.check(target, fill(need - 1),
                          text, 1, 4096)
    for text, status, lds, body in FACTS:
        run.check("gfx950", body, text, status, lds)
    print(run.done, "kernels judged rightly")


main()
