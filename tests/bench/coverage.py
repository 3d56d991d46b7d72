#!/usr/bin/env python3
"""How near its limit each kind of problem is predicted to run, by default.

    coverage.py KILNC [--seed S] [--drawn N] [--jobs J] [--only REGEX]
                [--rows FILE.csv] [--docs FILE.md]

share = (max(products at the power ceiling of the fastest instruction for the
types, bytes of operands at 6.4 TB/s (gfx950; gfx942 4.73) and of the output)
+ 2.6 us) / predicted time

The problems are a list and a third as many drawn again; --only takes those of
classes whose names match. --docs writes the table between the
comments of a page. Output is TAP: each class against its goal, where it has
one."""
import argparse
import concurrent.futures
import csv
import json
import math
import random
import re
import resource
import subprocess
import sys

from bench_speed import cell

RATE = {'gfx950': 6.4, 'gfx942': 4.73}      # TB/s
LAUNCH = 2.6                               # us
BITS = {'bf16': 16, 'f16': 16, 'fp8': 8, 'bf8': 8, 'i8': 8, 'mxfp8': 8,
        'mxbf8': 8, 'mxfp6': 6, 'mxbf6': 6, 'mxfp4': 4, 'f32': 32, 'i4': 4,
        'nvfp4': 4}
MATHS = {'gfx950': ('ieee', 'bf16x3'), 'gfx942': ('ieee', 'xf32', 'bf16x3')}
TYPES = ('bf16', 'f16', 'fp8', 'bf8', 'i8', 'mxfp8', 'mxfp6', 'mxfp4')
# K x N of weights: gpt-oss, DeepSeek-V3, Kimi-K2, Llama 3, Qwen3.
MODELS = ((2880, 5120), (2880, 2880), (7168, 2112), (7168, 18432),
          (2048, 7168), (7168, 4096), (4096, 14336), (8192, 28672),
          (5120, 25600), (4096, 12288))
# class: least share of any problem in it
GOALS = {'rows of no 16 bytes': 50, 'MX, K tail or odd scales': 80,
         '8-bit, K tail': 80, 'M, N tail': 80, 'mxfp6': 80, 'M 33 to 512': 55,
         'small output, deep K': 45}
LEAST = 45                                 # of any class
MARKS = '<!-- coverage -->', '<!-- end of coverage -->'


class Problem(dict):
    """Flags of a launch; `arch` and `family` are apart."""

    def __getattr__(self, name):
        return self.get(name, {'family': 'gemm', 'layout': 'nt', 'batch': 1,
                               'scale': 'none', 'groups': 1, 'm': 0,
                               'math': 'ieee'}.get(name))

    def mx(self):
        return self.b.startswith('mx')

    def words(self):
        flags = []
        for k, v in self.items():
            if k not in ('arch', 'family'):
                flags += ['-' + k if k in 'mnk' else '--' + k, str(v)]
        return [self.family] + flags + ['--arch', self.arch]

    def products(self):
        rows = self.tokens * self.groups if self.family == 'grouped' else self.m
        return 2.0 * rows * self.n * self.k * self.batch

    def operand_bytes(self):
        rows, weights = self.m, 1
        if self.family == 'grouped':
            rows, weights = self.tokens * self.groups, self.groups
        one = 1 if self.get('scale-type') == 'e8m0' else 4
        scales = (1 / 32 if self.mx() else one / 128 if self.scale == 'block128'
                  else 0)
        a = BITS[self.a] / 8 + (scales if self.a == self.b else 0)
        b = BITS[self.b] / 8 + (scales / 128 if self.scale == 'block128'
                                else scales)
        if self.b == 'i4':               # f16, and a zero point
            b += 2.5 / 128
        if self.b == 'nvfp4':
            b += 1 / 16
        return self.batch * self.k * (rows * a + weights * self.n * b)

    def limit(self, ceiling):
        rows = self.tokens * self.groups if self.family == 'grouped' else self.m
        out = rows * self.n * self.batch * (4 if self.a == 'i8' else 2)
        memory = self.operand_bytes() / RATE[self.arch]
        each = 3 if self.math == 'bf16x3' else 1
        return max(each * self.products() / ceiling, memory + out /
                   RATE[self.arch]) * 1e-6 + LAUNCH

    def kind(self):
        """The class: the first that describes it."""
        bits, rows = BITS[self.a], [self.k * BITS[self.a],
                                    self.k * BITS[self.b]]
        if self.layout != 'nt':
            rows = [self.n * bits, (self.m if self.layout == 'tn' else self.k)
                    * bits]
        tests = (
            ('f32 by ' + self.math, self.a == 'f32'),
            ('16-bit x i4', self.b == 'i4'),
            ('16-bit x narrow, odd rows', self.a != self.b and self.k % 128 != 0),
            ('16-bit x nvfp4', self.b == 'nvfp4'),
            ('grouped', self.family == 'grouped'),
            ('batched', self.family == 'batched'),
            ('MX on gfx942', self.mx() and self.arch == 'gfx942'),
            ('16-bit x narrow', self.a != self.b),
            ('128-blocks of powers of two', self.get('scale-type') == 'e8m0'),
            ('rows of no 16 bytes', any(r % 128 for r in rows)),
            ('128-blocks', self.scale == 'block128'),
            ('MX, K tail or odd scales', self.mx() and self.k % 128 != 0),
            ('mxfp6', bits == 6),
            ('M to 32', self.m <= 32), ('M 33 to 512', self.m <= 512),
            ('small output, deep K', self.m * self.n <= 1 << 20 and
             self.k >= 8192),
            ('%s, K tail' % ('8-bit' if bits == 8 else '16-bit'),
             self.k * bits % 1024 != 0),
            ('M, N tail', self.m % 256 != 0 or self.n % 256 != 0),
            ('8-bit nn, tn', self.layout != 'nt' and bits == 8),
            ('16-bit nn, tn', self.layout != 'nt'),
            ('row, tensor scales', self.scale in ('row', 'tensor')),
            ('MX', self.mx()), ('%d-bit' % bits, True))
        return next(name for name, holds in tests if holds)


def dense(t, m, n, k, arch, **more):
    return Problem(a=t, b=t, m=m, n=n, k=k, arch=arch, **more)


def listed():
    """The list: sizes of models and the edges between classes."""
    for arch in RATE:
        for t in TYPES:
            for size in (2048, 4096, 8192):
                yield dense(t, size, size, size, arch)
        for t in ('bf16', 'fp8', 'mxfp8', 'mxfp4'):
            for k in (4097, 4098, 4104, 4112, 4128, 2880):
                yield dense(t, 4096, 4096, k, arch)
            for m, n in ((4100, 4100), (4100, 4096), (3000, 5000)):
                yield dense(t, m, n, 4096, arch)
            for m in (1, 64, 256):
                yield dense(t, m, 4096, 8192, arch)
            for m, n in ((512, 512), (1024, 1024)):
                yield dense(t, m, n, 16384, arch)
            for i, (k, n) in enumerate(MODELS):
                yield dense(t, (32, 1024, 8192)[i % 3], n, k, arch)
        for t in ('bf16', 'fp8', 'i8'):
            for layout in ('nn', 'tn'):
                for size in (4096, 4098, 8192):
                    yield dense(t, size, size, size, arch, layout=layout)
        for scale in ('tensor', 'row', 'block128'):
            for size in (2048, 4096, 8192):
                yield dense('fp8', size, size, size, arch, scale=scale)
        for m, n, k in ((2048,) * 3, (4096,) * 3, (8192,) * 3, (16384, 7168, 16384),
                        (16, 7168, 2048), (128, 4096, 7168), (1024, 2880, 2880)):
            yield dense('fp8', m, n, k, arch, **{'scale': 'block128', 'scale-type': 'e8m0'})
        for b in ('mxfp4', 'i8', 'fp8'):
            for m in (1, 512, 4096):
                yield Problem(a='bf16', b=b, m=m, n=7168, k=8448, arch=arch)
        for b in ('mxfp4', 'nvfp4', 'i8', 'fp8'):
            for m, n, k in ((64, 2880, 2880), (1024, 2880, 2880), (64, 4104, 4104),
                            (1024, 4104, 4104), (1024, 2882, 2882)):
                if b[-1] == '8' or k != 2882:
                    yield Problem(a='bf16', b=b, m=m, n=n, k=k, arch=arch,
                                  **({'scale': 'nv16'} if b == 'nvfp4' else {}))
        for math in MATHS[arch]:
            for m, n, k in ((8192, 8192, 8192), (4096, 4096, 4096),
                            (4096, 256, 7168), (1024, 384, 7168), (64, 256, 7168)):
                yield dense('f32', m, n, k, arch, math=math)
        for layout in ('plain', 'awq', 'gptq'):
            for m in (1, 64, 512, 4096):
                yield Problem(**{
                    'a': 'bf16', 'b': 'i4', 'm': m, 'n': 7168, 'k': 8448, 'arch': arch,
                    'scale': 'group128', 'scale-type': 'f16', 'zero-points': 'i4',
                    'scale-layout': 'transposed', 'b-layout': layout})
        for m in (1, 64, 512, 4096):
            yield Problem(a='bf16', b='nvfp4', m=m, n=7168, k=8448, arch=arch,
                          scale='nv16')
        for t in ('bf16', 'fp8', 'mxfp8', 'mxfp4'):
            for groups, tokens, n, k in ((32, 1024, 5760, 2880),
                                         (32, 1024, 2880, 2880),
                                         (16, 2048, 4096, 7168)):
                yield Problem(family='grouped', a=t, b=t, n=n, k=k, arch=arch,
                              groups=groups, tokens=tokens)
            for batch, m, n, k in ((128, 16, 512, 128), (16, 1024, 1024, 1024)):
                yield dense(t, m, n, k, arch, family='batched', batch=batch)


def drawn(rng):
    t = rng.choice(TYPES)
    sizes = [rng.choice((64, 256, 512, 1024, 2880, 4096, 7168, 8192)) +
             rng.choice((0, 0, 0, 1, 4, 16, 32, 100)) for _ in range(3)]
    more = {}
    if t in ('bf16', 'f16', 'fp8', 'bf8', 'i8') and rng.random() < 0.3:
        more['layout'] = rng.choice(('nn', 'tn'))
    if t in ('fp8', 'bf8') and rng.random() < 0.4:
        more['scale'] = rng.choice(('tensor', 'row', 'block128'))
    return dense(t, *sizes, rng.choice(list(RATE)), **more)


def predict(kilnc, problem):
    got = subprocess.run([kilnc, 'time'] + problem.words() + ['--json', '-'],
                         capture_output=True, text=True, check=False)
    return json.loads(got.stdout) if got.returncode == 0 else None


def ceilings(kilnc, problems, pool):
    """Products a second of the types, at the clock of busy matrix pipes."""
    keys = sorted({(p.arch, p.a, p.b, p.scale, p.math) for p in problems})
    whole = [Problem(arch=arch, a=a, b=b, m=1024, n=1024, k=1024,
                     **({} if s == 'none' else {'scale': s}),
                     **({} if m == 'ieee' else {'math': m}))
             for arch, a, b, s, m in keys]
    docs = pool.map(lambda p: predict(kilnc, p), whole)
    return {k: d['predicted']['ceiling_tflops'] for k, d in zip(keys, docs)}


def table(rows):
    """Classes by target: how many, geometric mean, worst, which."""
    kinds = {}
    for p, doc, share in rows:
        kinds.setdefault((p.kind(), p.arch), []).append((share, p, doc))
    for (kind, arch), of in sorted(kinds.items(), key=lambda x: min(
            s for s, *_ in x[1])):
        share, p, doc = min(of, key=lambda x: x[0])
        mean = math.exp(sum(math.log(s) for s, *_ in of) / len(of))
        which = ' '.join(str(v) for k, v in p.items() if k != 'arch')
        loop = [w.split('=')[1] for w in doc['config'].split()
                if w.startswith(('schedule=', 'tile='))]
        yield (kind, arch, len(of), 100 * mean, 100 * share,
               GOALS.get(kind, LEAST), '%s: %s us, %s' %
               (which, cell(doc), ' '.join(loop)))


def write_docs(path, lines, said):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    before, rest = text.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    head = ('\n%s\n\n| class | target | problems | mean %% | worst %% | goal %% '
            '| the worst |\n|---|---|---|---|---|---|---|\n') % said
    with open(path, 'w', encoding='utf-8') as f:
        f.write(before + MARKS[0] + head + ''.join(
            '| %s | %s | %d | %.0f | %.0f | %d | %s |\n' % x for x in lines) +
            MARKS[1] + after)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--drawn', type=int, default=None)
    p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--only', default='')
    p.add_argument('--rows')
    p.add_argument('--docs')
    a = p.parse_args()
    problems, rng = list(listed()), random.Random(a.seed)
    count = len(problems) // 2 if a.drawn is None else a.drawn
    problems += [drawn(rng) for _ in range(count)]
    problems = [p for p in problems if re.search(a.only, p.kind())]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        ceiling = ceilings(a.kilnc, problems, pool)
        docs = list(pool.map(lambda p: predict(a.kilnc, p), problems))
    rows, refused = [], []
    for x, doc in zip(problems, docs):
        if not doc:
            refused.append(x)
            continue
        us = doc['predicted']['us']
        limit = x.limit(ceiling[x.arch, x.a, x.b, x.scale, x.math])
        rows.append((x, doc, limit / us))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    bare = sum(doc['predicted']['error_pct'] is None for _, doc, _ in rows)
    said = ('%d problems, %d of them drawn (seed %d), %d refused, %.0f %% of '
            'the others without a comparable row, hence without a bar; %.0f s '
            'of processor time.' %
            (len(problems), count, a.seed, len(refused),
             100 * bare / max(1, len(rows)), used.ru_utime + used.ru_stime))
    lines = list(table(rows))
    if a.rows:
        with open(a.rows, 'w', newline='', encoding='utf-8') as f:
            csv.writer(f).writerows(
                [x.kind(), '%.3f' % share, '%.2f' % doc['predicted']['us'],
                 ' '.join(x.words()), doc['config']] for x, doc, share in
                sorted(rows, key=lambda r: r[2]))
    if a.docs:
        write_docs(a.docs, lines, said)
    print('# ' + said)
    for x in refused:
        print('# refused: ' + ' '.join(x.words()))
    print('1..%d' % len(lines))
    for i, (kind, arch, n, mean, worst, goal, which) in enumerate(lines, 1):
        print('%sok %d - %s %s: %d, mean %.0f, worst %.0f of %d (%s)' %
              ('' if worst >= goal else 'not ', i, kind, arch, n, mean, worst,
               goal, which))
    return 0


if __name__ == '__main__':
    sys.exit(main())
