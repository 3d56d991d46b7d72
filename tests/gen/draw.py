"""Problems at random, the same ones each time: lists for same.py.

usage: draw.py problems|configurations|halves|transposed COUNT [SEED]

Writes a list as `kilnc bench` reads it: all families, types, layouts, scales
and epilogues, sizes from aligned to odd, open sizes, strides; with
"configurations" also tiles, waves, schedules, stages and lowerings, most of
which do not go together; with "halves" the tile is open; "transposed" is problems
of A along M and B along K (tt). Nothing here knows what kiln supports.
"""
import hashlib
import sys

FLOATS = ["f16", "bf16", "fp8", "bf8"]
MX = ["mxfp8", "mxbf8", "mxfp6", "mxbf6", "mxfp4"]
COLUMNS = ["family", "arch", "layout", "a", "b", "out", "scale", "epilogue",
           "beta", "quant", "batch", "groups", "group-lens", "group-table",
           "tail", "routing", "tokens", "stage", "hidden", "inter", "experts",
           "topk", "block-m", "reduce", "weight", "requant", "act", "b-layout",
           "scale-layout", "m", "n", "k", "lda", "ldb", "ldc", "tile", "waves",
           "schedule", "stages", "split-k", "group-m", "xcd", "cus", "early",
           "nt-b", "lookup", "group-n", "xcd-run", "store", "lowering"]
LARGE = [4096, 8192, 7168, 2048, 2880, 16384]
SIZES = [0, 1, 7, 16, 17, 33, 64, 96, 100, 127, 128, 130, 255, 256, 384, 512,
         513, 768, 1000, 1024, 1536, 2304, 3072, 5120] + LARGE
DEPTHS = [16, 32, 64, 96, 100, 128, 129, 160, 192, 256, 320, 512, 520, 576,
          768, 1000, 1024, 1536, 1544, 2048, 4096, 4128, 7168]


class Draw:
    """Numbers that are the same under every Python."""

    def __init__(self, seed):
        self.seed, self.at = seed, 0

    def number(self, n):
        self.at += 1
        text = "%d %d" % (self.seed, self.at)
        digest = hashlib.sha256(text.encode()).digest()
        return int.from_bytes(digest[:8], "big") % n

    def of(self, values):
        return values[self.number(len(values))]

    def maybe(self, percent, values):
        return self.of(values) if self.number(100) < percent else ""


def types(d, row):
    kind = d.number(10)
    if kind < 4:
        row["a"] = d.of(FLOATS + ["i8"])
        row["b"] = d.maybe(6, FLOATS + ["i8"])
        if row["a"] in ("fp8", "bf8") and d.number(3) == 0:
            row["b"] = d.of(["fp8", "bf8"])
        row["scale"] = d.maybe(60, ["none", "tensor", "row", "block128"]) \
            if "8" in row["a"] else ""
    elif kind < 8:
        row["a"], row["b"] = d.of(MX), d.maybe(40, MX)
        row["scale"] = d.maybe(10, ["mx32"])
    elif kind < 9:
        row["a"], row["b"] = d.of(["f16", "bf16"]), d.of(MX)
        row["quant"] = d.maybe(50, ["floor", "round-up", "even", "ceil"])
        if row["quant"]:
            row["b"] = "mxfp4"
    else:
        row["a"], row["b"] = d.of(["f16", "bf16"]), d.of(["fp8", "bf8", "i8"])
        row["scale"] = "tensor"
    row["out"] = d.maybe(60, ["f16", "bf16", "f32"])
    if row["a"] == "i8":
        row["out"] = d.of(["", "i32"])
    if row["a"][:2] == "mx" or row["b"][:2] == "mx":
        row["layout"] = ""
    if row["layout"] in ("", "nt") and d.number(100) < 10:
        row["b-layout"] = "preshuffled"
    if row["a"] in MX and row["family"] in ("gemm", "moe") \
            and d.number(100) < 25:
        row["scale-layout"] = "shuffled"


def moe(d, row):
    row.update(stage=d.of(["gemm1", "gemm2"]), tokens=d.of([1, 4, 16, 64, 100,
               256, 1024, 4096, 16384]), experts=d.of([1, 4, 8, 32, 128, 257]),
               topk=d.of([1, 2, 4]), hidden=d.of([256, 512, 2880, 3072, 7168]),
               inter=d.of([128, 192, 256, 512, 1536, 2880]))
    row["block-m"] = d.maybe(50, [16, 32, 64, 128])
    row["reduce"] = d.maybe(20, ["ordered", "atomic"])
    row["weight"] = d.maybe(20, ["after", "before", "none"])
    row["act"] = d.maybe(20, ["silu", "swiglu", "limited"])
    row["layout"] = row["quant"] = row["epilogue"] = row["beta"] = ""
    if row["stage"] == "gemm1" and d.number(3) == 0:
        row["out"] = d.of(["mxfp4", "mxfp8"])
        row["requant"] = d.maybe(50, ["floor", "even"])


def groups(d, row):
    if d.number(4) == 0:
        row["group-lens"] = " ".join(str(d.of([0, 1, 31, 128, 256, 1024, 3072]))
                                     for _ in range(2 + d.number(6)))
        row["group-lens"] = row["group-lens"].replace(" ", ",")
    else:
        row["groups"] = d.of([1, 2, 4, 8, 16, 32, 64, 256])
        if d.number(5):
            row["tokens"] = d.of([0, 1, 16, 64, 100, 128, 512, 1024, 4096])
            row["routing"] = d.maybe(30, ["balanced", "mild", "extreme:1"])
    row["group-table"] = d.maybe(30, ["offs", "lens"])
    row["tail"] = d.maybe(15, ["keep", "zero"])


def problem(d):
    row = dict.fromkeys(COLUMNS, "")
    row["family"] = d.of(["gemm", "gemm", "batched", "grouped", "wgrad", "moe"])
    row["arch"] = d.of(["gfx942", "gfx950"])
    row["layout"] = d.maybe(60, ["nt", "nn", "tn"])
    types(d, row)
    row["epilogue"] = d.maybe(20, ["none", "bias"])
    row["beta"] = d.maybe(15, [0, 1])
    if row["family"] == "moe":
        moe(d, row)
        return row
    row["n"], row["k"] = d.of(LARGE if d.number(2) else SIZES), d.of(DEPTHS)
    if row["family"] in ("grouped", "wgrad"):
        groups(d, row)
        if row["family"] == "wgrad":
            row["m"], row["k"] = row["n"], ""
            row["n"] = d.of(LARGE)
            row["layout"] = "tn" if row["a"][:2] != "mx" else ""
            row["epilogue"] = row["tail"] = ""
    else:
        row["m"] = d.of(LARGE if d.number(2) else SIZES)
    if row["family"] == "batched":
        row["batch"] = d.of([1, 2, 16, 128])
    if row["family"] == "grouped" and row["layout"] == "tn":
        row["layout"] = "nn"
    row["lda"] = d.maybe(4, [16384, 16400, 16389])
    row["ldb"] = d.maybe(4, [16384, 16400, 16389])
    row["ldc"] = d.maybe(4, [16384, 16400, 16389])
    return row


def transposed(d):
    """A problem of layout tt, of a family and types that are not nt alone."""
    row = {"family": ""}
    while row["family"] not in ("gemm", "batched") or row["a"] in MX or \
            (row["b"] and "16" in row["a"]):
        row = problem(d)
    row["layout"], row["b-layout"] = "tt", ""
    if d.number(6) == 0:
        row["a"] = d.of(["f32", "f64"])
        row["b"] = row["out"] = row["scale"] = ""
    return row


def configure(d, row):
    """What goes with each schedule in the first place, then at random."""
    tile = [d.of([16, 32, 64, 128, 128, 256, 256]),
            d.of([32, 64, 128, 192, 256, 256])]
    if row["family"] == "moe" and row["block-m"]:
        tile[0] = row["block-m"]
    row["schedule"] = d.maybe(70, ["simple", "simple", "interleave",
                                   "8-wave", "4-wave", "direct", "unrolled",
                                   "gemv"])
    if row["schedule"] in ("8-wave", "4-wave") and d.number(8):
        tile = [256, 256]
    if row["schedule"] in ("direct", "unrolled"):
        row["waves"], tile[1] = "1x1", d.of([32, 64])
        row["layout"] = ""
    elif row["schedule"] != "gemv":
        row["waves"] = d.maybe(40, ["1x2", "1x4", "2x2", "2x4", "4x2", "4x4"])
    row["tile"] = "x".join(map(str, tile + [d.of([32, 64, 64, 128, 128, 256,
                                                  256])]))
    if row["schedule"] == "gemv":
        row["tile"], row["m"] = "", d.of([1, 2, 4])
        if (row["a"], row["b"]) == ("bf16", "mxfp4"):
            row["schedule"] = "skinny"
    row["stages"] = d.maybe(40, [1, 2, 2, 3, 4])
    row["split-k"] = d.maybe(10, [2, 4])
    row["group-m"] = d.maybe(15, [1, 2, 8])
    row["xcd"] = d.maybe(10, [1, 4])
    row["cus"] = d.maybe(12, [64, 256, 304])
    row["early"] = d.maybe(20, ["none", "ids", "copy", "both"]) \
        if row["family"] == "moe" else ""
    row["nt-b"] = d.maybe(8, [1])
    row["lookup"] = d.maybe(20, ["many", "few"]) \
        if row["family"] == "grouped" else ""
    row["group-n"] = d.maybe(8, [2])
    row["xcd-run"] = d.maybe(8, [16])
    row["store"] = d.maybe(12, ["direct", "lds"])
    row["lowering"] = d.maybe(12, ["llvm", "asm"])
    if row["schedule"] == "skinny":      # a product of one walk
        row.update(dict.fromkeys(("stages", "split-k", "group-m", "xcd", "cus",
                                  "nt-b", "group-n", "xcd-run", "store"), ""))
        row["k"] = 2880
    return row


def field(value):
    return '"%s"' % value if "," in str(value) else str(value)


def table(kind, count, seed):
    """The list as text."""
    d = Draw(seed)
    lines = [",".join(COLUMNS)]
    for _ in range(count):
        row = transposed(d) if kind == "transposed" else problem(d)
        if kind in ("configurations", "halves"):
            configure(d, row)
        if kind == "halves":
            row["tile"] = ""
        lines.append(",".join(field(row[c]) for c in COLUMNS))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1], int(sys.argv[2]),
                           int(sys.argv[3]) if len(sys.argv) > 3 else 1))
