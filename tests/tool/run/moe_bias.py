"""moe's biases from files, gate's, up's and down's, against numpy and one another.

usage: moe_bias.py KILNC SCRATCH

What is added is small integers, so numpy's f64 product is exact. Speaks TAP.
"""
import os
import shutil
import subprocess
import sys

import numpy as np

KILNC, DIR = sys.argv[1], sys.argv[2]
TOKENS, TOPK, EXPERTS, HIDDEN, INTER = 7, 2, 3, 72, 40
SIZES = ["--tokens", TOKENS, "--topk", TOPK, "--experts", EXPERTS, "--hidden", HIDDEN,
         "--inter", INTER, "--device", "sim:gfx950"]
RNG = np.random.default_rng(11)
results = []


def kilnc(*words):
    return subprocess.run([KILNC, "run", "moe", *map(str, [*words, *SIZES])],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def report(name, ok, why=""):
    results.append(ok)
    print("%s %d - %s" % ("ok" if ok else "not ok", len(results), name))
    for line in why.splitlines() if not ok else []:
        print("# " + line)


def path(name):
    return os.path.join(DIR, name)


def save(name, array):
    np.save(path(name), array) if name.endswith(".npy") else array.tofile(path(name))
    return path(name)


def whole(*shape, most=3):
    return RNG.integers(-most, most + 1, shape).astype(np.float32)


def bf16(x):
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def out_of(*words):
    """The run's output as f64, or None; and what it said."""
    r = kilnc(*words, "--out-file", path("out.npy"))
    if r.returncode:
        return None, r.stdout + r.stderr
    bits = np.load(path("out.npy"))
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64), r.stdout


X, W1 = whole(TOKENS, HIDDEN, most=1), whole(EXPERTS, 2 * INTER, HIDDEN, most=1)
H, W2 = whole(TOKENS * TOPK, INTER, most=1), whole(EXPERTS, HIDDEN, INTER, most=1)
GATE, UP, DOWN = whole(EXPERTS, INTER), whole(EXPERTS, INTER), whole(EXPERTS, HIDDEN)
IDS = np.array([RNG.permutation(EXPERTS)[:TOPK] for _ in range(TOKENS)], np.int32)
WEIGHTS = 2.0 ** RNG.integers(-1, 2, (TOKENS, TOPK)).astype(np.float32)


def stage(name):
    a, b = (X, W1) if name == "gemm1" else (H, W2)
    return ["--stage", name, "--a-file", save("a.npy", bf16(a)), "--b-file",
            save("b.npy", bf16(b)), *routing()]


def routing():
    return ["--ids-file", save("ids.npy", IDS), "--weights-file", save("w.npy", WEIGHTS)]


def products(gate=0, up=0):
    """Of each slot: what gate and up are, with their biases."""
    e, rows = IDS.ravel(), np.repeat(X, TOPK, 0).astype(np.float64)
    y = np.einsum("rh,rnh->rn", rows, W1[e])
    return [y[:, :INTER] + np.broadcast_to(gate, (EXPERTS, INTER))[e],
            y[:, INTER:] + np.broadcast_to(up, (EXPERTS, INTER))[e]]


def near(name, want, *words):
    got, said = out_of(*words)
    ok = got is not None and np.all(np.abs(got - want) <= np.abs(want) / 128 + 1e-3)
    report(name, bool(ok), said)


def silu(pair):
    return pair[0] / (1 + np.exp(-pair[0])) * pair[1]


def check_stages():
    gate = ["--gate-bias-file", save("gate.npy", GATE)]
    up = ["--up-bias-file", save("up.bin", UP)]
    down = ["--down-bias-file", save("down.npy", DOWN)]
    near("gate and up, npy and raw, imply the biases", silu(products(GATE, UP)),
         *stage("gemm1"), *gate, *up)
    near("up's is 0 where only gate's is given", silu(products(GATE)), *stage("gemm1"), *gate)
    near("gate's is 0 where only up's is given", silu(products(0, UP)), *stage("gemm1"), *up)
    g, u = products(GATE, UP)
    near("an expression names them", g * u, *stage("gemm1"), *gate, *up, "--epilogue",
         "(gate+gate_bias)*(up+up_bias)")
    e = IDS.ravel()
    y = np.einsum("rh,rnh->rn", H.astype(np.float64), W2[e]) + DOWN[e]
    near("down's, in front of the weight", y * WEIGHTS.ravel()[:, None], *stage("gemm2"), *down)
    c = whole(TOKENS * TOPK, HIDDEN)
    near("down's beside a factor of the output", (y + c / 4) * WEIGHTS.ravel()[:, None],
         *stage("gemm2"), *down, "--beta", "0.25", "--c-file", save("c.npy", bf16(c)))
    joined = save("both.npy", np.concatenate([GATE, UP], 1))
    one, said = out_of(*stage("gemm1"), "--epilogue", "bias", "--bias-file", joined)
    two, also = out_of(*stage("gemm1"), *gate, *up)
    report("as --bias-file has them in one", one is not None and np.array_equal(one, two),
           said + also)


def check_layer():
    none = [save("none_%s.npy" % n, np.zeros_like(x)) for n, x in
            (("gate", GATE), ("up", UP), ("down", DOWN))]
    flags = ["--gate-bias-file", "--up-bias-file", "--down-bias-file"]
    plain, said = out_of(*routing())
    zero, also = out_of(*routing(), *[w for pair in zip(flags, none) for w in pair])
    report("a layer's of 0 change nothing", plain is not None and np.array_equal(plain, zero),
           said + also)
    large = DOWN * 4096
    rows = (large[IDS] * WEIGHTS[..., None]).astype(np.float64)
    room = np.abs(rows).sum(1) / 64
    for act in [], ["--epilogue", "gate*up"]:
        before = out_of(*routing(), *act)[0]
        got, said = out_of(*routing(), "--down-bias-file", save("large.npy", large), *act)
        ok = got is not None and np.all(np.abs(got - before - rows.sum(1)) <=
                                        room + np.abs(before) / 64)
        report("a layer's down bias alone %s" % " ".join(act), bool(ok), said)
    got, said = out_of("--a", "mxfp4", "--out", "bf16", "--gate-bias-file",
                       path("gate.npy"), "--up-bias-file", path("up.bin"))
    report("beside narrow types", got is not None, said)


def refuse(name, sentence, *words):
    r = kilnc(*words)
    report("refused: " + name, r.returncode == 2 and sentence in r.stderr,
           "%d %s" % (r.returncode, r.stderr))


def check_refusals():
    gate = ["--gate-bias-file", path("gate.npy")]
    down = ["--down-bias-file", path("down.npy")]
    refuse("another shape", "shape is (3, 72), needed is (3, 40)", "--stage", "gemm1",
           "--gate-bias-file", path("down.npy"))
    refuse("another type", "dtype is <i4", "--stage", "gemm1", "--up-bias-file",
           path("ids.npy"))
    refuse("raw of another size", "bytes", "--stage", "gemm2", "--down-bias-file",
           path("up.bin"))
    refuse("one file of both beside", "not beside a file of each", "--stage", "gemm1", *gate,
           "--bias-file", path("both.npy"))
    refuse("gemm1 with down's", "is gemm2's or a layer's", "--stage", "gemm1", *down)
    refuse("gemm2 with gate's", "are gemm1's or a layer's", "--stage", "gemm2", *gate)
    refuse("an expression without it", "--gate-bias-file is given, but the epilogue names no "
           "gate_bias", "--stage", "gemm1", *gate, "--epilogue", "gate*(up+up_bias)")
    refuse("no bias wanted", "but the epilogue names no gate_bias", "--stage", "gemm1", *gate,
           "--epilogue", "none")
    r = subprocess.run([KILNC, "run", "gemm", "-m", "8", "-n", "8", "-k", "8", *gate],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    report("refused: gemm", r.returncode == 2 and "says nothing about gemm" in r.stderr, r.stderr)


def main():
    shutil.rmtree(DIR, ignore_errors=True)
    os.makedirs(DIR)
    check_stages()
    check_layer()
    check_refusals()
    print("1..%d" % len(results))
    return not all(results)


sys.exit(main())
