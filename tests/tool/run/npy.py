"""The user's own files in and out, against numpy on the same bytes.

usage: npy.py KILNC SCRATCH

The values are small integers times powers of two, so numpy's f64 product is
the exact result and every bit must match. Speaks TAP.
"""
import os
import shutil
import subprocess
import sys

import numpy as np

KILNC, DIR = sys.argv[1], sys.argv[2]
M, N, K = 17, 36, 96
RNG = np.random.default_rng(7)
results = []


def path(name):
    return os.path.join(DIR, name)


def kilnc(*words, family="gemm"):
    return subprocess.run([KILNC, "run", family, *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)


def report(name, ok, why=""):
    results.append(ok)
    print("%s %d - %s" % ("ok" if ok else "not ok", len(results), name))
    for line in why.splitlines() if not ok else []:
        print("# " + line)


# ---- formats: small integers as codes, written from the format's definition

def float_code(v, exp_bits, man_bits, bias):
    """Code of an exactly representable v (sign, exponent, mantissa)."""
    sign = int(v < 0)
    v = abs(v)
    if not v:
        return 0
    e = int(np.floor(np.log2(v)))
    m = v / 2.0 ** e
    code = ((e + bias) << man_bits) | int((m - 1) * (1 << man_bits))
    if e + bias <= 0:        # subnormal
        code = int(v / 2.0 ** (1 - bias - man_bits))
    return sign << (exp_bits + man_bits) | code


FORMATS = {                  # exponent bits, mantissa bits, bias, bits
    "fp8": (4, 3, 7, 8), "bf8": (5, 2, 15, 8),
    "mxfp8": (4, 3, 7, 8), "mxbf8": (5, 2, 15, 8),
    "mxfp6": (2, 3, 1, 6), "mxbf6": (3, 2, 3, 6), "mxfp4": (2, 1, 1, 4),
}
FNUZ = {"fp8": (4, 3, 8, 8), "bf8": (5, 2, 16, 8)}


def pack(codes, bits):
    """Rows of codes as little-endian bit streams, each row whole bytes."""
    if bits == 8:
        return codes.astype(np.uint8)
    n = (codes.shape[1] * bits + 7) // 8
    rows = []
    for row in codes:
        stream = sum(int(c) << (i * bits) for i, c in enumerate(row))
        rows.append(np.frombuffer(stream.to_bytes(n, "little"), np.uint8))
    return np.array(rows)


def encode(values, kind, arch):
    if kind == "f16":
        return values.astype(np.float16)
    if kind in ("f32", "f64"):
        return values.astype({"f32": np.float32, "f64": np.float64}[kind])
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16
                ).astype(np.uint16)
    if kind in ("i8", "i32"):
        return values.astype({"i8": np.int8, "i32": np.int32}[kind])
    f = FNUZ[kind] if arch == "gfx942" and kind in FNUZ else FORMATS[kind]
    codes = np.vectorize(lambda v: float_code(v, *f[:3]))(values)
    return pack(codes, f[3])


def integers(rows, cols):
    return RNG.integers(-2, 3, (rows, cols)).astype(np.float64)


def make(kind, layout, side, k):
    """Values as [outer, k] and as the file holds them."""
    outer = M if side == "a" else N
    values = integers(outer, k)
    k_first = layout[0] == "t" if side == "a" else layout[1] == "n"
    return values, values.T.copy() if k_first else values


NAN = {"mx32": 255, "block128": np.nan, "block128 e8m0": 255}


def case(name, a, b, out, arch="gfx950", layout="nt", k=K, ending="npy",
         scale=None, pads=(0, 0)):
    va, fa = make(a, layout, "a", k)
    vb, fb = make(b, layout, "b", k)
    words = ["--a", a, "--b", b, "--out", out, "--layout", layout, "-m", M,
             "-n", N, "-k", k, "--device", "sim:" + arch]
    files = {"a": encode(fa, a, arch), "b": encode(fb, b, arch)}
    scale = "mx32" if a.startswith("mx") else scale
    if scale:
        sa, sb, files["a-scale"], files["b-scale"] = make_scales(scale, k)
        va, vb = va * sa, vb * sb
        words += ["--scale", *" --scale-type ".join(scale.split()).split()]
    for key, pad in zip(("a", "b"), pads):
        if pad:              # NaN behind each row
            files[key + "-scale"] = np.pad(files[key + "-scale"],
                                           ((0, 0), (0, pad)),
                                           constant_values=NAN[scale])
            words += ["--lds" + key, files[key + "-scale"].shape[1]]
    for key, data in files.items():
        p = path(key + "." + ending)
        np.save(p, data) if ending == "npy" else data.tofile(p)
        words += ["--%s-file" % key, p]
    got = path("out." + ending)
    if os.path.exists(got):
        os.remove(got)
    run = kilnc(*words, "--out-file", got)
    if run.returncode:
        return report(name, False, run.stdout + run.stderr)
    want = encode(va @ vb.T, out, arch)
    have = np.load(got) if ending == "npy" else np.fromfile(
        got, want.dtype).reshape(want.shape)
    same = have.dtype == want.dtype and np.array_equal(have, want)
    return report(name, same, "differs at %s" % np.argwhere(have != want)[:3])


def large_scales(arch):
    """The scales' product is 2^108 and 2^-108, one of them near f32's end
    (ROCm rocm-libraries 9450); a sum of zeros stays 0."""
    for ea, eb in ((118, -10), (-118, 10), (100, 8), (0, 108)):
        va, fa = make("bf8", "nt", "a", K)
        vb, fb = make("fp8", "nt", "b", K)
        fa[3] = va[3] = 0
        np.save(path("a.npy"), encode(fa, "bf8", arch))
        np.save(path("b.npy"), encode(fb, "fp8", arch))
        for side, e in (("sa", ea), ("sb", eb)):
            np.save(path(side + ".npy"), np.exp2([e]).astype(np.float32))
        name = "bf8 x fp8 with scales of 2^%d, 2^%d on %s" % (ea, eb, arch)
        run = kilnc("--a", "bf8", "--b", "fp8", "--out", "f32", "-m", M, "-n",
                    N, "-k", K, "--device", "sim:" + arch, "--scale", "tensor",
                    "--a-file", path("a.npy"), "--b-file", path("b.npy"),
                    "--a-scale-file", path("sa.npy"), "--b-scale-file",
                    path("sb.npy"), "--out-file", path("out.npy"))
        want = (va @ vb.T * 2.0 ** (ea + eb)).astype(np.float32)
        report(name, not run.returncode and
               np.array_equal(np.load(path("out.npy")), want),
               run.stdout + run.stderr)


def zero_points(a, kind, arch):
    """Codes and zero points of 0 to 15, as checkpoints have them, less 8."""
    k, group = 160, 64
    values, stored = make(a, "nt", "a", k)
    q = RNG.integers(0, 16, (N, k))
    z = RNG.integers(0, 16, (3, N))
    s = np.exp2(RNG.integers(-1, 2, (N, 3)))
    zeros = pack(z ^ 8, 4) if kind == "i4" else (z - 8).astype(np.float16)
    files = {"a": encode(stored, a, arch), "b": pack(q ^ 8, 4),
             "b-scale": s.astype(np.float16), "b-zero": zeros}
    words = ["--a", a, "--b", "i4", "--out", "f32", "-m", M, "-n", N, "-k", k,
             "--scale", "group%d" % group, "--scale-type", "f16",
             "--zero-points", kind, "--device", "sim:" + arch]
    for key, data in files.items():
        np.save(path(key + ".npy"), data)
        words += ["--%s-file" % key, path(key + ".npy")]
    run = kilnc(*words, "--out-file", path("out.npy"))
    full = np.repeat(np.stack((z.T, s), 2), group, 1)[:, :k]
    want = values @ ((q - full[:, :, 0]) * full[:, :, 1]).T
    report("%s x i4 less %s on %s" % (a, kind, arch), not run.returncode and
           np.array_equal(np.load(path("out.npy")), want.astype(np.float32)),
           run.stdout + run.stderr)


def nvfp4(a, arch):
    """e2m1 codes, E4M3 scales of 16, a factor for each problem."""
    k = 72
    rows = np.arange(N * k).reshape(N, k)
    values = RNG.integers(-4, 5, (2, M, k)).astype(float)
    codes = rows * 7 % 16
    magnitude = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    w = np.where(codes < 8, 1, -1) * magnitude[codes % 8]
    scales = np.arange(N * 5).reshape(N, 5) % 4 * 8 + 0x30   # 0.5 to 4
    factor = np.array([4, 0.25], np.float32)
    files = {"a": encode(values, a, arch), "b": np.stack([pack(codes, 4)] * 2),
             "b-scale": np.stack([scales.astype(np.uint8)] * 2),
             "b-tensor-scale": factor}
    words = ["--a", a, "--b", "nvfp4", "--out", "f32", "-m", M, "-n", N, "-k", k,
             "--batch", 2, "--device", "sim:" + arch]
    for key, data in files.items():
        np.save(path(key + ".npy"), data)
        words += ["--%s-file" % key, path(key + ".npy")]
    run = kilnc(*words, "--out-file", path("out.npy"), family="batched")
    full = w * np.exp2((scales - 0x38) / 8).repeat(16, 1)[:, :k]
    want = values @ full.T * factor[:, None, None]
    report("%s x nvfp4 on %s" % (a, arch), not run.returncode and
           np.array_equal(np.load(path("out.npy")), want.astype(np.float32)),
           run.stdout + run.stderr)


def checkpoint(layout, a, arch, zeros="i4"):
    """int32 words, f16 scales [K / group, N] as AutoAWQ and AutoGPTQ pack them:
    a weight is (code - zero) * scale; GPTQ stores zero - 1, its v2 zero. Zero
    points may be f16 instead, here of quarters, in order and as they are."""
    k, n, group = 160, 40, 32
    values, stored = make(a, "nt", "a", k)
    q, z = RNG.integers(0, 16, (k, n)), RNG.integers(1, 16, (k // group, n))
    z = z + RNG.integers(0, 4, z.shape) / 4 if zeros == "f16" else z
    s = np.exp2(RNG.integers(-1, 2, z.shape))
    order = [0, 2, 4, 6, 1, 3, 5, 7] if layout == "awq" else range(8)

    def words(x):            # along the last axis
        x = x.reshape(*x.shape[:-1], -1, 8)[..., list(order)].astype(np.uint32)
        return (x << np.arange(0, 32, 4, np.uint32)).sum(-1).astype(np.int32)
    files = {"a": encode(stored, a, arch), "b-scale": s.astype(np.float16),
             "b": words(q) if layout == "awq" else words(q.T.copy()).T.copy(),
             "b-zero": z.astype(np.float16) if zeros == "f16"
                       else words(z - (layout == "gptq"))}
    said = ["--a", a, "--b", "i4", "--out", "f32", "-m", M, "-n", n, "-k", k,
            "--scale", "group%d" % group, "--scale-type", "f16", "--zero-points",
            zeros, "--b-layout", layout, "--scale-layout", "transposed",
            "--device", "sim:" + arch]
    for key, data in files.items():
        np.save(path(key + ".npy"), data)
        said += ["--%s-file" % key, path(key + ".npy")]
    run = kilnc(*said, "--out-file", path("out.npy"))
    want = values @ ((q - z.repeat(group, 0)) * s.repeat(group, 0))
    report("%s of %s on %s, %s" % (layout, a, arch, zeros), not run.returncode and
           np.array_equal(np.load(path("out.npy")), want.astype(np.float32)),
           run.stdout + run.stderr)


def near_the_bound(math, value, bound, arch):
    """An operand that loses the most a product can: within the bound that
    runtime/reference holds, and by no more than a twelfth."""
    v = np.full((M, K), value, np.float32)
    np.save(path("a.npy"), v)
    np.save(path("b.npy"), np.full((N, K), value, np.float32))
    words = ["--a", "f32", "--out", "f32", "-m", M, "-n", N, "-k", K,
             "--device", "sim:" + arch, "--a-file", path("a.npy"),
             "--b-file", path("b.npy"), "--out-file", path("out.npy")]
    run, want = kilnc(*words, "--math", math), K * float(v[0, 0]) ** 2
    off = np.abs(np.load(path("out.npy")) - want) / want
    report("%s at its bound on %s" % (math, arch), not run.returncode and
           (off > bound * 11 / 12).all() and (off < bound * 1.001).all(),
           run.stdout + run.stderr + "%g\n" % off.max())
    v[3, 5] = 3.4e38         # its bf16 is infinite
    np.save(path("a.npy"), v)
    run, got = kilnc(*words, "--math", math), np.load(path("out.npy"))
    lost = np.isnan(got[3]) if math == "bf16x3" else np.isfinite(got[3])
    report("%s of the largest f32 on %s" % (math, arch), not run.returncode and
           lost.all() and np.isfinite(got[4]).all(), run.stdout + run.stderr)


def not_numbers(layout, k, arch):
    """NaNs of any sign and payload, also those that rounding to bf16 by bits would
    turn into a number, come out as NaN, and nothing beside them does."""
    odd = [0x7fffffff, 0xffffffff, 0x7fff8000, 0xffff8000, 0x7f800001, 0xff800001,
           0x7fc00000, 0xffc0ffff, 0x00000001, 0x80000001, 0x3f7fffff, 0x3f808000]
    v, w = np.ones((M, k), np.float32), np.ones((N, k), np.float32)
    v.view(np.uint32)[range(1, 1 + len(odd)), [7 * i % k for i in range(len(odd))]] = odd
    want = v.astype(np.float64) @ w.T
    np.save(path("a.npy"), v if layout[0] == "n" else np.ascontiguousarray(v.T))
    np.save(path("b.npy"), w if layout[1] == "t" else np.ascontiguousarray(w.T))
    run = kilnc("--a", "f32", "--out", "f32", "-m", M, "-n", N, "-k", k, "--layout", layout,
                "--device", "sim:" + arch, "--math", "bf16x3", "--a-file", path("a.npy"),
                "--b-file", path("b.npy"), "--out-file", path("out.npy"))
    report("bf16x3 %s of what is no number, %d K, on %s" % (layout, k, arch),
           not run.returncode and np.allclose(np.load(path("out.npy")), want, 1e-4,
                                              equal_nan=True), run.stdout + run.stderr)


def doubles(layout, arch):
    """Of 53 bits, against numpy's long double: within the bound of f64."""
    a, b = RNG.standard_normal((M, K)), RNG.standard_normal((N, K))
    c, bias = RNG.standard_normal((M, N)), RNG.standard_normal(N).astype("f4")
    files = {"a": a.T if layout[0] == "t" else a, "c": c, "bias": bias,
             "b": b.T if layout[1] == "n" else b}
    words = ["--a", "f64", "-m", M, "-n", N, "-k", K, "--layout", layout,
             "--device", "sim:" + arch, "--alpha", 0.3, "--beta", 1,
             "--epilogue", "bias", "--out-file", path("out.npy")]
    for name, x in files.items():
        np.save(path(name + ".npy"), np.ascontiguousarray(x))
        words += ["--%s-file" % name, path(name + ".npy")]
    run, got = kilnc(*words), np.load(path("out.npy"))
    wide, alpha = np.longdouble, np.longdouble(np.float32(0.3))
    want = alpha * (a.astype(wide) @ b.T.astype(wide)) + bias + c
    size = alpha * (abs(a) @ abs(b).T) + abs(bias) + abs(c)
    off = abs(got - want) - np.spacing(abs(got)) - (K / 8 + 16) * 2.0 ** -53 * size
    report("f64 %s on %s" % (layout, arch), not run.returncode and
           got.dtype == np.float64 and (off <= 0).all(), run.stdout + run.stderr)


def make_scales(scale, k):
    """Scales over [outer, k] and the two files, powers of two."""
    def powers(*shape):
        return RNG.integers(-1, 2, shape)
    if scale == "row":
        a, b = powers(M), powers(N)
        wide = [np.exp2(x)[:, None] for x in (a, b)]
    elif scale == "tensor":
        a, b = powers(1), powers(1)
        wide = [np.exp2(x)[:, None] for x in (a, b)]
    else:
        step = 32 if scale == "mx32" else 128
        nk = (k + step - 1) // step
        a = powers(M, nk)
        b = powers(N if scale == "mx32" else (N + 127) // 128, nk)
        wide = [np.repeat(np.exp2(a), step, 1)[:, :k],
                np.repeat(np.exp2(b), step, 1)[:, :k]]
        if scale.startswith("block128"):
            wide[1] = np.repeat(wide[1], 128, 0)[:N]
    if scale in ("mx32", "block128 e8m0"):
        return (*wide, (a + 127).astype(np.uint8), (b + 127).astype(np.uint8))
    return (*wide, np.exp2(a).astype(np.float32), np.exp2(b).astype(np.float32))


def epilogue(beta):
    va, vb = integers(M, K), integers(N, K)
    c0, bias = integers(M, N), integers(1, N)[0]
    for name, data in (("a", va), ("b", vb)):
        np.save(path(name + ".npy"), data.astype(np.float16))
    np.save(path("c.npy"), c0.astype(np.float32))
    np.save(path("bias.npy"), bias.astype(np.float32))
    run = kilnc("--a", "f16", "--b", "f16", "--out", "f32", "-m", M, "-n", N,
                "-k", K, "--a-file", path("a.npy"), "--b-file", path("b.npy"),
                "--c-file", path("c.npy"), "--beta", beta, "--alpha", 0.5,
                "--epilogue", "bias", "--bias-file", path("bias.npy"),
                "--out-file", path("out.npy"))
    name = "alpha, bias, beta %g" % beta
    if run.returncode:
        return report(name, False, run.stdout + run.stderr)
    want = 0.5 * (va @ vb.T) + bias + beta * c0
    return report(name,
                  np.array_equal(np.load(path("out.npy")), want))


def refused(name, data, status=2):
    """A bad A: one sentence that names the file, no output file."""
    bad = path("bad.npy")
    if isinstance(data, bytes):
        with open(bad, "wb") as f:
            f.write(data)
    else:
        np.save(bad, data)
    out = path("none.npy")
    run = kilnc("--a", "f16", "--b", "f16", "-m", M, "-n", N, "-k", K,
                "--a-file", bad, "--out-file", out)
    ok = run.returncode == status and run.stderr.count("\n") == 1 and \
        "bad.npy" in run.stderr and not os.path.exists(out)
    report("refused: " + name, ok, "exit %d: %s" % (run.returncode, run.stderr))


def unwritable():
    run = kilnc("--a", "f16", "--b", "f16", "-m", M, "-n", N, "-k", K,
                "--out-file", os.path.join(DIR, "none", "out.npy"))
    report("refused: unwritable output", run.returncode == 2
           and run.stderr.count("\n") == 1, run.stderr)


def unread():
    np.save(path("s.npy"), np.ones(M, np.float32))
    run = kilnc("--a", "f16", "--b", "f16", "-m", M, "-n", N, "-k", K,
                "--a-scale-file", path("s.npy"))
    report("refused: a file nothing reads", run.returncode == 2
           and "--a-scale-file" in run.stderr, run.stderr)


shutil.rmtree(DIR, ignore_errors=True)
os.makedirs(DIR)
case("f16 nt", "f16", "f16", "f32")
case("bf16 tn", "bf16", "bf16", "bf16", layout="tn")
case("bf16 nn on gfx942", "bf16", "bf16", "f32", "gfx942", "nn")
case("fp8 x bf8", "fp8", "bf8", "f16")
case("fp8 on gfx942 is FNUZ", "fp8", "fp8", "f32", "gfx942")
case("fp8 row scales", "fp8", "fp8", "f32", scale="row")
case("i8 tensor scales", "i8", "i8", "f32", scale="tensor")
case("fp8 block scales", "fp8", "fp8", "f32", scale="block128", k=160)
case("i8 to i32", "i8", "i8", "i32", "gfx942")
case("mxfp8", "mxfp8", "mxfp8", "f32")
case("mxbf8 x mxfp4, short last block", "mxbf8", "mxfp4", "f32", k=100)
case("mxfp6", "mxfp6", "mxfp6", "f32")
case("mxbf6, rows padded to bytes", "mxbf6", "mxbf6", "f32", k=33)
case("mxfp4, odd K", "mxfp4", "mxfp4", "bf16", k=33)
case("mxfp4, scales padded to dwords and past them", "mxfp4", "mxfp4", "f32",
     k=320, pads=(2, 3))
case("mxfp8 on gfx942, raw files of padded scales", "mxfp8", "mxfp8", "f32",
     "gfx942", k=96, pads=(1, 1), ending="bin")
case("fp8, padded block scales", "fp8", "fp8", "f32", scale="block128", k=160,
     pads=(1, 3))
for arch in "gfx950", "gfx942":
    case("fp8 x bf8, block scales of powers of two, on " + arch, "fp8", "bf8", "f32", arch,
         scale="block128 e8m0", k=1160, pads=(1, 3))
case("bf16 tt", "bf16", "bf16", "bf16", layout="tt")
large_scales("gfx950")
large_scales("gfx942")
zero_points("bf16", "i4", "gfx950")
zero_points("f16", "i4", "gfx942")
zero_points("bf16", "f16", "gfx942")
zero_points("f16", "f16", "gfx950")
nvfp4("bf16", "gfx950")
nvfp4("f16", "gfx942")
checkpoint("awq", "bf16", "gfx950")
checkpoint("awq", "f16", "gfx942")
checkpoint("gptq", "f16", "gfx950")
checkpoint("gptq", "bf16", "gfx942")
checkpoint("gptq-v2", "bf16", "gfx950")
for word in ("awq", "gptq", "gptq-v2"):
    checkpoint(word, "bf16", "gfx942", "f16")
    checkpoint(word, "f16", "gfx950", "f16")
case("f64 files", "f64", "f64", "f64")
for word in ("nt", "nn", "tn", "tt"):
    doubles(word, "gfx942")
    doubles(word, "gfx950")
near_the_bound("xf32", 1 + 2 ** -10 - 2 ** -23, 2 ** -9, "gfx942")
near_the_bound("bf16x3", 1 + 32575 * 2 ** -23, 2 ** -15, "gfx942")
near_the_bound("bf16x3", 1 + 32575 * 2 ** -23, 2 ** -15, "gfx950")
for word in ("nt", "tn"):
    for long in (72, 73):
        not_numbers(word, long, "gfx942")
        not_numbers(word, long, "gfx950")
case("raw files", "bf16", "bf16", "f32", ending="bin")
epilogue(1)
epilogue(-1.5)
GOOD = integers(M, K).astype(np.float16)
refused("wrong type", GOOD.astype(np.float32))
refused("wrong shape", GOOD[:-1])
refused("wrong order of dimensions", GOOD.T.copy())
refused("Fortran order", np.asfortranarray(GOOD), 3)
refused("empty file", b"")
refused("no magic", b"x" * 200)
np.save(path("good.npy"), GOOD)
with open(path("good.npy"), "rb") as good:
    WHOLE = good.read()
refused("truncated header", WHOLE[:40])
refused("truncated data", WHOLE[:-1])
refused("bytes behind the data", WHOLE + b"x")
unwritable()
unread()
print("1..%d" % len(results))
sys.exit(not all(results))
