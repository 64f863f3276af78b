package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autotune/internal/test/must"
	"autotune/space/expr"
)

// bind binds an operator to a shape such as 2x3x8x8 and parameters such as "kernel=3 stride=2".
func bind(t *testing.T, operator, shape, parameters, math string) (*Problem, error) {
	t.Helper()
	dims, err := ParseShape(shape)
	if err != nil {
		return nil, err
	}
	set := map[string]string{}
	for _, field := range strings.Fields(parameters) {
		name, value, _ := strings.Cut(field, "=")
		set[name] = value
	}
	return find(t, operator).Bind(Request{Shape: dims, Parameters: set, Math: math}, TypicalLimits())
}

func TestPresets(t *testing.T) {
	for _, test := range []struct{ operator, shape, want, output string }{
		{"avg_pool1d", "64x128x65536", "avg_pool1d 64x128x65536 kernel=8 stride=1 padding=4 ceil_mode=false count_include_pad=true", "64x128x65537"},
		{"avg_pool2d", "16x64x2048x2048", "avg_pool2d 16x64x2048x2048 kernel=11x11 stride=11x11 padding=0x0 ceil_mode=false count_include_pad=true", "16x64x186x186"},
		{"max_pool2d", "32x64x512x512", "max_pool2d 32x64x512x512 kernel=4x4 stride=1x1 padding=1x1 dilation=1x1 ceil_mode=false", "32x64x511x511"},
		{"max_pool1d", "64x192x65536", "max_pool1d 64x192x65536 kernel=8 stride=1 padding=4 dilation=3 ceil_mode=false", "64x192x65523"},
		{"max_pool3d", "16x32x128x128x128", "max_pool3d 16x32x128x128x128 kernel=3x3x3 stride=2x2x2 padding=1x1x1 dilation=3x3x3 ceil_mode=false", "16x32x62x62x62"},
		{"avg_pool3d", "16x32x128x128x256", "avg_pool3d 16x32x128x128x256 kernel=3x3x3 stride=2x2x2 padding=1x1x1 ceil_mode=false count_include_pad=true divisor_override=0", "16x32x64x64x128"},
		{"conv2d", "16x16x1024x1024", "conv2d 16x16x1024x1024 c_out=128 kernel=3x3 stride=1x1 padding=0x0 dilation=1x1 groups=1 bias=false math=tf32", "16x128x1022x1022"},
		{"depthwise_conv2d", "16x64x512x512", "depthwise_conv2d 16x64x512x512 kernel=3x3 stride=1x1 padding=0x0 dilation=1x1 bias=false", "16x64x510x510"},
	} {
		p, err := bind(t, test.operator, test.shape, "", "")
		if err != nil {
			t.Error(err)
			continue
		}
		if p.String() != test.want {
			t.Errorf("got  %s\nwant %s", p, test.want)
		}
		if got := FormatShape(p.Output().Shape); got != test.output {
			t.Errorf("%s has an output of %s, want %s", test.operator, got, test.output)
		}
	}
}

func TestBadRequests(t *testing.T) {
	for _, test := range []struct{ operator, shape, parameters, math, want string }{
		{"conv2d", "16x16", "", "", "conv2d: the shape has 4 dimensions n,c,h,w, as 16x16x1024x1024; got 2 in 16x16"},
		{"conv2d", "0x1x4x4", "", "", "`0x1x4x4` is not a shape; each dimension must be at least 1; got 0"},
		{"conv2d", "-1x1x4x4", "", "", "`-1x1x4x4` is not a shape; each dimension must be at least 1; got -1"},
		{"conv2d", "axb", "", "", "`axb` is not a shape; a shape is integers with x between them, as 16x64x512x512"},
		{"conv2d", "1xx4x4", "", "", "`1xx4x4` is not a shape"},
		{"conv2d", "", "", "", "`` is not a shape"},
		{"conv2d", "99999999999999999999x1x1x1", "", "", "the dimension 99999999999999999999 does not fit 64 bits"},
		{"conv2d", "99999999999x1x1x1", "", "", "conv2d: the kernel 3x3, dilation included, is larger than the padded input 1x1"},
		{"avg_pool2d", "99999999999x99999999999x11x11", "", "", "avg_pool2d: `x` would have more than 2^58 elements"},
		{"conv2d", "1x3x8x8", "kernal=3", "", "conv2d: unknown parameter `kernal`; did you mean `kernel`?"},
		{"conv2d", "1x3x8x8", "c_out=4 kernel=3 stride=0", "", "conv2d: `stride` must be at least 1; got 0x0"},
		{"conv2d", "1x3x8x8", "c_out=4 kernel=3x0", "", "conv2d: `kernel` must be at least 1; got 3x0"},
		{"conv2d", "1x3x8x8", "c_out=4 kernel=3x3x3", "", "conv2d: `kernel` is an integer or a pair as 3x5; got `3x3x3`"},
		{"conv2d", "1x3x8x8", "c_out=4 kernel=three", "", "conv2d: `kernel` is an integer or a pair as 3x5; got `three`"},
		{"conv2d", "1x3x8x8", "c_out=4x4 kernel=3", "", "conv2d: `c_out` is an integer; got `4x4`"},
		{"conv2d", "1x3x8x8", "c_out=4 kernel=3 bias=maybe", "", "conv2d: `bias` is true or false; got `maybe`"},
		{"conv2d", "1x3x8x8", "c_out=4 kernel=3 groups=2", "", "conv2d: 2 groups do not divide the 3 input channels (c % groups == 0 is needed; here c=3 groups=2)"},
		{"conv2d", "1x4x8x8", "c_out=5 kernel=3 groups=2", "", "conv2d: 2 groups do not divide the 5 output channels"},
		{"conv2d", "1x3x4x4", "c_out=4 kernel=7", "", "conv2d: the kernel 7x7, dilation included, is larger than the padded input 4x4"},
		{"avg_pool2d", "1x3x4x4", "kernel=7", "", "avg_pool2d: the window 7x7 is larger than the padded input 4x4"},
		{"avg_pool2d", "1x3x4x4", "", "", "avg_pool2d: the window 11x11 is larger than the padded input 4x4"},
		{"max_pool2d", "1x3x9x9", "kernel=3 padding=2", "", "max_pool2d: padding 2x2 is more than half the kernel 3x3"},
		{"max_pool3d", "1x3x9x9x9", "kernel=3 padding=1x2x0", "", "max_pool3d: padding 1x2x0 is more than half the kernel 3x3x3"},
		{"avg_pool3d", "1x3x4x4x4", "kernel=3x3x7", "", "avg_pool3d: the window 3x3x7 is larger than the padded input 4x4x4"},
		{"avg_pool1d", "1x3x9", "kernel=3 padding=2", "", "avg_pool1d: padding 2 is more than half the kernel 3"},
		{"avg_pool1d", "1x3x9", "kernel=9223372036854775807 padding=1", "", "avg_pool1d: the window 9223372036854775807 is larger than the padded input 11"},
		{"avg_pool1d", "1x3x9", "kernel=3 stride=9223372036854775807 padding=1 ceil_mode=1", "", "avg_pool1d: windows_w = "},
		{"conv2d", "1x3x8x8", "", "fp16", "conv2d: there is no math mode `fp16`; it has fp32, tf32"},
		{"avg_pool1d", "1x3x9", "", "tf32", "avg_pool1d: there is no math mode `tf32`; it has fp32"},
	} {
		_, err := bind(t, test.operator, test.shape, test.parameters, test.math)
		var fault *RequestError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s %s:\ngot  %v\nwant %s", test.operator, test.shape, test.parameters, err, test.want)
		}
	}
}

func TestParametersWithoutDefault(t *testing.T) {
	for _, test := range []struct{ preset, set, want string }{
		{" kernel=3x5 twice=true", "", "scale 4x100 kernel=3x5 stride=3x5 times=100 twice=true math=tf32"},
		{" kernel=3x5 twice=true", "twice", "scale: `kernel` must be set too, as kernel=3x3: the preset kernel=3x5 twice=true is used only when nothing is set"},
		{"", "", "scale: `kernel` must be set, as kernel=3x3"},
	} {
		text := strings.Replace(goodOperator, "default: 3, ", "", 1)
		text = strings.Replace(text, " kernel=3x5 twice=true", test.preset, 1)
		o := loaded(t, operatorFiles(text))
		set := map[string]string{}
		if test.set != "" {
			set[test.set] = "true"
		}
		p, err := o.Bind(Request{Shape: o.Example, Parameters: set}, TypicalLimits())
		got := fmt.Sprint(err)
		if err == nil {
			got = p.String()
		}
		if got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestFindSuggests(t *testing.T) {
	for name, want := range map[string]string{
		"conv2":      "there is no operator `conv2`; did you mean `conv2d`?",
		"MaxPool2d":  "there is no operator `MaxPool2d`; did you mean `max_pool2d`?",
		"zzzzzzzzzz": "there is no operator `zzzzzzzzzz`; there are " + strings.Join(OperatorNames(), ", "),
	} {
		if _, err := Find(name); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestMathModes(t *testing.T) {
	o := find(t, "conv2d")
	for _, test := range []struct {
		arch       int
		asked      string
		want       string
		atol, rtol float64
	}{
		{90, "", "tf32", 1e-5, 1e-5}, {80, "auto", "tf32", 1e-5, 1e-5}, {75, "auto", "fp32", 4e-6, 4e-6},
		{90, "fp32", "fp32", 4e-6, 4e-6}, {70, "tf32", "tf32", 1e-5, 1e-5},
	} {
		limits := TypicalLimits()
		limits.Arch = test.arch
		p, err := o.Bind(Request{Shape: []int64{16, 16, 64, 64}, Math: test.asked}, limits)
		must.OK(t, err)
		if p.Math != test.want || p.Output().ATol != test.atol || p.Output().RTol != test.rtol {
			t.Errorf("--math %q on sm_%d is %s with %g, %g", test.asked, test.arch, p.Math, p.Output().ATol, p.Output().RTol)
		}
	}
}

func TestTensors(t *testing.T) {
	p, err := bind(t, "conv2d", "2x6x10x12", "c_out=4 kernel=2x3 groups=2", "fp32")
	must.OK(t, err)
	want := []Argument{
		{Name: "x", Role: Input, Shape: []int64{2, 6, 10, 12}, Elements: 1440, Scale: 0},
		{Name: "weight", Role: Weight, Shape: []int64{4, 3, 2, 3}, Elements: 72, Scale: 0.23570226039551587},
		{Name: "bias", Role: Weight, Shape: []int64{0}, Elements: 0, Scale: 0.23570226039551587},
		{Name: "y", Role: Output, Shape: []int64{2, 4, 9, 10}, Elements: 720, Scale: 0},
		{Name: "implicit_scales", Role: Workspace, Shape: []int64{514}, Elements: 514}, // fp32
	}
	if len(p.Arguments) < 20 {
		t.Fatalf("got %d tensors, want the templates' workspaces, too", len(p.Arguments))
	}
	for i, tensor := range p.Arguments[:len(want)] {
		if tensor.Name != want[i].Name || tensor.Role != want[i].Role || FormatShape(tensor.Shape) != FormatShape(want[i].Shape) || tensor.Elements != want[i].Elements || tensor.Scale != want[i].Scale {
			t.Errorf("got %+v, want %+v", tensor, want[i])
		}
	}
	if p.Bytes != 4*(1440+72+720) || p.Flops != 2*720*18 || p.MemoryBytes() != 4*(1440+72+720+514+514+33408+3072) {
		t.Errorf("bytes %d, flops %d, memory %d", p.Bytes, p.Flops, p.MemoryBytes())
	}
}

// A parameter of several components keeps its text through parse and format.
func TestParametersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := ParameterSpec{Name: "p", Type: IntParameter, Names: rapid.SampledFrom([][]string{{"p"}, {"p_h", "p_w"}, {"p_d", "p_h", "p_w"}}).Draw(t, "names")}
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) expr.Value { return expr.Int(rapid.Int64().Draw(t, "value")) }), len(s.Names), len(s.Names)).Draw(t, "values")
		parsed, err := s.parse(format(values))
		if err != nil || !slices.Equal(parsed, values) {
			t.Errorf("%v became %v, %v", values, parsed, err)
		}
	})
}

func FuzzBind(f *testing.F) {
	f.Add("conv2d", "1x4x8x8", "kernel", "3x5", "tf32")
	f.Add("max_pool2d", "1x4x8x8", "ceil_mode", "1", "")
	f.Fuzz(func(t *testing.T, operator, shape, name, value, math string) {
		o, err := Find(operator)
		if err != nil {
			return
		}
		dims, err := ParseShape(shape)
		if err != nil {
			return
		}
		set := map[string]string{"kernel": "2", "c_out": "4"}
		if o.parameter("c_out") == nil {
			delete(set, "c_out")
		}
		set[name] = value
		p, err := o.Bind(Request{Shape: dims, Parameters: set, Math: math}, TypicalLimits())
		if (p == nil) == (err == nil) {
			t.Fatalf("got %v and %v", p, err)
		}
	})
}
