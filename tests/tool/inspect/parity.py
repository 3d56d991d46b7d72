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


def pointed(seen, line, word):
    """Whether the error is at `word` of the last line of LAUNCH + line."""
    n, col = LAUNCH.count("\n") + 1, line.index(word) if word else len(line)
    got = seen.splitlines()
    return len(got) == 3 and ":%d:%d: " % (n, col + 1) in got[0] and \
        got[1] == "%5d | %s" % (n, line.replace("\t", " ")) and \
        got[2] == "      | " + " " * col + "^"


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
        for name, bad, word in (("operand", "ptr 0 x", "x"),
                                ("number", "i32 0 yy # y", "yy"),
                                ("key", "what 1", "what"),
                                ("offset", "i32\t9999 1", "9999"),
                                ("end", "i32 8", "")):
            self.path("launch", LAUNCH + bad + "\n")
            status, _, seen = self.parity(text, "--launch-b", launch)
            self.add("refused, with a caret: bad " + name, status == 2 and
                     pointed(seen, bad, word), seen)
        self.path("launch", "")
        status, _, seen = self.parity(text, "--launch-b", launch)
        self.add("refused: no launch", status == 2 and seen.count("\n") == 1,
                 seen)
        self.several(text, launch)
        foreign = self.path("foreign.s")
        with open(text, encoding="ascii") as f:
            self.path("foreign.s", f.read().replace("kiln_gemm", "my_gemm"))
        status, _, seen = self.parity(foreign)
        self.add("a foreign kernel needs a description", status == 2, seen)

    def several(self, text, launch):
        """Three kernels in one table, the last two launched as described: a
        copy of the first, and it without its waits."""
        page, report = self.path("page.html"), self.path("parity.json")
        hasty = self.path("hasty.s")
        with open(text, encoding="ascii") as f:
            self.path("hasty.s", re.sub(r"\n\s*s_waitcnt vmcnt[^\n]*", "",
                                         f.read()))
        self.path("launch", LAUNCH)
        got = run(self.kilnc, "parity", "gemm", text, hasty, "--run", "gemm",
                  *PROBLEM, "-o", page, "--json", report, "--launch-b", launch)
        with open(report, encoding="utf-8") as f:
            facts = json.load(f)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        self.add("several kernels", got.returncode == 1 and
                 facts["a"]["differing_bytes"] == 0 ==
                 facts["b"]["differing_bytes"] and
                 facts["b"]["equal_code"] and not facts["c"]["equal_code"] and
                 facts["a"]["loop LDS a MFMA"] > 0, got.stdout + got.stderr)
        self.add("findings are told", re.search(
            r"^finding +C: ", got.stdout, re.M) is not None and
            re.search(r"finding +C: ", text) is not None, got.stdout)

    # Every family executes; the second kernel is a file of its own.
    FAMILIES = {
        "split-K": ("gemm", "-m 96 -n 80 -k 512 --split-k 3"),
        "a persistent grid": ("gemm", "-m 200 -n 200 -k 64 --cus 3"),
        "batched": ("batched", "-m 40 -n 48 -k 64 --batch 3"),
        "grouped": ("grouped", "-n 64 -k 64 --group-lens 5,0,70 "
                    "--tile 64x64x64 --waves 2x2"),
        "wgrad": ("wgrad", "-m 64 -n 64 --group-lens 5,0,70 --layout tn "
                  "--tile 64x64x64 --waves 2x2 --split-k 1 --stages 3"),
        "moe": ("moe", "--stage gemm2 --hidden 64 --inter 128 --experts 4 "
                "--topk 2 --tokens 9 --reduce atomic"),
    }

    def families(self):
        co, report = self.path("family.co"), self.path("family.json")
        for name, (family, words) in self.FAMILIES.items():
            words = words.split() + ["--a", "bf16"]
            lens = "--group-lens 5,0,70"
            run(self.kilnc, "generate", family,
                *" ".join(words).replace(lens, "--groups 3").split(), "--arch",
                "gfx950", "-o", co)
            got = run(self.kilnc, "parity", family, co, "--run", family,
                      *words, "--data", "exact", "--json", report)
            facts = {}
            if got.returncode < 2:
                with open(report, encoding="utf-8") as f:
                    facts = json.load(f)
            self.add("executes " + name, got.returncode == 0 and
                     facts["executed"] and facts["differing_bytes"] == 0 and
                     facts["output_bytes"] > 1000 and
                     facts["b"]["executed instructions"] > 100 and
                     facts["a"]["predicted us"] ==
                     facts["b"]["predicted us"] > 0, got.stdout + got.stderr)

    def sorted_rows(self, llvm, source):
        """A copy of 64 dwords from A and from A in the order of the ids: the
        same with one expert, other rows with several."""
        co = self.path("copy.o")
        run(os.path.join(llvm, "llvm-mc"), "-triple=amdgcn-amd-amdhsa",
            "-mcpu=gfx950", "-filetype=obj", "-o", co,
            os.path.join(source, "tests/tool/Inputs/scale.s"))
        for name in ("a", "a-sorted"):
            self.path("launch." + name, "grid 1\nblock 64\nptr 0 %s\nptr 8 c\n"
                      "f32 16 1.0\ni32 20 0\n" % name)
        words = ("--stage gemm2 --hidden 64 --inter 32 --topk 1 --tokens 9 "
                 "--a bf16 --data exact --reduce atomic").split()
        for experts in (1, 4):
            got = run(self.kilnc, "parity", co, co, "--run", "moe", *words,
                      "--experts", str(experts), "--launch-a",
                      self.path("launch.a"), "--launch-b",
                      self.path("launch.a-sorted"))
            self.add("rows in the order of the ids, %d experts" % experts,
                     got.returncode == (experts > 1) and
                     ("bit for bit the same" in got.stdout) == (experts == 1),
                     got.stdout + got.stderr)
        self.path("launch.b", "grid 1\nblock 64\nptr 0 offs\n")
        got = run(self.kilnc, "parity", co, co, "--run", "moe", *words,
                  "--experts", "1", "--launch-a", self.path("launch.a"),
                  "--launch-b", self.path("launch.b"))
        self.add("refused: no group offsets in moe", got.returncode == 2,
                 got.stderr)

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


def main(kilnc, llvm, source, scratch):
    os.makedirs(scratch, exist_ok=True)
    cases = Cases(kilnc, scratch)
    cases.executed()
    cases.families()
    cases.sorted_rows(llvm, source)
    cases.texts()
    print("1..%d" % len(cases.out))
    for i, (name, ok, seen) in enumerate(cases.out, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, name))
        if not ok:
            print("# " + str(seen).strip().replace("\n", "\n# ")[:1500])
    return not all(ok for _, ok, _ in cases.out)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
