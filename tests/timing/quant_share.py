"""Predicted time of quant beside the time its bytes take at the memory's read
rate in the timing model (runtime/sim/timing/timing.def): the table of
docs/quant.md. Sizes are drawn; predicted, not measured.

usage: quant_share.py KILNC TIMING_DEF [SEED]
"""
import json
import random
import re
import subprocess
import sys

BITS = {"bf16": 16, "f32": 32, "mxfp8": 8, "mxfp6": 6, "mxfp4": 4, "fp8": 8,
        "i8": 8}
WHAT = [("bf16", "mxfp8", "mx32"), ("bf16", "mxfp6", "mx32"),
        ("bf16", "mxfp4", "mx32"), ("bf16", "fp8", "row"),
        ("bf16", "fp8", "block128"), ("bf16", "i8", "row"),
        ("f32", "mxfp8", "mx32")]
AT_RANDOM = [("bf16", "mxfp8", "mx32"), ("bf16", "mxfp6", "mx32"),
             ("bf16", "mxfp4", "mx32"), ("bf16", "fp8", "row")]
TURNED = [("bf16", "mxfp8", "mx32"), ("bf16", "mxfp6", "mx32"),
          ("bf16", "mxfp4", "mx32"), ("bf16", "fp8", "block128"),
          ("bf16", "fp8", "row"), ("f32", "mxfp8", "mx32")]
DUAL = [("bf16", "mxfp8", "mx32"), ("bf16", "mxfp6", "mx32"),
        ("bf16", "mxfp4", "mx32"), ("bf16", "fp8", "block128"),
        ("bf16", "fp8", "row"), ("f32", "mxfp8", "mx32")]
MORE = [(DUAL, ("--act", "silu")), (DUAL, ("--hadamard", "32")),
        (DUAL[:5], ("--act", "silu", "--dual")), (DUAL[:5], ("--hadamard", "32", "--dual")),
        (TURNED[:5], ("--hadamard", "32", "--transpose")),
        (DUAL[:5], ("--round", "stochastic", "--dual"))]
SIZES = 4


def rates(path):
    with open(path, encoding="utf-8") as f:
        row = re.search(r"X\(hbm_read, ([\d.]+), ([\d.]+)", f.read())
    return {"gfx942": float(row[1]), "gfx950": float(row[2])}


def share(kilnc, arch, what, m, k, rate):
    a, out, scale, *more = what
    done = subprocess.run([kilnc, "time", "quant", "--arch", arch, "--a", a,
                           "--out", out, "--out-scale", scale, "-m", str(m),
                           "-k", str(k), "--json", "-", *more], text=True, check=True,
                          stdout=subprocess.PIPE)
    us = json.loads(done.stdout)["predicted"]["us"]
    ways = [m] if "--transpose" in more else [k, m] if "--dual" in more else [k]
    bits = BITS[a] * (1 + ("silu" in more))
    bits *= 1 + (scale == "row" and "--dual" in more) # A is read twice
    bits += sum(BITS[out] + {"mx32": 8 / 32, "block128": 32 / 128, "row": 32 / n}[scale]
                for n in ways)
    return m * k * bits / 8 / (rate * 1e6) / us


def main():
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    rate = rates(sys.argv[2])
    sizes = [(1 << rng.randrange(13, 16), 128 * rng.randrange(24, 100))
             for _ in range(SIZES)]
    print("sizes drawn:", ", ".join("%dx%d" % s for s in sizes), "\n")
    print("| | gfx950 worst | best | gfx942 worst | best |")
    print("|---|---|---|---|---|")
    for what in WHAT + [w + ("--round", "stochastic") for w in AT_RANDOM] + [
            w + ("--transpose",) for w in TURNED] + [
            w + ("--dual",) for w in DUAL] + [
            w + flags for kinds, flags in MORE for w in kinds]:
        row = "| %s to %s, %s |" % (*what[:2], ", ".join(what[2:3] + tuple(
            w for w in what[3:] if w not in ("--act", "--round"))).replace("--", "").replace(
                "hadamard, 32", "transform of 32"))
        for arch in ("gfx950", "gfx942"):
            all_of = [share(sys.argv[1], arch, what, m, k, rate[arch])
                      for m, k in sizes]
            row += " %.0f %% | %.0f %% |" % (100 * min(all_of),
                                             100 * max(all_of))
        print(row, flush=True)


main()
