package reports

import (
	"strings"
	"testing"
)

func TestShortening(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{middle("h100-conv2d-fp32", 16), "h100-conv2d-fp32"},
		{middle("h100-conv2d-fp32", 9), "h100…fp32"},
		{middle("µµµµµµ", 3), "µ…µ"},
		{briefly("conv2d 8x8 kernel=3x3 math=tf32", 40), "conv2d 8x8 kernel=3x3 math=tf32"},
		{briefly("conv2d 8x8 kernel=3x3 stride=1x1 math=tf32", 34), "conv2d 8x8 kernel=3x3 … math=tf32"},
		{briefly(strings.Repeat("x", 30), 11), "xxxxx…xxxxx"},
		{Wrap("took 7.5 ms and more", 13), "took 7.5 ms\n  and more"},
		{Wrap("", 10), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
