"""usage: uncertify.py IN.kpk OUT.kpk ; the first kernel of the bundle without
its certificate, the digest of the index fitted (runtime/api/bundle.h)."""
import hashlib
import struct
import sys

HEADER = struct.Struct("<8s4I3Q24s32s")
CERT = 16 + 16 + 64          # bytes of an entry before its certificate's place

data = bytearray(open(sys.argv[1], "rb").read())
head = list(HEADER.unpack_from(data))
size, manifest, length = head[1], head[5], head[6]
struct.pack_into("<2Q32s", data, size + CERT, 0, 0, bytes(32))
head[9] = hashlib.sha256(data[size:manifest + length]).digest()
HEADER.pack_into(data, 0, *head)
open(sys.argv[2], "wb").write(data)
