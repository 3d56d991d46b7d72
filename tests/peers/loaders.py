"""Kernels of `generate --abi aiter` launched as aiter's loaders do, on the
simulator, against numpy in f64: kernarg bytes, grid and layouts are aiter.py's,
which launches AMD's own objects with them.

usage: loaders.py KILNC     TAP
"""
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP there is no numpy")
    sys.exit(0)

import aiter
import fmoe

# loader, tile, preshuffled; of every loader one tile whose waves are not 2x2
ROWS = (
    ("bf16gemm", (32, 64), 1), ("bf16gemm", (16, 64), 0),
    ("bf16gemm", (256, 256), 1),
    ("f4gemm", (32, 128), 1), ("f4gemm", (64, 96), 0),
    ("f4gemm", (256, 256), 1),
    ("i8gemm", (48, 128), 1), ("i8gemm", (16, 64), 0),
    ("fp8gemm_blockscale", (32, 128), 1), ("fp8gemm_blockscale", (96, 128), 0),
)
GFX950_ONLY = ("f4gemm",)
MOE = [name for name in aiter.FAMILIES if "fmoe" in name]
MOE_LAUNCHES = 24
WIDE = 18                    # bf16gemm's slot that says what D is of


def launch(kilnc, arch, family, row, change, where):
    """Elements that are wrong, findings, their summary. alone: a kernel that
    divides K is launched for one share, and D is not zeroed."""
    rng = np.random.default_rng(row.get("seed", row["tile_m"]))
    of = dict(row, shares=1) if change is alone else row
    j = aiter.FAMILIES[family][1](of, arch, rng, row["shares"] > 1)
    j.round = aiter.bf16     # kiln's never cuts bits off
    j.row, why = aiter.generate(kilnc, arch, family, row, where)
    if why:
        return 1, 0, why
    if not j.slack and not j.wide:
        j.output(0, j.m * j.n * 2)
    change(j)
    report, got = aiter.simulate(kilnc, j, ("--order", "latest"), where)
    return aiter.judge(j, report, got)[:3]


def nothing(j):
    pass


def as_f32(j):
    j.value(WIDE, "I", 0)
    for slot in (6, 8):
        j.value(slot, "I", j.n * 4)
    j.output(0, j.m * j.n * 4)
    j.wide = True


def doubled(j):
    j.value(4, "f", -2.0)
    j.want = j.want * -2


def upright(j):
    """All workgroups along y."""
    j.grid = (1, j.grid[0] * j.grid[1], 1)


def stale(j):
    j.value(11, "I", j.n)    # bytes of a row of D, half of them


def alone(j):
    pass


def unzeroed(j):
    j.zeroed = False


def miscounted(j):
    """A counter that is not zero before the launch is not behind it."""
    j.buffer(21, np.ones(1024, np.uint32), "inout")


def exchanged(j):
    """Blocks of sorted rows with each other's experts."""
    kind, of_block = j.pointers[8]
    j.buffer(8, np.where(of_block < 9, 1 - np.minimum(of_block, 1), of_block), kind)


def other_function(j):
    j.value(21, "i", fmoe.GELU)


def rows_of(tile, shuffled, shares):
    """shares: of K, in D, for which the loader has filled it with zeros."""
    return {"file": "", "kernel": "", "tile_m": tile[0], "tile_n": tile[1],
            "splitK": int(shares > 1), "preshuffle": shuffled, "bias": 0,
            "shares": shares}


def drawn(seed, family, tile):
    """A launch of moe: how many tokens go where, tile, sizes, activation, shares."""
    r = np.random.default_rng(seed)
    rows = int(r.choice([16, 32, 64, 128]))
    if "block" in family:
        rows = min(rows, 64) # of gfx942 128 have no registers
    experts = int(r.integers(2, 12))
    size = fmoe.Size(int(r.integers(1, 301)), int(r.integers(1, min(experts, 5))),
                     experts, tile * int(r.integers(1, 4)),
                     128 * int(r.integers(1, 9)))
    log2 = int(r.choice([0, 0, 0, 1, 3]))
    return dict(rows_of((rows, tile), 1, 1), seed=seed, size=size,
                act=int(r.integers(0, 2)), log2=0 if "block" in family else log2,
                weighed="weighed" in family, integer="i8" in family,
                block="block" in family)


def cases_of_moe():
    """Tokens 1 to 300, experts that get most of them or none, more shares than
    K tiles."""
    for seed in range(MOE_LAUNCHES):
        family = MOE[seed % 4]
        tile = 128 if "block" in family else 64 << seed // 4 % 2
        yield "gfx942 gfx950".split()[seed // 8 % 2], family, \
            drawn(seed, family, tile), nothing, True
    row = dict(drawn(7, MOE[0], 128), act=fmoe.SILU, log2=0,
               size=fmoe.Size(40, 2, 4, 256, 256))
    yield "gfx942", MOE[0], row, exchanged, False
    yield "gfx950", MOE[0], row, other_function, False
    yield "gfx950", MOE[0], dict(row, log2=1), unzeroed, False
    row = dict(row, block=True, tile_m=64)
    yield "gfx942", MOE[3], row, exchanged, False
    yield "gfx950", MOE[3], row, other_function, False


def cases():
    for arch, family, tile, shuffled, shares, change, right in cases_of_gemm():
        yield arch, family, rows_of(tile, shuffled, shares), change, right
    yield from cases_of_moe()


def cases_of_gemm():
    for family, tile, shuffled in ROWS:
        for arch in ("gfx942", "gfx950"):
            if family not in GFX950_ONLY or arch == "gfx950":
                yield arch, family, tile, shuffled, 1, nothing, True
    yield "gfx950", "bf16gemm", (32, 64), 1, 1, as_f32, True
    yield "gfx942", "bf16gemm", (256, 256), 0, 1, as_f32, True
    yield "gfx950", "f4gemm", (32, 128), 1, 1, doubled, True
    yield "gfx950", "i8gemm", (48, 128), 1, 1, upright, False
    yield "gfx942", "i8gemm", (16, 64), 0, 1, stale, False
    yield "gfx950", "f4gemm", (256, 256), 1, 4, nothing, True
    yield "gfx950", "f4gemm", (64, 128), 1, 2, nothing, True
    for arch in ("gfx942", "gfx950"):
        yield arch, "i8gemm", (48, 128), 1, 3, nothing, True
        yield arch, "i8gemm", (16, 64), 0, 7, nothing, True
        yield arch, "fp8gemm_blockscale", (32, 128), 1, 3, nothing, True
        yield arch, "fp8gemm_blockscale", (96, 128), 0, 7, nothing, True
        yield arch, "bf16gemm", (32, 64), 1, 3, nothing, True
        yield arch, "bf16gemm", (96, 64), 0, 16, nothing, True
        yield arch, "bf16gemm", (64, 64), 1, 3, as_f32, True
        yield arch, "bf16gemm", (32, 64), 1, 3, miscounted, False
    yield "gfx950", "bf16gemm", (160, 64), 1, 2, nothing, True
    yield "gfx942", "bf16gemm", (160, 64), 1, 2, as_f32, True
    yield "gfx950", "bf16gemm", (64, 64), 1, 3, alone, True
    yield "gfx942", "i8gemm", (256, 256), 1, 3, nothing, True
    yield "gfx950", "i8gemm", (48, 128), 1, 3, alone, True
    yield "gfx950", "f4gemm", (64, 128), 1, 2, alone, True
    yield "gfx950", "i8gemm", (48, 128), 1, 3, unzeroed, False


def text_of(row):
    tile = "%dx%d" % (row["tile_m"], row["tile_n"])
    if "size" in row:
        return "%s tokens=%d topk=%d experts=%d inter=%d k=%d act=%d log2=%d" % (
            tile, *row["size"], row["act"], row["log2"])
    return "%s shuffled=%d shares=%d" % (tile, row["preshuffle"], row["shares"])


def main(kilnc):
    bad = number = 0
    with tempfile.TemporaryDirectory() as where:
        for arch, family, row, change, right in cases():
            wrong, found, what = launch(kilnc, arch, family, row, change, where)
            good = (wrong == 0 and found == 0) == right
            number, bad = number + 1, bad + (not good)
            print("%sok %d - %s %s %s %s: wrong %d, findings %d %s"
                  % ("" if good else "not ", number, arch, family,
                     text_of(row), change.__name__, wrong, found,
                     what if right else ""), flush=True)
    print("1..%d" % number)
    return bool(bad)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))
    sys.exit(main(sys.argv[1]))
