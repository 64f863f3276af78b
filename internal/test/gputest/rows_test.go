package gputest

import (
	"slices"

	"autotune/operator"
)

// rowCases lists the problems on which the tests run every operator that reduces or scans along one dimension.
var rowCases = []string{
	"1x1x1",
	"1x2x1",
	"7x1x1",
	"1x1x9",
	"3x5x1",
	"2x7x3",
	"1x31x2",
	"5x33x1",
	"9x127x1 type=bf16",
	"4x129x6",
	"3x255x17 type=f16",
	"64x256x1",
	"33x1000x1 type=f16",
	"17x1023x1",
	"2x1025x64",
	"1x4099x1 type=bf16",
	"128x768x1 type=bf16",
	"5x4096x24",
	"1x65537x1",
	"3x65536x1 type=f16",
	"1x100003x5",
	"2048x4096x1 type=bf16",
	"64x32000x1",
	"16x151936x1 type=bf16",
	"1x1048577x1",
	"8x512x4095",
	"16x64x12544",
	"4096x32768x1",
}

// ofRows tells whether an operator reduces or scans along one dimension.
func ofRows(o *operator.Operator) bool {
	return slices.Equal(o.Shape, []string{"outer", "length", "inner"})
}

// casesOf returns the problems (rows of a table) that an operator is tested on.
func casesOf(o *operator.Operator) []string {
	if cases[o.Name] == nil && ofRows(o) {
		return rowCases
	}
	return cases[o.Name]
}
