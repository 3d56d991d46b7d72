"""Figures of how the tree reads, by text alone; of one build also how many
templates a kernel is read in.

usage: figures.py ROOT [BUILD]

Not a gate: a figure and its goal a line.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

import gate

LOOP = (r"KN_SCHED_|KN_READS_|kn_schedules\[|kn_direct_to_reg|kn_ids_first|"
        r"kn_8wave_|kn_4wave_")
JUDGE = re.compile(r"\bif \(((?:[^;{}](?!\bif \())*?(?:%s)[^;{}]*?)\)\s*\{?\s*"
                   r"return (?:kn_fail|false|NULL|\")" % LOOP)
SCHEDULE = re.compile(r"KN_SCHED_")
FAMILY = re.compile(r"[=!]= KILN_(GEMM|BATCHED|GROUPED|WGRAD|MOE)\b")
TARGET = re.compile(r"_GFX9\d\d\b")
RESET = re.compile(r"err\.status = |\.err = ")
OWN = re.compile(r"kn_ctx_init\(")
ONE_JUDGE = ("gen/forms.c", "gen/forms.h", "gen/forms.def")


def generator(files):
    """What the library kn_gen is made of, with its headers and tables."""
    text = files["gen/meson.build"]
    named = re.search(r"gen_src = files\((.*?)\)", text, re.S).group(1)
    found = ["gen/" + n for n in re.findall(r"'([^']+)'", named)]
    seen = set(found)
    while found:
        source = found.pop()
        for name in re.findall(r'#include "([^"]+)"', files[source]):
            path = os.path.normpath(os.path.join(os.path.dirname(source), name))
            if path.startswith("gen/") and path in files and path not in seen:
                seen.add(path)
                found.append(path)
    return sorted(seen)


def bodies(files, paths):
    """(path, name, body) of each function."""
    for path in paths:
        for name, _, _, _, body, _ in gate.functions(files[path]):
            yield path, name, body


def circles(files, paths):
    """Groups of files that call each other in a circle."""
    paths = [p for p in paths if p.endswith(".c")]
    home = {name: path for path, name, _ in bodies(files, paths)
            if name.startswith("kn_")}
    calls = collections.defaultdict(set)
    for path, _, body in bodies(files, paths):
        for name in re.findall(r"\b(kn_\w+)\s*\(", body):
            if home.get(name, path) != path:
                calls[path].add(home[name])

    def reach(path):
        seen, left = set(), [path]
        while left:
            for p in calls[left.pop()] - seen:
                seen.add(p)
                left.append(p)
        return seen

    far = {p: reach(p) for p in paths}
    return {frozenset(q for q in far[p] if p in far[q])
            for p in paths if p in far[p]}


def count(files, pattern, folders, but=()):
    return sum(len(pattern.findall(line)) > 0
               for p, t in gate.c_files(files).items()
               if p.startswith(folders) and p not in but
               for line in gate.strip_comments(t).split("\n"))


def lengths(files):
    return sorted(n for p, t in gate.c_files(files).items()
                  if not p.startswith("tests/") and p.endswith(".c")
                  for _, _, n, _, _, _ in gate.functions(t))


def texts(root, build):
    """Templates with a line in fp8 grouped as chosen, and in the worst kernel
    of objects.csv."""
    tool = os.path.join(build, "tests", "gen", "same")
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        f.write("family,a,groups,m,n,k\ngrouped,fp8,8,8192,4096,7168\n")
        f.flush()
        found = []
        for path in f.name, os.path.join(root, "tests/gen/objects.csv"):
            out = subprocess.run([tool, "texts", "row", path], text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
            numbers = [line.split(",")[2] for line in out.splitlines()]
            found.append(max(int(n) for n in numbers if n.isdigit()))
        return found


def figures(files):
    tir = [p for p in files if p.startswith("templates/") and
           p.endswith(".tir")]
    gen = generator(files)
    code = ("gen/", "ir/", "emit/", "runtime/")
    size = lengths(files)
    length = {p: text.count("\n") for p, text in gate.c_files(files).items()
              if p.endswith((".c", ".h"))}
    judges = sum(len(JUDGE.findall(body)) for _, _, body in
                 bodies(files, [p for p in files if p.endswith(".c") and
                                p.startswith("gen/") and p not in ONE_JUDGE]))
    return [
        ("template files", len(tir), 22),
        ("template lines", sum(files[p].count("\n") for p in tir), 2500),
        ("generator without tool, lines",
         sum(files[p].count("\n") for p in gen), 4500),
        ("refusals for what a main loop is, outside forms", judges, 0),
        ("call circles of the generator's files",
         len(circles(files, [p for p in gen if p.endswith(".c")])), 0),
        ("files in them", sum(map(len, circles(files, gen))), 0),
        ("resets of the error state, contexts only to ask",
         count(files, RESET, ("gen/",)) +
         sum(len(OWN.findall(files[p])) for p in gen if p.endswith(".c")), 0),
        ("lines that test a family", count(files, FAMILY, code), 60),
        ("lines that name a schedule, outside forms",
         count(files, SCHEDULE, code, ONE_JUDGE), 12),
        ("lines of C that name a target",
         count(files, TARGET, code + ("templates/", "examples/")), 12),
        ("C files under 60 lines, of code",
         sum(n < 60 for p, n in length.items() if p.startswith(code)), 40),
        ("C files above 600 lines, with tests",
         sum(n > 600 for n in length.values()), 0),
        ("function median", size[len(size) // 2], 12),
        ("function p90", size[len(size) * 9 // 10], 24),
        ("longest function", size[-1], 78),
    ]


def main(root, build=None):
    rows = figures(gate.read_tree(root))
    if build:
        fp8, worst = texts(root, build)
        rows += [("templates of fp8 grouped", fp8, 7),
                 ("templates of the worst kernel", worst, 8)]
    for name, value, goal in rows:
        print("%-50s %6d   goal %d" % (name, value, goal))


if __name__ == "__main__":
    main(*sys.argv[1:])
