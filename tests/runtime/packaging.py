"""The release tarball, the wheel and the Debian package, each made by its one
command and used as a user of it would: nothing says where kiln is.

usage: packaging.py SOURCE BUILD quick|debian
"""
import glob
import os
import shlex
import shutil
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
PACKAGE = os.path.join(SOURCE, "examples", "packaging", "package.py")
SCRATCH = tempfile.mkdtemp(prefix="kiln-packaging-")
PYTHON = "/usr/bin/python3"
TOLD = ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PYTHONPATH", "KILN_LIBRARY")
ENV = {k: v for k, v in os.environ.items() if k not in TOLD}
ENV.update(PYTHONDONTWRITEBYTECODE="1",
           KILNC_CACHE_DIR=os.path.join(SCRATCH, "cache"))
IMPORT = "import kiln; d = kiln.open('sim:gfx942'); print(d.info.cus); " \
    "d.context.compile(kiln.Problem(target='gfx942', a='bf16', b='bf16', " \
    "out='bf16', m=64, n=64, k=64)); print(kiln.__file__)"


def path(*name):
    return os.path.join(SCRATCH, *name)


def make(kind, folder):
    return tap.must(PYTHON, PACKAGE, kind, path(folder), BUILD, env=ENV)


def the_tarball_is_the_tree_and_the_same_twice():
    for folder in ("one", "two"):
        make("dist", folder)
    (one,), (two,) = (glob.glob(path(f, "*.tar.gz")) for f in ("one", "two"))
    with open(one, "rb") as a, open(two, "rb") as b:
        if a.read() != b.read():
            return "other bytes"
    with tarfile.open(one) as t:
        t.extractall(path("dist"))
    (top,) = glob.glob(path("dist", "kiln-*"))
    for name in ("meson.build", "quickstart.sh", "runtime/kiln.h",
                 "examples/packaging/debian/rules"):
        if not os.path.exists(os.path.join(top, name)):
            return "no %s in it" % name
    return "it has a build" if os.path.exists(top + "/build") else None


def a_tarball_of_the_tarball_is_the_same():
    """No git is needed; times are given."""
    env = dict(ENV, SOURCE_DATE_EPOCH="1000000000")
    tap.must(PYTHON, PACKAGE, "dist", path("git"), env=env)
    (tree,) = glob.glob(path("dist", "kiln-*"))
    tap.must(PYTHON, os.path.join(tree, "examples/packaging/package.py"),
             "dist", path("plain"), env=env)
    names = []
    for folder in ("git", "plain"):
        (tarball,) = glob.glob(path(folder, "*.tar.gz"))
        with open(tarball, "rb") as f:
            names.append(f.read())
    return None if names[0] == names[1] else "other bytes"


def the_wheel_is_installed_by_pip_alone():
    if tap.run(PYTHON, "-m", "pip", "--version")[1]:
        raise tap.Skip("pip is not installed")
    make("wheel", "wheel")
    (wheel,) = glob.glob(path("wheel", "*.whl"))
    with zipfile.ZipFile(wheel) as z:
        if "kiln/libkiln-cg.so.0" not in z.namelist() or z.testzip():
            return str(z.namelist())
    tap.must(PYTHON, "-m", "venv", "--without-pip", path("venv"), env=ENV)
    python = path("venv", "bin", "python")
    tap.must(PYTHON, "-m", "pip", "--python", python, "install",
             "--no-build-isolation", "--no-index", "--config-settings",
             "build=" + BUILD, os.path.join(SOURCE, "runtime", "python"),
             env=ENV)
    out = tap.must(python, "-c", IMPORT, env=ENV, cwd="/")
    want = "304\n%s" % path("venv", "lib")
    return None if out.startswith(want) else out


def a_wheel_without_a_build_says_so():
    if tap.run(PYTHON, "-m", "pip", "--version")[1]:
        raise tap.Skip("pip is not installed")
    out, status = tap.run(PYTHON, PACKAGE, "wheel", path("none"),
                          path("nothing"), env=ENV)
    if not status or "build kiln first" not in out:
        return "exit %d\n%s" % (status, out)
    return None


def the_debian_package_is_built_and_clean():
    for tool in ("dh", "lintian", "dh_python3"):
        if not shutil.which(tool):
            raise tap.Skip("%s is not installed" % tool)
    out = make("debian", "debian")
    built = {os.path.basename(p).split("_")[0]
             for p in glob.glob(path("debian", "*.deb"))}
    wanted = {"libkiln0", "libkilnhip0", "libkiln-dev", "kilnc",
              "python3-kiln"}
    if not wanted <= built or not glob.glob(path("debian", "*.dsc")):
        return str(built)
    return None if out.endswith("lintian: clean\n") else out


def the_debian_packages_are_used():
    """Unpacked over /usr in a mount namespace of their own."""
    debs = [d for d in glob.glob(path("debian", "*.deb")) if "dbgsym" not in d]
    if not debs:
        raise tap.Skip("no package was built")
    for deb in debs:
        tap.must("dpkg-deb", "-x", deb, path("root"))
    script = """mount -t overlay -o lowerdir=%s/usr:/usr overlay /usr &&
                ldconfig -C %s && mount --bind %s /etc/ld.so.cache &&
                sh -e %s""" % tuple(shlex.quote(w) for w in (
                    path("root"), path("cache.so"), path("cache.so"),
                    path("use.sh")))
    with open(path("use.sh"), "w", encoding="ascii") as f:
        f.write("""cd /
            kilnc run gemm --a bf16 -m 32 -n 32 -k 64 --device sim:gfx950
            man -P cat kilnc | grep split-k
            cc %s/examples/01_gemm.c $(pkg-config --cflags --libs kiln) \\
                -o %s/program
            %s/program
            /usr/bin/python3 -c "%s"
            """ % (SOURCE, SCRATCH, SCRATCH, IMPORT))
    if tap.run("unshare", "--mount", "true")[1]:
        raise tap.Skip("this system lets nobody mount in a namespace")
    out = tap.must("unshare", "--mount", "sh", "-c", script, env=ENV)
    for text in ("check     ok", "C[0][0] = ", "304\n",
                 "/usr/lib/python3/dist-packages/kiln"):
        if text not in out:
            return "no %r in\n%s" % (text, out)
    return None


CASES = {
    "quick": [
        the_tarball_is_the_tree_and_the_same_twice,
        a_tarball_of_the_tarball_is_the_same,
        the_wheel_is_installed_by_pip_alone,
        a_wheel_without_a_build_says_so,
    ],
    "debian": [
        the_debian_package_is_built_and_clean,
        the_debian_packages_are_used,
    ],
}

if __name__ == "__main__":
    failed = tap.main(CASES[sys.argv[3]])
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
