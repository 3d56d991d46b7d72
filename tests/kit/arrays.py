"""What tests of the Python module ask of arrays and of refusals."""
import kiln
import numpy as np


def wide(x):
    return x.astype("f8")


def same(got, want):
    """None, or how far the two are apart."""
    return None if np.array_equal(wide(got), wide(want)) else \
        "largest difference %g" % abs(wide(got) - wide(want)).max()


def refused(text, call, *args, kind=kiln.Error, **more):
    try:
        call(*args, **more)
    except kind as e:
        assert text in str(e), "%r is not in %r" % (text, str(e))
        return
    raise AssertionError("%s was not refused" % text)


class Lent:
    """DLPack of host memory, as numpy makes it, and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)
