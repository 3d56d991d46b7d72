"""A bundle as clang-offload-bundler writes it, of code objects.

usage: offload.py OUT TARGET=FILE.co...
"""
import struct
import sys

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
ALIGN = 4096
entries = [("host-x86_64-unknown-linux-gnu-", b"")]
for word in sys.argv[2:]:
    target, name = word.split("=", 1)
    with open(name, "rb") as f:
        entries.append(("hipv4-amdgcn-amd-amdhsa--" + target, f.read()))

at = len(MAGIC) + 8 + sum(24 + len(i) for i, _ in entries)
header, body = struct.pack("<Q", len(entries)), b""
for name, code in entries:
    at += -at % ALIGN
    header += struct.pack("<QQQ", at, len(code), len(name)) + name.encode()
    at += len(code)
out = MAGIC + header
for _, code in entries:
    out += bytes(-len(out) % ALIGN) + code
with open(sys.argv[1], "wb") as f:
    f.write(out)
