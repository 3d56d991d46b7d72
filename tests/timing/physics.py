#!/usr/bin/env python3
"""Draws launches evenly over families, targets and workgroups on a compute unit
and holds `kilnc time` against what no chip can beat.

    physics.py KILNC [--launches N] [--seed S] [--jobs J]

The bounds are computed here, from the problem and the routing alone: each
byte of the operands once at the peak of the memory (warm: of the last-level
cache), the products at the published peak of the type, and rounds enough for
the tiles with work. A launch that `time` refuses and `run` does not is a
failure, one that both refuse is drawn again. So is one, up to 16 times, that
has other than the wanted number of workgroups on a compute unit; it is held
against the bounds all the same. Output is TAP, with how many launches of each
family, target and number of residents there were."""
import argparse
import concurrent.futures
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

FAMILIES = ('gemm', 'gemv', 'batched', 'grouped', 'wgrad', 'moe')
TARGETS = ('gfx950', 'gfx942')
BITS = {'bf16': 16, 'f16': 16, 'fp8': 8, 'bf8': 8, 'i8': 8, 'mxfp8': 8,
        'mxbf8': 8, 'mxfp6': 6, 'mxbf6': 6, 'mxfp4': 4, 'f32': 32, 'i32': 32}
# ROCm accelerator specifications: MI355X, MI300X; TB/s, dense TFLOPS by bits.
HBM = {'gfx950': 8.0, 'gfx942': 5.3}
LAST_LEVEL, LAST_LEVEL_BYTES = 17.2, 256 << 20
PEAK = {'gfx950': {16: 2516.6, 8: 5033.2, 6: 10066.4, 4: 10066.4},
        'gfx942': {16: 1307.4, 8: 2614.9, 6: 2614.9, 4: 2614.9}}
CUS = {'gfx950': 256, 'gfx942': 304}
ROWS = (1, 2, 3, 4, 8, 16, 17, 32, 64, 100, 128, 256, 500, 1024, 2048, 4096)
WIDTHS = (256, 512, 768, 1152, 1536, 2048, 2304, 2880, 4096, 5120, 6144, 7168,
          8192, 14336)
BUCKETS = (('1', 1), ('2 or 3', 3), ('4 to 7', 7), ('8 or more', 99))
# Tiles that are likely to have so many on a compute unit; '' as chosen.
SIDES = {'1': ('', '', '64x128', '128x128', '256x256'),
         '2 or 3': ('', '32x64', '64x64', '64x128', '128x128'),
         '4 to 7': ('16x32', '32x32', '32x64', '64x64'),
         '8 or more': ('16x32', '16x32', '32x32')}
TRIES, POSSIBLE = 16, 40


def cdiv(a, b):
    return (a + b - 1) // b


class Launch:
    """What is asked, and what is known of it without the model."""

    def __init__(self, family, target, rng, folder, want='2 or 3'):
        self.family, self.target, self.rng = family, target, rng
        self.want = want
        self.folder = folder
        self.a = rng.choice(('bf16', 'f16', 'fp8', 'bf8', 'i8', 'mxfp8',
                             'mxfp4', 'mxfp6'))
        self.b = self.a
        self.warm = rng.random() < 0.2
        self.flags = []
        getattr(self, family)()

    def products(self, m, n, k, batch=1, b_used=None, c_used=None):
        """Bytes of operands and flops of m x n x k, A or B by groups."""
        a, b = BITS[self.a], BITS[self.b]
        out = 32 if self.a == 'i8' else 16
        self.bytes = batch * (m * k * a + n * k * b * (b_used or 1) +
                              m * n * out * (c_used or 1)) / 8
        self.flops = 2.0 * batch * m * n * k

    def tile(self):
        """A tile of one's own sometimes: smaller ones share a CU."""
        side = self.rng.choice(SIDES[self.want])
        if side:
            depth = 128 if BITS[self.a] < 16 else 64
            if self.a.startswith('mx') and BITS[self.a] == 4:
                depth = 256
            self.flags += ['--tile', '%sx%d' % (side, depth)]
            if self.want > '4':
                self.flags += ['--stages', '2']

    def size(self, most):
        rng = self.rng
        while True:
            m, n, k = rng.choice(ROWS), rng.choice(WIDTHS), rng.choice(WIDTHS)
            if m * n * k <= most:
                return m, n, k

    def words(self, **sizes):
        self.flags += ['--a', self.a, '--b', self.b]
        for name, v in sizes.items():
            self.flags += [('-' if len(name) == 1 else '--') + name, str(v)]

    def gemm(self):
        m, n, k = self.size(1 << 35)
        self.words(m=m, n=n, k=k)
        self.tile()
        if self.rng.random() < 0.2:
            self.flags += ['--split-k', str(self.rng.choice((2, 3, 4, 8)))]
        self.products(m, n, k)
        self.work = lambda t: [(cdiv(m, t[0]) * cdiv(n, t[1]), 1)]

    def gemv(self):
        m = self.rng.choice((1, 1, 2, 4))
        n = self.rng.choice(WIDTHS + (28672, 57344, 129280))
        k = self.rng.choice(WIDTHS)
        self.words(m=m, n=n, k=k)
        self.flags += ['--schedule', 'gemv'] if m > 1 else []
        self.products(m, n, k)
        self.work = lambda t: [(cdiv(m, t[0]) * cdiv(n, t[1]), 1)]

    def batched(self):
        batch = self.rng.choice((2, 3, 8, 16, 64, 128))
        m, n, k = self.size((1 << 35) // batch)
        while batch * n * k > 1 << 31:
            batch //= 2
        self.words(m=m, n=n, k=k, batch=batch)
        self.tile()
        self.products(m, n, k, batch)
        self.work = lambda t: [(batch * cdiv(m, t[0]) * cdiv(n, t[1]), 1)]

    def lens(self, most):
        rng = self.rng
        groups = rng.choice((1, 2, 4, 7, 16, 32, 64))
        mean = max(1, rng.choice(ROWS))
        while groups * mean > most:
            mean = max(1, mean // 2)
        return [rng.choice((0, mean, mean, 1 + rng.randrange(2 * mean)))
                for _ in range(groups - 1)] + [mean]

    def grouped(self):
        lens = self.lens(8192)
        n, k = self.rng.choice(WIDTHS[:10]), self.rng.choice(WIDTHS[:10])
        self.words(n=n, k=k)
        self.flags += ['--group-lens', ','.join(map(str, lens))]
        self.tile()
        self.products(sum(lens), n, k, b_used=sum(x > 0 for x in lens))
        self.work = lambda t: [(cdiv(x, t[0]) * cdiv(n, t[1]), 1)
                               for x in lens]

    def wgrad(self):
        lens = self.lens(16384)
        m, n = self.rng.choice(WIDTHS[:10]), self.rng.choice(WIDTHS[:10])
        self.words(m=m, n=n)
        self.flags += ['--group-lens', ','.join(map(str, lens)),
                       '--layout', 'tn']
        self.tile()
        self.products(m, n, sum(lens), c_used=len(lens))
        self.work = lambda t: [(cdiv(m, t[0]) * cdiv(n, t[1]),
                                max(1, cdiv(x, t[2]))) for x in lens]

    def moe(self):
        rng = self.rng
        experts = rng.choice((8, 32, 64, 128, 256, 385))
        topk = rng.choice((1, 2, 4, 8, 9))
        tokens = rng.choice((1, 4, 16, 64, 128, 256, 1024))
        hidden, inter = rng.choice((2048, 2880, 4096, 6144, 7168)), \
            rng.choice((256, 384, 512, 768, 1536, 2048))
        stage = rng.choice(('gemm1', 'gemm2'))
        block = rng.choice((16, 32, 64))
        among = rng.choice((experts, experts, max(topk, experts // 8)))
        ids = [rng.sample(range(max(topk, among)), topk)
               for _ in range(tokens)]
        rows = [0] * (max(topk, among) + 1)
        for token in ids:
            for e in token:
                rows[e] += 1
        self.ids = ids
        experts = max(experts, topk)
        self.words(hidden=hidden, inter=inter, experts=experts, topk=topk,
                   tokens=tokens, stage=stage)
        self.flags += ['--block-m', str(block)]
        n, k = (2 * inter, hidden) if stage == 'gemm1' else (hidden, inter)
        used = sum(x > 0 for x in rows)
        total = tokens * topk
        a_rows = tokens if stage == 'gemm1' else total
        out = inter if stage == 'gemm1' else hidden
        # least: one output row a token (atomic sums), 4 bits (requantised)
        self.bytes = (a_rows * k * BITS[self.a] + used * n * k * BITS[self.b] +
                      tokens * out * 4) / 8
        self.flops = 2.0 * total * n * k
        self.work = lambda t: [(cdiv(x, block) * cdiv(n, t[1]), 1)
                               for x in rows]

    def command(self, kilnc, verb):
        words = [kilnc, verb, 'gemm' if self.family == 'gemv'
                 else self.family]
        words += self.flags
        if self.family == 'moe':
            path = os.path.join(self.folder, '%d.bin' % id(self))
            with open(path, 'wb') as f:
                for token in self.ids:
                    f.write(struct.pack('<%di' % len(token), *token))
            words += ['--ids-file', path]
        if verb == 'time':
            words += ['--arch', self.target, '--json', '-']
            return words + (['--warm'] if self.warm else [])
        return words + ['--device', 'sim:' + self.target, '--wg', '0']

    def bounds(self, doc):
        p = doc['predicted']
        rate = HBM[self.target]
        if p['warm'] and self.bytes <= LAST_LEVEL_BYTES:
            rate = LAST_LEVEL
        yield 'memory', p['us'], self.bytes / rate * 1e-6
        peak = PEAK[self.target][min(BITS[self.a], BITS[self.b])]
        yield 'products', p['us'], self.flops / peak * 1e-6
        conf = dict(w.split('=') for w in doc['config'].split() if '=' in w)
        tile = [int(v) for v in conf['tile'].split('x')]
        work = [w for w in self.work(tile) if w[0]]
        if not int(conf['cus']):     # else tiles are dealt in turn
            yield ('rounds', p['rounds'] * p['resident'] * CUS[self.target],
                   sum(n * w for n, w in work) / max(w for _, w in work))


def ask(kilnc, launch):
    got = subprocess.run(launch.command(kilnc, 'time'), capture_output=True,
                         text=True, check=False)
    if got.returncode == 0:
        return json.loads(got.stdout), ''
    ran = subprocess.run(launch.command(kilnc, 'run'), capture_output=True,
                         text=True, check=False)
    if ran.returncode == got.returncode and got.returncode in (2, 3):
        return None, ''
    return None, got.stderr.strip() or 'exit %d' % got.returncode


def bucket_of(doc):
    return next(b for b, most in BUCKETS
                if doc['predicted']['resident'] <= most)


def judge(kilnc, family, target, want, seed, folder):
    """The launch, how it came out, how many draws both refuse and how many had
    another number on a compute unit, and which bounds it or they broke."""
    rng, kept, refusals, others = random.Random(seed), None, 0, 0
    while refusals < POSSIBLE and others < TRIES:
        launch = Launch(family, target, rng, folder, want)
        doc, refused = ask(kilnc, launch)
        if refused:
            return launch, None, refusals, others, ['refused: ' + refused]
        if not doc:
            refusals += 1
            continue
        broken = ['%s: %.4g, at least %.4g' % b for b in launch.bounds(doc)
                  if b[1] < b[2] * (1 - 1e-6)]
        kept = launch, doc
        if broken or bucket_of(doc) == want:
            return launch, doc, refusals, others, broken
        others += 1
    if kept:
        return *kept, refusals, others - 1, []
    return launch, None, refusals, others, ['nothing drawn is possible']


def show(count):
    return ', '.join('%s %d' % (k, v) for k, v in sorted(count.items()))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('--launches', type=int, default=12)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=2)
    a = p.parse_args()
    count, bad, redrawn, beside = [{}, {}, {}, {}], [], 0, 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        todo = [(FAMILIES[i % 6], TARGETS[i // 6 % 2],
                 BUCKETS[(i + i // 12) % 4][0], a.seed * 1000003 + i)
                for i in range(a.launches)]
        for launch, doc, again, others, broken in pool.map(
                lambda t: judge(a.kilnc, *t, folder), todo):
            redrawn += again
            beside += others
            bad += [(launch, b) for b in broken]
            if not doc:
                continue
            for c, key in zip(count, (launch.family, launch.target,
                                      bucket_of(doc),
                                      'warm' if doc['predicted']['warm']
                                      else 'cold')):
                c[key] = c.get(key, 0) + 1
    for name, c in zip(('families', 'targets', 'workgroups on a CU',
                        'caches'), count):
        print('# %s: %s' % (name, show(c)))
    print('# drawn again, since run refuses them too: %d' % redrawn)
    print('# held against the bounds besides, of other numbers on a CU: %d' %
          beside)
    for launch, b in bad:
        print('# %s\n#   %s' % (b, ' '.join(launch.command('kilnc', 'time'))))
    below = [b for _, b in bad if not b.startswith('refused')]
    refused = len(bad) - len(below)
    print('1..2')
    print('%sok 1 - %d launches, %d under a bound' %
          ('not ' if below else '', sum(count[0].values()), len(below)))
    print('%sok 2 - %d refusals that run does not give' %
          ('not ' if refused else '', refused))
    return 0


if __name__ == '__main__':
    sys.exit(main())
