package gputest

import (
	"fmt"
	"strings"

	"autotune/tuner/operator"
)

// cases are the rows that each operator is proven on: "SHAPE NAME=VALUE ...".
// The last of each operator is the problem that it is tuned for.
var cases = map[string][]string{
	"avg_pool1d": {
		"1x1x1 kernel=1",
		"1x1x1 kernel=2 stride=1 padding=1",
		"1x1x2 kernel=2",
		"1x1x3 kernel=4 stride=2 ceil_mode=true", // wider than the input
		"1x3x7 kernel=3 stride=1 padding=1",
		"2x3x31 kernel=5 stride=3",
		"5x7x3 kernel=1 stride=2",
		"2x2x63 kernel=2 stride=7",
		"1x5x33 kernel=8 stride=1 padding=4",
		"3x2x37 kernel=12 stride=5 ceil_mode=true",
		"1x2x5 kernel=2 stride=3 padding=1 ceil_mode=true", // the last window is left out
		"1x1x127 kernel=127",
		"2x1x128 kernel=128 stride=1 padding=64",
		"4x4x255 kernel=9 stride=2 padding=4 count_include_pad=false",
		"1x2x257 kernel=6 stride=4 padding=3 ceil_mode=true count_include_pad=false",
		"1x2x258 kernel=6 stride=4 padding=3 ceil_mode=true",
		"2x3x1000 kernel=4",
		"2x3x1023 kernel=3 stride=1",
		"2x3x1025 kernel=7 stride=2 padding=3",
		"1x1x4099 kernel=33 stride=1 padding=16",
		"2x1x8192 kernel=64 stride=1",
		"8x16x4096 kernel=2",
		"8x16x4097 kernel=8 stride=1 padding=4",
		"1x1024x64 kernel=8 stride=1 padding=4", // many short rows
		"64x128x17 kernel=4 stride=2 padding=2",
		"3x5x10007 kernel=11",
		"16x33x999 kernel=16 ceil_mode=true",
		"2x2x40000 kernel=1000 stride=500 padding=100",
		"1x1x65537 kernel=8 stride=1 padding=4",
		"1x1x1048577 kernel=3 stride=2 padding=1 ceil_mode=true",
		"64x128x65536 kernel=8 stride=1 padding=4",
	},
	"avg_pool2d": {
		"1x1x1x1 kernel=1",
		"1x1x1x1 kernel=2 stride=1 padding=1",
		"1x1x2x3 kernel=2x3",
		"1x2x5x7 kernel=3 stride=1 padding=1",
		"3x1x5x7 kernel=5x7",
		"1x1x1x513 kernel=1x4",            // one row
		"1x3x511x1 kernel=5x1 stride=2x1", // one column
		"2x3x13x17 kernel=2 stride=5",
		"1x2x19x23 kernel=4x3 stride=3x2 padding=2x1 ceil_mode=true count_include_pad=false",
		"1x2x20x26 kernel=4 stride=3 padding=2 ceil_mode=true",
		"1x1x7x9 kernel=2 stride=3 padding=1 ceil_mode=true",
		"2x3x33x35 kernel=3 stride=2 padding=1 count_include_pad=false",
		"1x2x33x530 kernel=3x5 stride=1x2 padding=1x2",
		"2x2x45x70 kernel=11",
		"1x4x121x122 kernel=11",
		"1x1x64x64 kernel=2",
		"1x1x65x63 kernel=2",
		"2x5x31x29 kernel=7 stride=1 padding=3",
		"1x2x100x101 kernel=25x3 stride=1x3",
		"1x1x200x210 kernel=65 stride=16 padding=32",
		"1x3x34x40 kernel=3 stride=1",
		"4x8x55x55 kernel=3 stride=2",
		"2x64x56x56 kernel=2",
		"1x2048x7x7 kernel=7",
		"1x3x224x224 kernel=5x1 stride=1 padding=2x0",
		"1x3x225x223 kernel=1x5 stride=2x1 padding=0x2",
		"2x2x1031x517 kernel=11",
		"1x1x517x4099 kernel=3 stride=1",
		"1x1x2048x2048 kernel=11",
		"1x16x2047x2049 kernel=11 ceil_mode=true",
		"16x64x2048x2048 kernel=11",
	},
	"max_pool2d": {
		"1x1x1x1 kernel=1 stride=1 padding=0",
		"1x1x1x1 kernel=2 stride=1 padding=1",
		"1x1x1x1 kernel=4 stride=1 padding=2",
		"1x1x2x3 kernel=2x3 stride=1 padding=0",
		"2x1x3x5 kernel=3x5 stride=1 padding=0",
		"1x1x1x515 kernel=1x4 stride=1 padding=0x1",
		"1x2x515x1 kernel=4x1 stride=1 padding=1x0",
		"1x3x34x40 kernel=3 stride=1 padding=1",
		"1x2x34x515 kernel=4 stride=1 padding=1",
		"2x2x11x13 kernel=2 stride=3x5 padding=0",
		"2x1x21x27 kernel=3x4 stride=2x3 padding=1x2 dilation=2x1",
		"1x2x30x31 kernel=3 stride=1 padding=1 dilation=3",
		"1x3x19x22 kernel=3 stride=4 padding=1 dilation=2 ceil_mode=true",
		"1x2x9x4 kernel=2 stride=1 padding=1 dilation=5", // windows of nothing but padding
		"2x2x5x6 kernel=2 stride=3 padding=1 ceil_mode=true",
		"1x2x8x11 kernel=4 stride=3 padding=2 ceil_mode=true",
		"2x2x8x10 kernel=3 stride=2 padding=0 ceil_mode=true",
		"4x16x112x112 kernel=3 stride=2 padding=1",
		"2x64x55x55 kernel=3 stride=2 padding=0",
		"1x2048x7x7 kernel=7 stride=7 padding=0",
		"1x5x63x65 kernel=5 stride=1 padding=2",
		"2x3x101x103 kernel=7x2 stride=2x1 padding=3x1",
		"1x1x257x255 kernel=13 stride=4 padding=6",
		"1x1x300x301 kernel=33 stride=8 padding=16",
		"1x1x66x264 kernel=2 stride=2 padding=0",
		"1x1x5x4099 kernel=3 stride=1 padding=1",
		"1x1x4099x5 kernel=3 stride=1 padding=1",
		"2x3x509x511 kernel=4 stride=1 padding=1",
		"1x1x512x512 kernel=4 stride=1 padding=1 ceil_mode=true",
		"1x8x1023x1025 kernel=2 stride=2 padding=1",
		"32x64x512x512 kernel=4 stride=1 padding=1",
	},
	"depthwise_conv2d": {
		"1x1x1x1 kernel=1",
		"1x1x1x1 kernel=3 padding=1",
		"1x1x3x3 kernel=3",
		"1x2x2x5 kernel=1x5 bias=true",
		"1x3x5x6 kernel=1 bias=true",
		"1x1x9x9 kernel=1 stride=2 bias=true",
		"1x1x1x513 kernel=1x3 padding=0x1",
		"1x2x515x1 kernel=3x1 padding=1x0",
		"1x3x34x40 kernel=3 padding=1",
		"1x2x34x515 kernel=3",
		"1x3x21x27 kernel=3x4 stride=2x3 padding=1x5 dilation=2x1 bias=true",
		"1x2x6x7 kernel=2 padding=4", // outputs that see nothing but padding
		"2x2x15x15 kernel=3 dilation=3 padding=3",
		"1x4x33x31 kernel=3 padding=2 dilation=2",
		"2x3x16x18 kernel=5 stride=2 padding=2",
		"2x2x18x264 kernel=5 padding=2",
		"3x1x11x13 kernel=2 stride=5",
		"1x7x28x28 kernel=7 padding=3 bias=true",
		"2x96x14x14 kernel=3 padding=1 bias=true",
		"2x33x57x55 kernel=3 stride=2 padding=1",
		"1x144x56x56 kernel=3 padding=1",
		"1x5x63x65 kernel=3x5 padding=1x2",
		"1x2x129x127 kernel=9x1 padding=4x0",
		"1x2x127x129 kernel=1x9 padding=0x4",
		"1x1x200x201 kernel=31 padding=15",
		"1x1x5x4099 kernel=3 padding=1",
		"1x1x4099x5 kernel=3",
		"2x3x509x511 kernel=3 bias=true",
		"1x8x512x512 kernel=3 padding=1",
		"1x4x1023x1025 kernel=3 stride=1x2 padding=0x1",
		"16x64x512x512 kernel=3",
	},
	"conv2d": {
		"1x1x1x1 c_out=1 kernel=1",
		"1x1x1x1 c_out=1 kernel=3 padding=1",
		"1x3x3x3 c_out=2 kernel=3 bias=true",
		"1x1x1x257 c_out=3 kernel=1x3",
		"1x2x259x1 c_out=5 kernel=3x1 padding=1x0",
		"1x5x6x7 c_out=3 kernel=1 bias=true",
		"2x4x9x10 c_out=4 kernel=1 groups=4",
		"1x6x8x9 c_out=9 kernel=3 groups=3",
		"2x4x7x8 c_out=8 kernel=3 groups=4 padding=1 bias=true",
		"1x6x15x21 c_out=9 kernel=3x4 stride=2x3 padding=1x5 dilation=2x1 groups=3 bias=true",
		"1x2x6x7 c_out=3 kernel=2 padding=4", // outputs that see nothing but padding
		"2x8x4x5 c_out=7 kernel=4x5",
		"1x3x11x270 c_out=18 kernel=3",
		"1x16x18x34 c_out=32 kernel=3 padding=1 bias=true",
		"1x5x8x40 c_out=33 kernel=5 padding=2",
		"3x8x7x9 c_out=16 kernel=2 stride=2 groups=2",
		"1x3x27x29 c_out=20 kernel=3 stride=5",
		"1x4x33x31 c_out=12 kernel=3 padding=2 dilation=2",
		"1x13x17x19 c_out=17 kernel=3 padding=1",
		"2x24x14x14 c_out=40 kernel=3 padding=1 bias=true",
		"1x64x56x56 c_out=64 kernel=3 padding=1",
		"1x64x28x28 c_out=256 kernel=1",
		"2x128x14x14 c_out=130 kernel=3 stride=2 padding=1",
		"1x3x224x224 c_out=64 kernel=7 stride=2 padding=3",
		"1x3x227x227 c_out=96 kernel=11 stride=4",
		"4x16x63x65 c_out=128 kernel=3",
		"1x16x129x255 c_out=128 kernel=3 padding=1",
		"1x32x40x41 c_out=48 kernel=5x3 stride=1x2 padding=2x1 groups=2",
		"1x512x7x7 c_out=512 kernel=3 padding=1",
		"1x17x37x1030 c_out=9 kernel=3 padding=1",
		"2x16x512x510 c_out=128 kernel=3",
		"16x16x1024x1024 c_out=128 kernel=3",
	},
}

// bind makes a row a problem.
func bind(o *operator.Operator, row, math string, limits operator.Limits) (*operator.Problem, error) {
	fields := strings.Fields(row)
	shape, err := operator.ParseShape(fields[0])
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.Name, row, err)
	}
	parameters := map[string]string{}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, "=")
		parameters[name] = value
	}
	return o.Bind(operator.Request{Shape: shape, Parameters: parameters, Math: math}, limits)
}
