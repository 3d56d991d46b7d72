"""Command lines of `kilnc run` drawn at random over its flags, moe most of all:
each is right and without a finding, or refused in one sentence.

usage: soak.py KILNC FIRST COUNT     seeds FIRST to FIRST + COUNT - 1
       soak.py KILNC FIRST COUNT --moe ARCH
                                     all of moe, on one target, with epilogues
       soak.py KILNC FIRST COUNT --shard I/N -o FILE
                                     every N-th of them, from I (1 to N) on; a
                                     line a seed in FILE, which a run that was
                                     killed goes on with
       soak.py merge FILE...         what the shards found together
"""
import argparse
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SECONDS = 600
PLAIN = ["f16", "bf16", "fp8", "bf8", "i8", "f32", "f64"]
MX = ["mxfp8", "mxbf8", "mxfp6", "mxbf6", "mxfp4"]


def length(r, most):
    """Beside the edges of tiles more often than elsewhere."""
    if r.random() < 0.3:
        return r.randint(1, 40)
    if r.random() < 0.5:
        return r.randint(1, most)
    return r.choice([32, 64, 128, 256, 512]) + r.randint(-2, 2)


def whole(r, most, unit):
    """A multiple of `unit`, most of the time."""
    n = length(r, most)
    return n if r.random() < 0.15 else -(-n // unit) * unit


def types(r):
    """Mostly alike; otherwise a pair that has an instruction, or may not."""
    a = r.choice(PLAIN + MX)
    if r.random() < 0.8:
        return a, a
    if a in ("f16", "bf16"):
        return a, r.choice(["fp8", "i8", "bf8", "mxfp4", "mxfp8", "i4", "nvfp4"])
    return a, r.choice(MX if a in MX else ["fp8", "bf8"])


def some(r, odds, *flags):
    """One of the flags, each a list of words, with these odds."""
    return r.choice(flags) if r.random() < odds else []


def moe(r):
    a, b = types(r)
    if a in ("f16", "bf16") and r.random() < 0.2:
        b = "mxfp4"
    experts = r.randint(1, 40)
    topk = r.randint(1, min(experts, 9))
    unit = r.choice([16, 32, 128, 256])
    words = ["moe", "--hidden", whole(r, 700, unit), "--inter",
             whole(r, 400, unit), "--experts", experts, "--topk",
             topk, "--tokens", length(r, 90)]
    words += ["--a", a] + (["--b", b] if b != a else [])
    words += some(r, 0.7, ["--stage", "gemm1"], ["--stage", "gemm2"])
    words += some(r, 0.4, ["--block-m", r.choice([16, 32, 64, 128, 256])])
    if b == "mxfp4" and a not in MX:
        words += some(r, 0.3, ["--quant", r.choice(["even", "ceil"])])
    if "gemm2" in words and a not in MX:
        words += some(r, 0.4, ["--reduce", "atomic"], ["--reduce", "ordered"])
    words += some(r, 0.3, ["--act", "swiglu"], ["--act", "limited"],
                  ["--act", "gelu_tanh"])
    words += some(r, 0.3, ["--ids", "plain"])
    words += some(r, 0.3, ["--weight", r.choice(["before", "none", "after"])])
    words += some(r, 0.3, ["--routing", "extreme:%d" % r.randint(topk, experts)])
    if a in ("mxfp4", "mxfp8"):
        words += some(r, 0.3, ["--requant", r.choice(["floor", "ceil"])])
    if "gemm1" in words and r.random() < 0.25:
        scale = r.choice(["row", "block128"])
        words += ["--out", r.choice(["fp8", "bf8", "i8"]), "--out-scale", scale]
        if scale == "block128":
            words[words.index("--inter") + 1] = 128 * r.randint(1, 3)
    words += some(r, 0.2, ["--nt-b", 1])
    words += some(r, 0.1, ["--early", r.choice(["ids", "copy", "both"])])
    return words


def expression(r, down, plain):
    """Up to four arrays and two scalars, each joined to what is there. plain: rows are
    written once, so that c and aux may be named; a second output is not asked for."""
    text = "acc" if down else r.choice(["silu(gate)*up", "gate+up", "swiglu_oss(gate,up)"])
    words, first = [], text
    if r.random() < 0.3:
        text = "%s+bias" % text if down else "(%s)*gate_bias-up_bias" % text
    if plain and r.random() < 0.3:
        text = r.choice(["(%s)+c", "max(%s,c)"]) % text
    for name in "pqrs"[:r.randint(0, 4)]:
        words += [r.choice(["--row", "--row", "--col", "--tensor"]), name]
        text = r.choice(["(%s)+%s", "%s*%s", "max(%s,%s*2)"]) % (text, name)
    for name in "xy"[:r.randint(0, 2)]:
        words += ["--scalar", name + "=0.5"]
        text = "(%s)*%s" % (text, name)
    if plain and down and r.random() < 0.3:
        return words + ["--epilogue", "aux:%s,gelu(aux)" % text, "--out2", "f32"]
    if plain and not down and r.random() < 0.3:
        text = re.sub(r"\b(gate|up)\b", r"aux_\1", text)
        return words + ["--epilogue", "aux:gate*2,up+1," + text, "--out2", "bf16"]
    return words + ["--epilogue", "gelu" if down and text == first else text]


def beside(r, words):
    """What moe does with its sums besides; an expression is the activation."""
    more = some(r, 0.3, ["--round", "stochastic", "--round-seed", r.randint(0, 2**63)])
    if "--stage" in words:
        more += some(r, 0.3, ["--amax"])
        more += some(r, 0.3, ["--out2", r.choice(["bf16", "f16", "f32"])])
    more += some(r, 0.2, ["--beta", 1]) if "gemm1" not in words else []
    if r.random() < 0.2:
        return more + ["--epilogue", "bias"]
    if r.random() < 0.2:
        return more
    if "--act" in words:
        del words[words.index("--act"):words.index("--act") + 2]
    plain = "atomic" not in words and "--stage" in words and "--out" not in words and \
        "--out2" not in more
    return more + expression(r, "gemm2" in words, plain)


def groups(r):
    n = r.randint(1, 9)
    lens = [0 if r.random() < 0.2 else length(r, 200) for _ in range(n)]
    return some(r, 0.6, ["--group-lens", ",".join(map(str, lens))]) or \
        ["--groups", n, "--tokens", length(r, 150), "--routing",
         r.choice(["balanced", "mild", "extreme:2"])]


def product(r):
    family = r.choice(["gemm", "gemm", "batched", "grouped", "wgrad"])
    a, b = types(r)
    words = [family, "--a", a] + (["--b", b] if b != a else [])
    words += ["-n", whole(r, 600, 4)]
    if family in ("grouped", "wgrad"):
        words += groups(r)
        words += ["-m" if family == "wgrad" else "-k", whole(r, 900, 32)]
        words += some(r, 0.3, ["--group-table",
                               r.choice(["lens", "ends32", "host"])])
        words += some(r, 0.2, ["--tight-table"])
    else:
        words += ["-m", length(r, 500), "-k", whole(r, 1500, 32)]
        words += ["--batch", r.randint(1, 4)] if family == "batched" else []
    if family == "wgrad":
        words += ["--layout", "nt" if a in MX else "tn"]
    elif a not in MX:
        words += some(r, 0.4, ["--layout", r.choice(["nn", "tn"])])
    outs = ["f64", "f32"] if a == "f64" else ["f16", "bf16", "f32"]
    words += some(r, 0.3, ["--out", r.choice(outs)])
    words += some(r, 0.2, ["--epilogue", r.choice(
        ["bias", "relu(acc + bias)", "gelu", "silu(acc)", "sigmoid(acc)"])])
    words += some(r, 0.2, ["--beta", 1]) + some(r, 0.2, ["--alpha", "0.25"])
    return words


def configuration(r, moe_too):
    words = some(r, 0.15, ["--schedule", r.choice(
        ["simple", "interleave", "8-wave", "4-wave", "direct", "unrolled"])])
    words += some(r, 0.1, ["--lowering", r.choice(["llvm", "asm"])])
    if not moe_too:
        words += some(r, 0.15, ["--split-k", r.randint(2, 5)])
    words += some(r, 0.1, ["--cus", r.randint(1, 12)])
    words += some(r, 0.1, ["--store", r.choice(["lds", "direct"])])
    words += some(r, 0.1, ["--xcd", r.choice([1, 4, 8])])
    return words


def stored(r, words, arch):
    """Scales and layouts, mostly where there are some."""
    a, odds = words[words.index("--a") + 1], 0.02
    if "i4" in words:
        return ["--scale", r.choice(["group32", "group64", "group128"])] + \
            some(r, 0.6, ["--scale-type", r.choice(["f16", "bf16"])]) + \
            some(r, 0.6, ["--zero-points", r.choice(["i4", "i4", "f16"])]) + \
            some(r, 0.5, ["--b-layout", r.choice(["awq", "gptq", "gptq-v2"])]) + \
            some(r, 0.4, ["--scale-layout", "transposed"])
    if a == "f32":
        return some(r, 0.6, ["--math", r.choice(["xf32", "bf16x3"])])
    if a in ("fp8", "bf8", "i8") and "--b" not in words:
        odds = 0.5
    scales = some(r, odds, ["--scale", r.choice(
        ["row", "tensor"] + ([] if a == "i8" else ["block128"]))])
    if "block128" in scales and "gemm1" in words:
        return scales + some(r, 0.5, ["--scale-layout", "transposed"])
    odds = 0.4 if a in MX and arch == "gfx950" and "--layout" not in words else 0.02
    return scales + some(r, odds, ["--scale-layout", "shuffled"]) + \
        some(r, 0.2 if arch == "gfx950" else 0.05,
             ["--b-layout", "preshuffled"])


def line(seed, arch=None):
    """arch: of moe, on this target, with an epilogue."""
    r = random.Random(seed)
    only, arch = arch, arch or r.choice(["gfx942", "gfx950"])
    words = (moe if only or r.random() < 0.6 else product)(r)
    if only or (words[0] == "moe" and seed % 2):
        words += beside(random.Random(seed + 2 ** 32), words)
    words += stored(r, words, arch) + configuration(r, words[0] == "moe")
    words += some(r, 0.4, ["--order", r.choice(["earliest", "random"])])
    words += some(r, 0.4, ["--waves", "4x1"] if r.random() < 0.1 else
                  ["--mfma", r.choice(["cdna3", "fused", "chain"])])
    words += some(r, 0.3, ["--data", "exact"])
    words += ["--arch", arch, "--seed", seed, "--order-seed", seed]
    return [str(w) for w in words]


def wrong_with(kilnc, words):
    """None: right. A sentence: it is not. '': refused, in one sentence."""
    p = subprocess.run([kilnc, "run"] + words, capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=SECONDS)
    if p.returncode == 0:
        return None if "check     ok" in p.stdout else "no check"
    told = p.stderr.strip()
    if p.returncode in (2, 3) and len(told.splitlines()) == 1:
        return ""
    return "exit %d\n%s%s" % (p.returncode, p.stdout, p.stderr)


ran = []


def case(kilnc, seed, arch):
    def one():
        words = line(seed, arch)
        why = wrong_with(kilnc, words)
        ran.append(why is None)
        return ("kilnc run %s\n%s" % (" ".join(words), why)) if why else None
    one.__name__ = "seed %d" % seed
    return one


def most_ran():
    print("# %d of %d ran" % (sum(ran), len(ran)))
    return None if 2 * sum(ran) >= len(ran) else "too few"


# ---- shards ------------------------------------------------------------------

WORDS = {None: "right", "": "refused"}


def seen_in(path):
    """Verdicts by seed; a last line that was cut off does not count."""
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        lines = [text.split(None, 2) for text in f if text.endswith("\n")]
    return {int(words[0]): words[1] for words in lines}


def shard(o):
    of, many = map(int, o.shard.split("/"))
    seen = seen_in(o.output)
    if os.path.exists(o.output):         # without what a kill cut off
        with open(o.output) as f:
            whole_lines = f.read().rpartition("\n")
        with open(o.output, "w") as f:
            f.write("".join(whole_lines[:2]))
    with open(o.output, "a") as f:
        for seed in range(o.first + of - 1, o.first + o.count, many):
            if seed in seen:
                continue
            words = line(seed)
            why = wrong_with(o.kilnc, words)
            f.write("%d %s kilnc run %s\n" % (
                seed, WORDS.get(why, "wrong"), " ".join(words)))
            f.flush()
            if why:
                print("seed %d: %s" % (seed, why), flush=True)
    return merge([o.output])


def merge(paths):
    every, double = {}, 0
    for path in paths:
        seen = seen_in(path)
        double += len(every.keys() & seen.keys())
        every.update(seen)
    count = {word: sum(v == word for v in every.values())
             for word in ("right", "refused", "wrong")}
    print("%d seeds: %d right, %d refused, %d wrong, %d twice" % (
        len(every), count["right"], count["refused"], count["wrong"], double))
    return bool(count["wrong"])


def main():
    if sys.argv[1:2] == ["merge"]:
        return merge(sys.argv[2:])
    p = argparse.ArgumentParser()
    p.add_argument("kilnc")
    p.add_argument("first", type=int)
    p.add_argument("count", type=int)
    p.add_argument("--shard")
    p.add_argument("--moe", metavar="ARCH")
    p.add_argument("-o", dest="output")
    o = p.parse_args()
    if o.shard:
        return shard(o)
    return tap.main([case(o.kilnc, o.first + i, o.moe) for i in range(o.count)] +
                    [most_ran])


if __name__ == "__main__":
    sys.exit(main())
