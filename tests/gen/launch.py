"""Headers and JSON of `generate --header --launch` against the library's plan.

usage: launch.py SOURCE BUILD [SEED [KERNELS]]

Random kernels of every family; each header is compiled on its own, as C and
where there is a compiler as C++, and asked for random shapes, as are the
expressions of the JSON: argument bytes, grid, workspace and the verdict must be
those of kiln_make_plan. Speaks TAP.
"""
import ctypes as C
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 25
KERNELS = int(sys.argv[4]) if len(sys.argv) > 4 else 24
SHAPES = 60
os.environ["KILN_LIBRARY"] = os.path.join(BUILD, "libkiln.so.0")
sys.path.insert(0, os.path.join(SOURCE, "runtime", "python"))
sys.dont_write_bytecode = True
import kiln  # noqa: E402

SCRATCH = tempfile.mkdtemp(prefix="kiln-launch-")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow"]
WRAPPER = """#include "k.h"
#ifdef __cplusplus
extern "C"
#endif
const char *plan(const int64_t *size, void *args, uint64_t *launch);
const char *plan(const int64_t *size, void *args, uint64_t *launch)
{
    struct k_shape s;
    struct k_args a;
    struct k_launch l = { 0, 0, 0 };
    const char *why;
    memcpy(&s, size, sizeof s);
    why = k_plan(&s, &a, &l);
    memcpy(args, &a, K_KERNARG_SIZE);
    launch[0] = l.grid;
    launch[1] = l.block;
    launch[2] = l.workspace;
    return why;
}
"""
# What a problem may have on the command line, by family; (flag, values).
ANY = [("--arch", ("gfx942", "gfx950"))]
TYPES = (("bf16", "bf16", ("none",)), ("f16", "f16", ("none",)),
         ("fp8", "fp8", ("none", "tensor", "row", "block128")),
         ("fp8", "bf8", ("row",)), ("i8", "i8", ("row", "tensor")),
         ("mxfp8", "mxfp4", ("mx32",)), ("mxfp4", "mxfp4", ("mx32",)),
         ("mxfp6", "mxfp6", ("mx32",)), ("bf16", "mxfp4", ("mx32",)))


def draw_quant(rng):
    out, scale = rng.choice((("mxfp8", "mx32"), ("mxfp4", "mx32"), ("fp8", "block128"),
                             ("i8", "row"), ("bf8", "static")))
    fields = dict(family="quant", target=rng.choice(("gfx942", "gfx950")), a="bf16",
                  b="bf16", out=out, out_scale=scale)
    words = ["--a", "bf16", "--out", out, "--out-scale", scale,
             "--arch", fields["target"]]
    layout = {"mx32": "shuffled", "block128": "transposed"}.get(scale)
    if layout and rng.random() < .4:
        words += ["--scale-layout", layout]
        fields["scale_layout"] = layout
    flag = rng.choice(((), ("--transpose", 2), ("--dual", 4), ("--dual", 4)))
    if flag:
        words += [flag[0]]
        fields["quant_flags"] = flag[1]
    return "quant", words, fields


def draw_kernel(rng):
    """Words of a command line and the Problem they mean."""
    family = rng.choice(("gemm", "gemm", "batched", "grouped", "wgrad", "moe", "quant"))
    if family == "quant":
        return draw_quant(rng)
    a, b, scales = rng.choice(TYPES)
    fields = dict(family=family, target=rng.choice(("gfx942", "gfx950")),
                  a=a, b=b, out=rng.choice(("bf16", "f32")),
                  scale=rng.choice(scales))
    layouts = {"gemm": "nt nn tn", "batched": "nt nn tn", "grouped": "nt nn",
               "wgrad": "tn nt", "moe": "nt"}[family].split()
    fields["layout"] = rng.choice(layouts)
    words = []
    if family in ("grouped", "wgrad"):
        words += ["--groups", "4"]
        if rng.random() < .4:
            table = rng.choice(("lens", "ends32"))
            words += ["--group-table", table]
            fields["group_flags"] = {"lens": 1, "ends32": 4}[table]
        if rng.random() < .3:
            words += ["--tight-table"]
            fields["group_flags"] = fields.get("group_flags", 0) | 8
    if family == "batched":
        words += ["--batch", "3"]
    if family == "moe":
        stage = rng.choice(("gemm1", "gemm2"))
        block = rng.choice((16, 32, 64))
        words += ["--stage", stage, "--block-m", str(block), "--experts", "8",
                  "--topk", "2", "--tokens", "64", "--hidden", "512",
                  "--inter", "512"]
        fields.update(stage=kiln.STAGES.index(stage), block_m=block)
    elif rng.random() < .3:
        words += ["--epilogue", "bias"]
        fields["bias"] = 1
    elif rng.random() < .3:
        text = "row:s,tensor:r,col:w,scalar:k,acc*s*k+r*w"
        words += ["--epilogue", text]
        fields.update(expression=text, scalar=(C.c_float * 4)(1))
    if family != "moe" and rng.random() < .2:
        words += ["--amax"]
        fields["amax"] = 1
    if family != "moe" and rng.random() < .2:
        words += ["--out2", "f32"]
        fields["out2"] = "f32"
    if family != "moe" and fields["out"] == "bf16" and rng.random() < .2:
        words += ["--round", "stochastic"]
        fields["round"] = 1
    fields["scale_layout"] = 0
    if fields["scale"] == "block128" and family != "moe" and rng.random() < .5:
        words += ["--scale-layout", "transposed"]
        fields["scale_layout"] = 2
    elif a[:2] == "mx" and fields["layout"] == "nt" and family != "wgrad" \
            and fields["target"] == "gfx950" and rng.random() < .4:
        words += ["--scale-layout", "shuffled"]
        fields["scale_layout"] = 1
    if fields["scale"] == "block128" and rng.random() < .5:
        words += ["--scale-type", "e8m0"]
        fields["scale_type"] = "e8m0"
    if family == "gemm" and rng.random() < .4:
        words += ["--split-k", str(rng.choice((2, 4)))]
    elif family != "moe" and rng.random() < .3:
        words += ["--cus", "64"]
    if family != "moe" and rng.random() < .6:
        m, n, k = (rng.choice((1, 16, 128, 500, 512)), rng.choice((250, 512)),
                   rng.choice((64, 100, 512, 1024)))
        words += ["-m", str(m), "-n", str(n), "-k", str(k)]
    for name in ("a", "b", "out", "scale", "layout"):
        words += ["--" + name, fields[name]]
    return family, words + ["--arch", fields["target"]], fields


def draw_shape(rng, family, names):
    some = (0, 1, 7, 16, 32, 63, 64, 96, 100, 128, 250, 256, 512, 1000, 1024,
            4096, 5000, 70000, 16777215, 40000000, 2147483647)
    typical = some[7:17]
    shape = {}
    for name in ("m", "n", "k"):
        shape[name] = rng.choice(typical if rng.random() < .9 else some)
    if "batch" in names:
        shape["batch"] = rng.choice((1, 2, 3, 64))
    if "groups" in names:
        shape["groups"] = rng.choice((1, 2, 8, 9, 65535))
    if "tokens" in names:
        shape["tokens"] = rng.choice((1, 64, 5000, 16777215))
        shape["topk"] = rng.choice((1, 2, 8))
    if "seed" in names:
        shape["seed"] = rng.randrange(1 << 63)
    for name in ("lda", "ldb", "ldc", "ldc2"):
        shape[name] = 0 if rng.random() < .8 else rng.choice(typical)
    for name in ("ldsa", "ldsb", "ldsa2"):
        if name in names:
            shape[name] = 0 if rng.random() < .7 else rng.choice(
                (3, 4, 8, 16, 32, 34, 36, 64, 1 << 28, 1 << 31))
    for name in ("stride_a", "stride_b", "stride_c"):
        if name in names:
            shape[name] = 0 if rng.random() < .7 else \
                rng.choice((-1, 1 << 22, 1 << 24, 12345678))
            if name == "stride_c":
                shape[name] = max(shape[name], 0)
    return {n: shape[n] for n in names}


def generate(folder, words, family):
    os.makedirs(folder)
    done = subprocess.run(
        [os.path.join(BUILD, "kilnc"), "generate", family, *words, "-o",
         folder + "/k.co", "--header", folder + "/k.h", "--launch",
         folder + "/k.json", "--json", folder + "/all.json"],
        check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    if done.returncode == 3:
        return None
    if done.returncode:
        raise AssertionError("%s\n%s" % (" ".join(words), done.stdout))
    return re.search(r"^config +(.*)$", done.stdout, re.M).group(1)


def compile_header(folder):
    with open(folder + "/w.c", "w", encoding="ascii") as f:
        f.write(WRAPPER)
    subprocess.run(["gcc", "-std=c11", *STRICT, "-shared", "-fPIC", "-o",
                    folder + "/w.so", folder + "/w.c"], check=True)
    if shutil.which("clang++-22"):
        subprocess.run(["clang++-22", "-x", "c++", "-nostdinc++", "-std=c++11",
                        *STRICT, "-fsyntax-only", folder + "/w.c"], check=True)
    plan = C.CDLL(folder + "/w.so").plan
    plan.restype = C.c_char_p
    return plan


def of_header(plan, launch, shape):
    sizes = (C.c_int64 * len(shape))(*shape.values())
    args = C.create_string_buffer(256)
    out = (C.c_uint64 * 3)()
    why = plan(sizes, args, out)
    if why:
        return None
    return (args.raw[:launch["kernarg_size"]], out[0], out[1], out[2])


def evaluate(text, names):
    """C's integer arithmetic of numbers that are not negative."""
    code = text.replace("/", "//").replace("&&", " and ").replace(
        "||", " or ")
    return int(eval(code, {"__builtins__": {}}, names))  # pylint: disable=W0123


def of_json(launch, shape):
    names = dict(shape, up=lambda n, d: -(-n // d),
                 when=lambda c, v: v if c else 0, least=min, most=max)
    for name, text in launch["let"].items():
        names[name] = evaluate(text, names)
    if not all(evaluate(r["holds"], names) for r in launch["domain"]):
        return None
    raw = bytearray(launch["kernarg_size"])
    for a in launch["arguments"]:
        at = a["offset"]
        if a["type"] == "f32":
            raw[at:at + 4] = b"\0\0\x80\x3f"
        elif a["type"] != "pointer":
            value = evaluate(a["value"], names)
            if value > a["max"]:
                return None
            size = 8 if a["type"] == "i64" else 4
            raw[at:at + size] = value.to_bytes(size, "little")
    return (bytes(raw), evaluate(launch["grid"], names), launch["block"],
            evaluate(launch["workspace"], names))


def of_library(kernel, launch, fields, shape):
    """kiln_make_plan's; a group table of the host's is not the kernel's."""
    shape = {"round_seed" if n == "seed" else n: v for n, v in shape.items()}
    p = kiln.Problem(**fields, **shape)
    try:
        plan = kernel.plan(p)
    except kiln.Error as e:
        return None, str(e)
    used = {(q.offset, q.align) for q in plan.pointer[:plan.npointers]}
    if plan.grid[0]:
        known = {(a["offset"], a["align"]) for a in launch["arguments"]
                 if a["type"] == "pointer" and a["used"]}
        if not used <= known:
            return None, "pointers %s, not %s" % (known, used)
    workspace = plan.workspace if not plan.offsets_size else plan.offsets_at
    return (bytes(plan.kernarg[:plan.kernarg_size]), plan.grid[0],
            plan.block[0], workspace), ""


def check_kernel(context, n, rng):
    """None, or what is wrong; or the number of shapes that could launch."""
    family, words, fields = draw_kernel(rng)
    folder = os.path.join(SCRATCH, str(n))
    config = generate(folder, words, family)
    if config is None:
        return 0, None
    with open(folder + "/k.json", encoding="ascii") as f:
        launch = json.load(f)["launch"]
    with open(folder + "/all.json", encoding="ascii") as f:
        if json.load(f)["launch"] != launch:
            return 0, "--json has another launch"
    plan = compile_header(folder)
    sample = dict(fields, m=512, n=512, k=1024)
    if family == "quant":           # one configuration for a shape, or for any
        sample.update(m=0, n=0, k=0)
    sample.update(batch=3 if family == "batched" else 0,
                  groups=4 if "groups" in launch["shape"] else 0,
                  tokens=64 if family == "moe" else 0,
                  topk=2 if family == "moe" else 0)
    kernel = context.compile(kiln.Problem(**sample), config)
    good = 0
    for _ in range(SHAPES):
        shape = draw_shape(rng, family, list(launch["shape"]))
        want, why = of_library(kernel, launch, fields, shape)
        for what, got in (("header", of_header(plan, launch, shape)),
                          ("json", of_json(launch, shape))):
            if got != want:
                return good, "%s: %s\n%s\n%s\n%s\nwant %s %s\ngot  %s" % (
                    what, family, words, config, shape, want, why, got)
        good += want is not None and want[1] > 0
    return good, None


def main():
    rng = random.Random(SEED)
    context = kiln.Context(cache_dir=os.path.join(SCRATCH, "cache"))
    print("1..%d" % (KERNELS + 1))
    launched = made = failed = 0
    for n in range(KERNELS):
        good, wrong = check_kernel(context, n, rng)
        made += good > 0
        launched += good
        failed += wrong is not None
        print("%s %d - seed %d, %d launches" % ("not ok" if wrong else "ok",
                                                n + 1, SEED, good))
        for line in (wrong or "").splitlines():
            print("# " + line)
    enough = made > KERNELS / 2 and launched > 5 * KERNELS
    failed += not enough
    print("%s %d - %d kernels and %d launches were compared" % (
        "ok" if enough else "not ok", KERNELS + 1, made, launched))
    shutil.rmtree(SCRATCH)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
