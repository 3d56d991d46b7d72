#!/usr/bin/env python3
"""Predicted speed of kiln's kernels beside AMD's and Triton's in the same
model, and beside published measurements.

    bench_speed.py KILNC PREDICT_ROWS TESTS_DATA [--aiter HSA_DIR]
                   [--only PART,...] [--sample N] [--jobs N]

Every time of kiln's and of an object is predicted (docs/timing.md); what is
called published was measured by others on silicon, tests/data/perf says who.
HSA_DIR is aiter's folder `hsa`. --sample N takes every Nth row of a part.
Output: Markdown tables. A row that cannot be made is a sentence in its place."""
import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../timing'))
import error_table  # noqa: E402  (measured and predicted times of objects)
import rows  # noqa: E402  (the launches of other people's objects)
import validate  # noqa: E402  (those of them whose times are published)

ASM_SHAPES = [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 4096, 16384)]
LOOPS = [('gfx950', 'bf16', .95), ('gfx950', 'fp8', .95),
         ('gfx950', 'i8', None), ('gfx950', 'mxfp8', .95),
         ('gfx950', 'mxfp4', .90), ('gfx950', 'mxfp6', None),
         ('gfx942', 'bf16', .85), ('gfx942', 'fp8', .85),
         ('gfx942', 'i8', None)]
# B in panels and shuffled scales: what AMD's MXFP4 objects take.
STORED = ['--b-layout', 'preshuffled', '--scale-layout', 'shuffled']
GROUPED = [(r, o) for o in ('fwd', 'dgrad', 'wgrad')
           for r in ('balanced', 'unbalanced')]


class Bench:
    def __init__(self, a):
        self.a = a
        self.tmp = tempfile.mkdtemp(prefix='kiln-speed-')
        with open(os.path.join(a.data, 'perf/speed.json')) as f:
            self.data = json.load(f)

    def kiln(self, words):
        """What `kilnc time` says, or its refusal as a string."""
        r = subprocess.run([self.a.kilnc, 'time', *map(str, words), '--json',
                            '-'], text=True, capture_output=True, check=False)
        if r.returncode:
            return (r.stderr.strip() or 'no answer').splitlines()[0]
        return json.loads(r.stdout)

    def all_kiln(self, list_of_words):
        with concurrent.futures.ThreadPoolExecutor(self.a.jobs) as pool:
            return list(pool.map(self.kiln, list_of_words))

    def object_us(self, lines):
        """Predicted us of launches of objects; None where there is none."""
        def one(text):
            out = subprocess.run([self.a.tool], input=text + '\n', text=True,
                                 capture_output=True, check=False).stdout
            at = out.find(' us=')
            return float(out[at + 4:].split()[0]) if at >= 0 else None
        with concurrent.futures.ThreadPoolExecutor(self.a.jobs) as pool:
            return list(pool.map(one, lines))

    def sampled(self, items):
        return list(items)[::self.a.sample]

    def triton(self, name):
        return os.path.join(self.a.data, 'triton', name + '.co')

    def packed(self, tokens, topk, block):
        """Flags of a routing whose rows fill blocks of experts 0, 1, ..."""
        rows, n = tokens * topk, -(-tokens * topk // block)
        ids = [r // topk | r % topk << 24 if r < rows else tokens
               for r in range(n * block)]
        flags = []
        for flag, form, values in [
                ('sorted-ids', 'i', ids), ('expert-ids', 'i', range(n)),
                ('num-padded', 'i', [n * block]),
                ('weights', 'f', [1.0] * (n * block))]:
            name = os.path.join(self.tmp, '%s-%d' % (flag, tokens))
            with open(name, 'wb') as f:
                f.write(struct.pack('<%d%s' % (len(values), form), *values))
            flags += ['--%s-file' % flag, name]
        return flags

    def offsets(self, lens):
        name = os.path.join(self.tmp, 'offs-%d' % hash(tuple(lens)))
        total, at = 0, [0]
        for n in lens:
            total += n
            at.append(total)
        with open(name, 'wb') as f:
            f.write(struct.pack('<%dq' % len(at), *at))
        return name


def us_of(r):
    return r['predicted']['us'] if isinstance(r, dict) else None


def cell(r):
    """Time and error of a prediction, or a dash."""
    if not isinstance(r, dict):
        return '-'
    bar = r['predicted'].get('error_pct')
    return num(us_of(r)) + (' +-%.0f %%' % bar if bar is not None else '')


def num(x, form='%.1f'):
    return '-' if x is None else form % x


def ratio(x, y):
    return x / y if x and y else None


def geomean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values \
        else None


def table(title, head, lines):
    print('\n### %s\n' % title)
    print('| %s |\n|%s' % (' | '.join(head), '---|' * len(head)))
    for cells in lines:
        print('| %s |' % ' | '.join(str(c) for c in cells))
    sys.stdout.flush()


def dense(arch, kind, m, n, k, *more):
    return ['gemm', '--arch', arch, '--a', kind, '-m', m, '-n', n, '-k', k,
            *more]


def part_loops(b):
    """Loop efficiency, registers, code and compile time of the 256x256
    variants, by schedule."""
    todo = [(arch, kind, goal, s) for arch, kind, goal in LOOPS
            for s in ('auto', '8-wave', 'interleave', 'simple')
            if s == 'auto' or arch == 'gfx950']
    todo = b.sampled(todo)
    got = b.all_kiln([dense(t[0], t[1], 8192, 8192, 8192, '--schedule', t[3])
                      for t in todo])
    lines = []
    for (arch, kind, goal, asked), r in zip(todo, got):
        if isinstance(r, str):
            if 'no variant' not in r:
                lines.append((arch, kind, asked, r[:80]) + ('-',) * 7)
            continue
        cfg = dict(w.split('=', 1) for w in r['config'].split())
        if asked == 'auto':
            asked = '**%s**' % cfg['schedule']
        elif cfg['schedule'] != asked:
            continue
        lines.append((arch, kind, cfg['tile'], asked,
                      '%.1f %%' % (100 * r['predicted']['mfma_efficiency']),
                      '%.0f %%' % (100 * goal) if goal else '-',
                      cell(r), r['kernel']['vgpr'],
                      r['kernel']['instructions'], num(r['compile_ms'],
                                                       '%.0f')))
    table('Main loops at 8192^3, predicted; the chosen schedule in bold',
          ['target', 'type', 'tile', 'schedule', 'pipes', 'goal', 'us',
           'VGPR', 'instructions', 'compile ms'], lines)


def amd_lines(b, kind, m, n, k):
    name = {'bf16': '_ZN5aiter24bf16gemm_bf16_tn_256x256E',
            'mxfp4': '_ZN5aiter42f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256E'}
    if kind == 'bf16':
        return [rows.aiter_bf16('x', b.a.aiter, name[kind], m, n, k, 1)]
    if kind == 'mxfp4':
        return [rows.aiter_f4('x', b.a.aiter, name[kind], m, n, k, 0)]
    return [rows.aiter_fp8('x', b.a.aiter,
                           '_ZN5aiter43fp8gemm_bf16_blockscale_BpreShuffle_'
                           '%dx128E' % t, m, n, k, 1) for t in (64, 96, 128)]


def best(values):
    values = [v for v in values if v]
    return min(values) if values else None


def part_objects(b):
    """AMD's assembly and Triton's objects in the same model."""
    kinds = [('bf16', [], 'gfx950_bf16_nt_256x256x64', 16, 65536),
             ('fp8', [], 'gfx950_fp8_nt_256x256x128', 8, 65536),
             ('fp8 blocks', ['--scale', 'block128'], None, 8, 0),
             ('mxfp8', [], 'gfx950_mxfp8_nt_256x256x128', 8, 67584),
             ('mxfp4', [], 'gfx950_mxfp4_nt_256x256x256', 4, 69632),
             ('mxfp4 stored as AMD\'s', STORED, None, 4, 0)]
    if not b.a.aiter:
        print('\nAMD\'s assembly objects are left out: --aiter DIR names the '
              'folder hsa of a fetched aiter.')
    lines = []
    for kind, more, obj, bits, lds in kinds:
        for m, n, k in b.sampled(ASM_SHAPES):
            got = b.kiln(dense('gfx950', kind.split()[0], m, n, k, *more))
            us = us_of(got)
            asm = tri = None
            if b.a.aiter and kind not in ('fp8', 'mxfp8'):
                asm = best(b.object_us(amd_lines(b, kind.split()[0], m, n,
                                                 k)))
            if obj:
                make = rows.triton_mx if kind[:2] == 'mx' else rows.triton
                tri = best(b.object_us([make('x', b.triton(obj), (256, 256),
                                             m, n, k, bits, 8, lds)]))
            lines.append((kind, '%d x %d x %d' % (m, n, k), cell(got),
                          num(asm), num(ratio(us, asm), '%.2f'), num(tri),
                          num(ratio(us, tri), '%.2f')))
    table('Beside other objects in the same model, us, gfx950 (Triton\'s reach '
          '0.39 to 0.94 of what is published of Triton)',
          ['type', 'M x N x K', 'kiln', 'AMD assembly', 'of it',
           'Triton 256x256', 'of it'], lines)


# How kiln is asked for what an object of AMD's does.
SAME_WORK = {'F16': ['--a', 'bf16'], 'I8': ['--a', 'i8', '--scale', 'row'],
             'F8': ['--a', 'fp8', '--scale', 'block128'],
             'MX4': ['--a', 'mxfp4', *STORED]}


TYPE_OF = {'f4': 'MX4', 'bf16': 'F16', 'fp8': 'F8', 'I8': 'I8'}


def tuned_rows(b):
    """AMD's objects at the shapes it tuned them for, predicted by this build,
    or without aiter as the table of residuals has them."""
    with open(os.path.join(b.a.data, 'perf/aiter_asm.json')) as f:
        data = json.load(f)
    if not b.a.aiter:
        shapes = {'%dx%dx%d' % (r['m'], r['n'], r['k']) for r in data}
        table_of = os.path.join(os.path.dirname(__file__),
                                '../../runtime/sim/timing/timing_rows.def')
        return b.sampled(r for r in error_table.read(table_of)
                         if r.kind != 'moe' and r.source != 'HipKittens' and
                         r.shape.split('/')[0] in shapes)
    todo = b.sampled(validate.aiter_rows(b.a.aiter, data))
    times, found = b.object_us([t[2] for t in todo]), []
    for (_, _, _, ident), us in zip(todo, times):
        r = data[int(ident[len('aiter'):])]
        name = re.search(r'\d((f4|bf16|fp8|I8)gemm\w*?)E?$', r['kernel'])
        shape = '%dx%dx%d' % (r['m'], r['n'], r['k'])
        parts = 1 << r['split_k'] if name.group(2) == 'f4' else r['split_k']
        if parts > 1:
            shape += '/%d' % parts
        found.append(error_table.Row(
            r.get('arch', 'gfx950'), TYPE_OF[name.group(2)], 1, '', r['us'],
            us, 'gemm', name.group(1), shape, ''))
    return found


def part_tuned(b):
    """Every shape AMD tuned for whose object is known: kiln's choice beside
    AMD's object in the same model, and its measured time."""
    todo = tuned_rows(b)
    print('\n%d rows, %d of them without a prediction of the object' %
          (len(todo), sum(not r.predicted for r in todo)))
    todo = [r for r in todo if r.predicted]
    got = b.all_kiln([['gemm', '--arch', r.target, *SAME_WORK[r.type],
                       *(x for pair in zip(('-m', '-n', '-k'),
                                           r.shape.split('/')[0].split('x'))
                         for x in pair)] for r in todo])
    groups = {}
    for r, g in zip(todo, got):
        key = (r.target, r.type, error_table.size_of(r))
        groups.setdefault(key, []).append((us_of(g), r))
    lines = []
    for key, pairs in sorted(groups.items()):
        model = [us / r.predicted for us, r in pairs if us]
        silicon = [us / r.measured for us, r in pairs if us]
        lines.append((*key, len(model), num(geomean(model), '%.2f'),
                      '%d' % sum(x < 1 for x in model),
                      num(max(model, default=None), '%.2f'),
                      num(geomean(silicon), '%.2f'),
                      len(pairs) - len(model)))
    table('On the shapes AMD tuned for: kiln over AMD\'s object, both '
          'predicted, and kiln predicted over AMD measured',
          ['target', 'type', 'size', 'rows', 'over the object',
           'rows below 1', 'worst', 'over the measured time', 'refused'],
          lines)
    slow = sorted(((us / r.predicted, r) for pairs in groups.values()
                   for us, r in pairs if us), key=lambda x: -x[0])[:12]
    table('Where kiln is furthest behind', ['type', 'M x N x K', 'AMD\'s object',
                                            'over it'],
          [(r.type, r.shape, r.obj, num(x, '%.2f')) for x, r in slow])


# Objects with published times that do what a row's kernel does: a word of
# their group in validate.py, a word of their launch.
PEERS = {('gfx950', 'bf16'): ('bf16', '256x256'),
         ('gfx950', 'f16'): ('bf16', '256x256'),
         ('gfx950', 'mxfp4'): ('MXFP4', '256x256'),
         ('gfx942', 'i8'): ('i8 on MI325X, above', 'i8gemm'),
         ('gfx950', 'few rows of MX'): ('MXFP4, small', 'f4gemm')}
NO_PEER = '; no object of that kind has a published time'


def flops_of(line):
    return float(line.split('flops=')[1].split()[0])


def published_objects(b):
    """(group, measured us, launch) of the objects there are."""
    def data(name):
        with open(os.path.join(b.a.data, 'perf', name)) as f:
            return json.load(f)
    found = list(validate.triton_rows(os.path.join(b.a.data, 'triton'),
                                      data('anchors.json')))
    if b.a.aiter:
        found += validate.aiter_rows(b.a.aiter, data('aiter_asm.json'))
    return [(g, us, line) for g, us, line, _ in found]


def model_error(b, peers, arch, kind, mnk):
    """Of the model, on the object whose work is nearest 2 * m * n * k."""
    group, word = PEERS.get((arch, kind), (None, None))
    near = sorted((abs(math.log(flops_of(line) / 2 / math.prod(mnk))), who,
                   us, line) for who, us, line in peers
                  if group and group in who and word in line)
    if not near:
        return 'none'
    _, who, us, line = near[0]
    got = b.object_us([line])[0]
    return '%+.1f %% (%s, %.3g us)' % (100 * (got / us - 1),
                                       who.split(',')[0], us) if got else '-'


def part_records(b):
    """The best published throughputs."""
    peers = published_objects(b)
    todo = [x for r in b.sampled(b.data['records']) for x in
            [r] + [dict(r, stored=1)] * (r['type'] == 'mxfp4')]
    got = b.all_kiln([dense(r['arch'], r['type'], r['m'], r['n'], r['k'],
                            *(STORED if 'stored' in r else ()))
                      for r in todo])
    lines = []
    for r, g in zip(todo, got):
        tf = g['predicted']['tflops'] if isinstance(g, dict) else None
        kind = r['type'] + (' stored as AMD\'s' if 'stored' in r else '')
        lines.append((r['arch'], kind, '%d x %d x %d' %
                      (r['m'], r['n'], r['k']), cell(g),
                      num(tf, '%.0f'),
                      num(g['predicted']['mfma_efficiency'] * 100, '%.0f %%')
                      if tf else '-',
                      num(g['predicted']['ceiling_tflops'] if tf else None,
                          '%.0f'), '%.0f, %s' % (r['tflops'], r['who']),
                      num(ratio(tf, r['tflops']), '%.2f'),
                      model_error(b, peers, r['arch'], r['type'],
                                  (r['m'], r['n'], r['k']))))
    table('Beside the best published figures (MI355X, MI300X); ceiling: all '
          'pipes busy at the clock they leave; error: the model\'s on the '
          'object of that type nearest in work (256x256; i8: 112x256), and '
          'its published time',
          ['target', 'type', 'M x N x K', 'us', 'TFLOPS', 'pipes', 'ceiling',
           'published TFLOPS', 'ratio', 'error on a peer'], lines)


def routed(g, m, routing, seed=1):
    """Primus-Turbo's benchmark: shares 0.2 + 0.8 U(0,1), the rest last."""
    if routing == 'balanced':
        return [m] * g
    rng = random.Random(seed)
    w = [0.2 + 0.8 * rng.random() for _ in range(g)]
    lens = [int(x / sum(w) * g * m) for x in w]
    lens[-1] += g * m - sum(lens)
    return lens


def grouped(kind, op, lens, n, k):
    text = ','.join(map(str, lens))
    if op == 'wgrad':
        return ['wgrad', '--layout', 'tn', '--arch', 'gfx950', '--a', kind,
                '-m', n, '-n', k, '--group-lens', text]
    if op == 'dgrad':
        n, k = k, n
    return ['grouped', '--layout', 'nn' if op == 'dgrad' else 'nt', '--arch',
            'gfx950', '--a', kind, '-n', n, '-k', k, '--group-lens', text]


def part_grouped(b):
    """bf16 rows of Primus-Turbo's pull request 284."""
    todo = b.sampled(b.data['grouped_bf16'])
    got = b.all_kiln([grouped('bf16', r['op'],
                              routed(r['G'], r['M'], r['routing']), r['N'],
                              r['K']) for r in todo])
    lines = []
    for routing, op in GROUPED:
        pairs = [(us_of(g), 2e-6 * r['G'] * r['M'] * r['N'] * r['K'],
                  max(r['tflops'].values())) for r, g in zip(todo, got)
                 if (r['routing'], r['op']) == (routing, op)]
        pairs = [p for p in pairs if p[0]]
        ours = [p[1] / p[0] for p in pairs]
        lines.append((op, routing, len(pairs), num(geomean(ours), '%.0f'),
                      num(geomean([p[2] for p in pairs]), '%.0f'),
                      num(geomean([x / p[2] for x, p in zip(ours, pairs)]),
                          '%.2f'),
                      num(min((x / p[2] for x, p in zip(ours, pairs)),
                              default=None), '%.2f')))
    table('Grouped bf16, geometric means of TFLOPS; published: the best '
          'column of each row' + NO_PEER, ['operation', 'routing', 'rows', 'kiln',
                                 'published', 'ratio', 'worst row'], lines)


def part_moe(b):
    """fp8 shapes of Primus-Turbo's pull request 384 beside Triton's objects;
    of wgrad the better of its two tiles."""
    ratios = {'fwd': [], 'dgrad': [], 'wgrad': []}
    for r in b.sampled(b.data['moe_fp8']):
        lens = [r['M']] * r['G']
        offs, total = b.offsets(lens), r['G'] * r['M']
        for op, got in ratios.items():
            n, k = (r['K'], r['N']) if op == 'dgrad' else (r['N'], r['K'])
            if op == 'wgrad':
                lines = [rows.triton_wgrad(
                    'x', b.triton('gfx950_wgrad_fp8_tn_%dx%dx128' % (t, t)),
                    offs, r['G'], total, t, n, k, 1) for t in (128, 256)]
            else:
                nn = op == 'dgrad'
                lines = [rows.triton_grouped(
                    'x', b.triton('gfx950_grouped_fp8_%s_256x256x128' %
                                  ('nn' if nn else 'nt')), offs, r['G'],
                    total, n, k, 1, nn)]
            tri = best(b.object_us(lines))
            got.append(ratio(tri, us_of(b.kiln(grouped('fp8', op, lens,
                                                       r['N'], r['K'])))))
    goal = {'fwd': 1.27, 'dgrad': 1.30, 'wgrad': 1.22}
    table('Grouped fp8, times faster than Triton\'s objects in the same '
          'model, geometric mean', ['operation', 'shapes', 'kiln',
                                    'FlyDSL over Triton, published'],
          [(op, len([x for x in got if x]), num(geomean(got), '%.2f'),
            goal[op]) for op, got in ratios.items()])


def part_small(b):
    """Few rows."""
    todo = b.data['small_mxfp8']
    got = b.all_kiln([dense('gfx950', 'mxfp8', r['m'], r['n'], r['k'])
                      for r in todo])
    peers = published_objects(b)
    table('mxfp8, few rows, us; published: ROCm/aiter pull request 3783; '
          'error: the model\'s on AMD\'s MXFP4 object nearest in work',
          ['M x N x K', 'kiln', 'published', 'Triton, published', 'ratio',
           'error on a peer'],
          [('%d x %d x %d' % (r['m'], r['n'], r['k']), num(us_of(g)),
            r['us'], r['triton_us'], num(ratio(us_of(g), r['us']), '%.2f'),
            model_error(b, peers, 'gfx950', 'few rows of MX',
                        (r['m'], r['n'], r['k'])))
           for r, g in zip(todo, got)])
    todo = b.data['gemm2_mxfp4']
    down = ['moe', '--stage', 'gemm2', '--arch', 'gfx950', '--a', 'mxfp4',
            '--experts', 385, '--topk', 9, '--hidden', 7168, '--inter', 512,
            '--block-m', 32, '--nt-b', 1, *STORED, '--reduce', 'atomic',
            '--tokens']
    got = b.all_kiln([down + [r['tokens']] + b.packed(r['tokens'], 9, 32)
                      for r in todo])
    table('gemm2 mxfp4, 385 experts, rows packed into full blocks of 32, us; '
          'published: FlyDSL' + NO_PEER,
          ['tokens', 'kiln', 'published', 'ratio'],
          [(r['tokens'], num(us_of(g), '%.2f') if isinstance(g, dict) else g,
            r['us'], num(ratio(us_of(g), r['us']), '%.2f'))
           for r, g in zip(todo, got)])


PARTS = {'loops': part_loops, 'objects': part_objects,
         'tuned': part_tuned,
         'records': part_records, 'grouped': part_grouped, 'moe': part_moe,
         'small': part_small}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kilnc')
    p.add_argument('tool')
    p.add_argument('data')
    p.add_argument('--aiter')
    p.add_argument('--only', default=','.join(PARTS))
    p.add_argument('--sample', type=int, default=1)
    p.add_argument('--jobs', type=int, default=2)
    a = p.parse_args()
    wrong = [x for x in a.only.split(',') if x not in PARTS]
    if wrong:
        print('no part is called %s; there are %s' %
              (wrong[0], ', '.join(PARTS)), file=sys.stderr)
        return 2
    b = Bench(a)
    print('Predicted by kiln\'s timing model, not measured.')
    for name in a.only.split(','):
        PARTS[name](b)
    return 0


if __name__ == '__main__':
    sys.exit(main())
