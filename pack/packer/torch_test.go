package packer

import (
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// withTorch runs a script of testdata with the real PyTorch and a driver that runs nothing. withTorch fails the test if
// a line of the script's output does not begin with ok.
func withTorch(t *testing.T, script string, winners ...cudasource.Winner) {
	t.Helper()
	testneeds.CXX.Need(t)
	testneeds.Torch.Need(t)
	path, script := packed(t, "layers", winners), filepath.Join("testdata", script)
	out, err := underDriver(standIn(t), "python3", script, path).CombinedOutput()
	checks := 0
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ok ") {
			checks++
		}
	}
	if err != nil || checks == 0 || strings.Contains(string(out), "WRONG") {
		t.Errorf("%v after %d checks:\n%s", err, checks, out)
	}
}

// A repeated call skips PyTorch's dispatcher, but only if the caller cannot notice the difference.
func TestFastCalls(t *testing.T) {
	withTorch(t, "fast_calls.py",
		winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d"), winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "max_pool2d"),
		winner(t, operator.Request{Shape: []int64{4, 5, 1}}, "elementwise"), winner(t, operator.Request{Shape: []int64{4, 5, 9}, Parameters: map[string]string{"training": "true"}}, "batch_norm"))
}

// replace(model, inputs) must keep only the kernels that make the model faster, and change nothing else in it.
func TestReplaceMeasures(t *testing.T) {
	withTorch(t, "replace_model.py", winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d"))
}
