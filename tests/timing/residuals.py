#!/usr/bin/env python3
"""Makes runtime/sim/timing/timing_rows.def: measured objects and their predictions.

    residuals.py PREDICT_ROWS TRITON_DIR PERF_DIR --aiter HSA_DIR [-o FILE]
                 [--jobs N]

HSA_DIR is aiter's folder `hsa`; none of its objects is here. A row without a
prediction (an object that does not run) is told on standard error and left
out. The same rows in the same order whenever the model is the same."""
import argparse
import concurrent.futures
import json
import os
import re
import sys
import tempfile

import rows
import validate

HEAD = """/* timing_rows.def - objects whose times were published, and what the model
 * predicts of them: timing_error.h. Made by tests/timing/residuals.py, not
 * edited. Objects: aiter's hsa/ and tests/data/triton; times: aiter/configs
 * (its CSV file is named; gfx942: MI325X), tests/data/perf. `shape`: m x n x k,
 * "/n" divided n ways; moe: tokens x hidden x inter, experts, topk. Rate and loop
 * as in timing_error.h.
 *
 * ROW(target, type, resident, bound, measured us, predicted us, rate, loop,
 *     kind, object, shape, source) */
"""
BOUNDS = {'MFMA': 'MFMA', 'LDS': 'LDS', 'VMEM': 'VMEM', 'latency': 'LATENCY',
          'issue': 'ISSUE', 'HBM': 'HBM', 'launch': 'LAUNCH'}


def load(folder, name):
    with open(os.path.join(folder, name)) as f:
        return json.load(f)


def moe_shape(r):
    return '%dx%dx%d, %d, %d' % (r['token'], r['hidden'], r['inter'],
                                 r['experts'], r['topk'])


def gemm_shape(r, divided):
    return '%dx%dx%d%s' % (r['m'], r['n'], r['k'],
                           '/%d' % divided if divided > 1 else '')


def stem(name):
    return re.sub(r'^_ZN5aiter\d+', '', name)[:-1]


def measured_rows(a, scratch):
    """(launch, us, kind, object, shape, source), launches with idents."""
    anchors = load(a.perf, 'anchors.json')
    source = {r['id']: r for r in anchors}
    for _, us, line, ident in validate.triton_rows(a.triton, anchors):
        r = source[ident.split('-')[0]]
        yield (line, us, 'gemm', 'gfx950_bf16_nt_256x256x64',
               '%dx%dx%d' % (r['M'], r['N'], r['K']), 'HipKittens')
    data = load(a.perf, 'aiter_asm.json') + load(a.perf, 'aiter_drawn.json')
    for _, us, line, ident in validate.aiter_rows(a.aiter, data):
        r = data[int(ident[len('aiter'):])]
        parts = r['split_k'] or 1
        if 'f4gemm' in r['kernel']:
            parts = 1 << r['split_k']
        yield (line, us, 'split-K' if parts > 1 else 'gemm',
               stem(r['kernel']), gemm_shape(r, parts), r['csv'])
    for i, r in enumerate(load(a.perf, 'aiter_moe.json')):
        yield (rows.aiter_moe('moe%d' % i, a.aiter, r, scratch), r['us'],
               'moe', stem(r['kernel']), moe_shape(r), r['csv'])


def one(tool, line):
    return next(iter(validate.predict(tool, [line]).values()), {})


def text_of(row, got):
    line, us, kind, obj, shape, source = row
    target = re.search(r'gfx\d+', line.split('obj=')[1].split('args=')[0])
    where = target.group(0).upper()
    return ('ROW(%s, %s, %s, %s, %s, %s, %s, %s, "%s",\n    "%s", "%s",\n'
            '    "%s")\n' %
            (where, got['type'], got['resident'], BOUNDS[got['bound']],
             us, got['us'], got['rate'], got['inloop'], kind, obj, shape,
             os.path.basename(source)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('tool')
    p.add_argument('triton')
    p.add_argument('perf')
    p.add_argument('--aiter', required=True)
    p.add_argument('-o', default='/dev/stdout')
    p.add_argument('--jobs', type=int, default=2)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        todo = list(measured_rows(a, scratch))
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            got = list(pool.map(lambda t: one(a.tool, t[0]), todo))
    text = HEAD
    for row, g in zip(todo, got):
        if 'us' in g:
            text += text_of(row, g)
        else:
            print('%s %s: %s' % (row[3], row[4], g.get('text', 'no answer')),
                  file=sys.stderr)
    with open(a.o, 'w') as f:
        f.write(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
