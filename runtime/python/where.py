"""The folder, of those this Python searches, for modules under a prefix.

usage: where.py PREFIX
"""
import sys
import sysconfig

prefix = sys.argv[1]
folder = sysconfig.get_path("purelib")
if prefix == "/usr" and "deb_system" in sysconfig.get_scheme_names():
    folder = sysconfig.get_path("purelib", "deb_system")
elif not folder.startswith(prefix + "/"):
    folder = sysconfig.get_path("purelib", "posix_prefix",
                                {"base": prefix, "platbase": prefix})
print(folder)
