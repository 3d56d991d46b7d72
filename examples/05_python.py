"""05_python.py - a GEMM from Python on the simulator, checked with numpy.

usage: 05_python.py [DEVICE]     (PYTHONPATH: runtime/python, unless installed)
"""
import sys

import numpy

import kiln

device = kiln.open(sys.argv[1] if len(sys.argv) > 1 else "sim:gfx950")
rng = numpy.random.default_rng(0)
a = rng.integers(-4, 5, (70, 96)).astype(numpy.float16)
b = rng.integers(-4, 5, (48, 96)).astype(numpy.float16)

c = device.gemm(a, b, out="f32")
print("largest difference:", abs(c - a.astype("f4") @ b.astype("f4").T).max())

# The kernel itself: what was chosen and why.
problem = kiln.Problem(target="gfx950", a="f16", out="f32", m=70, n=48, k=96)
info = device.context.compile(problem).info
print(info.name.decode(), "vgpr", info.vgpr, "lds", info.lds)
print(info.config.decode())

# A problem that cannot be is an exception with a sentence.
try:
    device.context.compile(kiln.Problem(target="gfx950", a="bf16", b="f16"))
except kiln.Error as e:
    print("refused:", e)
