"""What the built objects hold: no mutable data, only kiln_ names exported,
no LLVM behind libkiln.

usage: objects.py CC SCRATCH LIBKILN LIBKILN_CG ARCHIVE...
"""
import os
import re
import subprocess
import sys

# The flag of LLVM's one-time initialisation, the lock around comgr's actions.
ALLOWED = re.compile(r"^(once|action_lock)(\.\d+)?$")
# objdump -t: value flags section size name, the flag field is 7 wide.
ROW = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\s+([0-9a-f]+)\s+(.*)$")


def output(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def mutable(path):
    """Objects in .data or .bss (.data.rel.ro is constant after loading)."""
    found = []
    for line in output("objdump", "-t", path).splitlines():
        m = ROW.match(line)
        if not m or "O" not in m.group(1):
            continue
        section, name = m.group(2), m.group(4)
        if not re.match(r"\.(data|bss|tdata|tbss)(\.|$)|\*COM\*", section):
            continue
        if section.startswith(".data.rel.ro") or not int(m.group(3), 16):
            continue
        if not ALLOWED.match(name):
            found.append("%s: %s in %s" % (os.path.basename(path), name,
                                           section))
    return found


def foreign_exports(path):
    names = [line.split()[-1].split("@")[0] for line in
             output("nm", "-D", "--defined-only", path).splitlines()]
    if not names:
        return ["%s exports nothing" % os.path.basename(path)]
    return [n for n in names if not n.startswith("kiln_")]


def needs_llvm(path):
    return [line for line in output("readelf", "-d", path).splitlines()
            if "NEEDED" in line and "LLVM" in line]


def build(cc, scratch, name, text, flags):
    source = os.path.join(scratch, name + ".c")
    target = os.path.join(scratch, name + ".so")
    with open(source, "w", encoding="ascii") as f:
        f.write(text)
    subprocess.run([cc, *flags, "-o", target, source], check=True)
    return target


def main(cc, scratch, libs, archives):
    bad = [build(cc, scratch, "mutable",
                 "static int n; int kiln_f(void); "
                 "int kiln_f(void) { return n++; }\n", ["-c"]),
           build(cc, scratch, "foreign", "int f(void) { return 0; }\n",
                 ["-shared", "-fPIC"])]
    results = [
        ("no mutable objects", sum([mutable(a) for a in archives], [])),
        ("libkiln exports kiln_ names only", foreign_exports(libs[0])),
        ("libkiln does not load LLVM", needs_llvm(libs[0])),
        ("flags a mutable object", [] if mutable(bad[0]) else ["missed"]),
        ("flags a library that loads LLVM", [] if needs_llvm(libs[1])
         else ["missed"]),
        ("flags a foreign export", [] if foreign_exports(bad[1])
         else ["missed"]),
    ]
    print("1..%d" % len(results))
    for i, (name, complaints) in enumerate(results, 1):
        print("%s %d - %s" % ("not ok" if complaints else "ok", i, name))
        for line in complaints:
            print("# " + line)
    return any(c for _, c in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:5], sys.argv[5:]))
