"""A random consistent renaming of the registers of an assembly listing.

Registers that appear together in a tuple stay neighbours: each group of
overlapping tuples is one block, and the blocks are packed again in random
order. What the hardware sets before the first instruction, and the special
registers, keep their names.
"""
import re

TUPLE = re.compile(r"\b([vas])(?:\[(\d+):(\d+)\]|(\d+)\b)")


def span(m):
    low = int(m.group(2) or m.group(4))
    return low, int(m.group(3) or low)


def blocks(spans):
    """Maximal intervals in which tuples overlap."""
    out = []
    for low, high in sorted(spans):
        if out and low <= out[-1][1]:
            out[-1][1] = max(out[-1][1], high)
        else:
            out.append([low, high])
    return out


def place(found, fixed, align, rng):
    """New first register of each block; blocks that hold a register below
    `fixed` stay."""
    stay = [b for b in found if b[0] < fixed]
    move = [b for b in found if b[0] >= fixed]
    rng.shuffle(move)
    at = max([fixed] + [b[1] + 1 for b in stay])
    new = {b[0]: b[0] for b in stay}
    for low, high in move:
        at += (low - at) % align
        new[low] = at
        at += high - low + 1
    return new, at


def is_code(line):
    word = line.split(";")[0].strip()
    return bool(re.match(r"[a-z]+_", word)) and ":" not in word.split()[0]


def rename(text, rng, preset_sgprs):
    lines = text.split("\n")
    spans = {"v": set(), "a": set(), "s": set()}
    for line in filter(is_code, lines):
        for m in TUPLE.finditer(line):
            spans[m.group(1)].add(span(m))
    found = {bank: blocks(s) for bank, s in spans.items()}
    new, top = {}, {}
    for bank, fixed, align in ("v", 1, 2), ("a", 0, 2), ("s", preset_sgprs, 4):
        new[bank], top[bank] = place(found[bank], fixed, align, rng)
        if top[bank] > (96 if bank == "s" else 256):
            new[bank] = {b[0]: b[0] for b in found[bank]}

    def swap(m):
        bank, (low, high) = m.group(1), span(m)
        base = next(b[0] for b in found[bank] if b[0] <= low <= b[1])
        low += new[bank][base] - base
        high += new[bank][base] - base
        return "%s%d" % (bank, low) if m.group(4) else "%s[%d:%d]" % (
            bank, low, high)

    out = [TUPLE.sub(swap, x) if is_code(x) else x for x in lines]
    renamed = sum(a != b for a, b in zip(lines, out))
    text = "\n".join(out)
    # The descriptor must declare what is used now.
    text = re.sub(r"(\.amdhsa_next_free_vgpr) \d+", r"\1 256", text)
    text = re.sub(r"(\.amdhsa_accum_offset) \d+", r"\1 256", text)
    return text, renamed
