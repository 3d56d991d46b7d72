"""What is chosen for devices of other compute units than a full chip's, 32 to 304
of them: every family, uneven sizes, more tiles than compute units, all of each
launch. The map is of the device's chiplets, a persistent grid has no more
workgroups than it has compute units, and every element is right.

    devices.py KILNC [SEED]
"""
import json
import random
import subprocess
import sys

DEVICES = ((32, 1), (38, 1), (80, 4), (228, 6), (256, 8), (304, 8))
TYPES = {"gfx942": ("bf16", "fp8", "i8"),
         "gfx950": ("bf16", "fp8", "i8", "mxfp4", "mxfp8")}
TILE = 128 * 128             # the least that is worth a round
WALK = 256 * 256             # a tile of a persistent grid
MOE = "--stage layer --hidden %d --inter %d --experts %d --topk %d --tokens %d"


def uneven(r, low, high, step=1):
    return step * r.randrange(low // step, high // step) + r.choice((0, step))


def lengths(r, total, groups, step):
    """Rows of groups, one of them empty, one of a few, one long."""
    rest = total // step
    parts = [0, 1, rest // 2] + [r.randrange(rest // groups + 1)
                                 for _ in range(groups - 3)]
    r.shuffle(parts)
    return ",".join(str(step * part) for part in parts)


def dense(r, cus, a):
    n = uneven(r, 700, 1500, 4)
    return ["gemm", "--a", a, "-m", str(cus * TILE * 5 // 4 // n), "-n", str(n),
            "-k", str(uneven(r, 64, 200, 32))]


def batched(r, cus, a):
    n, many = uneven(r, 300, 700, 4), r.randrange(2, 6)
    return ["batched", "--a", a, "--batch", str(many), "-m",
            str(cus * TILE * 5 // 4 // n // many), "-n", str(n), "-k",
            str(uneven(r, 64, 160, 32))]


def grouped(r, cus, a):
    n = 256 * r.randrange(4, 9)
    return ["grouped", "--a", a, "--group-lens",
            lengths(r, cus * WALK * 2 // n, 6, 1), "-n", str(n), "-k",
            str(uneven(r, 32, 96, 32))]


def wgrad(r, cus, a):
    n = uneven(r, 300, 600, 4)
    return ["wgrad", "--a", a, "--group-lens", lengths(r, 500, 6, 32), "-m",
            str(4 * (cus * TILE // 4 // n // 5)), "-n", str(n)]


def moe(r, cus, a):
    words = MOE % (uneven(r, 256, 400, 32), uneven(r, 128, 256, 32),
                   r.randrange(5, 12), r.randrange(2, 4), cus // 2 + 13)
    return ["moe", "--a", a] + words.split()


FAMILIES = (dense, batched, grouped, wgrad, moe)


def told(configs, key):
    return [int(word.split("=")[1]) for config in configs
            for word in config.split() if word.startswith(key + "=")]


def stages(report):
    """The configurations of a launch, or of those of moe's layer."""
    found = []
    if isinstance(report, dict):
        found += [report["config"]] if "config" in report else []
        report = list(report.values())
    for item in report if isinstance(report, list) else []:
        found += stages(item)
    return found


def foreign(configs, cus, xcds):
    """Whether they are of no such device; a walk may have four workgroups a unit."""
    return not configs or any(n not in (1, xcds) for n in told(configs, "xcd")) \
        or any(n > cus and (n % cus or n > 4 * cus) for n in told(configs, "cus"))


def check(kilnc, words, cus, xcds):
    """What is wrong, or nothing."""
    done = subprocess.run([kilnc, "run", *words, "--device-cus", str(cus),
                           "--device-xcds", str(xcds), "--json", "-"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode:
        return "exit %d: %s" % (done.returncode, done.stderr.decode()[-300:])
    configs = stages(json.loads(done.stdout))
    if foreign(configs, cus, xcds):
        return "not of the device: %s" % configs
    return ""


def main(kilnc, seed=1):
    r = random.Random(int(seed))
    rows = [(family, device) for device in DEVICES for family in FAMILIES]
    print("1..%d" % (len(rows) + 1))
    full = ["tile=256x256x64 xcd=8 cus=256"]
    found = foreign(full, 32, 8) and foreign(full, 256, 1) and \
        foreign([], 256, 8) and not foreign(full, 256, 8)
    print("%sok 1 - a grid of another device is found" % ("" if found else "not "))
    for number, (family, (cus, xcds)) in enumerate(rows, 2):
        target = r.choice(sorted(TYPES))
        a = r.choice(TYPES[target])
        if family is moe and a == "i8":
            a = "bf16"
        words = family(r, cus, a) + ["--arch", target]
        wrong = check(kilnc, words, cus, xcds)
        print("%sok %d - %d compute units: %s" %
              ("not " if wrong else "", number, cus, " ".join(words)), flush=True)
        if wrong:
            print("# " + wrong)


if __name__ == "__main__":
    main(*sys.argv[1:])
