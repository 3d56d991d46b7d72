"""The wheel of kiln, built by pip through this file (PEP 517) and by nothing
else: the package with the libraries of a build beside it. Same libraries, same
bytes.

    pip install --no-build-isolation --no-index \\
        --config-settings build=BUILD runtime/python

BUILD is the folder Meson built in, by default the project's build/.
"""
import base64
import hashlib
import os
import re
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.join(HERE, "..", "..")
LIBRARIES = ("libkiln.so.0", "libkiln-cg.so.0", "libkiln-sim.so.0")
SUMMARY = "GEMM kernels for AMD gfx942 and gfx950, compiled on demand"


def version():
    with open(os.path.join(HERE, "..", "kiln.h"), encoding="utf-8") as f:
        numbers = re.findall(r"define KILN_VERSION_M\w+ (\d+)|"
                             r"define KILN_VERSION_PATCH (\d+)", f.read())
    return ".".join(a or b for a, b in numbers)


def library_files(build):
    for name in LIBRARIES:
        path = os.path.join(build, name)
        if not os.path.exists(path):
            raise SystemExit("there is no %s: build kiln first, or say where "
                             "it was: --config-settings build=DIR" % path)
        yield "kiln/" + name, path


def package_files():
    folder = os.path.join(HERE, "kiln")
    for name in sorted(os.listdir(folder)):
        if name.endswith((".py", ".pyi", ".typed")):
            yield "kiln/" + name, os.path.join(folder, name)


class Wheel:
    """A zip with a record of what is in it."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info, self.record = info, []

    def add(self, name, data):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o100644 << 16
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        self.record.append("%s,sha256=%s,%d" % (
            name, digest.decode().rstrip("="), len(data)))

    def close(self):
        name = self.info + "/RECORD"
        self.record.append(name + ",,")
        self.zip.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)),
                          "\n".join(self.record) + "\n")
        self.zip.close()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del metadata_directory
    build = (config_settings or {}).get("build",
                                        os.path.join(PROJECT, "build"))
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = "py3-none-" + platform
    name = "kiln-%s-%s.whl" % (version(), tag)
    wheel = Wheel(os.path.join(wheel_directory, name),
                  "kiln-%s.dist-info" % version())
    for inside, path in [*package_files(), *library_files(build)]:
        with open(path, "rb") as f:
            wheel.add(inside, f.read())
    wheel.add(wheel.info + "/METADATA",
              ("Metadata-Version: 2.1\nName: kiln\nVersion: %s\nSummary: %s\n"
               "License: MIT\nRequires-Python: >=3.9\n" %
               (version(), SUMMARY)).encode())
    wheel.add(wheel.info + "/WHEEL",
              ("Wheel-Version: 1.0\nGenerator: kiln\nRoot-Is-Purelib: false\n"
               "Tag: %s\n" % tag).encode())
    wheel.close()
    return name


def build_sdist(sdist_directory, config_settings=None):
    del sdist_directory, config_settings
    raise SystemExit("the release tarball is made by examples/packaging/"
                     "package.py dist")
