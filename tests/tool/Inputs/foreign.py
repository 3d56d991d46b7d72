"""Hand-written kernels without a certificate: `kilnc check` finds what the
bytes alone tell, and nothing where one more wait state, count or byte is right.

usage: foreign.py KILNC LLVM_MC FOLDER
"""
import json
import os
import re
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
    ("an instruction is unknown", 3, 0, ".long 0xfffffff8"),
    ("the code ends without s_endpgm", 3, 0, "s_nop 0; s_nop 0; CUT: s_nop 0"),
    ("a jump's target is not known", 3, 0, "s_setpc_b64 s[4:5]"),
]

# LDS order of four waves from the bytes alone: v1 is the address of a
# work-item's own dword, v2 of the next wave's, s8 the wave, s0 the same in all
# of them. text or None, exit status, status with --strict, instructions
OWN = ("v_lshlrev_b32 v1, 2, v0; v_add_u32 v2, 0x100, v1; "
       "v_and_b32 v2, 0x3fc, v2; v_lshrrev_b32 v5, 6, v0; s_nop 1; "
       "v_readfirstlane_b32 s8, v5; s_nop 4; ")
WRITE = "ds_write_b32 v1, v0; s_waitcnt lgkmcnt(0); "
READ = "ds_read_b32 v3, v2; s_waitcnt lgkmcnt(0)"
COPY = ("s_lshl_b32 s9, s8, 8; s_mov_b32 m0, s9; s_nop 0; "
        "buffer_load_dword v1, s[4:7], 0 offen lds; ")
AGAIN = "; s_cmp_lg_u32 s0, 5; s_cbranch_scc1 L"
SLOTS = ("s_mov_b32 s9, 0; L: v_add_u32 v6, s9, v1; v_add_u32 v7, s9, v2; "
         "ds_write_b32 v6, v0; s_waitcnt lgkmcnt(0); s_barrier; "
         "ds_read_b32 v3, v7; s_waitcnt lgkmcnt(0); s_xor_b32 s9, s9, SIZE" +
         AGAIN)
# v10: a work-item's dword of its wave's 256 bytes, turned by what nobody knows; v9: by how
# many bytes; the dwords that would lie before the wave's go behind (or, BEFORE, do not)
PHASE = "v_mul_lo_u32 v9, v0, s0; v_and_b32 v9, 12, v9; "
TURN = "v_and_b32 v10, 0xfc, v1; v_sub_u32 v10, v10, v9; v_and_b32 v11, 0x300, v1; "
BEFORE = PHASE + TURN
WRAP = ("v_cmp_gt_i32 vcc, 0, v10; v_add_u32 v12, 0x100, v10; s_nop 1; "
        "v_cndmask_b32 v10, v10, v12, vcc; ")
TURNED = "v_add_u32 v10, v11, v10; ds_write_b32 v10, v0; s_waitcnt lgkmcnt(0); "
OWN_READ = "ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)"
HALF = "s_cmp_lt_u32 s8, 2; s_cbranch_scc%d %s; s_barrier; %s: "
ORDER = [
    (None, 0, 0, WRITE + "s_barrier; " + READ),
    ("no wait and barrier publish", 1, 1,
     "ds_write_b32 v1, v0; s_barrier; " + READ),
    ("no barrier publishes", 1, 1, WRITE + READ),
    (None, 0, 0, WRITE + "ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)"),
    ("no barrier since another wave's", 1, 1,
     "L: " + WRITE + "s_barrier; " + READ + AGAIN),
    (None, 0, 0, "L: " + WRITE + "s_barrier; " + READ + "; s_barrier" + AGAIN),
    ("write", 1, 1, "v_and_b32 v1, 0xfc, v1; " + WRITE),
    (None, 0, 0, COPY + "s_waitcnt vmcnt(0); s_barrier; " + READ),
    ("no wait and barrier publish", 1, 1,
     COPY + "s_waitcnt vmcnt(1); s_barrier; " + READ +
     "; s_waitcnt vmcnt(0)"),
    ("still under way", 1, 1, COPY[:-2]),
    # two slots in turn, told apart by what a register holds
    (None, 0, 0, SLOTS.replace("SIZE", "0x400")),
    ("no barrier since another wave's", 1, 1, SLOTS.replace("SIZE", "0")),
    # a wave's rows turned in themselves, one that may leave its wave's, and a turn of
    # which a later one knows nothing, though one instruction made both
    (None, 0, 0, BEFORE + WRAP + TURNED + OWN_READ),
    (None, 0, 0, BEFORE + WRAP + TURNED + "s_barrier; " + READ),
    ("no barrier publishes", 1, 1, BEFORE + WRAP + TURNED + READ),
    ("no barrier publishes", 1, 1, BEFORE + TURNED + OWN_READ),
    ("clean but for LDS order (1 addresses not derived)", 0, 1,
     "v_mov_b32 v9, 0; L: v_mov_b32 v12, v9; s_add_u32 s0, s0, s1; " + PHASE[:-2] + AGAIN +
     "; v_sub_u32 v9, v9, v12; " + TURN + WRAP + TURNED + OWN_READ),
    # one wave only; half of them a barrier behind
    (None, 0, 0, "s_cmp_lg_u32 s8, 0; s_cbranch_scc1 L; " + WRITE +
     "L: s_barrier; ds_read_b32 v3, v0; s_waitcnt lgkmcnt(0)"),
    (None, 0, 0, HALF % (1, "L", "L") + WRITE + "s_barrier; s_barrier; " +
     READ + "; " + HALF % (0, "M", "M") + "s_nop 0"),
    ("no barrier publishes", 1, 1, HALF % (1, "L", "L") + WRITE +
     "s_barrier; " + READ + "; " + HALF % (0, "M", "M") + "s_nop 0"),
    # each half with barriers of its own: the n-th meets the n-th
    (None, 0, 0, "s_cmp_lt_u32 s8, 2; s_cbranch_scc1 L; " + WRITE +
     "s_barrier; s_branch M; L: s_barrier; " + READ + "; M: s_nop 0"),
    ("no barrier between it and the other waves'", 1, 1,
     "s_cmp_lt_u32 s8, 2; s_cbranch_scc1 L; s_barrier; " + WRITE +
     "s_branch M; L: s_barrier; " + READ + "; M: s_nop 0"),
    ("unlike numbers of barriers", 1, 1,
     "s_cmp_lt_u32 s8, 2; s_cbranch_scc1 L; " + WRITE +
     "s_barrier; s_barrier; s_branch M; L: s_barrier; " + READ +
     "; M: s_nop 0"),
    # half of them a barrier ahead up to the end; gone before a barrier, or
    # behind the last one
    ("waves 0 and 2 end with unlike numbers of barriers", 1, 1,
     HALF % (1, "L", "L") + WRITE + "s_barrier; s_barrier; " + READ),
    ("waves 2 and 0 end with unlike numbers of barriers", 1, 1,
     WRITE + "s_barrier; " + READ + "; " + HALF % (0, "M", "M") + "s_nop 0"),
    ("wave 0 has ended and never reaches it", 1, 1,
     "s_cmp_lt_u32 s8, 2; s_cbranch_scc0 L; s_endpgm; L: " + WRITE +
     "s_barrier; ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)"),
    (None, 0, 0, WRITE + "s_barrier; s_cmp_lt_u32 s8, 2; s_cbranch_scc0 L; "
     "s_endpgm; L: " + READ),
    # what is not decided is said, and is no finding but with --strict
    ("clean but for LDS order (1 addresses not derived)", 0, 1,
     "ds_read_b32 v4, v1; s_waitcnt lgkmcnt(0); ds_read_b32 v5, v4"),
    ("a barrier behind a branch that waves may take differently", 0, 1,
     WRITE + "s_cbranch_vccz L; s_barrier; L: " + READ),
    ("a flat access may go to LDS", 0, 1,
     WRITE + "flat_load_dword v6, v[8:9]; s_waitcnt vmcnt(0) lgkmcnt(0)"),
]


def source(target, body, lds, name):
    return f"""
    .amdgcn_target "amdgcn-amd-amdhsa--{target}"
    .amdhsa_code_object_version 5
    .text
    .globl {name}
    .p2align 8
    .type {name},@function
{name}:
""" + "\n".join(body.split("; ")) + f"""
    s_endpgm
.Lend:
    .size {name}, {"CUT" if "CUT:" in body else ".Lend"}-{name}
    .section .rodata,"a"
    .p2align 6
    .amdhsa_kernel {name}
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
  - .name: {name}
    .symbol: {name}.kd
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

    def run(self, command, *flags):
        return subprocess.run([self.kilnc, command, os.path.join(
            self.folder, "k.o"), *flags], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def build(self, target, body, lds, name):
        s, o = (os.path.join(self.folder, "k" + x) for x in (".s", ".o"))
        with open(s, "w") as f:
            f.write(source(target, body, lds, name))
        subprocess.run([self.mc, "-triple=amdgcn-amd-amdhsa",
                        "-mcpu=" + target, "-filetype=obj", s, "-o", o],
                       check=True)

    def check(self, target, body, want, status, lds=0, flags=(), name="k"):
        self.build(target, body, lds, name)
        r = self.run("check", *flags)
        out = r.stdout + r.stderr
        assert r.returncode == status, (target, body, out)
        assert (want or "clean") in out, (target, body, out)
        self.done += 1
        return out

    # --json names each address that is not derived, and each finding
    def lists(self, body):
        out = os.path.join(self.folder, "k.json")
        self.check("gfx950", OWN + body, "no barrier", 1, 4096,
                   ["--json", out])
        with open(out) as f:
            k = json.load(f)["kernels"][0]
        assert not k["lds_order"]["decided"], k
        assert len(k["lds_order"]["not_derived"]) == 1, k
        assert k["findings"] == len(k["found"]) == 1, k


def nops(n):
    return "; ".join(["s_nop 0"] * (n % 3) + ["s_nop 2"] * (n // 3))


# A matrix result of 4 passes that a VALU operation reads early is no more than
# advice, but in kiln's own kernel and for who asks for it; beside a finding it
# does not hide it.
READ = re.compile(r"v_mov_b32 v\d+, v")
REFILL = "; ds_read_b32 v40, v41; v_mov_b32 v42, v40"


def advice(run, target, body, text):
    out = run.check(target, body, None, 0, 4096)
    assert "advice 1" in out and "  advice at 0x" in out and text in out, out
    run.check(target, body, text, 1, 4096, ["--strict"])
    out = run.check(target, body, text, 1, 4096, [], "kiln_k")
    assert "FINDING" in out and "advice" not in out, out
    out = run.check(target, body + REFILL, "lgkmcnt", 1, 4096)
    assert out.index("  at 0x") < out.index("  advice at 0x"), out
    report = json.loads(run.check(target, body, "", 0, 4096,
                                  ["--json", "-"]))["kernels"][0]
    assert report["clean"] and report["advice"] == 1, report
    assert [r["severity"] for r in report["found"]] == ["advice"], report


# M0 written right before a copy to LDS: the simulator sees it.
COPY = ("v_mov_b32 v1, 0; s_mov_b32 m0, 0; "
        "global_load_lds_dword v1, s[0:1]; s_waitcnt vmcnt(0)")


def advice_of_exec(run):
    launch = ["--grid", "1", "--block", "64"]
    for name, flags, status, head in [
            ("k", [], 0, "findings  0, advice 1\nADVICE"),
            ("k", ["--strict"], 1, "findings  0, advice 1\nADVICE"),
            ("kiln_k", [], 1, "findings  1\nRACE")]:
        run.build("gfx950", COPY, 4096, name)
        r = run.run("exec", *launch, *flags)
        assert r.returncode == status and head in r.stdout, (name, flags, r)
    r = json.loads(run.run("exec", *launch, "--json", "-").stdout)
    assert [f["severity"] for f in r["findings"]] == ["finding"], r


def main():
    run = Runner(*sys.argv[1:])
    advice_of_exec(run)
    for text, body, *least in STATES:
        for target, need in zip(("gfx942", "gfx950"), least):
            if need is None:
                continue
            fill = lambda n: body.replace("NOPS", nops(n) or "; ")
            run.check(target, fill(need), None, 0, 4096)
            if text and READ.search(body) and need <= 8:
                advice(run, target, fill(need - 1), text)
            elif text:
                run.check(target, fill(need - 1),
                          text, 1, 4096)
    for text, status, lds, body in FACTS:
        run.check("gfx950", body, text, status, lds)
    for text, status, strict, body in ORDER:
        for target in ("gfx942", "gfx950"):
            run.check(target, OWN + body, text or "clean     k", status, 4096)
            run.check(target, OWN + body, text, strict, 4096, ["--strict"])
    run.lists("ds_read_b32 v4, v1; s_waitcnt lgkmcnt(0); ds_read_b32 v5, v4; "
              "ds_write_b32 v2, v0; s_waitcnt lgkmcnt(0)")
    print(run.done, "kernels judged rightly")


main()
