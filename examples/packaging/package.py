"""What kiln is handed on as, each by one command; the tree is left as it is.

usage: package.py dist|debian|wheel OUT [BUILD]

dist    OUT/kiln-VERSION.tar.gz: what git has, or of an unpacked tarball all
debian  source and binary packages from that tarball, in OUT, and lintian's word
wheel   OUT/kiln-VERSION-*.whl with the libraries of BUILD (default: build)
"""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
NOT_OURS = {"build", ".git", "__pycache__", ".cache"}


def run(*command, **more):
    done = subprocess.run(command, check=False, **more)
    if done.returncode:
        sys.exit("package.py: %s failed (exit %d)" % (command[0],
                                                      done.returncode))


def version():
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as f:
        return re.search(r"version: '([^']+)'", f.read()).group(1)


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return None if done.returncode else done.stdout


def files():
    if os.path.isdir(os.path.join(ROOT, ".git")):
        names = git("ls-files", "-z").split("\0")
        return sorted(n for n in names
                      if n and os.path.exists(os.path.join(ROOT, n)))
    found = []
    for base, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in NOT_OURS and
                      not f.startswith("build-")]
        found += [os.path.relpath(os.path.join(base, n), ROOT) for n in names]
    return sorted(found)


def when():
    """Seconds since 1970 that every file gets."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    in_git = os.path.isdir(os.path.join(ROOT, ".git"))
    return int(git("log", "-1", "--format=%ct")) if in_git else \
        int(os.path.getmtime(os.path.join(ROOT, "meson.build")))


def make_tarball(path):
    seconds, top = when(), "kiln-" + version()

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = seconds
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry
    with open(path, "wb") as f, \
            gzip.GzipFile("", "wb", 9, f, seconds) as z, \
            tarfile.open(fileobj=z, mode="w", format=tarfile.GNU_FORMAT) as t:
        for name in files():
            t.add(os.path.join(ROOT, name), "%s/%s" % (top, name),
                  recursive=False, filter=plain)
    print(path)


def dist(out, _):
    make_tarball(os.path.join(out, "kiln-%s.tar.gz" % version()))


def debian(out, _):
    for tool in ("dpkg-buildpackage", "dh", "lintian"):
        if not shutil.which(tool):
            sys.exit("package.py: there is no %s; on Debian: apt-get install "
                     "debhelper dh-python lintian" % tool)
    orig = os.path.join(out, "kiln_%s.orig.tar.gz" % version())
    tree = os.path.join(out, "kiln-" + version())
    make_tarball(orig)
    shutil.rmtree(tree, ignore_errors=True)
    with tarfile.open(orig) as t:
        t.extractall(out)
    shutil.copytree(os.path.join(tree, "examples", "packaging", "debian"),
                    os.path.join(tree, "debian"))
    run("dpkg-buildpackage", "-us", "-uc", cwd=tree)
    shutil.rmtree(tree)
    changes = [n for n in os.listdir(out) if n.endswith(".changes")]
    # A first upload to Debian itself would close a bug; this is none.
    run("lintian", "--allow-root", "--fail-on", "error,warning",
        "--suppress-tags", "initial-upload-closes-no-bugs", *changes, cwd=out)
    print("lintian: clean")


def wheel(out, build):
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation",
        "--no-index", "--no-deps", "--wheel-dir", out,
        "--config-settings", "build=" + build,
        os.path.join(ROOT, "runtime", "python"),
        env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))


KINDS = {"dist": dist, "debian": debian, "wheel": wheel}

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    os.makedirs(sys.argv[2], exist_ok=True)
    KINDS[sys.argv[1]](os.path.abspath(sys.argv[2]), os.path.abspath(
        sys.argv[3] if len(sys.argv) == 4 else os.path.join(ROOT, "build")))
