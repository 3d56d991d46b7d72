"""`kilnc diff`: a renamed kernel is equal, and a change made to the assembly
is reported as exactly that change. Speaks TAP.

usage: diff.py KILNC LLVM SOURCE SCRATCH
"""
import json
import os
import random
import re
import subprocess
import sys

from rename import is_code, rename

KERNELS = {
    "bf16": "gemm --a bf16 --b bf16 -m 512 -n 512 -k 512 --tile 64x64x64 --arch gfx950",
    "mxfp4": "gemm --a mxfp4 --b mxfp4 -m 512 -n 512 -k 1024 --tile 64x64x256 --arch gfx950",
    "fp8": "gemm --a fp8 --b fp8 -m 2048 -n 2048 -k 512 --arch gfx942",
    "big": "gemm --a bf16 --b bf16 -m 4096 -n 4096 -k 4096 --arch gfx950",
}
PRESET = 6                   # user and system SGPRs of our kernels are fewer


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)


class Case:
    def __init__(self, kilnc, scratch, name):
        self.kilnc, self.path = kilnc, os.path.join(scratch, name)
        words = KERNELS[name].split()
        run(kilnc, "generate", *words, "--emit", "asm", "-o", self.path + ".s")
        run(kilnc, "generate", *words, "-o", self.path + ".co")
        with open(self.path + ".s", encoding="ascii") as f:
            self.lines = f.read().split("\n")
        code = [i for i, x in enumerate(self.lines) if is_code(x)]
        mfma = [i for i in code if "v_mfma" in self.lines[i]]
        # The main loop: the label block with most matrix instructions.
        self.loop = self.body(mfma)

    def body(self, mfma):
        best, first = (0, 0, 0), 0
        for i, line in enumerate(self.lines + ["L:"]):
            if re.match(r"\S+:", line):
                best = max(best, (sum(first < k < i for k in mfma), first, i))
                first = i
        return range(best[1], best[2])

    def find(self, pattern, where=None):
        return [i for i in where or self.loop
                if re.search(pattern, self.lines[i]) and is_code(self.lines[i])]

    def diff(self, lines, *flags):
        with open(self.path + ".new.s", "w", encoding="ascii") as f:
            f.write("\n".join(lines))
        return run(self.kilnc, "diff", self.path + ".s", self.path + ".new.s",
                   *flags)

    def kinds(self, lines):
        got = self.diff(lines, "--format", "json")
        if not got.stdout:
            return got.returncode, got.stderr
        found = [d["kind"] for d in json.loads(got.stdout)["differences"]]
        return got.returncode, found


def renamed(case, rng):
    text, n = rename("\n".join(case.lines), rng, PRESET)
    got = case.kinds(text.split("\n"))
    return n > 100 and got == (0, []), (n, got)


def object_of_text(case, _):
    got = run(case.kilnc, "diff", case.path + ".co", case.path + ".s")
    return got.returncode == 0, got.stdout + got.stderr


def moved_wait(case, _):
    """A wait of the loop, three instructions further up."""
    at = case.find(r"s_waitcnt")[-1]
    code = [i for i in case.loop if is_code(case.lines[i]) and i < at]
    lines = list(case.lines)
    wait = lines.pop(at)
    lines.insert(code[-3], wait)
    got = case.kinds(lines)
    return got == (1, ["moved"]), got


def operands(line):
    return re.findall(r"[va]\[\d+:\d+\]", line.split(";")[0])


def swapped_mfma(case, _):
    """Two neighbouring matrix instructions of different accumulators."""
    found = case.find(r"v_mfma")
    for i, j in zip(found, found[1:]):
        one, two = (operands(case.lines[k]) for k in (i, j))
        if (not any(is_code(x) for x in case.lines[i + 1:j]) and
                one[0] not in two and two[0] not in one):
            break
    else:
        return False, "no two to swap"
    lines = list(case.lines)
    lines[i], lines[j] = lines[j], lines[i]
    got = case.kinds(lines)
    return got == (1, ["reordered"]), got


def cache_bit(case, _):
    at = case.find(r"buffer_load|global_load")[0]
    lines = list(case.lines)
    lines[at] = lines[at].split(";")[0].rstrip()
    lines[at] = re.sub(r"( lds)?$", r" nt\1", lines[at], count=1)
    got = case.kinds(lines)
    return got == (1, ["other cache policy"]), got


def dropped_barrier(case, _):
    at = case.find(r"s_barrier")[0]
    got = case.kinds(case.lines[:at] + case.lines[at + 1:])
    return got == (1, ["missing"]), got


def wait_count(case, step, want):
    for at in case.find(r"s_waitcnt.*(vm|lgkm)cnt\(\d+\)"):
        m = re.search(r"cnt\((\d+)\)", case.lines[at])
        value = int(m.group(1)) + step
        if value < 0:
            continue
        lines = list(case.lines)
        lines[at] = re.sub(r"cnt\(\d+\)", "cnt(%d)" % value, lines[at],
                           count=1)
        got = case.kinds(lines)
        return got == (1, [want]), got
    return True, "no such wait"


def stronger(case, _):
    return wait_count(case, -1, "wait stronger")


def weaker(case, _):
    return wait_count(case, 1, "wait weaker")


def extra_copy(case, _):
    """The value of an operand goes through another register."""
    at = case.find(r"v_mfma")[0]
    lines = list(case.lines)
    lines.insert(at, "\tv_mov_b32_e32 v255, v1")
    lines = [x.replace("next_free_vgpr ", "next_free_vgpr 256;")
             for x in lines]
    got = case.kinds(lines)
    return got == (1, ["extra copy"]), got


def other_register(case, _):
    """One operand reads another register of the same kind: found even though
    no instruction changed its form."""
    found = case.find(r"v_mfma")
    first = re.findall(r"v\[\d+:\d+\]", case.lines[found[0]])
    for at in found[1:]:
        ops = re.findall(r"v\[\d+:\d+\]", case.lines[at])
        if len(ops) == 4 and ops[1] != first[1]:
            break
    lines = list(case.lines)
    lines[at] = lines[at].replace(ops[1], first[1], 1)
    got = case.kinds(lines)
    return got[0] == 1 and "other register" in got[1], got


CHANGES = (renamed, object_of_text, moved_wait, swapped_mfma, cache_bit,
           dropped_barrier, stronger, weaker, extra_copy, other_register)


def bad_inputs(kilnc, scratch):
    """Assembly that cannot be read is one sentence and exit 2."""
    head = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx950"\n'
    texts = {"no instruction": head + "\tv_mfma_nonsense v0\n",
             "no kernel": head + "\ts_endpgm\n",
             "no target": "\t.amdhsa_kernel x\n",
             "binary": head + "\0\n",
             "wrong target": head.replace("950", "942") + "\t.amdgcn_target "
                             '"amdgcn-amd-amdhsa--gfx950"\n'}
    for name, text in texts.items():
        path = os.path.join(scratch, "bad.s")
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        got = run(kilnc, "diff", path, path)
        ok = (got.returncode == 2 and got.stdout == "" and
              got.stderr.count("\n") == 1)
        yield ok, "refused: " + name, (got.returncode, got.stdout[:200], got.stderr)


def main(kilnc, _llvm, _source, scratch):
    os.makedirs(scratch, exist_ok=True)
    rng = random.Random(10)
    results = []
    for name in KERNELS:
        case = Case(kilnc, scratch, name)
        for change in CHANGES:
            ok, seen = change(case, rng)
            results.append((ok, "%s: %s" % (name, change.__name__), seen))
    results += bad_inputs(kilnc, scratch)
    print("1..%d" % len(results))
    for i, (ok, name, seen) in enumerate(results, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, name))
        if not ok:
            print("# %s" % (str(seen)[:400].replace("\n", "\n# "),))
    return not all(ok for ok, _, _ in results)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
