"""`import kiln` is that of the build under test: SOURCE BUILD are the first two
arguments; its cache is the test's own."""
import os
import sys
import tempfile

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "runtime", "python"))
os.environ["KILN_LIBRARY"] = os.path.join(BUILD, "libkiln.so.0")
os.environ["KILNC_CACHE_DIR"] = tempfile.mkdtemp(prefix="kiln-python-")
