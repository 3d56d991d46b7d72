/* layout.h - how peers store weights and E8M0 scales, both ways.
 *
 * Panels (aiter's shuffle_weight, layout (16, 16)): rows of `row` bytes, row
 * a multiple of 16, the number of rows too. 16 rows form a panel; in it, chunk
 * after chunk of 16 bytes along K, the chunk of each of the 16 rows in turn.
 *
 * Shuffled scales (aiter's e8m0_shuffle): view [rows/32, 2, 16, blocks/8, 2, 4]
 * permuted (0, 3, 5, 2, 4, 1), so that a dword has what one lane needs for 32
 * rows and 256 K. Rows are padded to 32, blocks (of 32 K) to 8, with 127,
 * which is 1.0: with payload 0 it adds nothing, whatever the padding meets.
 *
 * Gate and up: gemm1's 2N rows, N gate rows and N up rows, N a multiple of
 * 16, are interleaved 16 by 16 before either. */
#ifndef KN_LAYOUT_H
#define KN_LAYOUT_H

#include "../ir/base.h"

enum { KN_PANEL = 16, KN_SCALE_ROWS = 32, KN_SCALE_BLOCKS = 8,
       KN_SCALE_PAD = 127 };

/* Place of byte `at` of row `row` in panels, and back. */
uint64_t kn_panel_place(uint64_t row, uint64_t at, uint64_t row_bytes);
void kn_panel_source(uint64_t place, uint64_t row_bytes, uint64_t *row,
                     uint64_t *at);

/* Place of the scale of block `block` of row `row`, where a row has `blocks`
 * blocks; and back. kn_scale_bytes: of all, padding included. */
uint64_t kn_scale_place(uint64_t row, uint64_t block, uint64_t blocks);
void kn_scale_source(uint64_t place, uint64_t blocks, uint64_t *row,
                     uint64_t *block);
uint64_t kn_scale_bytes(uint64_t rows, uint64_t blocks);

/* Stored row -> row of the matrix of n gate rows, then n up rows; and back. */
uint64_t kn_gate_source(uint64_t stored, uint64_t n);
uint64_t kn_gate_place(uint64_t row, uint64_t n);

/* Whole matrices; dst and src do not overlap. */
void kn_to_panels(uint8_t *dst, const uint8_t *src, uint64_t rows,
                  uint64_t row_bytes);
void kn_from_panels(uint8_t *dst, const uint8_t *src, uint64_t rows,
                    uint64_t row_bytes);
void kn_shuffle_scales(uint8_t *dst, const uint8_t *src, uint64_t rows,
                       uint64_t blocks);
void kn_unshuffle_scales(uint8_t *dst, const uint8_t *src, uint64_t rows,
                         uint64_t blocks);

#endif
