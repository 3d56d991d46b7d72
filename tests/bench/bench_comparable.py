#!/usr/bin/env python3
"""How much of what kiln makes has no measured object that compares, so that
its predictions have no error bar: by family.

    bench_comparable.py KILNC [--each N] [--seed S] [--status PAGE] [LIST.csv]

Without a list: N variants of each family, drawn from target, layout, types,
output and scales, as `kilnc list` has them; a draw that kiln refuses counts
for nothing. With a page like docs/status.md: N of the checked cells of each of
its tables (0: all), at the same sizes. With a list: its rows, by `kilnc bench`; `_group` or the family
names a line."""
import argparse
import collections
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile

TYPES = ['f16', 'bf16', 'fp8', 'bf8', 'i8', 'mxfp8', 'mxbf8', 'mxfp6',
         'mxbf6', 'mxfp4']
SIZES = {'gemm': ['-m', '2048', '-n', '2048', '-k', '2048'],
         'batched': ['-m', '512', '-n', '512', '-k', '512', '--batch', '8'],
         'grouped': ['-n', '2048', '-k', '2048', '--group-lens',
                     '512,512,512,512,512,512,512,512'],
         'wgrad': ['-m', '2048', '-n', '2048', '--layout', 'tn',
                   '--group-lens', '512,512,512,512,512,512,512,512'],
         'moe': ['--stage', 'gemm1', '--hidden', '2048', '--inter', '1024',
                 '--experts', '16', '--topk', '2', '--tokens', '64']}


def draw(rng, family):
    a = rng.choice(TYPES)
    b = a if rng.random() < 0.5 else rng.choice(TYPES)
    words = [family, '--arch', rng.choice(['gfx950', 'gfx942']), '--a', a,
             '--b', b, *SIZES[family]]
    if family in ('gemm', 'batched', 'grouped'):
        words += ['--layout', rng.choice(['nt', 'nn', 'tn'])]
    if rng.random() < 0.3:
        words += ['--out', rng.choice(['f16', 'f32'])]
    if rng.random() < 0.4:
        words += ['--scale', rng.choice(['tensor', 'row', 'block128'])]
    return words


def rows_of(kilnc, words):
    """validated_rows, None for a refusal."""
    r = subprocess.run([kilnc, 'time', *words, '--json', '-'], text=True,
                       capture_output=True, check=False)
    return json.loads(r.stdout)['predicted']['validated_rows'] \
        if not r.returncode else None


def from_draws(a):
    rng = random.Random(a.seed)
    for family in SIZES:
        got = 0
        while got < a.each:
            n = rows_of(a.kilnc, draw(rng, family))
            if n is not None:
                got += 1
                yield family, n > 0


FORMS = {'gemm, few rows': ['--schedule', 'gemv', '-m', '5'],
         'gemm, K divided': ['--split-k', '3']}


def merged(words, more):
    if '-m' in more and '-m' in words:
        at = words.index('-m')
        words = words[:at] + words[at + 2:]
    return words + more


def cells_of(page):
    """(table, words) of each checked cell."""
    form = None
    for text in page:
        form = text[3:].strip() if text.startswith('## ') else form
        row = re.match(r'\| (\w+) x (\w+), (\w+) \|(.*)\|', text)
        if not row:
            continue
        family = form.split(',')[0]
        for i, cell in enumerate(row.group(4).split('|')):
            if cell.strip() != 'checked':
                continue
            words = [family, '--arch', 'gfx942' if i > 2 else 'gfx950', '--a',
                     row.group(1), '--b', row.group(2), *SIZES[family]]
            if family in ('gemm', 'batched', 'grouped'):
                words += ['--layout', ('nt', 'nn', 'tn')[i % 3]]
            if row.group(3) != 'mx32':
                words += ['--scale', row.group(3)]
            yield form, merged(words, FORMS.get(form, []))


def from_status(a):
    with open(a.status) as f:
        cells = collections.defaultdict(list)
        for form, words in cells_of(f):
            cells[form].append(words)
    rng = random.Random(a.seed)
    for form, all_words in cells.items():
        drawn = rng.sample(all_words, min(a.each or len(all_words),
                                          len(all_words)))
        for words in drawn:
            n = rows_of(a.kilnc, words)
            if n is not None:
                yield form, n > 0


def from_list(a):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'now.csv')
        subprocess.run([a.kilnc, 'bench', a.list, '-o', out, *(
            ['--shard', a.shard] if a.shard else [])], check=False,
                       stdout=subprocess.DEVNULL)
        with open(out) as f:
            for r in csv.DictReader(f):
                if r['us']:
                    yield (r.get('_group') or r['family'],
                           bool(r['_error_pct']))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('list', nargs='?')
    p.add_argument('--each', type=int, default=30)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--shard')
    p.add_argument('--status')
    a = p.parse_args()
    n, without = collections.Counter(), collections.Counter()
    for family, compares in (from_list(a) if a.list else from_status(a)
                             if a.status else from_draws(a)):
        n[family] += 1
        without[family] += not compares
    print('| family | predictions | without a comparable row |')
    print('|---|---|---|')
    for family in n:
        print('| %s | %d | %.0f %% |' % (family, n[family],
                                        100 * without[family] / n[family]))
    return 0


if __name__ == '__main__':
    sys.exit(main())
