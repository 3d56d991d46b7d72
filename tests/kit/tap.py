"""Cases as functions, speaking TAP: each returns None, or what is wrong; a
Skip raised by it skips the case."""
import importlib
import subprocess
import sys
import traceback


class Skip(Exception):
    pass


def need(name):
    """A module; without it the whole test is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print("1..0 # SKIP %s is not installed" % name)
        sys.exit(0)


def report(results):
    """(name, complaints) each, as TAP; whether any has complaints."""
    print("1..%d" % len(results))
    for i, (name, complaints) in enumerate(results, 1):
        print("%s %d - %s" % ("not ok" if complaints else "ok", i, name))
        for line in complaints:
            print("# " + line.replace("\n", "\n# "))
    return any(c for _, c in results)


def run(*command, **more):
    """Output and exit status of a command, standard error included."""
    done = subprocess.run([str(w) for w in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **more)
    return done.stdout, done.returncode


def must(*command, **more):
    out, status = run(*command, **more)
    if status:
        raise AssertionError("%s: exit %d\n%s" % (command[0], status, out))
    return out


def main(cases):
    print("1..%d" % len(cases))
    failed = False
    for i, case in enumerate(cases, 1):
        name = case.__name__.replace("_", " ")
        try:
            wrong = case()
        except Skip as why:
            print("ok %d - %s # SKIP %s" % (i, name, why), flush=True)
            continue
        except Exception:
            wrong = traceback.format_exc()
        failed |= wrong is not None
        print("%s %d - %s" % ("ok" if wrong is None else "not ok", i, name),
              flush=True)
        for line in str(wrong).splitlines()[-40:] if wrong else []:
            print("# " + line)
    return failed
