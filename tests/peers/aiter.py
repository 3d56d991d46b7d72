"""AMD's own GEMM code objects on the simulator, against numpy in f64.

usage: aiter.py KILNC FOLDER [--order latest|earliest|random]
                [--waves adversarial|rr|random] [--only TEXT] [--out DIR]
                [--markdown] [--kiln]

FOLDER is the `hsa` folder of a checkout of ROCm/aiter, which ships its
assembly GEMMs as objects only. Each kernel gets an odd M, a kernarg segment
laid out as the launch code in csrc/py_itfs_cu/asm_gemm_*.cu does, buffers of
exactly the size it may touch, and operands whose result is exact in f32 under
any order of summation, so every element of the output must be the f64 result
rounded once to the output type.

With --kiln, kiln's object of the same tile (`generate --abi aiter`) is launched
beside each with the same kernarg bytes, grid and operands, whose results need no
rounding at all, and has to store the same bytes; where a loader divides K, once
more with K divided: into D that it has zeroed, or (bf16gemm) that the kernel does.

Exit 1 if an element is wrong, a byte differs, or a finding is reported that
KNOWN does not explain. docs/sim.md and docs/aiter.md have the outcome.
"""
import argparse
import collections
import csv
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

import fmoe

SLOT = 16                    # every argument is padded to 16 bytes
KERNARG = 512
POISON = 0xFF                # bytes no kernel may use

# Findings that these objects earn: the end of the sentence, the objects, and
# whether the race can change the result in some order of the waves.
KNOWN = (
    ("M0 read by a copy to LDS after 0 wait states", "", False),
    ("SGPR written by VALU read by VALU after 1 wait states",
     "_bshuffle_splitk", False),
    ("reads MFMA result after", "blockscale", False),
    ("no barrier between", "I8gemm_bf16_perTokenI8_BpreShuffle_112x256", True),
    ("its read may not have happened yet",
     "I8gemm_bf16_perTokenI8_BpreShuffle_112x256", True),
    ("has not waited for lgkmcnt before a barrier",
     "I8gemm_bf16_perTokenI8_BpreShuffle_112x256", True),
    ("no barrier between", "Fp4_BpreShuffle_", False),
    ("its read may not have happened yet", "Fp4_BpreShuffle_", False),
)


# ---- number formats

def bf16(values):
    """Round to nearest even, as uint16."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bf16_cut(values):
    """The upper half of the f32: what v_perm_b32 0x07060302 stores."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return (bits >> 16).astype(np.uint16)


def fp8_values(arch):
    """Value of each e4m3 code: FNUZ on gfx942, OCP on gfx950."""
    code = np.arange(256)
    exponent, mantissa = code >> 3 & 15, code & 7
    bias = 8 if arch == "gfx942" else 7
    normal = (1 + mantissa / 8) * 2.0 ** (exponent - bias)
    value = np.where(exponent, normal, mantissa / 8 * 2.0 ** (1 - bias))
    return np.where(code & 128, -value, value)


FP4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])


def fp8(values, arch):
    """Codes of small integers, never the code of -0 (FNUZ: NaN)."""
    order = np.argsort(fp8_values(arch)[:127])
    known = fp8_values(arch)[:127][order]
    code = order[np.searchsorted(known, np.abs(values))]
    return (code | np.where(values < 0, 128, 0)).astype(np.uint8)


# ---- layouts

def shuffle_rows(x, rows, width):
    """Panels of `rows` rows, inside them runs of 16 bytes: the layout the
    weights of these kernels come in. `width` is the bytes of two runs."""
    n, k = x.shape
    run = 16 // x.itemsize
    x = x.reshape(n // rows, rows, k // (width // x.itemsize),
                  width // 16, run)
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1, 4)).reshape(n, k)


def shuffle_scale(s):
    """E8M0 scales: rows padded to 256, blocks to 8, in groups of 32 x 8."""
    m, n = s.shape
    padded = np.full((-m % 256 + m, -n % 8 + n), POISON, np.uint8)
    padded[:m, :n] = s
    m, n = padded.shape
    padded = padded.reshape(m // 32, 2, 16, n // 8, 2, 4)
    return np.ascontiguousarray(padded.transpose(0, 3, 5, 2, 4, 1))


# ---- one launch

class Launch:
    """A kernel with its operands; `want` is the exact result."""

    def __init__(self, row, m, n, k):
        self.row, self.m, self.n, self.k = row, m, n, k
        self.slots, self.pointers, self.round = {}, {}, bf16
        self.rows = m        # of the output buffer
        self.zeroed = False  # by the loader, for sums of shares of K
        self.slack = 0       # of what a function rounds, relative
        self.coded = None    # D is codes and scales: which are right
        self.wide = False    # D is f32

    def value(self, slot, form, number):
        self.slots[slot] = struct.pack("<" + form, number)

    def buffer(self, slot, array, kind="in"):
        self.pointers[slot] = (kind, np.ascontiguousarray(array))

    def output(self, slot, size):
        self.pointers[slot] = ("out", size)

    def kernarg(self):
        """Longer than any of these kernels reads; the rest is zero."""
        data = bytearray(KERNARG)
        for slot, packed in self.slots.items():
            data[slot * SLOT:slot * SLOT + len(packed)] = packed
        return bytes(data)


def integers(rng, rows, k, limit):
    return rng.integers(-limit, limit + 1, (rows, k)).astype(np.float64)


def thin(x, split):
    """Few enough terms that sums of shares, too, need no rounding to bf16."""
    if split > 1:
        x[:, np.arange(x.shape[1]) % 4 != 0] = 0
    return x


def launch_bf16(row, arch, rng, small=False):
    split = row.get("shares", 3 if row["splitK"] else 1)
    m, n = row["tile_m"] * 2 - 5, row["tile_n"] * 2
    j = Launch(row, m, n, 576 if split > 1 else 512)
    # Partial sums of a split are added in bf16: few bits, never a rounding.
    a, b = (thin(integers(rng, rows, j.k, 1), split if small else 1)
            for rows in (m, n))
    bias = rng.integers(-8, 9, n).astype(np.float64)
    bits = bf16(b)
    if row["preshuffle"]:
        bits = shuffle_rows(bits, 16, 64)
    j.buffer(2, bf16(a))
    j.buffer(3, bits)
    j.value(4, "f", 1.0)
    for slot, number in ((6, n * 2), (8, n * 2), (10, j.k * 2), (12, j.k * 2),
                         (14, m), (15, n), (16, j.k), (17, split), (18, 1),
                         (20, row["bias"])):
        j.value(slot, "I", number)
    if row["bias"]:
        j.buffer(19, bf16(bias))
    if split > 1:                     # a counter a tile, zero again behind it
        j.buffer(21, np.zeros(1024, np.uint32), "inout")
    j.output(0, m * n * 2)            # not zeroed
    j.grid = (-(-n // row["tile_n"]), -(-m // row["tile_m"]), split)
    j.want = a @ b.T + (bias if row["bias"] else 0)
    return j


def launch_f4(row, arch, rng, small=False):
    m, n, k = row["tile_m"] * 2 - 5, row["tile_n"] * 2, 1024
    j = Launch(row, m, n, k)
    split = row.get("shares", 1)      # a power of two
    codes = [rng.integers(0, 16, (rows, k)) for rows in (m, n)]
    if split > 1:                     # 0, 1, 2 and their negatives
        codes = [c & 12 for c in codes]
    scales = [rng.integers(126, 129, (rows, k // 32)) for rows in (m, n)]
    if split > 1:
        scales = [s // 64 + 125 for s in scales]
    values = [FP4[c] * 2.0 ** np.repeat(s - 127, 32, axis=1)
              for c, s in zip(codes, scales)]
    packed = [(c[:, ::2] | c[:, 1::2] << 4).astype(np.uint8) for c in codes]
    if row["preshuffle"]:
        packed[1] = shuffle_rows(packed[1], 16, 32)
    j.buffer(2, packed[0])
    j.buffer(3, packed[1])
    j.value(4, "f", 1.0)
    for slot, number in ((8, n), (10, k), (12, k), (14, m), (15, n), (16, k),
                         (19, -(-k // 256) * 8), (21, -(-k // 256) * 8),
                         (23, split.bit_length() - 1)):
        j.value(slot, "I", number)
    j.buffer(17, shuffle_scale(scales[0]))
    j.buffer(18, shuffle_scale(scales[1]))
    # Without preshuffle no range ends D: the launch code gives it rows up to
    # a multiple of 32, and they are written.
    j.rows = m if row["preshuffle"] else m + -m % 32
    j.output(0, j.rows * n * 2)
    share = -(-(k // split) // 256) * 256
    j.grid = (-(-n // row["tile_n"]), -(-m // row["tile_m"]), -(-k // share))
    j.zeroed = split > 1
    j.want = values[0] @ values[1].T
    return j


def launch_i8(row, arch, rng, small=False):
    split = row.get("shares", 1)
    m, n, k = row["tile_m"] * 2 - 5, row["tile_n"] * 2, 512 if split < 2 else 896
    j = Launch(row, m, n, k)
    a, b = (thin(integers(rng, rows, k, 1 if small else 8), split)
            for rows in (m, n))
    sa, sb = (2.0 ** rng.integers(0 if small else -3, 2, rows)
              for rows in (m, n))
    bias = rng.integers(-8, 9, n).astype(np.float64)
    lda = k + 128            # rows of A further apart than K
    padded = np.full((m, lda), POISON, np.uint8)
    padded[:, :k] = a.astype(np.int8).view(np.uint8)
    j.buffer(1, padded)
    b = b.astype(np.int8)
    j.buffer(2, shuffle_rows(b, 16, 32) if row["preshuffle"] else b)
    j.buffer(3, sa.astype(np.float32))
    j.buffer(4, sb.astype(np.float32))
    j.buffer(5, bias.astype(np.float32))
    for slot, number in ((6, m), (7, n), (8, k), (9, lda), (10, k),
                         (11, n * 2), (12, split)):
        j.value(slot, "I", number)
    j.output(0, m * n * 2)
    j.grid = (n // row["tile_n"] * split, -(-m // row["tile_m"]), 1)
    j.zeroed = split > 1
    j.round = bf16_cut
    j.want = (a @ b.T.astype(np.float64)) * sa[:, None] * sb + bias
    return j


def launch_fp8(row, arch, rng, small=False):
    split = row.get("shares", 1)
    m, n, k = row["tile_m"] * 2 - 5, row["tile_n"] * 2, 512 if split < 2 else 896
    j = Launch(row, m, n, k)
    a, b = (thin(integers(rng, rows, k, 1 if small else 4), split)
            for rows in (m, n))
    sa = 2.0 ** rng.integers(-1, 1 if small else 2, (m, k // 128))
    sb = 2.0 ** rng.integers(-1, 1 if small else 2, (n // 128, k // 128))
    j.buffer(1, fp8(a, arch))
    codes = fp8(b, arch)
    j.buffer(2, shuffle_rows(codes, 16, 32) if row["preshuffle"] else codes)
    j.buffer(3, sa.T.astype(np.float32))
    j.buffer(4, sb.astype(np.float32))
    j.buffer(5, np.zeros(n, np.float32))
    for slot, number in ((6, m), (7, n), (8, k), (9, k), (10, k), (11, n * 2),
                         (12, split), (13, m), (14, n // 128), (15, k // 128)):
        j.value(slot, "I", number)
    j.output(0, m * n * 2)
    j.grid = (n // row["tile_n"] * split, -(-m // row["tile_m"]), 1)
    j.zeroed = split > 1
    j.round = bf16_cut
    wide = np.repeat(np.repeat(sb, 128, axis=0), 128, axis=1)
    j.want = (a * np.repeat(sa, 128, axis=1)) @ (b * wide).T
    return j


def pack(integer, arch):
    """Integers of A and of B, [experts, rows, K], as the loader of moe has them."""
    def codes(a, b):
        of = (lambda x: x.astype(np.int8)) if integer else \
            (lambda x: fp8(x, arch))
        return of(a), shuffle_rows(of(b.reshape(-1, b.shape[-1])), 16, 32)
    return codes


def launch_moe(row, arch, rng, small=False):
    size = row.get("size") or fmoe.Size(37, 2, 4, row["tile_n"] * 2, 512)
    if row["block"]:
        return fmoe.launch_block(Launch(row, 0, 0, 0), rng, size,
                                 pack(False, arch), fp8_values(arch), arch)
    return fmoe.launch(Launch(row, 0, 0, 0), rng, size,
                       pack(row["integer"], arch))


FAMILIES = {                 # folder and more: (table of kernels, launch)
    "bf16gemm": ("bf16gemm_fp32bf16.csv", launch_bf16),
    "f4gemm": ("f4gemm_bf16_per1x32Fp4.csv", launch_f4),
    "i8gemm": ("i8gemm_bf16_perTokenI8.csv", launch_i8),
    "fp8gemm_blockscale": ("fp8gemm_bf16_blockscale.csv", launch_fp8),
    "fmoe_2stages fp8": ("fmoe_stage1_bf16_pertokenFp8_g1u1.csv", launch_moe),
    "fmoe_2stages fp8 weighed":
        ("fmoe_stage1_bf16_pertokenFp8_doweight_g1u1.csv", launch_moe),
    "fmoe_2stages i8": ("fmoe_stage1_bf16_pertokenInt8_g1u1.csv", launch_moe),
    "fmoe_2stages fp8 block":
        ("fmoe_stage1_bf16_pertokenFp8_blockscale_g1u1.csv", launch_moe),
}


def kernels(folder, arch, family):
    """The rows of a kernel table under one set of names."""
    where = os.path.join(folder, arch, family.split()[0])
    path = os.path.join(where, FAMILIES[family][0])
    if not os.path.exists(path):
        return
    with open(path, newline="") as f:
        for r in csv.DictReader(f):
            low = {key.lower().replace("_", ""): v for key, v in r.items()}
            yield {"kernel": low["knlname"],
                   "file": os.path.join(where, low["coname"]),
                   "tile_m": int(low["tilem"]), "tile_n": int(low["tilen"]),
                   "splitK": int(low.get("splitk", 0)),
                   "preshuffle": int(low.get("bpreshuffle", 1)),
                   "weighed": "weighed" in family, "integer": "i8" in family,
                   "block": "block" in family,
                   "bias": int(low.get("bias", 0))}


def simulate(kilnc, j, orders, where):
    """Runs it; (report of kilnc, output bytes)."""
    def path(name):
        return os.path.join(where, name)

    with open(path("kernarg"), "wb") as f:
        f.write(j.kernarg())
    words = [kilnc, "exec", j.row["file"], "--kernel", j.row["kernel"],
             "--grid", ",".join(map(str, j.grid)), "--block", "256",
             "--kernarg", path("kernarg"), "--json", path("report"), *orders]
    for slot, (kind, what) in j.pointers.items():
        name = path("buffer%d" % slot)
        if kind == "out":
            np.full(what, 0 if j.zeroed else POISON, np.uint8).tofile(name)
            text = "inout:%s:%s" % (name, path("result"))
        elif kind == "inout":
            what.tofile(name)
            text = "inout:%s:%s" % (name, path("counters"))
        else:
            what.tofile(name)
            text = "%s:%s" % (kind, name)
        words += ["--ptr", "%d=%s" % (slot * SLOT, text)]
    for stale in ("report", "result"):
        if os.path.exists(path(stale)):
            os.remove(path(stale))
    done = subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode > 1 or done.returncode < 0:
        return {"error": done.stderr.strip() or str(done.returncode)}, None
    with open(path("report")) as f:
        report = json.load(f)
    if any(kind == "inout" for kind, _ in j.pointers.values()) and \
            np.fromfile(path("counters"), np.uint32).any():
        return {"error": "its counters are not zero again"}, None
    return report, np.fromfile(path("result"), np.uint16)


# ---- kiln's own object for the same launch

PRODUCTS = {                 # folder: (flags of the product, K of a tile)
    "bf16gemm": ("--a bf16 --b bf16 --out bf16", 64),
    "f4gemm": ("--a mxfp4 --b mxfp4 --out bf16 --scale-layout shuffled", 256),
    "i8gemm": ("--a i8 --b i8 --out bf16 --scale row --epilogue bias", 128),
    "fp8gemm_blockscale": ("--a fp8 --b fp8 --out bf16 --scale block128 "
                           "--scale-layout transposed --epilogue bias", 128),
    "fmoe_2stages fp8": ("--a fp8 --b fp8 --scale row --weight none", 128),
    "fmoe_2stages fp8 weighed": ("--a fp8 --b fp8 --scale row --weight before",
                                 128),
    "fmoe_2stages i8": ("--a i8 --b i8 --scale row --weight none", 128),
    "fmoe_2stages fp8 block": ("--a fp8 --b fp8 --scale block128 --scale-layout "
                               "transposed --out fp8 --out-scale block128 "
                               "--weight none", 128),
}


def of_moe(row):
    """A tile of the loader's has as many columns of up as of gate; the sizes are
    not the launch's."""
    return ["moe", "--stage", "gemm1", "--hidden", "640", "--inter", "512",
            "--experts", "3", "--topk", "2", "--tokens", "9", "--b-layout",
            "preshuffled-halves", "--block-m", str(row["tile_m"]),
            "--tile", "%dx%dx128" % (row["tile_m"], row["tile_n"] * 2)]


def of_gemm(row, bk):
    return ["gemm", "--tile", "%dx%dx%d" % (row["tile_m"], row["tile_n"], bk),
            "--b-layout", "preshuffled" if row["preshuffle"] else "plain",
            "--split-k", str(row.get("shares", 1))]


def generate(kilnc, arch, family, row, where):
    """(kiln's row of the same tile, refusal): one of them is None."""
    flags, bk = PRODUCTS[family]
    path, report = os.path.join(where, "own.co"), os.path.join(where, "own")
    words = [kilnc, "generate",
             *(of_moe(row) if "fmoe" in family else of_gemm(row, bk)),
             "--abi", "aiter", "--arch", arch, *flags.split(), "-o", path,
             "--json", report]
    why = ""
    for waves in ((), ("--waves", "1x4"), ("--waves", "4x1")):
        done = subprocess.run([*words, *waves], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        why = why or done.stderr.split("\n")[0]
        if not done.returncode:
            with open(report) as f:
                name = json.load(f)["kernel"]["name"]
            return dict(row, kernel=name, file=path), None
    return None, why


def compare(o, arch, family, row, orders, where):
    """What came of AMD's object and kiln's in the same launch, and a text."""
    rng = np.random.default_rng(row["tile_m"])
    j = FAMILIES[family][1](dict(row, bias=0), arch, rng, True)
    own, why = generate(o.kilnc, arch, family, row, where)
    if not own:
        return "without a kernel", why
    report, theirs = simulate(o.kilnc, j, orders, where)
    wrong = judge(j, report, theirs)[0]
    j.row = own
    if j.rows != j.m:               # kiln's stores nothing beyond M
        j.output(0, j.m * j.n * 2)
    report, mine = simulate(o.kilnc, j, orders, where)
    ours, found, what, _ = judge(j, report, mine)
    apart = 0
    if j.slack and not ours and not wrong:
        apart = int((theirs != mine).sum())
    return ("different" if ours or found else "theirs wrong" if wrong
            else "rounded apart" if apart else "alike"), \
        "%d elements: AMD's wrong %d, kiln's %d, rounded apart %d, " \
        "findings %d %s" % (j.want.size, wrong, ours, apart, found, what)


def divided(family, row):
    """The launches of a row: of one share, and divided; bf16gemm's loader launches
    those that divide K for nothing else."""
    if "fmoe" in family:
        return [row, dict(row, act=fmoe.GELU)] + \
            ([] if row["block"] else [dict(row, log2=1)])
    many = {"f4gemm": 4}.get(family, 3)
    once = [row] if family != "bf16gemm" or not row["splitK"] else []
    return once + ([dict(row, shares=many)] if row["splitK"] else [])


def side_by_side(o, orders, where):
    total = collections.Counter()
    for arch in ("gfx942", "gfx950"):
        for family in FAMILIES:
            counts = collections.Counter()
            for row in kernels(o.folder, arch, family):
                name = os.path.basename(row["file"])[:-3]
                if o.only not in "/".join((arch, family, name)):
                    continue
                for of in divided(family, row):
                    word, text = compare(o, arch, family, of, orders, where)
                    words = word + " gelu" * ("act" in of) + \
                        " divided" * ("shares" in of or "log2" in of)
                    counts[words] += 1
                    total[word] += 1
                    print("%s %-18s %-52s %s: %s" % (arch, family, name, words,
                                                     text), flush=True)
            if counts:
                print("%s %s:" % (arch, family), dict(counts), flush=True)
    print("all:", dict(total))
    return bool(total["different"] or not total["alike"])


def is_known(name, reason):
    return any(end in reason and part in name for end, part, _ in KNOWN)


def right(j, got):
    """Which elements are."""
    want = j.want.reshape(-1)
    if j.coded:
        return j.coded(got)
    if j.wide:
        return got.view(np.float32) == want.astype(np.float32)
    if j.slack:
        value = (got.astype(np.uint32) << 16).view(np.float32)
        return np.abs(value - want) <= \
            j.slack * np.abs(want) + fmoe.NOTHING
    want, got = j.round(want), got[:want.size]
    return (got == want) | (got & 0x7FFF == 0) & (want & 0x7FFF == 0)


def judge(j, report, got):
    """(elements that are wrong, findings, summary of the findings, is all of
    it explained)"""
    if got is None:
        return j.want.size, 1, report["error"], False
    name = os.path.basename(j.row["file"])
    same = right(j, got)
    reasons = collections.Counter()
    for f in report["findings"]:
        # "instruction: what is wrong after how much"
        advice = "advice: " if f["severity"] == "advice" else ""
        reasons[advice + f["text"].rsplit(": ", 1)[-1]] += f["count"]
    wrong = int((~same).sum())
    racy = any(race and end in reason and part in name
               for end, part, race in KNOWN for reason in reasons)
    fine = (racy or not wrong) and all(is_known(name, r) for r in reasons)
    return wrong, report["simulated"]["findings"], \
        "; ".join("%s (%d)" % r for r in reasons.most_common()), fine


def main():
    p = argparse.ArgumentParser()
    p.add_argument("kilnc")
    p.add_argument("folder")
    p.add_argument("--order", default="latest")
    p.add_argument("--waves", default="adversarial")
    p.add_argument("--only", default="")
    p.add_argument("--out", help="keep the last launch's files here")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("--kiln", action="store_true")
    o = p.parse_args()
    form = "| %s | %s | %s | %dx%dx%d | %d | %d | %s |" if o.markdown else \
        "%s %-18s %-52s %4dx%4dx%4d wrong %d findings %d %s"
    orders = ["--order", o.order, "--waves", o.waves]
    scratch = tempfile.TemporaryDirectory()
    where = o.out or scratch.name
    os.makedirs(where, exist_ok=True)
    if o.kiln:
        return side_by_side(o, orders, where)
    bad = total = right = 0
    for arch in ("gfx942", "gfx950"):
        for family in FAMILIES:
            for row in kernels(o.folder, arch, family):
                name = os.path.basename(row["file"])[:-3]
                if o.only not in "/".join((arch, family, name)):
                    continue
                rng = np.random.default_rng(total)
                j = FAMILIES[family][1](row, arch, rng)
                wrong, found, what, fine = judge(
                    j, *simulate(o.kilnc, j, orders, where))
                print(form % (arch, family, name, j.m, j.n, j.k, wrong, found,
                              what), flush=True)
                total += 1
                right += not wrong
                bad += not fine
    print("%d of %d objects right, %d with something unexplained, %s"
          % (right, total, bad, " ".join(orders)))
    return bool(bad or not total)


if __name__ == "__main__":
    sys.exit(main())
