#!/usr/bin/env python3
"""Published ladders beside kernels rebuilt from their descriptions.

    ladders.py KILNC PERF_DIR [--calib]

A rung is a published row of anchors.json and a configuration of this
generator that does what the row's source describes; the published kernels
themselves are not at hand, so every rung is a reconstruction. Where a row has
a loop efficiency that is compared, else the time. Output is TAP: a ladder
whose order the model does not keep (Spearman below its limit), or whose
median error is too large, fails. --calib
prints the rows that constants may be adjusted on, with their errors."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

from validate import rank_correlation

# (anchor, flags of kilnc time gemm). The tile is the row's; what else the
# source says of the kernel is in the flags. Loops are read from the 15th launch
# on the same buffers (scripts/run_perf_table.py there): warm. Times are of
# buffers in rotation.
ARCH = {'MI355X': 'gfx950', 'MI300X': 'gfx942'}
TILES = [('a0%d' % i, '--warm --schedule interleave --waves ' + w)
         for i, w in [(141, '2x4'), (142, '2x2'), (143, '1x4'), (144, '2x2'),
                      (146, '1x4'), (147, '2x2'), (148, '2x2')]]
SKINNY = [('a0%d' % i, '--schedule simple --stages 2 --waves 1x4')
          for i in (149, 150, 152, 153, 154, 156)]
KINDS = [('a0116', '--warm --schedule 8-wave'),
         ('a0119', '--warm --schedule 4-wave'),
         ('a0122', '--warm --schedule 8-wave'),
         ('a0126', '--warm --schedule 4-wave'),
         ('a0136', '--warm --schedule 8-wave')]
# (name, rungs, least rank correlation, largest median error). Efficiencies
# close to one have no order worth a test.
LADDERS = [('tiles, loop efficiency (Gluon v9)', TILES, 0.95, 0.10),
           ('streams of B, time (Gluon 32x256x64)', SKINNY, 0.95, 0.25),
           ('types at 256x256, loop efficiency (Gluon)', KINDS, -1, 0.03)]


def predict(kilnc, row, flags):
    words = [kilnc, 'time', 'gemm', '--arch', ARCH[row['gpu']], '--a',
             {'fp16': 'f16'}.get(row['dtype'], row['dtype']),
             '-m', str(row['M']), '-n', str(row['N']), '-k', str(row['K'])]
    if '--tile' not in flags:
        words += ['--tile', 'x'.join(str(v) for v in row['tile'])]
    out = subprocess.run(words + flags.split(), capture_output=True, text=True,
                         check=False)
    us = re.search(r'predicted ([\d.]+) us', out.stdout)
    eff = re.search(r'matrix pipes busy ([\d.]+)%', out.stdout)
    if not us or not eff:
        sys.exit('%s: %s' % (row['id'], out.stderr.strip()))
    return float(us.group(1)), float(eff.group(1)) / 100


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('perf')
    p.add_argument('--calib', action='store_true')
    a = p.parse_args()
    with open(os.path.join(a.perf, 'anchors.json')) as f:
        anchors = {r['id']: r for r in json.load(f)}
    print('1..%d' % len(LADDERS))
    for i, (name, rungs, limit, far) in enumerate(LADDERS, 1):
        want, got = [], []
        for ident, flags in rungs:
            row = anchors[ident]
            if a.calib and row['split'] != 'calib':
                continue
            us, eff = predict(a.kilnc, row, flags)
            by_eff = 'mfma_eff' in row
            want.append(row['mfma_eff'] if by_eff else row['us'])
            got.append(eff if by_eff else us)
            print('# %s %-8s published %7.3f predicted %7.3f' %
                  (ident, row['split'], want[-1], got[-1]), flush=True)
        rank = rank_correlation(want, got)
        error = statistics.median(abs(g / w - 1) for g, w in zip(got, want))
        print('%sok %d - %s: %d rungs, rank correlation %.3f, median |error| '
              '%.1f %%' % ('' if rank >= limit and error <= far else 'not ',
                           i, name, len(want), rank, 100 * error), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
