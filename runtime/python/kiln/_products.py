"""Products of arrays: shapes, types and scales are inferred, and checked."""
import ctypes as C
import math
import re

from ._abi import Problem, SCALE_TYPES, TARGETS, TYPES
from ._memory import BITS, OUTPUTS, SHARED, bad, view

GROUP_TYPES = [t for t in SCALE_TYPES if t != "e8m0"]
LENS, TAIL_ZERO, ENDS32, TIGHT = 1, 2, 4, 8    # kiln_group_flags
ARRAYS, SCALARS = 4, 4      # that an epilogue may declare
# The axes of A, B and C by layout, behind a batch or group axis if any.
AXES = {"nt": ("mk", "nk"), "nn": ("mk", "kn"), "tn": ("km", "kn"),
        "tt": ("km", "nk")}

# Operands of a family that either axis may be contiguous of.
TURNED = {"gemm": "ab", "batched": "ab", "grouped": "b"}

BIASES = {"bias", "gate_bias", "up_bias"}
# What an epilogue of gate and up names, or is.
PAIRS = {"gate", "swiglu", "swiglu_oss", "swiglu_limited", "situ"}


def names_of(epilogue):
    return re.findall(r"[A-Za-z_]\w*", epilogue)


def typed(v, said, name):
    """The type of an operand: as said, or as the array has it."""
    kind = said or v.type
    if not kind:
        raise bad("%s is bytes: say their type with %s_type=", name, name)
    if kind not in BITS:
        raise bad("%s_type is one of %s, not %r", name, " ".join(TYPES[1:]),
                  kind)
    if v.size != max(1, BITS[kind] // 8):
        raise bad("%s has elements of %d bytes, %s has %d", name, v.size, kind,
                  max(1, BITS[kind] // 8))
    return kind


def measure(v, kind, axes, name, sizes):
    """Notes the sizes of the axes; a letter that was seen must agree."""
    if len(v.shape) != len(axes):
        raise bad("%s has %d axes (%s), not %d", name, len(axes),
                  ", ".join(axes), len(v.shape))
    for axis, n in zip(axes, v.shape[:-1] + (v.columns(kind),)):
        packed = BITS[kind] < 8 and axis == axes[-1]
        known = sizes.get(axis)
        if known is None:
            sizes[axis] = n
        elif known != n and not (packed and -(-known * BITS[kind] // 8) ==
                                 v.shape[-1]):
            raise bad("%s of %s is %d, but it is %d elsewhere", axis.upper(),
                      name, n, known)


def along(mode):
    """K of one scale."""
    return {"mx32": 32, "nv16": 16, "group32": 32, "group64": 64}.get(mode, 128)


def padded(v, mode, k):
    """Scales of a row of an array whose rows have more than K asks for; or 0."""
    row = -(-k // along(mode))
    return v.shape[-1] if len(v.shape) > 1 and v.shape[-1] > row else 0


def given_scales(quantised, scales, mode):
    """Those of A and B and the mode, from operands that have their own too."""
    own = [q for q in quantised if q]
    if own and not scales:
        scales = [q and q.scales for q in quantised]
        mode = mode or own[0].scale
    return [None if s is None else view(s) for s in scales or (None,) * 2] + \
        [mode]


def group_type(v):
    """Type of the scales of an integer weight."""
    if v.type not in GROUP_TYPES:
        raise bad("scales of groups are of %s", ", ".join(GROUP_TYPES))
    return v.type


def block_type(v):
    """Type of the scales of 128-blocks: f32, or bytes, which are powers of two."""
    if v.size == 1:
        return "e8m0"
    if v.size != 4 or v.type not in ("f32", None):
        raise bad("scales of 128-blocks are of f32 or E8M0 bytes")
    return "f32"


def zero_type(v):
    """Type of the zero points of an integer weight, two to a byte or f16."""
    if v.size == 1:
        return "i4"
    if v.type != "f16":
        raise bad("zero points are i4, two to a byte, or f16")
    return "f16"


def zeros_shape(many, blocks, n, kind):
    """Bytes or numbers of the zero points of an integer weight."""
    return many * blocks * (-(-n // 2) if kind == "i4" else n)


def scale_counts(family, sizes, shared):
    """How many scales A and B have in each mode that shapes alone tell apart; of an operand
    that all problems share one problem's."""
    many, blocks = sizes.get("g", 1), -(-sizes["k"] // 128)
    m = sizes["m"] * (many if family == "batched" and "a" not in shared else 1)
    wgrad = family == "wgrad"
    many = 1 if "b" in shared else many
    n = sizes["n"] * (1 if wgrad else many)
    wide = n if wgrad else many * -(-sizes["n"] // 128)
    return {"tensor": (1, 1), "row": (m, n),
            "block128": (m * blocks, wide * blocks)}


def scale_of(family, sizes, scales, kind, shared=()):
    """The scale mode that shapes of scales mean, of A and of B."""
    (sa, sb), k = scales, sizes["k"]
    have = tuple(math.prod(s.shape) if s else 0 for s in (sa, sb))
    if kind.startswith("mx"):
        return "mx32"
    if kind == "nvfp4":
        return "nv16"
    if kind == "i4":
        modes = [m for m in ("group32", "group64", "group128")
                 if sb and sb.shape and sb.shape[-1] == -(-k // along(m))]
        if len(modes) != 1:
            raise bad("scale= is group32, group64 or group128 for an i4 b")
        return modes[0]
    if have == (0, 0):
        return "none"
    modes = scale_counts(family, sizes, shared)
    for mode, want in modes.items():
        if have == want or (have[0] == 0 and have[1] == want[1]):
            return mode
    plain = tuple(h if not s or not padded(s, "block128", k) else
                  h // s.shape[-1] * -(-k // 128)
                  for h, s in zip(have, (sa, sb)))
    if plain == modes["block128"]:
        return "block128"
    raise bad("scales of %d and %d elements are none of %s", *have, ", ".join(
        "%s (%d, %d)" % (mode, *want) for mode, want in modes.items()))


# Scales that a kernel writes beside its output: columns of one, None: all.
WRITTEN = {"row": None, "block128": 128, "mx32": 32}


def code_shape(shape, kind):
    """Of an output's bytes, where elements are less than one."""
    *rows, n = shape
    return (*rows, n if BITS[kind] >= 8 else -(-n * BITS[kind] // 8))


def written_shape(shape, scale):
    *rows, n = shape
    return (*rows, -(-n // WRITTEN[scale])) if WRITTEN[scale] else tuple(rows)


def note_pitch(fields, name, v, kind):
    """Notes the pitches of a, b or c in elements of kind."""
    said = "out=" if name == "c" else name
    if v.pitches is None:
        raise bad("%s of shape %s is not contiguous along its last axis, or its rows "
                  "overlap", said, v.shape)
    bits = BITS[kind]
    for field, n in zip(("ld" + name, "stride_" + name), v.pitches):
        if n > 0 and bits < 8:
            n, rest = divmod(8 * n, bits)
            if rest:
                raise bad("rows of %s begin inside an element of %s", said, kind)
        if n:
            fields[field] = n


def lie_as_written(product, v, kind):
    """Where rows of the output are; of arrays that lie as it does they are there, too: rows of
    aux of gate and up, one behind the other, are twice as far apart."""
    note_pitch(product.fields, "c", v, kind)
    beside = [(name, at, 1) for at, (what, name) in product.arrays.items() if what == "tensor"]
    if "out2" in product.operand:
        pair = "aux_gate" in names_of(product.fields.get("expression", ""))
        beside.append(("out2", "out2", 1 + pair))
    for name, at, times in beside:
        want = tuple(times * n for n in v.pitches)
        if product.operand[at].pitches != want:
            raise bad("rows of %s are apart as those of the output: it has pitches %s, which "
                      "asks for %s (0: dense)", name, product.operand[at].pitches, want)


class Product:
    """A product: `problem`, operands by name, and the shape of its output."""

    def __init__(self, family, layout, a, b, a_type, b_type):
        if layout not in AXES:
            raise bad("layout is nt, nn, tn or tt, not %r", layout)
        self.operand = {"a": view(a, True), "b": view(b, True)}
        self.quantised = [x if hasattr(x, "dequantise") else None
                          for x in (a, b)]
        self.fields = {"family": family}
        self.sizes = {}
        self.arrays = {}         # of the epilogue: x0: (kind, name)
        self.scalars = [0.0] * SCALARS
        self.gated = False       # b has the columns of gate and of up
        letters = dict(zip("ab", layout))
        for name, said in (("a", a_type), ("b", b_type)):
            self.fields[name] = typed(self.operand[name], said, name)
            letters[name] = self.lay(name, letters[name])
        self.fields["layout"] = letters["a"] + letters["b"]
        axes = dict(zip("ab", AXES[self.fields["layout"]]))
        if family == "batched":
            axes = {n: "g" + x for n, x in axes.items()}
        elif family == "grouped":
            axes["b"] = "g" + axes["b"]
        for name in "ab":
            measure(self.operand[name], self.fields[name], axes[name], name, self.sizes)

    def lay(self, name, letter):
        """Where an operand's rows are; of one whose columns are contiguous they are rows of
        the other layout, which is returned."""
        v, kind = self.operand[name], self.fields[name]
        if v.pitches is None and len(v.shape) > 1 and v.turned().pitches is not None and \
                BITS[kind] >= 8 and name in TURNED.get(self.fields["family"], ""):
            v, letter = v.turned(), "n" if letter == "t" else "t"
        note_pitch(self.fields, name, v, kind)
        self.operand[name] = v
        return letter

    def shared(self):
        """The operands that all problems read the same of, and the same scales of."""
        return [n for n in "ab" if self.fields.get("stride_" + n) == SHARED]

    def many(self, name):
        """Problems that an operand, or its scales, are of."""
        return 1 if name in self.shared() else self.sizes.get("g", 1)

    def add_written(self, v, kind):
        lie_as_written(self, v, kind)

    def add_scales(self, scales, mode):
        sa, sb, mode = given_scales(self.quantised, scales, mode)
        self.fields["scale"] = mode or scale_of(self.fields["family"], self.sizes, (sa, sb),
                                                self.fields["b"], self.shared())
        for name, v in (("sa", sa), ("sb", sb)):
            if v is not None:
                self.add_scale(name, v)

    def add_zeros(self, v):
        """In the place of A's scales: [K / group, N] of each problem."""
        kind = self.fields["zero_points"] = zero_type(v)
        want = zeros_shape(self.many("b"), -(-self.sizes["k"] // along(
            self.fields["scale"])), self.sizes["n"], kind)
        if math.prod(v.shape) != want:
            raise bad("there are %d elements of zero points, %s wants %d",
                      math.prod(v.shape), self.fields["scale"], want)
        self.operand["sa"] = v

    def add_factor(self, v):
        """In the place of A's scales: an f32 for each B of nvfp4."""
        want = self.many("b")
        if v.type != "f32" or math.prod(v.shape) != want:
            raise bad("the factor of an nvfp4 b is f32, one for each: %d", want)
        self.operand["sa"] = v

    def add_scale(self, name, v):
        if name == "sa" and self.fields["scale"].startswith("group"):
            self.add_zeros(v)
            return
        if name == "sa" and self.fields["scale"] == "nv16":
            self.add_factor(v)
            return
        rows = self.sizes["m" if name == "sa" else "n"]
        if self.fields["scale"] not in ("none", "tensor", "row"):
            pitch = padded(v, self.fields["scale"], self.sizes["k"])
            if pitch:
                self.fields["ld" + name] = pitch
        if self.fields["scale"] in ("mx32", "nv16"):
            if self.fields["family"] == "batched" or \
                    (name == "sb" and self.fields["family"] == "grouped"):
                rows *= self.many(name[1])
            mode = self.fields["scale"]
            want = rows * (pitch or -(-self.sizes["k"] // along(mode)))
            if v.size != 1 or math.prod(v.shape) != want:
                raise bad("%s has %d scales of %d bytes, %s wants %d bytes", name,
                          math.prod(v.shape), v.size, mode[:2].upper(), want)
        elif self.fields["scale"].startswith("group"):
            self.fields["scale_type"] = group_type(v)
            rows *= self.many("b")
            want = rows * (pitch or
                           -(-self.sizes["k"] // along(self.fields["scale"])))
            if math.prod(v.shape) != want:
                raise bad("%s has %d scales, %s wants %d", name,
                          math.prod(v.shape), self.fields["scale"], want)
        else:
            self.check_count(name, v)
        if self.fields["scale"] == "block128":
            given = self.fields.setdefault("scale_type", block_type(v))
            if given != block_type(v):
                raise bad("scales of A and B are of one type, f32 or E8M0")
        elif self.fields["scale"] in ("tensor", "row") and \
                (v.size != 4 or v.type not in ("f32", None)):
            raise bad("%s is not of f32", name)
        self.operand[name] = v

    def check_count(self, name, v):
        """Scales of a mode that was named are as many as the kernel reads, or more."""
        mode, k = self.fields["scale"], self.sizes["k"]
        counts = scale_counts(self.fields["family"], self.sizes, self.shared())
        if mode not in counts:
            raise bad("scale is %s for these types, not %r", ", ".join(counts), mode)
        want = counts[mode][name == "sb"]
        pitch = self.fields.get("ld" + name)
        if pitch:
            want = want // -(-k // 128) * pitch
        if math.prod(v.shape) < want:
            raise bad("%s has %d scales, %s wants %d", name, math.prod(v.shape),
                      mode, want)

    def add_operands(self, epilogue, named):
        """named: {kind: {name: array or number}}; returns the expression with
        what it declares in front."""
        head, arrays, scalars = "", 0, 0
        for kind, operands in named.items():
            for name, value in (operands or {}).items():
                if not epilogue or name not in names_of(epilogue):
                    raise bad("%s= is for an epilogue that names %s", kind, name)
                head += "%s:%s," % (kind, name)
                if kind == "scalar":
                    if scalars == SCALARS:
                        raise bad("an epilogue has at most %d scalars", SCALARS)
                    self.scalars[scalars] = value
                    scalars += 1
                else:
                    if arrays == ARRAYS:
                        raise bad("an epilogue has at most %d arrays", ARRAYS)
                    self.arrays["x%d" % arrays] = kind, name
                    self.operand["x%d" % arrays] = view(value, kind == "tensor")
                    arrays += 1
        return head + epilogue if head else epilogue

    def check_beside(self, out_type):
        """Shapes and types of arrays and of a second output, once those of the
        output are known."""
        *many, n = self.output_shape()
        for at, (kind, name) in self.arrays.items():
            v, rows = self.operand[at], math.prod(many)
            want = {"row": rows, "col": n * self.sizes.get("g", 1),
                    "tensor": rows * n}[kind]
            of = out_type if kind == "tensor" else "f32"
            if v.type != of and not (v.type is None and of == "bf16" and
                                     v.size == 2):
                raise bad("%s is a %s of %s", name, kind, of)
            if math.prod(v.shape) != want:
                raise bad("%s has %d elements, a %s here has %d", name,
                          math.prod(v.shape), kind, want)
        second, text = self.operand.get("out2"), self.fields.get("expression", "")
        if "aux_gate" in names_of(text):
            n *= 2               # what aux is of gate, and then of up
        if second is not None and second.shape != (*many, n):
            raise bad("out2 has the shape %s, the product %s", second.shape, (*many, n))

    def add_bias(self, bias, epilogue=None):
        if epilogue:
            self.fields["expression"] = epilogue
            if bool(BIASES & set(names_of(epilogue))) != (bias is not None):
                raise bad("bias= is for an epilogue that names bias")
            self.gated = bool(PAIRS & set(names_of(epilogue)))
            if self.gated and self.sizes["n"] % 2:
                raise bad("gate and up are halves of b, which has %d columns",
                          self.sizes["n"])
        if bias is None:
            return
        v = view(bias)
        want = self.sizes["n"] * self.sizes.get("g", 1)
        if v.type != "f32" or math.prod(v.shape) != want:
            raise bad("the bias is f32 with %d elements", want)
        self.operand["bias"] = v
        self.fields["bias"] = 0 if epilogue else 1

    def add_output(self, scale, saturate, round_seed=None):
        """Of an output of codes: an array of its one f32 scale, how those that
        the kernel writes are laid out, or None; of any: rounded at random."""
        self.fields["overflow"] = int(not saturate)
        add_rounding(self, round_seed)
        if scale is None:
            return
        if isinstance(scale, str):
            if scale not in WRITTEN:
                raise bad("out_scale is one f32, or one of %s",
                          " ".join(WRITTEN))
            self.fields["out_scale"] = self.written = scale
            return
        v = view(scale)
        if v.type != "f32" or math.prod(v.shape) != 1:
            raise bad("out_scale is one f32")
        self.operand["sc"] = v
        self.fields["out_scale"] = "static"

    def add_amax(self, amax):
        """An array of one f32, which is raised to the largest magnitude; beside
        operands of f64 of one f64."""
        if amax is None:
            return
        v = view(amax)
        kind = "f64" if self.operand["a"].type == "f64" else "f32"
        if v.type != kind or math.prod(v.shape) != 1:
            raise bad("amax is one %s", kind)
        self.operand["amax"] = v
        self.fields["amax"] = 1

    def add_second(self, out2):
        """The array that a second output is written to."""
        if out2 is None:
            return
        v = view(out2, True)
        if v.type not in ("bf16", "f16", "f32", "f64"):
            raise bad("out2 is of bf16, f16, f32 or f64")
        self.operand["out2"] = v
        self.fields["out2"] = v.type

    def add_offsets(self, offsets, last):
        v = view(offsets)
        if v.size != 8 or len(v.shape) != 1 or v.shape[0] < 2:
            raise bad("offsets are int64, one more than groups")
        groups = self.sizes.setdefault("g", v.shape[0] - 1)
        if v.shape[0] != groups + 1:
            raise bad("there are %d offsets for %d groups", v.shape[0], groups)
        if v.host:
            check_offsets(v, last)
        self.operand["offsets"] = v
        self.fields["groups"] = groups

    def add_lens(self, lens, last):
        """Lengths of the groups, which the host has."""
        lens = [int(n) for n in lens]
        groups = self.sizes.setdefault("g", len(lens))
        if len(lens) != groups:
            raise bad("there are %d lengths for %d groups", len(lens), groups)
        if not lens or min(lens) < 0 or sum(lens) > last:
            raise bad("lengths are of rows, %d at most in all", last)
        self.table = (C.c_int64 * groups)(*lens)
        self.fields.update(groups=groups, group_flags=LENS)

    def add_tight(self, tight, last):
        """Offsets of the rows that are written; those of add_offsets are where
        groups, padded, are read from. None: there are no others."""
        if tight is None:
            return
        v = view(tight)
        if v.size != 8 or v.shape != self.operand["offsets"].shape:
            raise bad("tight offsets are int64, as many as offsets")
        if v.host:
            check_offsets(v, last)
        self.operand["tight"] = v
        self.fields["group_flags"] = self.fields.get("group_flags", 0) | TIGHT

    def add_ends(self, ends):
        """int32, where each group ends; rows past the last are zeros."""
        v = view(ends)
        if v.size != 4 or len(v.shape) != 1 or not v.shape[0]:
            raise bad("ends are int32, one a group")
        groups = self.sizes.setdefault("g", v.shape[0])
        if v.shape[0] != groups:
            raise bad("there are %d ends for %d groups", v.shape[0], groups)
        if v.host:
            check_ends(v, self.sizes["m" if self.fields["family"] == "grouped"
                                     else "k"])
        self.operand["offsets"] = v
        self.fields["groups"] = groups
        self.fields["group_flags"] = ENDS32 | (
            TAIL_ZERO if self.fields["family"] == "grouped" else 0)

    def columns(self):
        return self.sizes["n"] // 2 if self.gated else self.sizes["n"]

    def output_shape(self):
        m, n, g = self.sizes["m"], self.columns(), self.sizes.get("g")
        many = self.fields["family"] in ("batched", "wgrad")
        return (g, m, n) if many else (m, n)

    def problem(self, target, out_type, alpha, beta):
        for q in filter(None, self.quantised):
            if q.type in ("fp8", "bf8") and q.target != TARGETS[target]:
                raise bad("%r has the %s of %s, the device is a %s", q, q.type,
                          q.target, TARGETS[target])
        if out_type not in BITS:
            raise bad("an output is one of %s, not %r", " ".join(OUTPUTS),
                      out_type)
        self.check_beside(out_type)
        more = {} if alpha is None else {"alpha": alpha}
        more["scalar"] = (C.c_float * SCALARS)(*self.scalars)
        if self.fields["family"] == "batched":
            more["batch"] = self.sizes["g"]
        return Problem(target=target, out=out_type, beta=int(bool(beta)),
                       m=self.sizes["m"], n=self.columns(),
                       k=self.sizes["k"], **self.fields, **more)


def add_rounding(product, seed):
    """At random, by a seed, or to nearest."""
    if seed is not None:
        product.fields.update(round=1, round_seed=int(seed) % 2**64)


def check_ends(v, last):
    values = (C.c_int32 * v.shape[0]).from_address(v.address)[:]
    if values[0] < 0 or sorted(values) != values or values[-1] > last:
        raise bad("ends do not fall and end by %d", last)


def check_offsets(v, last):
    values = (C.c_int64 * v.shape[0]).from_address(v.address)[:]
    if values[0] != 0 or sorted(values) != values or values[-1] > last:
        raise bad("offsets begin with 0, do not fall and end by %d", last)
