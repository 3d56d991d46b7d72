"""overflow.py DIR: mxfp8 operands of a product of 2 x 8 x 64, E8M0 254 on both
sides. Row 0 of A is 448 and -448, row 1 twice 448; B is ones."""
import sys

a = bytearray(2 * 64)
a[0], a[63], a[64], a[65] = 0x7E, 0xFE, 0x7E, 0x7E
for name, data in [("a", a), ("b", b"\x38" * (8 * 64)), ("sa", b"\xfe" * 4),
                   ("sb", b"\xfe" * 16)]:
    with open(f"{sys.argv[1]}.{name}.bin", "wb") as f:
        f.write(data)
