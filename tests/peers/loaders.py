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
WIDE = 18                    # bf16gemm's slot that says what D is of


def launch(kilnc, arch, family, row, change, where):
    """Elements that are wrong, findings, their summary. alone: a kernel that
    divides K is launched for one share, and D is not zeroed."""
    rng = np.random.default_rng(row["tile_m"])
    of = dict(row, shares=1) if change is alone else row
    j = aiter.FAMILIES[family][1](of, arch, rng, row["shares"] > 1)
    j.round = aiter.bf16     # kiln's never cuts bits off
    j.row, why = aiter.generate(kilnc, arch, family, row, where)
    if why:
        return 1, 0, why
    j.output(0, j.m * j.n * 2)
    change(j)
    report, got = aiter.simulate(kilnc, j, ("--order", "latest"), where)
    if j.rows == "f32":
        want = j.want.astype(np.float32)
        return int((got.view(np.float32) != want.reshape(-1)).sum()), \
            report["simulated"]["findings"], ""
    return aiter.judge(j, report, got)[:3]


def nothing(j):
    pass


def as_f32(j):
    j.value(WIDE, "I", 0)
    for slot in (6, 8):
        j.value(slot, "I", j.n * 4)
    j.output(0, j.m * j.n * 4)
    j.rows = "f32"


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


def rows_of(tile, shuffled, shares):
    """shares: of K, in D, for which the loader has filled it with zeros."""
    return {"file": "", "kernel": "", "tile_m": tile[0], "tile_n": tile[1],
            "splitK": int(shares > 1), "preshuffle": shuffled, "bias": 0,
            "shares": shares}


def cases():
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


def main(kilnc):
    bad = number = 0
    with tempfile.TemporaryDirectory() as where:
        for arch, family, tile, shuffled, shares, change, right in cases():
            wrong, found, what = launch(kilnc, arch, family,
                                        rows_of(tile, shuffled, shares),
                                        change, where)
            good = (wrong == 0 and found == 0) == right
            number, bad = number + 1, bad + (not good)
            print("%sok %d - %s %s %dx%d shuffled=%d shares=%d %s: wrong %d, "
                  "findings %d %s"
                  % ("" if good else "not ", number, arch, family, *tile,
                     shuffled, shares, change.__name__, wrong, found,
                     what if right else ""), flush=True)
    print("1..%d" % number)
    return bool(bad)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))
    sys.exit(main(sys.argv[1]))
