#!/usr/bin/env python3
"""Times of AMD's assembly objects, from every version of its tuned CSV files.

    measured.py AITER_GIT PERF_DIR [--each 8] [--dry]

AITER_GIT is the git directory of ROCm/aiter (bare will do). The lists
aiter_*.json of PERF_DIR are written again: the time of a row is the median of
the different times its object has at that shape, in all versions of all files
(`times`: how many, where more than one), and rows are drawn at random until
each object has --each in each size class, or all there are. A time counts if
the object's bytes were what they are now when it was first written down; a
row that has no such time keeps those of the object before (`older`). Left
out: copies, one time for several shapes of an object in one file; what writes
f32 or adds a bias; more than 1500 us. The same lists from the same history,
and the same again from the lists it wrote."""
import argparse
import collections
import csv
import io
import itertools
import json
import os
import random
import re
import statistics
import subprocess

TARGETS = {'256': 'gfx950', '304': 'gfx942'}
FOLDERS = ('i8gemm', 'f4gemm', 'bf16gemm', 'fp8gemm_blockscale',
           'fmoe_2stages')
SHORT_US, LONG_US = 50, 1500
MOE = {'token': 'token', 'hidden': 'model_dim', 'inter': 'inter_dim',
       'experts': 'expert', 'topk': 'topk', 'block_m': 'block_m',
       'ksplit': 'ksplit'}
GEMM = {'m': 'M', 'n': 'N', 'k': 'K', 'split_k': 'splitK'}
LISTS = ('aiter_asm.json', 'aiter_drawn.json', 'aiter_moe.json')


def stem(name):
    return re.sub(r'^_ZN5aiter\d+', '', name)[:-1]


class Git:
    """What of a repository's history is needed."""

    def __init__(self, folder):
        self.git = ['git', '--git-dir', folder]
        self.trees = {}

    def run(self, *words, stdin=None):
        return subprocess.run(self.git + list(words), input=stdin, check=True,
                              capture_output=True).stdout

    def contents(self, blobs):
        """Texts of blobs, for those that the snapshot has."""
        out = io.BytesIO(self.run('cat-file', '--batch',
                                  stdin='\n'.join(blobs).encode()))
        for head in iter(out.readline, b''):
            words = head.decode().split()
            if words[1] != 'missing':
                yield words[0], out.read(int(words[2])).decode()
                out.readline()

    def versions(self):
        """(commit, file, text) of the tuned CSV files, oldest first."""
        log = self.run('log', '--reverse', '--raw', '--no-abbrev',
                       '--no-renames', '--first-parent', '--format=C %H',
                       'HEAD', '--', 'aiter/configs').decode()
        found, commit = [], None
        for line in log.splitlines():
            if line.startswith('C '):
                commit = line[2:]
            elif line.endswith('.csv') and 'untuned' not in line:
                meta, path = line.split('\t')
                found.append((commit, path, meta.split()[3]))
        text = dict(self.contents(sorted({f[2] for f in found})))
        return [(c, p, text[b]) for c, p, b in found if b in text]

    def tree(self, commit):
        """{path: blob} of the objects."""
        if commit not in self.trees:
            out = self.run('ls-tree', '-r', commit, 'hsa').decode()
            self.trees[commit] = {l.split('\t')[1]: l.split()[2]
                                  for l in out.splitlines()}
        return self.trees[commit]


def objects(git):
    """{(target, name in lower case): blob}, as they are now."""
    found = {}
    for path, blob in git.tree('HEAD').items():
        m = re.match(r'hsa/(gfx\d+)/(\w+)/(\w+)\.co$', path)
        if m and m.group(2) in FOLDERS:
            found[m.group(1), m.group(3).lower()] = blob
    return found


def row_of(line, path):
    """A row of the lists from one of a CSV file; None where it is none of
    ours."""
    moe = 'token' in line
    name = line.get('kernelName1' if moe else 'kernelName') or ''
    target = TARGETS.get(line.get('cu_num'))
    us = line.get('us1' if moe else 'us')
    if not name.startswith('_ZN5aiter') or not target or not us:
        return None
    if line.get('outdtype') == 'torch.float32' or \
            (line.get('bias') or '').lower() == 'true':
        return None
    row = {'arch': target, 'csv': path.replace('aiter/configs/', ''),
           'kernel': name, 'us': float(us)}
    row.update((k, int(float(line.get(v) or 0)))
               for k, v in (MOE if moe else GEMM).items())
    return row


def key_of(row):
    shape = MOE if 'token' in row else GEMM
    return (row.get('arch', 'gfx950'), row['kernel'],
            *(row[k] for k in shape))


def without_copies(rows):
    """Of (commit, row), those whose time their file has once for their
    object."""
    shapes = collections.defaultdict(set)
    for _, r in rows:
        shapes[r['csv'], r['kernel'], r['us']].add(key_of(r))
    return [(c, r) for c, r in rows
            if len(shapes[r['csv'], r['kernel'], r['us']]) == 1]


def read_times(git):
    """{key: {us: row}} of the objects as they are, and of older ones."""
    blobs, seen, first = objects(git), set(), []
    now, older = (collections.defaultdict(dict) for _ in range(2))
    for commit, path, text in git.versions():
        for line in csv.DictReader(io.StringIO(text)):
            row = row_of(line, path)
            mark = row and (row['csv'], row['us'], key_of(row))
            if row and mark not in seen:
                seen.add(mark)
                first.append((commit, row))
    for commit, row in without_copies(first):
        blob = blobs.get((row['arch'], stem(row['kernel']).lower()))
        same = blob in git.tree(commit).values()
        if blob:
            (now if same else older)[key_of(row)].setdefault(row['us'], row)
    return now, older


def renewed(row, now, older):
    """The row with the median of its times."""
    key, row = key_of(row), {k: v for k, v in row.items()
                             if k not in ('times', 'older')}
    times = now.get(key) or older.get(key)
    if not times:
        return row
    row['us'] = round(statistics.median(times), 4)
    if len(times) > 1:
        row['times'] = len(times)
    if key not in now:
        row['older'] = True
    return row


def class_of(row):
    parts = row.get('split_k', 0)
    return (row.get('arch', 'gfx950'), row['kernel'],
            parts > (0 if 'f4gemm' in row['kernel'] else 1),
            row['us'] > SHORT_US)


def drawn(have, now, each):
    """Rows beside those we have, up to `each` of a class."""
    count = collections.Counter(class_of(r) for r in have)
    known = {key_of(r) for r in have}
    classes = collections.defaultdict(list)
    for key in sorted(now):
        row = renewed(next(iter(now[key].values())), now, {})
        if key not in known and row['us'] <= LONG_US:
            classes[class_of(row)].append(row)
    for c, rows in classes.items():
        n = max(0, min(len(rows), each - count[c]))
        yield from random.Random(repr(c)).sample(rows, n)


def spread(now):
    """How far two times of one object at one shape are apart, by class."""
    off, shapes = collections.defaultdict(list), collections.Counter()
    for times in now.values():
        c = class_of(next(iter(times.values())))
        kind = (c[0], re.match(r'[A-Za-z0-9]+', stem(c[1])).group(0), *c[2:])
        pairs = list(itertools.combinations(sorted(times), 2))
        off[kind] += [b / a - 1 for a, b in pairs]
        shapes[kind] += bool(pairs)
    for kind in sorted(k for k in off if off[k]):
        far = sorted(off[kind])
        yield ('| %s | %s%s | %s | %d | %.1f %% | %.0f %% |' %
               (kind[0], kind[1], ', split-K' if kind[2] else '',
                'above 50 us' if kind[3] else 'up to 50 us', shapes[kind],
                100 * statistics.median(far), 100 * far[len(far) * 9 // 10]))


def save(path, rows):
    with open(path, 'w') as f:
        f.write('[\n' + ',\n'.join(json.dumps(r, sort_keys=True)
                                   for r in rows) + '\n]\n')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('aiter')
    p.add_argument('perf')
    p.add_argument('--each', type=int, default=8)
    p.add_argument('--dry', action='store_true')
    a = p.parse_args()
    now, older = read_times(Git(a.aiter))
    lists = {}
    for name in LISTS:
        with open(os.path.join(a.perf, name)) as f:
            lists[name] = [renewed(r, now, older) for r in json.load(f)]
    new = list(drawn(sum(lists.values(), []), now, a.each))
    for row in new:
        lists['aiter_moe.json' if 'token' in row
              else 'aiter_drawn.json'].append(row)
    print('\n'.join(spread(now)))
    for name, rows in lists.items():
        print('%s: %d rows, %d with several times, %d of an older object' %
              (name, len(rows), sum('times' in r for r in rows),
               sum('older' in r for r in rows)))
        if not a.dry:
            save(os.path.join(a.perf, name), rows)
    return 0


if __name__ == '__main__':
    main()
