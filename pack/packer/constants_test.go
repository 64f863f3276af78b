package packer

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/pack"
	"autotune/tuner/cudasource"
	"autotune/tuner/family"
)

// smooth is an operator with a tensor in constant memory and two outputs, and packedSmooth a pack of it.
func smooth(t testing.TB) *operator.Operator {
	t.Helper()
	op, err := operator.Load(os.DirFS("testdata"), "smooth")
	must(t, err)
	return op
}

func packedSmooth(t testing.TB) string {
	t.Helper()
	return packed(t, "layers", []cudasource.Winner{winnerOf(t, smooth(t), operator.Request{Shape: []int64{64}})})
}

// Tensors are copied to constant memory before a tuned kernel runs, behind all that has read it. The general
// kernel takes them as all others.
func TestConstants(t *testing.T) {
	path := packedSmooth(t)
	p := open(t, path)
	if p.Schema != pack.SchemaConstants || p.Operators[0].Tensors[0].Symbol != "taps" {
		t.Fatalf("the pack has the schema %s and the tensors %+v", p.Schema, p.Operators[0].Tensors)
	}
	t.Run("Go", func(t *testing.T) {
		gpu := h100()
		for _, n := range []int64{64, 65} {
			plan, err := p.On(gpu).Plan("smooth", []int64{n}, nil, "")
			must(t, err)
			must(t, plan.Prepare())
			must(t, relaunch(plan))
		}
		if len(gpu.launches) != 3 || gpu.launches[0] != "fill [{c0 100 c}] on 1" {
			t.Errorf("Go asks for %q", gpu.launches)
		}
		// The tensors lie at 100, 200 and so on: weights, y, x, negative. The general kernel takes y last of them.
		if got := fmt.Sprintf("%x", gpu.values); got != "[[200 300 400] [100 300 400 200 41 41]]" {
			t.Errorf("Go passes %s", got)
		}
		plan, err := p.On(&recorder{gpu: gpu.gpu, room: 8}).Plan("smooth", []int64{64}, nil, "")
		must(t, err)
		for _, err := range []error{plan.Prepare(), relaunch(plan)} {
			if err == nil || !strings.HasSuffix(err.Error(), ".cubin: it has 8 bytes, and weights takes 12") {
				t.Errorf("a variable that is too small: %v", err)
			}
		}
	})
	const want = `variable taps
wait on 0x7
copy 12 to 0xc0 from 0x1000 on 0x7
launch 2 1 1, 32 1 1, 0 on 0x7: 0x5000 0x3000 0x6000
record on 0x7
wait on 0x8
copy 12 to 0xc0 from 0x1000 on 0x8
launch 2 1 1, 32 1 1, 0 on 0x8: 0x5000 0x3000 0x6000
record on 0x8
copy 12 to 0xc0 from 0x1000 on 0x99
launch 2 1 1, 32 1 1, 0 on 0x99: 0x5000 0x3000 0x6000
launch 1 1 1, 256 1 1, 0 on 0x7: 0x1000 0x3000 0x6000 0x5000 0x41
`
	for name, loader := range map[string]struct {
		run   func(t *testing.T) string
		small string
	}{
		"Python": {func(t *testing.T) string {
			testneeds.Python.Need(t)
			return withDriver(t, nil, "python3", "testdata/constants.py", "../../reports/pytorch/testdata", path)
		}, "the constant variable taps of kernels/.*\\.cubin has 8 bytes, and its tensor takes 12\n"},
		"C": {func(t *testing.T) string {
			dir, program := programInC(t, path, "constants.c")
			out, err := underDriver(dir, program, path).Output()
			must(t, err)
			return string(out)
		}, "tuned taps: the kernel's constant variable has fewer bytes than the tensor\n"},
	} {
		t.Run(name, func(t *testing.T) {
			testneeds.CXX.Need(t)
			out := loader.run(t)
			if got := regexp.MustCompile(`(?m)^(tuned|again|captured|general|load|.*\() .*\n|^smooth.*\n`).ReplaceAllString(out, ""); got != want {
				t.Errorf("it asks for\n%swant\n%s", got, want)
			}
			t.Setenv("FAKE_ROOM", "8")
			if out := loader.run(t); !regexp.MustCompile(loader.small).MatchString(out) || strings.Contains(out, "copy") {
				t.Errorf("a variable that is too small: %s", out)
			}
		})
	}
}

// A family's kernels have constant memory, too: each set of sizes has its own.
func TestConstantsOfFamilies(t *testing.T) {
	f := fakeFamilyOf(t, smooth(t), "{1..40}", "n", "")
	f.Tree = &family.Node{Entries: []int{0}}
	path := packedFamilies(t, []Family{f})
	var cases []chosenCase
	for _, n := range []int64{1, 33} {
		p, err := f.Operator.Bind(f.Request([]int64{n}), hopper())
		must(t, err)
		cases = append(cases, chosenCase{problem: p, text: loaded(t, p, f.Kernels[0], f.Entries[0].Configuration)})
	}
	t.Run("Go", func(t *testing.T) { sameChoices(t, cases, chosenByGo(t, path, cases)) })
	t.Run("C", func(t *testing.T) { sameChoices(t, cases, answers(printedByC(t, path, cases))) })
	t.Run("Python", func(t *testing.T) { sameChoices(t, cases, answers(printedByPython(t, path, cases))) })
}

// A manifest that lies about constant memory or an output is refused with one line.
func TestDamagedConstants(t *testing.T) {
	whole := packedSmooth(t)
	tensor := func(m map[string]any, at int) map[string]any { return conv(m)["tensors"].([]any)[at].(map[string]any) }
	for want, change := range map[string]func(m map[string]any){
		`weight "weights" cannot be in constant memory as "taps"`:               func(m map[string]any) { m["schema"] = pack.Schema },
		`weight "weights" cannot be in constant memory as "a b"`:                func(m map[string]any) { tensor(m, 0)["symbol"] = "a b" },
		`output "y" cannot be in constant memory as "taps"`:                     func(m map[string]any) { tensor(m, 1)["symbol"] = "taps" },
		`the tensor "y" has the role "result"; it may be input, weight, output`: func(m map[string]any) { tensor(m, 1)["role"] = "result" },
		`no launch takes the output "negative"`:                                 func(m map[string]any) { launch(m)["arguments"] = []any{"y", "x"} },
		`no launch takes the output "x"`: func(m map[string]any) {
			tensor(m, 2)["role"], launch(m)["arguments"] = "output", []any{"y", "negative"}
		},
	} {
		path := filepath.Join(t.TempDir(), "copy")
		must(t, os.CopyFS(path, os.DirFS(whole)))
		edit(t, path, change)
		if _, err := pack.Open(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line with %q", err, want)
		}
	}
}
