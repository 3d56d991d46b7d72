"""Launches of code objects, as lines for predict_rows.

How AMD's assembly GEMM kernels are called (argument order, grid) is what
aiter's csrc/py_itfs_cu/asm_gemm_a16w16.cu, asm_gemm_a4w4.cu and
asm_a8w8_blockscale_bpreshuffle.cu do; the objects are not part of this
repository (aiter, hsa/gfx950/*/*.co)."""
import os
import re
import struct

import routing


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


def tokens_of(routed, experts, topk, block):
    """A routing as aiter's moe_sorting gives it, from the experts of each
    token: an expert's rows padded to blocks; sorted token ids, expert of each
    block, rows in use, blocks that are allotted."""
    tokens, by = len(routed), [[] for _ in range(experts)]
    for t, own in enumerate(routed):
        for slot, e in enumerate(own):
            by[e].append(t | slot << 24)
    none, ids, expert = tokens | topk << 24, [], []
    for e, own in enumerate(by):
        n = cdiv(len(own), block)
        ids += own + [none] * (n * block - len(own))
        expert += [e] * n
    blocks = (tokens * topk + experts * block - topk + block - 1) // block
    used = len(ids)
    return (ids + [none] * (blocks * block - used),
            expert + [0] * (blocks - len(expert)), used, blocks)


def packed(folder, name, form, values):
    path = os.path.join(folder, name)
    with open(path, 'wb') as f:
        f.write(struct.pack('<%d%s' % (len(values), form), *values))
    return 'd:' + path


def aiter_moe(ident, root, r, folder):
    """Gate and up of a mixture of experts, fp8; asm_moe_2stage.cu. r: a row
    of aiter_moe.json; folder: for the files of the routing."""
    stem = re.sub(r'^_ZN5aiter\d+', '', r['kernel'])[:-1]
    obj = '%s/%s/fmoe_2stages/%s.co' % (root, r['arch'], stem)
    blocks_of_k = 'blockscale' in stem  # their scales; else one a row
    tn = int(re.search(r'_\d+x(\d+)(?:_|$)', stem).group(1))
    tok, k, inter, e = r['token'], r['hidden'], r['inter'], r['experts']
    ids, expert, used, blocks = tokens_of(
        routing.experts_of(r['arch'], tok, k, inter, e, r['topk']), e,
        r['topk'], r['block_m'])
    weights = 'p:%d' % (4 * len(ids)) if 'doweight' in stem else 'z:0'
    gate_up = 2 * inter
    scales = gate_up // 128 * (k // 128) if blocks_of_k else gate_up
    out = inter * (1 if blocks_of_k else 2)
    args = ['p:%d' % (tok * r['topk'] * out), 'p:%d' % (tok * k),
            'p:%d' % (e * gate_up * k),
            packed(folder, ident + 'n', 'i', [used, tok]),
            'p:%d' % (tok * (k // 128 if blocks_of_k else 1) * 4),
            'p:%d' % (e * scales * 4 + 4096), 'z:0',
            packed(folder, ident + 's', 'I', ids),
            packed(folder, ident + 'e', 'i', expert), 'i:%d' % k,
            'i:%d' % inter, 'i:%d' % tok, 'i:%d' % e, 'i:%d' % k, 'i:%d' % k,
            'i:%d' % (r['topk'] * out), 'i:%d' % (gate_up * k),
            'i:%d' % (scales * 4), 'i:%d' % (inter * 4), 'i:%d' % r['topk'],
            'i:%d' % r['ksplit'], 'i:0', weights]
    return line(ident, obj, (cdiv(inter, tn), blocks, 1 << r['ksplit']), 256,
                args, tok * r['topk'], gate_up, k, 16)
