package capture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// timedProgram is a program whose ModelNew is right, and OTHER one that is wrong.
const timedProgram = `import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.l = nn.Linear(width, width)
    def forward(self, x):
        return self.l(x).relu()

class ModelNew(Model):
    def forward(self, x):
        return super().forward(x)OTHER

def get_inputs():
    return [torch.randn(4, 8)]

def get_init_inputs():
    return [8]
`

func TestTimeProgram(t *testing.T) {
	testneeds.Torch.Need(t)
	folder, operators := t.TempDir(), got(operator.Operators())
	file := func(name, other string) string {
		path := filepath.Join(folder, name)
		must.OK(t, os.WriteFile(path, []byte(strings.Replace(timedProgram, "OTHER", other, 1)), 0o600))
		return path
	}
	right, wrong, broken := file("right.py", ""), file("wrong.py", " * 2"), file("broken.py", ".nothing()")
	times, err := TimeProgram(t.Context(), "tool", operators, right, right, wrong, broken)
	must.OK(t, err)
	if times.Before["eager"] <= 0 || times.After[0].Times["eager"] <= 0 || times.After[0].Fault != "" || times.After[0].Distance != 0 {
		t.Errorf("the same module: %+v", times)
	}
	for i, want := range []string{1: "its outputs differ from Model's by", 2: "has no attribute 'nothing'"} {
		if after := times.After[i]; !strings.Contains(after.Fault, want) || after.Pays() {
			t.Errorf("candidate %d: %+v, want a fault with %q", i, after, want)
		}
	}
	bare, _, _ := strings.Cut(strings.NewReplacer("width):", "width=8):", "OTHER", "").Replace(timedProgram), "def get_init_inputs")
	must.OK(t, os.WriteFile(right, []byte(bare), 0o600))
	if times, err := TimeProgram(t.Context(), "tool", operators, right, right); err != nil || times.After[0].Fault != "" {
		t.Errorf("a file without get_init_inputs: %+v, %v", times, err)
	}
	if _, err := TimeProgram(t.Context(), "tool", operators, file("syntax.py", "("), right); err == nil || !strings.Contains(err.Error(), "SyntaxError") {
		t.Errorf("a file that Python cannot read: %v", err)
	}
}
