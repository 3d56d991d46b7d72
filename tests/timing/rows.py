"""Launches of code objects, as lines for predict_rows.

How AMD's assembly GEMM kernels are called (argument order, grid) is what
aiter's csrc/py_itfs_cu/asm_gemm_a16w16.cu, asm_gemm_a4w4.cu and
asm_a8w8_blockscale_bpreshuffle.cu do; the objects are not part of this
repository (aiter, hsa/gfx950/*/*.co)."""
import re


def up(n, m):
    return (n + m - 1) // m * m


def cdiv(a, b):
    return (a + b - 1) // b


def tile_of(name):
    m = re.search(r'_(\d+)x(\d+)(?:_|E|$)', name)
    return (int(m.group(1)), int(m.group(2))) if m else None


def line(ident, obj, grid, block, args, m, n, k, slot=0, lds=0):
    return ('id=%s obj=%s grid=%d,%d,%d block=%d slot=%d lds=%d flops=%.0f '
            'args=%s' % (ident, obj, *grid, block, slot, lds,
                         2.0 * m * n * k, ','.join(args)))


def aiter_bf16(ident, root, name, m, n, k, split):
    tm, tn = tile_of(name)
    stem = re.sub(r'^_ZN5aiter\d+', '', name)[:-1]
    obj = '%s/gfx950/bf16gemm/%s.co' % (root, stem)
    args = ['p:%d' % (up(m, tm) * n * 4), 'z:0', 'p:%d' % (m * k * 2),
            'p:%d' % (n * k * 2), 'f:1', 'f:0', 'i:%d' % (n * 2), 'i:0',
            'i:%d' % (n * 2), 'i:0', 'i:%d' % (k * 2), 'i:0',
            'i:%d' % (k * 2), 'i:0', 'i:%d' % m, 'i:%d' % n, 'i:%d' % k,
            'i:%d' % split, 'i:1', 'z:0', 'i:0',
            'p:65536' if split > 1 else 'z:0']
    return line(ident, obj, (cdiv(n, tn), cdiv(m, tm), split), 256, args,
                m, n, k, 16)


def aiter_f4(ident, root, name, m, n, k, log2):
    tm, tn = tile_of(name)
    stem = re.sub(r'^_ZN5aiter\d+', '', name)[:-1]
    obj = '%s/gfx950/f4gemm/%s.co' % (root, stem)
    parts = 1 << log2
    per = up(k // parts, 256)
    sk = up(k // 32, 8)
    args = ['p:%d' % (up(m, tm) * n * 2), 'z:0', 'p:%d' % (m * k // 2),
            'p:%d' % (n * k // 2), 'f:1', 'f:0', 'i:0', 'i:0', 'i:%d' % n,
            'i:0', 'i:%d' % k, 'i:0', 'i:%d' % k, 'i:0', 'i:%d' % m,
            'i:%d' % n, 'i:%d' % k, 'p:%d' % (up(m, 256) * sk),
            'p:%d' % (up(n, 256) * sk), 'i:%d' % sk, 'i:0', 'i:%d' % sk,
            'i:0', 'i:%d' % log2]
    return line(ident, obj, (cdiv(n, tn), cdiv(m, tm), cdiv(k, per)), 256,
                args, m, n, k, 16)


def aiter_fp8(ident, root, name, m, n, k, ks, arch='gfx950'):
    tm, tn = tile_of(name)
    stem = re.sub(r'^_ZN5aiter\d+', '', name)[:-1]
    obj = '%s/%s/fp8gemm_blockscale/%s.co' % (root, arch, stem)
    ks = max(ks, 1)
    args = ['p:%d' % (m * n * 2), 'p:%d' % (m * k), 'p:%d' % (n * k),
            'p:%d' % (m * cdiv(k, 128) * 4),
            'p:%d' % (cdiv(n, 128) * cdiv(k, 128) * 4), 'z:0', 'i:%d' % m,
            'i:%d' % n, 'i:%d' % k, 'i:%d' % k, 'i:%d' % k, 'i:%d' % (n * 2),
            'i:%d' % ks, 'i:%d' % m, 'i:%d' % cdiv(n, 128),
            'i:%d' % cdiv(k, 128)]
    return line(ident, obj, (n // tn * ks, cdiv(m, tm), 1), 256, args,
                m, n, k, 16)


def aiter_i8(ident, root, name, m, n, k, ks):
    """gfx942; asm_gemm_a8w8.cu."""
    tm, tn = tile_of(name)
    stem = re.sub(r'^_ZN5aiter\d+', '', name)[:-1]
    obj = '%s/gfx942/i8gemm/%s.co' % (root, stem)
    args = ['p:%d' % (m * n * 2), 'p:%d' % (m * k), 'p:%d' % (n * k),
            'p:%d' % (m * 4), 'p:%d' % (n * 4), 'z:0', 'i:%d' % m,
            'i:%d' % n, 'i:%d' % k, 'i:%d' % k, 'i:%d' % k, 'i:%d' % (n * 2),
            'i:%d' % ks, 'z:0', 'z:0', 'z:0']
    return line(ident, obj, (n // tn * ks, cdiv(m, tm), 1), 256, args,
                m, n, k, 16)


def triton(ident, obj, tile, m, n, k, bits, waves, lds):
    """gemm_nt of the Triton objects in tests/data/triton."""
    a = k * bits // 8
    args = ['p:%d' % (m * a), 'p:%d' % (n * a), 'p:%d' % (m * n * 2),
            'i:%d' % m, 'i:%d' % n, 'i:%d' % k, 'i:%d' % k, 'i:%d' % k,
            'i:%d' % n, 'z:0', 'z:0']
    return line(ident, obj, (cdiv(m, tile[0]) * cdiv(n, tile[1]), 1, 1),
                64 * waves, args, m, n, k, 0, lds)


def triton_mx(ident, obj, tile, m, n, k, bits, waves, lds):
    """gemm_mx_nt of the Triton objects in tests/data/triton."""
    a = k * bits // 8
    args = ['p:%d' % (m * a), 'p:%d' % (n * a), 'p:%d' % (m * n * 2),
            'p:%d' % (m * k // 32), 'p:%d' % (n * k // 32), 'i:%d' % m,
            'i:%d' % n, 'i:%d' % k, 'i:%d' % a, 'i:%d' % a, 'i:%d' % n,
            'i:%d' % (k // 32), 'i:%d' % (k // 32), 'z:0', 'z:0']
    return line(ident, obj, (cdiv(m, tile[0]) * cdiv(n, tile[1]), 1, 1),
                64 * waves, args, m, n, k, 0, lds)


def triton_grouped(ident, obj, offs, g, rows, n, k, size, nn):
    """grouped_nt or grouped_nn, persistent over 256 workgroups: `rows` rows
    in all, n and k of the product; offs: a file of the G + 1 offsets."""
    args = ['p:%d' % (rows * k * size), 'p:%d' % (g * n * k * size),
            'p:%d' % (rows * n * 2), 'd:' + offs, 'i:%d' % g, 'i:%d' % n,
            'i:%d' % k, 'i:%d' % k, 'l:%d' % (n * k),
            'i:%d' % (n if nn else k), 'i:%d' % n, 'z:0', 'z:0']
    return line(ident, obj, (256, 1, 1), 512, args, rows, n, k, 0, 65536)


def triton_wgrad(ident, obj, offs, g, rows, tile, om, on, size):
    """wgrad_tn: om x on of each group, `rows` rows to sum over in all."""
    args = ['p:%d' % (rows * om * size), 'p:%d' % (rows * on * size),
            'p:%d' % (g * om * on * 2), 'd:' + offs, 'i:%d' % om,
            'i:%d' % on, 'i:%d' % om, 'i:%d' % on, 'l:%d' % (om * on),
            'i:%d' % on, 'z:0', 'z:0']
    waves, lds = (8, 65536) if tile == 256 else (4, 32768)
    return line(ident, obj, (cdiv(om, tile) * cdiv(on, tile), g, 1),
                64 * waves, args, rows, om, on, 0, lds)
