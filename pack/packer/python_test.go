package packer

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/pack"
	"autotune/tuner/cudasource"
)

// This test uses the Python package with PyTorch on the CPU and an imitation of the CUDA driver.
func TestPython(t *testing.T) {
	testneeds.CXX.Need(t)
	testneeds.Torch.Need(t)
	w := winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d")
	large := winner(t, operator.Request{Shape: []int64{1, 32, 20, 20}, Parameters: map[string]string{"c_out": "64"}}, "conv2d", "pipelined_gemm")
	path, dir := packed(t, "layers", []cudasource.Winner{large}), standIn(t)
	run := func() string {
		out, _ := underDriver(dir, "python3", "testdata/use_pack.py", path).CombinedOutput()
		return string(out)
	}
	if out := run(); !strings.Contains(out, "attribute 6 1\n") || !strings.Contains(out, "workspaces (1, 64, 18, 18)") {
		t.Errorf("several launches with workspaces: %s", out)
	}
	path = packed(t, "layers", []cudasource.Winner{w})
	out := run()
	for _, want := range []string{
		"conv2d(Tensor x_, Tensor? weight_, Tensor? bias_, int[] settings, str math) -> Tensor", "tuned (1, 128, 7, 7)", "general (2, 128, 5, 4)",
		"module (1, 128, 7, 7)", "fake (1, 128, 7, 7)", "unbatched (128, 7, 7)", "rank ValueError conv2d: x has the shape (9, 9); it should have 4 dimensions",
		"groups ValueError conv2d: 3 groups do not divide the 4 input channels", "channels ValueError conv2d: weight has the shape",
		"stride ValueError conv2d: stride_h must be at least 1; it is 0", "mode ValueError conv2d: there is no math mode 'fp8'",
		"name TypeError conv2d() got an unexpected keyword argument 'size'", "| a | conv2d |  |  | left: nothing tells whether its kernels are faster than PyTorch: search with --baseline torch, or give replace the model's inputs |\n",
		"| b | conv2d |  |  | left: no kernel of the pack was made for its parameters |\n", "| c | ConvTranspose2d |  |  | left: no operator of the pack computes it |\nmodel: nothing was replaced,",
		"| a | conv2d |  |  | left: no kernel for its parameters was faster than PyTorch |", "| a | conv2d |  |  | left: its kernels were measured on NVIDIA A100, and this is NVIDIA H100: give",
		"| a | conv2d |  |  | left: its kernels save 1.5 us, and a call may take the host 5 us more: replace(model, run=\"graph\") is for CUDA graphs |",
		"type ValueError conv2d: type must be one of", "cpu ValueError conv2d: x is torch.float32 on cpu",
		"PyTorch's own\ncompiled AttributeError", "PyTorch's own\ntimed beside AttributeError", "timed beside (1, 128, 7, 7)",
		"load " + w.Kernel.Digest()[:40], "on 0x7: ", "warned 1 ", "none of its kernels was made for NVIDIA A100, so the general ones run",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	// replace changes two models of the script: the kernel of one is faster than PyTorch, that of the other only in a
	// CUDA graph.
	if n := strings.Count(out, "| a | conv2d |  |  |  |\n"); n != 2 {
		t.Errorf("%d models were given the kernel, want 2", n)
	}
	if strings.Contains(out, "TAKEN") || t.Failed() {
		t.Errorf("the output:\n%s", out)
	}
	edit(t, path, func(m map[string]any) { delete(conv(m), "parameters") })
	if out := run(); !strings.Contains(out, "manifest.json is damaged: KeyError('parameters')\n") {
		t.Errorf("a manifest without parameters: %s", out)
	}
}

// Tensors of one call can have different types, can be both read and written, and there can be several outputs.
func TestPythonTensors(t *testing.T) {
	testneeds.CXX.Need(t)
	testneeds.Torch.Need(t)
	var all []cudasource.Winner
	for name, set := range map[string]map[string]string{"cross_entropy": nil, "masked_cumsum": nil, "batch_norm": {"training": "true"}, "elementwise": nil} {
		all = append(all, winner(t, operator.Request{Shape: []int64{4, 5, 1}, Parameters: set}, name))
	}
	both, err := operator.Load(os.DirFS("testdata"), "both")
	must.OK(t, err)
	all = append(all, winnerOf(t, both, operator.Request{Shape: []int64{64}}))
	path := packed(t, "layers", all)
	out, err := underDriver(standIn(t), "python3", "testdata/mixed.py", path).CombinedOutput()
	for _, want := range []string{
		"batch_norm(Tensor x_, Tensor? weight_, Tensor? bias_, Tensor(a3!)? running_mean_, Tensor(a4!)? running_var_, int[] settings, str math) -> Tensor",
		"both(Tensor x_, int[] settings, str math) -> (Tensor, Tensor)",
		"cross_entropy [((), 'torch.float32')]", "cross_entropy [((4,), 'torch.float32')]",
		"cross_entropy cross_entropy: target is torch.float32 on cpu; it must be torch.int64, and all tensors on one GPU",
		"cross_entropy cross_entropy: weight is torch.bfloat16 on cpu; it must be torch.float32, and all tensors on one GPU",
		"masked_cumsum [((4, 5), 'torch.float32')]", "copied back True\nbatch_norm [((4, 5), 'torch.float32')]",
		"in place True",
		": 0x9990 (nil) (nil) 0x7000 0x7100 0x7000", // the null pointers are optional statistics
		"0xbfe0000000000000\nboth [((64,), 'torch.float32'), ((64,), 'torch.int64')]", "fake [((64,), 'torch.float32'), ((64,), 'torch.int64')]",
	} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("the output lacks %q", want)
		}
	}
	if t.Failed() || err != nil {
		t.Errorf("%v; the output:\n%s", err, out)
	}
}

// The Python package must refuse, in one line, a folder that is no pack, and a manifest that different loaders would
// read differently.
func TestPythonDamage(t *testing.T) {
	testneeds.Python.Need(t)
	whole := small(t, "whole")
	manifest := func(change func(text string) string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			text := must.Read(t, filepath.Join(path, pack.ManifestFile))
			replace(t, path, change(string(text)))
		}
	}
	types := func(word string, bytes any) func(*testing.T, string) {
		return editing(func(m map[string]any) { m["types"].(map[string]any)[word] = bytes })
	}
	file := func(name string) func(*testing.T, string) {
		return editing(func(m map[string]any) {
			files := m["files"].(map[string]any)
			files[name], entry(m)["file"] = files[entry(m)["file"].(string)], name
		})
	}
	outside := filepath.Join(t.TempDir(), "outside.cubin")
	data := must.Read(t, cubinIn(t, whole))
	must.OK(t, os.WriteFile(outside, data, 0o644))
	damages := map[string]struct {
		damage func(t *testing.T, path string)
		want   string
	}{
		"(none)":           {func(*testing.T, string) {}, "imported"},
		"a name twice":     {manifest(func(text string) string { return strings.Replace(text, "{", `{"entries": [], `, 1) }), "'manifest.json' has the name 'entries' twice in one object"},
		"twice, deep":      {manifest(func(text string) string { return strings.Replace(text, `"grid":`, `"grid": [1, 1, 1], "grid":`, 1) }), "has the name 'grid' twice"},
		"another case":     {editing(func(m map[string]any) { m["Entries"] = []any{} }), "has the name 'Entries'; its names are of small letters"},
		"a long s":         {editing(func(m map[string]any) { m["entrieſ"] = []any{} }), "has the name 'entrieſ'"},
		"a case, deep":     {editing(func(m map[string]any) { launch(m)["Grid"] = []any{1, 1, 1} }), "has the name 'Grid'"},
		"-4 bytes":         {types("f32", -4), "has elements of 'f32' of -4 bytes; they have 1 to 8"},
		"no bytes":         {types("f32", 0), "has elements of 'f32' of 0 bytes"},
		"half a byte":      {types("f32", 0.5), "has elements of 'f32' of 0.5 bytes"},
		"true bytes":       {types("f32", true), "has elements of 'f32' of True bytes"},
		"up":               {file("kernels/../../x"), "'kernels/../../x' is outside of it"},
		"from the root":    {file(outside), "is outside of it; a pack's files lie in its folder"},
		"a link out of it": {func(t *testing.T, path string) { file := cubinIn(t, path); remove(t, file); symlink(t, outside, file) }, ".cubin' is outside of it"},
		"a link to it":     {func(t *testing.T, path string) { file := cubinIn(t, path); remove(t, file); symlink(t, file, file) }, "the pack"},
		"a pipe":           {func(t *testing.T, path string) { file := cubinIn(t, path); remove(t, file); pipe(t, file) }, ".cubin' is no regular file"},
		"a folder": {func(t *testing.T, path string) {
			file := cubinIn(t, path)
			remove(t, file)
			must.OK(t, os.Mkdir(file, 0o755))
		}, ".cubin' is no regular file"},
		"a flipped bit": {func(t *testing.T, path string) {
			file := cubinIn(t, path)
			data := must.Read(t, file)
			data[1] ^= 2
			must.OK(t, os.WriteFile(file, data, 0o644))
		}, "is not the file that was packed"},
		"a newer schema": {editing(func(m map[string]any) { m["schema"] = "autotune/pack/6" }), "has the schema 'autotune/pack/6'"},
		"no file":        {func(t *testing.T, path string) { remove(t, cubinIn(t, path)) }, ".cubin' cannot be read: No such file or directory"},
		"it grew":        {func(t *testing.T, path string) { truncate(t, cubinIn(t, path), 1<<20) }, "has 1048576 bytes; it may have"},
		"a size": {editing(func(m map[string]any) {
			m["files"].(map[string]any)[entry(m)["file"].(string)].(map[string]any)["bytes"] = 1 << 40
		}), "would have 1099511627776 bytes"},
		"a piped manifest": {func(t *testing.T, path string) {
			file := filepath.Join(path, pack.ManifestFile)
			remove(t, file)
			pipe(t, file)
		}, "'manifest.json' is no regular file"},
		"deep":     {func(t *testing.T, path string) { replace(t, path, strings.Repeat("[", 100_000)) }, "manifest.json is damaged"},
		"a list":   {func(t *testing.T, path string) { replace(t, path, "[]") }, "has the schema None"},
		"no types": {editing(func(m map[string]any) { delete(m, "types") }), "manifest.json is damaged: KeyError('types')"},
	}
	for _, name := range endurance.Some(slices.Sorted(maps.Keys(damages)), 12) {
		test := damages[name]
		t.Run(name, func(t *testing.T) {
			path := copyOf(t, whole)
			test.damage(t, path)
			out, _ := underDriver(t.TempDir(), "timeout", "60", "python3", "-c", "import sys, types\nlayers = sys.modules['layers'] = types.ModuleType('layers')\nlayers.__path__ = sys.argv[1:]\nimport layers.manifest\nprint('imported')",
				filepath.Join(path, "python", "layers")).CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			last := lines[len(lines)-1]
			if refused := strings.HasPrefix(last, "layers.manifest.PackError: the pack "); !strings.Contains(last, test.want) || !refused && test.want != "imported" {
				t.Errorf("%s\nwant one line with %q", out, test.want)
			}
		})
	}
}
