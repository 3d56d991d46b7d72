"""Cases as functions, speaking TAP: each returns None, or what is wrong; a
Skip raised by it skips the case."""
import subprocess
import traceback


class Skip(Exception):
    pass


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
