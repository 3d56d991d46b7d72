#!/usr/bin/env python3
"""What fewer rows take longer than more: a choice that is wrong, without a search.

    monotone.py BUILD [--count N] [--seed S]

N products (12) of types, layouts, N and K at random have 25 sizes from 1 to 1024
rows, each by its default choice, predicted (docs/timing.md). A kernel of more rows
serves fewer, so none should take longer than the next ones. Prints each that does by
4 % and more, with the choice of the size that takes less, then how many did and the
worst."""
import argparse
import random

import regret

ROWS = [1, 2, 3, 4, 5, 8, 9, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 129, 192, 256, 257,
        384, 512, 768, 1024]
KINDS = [('bf16', ''), ('f16', ''), ('fp8', ''), ('fp8', 'row'), ('fp8', 'block128'),
         ('i8', ''), ('i8', 'row'), ('mxfp8', ''), ('mxfp6', ''), ('mxfp4', ''),
         ('mxfp8 mxfp4', ''), ('bf16 mxfp4', ''), ('bf16 fp8', 'tensor'),
         ('bf16 i8', 'tensor'), ('bf16 i4', 'group128'), ('f32', '')]
SIZES = [512, 1024, 2048, 2880, 4096, 5120, 7168, 8192, 14336, 32768]
LEAST = 1.04


def product(rng):
    """A row of the lists without its rows."""
    types, scale = rng.choice(KINDS)
    a, b = types.split() if ' ' in types else (types, types)
    plain = a == b and not a.startswith('mx') and scale != 'block128'
    return {**dict.fromkeys(regret.COLUMNS, ''), 'family': 'gemm',
            'arch': rng.choice(['gfx950', 'gfx942']), 'a': a, 'b': b, 'scale': scale,
            'layout': rng.choice(['nt', 'nt', 'nn', 'tn']) if plain else 'nt',
            'n': str(rng.choice(SIZES)), 'k': str(rng.choice(SIZES[:-2]))}


def slower(told):
    """(ratio, rows, text, rows, text) of each size that more rows undercut."""
    found, best = [], None
    for rows, text in reversed(told):
        us = regret.seconds(text)
        if best and us > LEAST * best[0]:
            found.append((us / best[0], rows, text) + best[1:])
        if not best or us < best[0]:
            best = us, rows, text
    return found[::-1]


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('build')
    p.add_argument('--count', type=int, default=12)
    p.add_argument('--seed', type=int, default=1)
    o = p.parse_args()
    rng, ratios = random.Random(o.seed), []
    for _ in range(o.count):
        row = product(rng)
        texts = regret.ask(o.build, 'times', [{**row, 'm': str(m)} for m in ROWS])
        for ratio, m, text, more, less in slower(list(zip(ROWS, texts))):
            ratios.append(ratio)
            print('%.3f  %d rows %s us, %d rows %s us: %s; %s -> %s' % (
                ratio, m, text.split()[0], more, less.split()[0], regret.title(row),
                regret.short(text), regret.short(less)), flush=True)
    print('%d of %d sizes take %g %% more than a larger one, the worst %.3f' % (
        len(ratios), o.count * len(ROWS), 100 * LEAST - 100, max(ratios, default=1)))


if __name__ == '__main__':
    main()
