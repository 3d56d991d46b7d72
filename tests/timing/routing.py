#!/usr/bin/env python3
"""The routing that AMD's tuner of a mixture of experts draws.

It seeds torch with 0 (aiter, gemm_moe_tune.py, generate_data; since August
2025), draws input, both weights and the scores as normal bf16 numbers on the
GPU, and gives each token to the experts of its topk largest scores. torch
makes them with Philox 4x32-10, a sequence for each thread, up to 4 numbers a
thread and turn; how many numbers came before depends on the sizes and on the
compute units (ATen/native/cuda/DistributionTemplates.h).

Run, it holds its generator against numbers that others have printed (TAP)."""
import functools
import math
import struct
import sys

UNITS = {'gfx942': 304, 'gfx950': 256}
THREADS, BLOCKS = 256, 8  # of a block; of blocks on a compute unit
TURN = 4                  # numbers of a call
WORD = 0xffffffff


def philox(counter, key):
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        x, y = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (y >> 32) ^ b ^ k, y & WORD, (x >> 32) ^ d ^ m, x & WORD
        k, m = (k + 0x9E3779B9) & WORD, (m + 0xBB67AE85) & WORD
    return a, b, c, d


def normal4(thread, offset):
    """The four numbers of a thread `offset` numbers on, with seed 0."""
    at, out = offset // TURN, []
    r = philox((at & WORD, at >> 32, thread & WORD, thread >> 32), (0, 0))
    for u, v in (r[:2], r[2:]):
        far = math.sqrt(-2 * math.log((u + 1) / 2 ** 32))
        angle = 2 * math.pi * (v + 1) / 2 ** 32
        out += [far * math.sin(angle), far * math.cos(angle)]
    return out


def bf16(x):
    bits = struct.unpack('<I', struct.pack('<f', x))[0]
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16 << 16


def value(bits):
    return struct.unpack('<f', struct.pack('<I', bits))[0]


def threads_of(n, units):
    return THREADS * min(units * BLOCKS, -(-n // THREADS))


def spent(n, units):
    """How far n numbers move the offset; more than 2 GB go in halves."""
    own = TURN * ((n - 1) // (threads_of(n, units) * TURN) + 1)
    if 2 * (n - 1) + 1 < 1 << 31:
        return own
    return own + spent(n // 2, units) + spent(n - n // 2, units)


def normal(n, offset, units):
    """n numbers, as bf16."""
    threads, out = threads_of(n, units), [0.0] * n
    for turn in range((n - 1) // (threads * TURN) + 1):
        first = turn * threads * TURN
        for t in range(min(threads, n - first)):
            for i, x in enumerate(normal4(t, offset + TURN * turn)):
                if first + t + i * threads < n:
                    out[first + t + i * threads] = value(bf16(x))
    return out


@functools.lru_cache(maxsize=4)
def experts_of(arch, tokens, hidden, inter, experts, topk):
    """The experts of each token; inter: columns of gate."""
    units, offset = UNITS[arch], 0
    for n in (tokens * hidden, experts * 2 * inter * hidden,
              experts * hidden * inter):
        offset += spent(n, units)
    score = normal(tokens * experts, offset, units)
    return [sorted(range(experts),
                   key=lambda e, at=t * experts: (-score[at + e], e))[:topk]
            for t in range(tokens)]


def main():
    # torch.manual_seed(0); torch.randn(10, device="cuda"), in many notebooks
    known = (-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797, -0.6229,
             -0.3284, -1.0745, -0.3631)
    ours = normal(10, 0, 256)
    off = max(abs(value(bf16(k)) - x) for k, x in zip(known, ours))
    print('1..1\n%sok 1 - the first numbers of seed 0 are torch\'s (%g off)' %
          ('' if off == 0 else 'not ', off))
    return 0


if __name__ == '__main__':
    sys.exit(main())
