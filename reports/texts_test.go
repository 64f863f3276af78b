package reports

import (
	"testing"

	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/strategy"
)

func TestWording(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{FormatMS(6.27), "6.270 ms"}, {FormatMS(187.44), "187.4 ms"}, {FormatMS(6270), "6270 ms"}, {FormatMS(62701), "62701 ms"},
		{FormatMS(0.71), "0.7100 ms"}, {FormatMS(0.09996), "99.96 µs"}, {FormatMS(0.00512), "5.120 µs"}, {FormatMS(0.1), "0.1000 ms"}, {FormatMS(0), "0.000 ms"},
		{FormatMS(9.99996), "10.00 ms"}, {FormatMS(0.999996), "1.000 ms"},
		{bestconfig.FormatSpeedup(1.134), "1.13x"}, {bestconfig.FormatSpeedup(0.7), "0.70x"}, {bestconfig.FormatSpeedup(9.996), "10.0x"}, {bestconfig.FormatSpeedup(29.88), "29.9x"}, {bestconfig.FormatSpeedup(99.96), "100x"}, {bestconfig.FormatSpeedup(1000), "1000x"},
		{formatPercent(0.507), "50.7 %"}, {formatPercent(1.01), "101 %"}, {formatPercent(0.9996), "100 %"}, {formatPercent(0.0042), "0.420 %"},
		{formatBandwidth(3.03e12), "3.03 TB/s"}, {formatBandwidth(320e9), "320 GB/s"},
		{formatBytes(9_635_000_000), "9.63 GB"}, {formatBytes(5512), "5512 bytes"}, {formatBytes(123_456), "123 kB"}, {formatBytes(1_500_000), "1.50 MB"},
		{middle("h100-conv2d-fp32", 16), "h100-conv2d-fp32"},
		{middle("h100-conv2d-fp32", 9), "h100…fp32"},
		{middle("µµµµµµ", 3), "µ…µ"},
		{Wrap("took 7.5 ms and more", 13), "took 7.5 ms\n  and more"},
		{Wrap("", 10), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestEndText(t *testing.T) {
	low, none := strategy.Outlook{Target: 1.02, Chance: 0.031}, strategy.Outlook{Target: 1.02, Chance: 0.004}
	some := strategy.Outlook{Target: 1.05, Chance: 0.09, AtFloor: true}
	for _, test := range []struct {
		stop        tuner.Stop
		outlook     *strategy.Outlook
		evaluations int
		want        string
	}{
		{tuner.Satisfied, &low, 9, "; nothing left to gain: the chance of gaining more than 2 % is 3 %"},
		{tuner.Satisfied, &none, 0, "; nothing left to gain: the chance of gaining more than 2 % is under 1 %; --target 0 goes on"},
		{tuner.AtRoofline, &some, 9, "; at the roofline: 101 % reached, and the chance of gaining more than 5 % is 9 %"},
		{tuner.TimeSpent, &low, 9, "; the time was up: the chance of gaining more than 2 % is 3 %"},
		{tuner.TimeSpent, nil, 9, ""},
		{tuner.Interrupted, &low, 9, ""},
	} {
		b := bestconfig.Document{Roofline: bestconfig.Roofline{Share: 1.012}}
		b.Search.Stop, b.Search.Outlook, b.Search.Evaluations = test.stop, test.outlook, test.evaluations
		if got := endText(b); got != test.want {
			t.Errorf("%s: %q, want %q", test.stop, got, test.want)
		}
	}
}
