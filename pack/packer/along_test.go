package packer

import (
	"os/exec"
	"strings"
	"testing"

	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// Functions along one dimension, along the last dimensions or over single elements take tensors of any rank. The loader
// views a tensor of any rank as one of three dimensions, and returns an output of the tensor's own rank.
func TestPythonAlong(t *testing.T) {
	testneeds.Torch.Need(t)
	r := operator.Request{Shape: []int64{4, 64, 1}}
	var all []cudasource.Winner
	for _, name := range []string{"softmax", "sum", "layer_norm", "elementwise", "masked_cumsum", "cross_entropy", "batch_norm", "group_norm"} {
		all = append(all, winner(t, r, name))
	}
	for _, f := range []string{"square(x-w)", "gelu_tanh(x)"} {
		all = append(all, winner(t, operator.Request{Shape: r.Shape, Parameters: map[string]string{"f": f}}, "elementwise"))
	}
	all = append(all, winner(t, operator.Request{Shape: []int64{4, 64}}, "triplet_margin_loss"),
		winner(t, operator.Request{Shape: []int64{2, 3, 4, 4, 8}}, "scaled_dot_product_attention"))
	path := packed(t, "layers", all)
	cmd := exec.Command("python3", "-B", "testdata/along.py", path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"softmax {'dim': 0} (1, 2, 60) gives (2, 3, 4, 5)",
		"softmax {'dim': 1} (2, 3, 20) gives (2, 3, 4, 5)",
		"softmax {'dim': -1} (24, 5, 1) gives (2, 3, 4, 5)",
		"softmax {'dim': -4} (1, 2, 60) gives (2, 3, 4, 5)",
		"softmax {'dim': 4} softmax: dim is not within the 4 dimensions of (2, 3, 4, 5)",
		"softmax {} softmax: dim must be given",
		"sum {} (1, 120, 1) gives ()",
		"sum {'keepdim': True} (1, 120, 1) gives (1, 1, 1, 1)",
		"sum {'dim': -2} (6, 4, 5) gives (2, 3, 5)",
		"sum {'dim': (1, 2)} (2, 12, 5) gives (2, 5)",
		"sum {'dim': (1, 2), 'keepdim': True} (2, 12, 5) gives (2, 1, 1, 5)",
		"sum {'dim': (-1, -2)} (6, 20, 1) gives (2, 3)",
		"sum {'dim': (0, 2)} sum: dim=(0, 2) are not neighbouring dimensions",
		"sum {} (1, 1, 1) gives ()",
		"layer_norm {'normalized_shape': (4, 5)} 1 1 1e-05 (6, 20, 1) (20,) (20,) gives (2, 3, 4, 5)",
		"layer_norm {'normalized_shape': 5, 'eps': 0.5} 0 0 0.5 (24, 5, 1) None None gives (2, 3, 4, 5)",
		"layer_norm {'normalized_shape': (3, 5)} layer_norm: normalized_shape is (3, 5); the last dimensions of (2, 3, 4, 5) are (4, 5)",
		"relu {} relu(x) 0 0 (120, 1, 1) None None gives (2, 3, 4, 5)",
		"relu {} relu(x) 0 0 (4, 64, 1) None None gives (4, 64)", // the shape of a packed entry
		"relu {'inplace': True} relu(x) 0 0 (120, 1, 1) None None gives x",
		// An operator that computes a loss can return the mean, the sum, or one value per element.
		"mse_loss {'reduction': None} square(x-w) 0 1 (1, 120, 1) (1, 120, 1) None gives ()",
		"mse_loss {'reduction': 'sum'} square(x-w) 1 0 (1, 120, 1) (1, 120, 1) None gives ()",
		"mse_loss {'reduction': 'none'} square(x-w) 0 0 (1, 120, 1) (1, 120, 1) None gives (2, 3, 4, 5)",
		"mse_loss {'reduction': 'batchmean'} elementwise: reduction='batchmean' is not what the kernels compute",
		"mse_loss {} elementwise: mse_loss takes tensors of one shape; these have (2, 3, 4, 5) and (3, 2, 4, 5)",
		"cross_entropy {'reduction': 'sum'} 1 0 -100 0.0 0 (2, 3, 20) (2, 20) None gives ()",
		"cross_entropy {'reduction': 'none'} 0 0 -100 0.0 0 (2, 3, 20) (2, 20) None gives (2, 4, 5)",
		"cross_entropy {'reduction': 'none'} 0 0 -100 0.0 0 (2, 3, 1) (2, 1) None gives (2,)",
		"cross_entropy {} 0 1 -100 0.0 1 (1, 3, 1) (1, 1) (3,) gives ()",
		"triplet_margin_loss {} 0 1 1.0 2.0 1e-06 0 (1, 8) (1, 8) (1, 8) gives ()",
		"gelu {'approximate': 'tanh'} gelu_tanh(x) 0 0 (120, 1, 1) None None gives (2, 3, 4, 5)",
		"gelu {} elementwise: f must be one of ['gelu_tanh(x)', 'relu(x)', 'square(x-w)']; it is gelu(x)",
		"gelu {'approximate': 'erf'} elementwise: approximate='erf' is not what the kernels compute",
		"batch_norm {'training': True} 1 0.1 0 0 1e-05 (2, 3, 1) None None (3,) (3,) gives (2, 3)",
		"batch_norm {'training': True} 1 0.1 0 0 1e-05 (2, 3, 20) None None None None gives (2, 3, 4, 5)",
		"batch_norm {} batch_norm: running_mean is missing; it should have the shape (3,)",
		"instance_norm {} 3 1 1 1e-05 (2, 3, 20) (3,) (3,) gives (2, 3, 4, 5)",
		"masked_cumsum {'dim': 1} 0 0 (2, 3, 20) (2, 3, 20) gives (2, 3, 4, 5)",
		"scaled_dot_product_attention {} 8 3 0 0 0.3535533905932738 1 1 (2, 3, 4, 8) (2, 3, 4, 8) (2, 3, 4, 8) (1, 1, 4, 4) gives (2, 3, 4, 8)",
		"bool 0.0 -inf\nscaled_dot_product_attention {} 8 3 0 0 0.3535533905932738 1 1 (2, 3, 4, 8) (2, 3, 4, 8) (2, 3, 4, 8) (1, 1, 4, 4) gives (2, 3, 4, 8)",
		"scaled_dot_product_attention {} 8 3 0 0 0.3535533905932738 1 3 (1, 3, 4, 8) (1, 3, 4, 8) (1, 3, 4, 8) (1, 3, 4, 4) gives (3, 4, 8)",
	} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("the output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("the output:\n%s", out)
	}
}
