#!/usr/bin/env python3
"""Holds what `kilnc time` leaves out against `kilnc time --whole`, which
leaves out nothing: launches with many tiles a workgroup or long loops, drawn
at random.

    short_cuts.py KILNC [--launches N] [--seed S] [--jobs J]

A figure of the two may differ by the share TOLERANCE, the time and what it is
made of. Output is TAP, with the worst difference and what was left out."""
import argparse
import concurrent.futures
import json
import random
import subprocess
import sys

TOLERANCE = 2e-3
FIGURES = ('us', 'loop_cycles', 'mfma_efficiency', 'mfma_duty', 'read_bytes',
           'write_bytes', 'workgroup_cycles', 'busy_lds', 'loop_iterations')
TYPES = ('bf16', 'f16', 'fp8', 'i8', 'mxfp8', 'mxfp4', 'mxfp6')


def sizes(rng, most):
    """Of a launch with over a million instructions a workgroup."""
    m = rng.choice((1024, 2048, 3000, 4096, 8192, 16384))
    n = rng.choice((1024, 2048, 4096, 5000, 8192, 16384))
    k = rng.choice((512, 1024, 2048, 4096, 8192))
    return [str(v) for v in (min(m, most), n, k)]


def gemm(rng):
    m, n, k = sizes(rng, 1 << 20)
    return ['gemm', '-m', m, '-n', n, '-k', k, '--layout',
            rng.choice(('nt', 'nt', 'nn', 'tn')), '--cus',
            str(rng.choice((1, 2, 4)))]


def long(rng):
    return ['gemm', '-m', '256', '-n', '256', '-k',
            str(rng.choice((1 << 17, 1 << 18, 200000)))]


def batched(rng):
    m, n, k = sizes(rng, 2048)
    return ['batched', '-m', m, '-n', n, '-k', k, '--batch', '8', '--cus',
            str(rng.choice((2, 4, 8)))]


def lens(rng, mean):
    return ','.join(str(rng.choice((mean, mean, mean // 2, 100)))
                    for _ in range(8))


def grouped(rng):
    m, n, k = sizes(rng, 8192)
    return ['grouped', '-n', n, '-k', k, '--group-lens', lens(rng, int(m)),
            '--cus', str(rng.choice((4, 8, 16)))]


def wgrad(rng):
    m, n, k = sizes(rng, 4096)
    return ['wgrad', '-m', m, '-n', n, '--layout', 'tn', '--group-lens',
            lens(rng, int(k)), '--cus', str(rng.choice((4, 8, 16)))]


def predict(kilnc, words):
    got = subprocess.run([kilnc, 'time'] + words + ['--json', '-'],
                         capture_output=True, text=True, check=False)
    return json.loads(got.stdout)['predicted'] if not got.returncode else None


def compare(kilnc, seed):
    """The words of a launch, and by what its figures differ."""
    rng = random.Random(seed)
    for _ in range(40):
        kind = rng.choice((gemm, gemm, long, batched, grouped, wgrad))
        t = rng.choice(TYPES)
        words = kind(rng) + ['--a', t, '--b', t, '--arch',
                             rng.choice(('gfx950', 'gfx942'))]
        short = predict(kilnc, words)
        whole = short and predict(kilnc, words + ['--whole'])
        if whole:
            return words, {f: abs(short[f] / whole[f] - 1) if whole[f] else
                           abs(short[f]) for f in FIGURES}
    return words, None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('--launches', type=int, default=6)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=2)
    a = p.parse_args()
    worst, off = {f: (0, '') for f in FIGURES}, 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for words, d in pool.map(lambda s: compare(a.kilnc, s),
                                 [a.seed * 1000003 + i
                                  for i in range(a.launches)]):
            if not d:
                print('# nothing drawn is possible: ' + ' '.join(words))
                off += 1
                continue
            if max(d.values()) > TOLERANCE:
                off += 1
                print('# %s: %s' % (' '.join(words), ', '.join(
                    '%s %.2g' % e for e in d.items() if e[1] > TOLERANCE)))
            for f, e in d.items():
                worst[f] = max(worst[f], (e, ' '.join(words)))
    for f, (e, words) in worst.items():
        print('# %s: at most %.1e%s' % (f, e, ' (%s)' % words if e else ''))
    print('1..1\n%sok 1 - %d launches, %d of them off by more than %g' %
          ('not ' if off else '', a.launches, off, TOLERANCE))
    return 0


if __name__ == '__main__':
    sys.exit(main())
