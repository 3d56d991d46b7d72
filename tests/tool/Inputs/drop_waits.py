"""usage: drop_waits.py IN.co OUT.co ; turns every s_waitcnt for vector memory
alone (SOPP 0xbf8c of gfx9, expcnt 7, lgkmcnt 15) into s_nop 0."""
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
count = 0
for at in range(0, len(data) - 3, 4):
    (word,) = struct.unpack_from("<I", data, at)
    if word >> 16 == 0xBF8C and word & 0x0F70 == 0x0F70:
        struct.pack_into("<I", data, at, 0xBF800000)
        count += 1
if not count:
    sys.exit("no wait for vector memory in %s" % sys.argv[1])
with open(sys.argv[2], "wb") as f:
    f.write(data)
