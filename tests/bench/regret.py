#!/usr/bin/env python3
"""How much slower kiln's default choice is than the best configuration found.

    regret.py BUILD [--all N] [--table N] [--seed S] [--list FILE.csv]
                    [--keep FILE.json] [--part I/N]

Both are predicted (docs/timing.md). Problems are drawn from AMD's tuned lists
and other presets and at random (tests/gen/draw.py), of known sizes, on both
targets. Of the first N (--all, 2) all of a grid is tried that kiln accepts
(sides of 16 to 256, K of a tile 64 to 256, loops, shares of K) and what `tune`
would try; of the next N (--table, 4) the 30 with the best scores, which are what
`tune` tries first, and 30 at random. --list: these problems instead, searched
as --all if that is more than 2, else as --table. --part: each Nth problem, from
the Ith on. --keep: times of configurations asked for are written there, and read
from there: to compare builds that choose otherwise and generate the same.
Prints a line a problem, the geometric mean and the worst."""
import argparse
import csv
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../gen'))
import draw  # noqa: E402  (problems at random)
import same  # noqa: E402  (what a build makes of a list)

PRESETS = os.path.join(HERE, '../../gen/tool/bench/presets')
SIDES = [16, 32, 64, 128, 256]
WAVES = {2: ['1x2'], 4: ['2x2', '1x4'], 8: ['2x4']}
SHARES = [1, 2, 3, 4, 6, 8, 16]
RANDOM = 30
COLUMNS = draw.COLUMNS + ['split-after']


def tuned(rng):
    """A row of a preset, on a target at random."""
    name = rng.choice(['aiter-tuned', 'aiter-tuned', 'aiter-models',
                       'primus-grouped', 'aiter-minimax', 'aiter-batched'])
    with open(os.path.join(PRESETS, name + '.csv'), encoding='ascii') as f:
        rows = list(csv.DictReader(x for x in f if x[0] != '#'))
    row = {k: v for k, v in rng.choice(rows).items() if k in draw.COLUMNS}
    row['arch'] = rng.choice(['gfx950', 'gfx950', 'gfx942'])
    return row


def drawn(rng):
    """One at random with sizes, of a family that scores are of; wgrad of no
    tokens is one whose K is not known."""
    while True:
        text = draw.table('problems', 1, rng.randrange(1 << 30))
        row = next(csv.DictReader(io.StringIO(text)))
        if row['family'] != 'moe' and row['n'] not in ('0', '1') and \
                row['m'] not in ('0', '') and row['k'] != '0' and \
                (row['family'] != 'wgrad' or row['tokens'] != '0'):
            return row


def problems(rng, count):
    """Two of three of lists, none twice."""
    found = []
    while len(found) < count:
        row = drawn(rng) if len(found) % 3 == 2 else tuned(rng)
        row = {c: row.get(c) or '' for c in COLUMNS}
        if row not in found:
            found.append(row)
    return found


def grid():
    """Forms of which kiln says whether they are one for a problem."""
    for bm in SIDES + [192]:
        for bn in SIDES + [192]:
            area = bm * bn
            n = 2 if area <= 512 else 4 if area <= 128 * 128 else 8
            for bk in (64, 128, 256):
                loops = [('simple', w) for w in WAVES[n]]
                if area >= 128 * 128:
                    loops += [('interleave', WAVES[n][0]), ('4-wave', '2x2'),
                              ('4-wave', '1x4')]
                if area == 256 * 256:
                    loops.append(('8-wave', '2x4'))
                for loop, waves in loops:
                    for shares in SHARES:
                        yield {'tile': '%dx%dx%d' % (bm, bn, bk),
                               'waves': waves, 'schedule': loop,
                               'split-k': str(shares)}


def ask(build, mode, rows):
    """The text that `same` has of each row."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, 'list.csv')
        with open(path, 'w', encoding='ascii', newline='') as f:
            out = csv.DictWriter(f, COLUMNS, lineterminator='\n')
            out.writeheader()
            out.writerows(rows)
        found = same.run(build, mode, 'row', path)
    return [found.get((i + 1, r['stage']), 'refused') for i, r in
            enumerate(rows)]


def configs(build, row, forms):
    """{configuration: form} of those that kiln takes for the problem."""
    rows = [{**row, **f} for f in forms]
    return {text: f for text, f in zip(ask(build, 'choices', rows), rows)
            if not text.startswith('refused')}


def tuned_forms(build, row):
    """What `tune` tries first."""
    text, = ask(build, 'best', [row])
    return [] if text.startswith('refused') else [
        dict(word.split('=') for word in one.split())
        for one in text.split(';') if one]


def seconds(text):
    return math.inf if text.startswith('refused') else float(text.split()[0])


class Times:
    """Of configurations, kept in a file if there is one."""

    def __init__(self, build, path):
        self.build, self.path, self.known = build, path, {}
        if path and os.path.exists(path):
            with open(path, encoding='ascii') as f:
                for line in f:
                    key, text = json.loads(line)
                    self.known[key] = text

    def of(self, row, texts):
        """What `same` says of each row of {choice: row}; of row itself first."""
        key = title(row)
        new = {t: r for t, r in texts.items()
               if key + '; ' + t not in self.known}
        own, *told = ask(self.build, 'times', [row] + list(new.values()))
        told = dict(zip(new, told))
        for t, x in told.items():
            self.known[key + '; ' + t] = x
        if self.path:
            with open(self.path, 'a', encoding='ascii') as f:
                f.writelines(json.dumps([key + '; ' + t, x]) + '\n'
                             for t, x in told.items())
        return [own] + [self.known[key + '; ' + t] for t in texts]


def regret(times, seed, row, whole):
    """(ratio, us of the default, us of the best, its configuration)."""
    texts = configs(times.build, row, grid())
    if not whole:
        pick = random.Random('%s %s' % (seed, title(row)))
        texts = {t: texts[t] for t in
                 pick.sample(sorted(texts), min(RANDOM, len(texts)))}
    texts = {**configs(times.build, row, tuned_forms(times.build, row)),
             **texts}
    told = times.of(row, texts)
    if told[0].startswith('refused'):
        return None
    own = seconds(told[0])
    best = min(told, key=seconds)
    return own / seconds(best), own, seconds(best), short(told[0]), \
        short(best)


def short(text):
    return ' '.join(w for w in text.split()[2:] if w.split('=')[0] in
                    ('tile', 'waves', 'schedule', 'stages', 'split-k',
                     'split-after', 'store') or
                    (w[:4] == 'cus=' and w != 'cus=0'))


def title(row):
    return ' '.join(v if k in ('family', 'arch') else '--%s %s' % (k, v)
                    for k, v in row.items() if v)


def put(name, found):
    """A line each as it comes, then what they are together."""
    ratios = []
    for ratio, row in found:
        if not ratio:
            continue
        ratios.append(ratio[0])
        print('%.3f  %.2f us, %.2f: %s; %s -> %s' % (
            ratio[0], ratio[1], ratio[2], title(row), ratio[3], ratio[4]),
              flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print('%s: %d problems, geometric mean %.3f, worst %.3f, above 1.10: '
              '%d' % (name, len(ratios), mean, max(ratios),
                      sum(r > 1.1 for r in ratios)))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('build')
    p.add_argument('--all', type=int, default=2)
    p.add_argument('--table', type=int, default=4)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--list')
    p.add_argument('--keep')
    p.add_argument('--part', default='1/1')
    a = p.parse_args()
    rows = problems(random.Random(a.seed), a.all + a.table)
    if a.list:
        with open(a.list, encoding='ascii') as f:
            rows = [{c: r.get(c) or '' for c in COLUMNS}
                    for r in csv.DictReader(x for x in f if x[0] != '#')]
        a.all = len(rows) if a.all > 2 else 0
    first, parts = map(int, a.part.split('/'))
    times = Times(a.build, a.keep)
    for name, part, whole in (('everything', rows[:a.all], True),
                              ('scores and random', rows[a.all:], False)):
        put(name, ((regret(times, a.seed, r, whole), r)
                   for r in part[first - 1::parts]))
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as e:
        sys.exit('%s: status %d' % (e.cmd[0], e.returncode))
