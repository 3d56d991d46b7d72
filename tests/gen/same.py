"""What a build chooses and generates is what the tables here say, or what
another build does.

usage: same.py check BUILD [--all]    against choices.csv and objects.csv; TAP.
                                      Without --all every 16th object
       same.py compare OLD NEW        two builds: choices, objects, tile IR
       same.py renew BUILD choices|objects    write a table anew
       same.py pick BUILD             draw the rows of objects.csv anew

choices.csv: list, target, stage of moe, rows of the list, configuration. The
lists are the presets and four that draw.py makes. objects.csv is itself a list,
with the SHA-256 of each code object.
"""
import collections
import csv
import io
import os
import subprocess
import sys
import tempfile

import draw

HERE = os.path.dirname(os.path.abspath(__file__))
CHOICES = os.path.join(HERE, "choices.csv")
OBJECTS = os.path.join(HERE, "objects.csv")
DRAWN = {"drawn-problems": ("problems", 5000),
         "drawn-configurations": ("configurations", 3000),
         "drawn-halves": ("halves", 1500),
         "drawn-transposed": ("transposed", 600)}
SAMPLE = 16
COVER = {"family": ["gemm", "batched", "grouped", "wgrad", "moe"],
         "arch": ["gfx942", "gfx950"], "layout": ["nt", "nn", "tn"],
         "a": draw.FLOATS + draw.MX + ["i8"],
         "b": draw.FLOATS + draw.MX + ["i8"],
         "scale": ["none", "tensor", "row", "block128", "mx32"],
         "stage": ["gemm1", "gemm2"], "store": ["lds"],
         "schedule": ["simple", "interleave", "8-wave", "gemv", "4-wave",
                      "direct", "unrolled", "skinny"],
         "lowering": ["llvm", "asm"]}


def run(build, mode, target, path, shard="1/1"):
    """{(row, stage): text} of the tool `same` of a build."""
    tool = os.path.join(build, "tests", "gen", "same")
    done = subprocess.run([tool, mode, target, path, shard], text=True,
                          stdout=subprocess.PIPE, check=True)
    fields = (line.split(",", 2) for line in done.stdout.splitlines())
    return {(int(row), stage): text for row, stage, text in fields}


def plain(text):
    """A refusal without its sentence."""
    return text.split(":")[0] if text.startswith("refused") else text


def presets():
    folder = os.path.join(HERE, "..", "..", "gen", "tool", "bench",
                          "presets")
    return sorted(f[:-4] for f in os.listdir(folder) if f.endswith(".csv"))


def all_lists(scratch, drawn=None):
    """(name, target, what `same` reads): presets on both targets."""
    for name in presets():
        for target in ("gfx942", "gfx950"):
            yield name, target, name
    for name, (kind, count) in (drawn or DRAWN).items():
        path = os.path.join(scratch, name + ".csv")
        with open(path, "w", encoding="ascii") as f:
            f.write(draw.table(kind, count, 1))
        yield name, "row", path


def of_lists(build, mode, drawn=None):
    """{(list, target, stage, row): text} of every list."""
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, target, path in all_lists(scratch, drawn):
            for (row, stage), text in run(build, mode, target, path).items():
                found[name, target, stage, row] = text
    return found


# ---- choices.csv: rows of one configuration are one line --------------------

def fold(rows):
    """[1, 2, 3, 7] as "1-3 7"."""
    out = []
    for r in sorted(rows):
        if out and out[-1][1] == r - 1:
            out[-1][1] = r
        else:
            out.append([r, r])
    return " ".join("%d-%d" % (a, b) if b > a else str(a) for a, b in out)


def unfold(text):
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def write_choices(found, path):
    lines = collections.defaultdict(list)
    for (name, target, stage, row), text in found.items():
        lines[name, target, stage, plain(text)].append(row)
    with open(path, "w", encoding="ascii", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["list", "target", "stage", "rows", "config"])
        for (name, target, stage, text), rows in sorted(
                lines.items(), key=lambda x: (x[0][:3], x[1])):
            out.writerow([name, target, stage, fold(rows), text])


def read_choices(path):
    with open(path, encoding="ascii", newline="") as f:
        return {(x["list"], x["target"], x["stage"], row): x["config"]
                for x in csv.DictReader(f) for row in unfold(x["rows"])}


# ---- objects.csv: a list with digests ---------------------------------------

def read_rows(path):
    with open(path, encoding="ascii", newline="") as f:
        return list(csv.DictReader(f))


def objects_of(build, shard="1/1"):
    """{row: digest, or digests of the stages}."""
    return {row: plain(text) for (row, _), text in
            run(build, "objects", "row", OBJECTS, shard).items()}


def write_rows(rows, path):
    columns = [c for c in list(rows[0]) if c == "_sha256" or
               any(r[c] for r in rows)]
    with open(path, "w", encoding="ascii", newline="") as f:
        out = csv.DictWriter(f, columns, extrasaction="ignore",
                             lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def uncovered(rows):
    return ["%s %s is in no row of objects.csv" % (column, word)
            for column, words in COVER.items() for word in words
            if not any(r.get(column) == word for r in rows)]


def pick(build, most=700):
    """Configurations there is tile IR for, in turn of every kind; each kind's
    schedule and lowering written out, so that a row says what it is about.
    Those that the assembly lowering refuses go when digests are made."""
    text = draw.table("configurations", 60000, 2) + \
        draw.table("problems", 6000, 3).split("\n", 1)[1]
    rows = list(csv.DictReader(io.StringIO(text)))
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "drawn.csv")
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        chosen = run(build, "choices", "row", path)
        made = run(build, "tir", "row", path)
        kinds = collections.defaultdict(list)
        for (row, _), config in sorted(chosen.items()):
            r = rows[row - 1]
            if made[row, r["stage"]].startswith("refused"):
                continue
            words = dict(w.split("=") for w in config.split())
            r["schedule"] = words["schedule"]
            r["lowering"] = words.get("lowering", "llvm")
            if r["schedule"] == "auto":
                r["schedule"] = ""
            kinds[r["schedule"], r["family"], r["stage"], r["arch"],
                  r["lowering"]].append(r)
        picked, types = [], collections.Counter()
        while len(picked) < most and any(kinds.values()):
            for kind in sorted(kinds):
                left = kinds[kind]
                if not left:
                    continue
                best = min(left, key=lambda r: (
                    types[kind, r["a"]] + types[kind, "b", r["b"]] +
                    types[kind, "l", r["layout"]] + types[r["scale"]] / 99))
                left.remove(best)
                types.update([(kind, best["a"]), (kind, "b", best["b"]),
                              (kind, "l", best["layout"]), best["scale"]])
                picked.append(best)
        return picked[:most]


# ---- verdicts ---------------------------------------------------------------

def differences(want, got):
    out = []
    for key in sorted(set(want) | set(got), key=str):
        a, b = plain(want.get(key, "nothing")), plain(got.get(key, "nothing"))
        if a != b:
            out.append("%s: %s -> %s" % (key, a, b))
    return out


def tap(results):
    print("1..%d" % len(results))
    for i, (name, complaints) in enumerate(results, 1):
        print("%s %d - %s" % ("not ok" if complaints else "ok", i, name))
        for line in complaints[:12]:
            print("# " + line)
        if len(complaints) > 12:
            print("# and %d more" % (len(complaints) - 12))
    return any(c for _, c in results)


def fires(want):
    """Each way to differ is found."""
    key = min(want, key=str)
    less, other = dict(want), dict(want)
    del less[key]
    other[key] = "tile=1x1x1"
    return ["missed"] if differences(want, want) or \
        not differences(want, less) or not differences(want, other) or \
        not differences(less, want) else []


def check(build, whole):
    rows, want = read_rows(OBJECTS), read_choices(CHOICES)
    digests = {i: r["_sha256"] for i, r in enumerate(rows, 1)}
    folded = sorted(set(unfold("3 7-9 12")))
    if not whole:
        digests = {i: d for i, d in digests.items() if i % SAMPLE == 1}
    shard = "1/1" if whole else "1/%d" % SAMPLE
    results = [("objects.csv covers every word", uncovered(rows)),
               ("a row less is found", [] if uncovered(rows[:1]) else ["no"]),
               ("a changed choice is found", fires(want)),
               ("a changed object is found", fires(digests)),
               ("rows fold and unfold", [] if fold(folded) == "3 7-9 12"
                else [fold(folded)])]
    if not whole:
        results.append(("%d choices" % len(want),
                        differences(want, of_lists(build, "choices"))))
    results.append(("%d objects" % len(digests),
                    differences(digests, objects_of(build, shard))))
    return tap(results)


def sentences(old, new):
    return ["%s: %s -> %s" % (k, old[k], new[k]) for k in old
            if old[k] != new.get(k) and plain(old[k]) == plain(new.get(k, ""))]


def compare(old, new):
    more = {"drawn-problems": ("problems", 20000),
            "drawn-configurations": ("configurations", 60000),
            "drawn-halves": ("halves", 20000),
            "drawn-transposed": ("transposed", 3000)}
    a, b = of_lists(old, "choices", more), of_lists(new, "choices", more)
    few = {"drawn-configurations": ("configurations", 6000)}
    ta, tb = of_lists(old, "tir", few), of_lists(new, "tir", few)
    for line in sentences(a, b)[:20]:
        print("# another sentence: " + line)
    return tap([("%d choices" % len(a), differences(a, b)),
                ("%d texts of tile IR" % len(ta), differences(ta, tb)),
                ("objects", differences(objects_of(old), objects_of(new)))])


def renew(build, what):
    if what == "choices":
        write_choices(of_lists(build, "choices"), CHOICES)
        return 0
    rows, digests = read_rows(OBJECTS), objects_of(build)
    for i, r in enumerate(rows, 1):
        r["_sha256"] = digests[i]
    write_rows([r for r in rows if not r["_sha256"].startswith("refused")],
               OBJECTS)
    return 0


def main(command, *args):
    if command == "check":
        return check(args[0], "--all" in args)
    if command == "compare":
        return compare(*args)
    if command == "pick":
        rows = pick(args[0])
        for r in rows:
            r["_sha256"] = ""
        write_rows(rows, OBJECTS)
        return renew(args[0], "objects")
    return renew(*args)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
