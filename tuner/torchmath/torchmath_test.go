package torchmath

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autotune/device/emulator"
	"autotune/internal/python"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// fake makes Python import a fake PyTorch, written with NumPy, that rounds factors in the way that `rounds` names.
// Each import of the fake adds a line to the file whose path fake returns.
func fake(t *testing.T, rounds string) (log string) {
	t.Helper()
	testneeds.NumPy.Need(t)
	folder, err := filepath.Abs("testdata/fake")
	must.OK(t, err)
	log = filepath.Join(t.TempDir(), "log")
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("FAKE_ROUNDS", rounds)
	t.Setenv("FAKE_LOG", log)
	return log
}

func bind(t *testing.T, name, shape string, set map[string]string) *operator.Problem {
	t.Helper()
	o, err := operator.Find(name)
	must.OK(t, err)
	return bindTo(t, o, shape, set)
}

func bindTo(t *testing.T, o *operator.Operator, shape string, set map[string]string) *operator.Problem {
	t.Helper()
	dims, err := operator.ParseShape(shape)
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: dims, Parameters: set}, emulator.Limits())
	must.OK(t, err)
	return p
}

// problem returns a convolution with values other than the default for all parameters.
func problem(t *testing.T) *operator.Problem {
	return bind(t, "conv2d", "2x6x9x8", map[string]string{
		"c_out": "24", "kernel": "3x2", "stride": "2x1", "padding": "1x0", "dilation": "1x2", "groups": "2", "bias": "true"})
}

// PyTorch is not asked for the math mode of a problem with 16-bit factors, nor of an operator without `ask` in its
// op.yaml.
func TestAsks(t *testing.T) {
	for _, test := range []struct {
		operator, shape, element string
		want                     bool
	}{
		{"conv1d", "2x4x9", "f32", true}, {"conv1d", "2x4x9", "bf16", false}, {"conv_transpose2d", "1x4x5x6", "f16", false}, {"matmul", "1x2x3x4", "f32", false},
	} {
		p := bind(t, test.operator, test.shape, map[string]string{"type": test.element})
		if got := Asks(p); got != test.want {
			t.Errorf("%s: %t, want %t", p, got, test.want)
		}
	}
}

// The Python program distinguishes all math modes for convolutions of one to three dimensions and for transposed
// convolutions, with tensors in the layout of the problem.
func TestModes(t *testing.T) {
	for _, test := range []struct{ rounds, operator, shape, layout string }{
		{"fp32", "conv1d", "2x4x9", "nchw"}, {"tf32", "conv2d", "1x4x6x5", "nchw"}, {"tf32_even", "conv2d", "1x4x6x5", "nhwc"},
		{"tf32_even", "conv3d", "1x4x4x5x6", "nchw"}, {"tf32_even", "conv_transpose2d", "1x4x5x6", "nchw"},
	} {
		t.Run(test.operator, func(t *testing.T) {
			fake(t, test.rounds)
			set := map[string]string{"c_out": "6", "kernel": "2", "stride": "2", "padding": "1", "bias": "true"}
			if set["groups"] = "2"; test.layout == "nhwc" {
				set["groups"], set["layout"] = "1", "nhwc"
				t.Setenv("FAKE_LAST", "1")
			}
			p := bind(t, test.operator, test.shape, set)
			mode, err := Asker{}.Ask(t.Context(), p, GPU{})
			if err != nil || mode.Name != test.rounds || mode.By != "as PyTorch 2.99.0 with cuDNN 99000 does on this GPU" {
				t.Errorf("%s: %+v, %v", p, mode, err)
			}
		})
	}
	for rounds, want := range map[string]string{
		"truncation": "PyTorch 2.99.0 with cuDNN 99000 rounds by truncation, for which there is no mode",
		"bf16":       "rounds in a way that is not known here (its answer is off by ",
		"no GPU":     "PyTorch 2.99.0 finds no GPU",
	} {
		t.Run(rounds, func(t *testing.T) {
			fake(t, rounds)
			mode, err := Asker{CacheDir: t.TempDir()}.Ask(t.Context(), problem(t), GPU{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v, %v; want %q", mode, err, want)
			}
		})
	}
}

// PyTorch is asked for the math mode only once for each problem, GPU and version. If asking PyTorch failed, the next
// call asks again.
func TestAnswersAreKept(t *testing.T) {
	log := fake(t, "tf32_even")
	a := Asker{CacheDir: t.TempDir()}
	other := problem(t)
	other.Shape, other.Math = []int64{1, 6, 9, 8}, "fp32"
	same := problem(t)
	same.Math = "fp32"
	want := ""
	for i, ask := range []struct {
		p     *operator.Problem
		gpu   GPU
		again bool
	}{
		{problem(t), GPU{Name: "one"}, false}, {problem(t), GPU{Name: "one"}, true}, {same, GPU{Name: "one"}, true},
		{problem(t), GPU{Name: "two"}, false}, {other, GPU{Name: "one"}, false},
	} {
		if !ask.again {
			want += "i"
		}
		mode, err := a.Ask(t.Context(), ask.p, ask.gpu)
		if got, _ := os.ReadFile(log); err != nil || mode.Name != "tf32_even" || string(got) != want {
			t.Errorf("%d: %+v, %v; imported %q, want %q", i, mode, err, got, want)
		}
	}
	t.Setenv("NVIDIA_TF32_OVERRIDE", "0")
	if _, err := a.Ask(t.Context(), problem(t), GPU{Name: "one"}); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(log); string(got) != want+"i" {
		t.Errorf("with another switch imported %q, want %q", got, want+"i")
	}
}

func TestNoPyTorch(t *testing.T) {
	testneeds.Python.Need(t)
	t.Setenv("PYTHONPATH", t.TempDir())
	if exec.Command("python3", "-c", "import torch").Run() != nil {
		if _, err := (Asker{}).Ask(t.Context(), problem(t), GPU{}); err == nil || err.Error() != "python3 has no torch" {
			t.Error(err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := (Asker{}).Ask(t.Context(), problem(t), GPU{}); !errors.Is(err, python.ErrMissing) {
		t.Error(err)
	}
}

// A Python process that hangs is killed when the context of Ask is cancelled.
func TestHang(t *testing.T) {
	fake(t, "tf32")
	folder := t.TempDir()
	must.OK(t, os.Mkdir(filepath.Join(folder, "torch"), 0o755))
	slow := []byte("import time\ntime.sleep(1000)\n")
	must.OK(t, os.WriteFile(filepath.Join(folder, "torch", "__init__.py"), slow, 0o600))
	t.Setenv("PYTHONPATH", folder)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := (Asker{}).Ask(ctx, problem(t), GPU{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// For most of the convolutions, which were drawn at random, the rules of the operators give the math mode that PyTorch
// used on an H200.
func TestRulesAreNearPyTorch(t *testing.T) {
	text, err := os.ReadFile("../../docs/results/h200/roundings.txt")
	must.OK(t, err)
	right, all := 0, 0
	operators := map[string]*operator.Operator{} // finding an operator takes longer than binding all its problems
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		words := strings.Fields(line)
		if operators[words[0]] == nil {
			operators[words[0]], err = operator.Find(words[0])
			must.OK(t, err)
		}
		set := map[string]string{}
		for _, pair := range words[2 : len(words)-1] {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
		p := bindTo(t, operators[words[0]], words[1], set)
		if all++; p.Math == words[len(words)-1] {
			right++
		}
	}
	if want := 0.85; all < 200 || float64(right) < want*float64(all) {
		t.Errorf("%d of %d are right, want %.0f %%", right, all, 100*want)
	}
	if documented := fmt.Sprintf("for %d of %d ", right, all); !strings.Contains(measuring(t), documented) {
		t.Errorf("docs/measuring.md does not say that the table is right %s", documented)
	}
}

// measuring returns the text of docs/measuring.md as a single line.
func measuring(t *testing.T) string {
	t.Helper()
	text := must.Read(t, "../../docs/measuring.md")
	return strings.Join(strings.Fields(string(text)), " ") + " "
}
