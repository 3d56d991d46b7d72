"""usage: drop_waits.py IN.co OUT.co ; turns every s_waitcnt vmcnt(0) (and no
other counter, SOPP 0xbf8c0f70 on gfx9) into s_nop 0."""
import sys

data = open(sys.argv[1], "rb").read()
count = data.count(bytes.fromhex("700f8cbf"))
if not count:
    sys.exit("no s_waitcnt vmcnt(0) in %s" % sys.argv[1])
with open(sys.argv[2], "wb") as f:
    f.write(data.replace(bytes.fromhex("700f8cbf"), bytes.fromhex("000080bf")))
