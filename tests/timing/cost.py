#!/usr/bin/env python3
"""Processor time (user) of `kilnc time`, generation included: fixed sizes, and
launches drawn at random over families, targets and sizes of the data.

    cost.py KILNC [--launches N] [--seed S] [--judge]

Output is TAP. The worst is the last line; with --judge a cube of 8192 over 1 s
and anything over 5 s fail (of an idle machine)."""
import argparse
import random
import resource
import subprocess
import sys
import tempfile

import physics

CUBE, ANY = 1.0, 5.0
TYPES = ('bf16', 'f16', 'fp8', 'bf8', 'i8', 'mxfp8', 'mxbf8', 'mxfp4',
         'mxfp6')
# Sizes that occur in AMD's and Primus' lists.
SIZES = (16, 128, 512, 1024, 2048, 2880, 4096, 5120, 7168, 8192, 14336, 16384,
         18432, 28672, 32768, 53248, 106496)


def fixed():
    for arch in ('gfx950', 'gfx942'):
        for t in TYPES:
            yield ['gemm', '--a', t, '--b', t, '-m', '8192', '-n', '8192',
                   '-k', '8192', '--arch', arch]
    for t in ('bf16', 'mxfp8', 'mxfp6', 'mxfp4'):
        yield ['gemm', '--a', t, '--b', t, '-m', '32768', '-n', '106496',
               '-k', '16384']
    yield ['gemm', '--a', 'bf16', '--b', 'bf16', '-m', '1', '-n', '129280',
           '-k', '7168']


def large(rng):
    """A launch with any of the sizes, MoE and gemv left to physics.py."""
    t, arch = rng.choice(TYPES), rng.choice(('gfx950', 'gfx942'))
    m, n, k = (str(rng.choice(SIZES)) for _ in range(3))
    family = rng.choice(('gemm', 'batched', 'grouped', 'wgrad'))
    words = [family, '--a', t, '--b', t, '-n', n, '--arch', arch]
    lens = ','.join(str(rng.choice((0, int(m) // 8, int(m) // 4)))
                    for _ in range(15)) + ',16'
    if family == 'grouped':
        return words + ['-k', k, '--group-lens', lens]
    if family == 'wgrad':
        return words + ['-m', k, '--layout', 'tn', '--group-lens', lens]
    words += ['-m', m, '-k', k, '--layout', rng.choice(('nt', 'nn', 'tn'))]
    return words + (['--batch', rng.choice(('2', '16', '64'))]
                    if family == 'batched' else [])


def drawn(n, seed, folder):
    for i in range(n):
        rng = random.Random(seed * 1000003 + i)
        if i % 2:
            yield large(rng)
            continue
        launch = physics.Launch(physics.FAMILIES[i // 2 % 6],
                                physics.TARGETS[i // 12 % 2], rng, folder)
        yield launch.command('kilnc', 'time')[2:-2]


def spent():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('--launches', type=int, default=60)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--judge', action='store_true')
    a = p.parse_args()
    worst, times = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for words in list(fixed()) + list(drawn(a.launches, a.seed, folder)):
            before = spent()
            got = subprocess.run([a.kilnc, 'time'] + words, check=False,
                                 capture_output=True)
            if got.returncode:       # it cannot be, or is no shape of kiln's
                continue
            t = spent() - before
            times.append(t)
            cube = words.count('8192') == 3
            over = a.judge and t > (CUBE if cube else ANY)
            kind = '8192^3' if cube else 'any'
            worst[kind] = max(worst.get(kind, (0, '')), (t, ' '.join(words)))
            print('%sok %d - %.2f s: %s' % ('not ' if over else '', len(times),
                                           t, ' '.join(words)), flush=True)
    print('1..%d' % len(times))
    for kind, (t, words) in sorted(worst.items()):
        print('# worst of %s: %.2f s (%s)' % (kind, t, words))
    print('# median %.2f s' % sorted(times)[len(times) // 2])
    return 0


if __name__ == '__main__':
    sys.exit(main())
