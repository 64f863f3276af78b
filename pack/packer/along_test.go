package packer

import (
	"os/exec"
	"strings"
	"testing"

	"autotune/internal/testneeds"
	"autotune/reports/cudasource"
	"autotune/tuner/operator"
)

// A function along a dimension, over the last ones or of single elements folds tensors of any rank to
// three dimensions, and unfolds the answer.
func TestPythonAlong(t *testing.T) {
	testneeds.Python.Need(t)
	r := operator.Request{Shape: []int64{4, 64, 1}}
	path := packed(t, "layers", []cudasource.Winner{winner(t, r, "softmax"), winner(t, r, "sum"), winner(t, r, "layer_norm"), winner(t, r, "elementwise")})
	cmd := exec.Command("python3", "-B", "testdata/along.py", "../../reports/pytorch/testdata", path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"softmax {'dim': 0} (1, 2, 60) (2, 3, 4, 5)",
		"softmax {'dim': 1} (2, 3, 20) (2, 3, 4, 5)",
		"softmax {'dim': -1} (24, 5, 1) (2, 3, 4, 5)",
		"softmax {'dim': -4} (1, 2, 60) (2, 3, 4, 5)",
		"softmax {'dim': 4} softmax: dim is not within the 4 dimensions of (2, 3, 4, 5)",
		"softmax {} softmax: dim must be given",
		"sum {} (1, 120, 1) ()",
		"sum {'keepdim': True} (1, 120, 1) (1, 1, 1, 1)",
		"sum {'dim': -2} (6, 4, 5) (2, 3, 5)",
		"sum {'dim': (1, 2)} (2, 12, 5) (2, 5)",
		"sum {'dim': (1, 2), 'keepdim': True} (2, 12, 5) (2, 1, 1, 5)",
		"sum {'dim': (-1, -2)} (6, 20, 1) (2, 3)",
		"sum {'dim': (0, 2)} sum: dim=(0, 2) are no dimensions that follow each other",
		"sum {} (1, 1, 1) ()",
		"layer_norm {'normalized_shape': (4, 5)} 1 1 1e-05 (6, 20, 1) (20,) (20,) (2, 3, 4, 5)",
		"layer_norm {'normalized_shape': 5, 'eps': 0.5} 0 0 0.5 (24, 5, 1) None None (2, 3, 4, 5)",
		"layer_norm {'normalized_shape': (3, 5)} layer_norm: normalized_shape is (3, 5); the last dimensions of (2, 3, 4, 5) are (4, 5)",
		"relu {} relu(x) 0 0 (120, 1, 1) None None (2, 3, 4, 5)",
		"relu {} relu(x) 0 0 (4, 64, 1) None None (4, 64)", // as an entry's shape
		"relu {'inplace': True} elementwise: inplace=True is not what the kernels compute",
	} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("the output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("the output:\n%s", out)
	}
}
