"""usage: drop_store.py IN.co OUT.co ; turns the first buffer_store_dwordx2
(MUBUF opcode 29 of gfx9, 8 bytes) into two s_nop 0."""
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
for at in range(0, len(data) - 7, 4):
    (word,) = struct.unpack_from("<I", data, at)
    if word >> 26 == 0x38 and word >> 18 & 0x7F == 29:
        struct.pack_into("<II", data, at, 0xBF800000, 0xBF800000)
        break
else:
    sys.exit("no buffer_store_dwordx2 in %s" % sys.argv[1])
with open(sys.argv[2], "wb") as f:
    f.write(data)
