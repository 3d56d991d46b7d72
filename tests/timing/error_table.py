#!/usr/bin/env python3
"""The errors in runtime/sim/timing/timing_rows.def as tables for docs/timing.md.

    error_table.py TIMING_ROWS_DEF

Reads nothing else and predicts nothing: the rows have both times."""
import collections
import re
import statistics
import sys

ROW = re.compile(r'ROW\((\w+), (\w+), (\d+), (\w+), ([\d.]+), ([\d.]+), '
                 r'[\d.]+, [\d.]+, '
                 r'"([^"]*)",\s*"([^"]*)", "([^"]*)",\s*"([^"]*)"\)')
Row = collections.namedtuple('Row', 'target type resident bound measured '
                             'predicted kind obj shape source')
BYTES = {'F16': 2, 'F8': 1, 'I8': 1, 'MX4': 0.5}
SHORT_US = 50  # as in timing_error.c


def read(path):
    with open(path) as f:
        for m in ROW.findall(f.read()):
            yield Row(m[0].lower(), m[1], int(m[2]), m[3], float(m[4]),
                      float(m[5]), *m[6:])


def size_of(r):
    return 'above 50 us' if r.measured > SHORT_US else 'up to 50 us'


def family_of(r):
    """Shares of K are the family's own; what a class has stands in docs."""
    if r.kind == 'moe':
        return 'moe, fp8'
    return {'F16': 'bf16', 'F8': 'fp8 block-scale', 'MX4': 'MXFP4',
            'I8': 'i8'}[r.type]


def residents(r):
    return '1' if r.resident == 1 else '2 and more'


def stride_of(r):
    """Whether rows of A and B start a multiple of 4 KB apart."""
    k = re.match(r'\d+x\d+x(\d+)', r.shape)
    if r.kind == 'moe' or not k:
        return None
    whole = int(k.group(1)) * BYTES[r.type] % 4096 == 0
    return '4 KB strides' if whole else 'other strides'


def errors(group):
    return [r.predicted / r.measured - 1 for r in group]


def cells(group):
    e = errors(group)
    far = sorted(abs(x) for x in e)[int(0.9 * len(e))]
    return (len(e), len({r.obj for r in group}),
            '%.1f %%' % (100 * statistics.median(map(abs, e))),
            '%+.1f %%' % (100 * statistics.median(e)), '%.0f %%' % (100 * far))


def table(rows, head, key):
    groups = collections.defaultdict(list)
    for r in rows:
        k = key(r)
        if None not in k:
            groups[k].append(r)
    print('\n| %s | rows | objects | median abs. | median | 90 %% within |' %
          ' | '.join(head))
    print('|%s' % ('---|' * (len(head) + 5)))
    for k in sorted(groups):
        print('| %s |' % ' | '.join(str(c) for c in k + cells(groups[k])))


def main():
    rows = list(read(sys.argv[1]))
    print('%d rows, %d objects' % (len(rows), len({r.obj for r in rows})))
    table(rows, ['family', 'size'], lambda r: (family_of(r), size_of(r)))
    table(rows, ['target', 'type', 'kind', 'size'],
          lambda r: (r.target, r.type, r.kind, size_of(r)))
    table(rows, ['strides', 'type', 'kind'],
          lambda r: (stride_of(r), r.type, r.kind))
    table(rows, ['target', 'residents', 'type'],
          lambda r: (r.target, residents(r), r.type))
    table(rows, ['bound', 'size'], lambda r: (r.bound, size_of(r)))
    table(rows, ['size'], lambda r: (size_of(r),))
    return 0


if __name__ == '__main__':
    sys.exit(main())
