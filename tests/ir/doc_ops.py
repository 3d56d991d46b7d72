"""The operation tables of docs/ir.md, made from ir/ops.def and ir/attrs.def.

usage: doc_ops.py ROOT [--write]

Without --write it is a test (TAP): the page must hold exactly these tables,
every operation a sentence, and every sentence an operation.
"""
import os
import re
import sys

SENTENCES = {
    "loop": "until a `break` fires",
    "break": "leave the innermost loop if the condition holds",
    "if": "to its `else` or `end`; the condition is uniform; with `likely=` 1 it nearly "
          "always holds, with 2 hardly ever, and what does not run is out of the way",
    "else": "the other way of `if`",
    "end": "closes `loop` or `if`",
    "stop": "end of the kernel",
    "mov": "copy",
    "add": "sum", "sub": "difference", "mul": "product, low half",
    "udiv": "unsigned quotient", "urem": "unsigned remainder",
    "and": "bits", "or": "bits", "xor": "bits",
    "shl": "shift left", "shr": "shift right, zeros come in",
    "sar": "shift right, the sign comes in",
    "smin": "smaller, signed", "smax": "larger, signed",
    "umin": "smaller, unsigned", "umax": "larger, unsigned",
    "eq": "equal", "ne": "unequal", "slt": "less, signed",
    "sge": "greater or equal, signed", "ult": "less, unsigned",
    "band": "both conditions",
    "select": "second operand if the first holds, else the third",
    "sext": "wider, sign kept", "zext": "wider, zeros", "trunc": "narrower",
    "perm": "bytes of two dwords picked by the third (v_perm_b32: 0-3 of the "
            "second, 4-7 of the first, 12 is zero)",
    "scan": "inclusive prefix sum over the lanes",
    "count": "number of lanes where the condition holds",
    "readlane": "the value of one lane",
    "uniform": "the value of the first lane",
    "assume": "the same value, which a launch holds to 0 .. a constant",
    "fadd": "sum", "fmul": "product", "fma": "a * b + c, one rounding; "
            "`single=1`: element by element, as packed f32 would wait for matrix instructions",
    "i2f": "integer to float", "cvt": "other float type, nearest even",
    "ldexp": "times a power of two",
    "unpack": "two 8- or 4-bit floats of a dword, from element `first=` on",
    "widen": "two 8- or 4-bit floats of a dword, from element `first=` on, "
             "times a power of two, as bf16",
    "unpack32": "32 floats of 6 bits, from six dwords",
    "lerp": "byte by byte half of the first two's sum and of the lowest bit of "
            "the third's byte (v_lerp_u8)",
    "bfi": "the second's bits where the first's are 1, else the third's (v_bfi_b32)",
    "dot4": "sum of the products of four signed bytes, plus the third",
    "codes.4": "eight codes of fp4, nearest even: of bf16 in four dwords, under a scale of "
               "which the second is the byte, the third the f32 bits of what it was made "
               "of; or of f32, times the second, on gfx942; several operations",
    "run.shift": "16 bytes that begin at a byte of the first dword, of which that of the third "
                 "operand says whether it is the third: the dword behind is the next lane's "
                 "first, or where the fourth holds the second; several operations",
    "run.cut": "16 bytes with zeros from that element of `elem=` on; several operations",
    "pairs.max": "f32 bits of the largest magnitude of eight numbers of `elem=`, of bf16 with "
                 "the smaller half below it but for `mode=1`; several operations",
    "pairs.lower": "two halves' magnitudes less those of the second, but at least 0; "
                   "several operations",
    "pack.6": "24 bits of four codes of 6 bits: of bytes, or of an 8-bit float's fields, one "
              "less with `sat=` where one is too large, under the second's signs; several "
              "operations",
    "sum.8": "four i8 codes, nearest even; several operations",
    "stg.part": "stores so many bytes, fewer than there are, by 4, 2 and 1; several operations",
    "bits": "same bits, other type",
    "random": "16 bits, not yet odd, for each of the eight columns that one is of, two "
              "in a word: row, column, seed (docs/epilogues.md); several operations",
    "wave.max": "largest of all lanes, unsigned; several operations",
    "group.max": "largest of the same lane of all waves, unsigned, of which each writes 256 of "
                 "its `bytes=` of LDS; with a barrier; several operations",
    "raise": "raises the dword at the pointer to the lanes' largest, unsigned; several operations",
    "meet": "counts the wave at a byte of memory when what it wrote is there, and waits until "
            "as many have as the third operand says, but looks 1024 times at most: 1 if they "
            "have; several operations",
    "leave": "counts the wave as `meet` does, without waiting: 1 for the last of so many, which "
             "leaves 0; several operations",
    "random.step": "two values, of columns `first=` and the next of eight, as what the definition "
                   "rounds them to at random in `elem=i8` or gfx942's `bf8`: row, column, seed "
                   "(`sat=0`: an infinity stays one); several operations",
    "random.codes": "eight codes that the definition rounds numbers to at random: of f32, then "
                    "row, column and seed, or of bf16 in four dwords with a scale's byte and "
                    "f32 bits of what it was made of behind; f32 for a MX type is moved to "
                    "exponents where the smallest normal number of `elem=` is f16's; codes of "
                    "6 bits have a byte each, or are v.f16x8, numbers whose smallest normal one is f16's; "
                    "those of 4 are one dword; several operations",
    "at.random": "a float, or four of columns from a multiple of four on, which nearest "
                 "makes what the definition rounds them to at random in `elem=`: then "
                 "row, column, seed; several operations",
    "cat": "vector of the operands' elements",
    "slice": "elements from `first=` on", "splat": "every element the same",
    "args": "reads the kernel's arguments again, so that they need no "
            "registers meanwhile",
    "ready": "every argument is in scalar registers here, loaded together; "
             "no instruction",
    "wg": "number of the workgroup along x; with `first=1` along y, "
          "`first=2` along z", "wave": "number of the wave in it",
    "lane": "number of the lane, 0 to 63",
    "padd": "pointer plus bytes", "addr": "pointer as a number",
    "rsrc": "buffer resource: base address, bytes in range",
    "ldg": "load at a byte offset; out of range reads zero",
    "stg": "store at a byte offset; out of range is dropped",
    "arrive": "add one to a count in memory, from the third operand on back "
              "to zero; the result is the old count",
    "dma": "copy to LDS: slot, byte of the wave's first lane (the lanes follow "
           "each other), resource, byte offset of this lane",
    "lds.ld": "LDS read at a byte of the slot; with `ring=` lanes may read the slot so many "
              "further on instead, at the same place as a `select` of both addresses "
              "says, or each where its address lies; `tr=` transposes elements of so "
              "many bits among 16 lanes",
    "lds.st": "LDS store at a byte of the slot",
    "ldu": "load the same for all lanes",
    "mfma": "a * b + c", "mfma.scale": "the same with an E8M0 scale of each "
                                       "operand, byte `sela=` and `selb=` of "
                                       "their registers",
    "fence": "waits until at most `vm=` vector-memory and `lgkm=` LDS "
             "operations are outstanding; the defaults wait for nothing",
    "landed": "the fence pass puts the weakest sufficient fence here: this "
              "wave's copies into the slot or load of the register are there, "
              "and what uses the register stays behind it",
    "used": "holds a register to this place; no instruction (`going=1`: its "
            "load may still be on its way)",
    "barrier": "all waves of the workgroup meet",
    "stagger": "the later half of the waves executes one barrier more: it runs "
               "one behind from here on",
    "rejoin": "the first half executes one barrier more: all are level again",
    "prio": "priority of the wave",
    "sched": "the back end moves nothing across; `going=1`: it moves no loads",
    "enter": "a tile begins: wave and lane numbers anew",
    "view": "where an LDS tile is filled from: tile, pointer, first outer "
            "index, their number, length along K, row pitch in bytes; then "
            "16 rows alternate with the 16 that lie so many rows further on",
    "gather": "the same for rows named by ids (token | slot << 24, or with "
              "`plain=1` token * slots + slot): tile, "
              "pointer, ids of the tile's rows, tokens, slots a token, K, "
              "pitch; a row is the token's, with `slots=1` the slot's own; "
              "ids beyond the last token read zero; the ids may be loaded "
              "already",
    "window": "from here on the ids of rows count from this token, which "
              "pointers given with them lie at",
    "advance": "to the next K tile; where the condition does not hold, to "
               "nowhere: copies read zeros",
    "rotate": "the view begins at this element of K, where a K tile does, and "
              "comes from its last K tile to its first; all of K",
    "copy": "fill a slot directly from memory (share `part=` of `parts=`), of rows "
            "along K up to K, of which so much is left at this K tile, and of lines, of "
            "which so many bytes are",
    "fetch": "load a K tile (share `part=` of `parts=`) into registers, of 16-bit rows that "
             "`put.quant` takes up to K, of which so much is left at this K tile",
    "pull": "load the fragments (or scales) of a whole K tile straight from "
            "memory, of a view of an LDS tile of no slots; of a tile with no "
            "K left, the second operand, nothing is read; with `tail=1` nor "
            "is what lies beyond K",
    "fetch.zeros": "load the zero points of the columns of B that are this lane's in its "
                   "fragments, of all groups of a K tile",
    "factors": "scales of bytes, read of four K steps at once, of codes that stay so in LDS, "
               "as f32",
    "scaled": "fragments of such codes as the type that is multiplied, times those of K step "
              "`kk=` of the four",
    "integers": "fragments of 4-bit integers (share `part=` of `parts=`) as the type that is "
                "multiplied, less their zero points in K step `kk=`",
    "keep": "holds the registers of fetched or pulled tiles to this place",
    "await": "copies into a slot, or fetched tiles (shares of them), are there "
             "(this wave's)",
    "put.quant": "write a fetched tile of 16-bit rows, or a share of it, as 8-bit codes, and "
                 "the f32 scale of each 128 K of a row to the second slot: "
                 "largest magnitude (at least 1e-10) times 1 / the largest "
                 "code; or, if that slot has a scale for each 32 K, as fp4 "
                 "with E8M0 scales by `mode=` (fp8 with f32 factors: the same "
                 "values); K at and beyond the last operand counts as zero",
    "fold.base": "of fetched E8M0 scales, for each row: 2^3 (of e3m2 2^2) times the "
                 "largest, at least 2^-5, at most 2^11",
    "put.base": "2^-5 (of e3m2 2^-3) times the base of each row, f32, to a slot that has a "
                "dword of each block of 32 K, K-outer",
    "put.apart": "which blocks of a converted tile are not folded, and their scales, to such a "
                 "slot; of those at and beyond K of the last operand none is",
    "put.any": "whether a wave has such a block in either converted tile, to a slot of a dword a "
               "thread",
    "any.apart": "whether any wave has put one there; all waves go the same way",
    "mma.apart": "sums of the product of one block of folded tiles, times what the dwords of "
                 "`put.apart` say of its column and its row, added to the accumulators",
    "wipe": "fragments of zeros, or a share of them",
    "acc.unfold": "accumulators times the factors of columns and of rows",
    "convert": "the elements of a fetched tile, or a share of it, in registers as "
               "`put` would write them; `put` then takes them as they are; of runs of 32 "
               "fp4, or 16 of 6 bits, that become FNUZ fp8, with the scales of K tile `kk=` and the base of "
               "their rows, which these codes then have (folded)",
    "put": "write a fetched tile, or a share of it, to a slot; with a third "
           "operand its elements become bf16 (of fp4 by e4m3 f16 too) times the "
           "scales fetched there, those of K tile `kk=` of them",
    "clip": "zero what lies at or beyond the given K, in the bytes this wave "
            "wrote",
    "cut": "zero what lies at or beyond the given K, in a fetched tile that `put.quant` takes; "
           "waits for it if that is less than a K tile",
    "read": "fragments of K step `kk=` (share `part=` of `parts=`); "
            "`pairs=1`: shuffled scales of two and two, for two K steps; `one=1`: "
            "all columns of a wave have one factor",
    "clear": "accumulators of zeros (share `part=` of `parts=` of the rows)",
    "mma": "accumulate A * B, with scales if given (share `part=` of `parts=` of A's rows; "
           "`half=1`, `half=2`: of half of B's columns)",
    "mma.block": "accumulate A * B times the scales of the K block",
    "acc.addblock": "plus another tile's products times the scales of their K "
                    "block (share `part=` of `parts=`)",
    "acc.mul": "times a number (`parts`: row blocks in turn, of which each is stored "
               "before the next is changed)",
    "acc.div": "times 1 over a number",
    "acc.operand": "the array in slot `slot=` of the expression that comes next",
    "acc.scalar": "the same of a scalar",
    "acc.named": "rows of the expression's arrays, and of what `store.panel` and "
                 "`store.quant` with one scale a row write, are those that ids name, "
                 "token * slots + slot: "
                 "ids loaded before, tokens, slots a token",
    "acc.seed": "the seed of what is rounded at random, `random=1`, row and "
                "column of the output where the tile begins (docs/epilogues.md)",
    "acc.apply": "the expression of the line `expr` of each: pointers to the "
                 "bias and C, first row and column, rows, columns, pitch; "
                 "`add=1` reads C and adds it first unless `c` is named; `parts`: "
                 "row blocks in turn, of gate and up pairs, in the place of gate; "
                 "`any=1` as of `store`; `mode=1`: what it says of `aux`, else what becomes of that",
    "store": "write the output tile: pointer, first row, first column, rows, "
             "columns, pitch (share `part=` of `parts=` of the rows); `add=1` "
             "adds to it, `atomic=1` atomically, f32 or in pairs of bf16; `elem=fp8`, `bf8` "
             "and `i8` are codes, with `sat=1` the limit for what is beyond it; `vec=8`: 16 "
             "bytes a lane, turned between lanes; `any=1` of `vec=1`: four columns at any byte; `random=1`: rounded at random "
             "(`acc.seed`); with what `acc.share` says in the place of LDS the slices "
             "of `splits=` that are this wave's",
    "rows.turn": "the odd rows of 16 lanes of dwords 0 and 1 change places with "
                 "the even ones of 2 and 3 (`v_permlane16_swap_b32`)",
    "row.roll": "the value `first=` lanes before, around 16 lanes (DPP "
                "`row_ror`); `span=16`: as many rows of 16 before, around 64; `span=64` "
                "`first=63`: of the next of 64 (`wave_rol`)",
    "rows.flip": "the first where bit 3 of lane `l` is `first=`, elsewhere the "
                 "second of lane `l ^ 8` (DPP `row_ror:8`)",
    "acc.gate": "16 gate columns and 16 up columns become 16 columns",
    "store.zero": "zeros where `store` of the tile would write, before other "
                  "workgroups add to them (`coh=1`)",
    "count.in": "each wave, when what it has stored is there, adds one to the "
                "count at the pointer, from the second operand on back to zero",
    "count.wait": "waits until that count is the number of a workgroup's waves",
    "acc.park": "split-K: store the accumulators in the tile's area and count "
                "this wave: area, counters, number of the share, rows left; "
                "true for the last of `splits=` to come",
    "acc.share": "split-K: the same operands; parks all slices of the accumulators "
                 "but this share's, counts this wave and looks for the others 64 times at "
                 "most. Bit s is 1 if this wave adds up slice s: its own when all "
                 "have come, and what others no longer wait for when it is the last; "
                 "`turns=1`: of slices alike (`kn_even_slice`), and its own is picked "
                 "before it looks",
    "acc.join": "accumulators become the sum of the area's shares, in order: "
                "area, number of this share, rows left; with what `acc.share` says, of "
                "those slices (`pairs=1`: of gate and up), which alone `acc.apply` and "
                "`acc.gate` then work on; `turns=1`: of the first of them, whose bit is "
                "no more, and all operations behind it are of that slice",
    "fold": "sum over lane `l` and `l ^ 1`, `l ^ 2`, `7 - l` of 8 or `15 - l` "
            "of 16: of the first where bit `first` of `l` is 0, else of the second; "
            "`swap=1`: of the other lane's first and this one's second",
    "near.max": "largest of each 4, 8 or 16 (`parts=`) lanes side by side, unsigned; "
                "`span=16`: of 4 that are 16 apart",
    "transform": "Hadamard's of `cols=` elements, not divided by their root: of v.f32x8, 8 "
                 "elements each of lanes side by side, butterflies; of `elem=bf16` or "
                 "`f16` in v.i32x4, of lanes 16 apart, matrix products; several operations",
    "cvt.8": "four 8-bit codes of four floats: nearest even, `i8` towards "
             "zero"
             " (`parts=2`: made by "
             "halves, for neighbours that nothing lies between)",
    "quad.max": "largest of the four lanes that share `l % 16`",
    "cvt.mx": "four codes in the low bits: numbers over a scale, nearest even "
              "(`parts=3`: eight of fp4, in registers that numbers were in)",
    "cvt.6": "32 codes of 6 bits of v.f32x32, or of v.f16x32 over a scale, nearest even, beside each "
             "other; on gfx950",
    "cvt.sr": "eight codes of fp4 on gfx950: bf16 numbers over a scale, each up as a byte of "
              "v.i32x2 says ([quant.md](quant.md#stochastic-rounding))",
    "abs.max": "largest magnitude of the elements and the second; `mode=1`: a "
               "NaN is the largest, else it is left out",
    "store.quant": "codes of 8 bits or fp4 under scales that are made and "
                   "written, one for `cols=` columns of a row (0: all): "
                   "pointer, tile origin and size as `store`, pitch, pointer "
                   "to the scales, f32, or E8M0 of 32 columns and with `mode=1` of others, dense; "
                   "`random=1` as `store`",
    "store.mx": "gated rows as fp4 or fp8 with an E8M0 scale a block of 32 "
                "columns: pointers to the first column and its scale, ids, "
                "tokens, slots a token, columns left, pitch; `mode=` is the "
                "scale's rounding (gen/tool/run/moe.h), `random=1` as of `store`",
    "rows.ids": "the ids of this wave's accumulator rows, loaded here",
    "rows.named": "f32 of the rows that ids name: pointer, ids loaded before, "
                  "tokens, slots a token",
    "cols.f32": "f32 by column of this wave's accumulators, loaded here: pointer, first "
                "column, columns; `pairs=1`: 16 gate columns and 16 up columns in turn, those "
                "of up follow those of gate",
    "rows.f32": "the same by row: pointer, first row, rows",
    "acc.mulrows": "times a value a row (`parts` as `acc.mul`)",
    "acc.mulcols": "times a value a column", "acc.addcols": "plus it",
    "acc.panel": "where `store.panel` parks: pointers to the areas of all slabs of 16 "
                 "rows and to their counters, number of this row of tiles, K of a tile, which "
                 "takes as long as waves of a row look for each other",
    "store.panel": "`store.quant` of one scale a row of more columns than a tile has: "
                   "sums are parked, and the last of a slab's waves to come makes its "
                   "scales and codes (`acc.panel`); with `own=1` waves that meet make "
                   "their own, from registers",
    "rows.share": "the LDS tile, as that of `rows.max`, by way of which waves along N that "
                  "share a scale of `store.quant` or `store.panel` tell each other the "
                  "largest of their rows, with a barrier",
    "rows.max": "largest magnitude of each row, of all columns of the tile: by "
                "way of an LDS tile with a row of f32 for each wave along N, "
                "with a barrier, if there are several; a NaN is left out",
    "acc.quant": "such largest become scales, with `mode=1` E8M0 for `rows.put`, and the "
                 "accumulators what `store.rows` makes codes of",
    "rows.put": "write a value a row where its id says: pointer, ids loaded "
                "before, tokens, slots a token, pitch",
    "store.rows": "write each row where its id says: pointer to the first "
                  "column, ids loaded before, tokens, slots a token, columns "
                  "left, pitch; `atomic=1` adds, `random=1` as `store`",
    "fmin": "smaller", "fmax": "larger",
    "minimum": "smaller; a NaN of the first stays", "maximum": "larger; the same",
    "held": "a copy in a vector register, which LLVM does not see through; none in the "
            "assembly lowering",
    "fpos": "zero for what is below it; a NaN stays",
    "fsel": "of a > b the third, else the fourth",
    "exp2": "power of two, 1 ulp (`v_exp_f32`)",
    "rcp": "reciprocal, 1 ulp (`v_rcp_f32`)",
    "rsq": "reciprocal square root, 1 ulp (`v_rsq_f32`); of f64 refined",
    "fdiv": "quotient of f64, rounded once; none in the assembly lowering",
    "atom.add": "add two bf16 or an f32 to memory, atomically",
    "atom.max": "the larger of it and an i32 or i64 of memory, unsigned, atomically",
    "acc.amax": "raises the f32 (of sums of f64 f64) at the pointer to the largest magnitude of the "
                "tile that is within the output, a NaN the largest of all: "
                "first row and column, rows, columns (`parts`: row blocks in "
                "turn, in order, the last of which writes)",
    "rows.amax": "the same of rows that ids name: pointer, ids loaded before, tokens, "
                 "slots a token, columns left",
    "acc.float": "integer accumulators to f32",
}

BEGIN, END = "<!-- made by tests/ir/doc_ops.py -->", "<!-- end -->"
LEVELS = {"BOTH": "both", "TILE": "tile", "WAVE": "wave", "SHORT": "wave"}


def rows(text, name):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for m in re.finditer(r"^%s\((.*?)\)\s*$" % name, text, re.S | re.M):
        fields = re.findall(r'"[^"]*"|\'[^\']*\'|[^,\s][^,]*', m.group(1))
        yield [f.strip().strip("\"'") for f in fields]


def operands(letters):
    must, _, may = letters.partition("?")
    text = " ".join(must)
    return "`%s`" % (text + (" [%s]" % " ".join(may) if may else "")) \
        if letters else ""


def table(root):
    with open(os.path.join(root, "ir/ops.def")) as f:
        ops = list(rows(f.read(), "OP"))
    with open(os.path.join(root, "ir/attrs.def")) as f:
        attrs = list(rows(f.read(), "A"))
    out = ["| operation | level | result | operands | attributes | meaning |",
           "|---|---|---|---|---|---|"]
    for _, text, level, dst, args, attributes, _ in ops:
        out.append("| `%s` | %s | %s | %s | %s | %s |" % (
            text, LEVELS[level], "" if dst == "-" else "`%s`" % dst,
            operands(args), attributes, SENTENCES.get(text, "?")))
    out += ["", "| attribute | default | value |", "|---|---|---|"]
    kinds = {"INT": "number", "TYPE": "element type",
             "MFMA": "matrix instruction"}
    for _, text, default, kind in attrs:
        shown = default if kind == "INT" else ""
        out.append("| `%s=` | %s | %s |" % (text, shown, kinds[kind]))
    return [o[1] for o in ops], "\n".join(out)


def main(root, write):
    page = os.path.join(root, "docs/ir.md")
    with open(page) as f:
        old = f.read()
    names, new = table(root)
    head, _, rest = old.partition(BEGIN)
    body, _, tail = rest.partition(END)
    if write:
        with open(page, "w") as f:
            f.write(head + BEGIN + "\n" + new + "\n" + END + tail)
        return
    checks = [
        ("docs/ir.md has the tables of ops.def and attrs.def",
         body.strip() == new),
        ("every operation has a sentence", not set(names) - set(SENTENCES)),
        ("every sentence has an operation", not set(SENTENCES) - set(names)),
        ("a changed table is seen", body.replace("`mfma`", "`mfmb`") != body),
    ]
    print("1..%d" % len(checks))
    for n, (what, ok) in enumerate(checks, 1):
        print("%sok %d - %s" % ("" if ok else "not ", n, what))


if __name__ == "__main__":
    main(sys.argv[1], "--write" in sys.argv)
