"""What people mistype: every line is refused with one sentence and exit 2, and
most name what was meant. Then the words of the field that are taken, and the
examples of every --help, run.

usage: mistakes.py KILNC SOURCE BUILD
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

KILNC, SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:4])
SCRATCH = tempfile.mkdtemp(prefix="kiln-mistakes-")
ENV = dict(os.environ, NO_COLOR="1",
           KILNC_CACHE_DIR=os.path.join(SCRATCH, "cache"))
GEMM = "gemm --a bf16 -m 64 -n 64 -k 64"

# (command line, what the answer names; None: nothing is near)
MISTAKES = [
    ("rnu gemm", "run"), ("compile gemm", "generate"), ("disas k.co", "disasm"),
    ("gemm -m 64", "run gemm"), ("frobnicate", None), ("help generat", "generate"),
    ("", None),
    ("run gem -m 64 -n 64 -k 64", "gemm"), ("run", None),
    ("run %s --tile 256,256,64" % GEMM, "256x256x64"),
    ("run %s --tile 256x256" % GEMM, "256x256x64"),
    ("run %s --waves 2,2" % GEMM, "2x2"),
    ("run %s --split-k 17" % GEMM, "16"), ("run %s --splitk 2" % GEMM, "--split-k"),
    ("run gemm -m 4k -n 64 -k 64", "4096"), ("run gemm -m 1e3 -n 8 -k 8", "1000"),
    ("run gemm --M 64 -n 64 -k 64", "-m"), ("run gemm --a fp7", "fp8"),
    ("run gemm --dtype bf16", "--a"), ("run gemm --device mi300x", "sim:mi300x"),
    ("run gemm --device cuda:0", "hip:0"), ("run gemm --wg sample=4", "sample:4"),
    ("run gemm --layout ntt", "nt"), ("run gemm --schedule 8-wafe", "8-wave"),
    ("run grouped --a bf16 -n 64 -k 64 --groups 3 --tokens 9 --routing balancd",
     "balanced"),
    ("run grouped --a bf16 -n 64 -k 64 --group-lens 5:0:17", "5,0,17"),
    ("run grouped --a bf16 --model mixtrall --op gateup.fwd", "mixtral-8x7b"),
    ("run grouped --a bf16 --model grok-2 --op gate.fwd", "gateup.fwd"),
    ("run quant --a bf16 -m 8 -k 8 --daul", "--dual"),
    ("run moe --block-m 24", "16"), ("run gemm --alpha one", None),
    ("generate gemm --target gfx950 -o k.co", "--arch"),
    ("generate gemm --a bf16 --arch gfx90 -o k.co", "gfx950"),
    ("generate gemm --a bf16 --arch gfx950 --output k.co", "-o"),
    ("generate gemm --a bf16 --arch gfx950 --emit ir -o k", "tir"),
    ("generate %s --arch gfx950" % GEMM, None),
    ("exec k.co --grid 4x4 --block 256", "4,4"),
    ("exec k.co --grid 4 --threads 256", "--block"),
    ("exec k.co --grid 4 --block 256 --lds 200000", "163840"),
    ("exec k.co --grid 4 --block 256 --arg float:1", None),
    ("exec k.co --grid 4 --block 256 --order last", "latest"),
    ("info k.co --jsn -", "--json"), ("info k.co --seed 4", None), ("info", None),
    ("info gemm --a bf16 --tiles 64x64x64", "--tile"),
    ("list gemms", "gemm"), ("list gemm --arch mi3000", "gfx942"),
    ("list gemm --layout tnn", "nn"),
    ("check k.co --stric", "--strict"), ("check", None),
    ("check k.co --out f16", None), ("check gemn -m 8 -n 8 -k 8", None),
    ("check gemm -n 64 -k 64 --m-list 1:5", "1,5"),
    ("diff k.co", None), ("diff k.co k.co --format htm", "html"),
    ("diff k.co k.co --html x", "-o"),
    ("time gemm --a bfloat -m 64 -n 64 -k 64 --arch gfx950", "bf16"),
    ("time %s --perfetto t.json" % GEMM, "--trace"),
    ("time %s --arch gfx950 --seed 4" % GEMM, None),
    ("time %s --epilog bias" % GEMM, "--epilogue"),
    ("bench aiter-smalm", "aiter-smallm"), ("bench gemn", "gemm"),
    ("bench list.csv --shard 1:4", "1/4"), ("bench list.csv --csv x", "-o"),
    ("bench gemm --arch gfx9500", "gfx950"), ("compare a.csv", None), ("compare a.csv b.csv --threshold 1.1", "--factor"),
    ("compare a.csv b.csv --factr 1.1", "--factor"),
    ("compare a.csv b.csv --ignore 4", "--ignore-below"),
    ("tune gemm --a bf16 -m 64 -n 64 -k 64 --budget 0", "1"),
    ("tune gemm --trials 4", "--budget"), ("tune wgrat -o t.csv", "wgrad"),
    ("merge -o all.csv", None), ("merge a.csv --output all.csv", "-o"),
    ("merge a.csv -out all.csv", "-o"),
    ("pack list.csv --arch gfx94 -o lib.kpk", "gfx942"),
    ("pack list.csv --extrct x", "--extract"), ("pack list.csv", None),
    ("pack list.csv --shard 1,4 -o lib.kpk", "1/4"),
    ("parity k.co", None), ("parity k.co k.co --data exct", "exact"),
    ("parity k.co k.co --run gemn", "gemm"), ("parity k.co k.co --launchb x", "--launch-b"),
    ("report k.co", None), ("report k.co --html x.html", "-o"),
    ("report gemm --a bf16 --a16 -o x.html", "--a"),
    ("disasm", None), ("disasm k.co --kernal x", "--kernel"),
    ("disasm k.co --symbol x", "--kernel"),
    ("selftest --device gfx950", "sim:gfx950"), ("selftest --gpu 0", "--arch"),
    ("selftest --arch mi355", "gfx950"), ("selftest gemm", None),
    ("generate gemm --arch gfx950 --abi aitr -o k.co", "aiter"),
    ("generate gemm --arch gfx950 --regster t.csv -o k.co", "--register"),
    ("run %s --launch k.launch" % GEMM, None),
    ("tune %s --arch gfx950 -o t.csv --candidate k.co" % GEMM, None),
    ("tune %s --arch gfx950 -o t.csv --candidat k.co:l" % GEMM, "--candidate"),
    ("calibrate", None), ("calibrate hour.jsn", None),
    ("calibrate --jsn hour.json", "--json"),
]

# (command line, what stands at the caret)
CARETS = [
    ("rnu gemm", "rnu"), ("run gemm -m 12x", "x"), ("run gemm -m -5", "-5"),
    ("run gemm -m", ""), ("run gemm -m 4 -m 5", "-m 5"),
    ("run gemm --tile 256x256x", ""), ("run gemm --tile 256x256xy -m 4", "y -m"),
    ("run grouped --group-lens 5,0,x,17 -n 64", "x,17"),
    ("run gemm --scale=rwo -m 4", "rwo"), ("run gemm --waves 2x4x -n 8", " -n 8"),
    ("run gemm --wg 1,b", "b"), ("run gemm --wg sample:0", "0"),
    ("run gemm --scael none", "--scael"), ("run gemm --experts 4", "--experts"),
    ("run %s --epilogue acc++2" % GEMM, "+2"), ("bench a b c d", "c d"),
    ("exec k.co --grid 1 --block 64 --arg i32:z", "i32:z"),
    ("run gemm --device sim:gfx950 --arch gfx942 -m 4", "--arch"),
    ("exec k.co --svg f.svg --grid 1", "--svg"),
]

# (what is typed, a word of the output it means)
TAKEN = [
    ("--a fp16 --b half", "f16 x f16"), ("--a bfloat16 --b BF16", "bf16 x bf16"),
    ("--a e4m3 --b fp8", "fp8 x fp8"), ("--a float8_e4m3fn", "fp8"),
    ("--a float8_e4m3fnuz --arch mi300x", "fp8"), ("--arch MI355X", "gfx950"),
    ("--a bf16 --layout NT", "gemm nt"), ("--a bf16 --layout=TN", "gemm tn"),
    ("--a fp4 --b mxfp4_e2m1", "mxfp4 x mxfp4"), ("--device sim:mi325x", "gfx942"),
    ("--a fp8 --scale per-token", "scale row"),
]


def kilnc(line):
    done = subprocess.run([KILNC, *line.split()], cwd=SCRATCH, env=ENV,
                          text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def judge(line, named):
    """What is wrong with the answer to a line, None if nothing."""
    status, out, err = kilnc(line)
    sentence = err.split("\n", 1)[0]
    if status != 2 or out or not sentence.startswith("kilnc: "):
        return "%s: exit %d, %s" % (line, status, err or out)
    said = re.search(r"did you mean '([^']*)'\?", sentence)
    if (said.group(1) if said else None) != named:
        return "%s: %s" % (line, sentence)
    return None


def mistakes_are_answered():
    return "\n".join(filter(None, (judge(*m) for m in MISTAKES))) or None


def at_caret(line):
    """What the caret of an answer points at, None without one."""
    said = kilnc(line)[2].split("\n")
    if len(said) != 4 or not said[1].startswith("    $ | "):
        return None
    return said[1][said[2].index("^"):] or "the end"


def a_caret_is_under_the_place():
    wrong = [(line, at_caret(line)) for line, place in CARETS
             if not (at_caret(line) or "").startswith(place or "the end")]
    return "%s" % wrong if wrong else None


def what_is_right_has_no_caret():
    lines = ("run " + GEMM, "info none.co", "run gemm -m 64", "")
    wrong = [line for line in lines if at_caret(line)]
    return "%s" % wrong if wrong else None


def the_list_is_long_enough():
    commands = re.findall(r"^  ([a-z]+) ", kilnc("--help")[1], re.M)
    few = [c for c in commands
           if sum(m[0].split()[:1] == [c] for m in MISTAKES) < 3]
    named = sum(m[1] is not None for m in MISTAKES)
    if few or len(MISTAKES) < 60 or named < 45 or len(commands) < 17:
        return "%d, %d named, fewer than three of %s" % (len(MISTAKES), named,
                                                         few)
    return None


def the_judge_fires():
    if judge("run " + GEMM, None) is None or judge("frob", "run") is None:
        return "a line that is right, or an answer without a name, passed"
    return None


def words_of_the_field_are_taken():
    for words, want in TAKEN:
        status, out, err = kilnc("run gemm -m 32 -n 32 -k 64 " + words)
        if status or want not in out.split("\n", 1)[0]:
            return "%s: exit %d %s" % (words, status, err or out)
    return None


def another_targets_word_is_refused():
    for words in ("--a float8_e4m3fnuz", "--a e4m3fn --arch gfx942",
                  "--b float8_e5m2 --device sim:gfx942"):
        status, _, err = kilnc("run gemm -m 32 -n 32 -k 64 " + words)
        if status != 2 or "that word is gfx9" not in err:
            return "%s: exit %d %s" % (words, status, err)
    status, _, err = kilnc("run gemm --arch gfx942 --device sim:gfx950")
    return None if status == 2 and "--device says" in err else err


def help_is_asked_for_in_every_way():
    whole = kilnc("--help")[1]
    for line, same in (("-h", whole), ("help", whole),
                       ("run -h", kilnc("run --help")[1]),
                       ("help run", kilnc("run --help")[1]),
                       ("help run moe", kilnc("run moe --help")[1])):
        if kilnc(line)[:2] != (0, same):
            return line
    if "\n  --hidden" in kilnc("help run")[1] or \
            "\n  --hidden" in kilnc("help run gemm")[1] or \
            "\n  --hidden" not in kilnc("help run moe")[1]:
        return "moe's flags where they do not matter"
    return None


def examples_run():
    shutil.copy(os.path.join(SOURCE, "tests/tool/Inputs/list.csv"), SCRATCH)
    shutil.copy(os.path.join(SOURCE, "tests/tool/Inputs/hour.report"),
                os.path.join(SCRATCH, "hour.json"))
    shutil.copy(os.path.join(SOURCE, "examples/04_mine.tir"),
                os.path.join(SCRATCH, "mine.tir"))
    for name in "ab":
        with open(os.path.join(SCRATCH, name + ".bin"), "wb") as f:
            f.write(bytes(65536))
    for command in re.findall(r"^  ([a-z]+) ", kilnc("--help")[1], re.M):
        text = kilnc("help " + command)[1].partition("\nExamples:\n")[2]
        lines = re.findall(r"^  kilnc (.+)", text, re.M)
        if not lines:
            return "%s has no example" % command
        for line in lines:
            if "hip:0" in line:
                continue                 # no GPU here
            status, out, err = kilnc(line)
            if status != (command in ("diff", "calibrate")):
                return "%s: exit %d\n%s%s" % (line, status, out, err)
    return None


if __name__ == "__main__":
    failed = tap.main([
        mistakes_are_answered, a_caret_is_under_the_place,
        what_is_right_has_no_caret, the_list_is_long_enough, the_judge_fires,
        words_of_the_field_are_taken, another_targets_word_is_refused,
        help_is_asked_for_in_every_way, examples_run,
    ])
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
