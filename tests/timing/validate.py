#!/usr/bin/env python3
"""Errors of the timing model on published measurements, by group.

    validate.py PREDICT_ROWS TRITON_DIR PERF_DIR [--aiter HSA_DIR] [--rows]
                [--table TIMING_ROWS_DEF]

Triton's objects are in this repository; AMD's are aiter's hsa folder (--aiter
DIR that contains gfx950, gfx942 or both). Output is TAP: a group that is worse than
its limit fails. --table: what the table of residuals says of these rows is
what the model predicts, or else the table is of another model.
Nothing here was used to adjust the model."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

import rows

# MI355X, HipKittens analysis/bf16_gemm: "Triton", timed with HIP events,
# which add 7 us (docs/timing.md).
EVENT_US = 7.0
TRITON = [('gfx950_bf16_nt_256x256x64.co', (256, 256), 8, 65536)]


def triton_rows(folder, anchors):
    for a in anchors:
        if (a['impl'], a['dtype'], a['kind']) != ('Triton', 'bf16', 'dense'):
            continue
        for obj, tile, waves, lds in TRITON:
            ident = '%s-%d' % (a['id'], tile[0])
            yield ('Triton bf16 256x256', a['us'] - EVENT_US,
                   rows.triton(ident, os.path.join(folder, obj), tile, a['M'],
                               a['N'], a['K'], 16, waves, lds), ident)


def aiter_rows(folder, data):
    kinds = {'f4gemm': (rows.aiter_f4, 'AMD asm MXFP4'),
             'bf16gemm': (rows.aiter_bf16, 'AMD asm bf16'),
             'fp8gemm': (rows.aiter_fp8, 'AMD asm fp8 block-scale'),
             'I8gemm': (rows.aiter_i8, 'AMD asm i8 on MI325X')}
    for i, r in enumerate(data):
        if not os.path.isdir(os.path.join(folder, r.get('arch', 'gfx950'))):
            continue
        kind = re.search('|'.join(kinds), r['kernel']).group(0)
        make, name = kinds[kind]
        size = 'above 50 us' if r['us'] > 50 else 'small and split-K'
        ident = 'aiter%d' % i
        yield ('%s, %s' % (name, size), r['us'],
               make(ident, folder, r['kernel'], r['m'], r['n'], r['k'],
                    r['split_k']), ident)


def predict(tool, lines):
    out = subprocess.run([tool], input='\n'.join(lines) + '\n', text=True,
                         capture_output=True, check=False).stdout
    got = {}
    for text in out.splitlines():
        ident, rest = text.split(' ', 1)
        got[ident] = dict(re.findall(r'(\w+)=(\S+)', rest))
        got[ident]['text'] = rest
    return got


LIMITS = {'Triton bf16 256x256': 0.15, 'AMD asm bf16, above 50 us': 0.08,
          'AMD asm MXFP4, above 50 us': 0.08,
          'AMD asm bf16, small and split-K': 0.15,
          'AMD asm MXFP4, small and split-K': 0.15,
          'AMD asm fp8 block-scale, small and split-K': 0.15,
          'AMD asm i8 on MI325X, above 50 us': 0.10,
          'AMD asm i8 on MI325X, small and split-K': 0.15}


def is_of_this_model(path, predicted):
    """Whether each of these times stands in the table, to its digits."""
    with open(path) as f:
        known = {float(x) for x in
                 re.findall(r'ROW\(\w+, \w+, \d+, \w+, [\d.]+, ([\d.]+)',
                            f.read())}
    return all(us in known for us in predicted)


def rank_correlation(a, b):
    """Spearman's; equal values share their mean rank."""
    def ranks(v):
        return [sum(o < x for o in v) + (v.count(x) - 1) / 2 for x in v]
    x, y = ranks(a), ranks(b)
    mid = (len(a) - 1) / 2
    xx, yy = (sum((r - mid) ** 2 for r in v) for v in (x, y))
    return sum((p - mid) * (q - mid) for p, q in zip(x, y)) / (xx * yy) ** 0.5


def main():
    p = argparse.ArgumentParser()
    p.add_argument('tool')
    p.add_argument('triton')
    p.add_argument('perf')
    p.add_argument('--aiter')
    p.add_argument('--rows', action='store_true')
    p.add_argument('--table')
    a = p.parse_args()
    with open(os.path.join(a.perf, 'anchors.json')) as f:
        anchors = json.load(f)
    todo = list(triton_rows(a.triton, anchors))
    if a.aiter:
        with open(os.path.join(a.perf, 'aiter_asm.json')) as f:
            todo += list(aiter_rows(a.aiter, json.load(f)))
    got = predict(a.tool, [t[2] for t in todo])
    groups = {}
    for group, us, _, ident in todo:
        g = got.get(ident, {})
        if 'us' not in g:
            print('# %s: %s' % (ident, g.get('text', 'no answer')))
            groups.setdefault(group, []).append((us, float('inf')))
            continue
        groups.setdefault(group, []).append((us, float(g['us'])))
        if a.rows:
            print('# %-12s measured %9.2f predicted %9.2f %+6.1f %%  %s' %
                  (ident, us, float(g['us']),
                   100 * (float(g['us']) / us - 1), g['text'][:150]))
    print('1..%d' % (len(groups) + bool(a.table)))
    for i, (group, pairs) in enumerate(groups.items(), 1):
        err = [q / m - 1 for m, q in pairs]
        mid = statistics.median(abs(e) for e in err)
        rank = rank_correlation([m for m, _ in pairs], [q for _, q in pairs])
        print('%sok %d - %s: %d rows, median |error| %.1f %%, median %+.1f %%,'
              ' 90 %% within %.0f %%, rank %.3f' %
              ('' if mid <= LIMITS[group] else 'not ', i, group, len(pairs),
               100 * mid, 100 * statistics.median(err),
               100 * sorted(abs(e) for e in err)[int(0.9 * len(err))], rank))
    if a.table:
        said = [q for pairs in groups.values() for _, q in pairs]
        print('%sok %d - the table of residuals is of this model; if not: '
              'tests/timing/residuals.py' %
              ('' if is_of_this_model(a.table, said) else 'not ',
               len(groups) + 1))
    return 0


if __name__ == '__main__':
    sys.exit(main())
