package capture

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/internal/test/must"
	"autotune/operator"
)

// check writes the problems file and fails the test if a search could not read it.
func check(t *testing.T, s *Seen) string {
	t.Helper()
	var text bytes.Buffer
	must.OK(t, s.WriteProblems(&text, time.Unix(0, 0)))
	asked, err := operator.ReadProblems("problems.yaml", text.String())
	if len(s.Problems) == 0 {
		if err == nil || !strings.Contains(err.Error(), "holds no problem") {
			t.Errorf("%v of:\n%s", err, text.String())
		}
		return text.String()
	}
	if err != nil || len(asked) != min(len(s.Problems), mostProblems) {
		t.Fatalf("%d problems, %v, of:\n%s", len(asked), err, text.String())
	}
	for i, p := range s.Problems[:len(asked)] {
		again, err := p.Operator.Bind(asked[i].Request, operator.TypicalLimits())
		if err != nil || again.String() != p.Problem.String() || asked[i].Calls != min(p.Calls, 1<<53) || math.Abs(asked[i].Share-p.Share) > 1e-4 {
			t.Fatalf("%+v, %v; want %s, %d calls, share %g", asked[i], err, p, p.Calls, p.Share)
		}
	}
	if text.Len() > 256<<10 {
		t.Errorf("%d bytes are more than searches read", text.Len())
	}
	return text.String()
}

func product(calls int, ms float64, m int, more string) string {
	return fmt.Sprintf(`{"function": "mm", "device": "cuda", "calls": %d, "ms": %g, "operator": "matmul", "shape": [1, %d, 4, 8], "parameters": {"bias": [0]}%s}`, calls, ms, m, more)
}

func recorded(more string, calls ...string) string {
	return fmt.Sprintf(`{"schema": "autotune/capture/1", "torch": "2.11", "gpu": "G", "whole": true, %s "calls": [%s]}`, more, strings.Join(calls, ","))
}

// Seen must contain the sum of the calls that several processes of the program made. Shares are fractions of all
// measured time, the largest first.
func TestRead(t *testing.T) {
	w := watcher(t)
	put(t, w, "1.json", recorded(`"compiled": 2,`, product(1, 1, 2, ""), product(2, 5, 3, ""),
		`{"function": "backward", "device": "cuda", "calls": 3, "ms": 10, "arguments": "a number f32"}`,
		`{"function": "mm", "device": "cpu", "calls": 7, "ms": 100, "operator": "matmul", "shape": [1, 1, 1, 1]}`))
	put(t, w, "2.json", recorded(`"captured": 1,`, product(3, 2, 2, ""), product(2, 1, 2, `, "tf32": true`),
		`{"function": "sum", "device": "cuda", "calls": 1, "ms": 1}`,
		`{"function": "odd", "device": "cuda", "calls": 1, "ms": 0, "operator": "odd", "shape": [1]}`,
		`{"function": "mm", "device": "cuda", "calls": 1, "ms": 0, "operator": "matmul", "shape": [1, 0, 4, 8]}`))
	s, err := w.Read()
	must.OK(t, err)
	var got []string
	for _, p := range s.Problems {
		got = append(got, fmt.Sprintf("%s %d %g %.2f", operator.FormatShape(p.Shape), p.Calls, p.MS, p.Share))
	}
	want := []string{"1x3x4x8 2 5 0.25", "1x2x4x8 4 3 0.15", "1x2x4x8 2 1 0.05"}
	if !slices.Equal(got, want) || s.MS != 20 || s.GPU != "G" || s.Processes != 2 {
		t.Errorf("%q of %g ms on %q, want %q", got, s.MS, s.GPU, want)
	}
	var left []string
	for _, u := range s.Unserved {
		left = append(left, fmt.Sprintf("%s %d %.2f %s", u.Function, u.Calls, u.Share, u.Why))
	}
	for i, want := range []string{
		"backward 3 0.50 gradients are PyTorch's own", "sum 1 0.05 no operator computes it",
		"mm 1 0.00 matmul: each dimension must be at least 1; got m=0", "odd 1 0.00 there is no operator odd",
	} {
		if i >= len(left) || left[i] != want {
			t.Errorf("%q, want %s", left, want)
		}
	}
	notes := strings.Join(s.Notes, "; ")
	for _, want := range []string{"torch.compile made 2 graphs", "1 call went into CUDA graphs", "left out: 7 calls on other devices"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q lacks %q", notes, want)
		}
	}
	text := check(t, s)
	for _, want := range []string{"bias: false", "math: fp32, calls: 2,", "3 x backward(a number f32): gradients"} {
		if !strings.Contains(text, want) {
			t.Errorf("the file lacks %q:\n%s", want, text)
		}
	}
}

// The problems file must name a math mode if and only if PyTorch's settings determine it.
func TestMath(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		operator, shape, element string
		tf32                     *bool
		want                     string
	}{
		{"matmul", "1x8x4x12", "f32", &yes, "tf32_even"}, {"matmul", "1x8x5x12", "f32", &yes, "fp32"}, {"matmul", "1x8x4x12", "f32", &no, "fp32"},
		{"matmul", "1x8x4x12", "bf16", &yes, ""}, {"matmul", "1x8x4x12", "f32", nil, ""},
		{"conv2d", "1x8x9x9", "f32", &yes, ""}, {"conv2d", "1x8x9x9", "f32", &no, "fp32"}, {"max_pool2d", "1x8x9x9", "", &no, ""},
	} {
		o, err := operator.Find(test.operator)
		must.OK(t, err)
		shape, _ := operator.ParseShape(test.shape)
		r := operator.Request{Shape: shape, Parameters: map[string]string{}}
		if test.element != "" {
			r.Parameters["type"] = test.element
		}
		p, err := o.Bind(r, operator.TypicalLimits())
		must.OK(t, err)
		if got := mathOf(p, test.tf32); got != test.want {
			t.Errorf("%s: %q, want %q", p, got, test.want)
		}
	}
}

// However many problems a program has, a search must be able to read the problems file.
func TestManyProblems(t *testing.T) {
	w := watcher(t)
	var calls []string
	for i := range 2000 {
		calls = append(calls, product(i+1, float64(i), 1000000+i, ""),
			fmt.Sprintf(`{"function": "f%d", "device": "cuda", "calls": 1, "ms": 0, "arguments": "%s"}`, i, strings.Repeat("x", 300)))
	}
	put(t, w, "1.json", recorded("", calls...))
	s, err := w.Read()
	must.OK(t, err)
	if text := check(t, s); !strings.Contains(text, "# 1400 further problems with") || !strings.Contains(text, "# and 1800 others\n") {
		t.Error(text[len(text)-300:])
	}
}

func TestEnvironment(t *testing.T) {
	w := watcher(t)
	site := w.folder.Dir + "/" + siteFolder
	for before, want := range map[string]string{"": site, "PYTHONPATH=": site, "PYTHONPATH=/a:/b": site + ":/a:/b"} {
		environment := []string{"A=1"}
		if before != "" {
			environment = append(environment, before)
		}
		if got := w.Environment(environment); !slices.Equal(got, []string{"A=1", "PYTHONPATH=" + want}) {
			t.Errorf("%q: %q", before, got)
		}
	}
}
