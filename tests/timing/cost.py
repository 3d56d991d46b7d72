#!/usr/bin/env python3
"""Processor time of `kilnc time`, generation included; nothing is judged.

    cost.py KILNC"""
import resource
import subprocess
import sys

SIZES = [(t, 8192, 8192, 8192) for t in ('bf16', 'fp8', 'mxfp8', 'mxfp4',
                                         'mxfp6')]
SIZES += [('bf16', 32768, 8192, 28672), ('bf16', 1, 129280, 7168),
          ('mxfp4', 32768, 106496, 16384)]


def spent():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def main():
    print('1..%d' % len(SIZES))
    for i, (t, m, n, k) in enumerate(SIZES, 1):
        before = spent()
        words = [sys.argv[1], 'time', 'gemm', '--a', t, '--b', t, '-m', str(m),
                 '-n', str(n), '-k', str(k)]
        code = subprocess.run(words, capture_output=True,
                              check=False).returncode
        print('%sok %d - %s %d x %d x %d: %.1f s of processor time' %
              ('not ' if code else '', i, t, m, n, k, spent() - before),
              flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
