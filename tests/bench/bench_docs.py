#!/usr/bin/env python3
"""Tables of predicted times in docs/, made again.

    bench_docs.py KILNC TESTS_DATA [--write DOCS] [--only TABLE,...]

Prints each table; --write puts it in place of the one in DOCS that has the
same head line. A time is predicted; "+-" is its error (docs/timing.md), a
time without one has no measured object that compares. What a head calls
published was measured by others; the pages say who."""
import argparse
import os
import re
import sys
import types

import bench_speed
from bench_speed import cell, us_of as us

MS = [1, 2, 4, 8, 16, 32, 64]
MINIMAX = [(9216, 6144), (6144, 6144), (6144, 8192), (4608, 6144),
           (3072, 6144), (6144, 4096), (6144, 3072), (2304, 6144),
           (1536, 6144), (6144, 2048), (6144, 1536), (1152, 6144),
           (768, 6144), (6144, 1024), (6144, 768), (2560, 6144)]
KINDS = [('gfx950', 'fp8', 'fp8'), ('gfx950', 'i8', 'i8'),
         ('gfx950', 'bf16', 'bf16'), ('gfx950', 'mxfp4', 'mxfp4'),
         ('gfx950', 'mxfp8', 'mxfp4'), ('gfx950', 'mxfp6', 'mxfp6'),
         ('gfx950', 'bf16', 'mxfp4'), ('gfx942', 'mxfp8', 'mxfp8'),
         ('gfx942', 'mxfp4', 'mxfp4'), ('gfx942', 'bf16', 'mxfp4')]
# Measured by others: ROCm/rocm-libraries pull request 12329, MI300X, f16,
# one row: N, K, us of wvSplitK and of hipBLASLt.
WVSPLITK = [(76032, 13312, 415.90, 497.12), (38016, 13312, 218.97, 255.54),
            (35584, 13312, 204.59, 244.15), (13312, 17792, 101.95, 118.96),
            (19008, 13312, 110.44, 121.30), (9984, 13312, 65.60, 72.50),
            (8896, 13312, 51.32, 71.12), (13312, 8896, 52.52, 71.85),
            (8192, 12288, 42.34, 61.53), (4992, 13312, 26.16, 43.31),
            (4096, 11008, 22.29, 32.77)]
# ROCm/aiter pull request 4772, MI355X, bf16 x mxfp4: N, K, M, us of FlyDSL.
FLYDSL = [(8448, 7168, 1, 17.896), (8448, 7168, 512, 65.249),
          (8448, 7168, 4096, 391.940), (1536, 7168, 1, 13.219),
          (1536, 7168, 512, 29.155), (1536, 7168, 4096, 86.897),
          (7168, 768, 1, 9.153), (7168, 768, 512, 15.541)]
DECODE = [('bf16', 8192, 8192, 2), ('bf16', 16384, 16384, 2),
          ('bf16', 129280, 7168, 2), ('fp8', 28672, 8192, 1)]
I4 = ['--scale', 'group128', '--scale-type', 'f16', '--scale-layout',
      'transposed']
# Weights of 4 bits beside bf16: word, type, what else is said of them.
NARROW = [('i4', 'i4', [*I4, '--zero-points', 'i4'])] + \
    [(w.upper(), 'i4', [*I4, '--zero-points', 'i4', '--b-layout', w])
     for w in ('gptq', 'awq')] + [('mxfp4', 'mxfp4', []),
                                  ('nvfp4', 'nvfp4', [])]
FEW = [('grouped', 64, 6, 2048, 2048, 'i4', I4),
       ('grouped', 8, 4, 5760, 2880, 'nvfp4', []),
       ('grouped', 32, 2, 5760, 2880, 'mxfp4', []),
       ('batched', 64, 6, 2048, 2048, 'mxfp4', []),
       ('batched', 32, 2, 512, 2048, 'i4', I4)]
MOE = ['moe', '--arch', 'gfx950']
MINIMAX_MOE = [*MOE, '--a', 'mxfp8', '--b', 'mxfp8', '--hidden', 6144,
               '--inter', 768, '--experts', 128, '--topk', 4, '--tokens', 64]


def dense(m, n, k, a, b=None, arch='gfx950', more=()):
    return ['gemm', '--arch', arch, '-m', m, '-n', n, '-k', k, '--a', a,
            '--b', b or a, *more]


def over(got, other):
    return '%.2f' % (us(got) / other) if us(got) else '-'


def table_rows(b):
    got = iter(b.all_kiln([dense(m, n, k, 'mxfp8') for n, k in MINIMAX
                           for m in MS]))
    return (['N', 'K'] + ['M %d' % m for m in MS],
            [[n, k] + [cell(next(got)) for _ in MS] for n, k in MINIMAX])


def table_types(b):
    ms = [1, 2, 4, 8, 16, 64]
    got = iter(b.all_kiln([dense(m, 2304, 6144, x, y, arch)
                           for arch, x, y in KINDS for m in ms]))
    return (['types', 'target'] + ['M %d' % m for m in ms],
            [['%s x %s' % (x, y), arch] + [cell(next(got)) for _ in ms]
             for arch, x, y in KINDS])


def table_published(b):
    todo = b.data['small_mxfp8']
    got = b.all_kiln([dense(r['m'], r['n'], r['k'], 'mxfp8') for r in todo])
    return (['M', 'N', 'K', 'kiln, predicted', 'pull request 3783', 'Triton'],
            [[r['m'], r['n'], r['k'], cell(g), '%.2f' % r['us'],
              '%.2f' % r['triton_us']] for r, g in zip(todo, got)])


def table_gemv942(b):
    got = b.all_kiln([dense(1, n, k, 'f16', arch='gfx942')
                      for n, k, _, _ in WVSPLITK])
    return (['N', 'K', 'kiln, predicted', 'wvSplitK, published', 'over it',
             'hipBLASLt, published'],
            [[n, k, cell(g), w, over(g, w), h]
             for (n, k, w, h), g in zip(WVSPLITK, got)])


def table_wide(b):
    got = b.all_kiln([dense(m, n, k, 'bf16', 'mxfp4')
                      for n, k, m, _ in FLYDSL])
    return (['N', 'K', 'M', 'kiln, predicted', 'pull request 4772',
             'over it'],
            [[n, k, m, cell(g), w, over(g, w)]
             for (n, k, m, w), g in zip(FLYDSL, got)])


def table_decode(b):
    todo = [(arch, peak, *x) for arch, peak in (('gfx950', 8.0),
                                                ('gfx942', 5.3))
            for x in DECODE]
    got = b.all_kiln([dense(1, n, k, a, arch=arch)
                      for arch, _, a, n, k, _ in todo])
    lines = []
    for (arch, peak, a, n, k, size), g in zip(todo, got):
        tbs = n * k * size / us(g) / 1e6 if us(g) else 0
        lines.append([arch, a, n, k, cell(g), '%.1f' % tbs,
                      '%.0f %%' % (100 * tbs / peak)])
    return ['target', 'type', 'N', 'K', 'predicted', 'TB/s of weights',
            'of the peak'], lines


def table_skinny(b):
    sizes = [(512, 16384), (4096, 4096), (12288, 4096), (7168, 8448),
             (28672, 8192), (57344, 8192)]
    kinds = [(arch, *x) for arch in ('gfx950', 'gfx942') for x in NARROW]
    got = iter(b.all_kiln([dense(1, n, k, 'bf16', x, arch, more)
                           for n, k in sizes for arch, _, x, more in kinds]))
    return (['N x K'] + ['%s %s' % x[:2] for x in kinds],
            [['%d x %d' % s] + ['%.1f' % us(next(got)) for _ in kinds]
             for s in sizes])


def table_few(b):
    flags = {'grouped': ('--groups', '--tokens'), 'batched': ('--batch', '-m')}
    got = iter(b.all_kiln([[family, '--arch', arch, flags[family][0], count,
                            flags[family][1], m, '-n', n, '-k', k, '--a',
                            'bf16', '--b', x, *more]
                           for family, count, m, n, k, x, more in FEW
                           for arch in ('gfx950', 'gfx942')]))
    return (['products', 'rows of each', 'N x K', 'bf16 x', 'gfx950',
             'gfx942'],
            [['%s, %d' % x[:2], x[2], '%d x %d' % x[3:5], x[5],
              cell(next(got)), cell(next(got))] for x in FEW])


def table_kimi(b):
    down = [*MOE, '--stage', 'gemm2', '--a', 'mxfp4', '--experts', 385,
            '--topk', 9, '--hidden', 7168, '--inter', 512, '--nt-b', 1,
            *bench_speed.STORED, '--reduce', 'atomic', '--tokens']
    published = {r['tokens']: r['us'] for r in b.data['gemm2_mxfp4']}
    tokens = [4, 16, 64, 256]
    got = iter(b.all_kiln([down + [t, '--block-m', 32] + b.packed(t, 9, 32)
                           for t in tokens] +
                          [down + [t, '--block-m', 16] for t in tokens]))
    packed = [cell(next(got)) for _ in tokens]
    return (['tokens', 'packed, predicted', 'FlyDSL, published',
             'random, predicted'],
            [[t, p, published.get(t, ''), cell(next(got))]
             for t, p in zip(tokens, packed)])


def table_minimax(b):
    kinds = [('plain', []), ('stored', bench_speed.STORED)]
    got = iter(b.all_kiln([[*MINIMAX_MOE, '--stage', s, *more]
                           for _, more in kinds
                           for s in ('gemm1', 'gemm2')]))
    return (['layouts', 'gemm1 6144 x 768, predicted', 'gemm2, predicted'],
            [[name, cell(next(got)), cell(next(got))] for name, _ in kinds])


def table_gpt_oss(b):
    kinds = [('bf16', 'bf16'), ('bf16', 'mxfp4'),
             ('bf16', 'mxfp4', '--quant', 'even'), ('mxfp8', 'mxfp4'),
             ('bf16', 'fp8')]
    tokens = [16, 128, 1024]
    got = iter(b.all_kiln([[*MOE, '--hidden', 2880, '--inter', 2880,
                            '--experts', 128, '--topk', 4, '--stage', 'gemm1',
                            '--tokens', t, '--a', x, '--b', y, *more]
                           for t in tokens for x, y, *more in kinds]))
    return (['tokens'] + ['%s x %s%s' % (x, y, more and ', `%s`' %
                                         ' '.join(more) or '')
                          for x, y, *more in kinds],
            [[t] + [cell(next(got)) for _ in kinds] for t in tokens])


def table_kimi_k2(b):
    groups = ['--scale', 'group32', '--scale-type', 'bf16']
    kinds = [(arch, x, more) for arch in ('gfx950', 'gfx942')
             for x, more in (('i4', groups), ('nvfp4', []), ('mxfp4', []))]
    tokens = [1, 16, 64, 256]
    got = iter(b.all_kiln([['moe', '--arch', arch, '--a', 'bf16', '--b', x,
                            '--hidden', 7168, '--inter', 2048, '--experts',
                            384, '--topk', 8, '--tokens', t, '--stage', s,
                            *more] for t in tokens for arch, x, more in kinds
                           for s in ('gemm1', 'gemm2')]))
    return (['tokens'] + ['%s %s' % (arch, x) for arch, x, _ in kinds],
            [[t] + ['%.0f, %.0f' % (us(next(got)), us(next(got)))
                    for _ in kinds] for t in tokens])


def table_types942(b):
    kinds = ['fp8', 'bf16', 'mxfp8', 'mxfp4', 'mxfp6', 'mxbf8']
    got = b.all_kiln([dense(8192, 8192, 8192, a, arch='gfx942')
                      for a in kinds])
    return (['type', 'tile', 'TFLOPS'],
            [[a + (', unscaled' if a == 'fp8' else ''),
              g['config'].split()[0].split('=')[1],
              '%.0f' % g['predicted']['tflops']]
             for a, g in zip(kinds, got) if isinstance(g, dict)])


TABLES = {'rows': ('smallm.md', table_rows),
          'types': ('smallm.md', table_types),
          'published': ('smallm.md', table_published),
          'gemv942': ('smallm.md', table_gemv942),
          'wide': ('smallm.md', table_wide),
          'decode': ('smallm.md', table_decode),
          'skinny': ('smallm.md', table_skinny),
          'few': ('smallm.md', table_few),
          'kimi': ('moe.md', table_kimi),
          'minimax': ('moe.md', table_minimax),
          'gpt-oss': ('moe.md', table_gpt_oss),
          'kimi-k2': ('moe.md', table_kimi_k2),
          'types942': ('families.md', table_types942)}


def line_of(cells):
    return '| %s |\n' % ' | '.join(str(c) for c in cells)


def put(path, text):
    """In place of the table with the same head line."""
    with open(path) as f:
        page = f.read()
    head = text.split('\n', 1)[0] + '\n'
    found = re.search(re.escape(head) + r'(?:\|.*\n)*', page)
    if not found:
        print('%s has no table %s' % (path, head), file=sys.stderr)
        return
    with open(path, 'w') as f:
        f.write(page[:found.start()] + text + page[found.end():])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('data')
    p.add_argument('--write')
    p.add_argument('--only', default=','.join(TABLES))
    p.add_argument('--jobs', type=int, default=2)
    a = p.parse_args()
    b = bench_speed.Bench(types.SimpleNamespace(kilnc=a.kilnc, data=a.data,
                                                jobs=a.jobs, sample=1))
    for name in a.only.split(','):
        page, make = TABLES[name]
        head, lines = make(b)
        text = line_of(head) + '|%s\n' % ('---|' * len(head)) + \
            ''.join(line_of(x) for x in lines)
        print('\n%s, %s\n\n%s' % (page, name, text), end='', flush=True)
        if a.write:
            put(os.path.join(a.write, page), text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
