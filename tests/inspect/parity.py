"""`kilnc parity` executes two kernels on one problem's operands; `generate
--dump` and its texts. Speaks TAP.

usage: parity.py KILNC LLVM SOURCE SCRATCH
"""
import json
import os
import re
import subprocess
import sys

PROBLEM = ("--a bf16 --b bf16 -m 96 -n 80 -k 128 --tile 64x64x64 --waves 2x2 "
           "--data exact").split()
GENERATE = PROBLEM[:-2] + ["--arch", "gfx950"]
# The kernel's own arguments (templates/args.tir), said by hand.
LAUNCH = """# dense gemm
grid 4
block 256
kernarg 144
ptr 0 a
ptr 8 b
ptr 16 c
i32 104 m
i32 108 n
i32 112 k
i32 116 1
i32 120 256   # bytes of a row of A
i32 124 256
i32 128 160
f32 140 1.0
"""


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)


class Cases:
    def __init__(self, kilnc, scratch):
        self.kilnc, self.dir, self.out = kilnc, scratch, []

    def path(self, name, text=None):
        path = os.path.join(self.dir, name)
        if text is not None:
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        return path

    def add(self, name, ok, seen=""):
        self.out.append((name, ok, seen))

    def parity(self, two, *flags):
        page, report = self.path("page.html"), self.path("parity.json")
        got = run(self.kilnc, "parity", "gemm", two, "--run", "gemm",
                  *PROBLEM, "-o", page, "--json", report, *flags)
        facts = {}
        if got.returncode < 2:
            with open(report, encoding="utf-8") as f:
                facts = json.load(f)
        return got.returncode, facts, got.stdout + got.stderr

    def executed(self):
        text = self.path("k.s")
        run(self.kilnc, "generate", "gemm", *GENERATE, "--emit", "asm", "-o",
            text)
        status, facts, seen = self.parity(text)
        self.add("the same kernel", status == 0 and facts["executed"] and
                 facts["equal_code"] and facts["differing_bytes"] == 0 and
                 facts["output_bytes"] == 96 * 80 * 2 and
                 facts["a"]["predicted us"] == facts["b"]["predicted us"] > 0,
                 seen)
        launch = self.path("launch", LAUNCH)
        status, facts, seen = self.parity(text, "--launch-b", launch)
        self.add("launched by a description", status == 0 and
                 facts["differing_bytes"] == 0, seen)
        self.path("launch", LAUNCH.replace("i32 112 k", "i32 112 64"))
        status, facts, seen = self.parity(text, "--launch-b", launch)
        self.add("half of the sum is another result", status == 1 and
                 facts["differing_bytes"] > 1000, seen)
        for name, bad in (("operand", "ptr 0 x\n"), ("number", "i32 0 y\n"),
                          ("key", "what 1\n"), ("offset", "i32 9999 1\n"),
                          ("launch", "")):
            self.path("launch", (LAUNCH if bad else "") + bad)
            status, _, seen = self.parity(text, "--launch-b", launch)
            self.add("refused: bad " + name, status == 2 and
                     seen.count("\n") == 1, seen)
        foreign = self.path("foreign.s")
        with open(text, encoding="ascii") as f:
            self.path("foreign.s", f.read().replace("kiln_gemm", "my_gemm"))
        status, _, seen = self.parity(foreign)
        self.add("a foreign kernel needs a description", status == 2, seen)

    def texts(self):
        co = self.path("d.co")
        got = run(self.kilnc, "generate", "gemm", *GENERATE, "-o", co,
                  "--dump", "tswf")
        seen = got.stdout + got.stderr
        names = ["%s.%s.tir" % (co, x) for x in "tswf"]
        self.add("a file for each letter", all(map(os.path.exists, names)),
                 seen)
        again = run(self.kilnc, "check", names[2])
        self.add("a dump is a program", again.returncode == 0, again.stderr)
        bad = run(self.kilnc, "generate", "gemm", *GENERATE, "-o", co,
                  "--dump", "q")
        self.add("an unknown letter is refused", bad.returncode == 2)
        with open(self.path("k.s"), encoding="ascii") as f:
            text = f.read()
        self.add("assembly says where it comes from", len(re.findall(
            r"\.loc.*; \w+\.tir:\d+ mfma\n", text)) > 3)
        got = run(self.kilnc, "generate", "gemm", *GENERATE, "--emit", "llvm")
        calls = [x for x in got.stdout.split("\n")
                 if "@llvm.amdgcn.mfma" in x and x.startswith(" ")]
        self.add("and so does LLVM IR", calls and all(
            re.search(r"; \w+\.tir:\d+ mfma$", x) for x in calls), calls[:1])


def main(kilnc, _llvm, _source, scratch):
    os.makedirs(scratch, exist_ok=True)
    cases = Cases(kilnc, scratch)
    cases.executed()
    cases.texts()
    print("1..%d" % len(cases.out))
    for i, (name, ok, seen) in enumerate(cases.out, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, name))
        if not ok:
            print("# " + str(seen).strip().replace("\n", "\n# ")[:1500])
    return not all(ok for _, ok, _ in cases.out)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
