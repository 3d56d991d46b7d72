"""What `kilnc info` works out beyond counting: bound and work of a loop, bank
conflicts, the lines a kernel came from. Speaks TAP.

usage: facts.py KILNC LLVM SOURCE SCRATCH
"""
import json
import os
import subprocess
import sys

KERNEL = """\t.amdgcn_target "amdgcn-amd-amdhsa--%s"
\t.amdhsa_code_object_version 5
\t.text
\t.globl k
\t.p2align 8
\t.type k,@function
k:
%s
\ts_endpgm
.Lend:
\t.size k, .Lend-k
\t.section .rodata,"a",@progbits
\t.p2align 6
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size 16384
\t\t.amdhsa_next_free_vgpr 64
\t\t.amdhsa_accum_offset 64
\t\t.amdhsa_next_free_sgpr 32
\t.end_amdhsa_kernel
"""

LOOP = """\ts_mov_b32 s4, %d
.Lloop:
%s
\tv_mfma_f32_16x16x32_bf16 v[24:27], v[4:7], v[8:11], v[24:27]
\ts_add_i32 s4, s4, %d
\ts_cmp_%s_i32 s4, %s
\ts_cbranch_scc1 .Lloop"""


def info(kilnc, *words):
    got = subprocess.run([kilnc, "info", *words, "--json", "-"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, check=False)
    return json.loads(got.stdout) if got.returncode == 0 else got.stderr


class Cases:
    def __init__(self, kilnc, scratch):
        self.kilnc, self.scratch, self.out = kilnc, scratch, []

    def add(self, name, want, got):
        self.out.append((name, want, got))

    def loop(self, body, arch="gfx950"):
        path = os.path.join(self.scratch, "k.s")
        with open(path, "w", encoding="ascii") as f:
            f.write(KERNEL % (arch, body))
        got = info(self.kilnc, path)
        return got if isinstance(got, str) else got["kernel"]["loops"][0]

    def bounds(self):
        for start, step, cond, end, want in (
                (0, 1, "lt", "10", 10), (0, 4, "lg", "64", 16),
                (100, -10, "gt", "0", 10), (0, 3, "lt", "10", 4),
                (0, 1, "lt", "s9", 0)):
            got = self.loop(LOOP % (start, "", step, cond, end))
            self.add("bound %d by %d to %s" % (start, step, end), want,
                     got["iterations"])
        self.add("the register it ends at", 9, got["bound_sgpr"])
        self.add("work of an iteration", 2 * 16 * 16 * 32, got["flops_wave"])

    def banks(self):
        # Row pitch in bytes of lane / 16 lanes a row, clocks of a b128 read
        # on each target; conflict-free is 4 on gfx950 and 8 on gfx942.
        read = ("\tv_and_b32_e32 v20, 15, v0\n\tv_mul_u32_u24_e32 v20, %d, v20"
                "\n\tv_lshrrev_b32_e32 v21, 4, v0\n"
                "\tv_lshl_add_u32 v20, v21, 4, v20\n"
                "\tv_add_u32_e32 v20, s9, v20\n"
                "\tds_read_b128 v[12:15], v20\n\ts_waitcnt lgkmcnt(0)")
        for pitch in (16, 64, 128, 256, 272):
            for arch, banks, best in (("gfx950", 64, 4), ("gfx942", 32, 8)):
                body = LOOP % (0, read % pitch, 1, "lt", "10")
                if arch == "gfx942":
                    body = body.replace("16x16x32_bf16 v[24:27], v[4:7], "
                                        "v[8:11]", "16x16x16_bf16 v[24:27], "
                                        "v[4:5], v[8:9]")
                got = self.loop(body, arch)
                a = got["lds_accesses"]
                self.add("pitch %d on %s" % (pitch, arch),
                         [(clocks(pitch, banks, arch), best)],
                         [(x["clocks"], x["best"]) for x in a])
        got = self.loop(LOOP % (0, "\tglobal_load_dword v20, v[2:3], off\n"
                                "\ts_waitcnt vmcnt(0)\n" + "\tds_read_b128 "
                                "v[12:15], v20\n\ts_waitcnt lgkmcnt(0)", 1,
                                "lt", "10"))
        self.add("an address from memory is not decided", [],
                 got["lds_accesses"])

    def paths(self):
        """Where paths meet: what all of them agree on."""
        read = "\tds_read_b128 v[12:15], v20\n\ts_waitcnt lgkmcnt(0)"
        first = "\tv_lshlrev_b32_e32 v20, 4, v0\n"
        split = ("\tv_lshlrev_b32_e32 v20, 4, v0\n\ts_cmp_eq_u32 s9, 0\n"
                 "\ts_cbranch_scc1 .Lmeet\n%s\n.Lmeet:\n" + read)
        for name, body, want in (
                ("stepped in the loop", read + "\n\tv_add_u32_e32 v20, 0x400,"
                 " v20", [(4, 4)]),
                ("turned in the loop", read + "\n\tv_lshlrev_b32_e32 v20, 1, "
                 "v20", []),
                ("the same on both paths",
                 split % "\tv_mul_u32_u24_e32 v20, 16, v0", [(4, 4)]),
                ("a constant apart on two paths",
                 split % "\tv_add_u32_e32 v20, 64, v20", [(4, 4)]),
                ("another pitch on one path",
                 split % "\tv_lshlrev_b32_e32 v20, 5, v0", []),
                ("the lane number overwritten", "\tv_lshlrev_b32_e32 v20, 4, "
                 "v0\n" + read + "\n\tv_mov_b32_e32 v0, v12", [])):
            got = self.loop(first + LOOP % (0, body, 1, "lt", "10"))
            self.add(name, want, [(x["clocks"], x["best"])
                                  for x in got["lds_accesses"]])

    def places(self):
        got = info(self.kilnc, *"gemm --a bf16 --b bf16 -m 512 -n 512 -k 512"
                   .split())
        main = [x for x in got["kernel"]["loops"] if x["main"]][0]
        mfma = sum(n for p, n in main["from"].items() if p.endswith("mfma"))
        self.add("matrix instructions have a template line", True,
                 mfma >= main["units"]["MFMA"])
        self.add("every instruction of the loop has one", main["instructions"],
                 sum(main["from"].values()))
        self.add("a kiln loop has no conflict", True,
                 all(a["clocks"] == a["best"] for a in main["lds_accesses"])
                 and len(main["lds_accesses"]) == main["units"]["LDS"])


# Lanes of each pass of a 128-bit read (AMD's published tables).
PASSES = {
    "gfx950": [[0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27],
               [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31]],
    "gfx942": [[0, 1, 2, 3, 20, 21, 22, 23], [4, 5, 6, 7, 16, 17, 18, 19],
               [8, 9, 10, 11, 28, 29, 30, 31],
               [12, 13, 14, 15, 24, 25, 26, 27]],
}


def clocks(pitch, banks, arch):
    total = 0
    for half in (0, 32):
        for lanes in PASSES[arch]:
            words = {(lane + half) % 16 * pitch // 4 + (lane + half) // 16 * 4
                     + w for lane in lanes for w in range(4)}
            load = [sum(x % banks == b for x in words) for b in range(banks)]
            total += max(load)
    return total


def main(kilnc, _llvm, _source, scratch):
    os.makedirs(scratch, exist_ok=True)
    cases = Cases(kilnc, scratch)
    cases.bounds()
    cases.banks()
    cases.paths()
    cases.places()
    print("1..%d" % len(cases.out))
    for i, (name, want, got) in enumerate(cases.out, 1):
        print("%s %d - %s" % ("ok" if want == got else "not ok", i, name))
        if want != got:
            print("# want %s, got %s" % (want, str(got)[:200]))
    return any(want != got for _, want, got in cases.out)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
