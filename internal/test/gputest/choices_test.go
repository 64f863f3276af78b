package gputest

import (
	"testing"

	"autotune/device/emulator"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/operator"
)

// TestChoicesBeyondDefaults tests configurations that run code which no template's default configuration runs, such as
// clusters that share their loads, split sums, several groups in one multiplication, column counts that are not a
// multiple of 32, and rows that leave the L2 cache early.
func TestChoicesBeyondDefaults(t *testing.T) {
	d := openEmulator(t, emulator.Options{})
	v := &prover{device: d, drawn: 1, few: true}
	for _, c := range endurance.Some([]struct{ operator, row, math, template, where string }{
		{"matmul", "1x130x136x164 transpose_b=true bias=true type=bf16", "fp32", "tma_gemm_16bit", "cluster == 2 and columns == 176 and row_blocks == 1"},
		{"matmul", "1x70x264x90 transpose_b=true type=f16", "fp32", "tma_gemm_16bit", "splits == 2 and columns == 168 and row_blocks == 1"},
		{"matmul", "1x192x512x950 transpose_b=true bias=true type=bf16", "fp32", "tma_gemm_16bit", "sharing == 1 and columns == 64 and row_blocks == 1"},
		{"matmul", "1x9x256x2900 transpose_b=true type=f16", "fp32", "few_stream", "line_blocks == 1 and beside == 1 and chunk == 256 and blocks_per_sm == 1"},
		{"conv2d", "1x64x40x52 c_out=60 padding=1 bias=true type=bf16 layout=nhwc", "fp32", "tma_channels_16bit", "sharing == 1 and cluster == 2 and columns == 64 and row_blocks == 1 and box == 8"},
		{"conv2d", "2x64x10x12 c_out=96 padding=1 type=bf16 layout=nhwc", "fp32", "tma_channels_16bit", "cluster == 2 and columns == 96 and row_blocks == 1"},
		{"conv2d", "1x64x9x8 c_out=64 padding=1 groups=16 bias=true type=f16 layout=nhwc", "fp32", "tma_channels_16bit", "splits == 1 and columns == 64 and row_blocks == 1"},
		{"conv2d", "1x32x9x8 c_out=32 padding=1 groups=4 layout=nhwc", "tf32", "tma_channels", "splits == 2 and columns == 64 and row_blocks == 1"},
		{"conv2d", "2x96x13x19 c_out=60 padding=1 bias=true type=f16 layout=nhwc", "fp32", "tma_channels_16bit", "taps == 'plane' and kept == 1 and line == 64"},
		{"conv2d", "2x64x9x21 c_out=130 kernel=2 padding=1 dilation=3x1 type=bf16 layout=nhwc", "fp32", "tma_channels_16bit", "taps == 'plane' and kept == 0 and arrangement == 'pingpong'"},
		{"conv2d", "2x96x9x21 c_out=70 padding=1 type=bf16 layout=nhwc", "fp32", "tma_channels_16bit", "taps == 'row' and down == 4 and line == 64 and cluster == 2"},
		{"conv1d", "2x40x131 c_out=70 kernel=4 padding=3 dilation=3 bias=true type=bf16 layout=nhwc", "fp32", "tma_channels_16bit", "taps == 'row' and row_blocks == 2"},
		{"conv2d", "1x64x9x8 c_out=64 padding=1 groups=16 bias=true layout=nhwc", "tf32", "tma_channels_scaled", "taps == 'plane'"},
		{"conv_transpose2d", "1x64x5x21 c_out=72 kernel=2 stride=2 bias=true type=bf16 layout=nhwc", "fp32", "tma_channels_16bit", "cluster == 2 and columns == 64 and row_blocks == 1"},
		{"conv_transpose2d", "2x64x6x9 c_out=40 kernel=4 stride=2 padding=1 bias=true type=bf16 layout=nhwc", "fp32", "tma_channels_16bit", "taps == 'plane' and arrangement == 'pingpong'"},
		{"conv_transpose2d", "1x128x6x5 c_out=36 kernel=3 stride=2 padding=1 output_padding=1 layout=nhwc", "tf32", "tma_channels", "splits == 2 and columns == 64 and row_blocks == 1"},
		{"rms_norm", "70x264x1 type=bf16", "fp32", "rows", "once == 1 and keep == 'shared' and team == 8"},
		{"conv2d", "1x64x9x8 c_out=64 padding=1 groups=2 bias=true layout=nhwc", "tf32", "tma_channels_scaled", "splits == 2 and columns == 64 and row_blocks == 1"},
		{"conv2d", "1x72x40x52 c_out=60 padding=1 layout=nhwc", "tf32_even", "tma_channels_scaled", "sharing == 1 and cluster == 2 and columns == 64 and row_blocks == 1 and box == 8"},
		// In the cases below, long columns have few threads, so each thread adds and rounds many elements in sequence.
		{"cumsum", "5x4096x24", "fp32", "columns", "unroll == 1"},
		{"masked_cumsum", "2x16384x24", "fp32", "columns", "unroll == 8"},
		{"sum", "1x65536x40", "fp32", "columns", "team == 8 and unroll == 2"},
		{"mean", "1x65536x40", "fp32", "columns", "team == 8 and unroll == 2"},
	}, 3) {
		o, err := operator.Find(c.operator)
		must.OK(t, err)
		p, err := bind(o, c.row, c.math, d.Info().Limits)
		must.OK(t, err)
		part, err := p.Part(operator.Restriction{Templates: []string{c.template}, Where: []string{c.where}})
		must.OK(t, err)
		v.proveAlone(t, part)
	}
}
