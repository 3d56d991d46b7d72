"""Mixtures of experts: tokens sorted by expert, and the products of a layer.

The arrays are those of docs/moe.md: gate-up takes A[N,K] by token and
B[E,2I,K], I gate rows, then I up rows; down takes A[N*T,I], rows
token * T + slot, and B[E,H,I]."""
import ctypes as C
import math

from ._abi import ACTS, Problem
from ._memory import BITS, bad, view
from ._products import SCALARS, Product, add_rounding, along, block_type, given_scales, \
    group_type, lie_as_written, measure, note_pitch, scale_of, typed, zero_type, zeros_shape

BLOCKS = (16, 32, 64, 128, 256)
BLOCK_256 = 255                # kiln.h: KILN_BLOCK_256


class Routing:
    """Slots sorted by their expert, each expert's rows padded to whole blocks:
    `ids` (token | slot << 24; padding is `tokens`), `experts` of each block,
    `padded` rows that count, `weights` of each row. numpy arrays."""

    def __init__(self, ids, weights, experts, block_m):
        import numpy as np
        self.tokens, self.topk = ids.shape
        self.groups, self.block_m = experts, block_m
        slots = ids.reshape(-1)
        order = np.argsort(slots, kind="stable")
        order = order[(slots[order] >= 0) & (slots[order] < experts)]
        rows = np.bincount(slots[order], minlength=experts)
        blocks = -(-rows // block_m)
        first = np.concatenate(([0], np.cumsum(blocks)))[:-1] * block_m
        room = max(1, int(blocks.sum())) * block_m
        at = np.arange(len(order)) - np.repeat(np.cumsum(rows) - rows, rows)
        at = at + np.repeat(first, rows)
        self.ids = np.full(room, self.tokens, "i4")
        self.ids[at] = order // self.topk | order % self.topk << 24
        self.weights = np.zeros(room, "f4")
        self.weights[at] = weights.reshape(-1)[order]
        self.experts = np.repeat(np.arange(experts), blocks).astype("i4")
        if not len(self.experts):
            self.experts = np.full(1, -1, "i4")
        self.padded = np.array([blocks.sum() * block_m], "i4")

    def block_field(self):
        return BLOCK_256 if self.block_m == 256 else self.block_m

    def __repr__(self):
        return "<kiln.Routing, %d tokens to %d of %d experts, blocks of %d>" \
            % (self.tokens, self.topk, self.groups, self.block_m)


def routing(ids, weights=None, experts=None, block_m=None):
    """A Routing of ids[N, T], the experts of each token, and their weights.

    An id that is no expert of 0 .. experts-1 is computed nowhere. block_m:
    rows of a block, by default by the rows an expert gets on average."""
    import numpy as np
    ids = np.asarray(ids)
    if ids.ndim != 2 or not ids.shape[1] or ids.dtype.kind not in "iu":
        raise bad("the experts of each token are integers [tokens, slots]")
    if ids.shape[0] >= 1 << 24 or ids.shape[1] > 255:
        raise bad("moe has at most 16777215 tokens and 255 slots a token")
    if experts is None:
        experts = int(ids.max(initial=0)) + 1
    weights = np.ones(ids.shape, "f4") if weights is None else \
        np.asarray(weights, "f4")
    if weights.shape != ids.shape:
        raise bad("the weights have the shape %s, the ids %s", weights.shape,
                  ids.shape)
    rows = max(1, ids.size // max(1, experts))
    if block_m is None:
        block_m = 16 if rows <= 16 else 32 if rows <= 32 else \
            64 if rows <= 50 else 128
    if block_m not in BLOCKS:
        raise bad("block_m is one of %s, not %r", BLOCKS, block_m)
    return Routing(ids.astype("i8"), weights, experts, block_m)


class Stage:
    """gemm1 or gemm2 of a layer, as Device._launch wants a product."""

    def __init__(self, stage, a, b, route, types):
        self.stage, self.route = stage, route
        self.quantised = [x if hasattr(x, "dequantise") else None
                          for x in (a, b)]
        self.operand = {"a": view(a, True), "b": view(b, True)}
        self.fields = {"stage": stage}
        self.sizes, self.arrays, self.scalars = {}, {}, [0.0] * SCALARS
        for (name, said), axes in zip(types.items(), ("mk", "gnk")):
            v = self.operand[name]
            self.fields[name] = typed(v, said, name)
            note_pitch(self.fields, name, v, self.fields[name])
            measure(v, self.fields[name], axes, name, self.sizes)
        self.check()
        self.operand.update(offsets=view(route.ids),
                            experts=view(route.experts),
                            padded=view(route.padded),
                            weights=view(route.weights))

    def check(self):
        r, s = self.route, self.sizes
        rows = r.tokens if self.stage == "gemm1" else r.tokens * r.topk
        if s["m"] != rows:
            raise bad("A has %d rows, the routing %d", s["m"], rows)
        if s["g"] != r.groups:
            raise bad("B has %d experts, the routing %d", s["g"], r.groups)
        if self.stage == "gemm1" and s["n"] % 2:
            raise bad("B has %d rows an expert, gate and up are as many each",
                      s["n"])

    def add_scales(self, scales, mode):
        sa, sb, mode = given_scales(self.quantised, scales, mode)
        self.fields["scale"] = mode = mode or self.mode_of(sa, sb)
        for name, v in (("sa", sa), ("sb", sb)):
            if v is None:
                continue
            size = 1 if mode == "mx32" or (mode, name) == ("nv16", "sb") else 4
            if mode.startswith("group") and name == "sa":
                self.fields["zero_points"] = zero_type(v)
                size = v.size
            elif mode.startswith("group"):
                self.fields["scale_type"] = group_type(v)
                size = v.size
            elif mode == "block128":
                self.fields["scale_type"] = block_type(v)
                size = v.size
            want = self.scales_of(name, mode)
            if math.prod(v.shape) != want or v.size != size:
                raise bad("%s has %d scales of %d bytes, %s wants %d", name,
                          math.prod(v.shape), v.size, mode, want)
            self.operand[name] = v

    def add_expression(self, epilogue, bias, named):
        """named: as Product.add_operands has it."""
        epilogue = Product.add_operands(self, epilogue, named)
        if epilogue:
            self.fields["expression"] = epilogue
            self.fields["scalar"] = (C.c_float * SCALARS)(*self.scalars)
        if bias is None:
            return
        v, want = view(bias), self.sizes["g"] * self.sizes["n"]
        up = self.stage == "gemm1"
        if (up and not epilogue) or v.type != "f32" or math.prod(v.shape) != want:
            raise bad("bias is f32 [E,2I], of an epilogue that names its halves"
                      if up else "bias is f32 [E,H]")
        self.operand["bias"] = v
        self.fields["bias"] = 0 if epilogue else 1

    def add_output(self, seed, amax, out2, scale=None):
        """How it is rounded, and what is written beside it: scale, how scales of
        codes are laid out."""
        add_rounding(self, seed)
        if scale is not None:
            if scale not in ("row", "block128"):
                raise bad("out_scale of moe_up is row or block128, not %r", scale)
            self.fields["out_scale"] = self.written = scale
        Product.add_amax(self, amax)
        Product.add_second(self, out2)

    def add_written(self, v, kind):
        lie_as_written(self, v, kind)

    def mode_of(self, sa, sb):
        """Of tensor scales there is one an expert for B."""
        if sb is not None and math.prod(sb.shape) == self.sizes["g"] and \
                BITS[self.fields["b"]] >= 8 and \
                not self.fields["b"].startswith("mx"):
            return "tensor"
        return scale_of("moe", self.sizes, (sa, sb), self.fields["b"])

    def scales_of(self, name, mode):
        """How many scales an operand has."""
        s = self.sizes
        blocks = -(-s["k"] // along(mode))
        if name == "sa" and mode.startswith("group"):
            return zeros_shape(s["g"], blocks, s["n"], self.fields["zero_points"])
        if name == "sa" and mode == "nv16":
            return s["g"]
        if name == "sa":
            return {"tensor": 1, "row": s["m"]}.get(mode, s["m"] * blocks)
        rows = -(-s["n"] // 128) if mode == "block128" else s["n"]
        return s["g"] * {"tensor": 1, "row": rows}.get(mode, rows * blocks)

    def output_shape(self):
        n = self.sizes["n"]
        return (self.route.tokens * self.route.topk,
                n // 2 if self.stage == "gemm1" else n)

    def problem(self, target, out_type, alpha, beta):
        s, r = self.sizes, self.route
        Product.check_beside(self, out_type)
        return Problem(family="moe", target=target, out=out_type,
                       m=len(r.ids), n=self.output_shape()[1], k=s["k"],
                       groups=r.groups, tokens=r.tokens, topk=r.topk,
                       block_m=r.block_field(), beta=int(bool(beta)), **self.fields)


class Sum:
    """The rows of a token's slots, added in order."""

    def __init__(self, rows, route, round_seed):
        self.fields = {}
        add_rounding(self, round_seed)
        self.operand = {"a": view(rows)}
        self.operand.update(  # not read; a plan names them
            b=view(route.padded), offsets=view(route.padded),
            experts=view(route.padded), padded=view(route.padded),
            weights=view(route.padded))
        self.route = route
        if self.operand["a"].type not in ("bf16", "f16", "f32"):
            raise bad("slots are summed in bf16, f16 or f32")
        if len(self.operand["a"].shape) != 2 or \
                self.operand["a"].shape[0] != route.tokens * route.topk:
            raise bad("slots have the shape %s, the routing has %d rows",
                      self.operand["a"].shape, route.tokens * route.topk)

    def add_written(self, v, kind):
        """Rows of tokens are dense."""
        if v.strides:
            raise bad("out= of shape %s is not contiguous", v.shape)

    def output_shape(self):
        return self.route.tokens, self.operand["a"].shape[1]

    def problem(self, target, out_type, alpha, beta):
        n, r = self.operand["a"].shape[1], self.route
        kind = self.operand["a"].type
        if out_type != kind:
            raise bad("slots of %s are summed in %s, not %s", kind, kind,
                      out_type)
        return Problem(family="moe", stage="reduce", target=target, a=kind,
                       b=kind, out=kind, m=len(r.ids), n=n, k=n,
                       groups=r.groups, tokens=r.tokens, topk=r.topk,
                       block_m=r.block_field(), beta=int(bool(beta)), **self.fields)


class Layers:
    """The calls of a Device."""

    def moe_up(self, a, b, route, out=None, *, act="silu", weigh="after",
               epilogue=None, bias=None, row=None, col=None, tensor=None,
               scalar=None, beta=0, out_scale=None, round_seed=None, amax=None,
               out2=None, a_type=None, b_type=None, scales=None, scale=None,
               stream=None):
        """act(gate) * up of A[N,K] and B[E,2I,K] for each slot: [N*T,I].

        epilogue: an expression of gate and up instead of act, of the halves
        gate_bias and up_bias of bias[E,2I], and of what it names of row (arrays
        [N*T]), col ([E,I]), tensor ([N*T,I]) and scalar; with beta=1 c is what
        out holds; round_seed, amax and out2: as gemm's. out_scale: "row" or
        "block128" of out="fp8", "bf8" or "i8": a Quantised, which moe_down takes.
        weigh: who multiplies by the routing weights: "after" is moe_down,
        "before" this call, before the activation, "none" nobody."""
        p = Stage("gemm1", a, b, route, {"a": a_type, "b": b_type})
        if act not in ACTS:
            raise bad("act is one of %s, not %r", " ".join(ACTS), act)
        p.add_expression(epilogue, bias, {
            "row": row, "col": col, "tensor": tensor, "scalar": scalar})
        p.add_output(round_seed, amax, out2, out_scale)
        p.beta = beta
        return self._stage(p, out, act, weigh, scales, scale, stream)

    def moe_down(self, a, b, route, out=None, *, weigh="after", epilogue=None,
                 bias=None, row=None, col=None, tensor=None, scalar=None, beta=0,
                 round_seed=None, amax=None, out2=None, a_type=None, b_type=None,
                 scales=None, scale=None, stream=None):
        """A[N*T,I] and B[E,H,I] times the routing weight for each slot: [N*T,H];
        moe_sum adds the slots of a token. Before the weight comes bias[E,H], or
        epilogue: an expression of acc and bias, the rest as moe_up's; with beta=1
        what out holds is added to acc, unless the epilogue names c. out2 is D, or
        what the epilogue says of aux ("aux:acc+bias, gelu(aux)")."""
        p = Stage("gemm2", a, b, route, {"a": a_type, "b": b_type})
        p.add_expression(epilogue, bias, {
            "row": row, "col": col, "tensor": tensor, "scalar": scalar})
        p.add_output(round_seed, amax, out2)
        p.beta = beta
        return self._stage(p, out, "silu", weigh, scales, scale, stream)

    def _stage(self, p, out, act, weigh, scales, scale, stream):
        words = ("after", "before", "none")
        if weigh not in words:
            raise bad("weigh is one of %s, not %r", " ".join(words), weigh)
        p.fields.update(act=act, weigh=words.index(weigh))
        p.add_scales(scales, scale)
        return self._launch(p, out, p.beta, None, stream)

    def moe_sum(self, rows, route, out=None, *, beta=0, round_seed=None, stream=None):
        """[N*T,H] to [N,H]: the T rows of a token in order, in f32, with beta=1
        behind what out holds; round_seed: rounded at random, by this seed."""
        p = Sum(rows, route, round_seed)
        kind = p.operand["a"].type
        return self._launch(p, kind if out is None else out, beta, None, stream)

    def moe(self, x, up, down, route, out=None, *, act="silu", weigh="after",
            round_seed=None, stream=None):
        """A layer: moe_up, moe_down and moe_sum. Operands are 16-bit arrays,
        or of kiln.quantise (weights by quantise_experts): all three, and what
        is between is quantised on the host as x is, or MX weights alone.
        round_seed: each of the three rounds at random, by this seed."""
        quantised = hasattr(x, "dequantise")
        kind = out if isinstance(out, str) else view(out).type \
            if out is not None else "bf16" if quantised else view(x).type
        if kind not in BITS or BITS[kind] != 16:
            raise bad("a layer of moe has a 16-bit output, not %s", kind)
        rows = self.moe_up(x, up, route, kind, act=act, weigh=weigh,
                           round_seed=round_seed, stream=stream)
        if quantised:
            rows = again(rows, kind, x)
        rows = self.moe_down(rows, down, route, kind, weigh=weigh,
                             round_seed=round_seed, stream=stream)
        return self.moe_sum(rows, route, out, round_seed=round_seed, stream=stream)


def again(rows, kind, like):
    """16-bit rows as codes and scales of the type that `like` has."""
    import numpy as np
    from ._quant import quantise
    rows = rows if isinstance(rows, np.ndarray) else rows.numpy()
    if kind == "bf16":
        rows = (rows.astype("u4") << 16).view("f4")
    return quantise(rows, like.type, like.scale, target=like.target)


def quantise_experts(x, kind, scale=None, **more):
    """quantise of weights [E, rows, K], each expert by itself."""
    import numpy as np
    from ._quant import Quantised, quantise
    x = np.asarray(x)
    if x.ndim != 3 or not len(x):
        raise bad("weights of experts are [experts, rows, K], not %s", x.shape)
    parts = [quantise(e, kind, scale, operand="b", **more) for e in x]
    return Quantised(np.stack([q.data for q in parts]),
                     np.stack([q.scales for q in parts]), kind,
                     parts[0].scale, x.shape, parts[0].target)
