/* layout.c - layout.h's definitions, place by place. */
#include "layout.h"

#include <string.h>

uint64_t
kn_panel_place(uint64_t row, uint64_t at, uint64_t row_bytes)
{
    return row / KN_PANEL * KN_PANEL * row_bytes + at / 16 * 16 * KN_PANEL +
           row % KN_PANEL * 16 + at % 16;
}

void
kn_panel_source(uint64_t place, uint64_t row_bytes, uint64_t *row,
                uint64_t *at)
{
    uint64_t in = place % (KN_PANEL * row_bytes);

    *row = place / (KN_PANEL * row_bytes) * KN_PANEL + in / 16 % KN_PANEL;
    *at = in / (16 * KN_PANEL) * 16 + in % 16;
}

static uint64_t
groups_of_blocks(uint64_t blocks)
{
    return (blocks + KN_SCALE_BLOCKS - 1) / KN_SCALE_BLOCKS;
}

/* 256 bytes: [block % 4][row % 16][block / 4 % 2][row / 16 % 2]. */
uint64_t
kn_scale_place(uint64_t row, uint64_t block, uint64_t blocks)
{
    uint64_t tile = row / KN_SCALE_ROWS * groups_of_blocks(blocks) +
                    block / KN_SCALE_BLOCKS;

    return tile * 256 + block % 4 * 64 + row % 16 * 4 + block / 4 % 2 * 2 +
           row / 16 % 2;
}

void
kn_scale_source(uint64_t place, uint64_t blocks, uint64_t *row,
                uint64_t *block)
{
    uint64_t tile = place / 256, in = place % 256;
    uint64_t per = groups_of_blocks(blocks);

    *row = tile / per * KN_SCALE_ROWS + in % 2 * 16 + in / 4 % 16;
    *block = tile % per * KN_SCALE_BLOCKS + in / 2 % 2 * 4 + in / 64;
}

uint64_t
kn_scale_bytes(uint64_t rows, uint64_t blocks)
{
    return (rows + KN_SCALE_ROWS - 1) / KN_SCALE_ROWS * 256 *
           groups_of_blocks(blocks);
}

uint64_t
kn_gate_source(uint64_t stored, uint64_t n)
{
    return stored / 32 * 16 + stored % 16 + (stored / 16 % 2 ? n : 0);
}

uint64_t
kn_gate_place(uint64_t row, uint64_t n)
{
    uint64_t in = row < n ? row : row - n;

    return in / 16 * 32 + (row < n ? 0 : 16) + in % 16;
}

void
kn_to_panels(uint8_t *dst, const uint8_t *src, uint64_t rows,
             uint64_t row_bytes)
{
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t at = 0; at < row_bytes; at += 16)
            memcpy(dst + kn_panel_place(r, at, row_bytes),
                   src + r * row_bytes + at, 16);
}

void
kn_from_panels(uint8_t *dst, const uint8_t *src, uint64_t rows,
               uint64_t row_bytes)
{
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t at = 0; at < row_bytes; at += 16)
            memcpy(dst + r * row_bytes + at,
                   src + kn_panel_place(r, at, row_bytes), 16);
}

void
kn_shuffle_scales(uint8_t *dst, const uint8_t *src, uint64_t rows,
                  uint64_t blocks)
{
    memset(dst, KN_SCALE_PAD, kn_scale_bytes(rows, blocks));
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t b = 0; b < blocks; b++)
            dst[kn_scale_place(r, b, blocks)] = src[r * blocks + b];
}

void
kn_unshuffle_scales(uint8_t *dst, const uint8_t *src, uint64_t rows,
                    uint64_t blocks)
{
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t b = 0; b < blocks; b++)
            dst[r * blocks + b] = src[kn_scale_place(r, b, blocks)];
}
