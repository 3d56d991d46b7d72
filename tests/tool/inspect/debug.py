"""`kilnc generate -g`: the sections a loader takes are those of the object made
without it, LLVM's reader finds no fault in the debug information, and by it
every instruction has the line that the certificate gives it. Speaks TAP.

usage: debug.py KILNC LLVM SOURCE SCRATCH
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../kit"))
import tap

MOE = "--hidden 512 --inter 256 --experts 8 --topk 2 --tokens 64"
KERNELS = [
    "gemm --a bf16 --arch gfx950 --lowering asm",
    "gemm --a bf16 --arch gfx950 --lowering llvm",
    "gemm --a bf16 --arch gfx942 --lowering llvm",
    "gemm --a f16 --layout tn --arch gfx942 --epilogue gelu",
    "gemm --a mxfp4 -m 8192 -n 8192 -k 8192 --arch gfx950",
    "gemm --a bf16 -m 1 -n 8192 -k 8192 --arch gfx950 --lowering asm",
    "gemm --a bf16 -m 64 -n 512 -k 8192 --split-k 4 --arch gfx942",
    "grouped --a fp8 --groups 8 --tokens 4096 -n 4096 -k 4096 --arch gfx950",
    "wgrad --a bf16 --layout tn --groups 4 -m 512 -n 512 --arch gfx942",
    "batched --a bf16 --batch 4 -m 200 -n 200 -k 200 --arch gfx950",
    "moe --stage gemm1 --a mxfp4 %s --arch gfx950" % MOE,
    "moe --stage gemm2 --a bf16 %s --arch gfx942 --lowering llvm" % MOE,
]


def text_of(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True).stdout


def loaded(llvm, path):
    """Name, address and bytes of each section that is loaded."""
    out = {}
    text = text_of(llvm + "/llvm-readelf", "-SW", path)
    with open(path, "rb") as f:
        data = f.read()
    for m in re.finditer(r"\] (\.\S+) +\w+ +(\w{16}) (\w+) (\w+) \w+ +(\w*A\w*) ", text):
        at, n = int(m[3], 16), int(m[4], 16)
        out[m[1]] = (m[2], data[at:at + n])
    return out


def rows(llvm, path):
    """(address, file:line or None where there is none) of the line table."""
    text = text_of(llvm + "/llvm-dwarfdump", "--debug-line", path)
    names = [m[1] for m in re.finditer(r"file_names\[ *\d+\]:\n\s+name: \"(.*)\"", text)]
    out = []
    for m in re.finditer(r"^0x(\w{16}) +(\d+) +\d+ +(\d+) +(.*)$", text, re.M):
        place = "%s:%s" % (names[int(m[3])], m[2]) if m[2] != "0" else None
        out.append((int(m[1], 16), "end" if "end_sequence" in m[4] else place))
    return out


def certified(kilnc, path):
    """The same of every instruction, as the certificate has it."""
    text = text_of(kilnc, "disasm", path)
    for m in re.finditer(r"^ +([0-9a-f]+)  .*; (\S+)(?: .*)?$", text, re.M):
        yield int(m[1], 16), m[2]


def disagreements(kilnc, llvm, path):
    table, at, bad, n = rows(llvm, path), 0, [], 0
    for pc, place in certified(kilnc, path):
        while at + 1 < len(table) and table[at + 1][0] <= pc:
            at += 1
        got = table[at][1]
        n += 1
        if got != place and (got is not None or ".tir:" in place):
            bad.append((hex(pc), got, place))
    return bad[:3] if n > 50 else ["%d instructions" % n]


def embedded(llvm, path):
    """llvm-objdump -S shows the templates with no file in sight."""
    text = text_of(llvm + "/llvm-objdump", "-d", "-S", path)
    return len([s for s in text.split("\n") if s.startswith("; ")]) > 20


def sources(scratch, source):
    """Files beside the object that are not the templates."""
    folder = scratch + "/kiln-src"
    for name in os.listdir(folder):
        with open(folder + "/" + name, encoding="ascii") as a, \
                open(source + "/templates/" + name, encoding="ascii") as b:
            if a.read() != b.read():
                yield name


def case(kilnc, llvm, source, scratch, words):
    plain, lined = scratch + "/plain.co", scratch + "/lined.co"
    tap.must(kilnc, "generate", *words.split(), "-o", plain)
    tap.must(kilnc, "generate", *words.split(), "-g", "-o", lined)
    what = loaded(llvm, lined)
    if len(what) < 6 or what != loaded(llvm, plain):
        yield "what is loaded differs"
    verdict, status = tap.run(llvm + "/llvm-dwarfdump", "--verify", lined)
    if status:
        yield verdict
    for bad in disagreements(kilnc, llvm, lined):
        yield "line: %s" % (bad,)
    if not embedded(llvm, lined):
        yield "no text is shown"
    verdict, status = tap.run(kilnc, "check", lined)
    if status:
        yield verdict
    yield from sources(scratch, source)


def others(llvm, scratch):
    """A table that is not there is not found, and the frame ends."""
    if rows(llvm, scratch + "/plain.co"):
        yield "a table without -g"
    frame = text_of(llvm + "/llvm-dwarfdump", "--debug-frame", scratch + "/lined.co")
    if "PC_REG=undefined" not in frame:
        yield frame


def main(kilnc, llvm, source, scratch):
    shutil.rmtree(scratch, ignore_errors=True)  # sources of another build's templates
    os.makedirs(scratch)
    results = [(words, list(case(kilnc, llvm, source, scratch, words)))
               for words in KERNELS]
    results.append(("without -g, and the frame", list(others(llvm, scratch))))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
