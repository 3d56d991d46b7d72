"""Launches of aiter's loader of fused-MoE stage 1 (csrc/py_itfs_cu/
asm_moe_2stage.cu): gate and up of the experts that tokens are sent to, and
their activation. aiter.py and loaders.py run them.

The sums are exact in f32 under any order, the activation is not: what is
stored is compared with f64 up to SLACK, and between two objects bit by bit.
"""
import collections

import numpy as np

SILU, GELU = 0, 1            # slot 21
SLACK = 2.0 ** -8 + 2.0 ** -17  # half a bf16, and what v_exp and v_rcp lose
NOTHING = 2.0 ** -40         # beside gates and ups of about 1
BLOCK = 128                  # columns of a scale
CODED = 2.0 ** -16           # what v_exp and v_rcp lose, and f32 scales
LIMITS = {"gfx942": (240,),  # of codes; AMD's on gfx950 keep to gfx942's
          "gfx950": (448, 240)}

Size = collections.namedtuple("Size", "tokens topk experts inter k")


def sort_by_expert(chosen, experts, rows):
    """aiter's moe_sorting: ids token | slot << 24 by expert, each expert's rows
    padded to whole blocks of `rows` with a token that does not exist; the
    expert of each block; how many sorted rows count. What lies behind, as far
    as the loader's arrays reach, is not to be used."""
    tokens, topk = chosen.shape
    room = -(-(tokens * topk + experts * rows - topk) // rows)
    ids = np.full(room * rows, 0x7F7F7F7F, np.uint32)
    of_block = np.full(room, 0x7F7F7F7F, np.int32)
    at = 0
    for e in range(experts):
        token, slot = np.nonzero(chosen == e)
        n = -(-len(token) // rows) * rows
        ids[at:at + n] = tokens | topk << 24
        ids[at:at + len(token)] = token | slot << 24
        of_block[at // rows:(at + n) // rows] = e
        at += n
    return ids, of_block, at


def choose(rng, s):
    """Uneven: the first experts get most tokens, the last but one none."""
    weight = 1.0 / (1 + np.arange(s.experts)) ** 1.5
    weight[-2 if s.experts > s.topk + 1 else -1:][:1] *= 1e-9
    return np.stack([rng.choice(s.experts, s.topk, False, weight / weight.sum())
                     for _ in range(s.tokens)])


def activate(gate, up, act):
    if act == SILU:
        return gate / (1 + np.exp(-gate)) * up
    twice = np.sqrt(8 / np.pi) * (gate + 0.044715 * gate ** 3)
    return gate / (1 + np.exp(-np.maximum(twice, -700))) * up


def operands(rng, s):
    """Integers, and powers of two by row: A [tokens, K], B [experts, 2 I, K]."""
    a = rng.integers(-2, 3, (s.tokens, s.k))
    b = rng.integers(-2, 3, (s.experts, 2 * s.inter, s.k))
    sa = 2.0 ** rng.integers(-3, 0, s.tokens)
    sb = 2.0 ** rng.integers(-4, -1, (s.experts, 2 * s.inter))
    return a, b, sa, sb


def block_operands(rng, s):
    """The same with a scale for 128 K of a row of A, for 128 x 128 of B."""
    a, b, _, _ = operands(rng, s)
    kb = s.k // BLOCK
    return a, b, 2.0 ** rng.integers(-3, 0, (s.tokens, kb)), \
        2.0 ** rng.integers(-4, -1, (s.experts, 2 * s.inter // BLOCK, kb))


def fill(j, s, rows, chosen, codes):
    """The slots that say where operands lie and how many there are."""
    ids, of_block, padded = sort_by_expert(chosen, s.experts, rows)
    j.buffer(1, codes[0])
    j.buffer(2, codes[1])
    j.buffer(3, np.array([padded, s.tokens], np.int32))
    j.buffer(7, ids)
    j.buffer(8, of_block)
    for slot, number in ((9, s.k), (10, s.inter), (11, s.tokens),
                         (12, s.experts), (13, s.k), (14, s.k),
                         (16, 2 * s.inter * s.k),
                         (17, 2 * s.inter * 4), (18, s.inter * 4),
                         (19, s.topk)):
        j.value(slot, "I", number)
    j.m = j.rows = s.tokens * s.topk
    j.n, j.k = s.inter, s.k
    return ids, padded


def products(s, chosen, a, b, sa, sb, weight):
    """gate and up of every token and slot, [tokens, topk, 2 I], in f64."""
    out = np.zeros((s.tokens, s.topk, 2 * s.inter))
    for e in range(s.experts):
        token, slot = np.nonzero(chosen == e)
        out[token, slot] = a[token].astype(float) @ b[e].T * sb[e] * \
            sa[token, None]
    return out * weight[:, :, None]


def block_products(s, chosen, a, b, sa, sb):
    def wide(x, *axes):
        for axis in axes:
            x = np.repeat(x, BLOCK, axis)
        return x

    return products(s, chosen, a * wide(sa, 1), b * wide(sb, 1, 2),
                    np.ones(s.tokens), np.ones((s.experts, 2 * s.inter)),
                    np.ones((s.tokens, s.topk)))


def block_output(j, s, both, act, values, limits):
    """Codes [tokens, topk, I], behind them an f32 scale for 128 columns, in what
    fused_moe.py makes room for."""
    j.output(0, (s.tokens + -(-s.tokens * 4 // BLOCK)) * s.topk * s.inter)
    for slot, number in ((15, s.topk * s.inter), (20, 0), (21, act)):
        j.value(slot, "i", number)
    j.want = activate(both[..., :s.inter], both[..., s.inter:], act)
    j.slack = CODED
    j.coded = lambda got: coded(j.want, got, values, limits)


def coded(want, got, values, limits):
    """Which elements are a code of their value, nearest under the scale, and have
    a scale that their largest is `limits` of."""
    n = want.size
    raw = got.view(np.uint8)
    codes = values[raw[:n]]
    scales = raw[n:n + n // BLOCK * 4].view(np.float32).astype(float)
    largest = np.abs(want).reshape(-1, BLOCK).max(1)
    fit = [np.abs(scales * most - largest) <= CODED * largest for most in limits]
    scales = np.repeat(scales, BLOCK)
    off = np.maximum(np.abs(codes) * 2.0 ** -4, 2.0 ** -10) * scales
    near = np.abs(codes * scales - want.reshape(-1)) <= \
        off + CODED * np.abs(want.reshape(-1)) + NOTHING
    return near & np.repeat(np.any(fit, axis=0), BLOCK)


def output(j, s, log2, both, act):
    """A row a slot; where 2^log2 workgroups share K, sums of gate and of up, which
    they add to zeros."""
    j.wide = j.zeroed = log2 > 0
    size = s.inter * (8 if log2 else 2)
    j.output(0, s.tokens * s.topk * size)
    j.value(15, "I", s.topk * size)
    j.value(20, "I", log2)
    j.value(21, "i", act)
    j.want = both if log2 else activate(both[..., :s.inter],
                                        both[..., s.inter:], act)
    j.slack = 0 if log2 else SLACK


def launch_block(j, rng, s, pack, values, arch):
    rows = j.row["tile_m"]
    chosen = choose(rng, s)
    a, b, sa, sb = block_operands(rng, s)
    ids, _ = fill(j, s, rows, chosen, pack(a, b))
    j.buffer(4, sa.T.astype(np.float32))
    j.buffer(5, sb.astype(np.float32))
    j.value(17, "I", sb[0].size * 4)
    j.grid = (s.inter // j.row["tile_n"], len(ids) // rows, 1)
    block_output(j, s, block_products(s, chosen, a, b, sa, sb),
                 j.row.get("act", SILU), values, LIMITS[arch])
    return j


def launch(j, rng, s, pack):
    """j: of one kernel, whose row says its tile, whether rows are weighed, the
    activation, log2 of the shares of K. pack: a matrix of integers as (A's bytes,
    B's preshuffled)."""
    rows = j.row["tile_m"]
    chosen = choose(rng, s)
    a, b, sa, sb = operands(rng, s)
    ids, padded = fill(j, s, rows, chosen, pack(a, b))
    j.buffer(4, sa.astype(np.float32))
    j.buffer(5, sb.astype(np.float32))
    weight = np.ones((s.tokens, s.topk))
    if j.row["weighed"]:
        weight = 2.0 ** rng.integers(-2, 1, weight.shape)
        of_row = np.full(len(ids), np.nan, np.float32)
        real = np.arange(len(ids)) < padded
        token, slot = ids[real] & 0xFFFFFF, ids[real] >> 24
        inside = token < s.tokens
        of_row[:padded] = np.where(
            inside, weight[np.where(inside, token, 0),
                           np.where(inside, slot, 0)], 0)
        j.buffer(22, of_row)
    log2 = j.row.get("log2", 0)
    j.grid = (s.inter // j.row["tile_n"], len(ids) // rows, 1 << log2)
    output(j, s, log2, products(s, chosen, a, b, sa, sb, weight),
           j.row.get("act", SILU))
    return j
