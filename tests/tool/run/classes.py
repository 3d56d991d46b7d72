"""gen/tool/run/selftest.csv has a row for every class of configurations that
the chooser answers with when nothing is forced.

usage: classes.py check BUILD    TAP
       classes.py renew BUILD    write the table anew

Which configuration each problem of the presets and of draw.py gets is
tests/gen/choices.csv; a class is what of it makes another kernel (`key`). A row
of the table is a small problem with that configuration forced: the types are
those of the class that fewest other rows have.
"""
import collections
import csv
import io
from itertools import islice
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(SOURCE, "tests", "gen"))
import draw                                            # noqa: E402
import same                                            # noqa: E402

COLUMNS = draw.COLUMNS + ["copies"]
TABLE = os.path.join(SOURCE, "gen", "tool", "run", "selftest.csv")
PRESETS = os.path.join(SOURCE, "gen", "tool", "bench", "presets")
KEPT = ["layout", "a", "b", "out", "scale", "epilogue", "beta", "quant",
        "group-table", "tail", "reduce", "weight", "act", "b-layout",
        "scale-layout"]
OWN = ["m", "n", "k", "batch", "groups", "group-lens", "tokens", "routing",
       "hidden", "inter", "experts", "topk", "block-m", "lda", "ldb", "ldc"]
CHUNK = 2000                  # rows of a list
MEMBERS = 12                  # combinations of types tried of a class


def lists():
    """{name: rows} of the lists that force nothing."""
    found = {}
    for name in same.presets():
        with open(os.path.join(PRESETS, name + ".csv"), newline="",
                  encoding="utf-8") as f:
            found[name] = list(csv.DictReader(
                line for line in f if not line.startswith("#")))
    kind, count = same.DRAWN["drawn-problems"]
    found["drawn-problems"] = list(csv.DictReader(io.StringIO(
        draw.table(kind, count, 1))))
    return found


def words_of(config):
    return dict(w.split("=") for w in config.split())


def stored(w):
    """Through LDS, as runs that begin at any byte, or at their multiples."""
    return w.get("store") or ("bytes" if w["vec"] == "1" else "direct")


def key(arch, row, stage, config):
    w = words_of(config)
    family = "moe " + stage.replace("-mx", "") if stage else row["family"]
    return (arch, family, row.get("layout") or "nt", w["schedule"],
            w.get("lowering", "llvm"), "once" if w["cus"] == "0" else "walk",
            w["stages"], w["ktail"], stored(w), w.get("lookup", "-"))


def wanted():
    """{class: [(row, stage, config)]}."""
    rows, found = lists(), collections.defaultdict(list)
    for (name, arch, stage, number), config in sorted(
            same.read_choices(same.CHOICES).items()):
        if name not in rows or not config.startswith("tile="):
            continue
        row = rows[name][number - 1]
        if arch == "row":
            arch = row.get("arch") or "gfx950"
        found[key(arch, row, stage, config)].append((row, stage, config))
    return found


# ---- a small problem of a class ---------------------------------------------

def depths(w):
    """Lengths of the sum to try, the shortest first."""
    bk = int(w["tile"].split("x")[2]) or 64
    whole = [bk * n for n in (2, 3, 4, 5, 6, 8, 12, 16)]
    part = [k + bk // 2 for k in whole] + [k + 8 for k in whole] + \
        [k + 1 for k in whole]
    return [bk // 4 * 3, bk] + sorted(part + whole) if w["ktail"] == "1" else whole


def sizes(row, stage, w, k):
    """Columns of a list: the problem's size."""
    bm, bn, _ = (int(x) for x in w["tile"].split("x"))
    split = int(w["split-k"])
    k *= split
    m, n = bm + bm // 2, bn + bn // 2 if bn > 16 else 2 * bn
    n = max(n, 32)
    if w["schedule"] in ("gemv", "skinny"):
        m = bm or 1
    if w["vec"] == "1" and not row.get("ldc"):
        n += 1
    if stage:
        hidden, inter = (k, max(128, n // 2)) if stage != "gemm2" else \
            (max(128, n), k)
        return {"experts": "4", "topk": "2", "tokens": "9",
                "hidden": str(hidden), "inter": str(inter),
                "block-m": str(bm if bm in (16, 32, 64, 128, 256) else "")}
    if row["family"] == "grouped":
        lens = "%d,0,%d,7" % (bm + bm // 2, bm)
        return {"n": str(n), "k": str(k), "group-lens": lens}
    if row["family"] == "wgrad":
        return {"m": str(m), "n": str(n),
                "group-lens": "%d,0,%d" % (k, k if k % 128 == 0 else
                                           max(32, k // 2 // 32 * 32))}
    size = {"m": str(m), "n": str(n), "k": str(k)}
    if row["family"] == "batched":
        size["batch"] = "2"
    return size


def pitch(row, x, size):
    """A small pitch whose rows begin at the same bytes as the row's own do."""
    layout = row.get("layout") or \
        ("tn" if row["family"] == "wgrad" else "nt")
    own = int(row.get("ld" + x) or 0)
    side = {"a": "k" if layout[0] == "n" else "m",
            "b": "k" if layout[1] == "t" else "n", "c": "n"}[x]
    if not own or not size[side]:
        return ""
    return str((int(size[side]) + 15) // 16 * 16 + (own % 16 or 16))


def candidates(arch, row, stage, config):
    w = words_of(config)
    for k in depths(w):
        c = dict.fromkeys(COLUMNS, "")
        c.update({x: row.get(x) or "" for x in KEPT})
        c.update(family=row["family"], arch=arch,
                 stage=stage.replace("-mx", ""))
        c.update(sizes(row, stage, w, k))
        for x in ("tile", "waves", "schedule", "stages", "store", "lowering",
                  "lookup", "copies"):
            c[x] = w.get(x, "")
        c["waves"] = c["waves"] if w["schedule"] != "gemv" else ""
        if w["schedule"] == "gemv":
            c["tile"] = ""
        c["split-k"] = w["split-k"] if w["split-k"] != "1" else ""
        c["cus"] = "3" if w["cus"] != "0" else ""
        c.update(("ld" + x, pitch(row, x, c)) for x in "abc")
        if stage:
            c["early"] = w.get("early", "")
        yield c
    own = {x: row.get(x) or "" for x in OWN}
    if own["groups"] and not own["group-lens"] and not own["tokens"]:
        own.update(tokens="8", n=c["n"]) # a launch needs rows, a kernel does not
    yield dict(c, **own)


def members(problems):
    """Of a class, one problem of each combination of types."""
    seen = set()
    for row, stage, config in problems:
        kind = tuple(row.get(x) or "" for x in ("a", "b", "scale", "quant"))
        if kind not in seen:
            seen.add(kind)
            yield kind, row, stage, config


def of_tries(build, mode, tries):
    """The text of each, from lists of CHUNK rows."""
    texts = []
    for at in range(0, len(tries), CHUNK):
        part = tries[at:at + CHUNK]
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "tries.csv")
            with open(path, "w", encoding="ascii", newline="") as f:
                out = csv.DictWriter(f, COLUMNS, lineterminator="\n")
                out.writeheader()
                out.writerows(c for _, _, c in part)
            got = same.run(build, mode, "row", path)
        texts += [got[i, c["stage"]] for i, (_, _, c) in enumerate(part, 1)]
    return texts


def fitting(build, tries):
    """{class: {types: columns}}: the first of each that is of its class."""
    firsts = {}
    for (name, kind, c), text in zip(tries, of_tries(build, "choices", tries)):
        if text.startswith("tile=") and \
                key(c["arch"], c, c["stage"], text) == name:
            firsts.setdefault((name, kind), c)
    left = [(name, kind, c) for (name, kind), c in sorted(firsts.items())]
    fits = collections.defaultdict(dict)
    for (name, kind, c), text in zip(left, of_tries(build, "tir", left)):
        if not text.startswith("refused"):
            fits[name][kind] = c
    return fits


def pick(build, want):
    """[(class, columns)], and the classes no small problem was found for."""
    used, rows = collections.Counter(), []
    fits = fitting(build, [(name, kind, c) for name in sorted(want)
                           for kind, row, stage, config in
                           islice(members(want[name]), MEMBERS)
                           for c in candidates(name[0], row, stage, config)])
    for name in sorted(want):
        if name in fits:
            kind = min(fits[name], key=lambda k: (used[name[0], k], k))
            used[name[0], kind] += 1
            rows.append((name, fits[name][kind]))
    return rows, sorted(set(want) - set(fits))


def renew(build):
    rows, missing = pick(build, wanted())
    with open(TABLE, "w", encoding="ascii", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["arch", "command"])
        for name, c in rows:
            flags = ["-%s %s" % (x if x in "mnk" else "-" + x, v)
                     for x, v in c.items()
                     if v and x not in ("family", "arch")]
            out.writerow([name[0], " ".join([c["family"]] + flags)])
    for name in missing:
        print("# no small problem: " + " ".join(name))
    return bool(missing)


# ---- verdicts ---------------------------------------------------------------

def listed(build, arch):
    """The classes of `kilnc selftest --list`."""
    done = subprocess.run([os.path.join(build, "kilnc"), "selftest", "--list",
                           "--arch", arch], text=True, check=True,
                          stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        text, _, command = line.partition(": ")
        yield text, command


def text_of(name):
    arch, family, layout, schedule, lowering, walk, stages, ktail, store, \
        lookup = name
    return "%s %s %s %s %s %s stages=%s ktail=%s store=%s lookup=%s" % (
        arch, family, layout, schedule, lowering, walk, stages, ktail, store,
        lookup)


def complaints(want, have):
    return ["%s: no row" % c for c in sorted(want - have)]


def check(build):
    have = {text for arch in ("gfx942", "gfx950")
            for text, _ in listed(build, arch)}
    want = {text_of(name) for name in wanted()}
    some = sorted(want)[len(want) // 2]
    return same.tap([
        ("%d classes have a row" % len(want), complaints(want, have)),
        ("a class without a row is found",
         [] if complaints(want, have - {some}) else ["it is not"]),
    ])


if __name__ == "__main__":
    sys.exit({"check": check, "renew": renew}[sys.argv[1]](sys.argv[2]))
