#!/usr/bin/env python3
"""What choices a build changed, and what they take.

    changed.py OLD NEW [--seed S] [--most N] [--list FILE.csv]

OLD and NEW are builds. The lists of choices.csv, or one of draw.py's columns,
are chosen for by both; a problem whose choice differs (100 or N at random of
more) is timed with either choice, predicted (docs/timing.md). Prints a line
each, and by family the geometric mean of new over old, how many are
slower by more than 1 and 5 %, and the worst."""
import argparse
import collections
import csv
import math
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../gen'))
import draw  # noqa: E402  (the columns of a list)
import same  # noqa: E402  (what a build makes of a list)

PRESETS = os.path.join(HERE, '../../gen/tool/bench/presets')


def rows_of(path):
    with open(path, encoding='ascii') as f:
        return list(csv.DictReader(x for x in f if x[0] != '#'))


def changed(old, new, lists):
    """The rows of lists, a target each, that OLD and NEW choose differently
    for; a moe row is left alone, since its stages are timed together."""
    for target, path, read in lists:
        a, b = (same.run(x, 'choices', target, path) for x in (old, new))
        rows = rows_of(read)
        for row, stage in sorted(a):
            if not stage and a[row, stage] != b[row, stage]:
                one = {c: rows[row - 1].get(c) or '' for c in draw.COLUMNS}
                one['arch'] = one['arch'] if target == 'row' else target
                yield one


def times(build, rows, scratch):
    """The words that `same` has of each row; none of a refused one."""
    path = os.path.join(scratch, 'timed.csv')
    with open(path, 'w', encoding='ascii', newline='') as f:
        out = csv.DictWriter(f, draw.COLUMNS, lineterminator='\n')
        out.writeheader()
        out.writerows(rows)
    found = same.run(build, 'times', 'row', path)
    told = [found.get((i + 1, ''), 'refused') for i in range(len(rows))]
    return [[] if t.startswith('refused') else t.split() for t in told]


def line(row, old, new):
    """(ratio, family, text): microseconds and scores, the problem, choices."""
    name = ' '.join(v if k in ('family', 'arch') else '--%s %s' % (k, v)
                    for k, v in row.items() if v)
    return float(new[0]) / float(old[0]), row['family'], (
        '%s us, %s (scores %s, %s): %s; %s -> %s' % (
            old[0], new[0], old[1], new[1], name, ' '.join(old[2:7]),
            ' '.join(new[2:7])))


def put(found):
    kinds = collections.defaultdict(list)
    for ratio, kind, text in sorted(found):
        print('%.3f  %s' % (ratio, text))
        kinds[kind].append(ratio)
        kinds['all'].append(ratio)
    for kind, r in sorted(kinds.items()):
        print('%s: %d changed, geometric mean %.3f, slower by more than 1 %%: '
              '%d, 5 %%: %d, worst %.3f' % (
                  kind, len(r), math.exp(sum(map(math.log, r)) / len(r)),
                  sum(x > 1.01 for x in r), sum(x > 1.05 for x in r), max(r)))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('old')
    p.add_argument('new')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--most', type=int, default=100)
    p.add_argument('--list')
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        lists = [('row', a.list, a.list)] if a.list else [
            (t, x, os.path.join(PRESETS, x + '.csv') if t != 'row' else x)
            for _, t, x in same.all_lists(scratch)]
        rows = list(changed(a.old, a.new, lists))
        print('%d choices differ' % len(rows), flush=True)
        rows = random.Random(a.seed).sample(rows, min(a.most, len(rows)))
        old, new = (times(b, rows, scratch) for b in (a.old, a.new))
    put([line(*x) for x in zip(rows, old, new) if x[1] and x[2]])


if __name__ == '__main__':
    try:
        main()
    except subprocess.CalledProcessError as e:
        sys.exit('%s: status %d' % (e.cmd[0], e.returncode))
