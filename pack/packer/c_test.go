package packer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// cc runs the C compiler, with warnings as errors.
func cc(t *testing.T, arguments ...string) {
	t.Helper()
	common := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"}
	if out, err := exec.Command("gcc", append(common, arguments...)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// standIn compiles an imitation of the CUDA driver, which runs no kernels and prints its calls, into a new folder.
func standIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cc(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/libcuda.c")
	return dir
}

// underDriver prepares a command that loads the imitation of the CUDA driver from a folder.
func underDriver(dir, program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	return cmd
}

// programInC compiles a C program of testdata with a pack, and an imitation of the CUDA driver for it.
func programInC(t *testing.T, path, source string, flags ...string) (dir, program string) {
	t.Helper()
	dir = standIn(t)
	program, c := filepath.Join(dir, "program"), filepath.Join(path, "c")
	cc(t, append(flags, "-I"+c, "-o", program, filepath.Join("testdata", source), filepath.Join(c, "autotune_pack.c"), filepath.Join(c, "layers.c"),
		filepath.Join(dir, "libcuda.so.1"), "-ldl")...)
	return dir, program
}

// A C program must be able to use a pack. The program's CUDA driver is an imitation that prints the launches.
func TestC(t *testing.T) {
	testneeds.Nothing(t)
	testneeds.CXX.Need(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not there")
	}
	w := winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d")
	path := packed(t, "layers", []cudasource.Winner{w, winner(t, operator.Request{Shape: []int64{4, 64, 1}}, "layer_norm")})
	dir, program := programInC(t, path, "program.c")
	run := func() string {
		out, err := underDriver(dir, program, path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := run()
	const refused = "conv2d: no kernel of the pack was made for this problem on this GPU"
	for _, want := range []string{
		"exact: y 1x128x7x7 of 4 bytes", "as by default: y 1x128x7x7", "named: y 1x128x7x7", "no mode: " + refused, "other: " + refused,
		"stride: " + refused, "elsewhere: " + refused, "null: ", ": a tensor is null", ": 0x1000 0x2000", "load " + w.Kernel.Digest()[:40],
		"norm: planned", "norm: planned", "norm: layer_norm: no kernel",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
		out = strings.Replace(out, want, "", 1)
	}
	if strings.Contains(out, "load "+w.Kernel.Digest()[:40]) {
		t.Errorf("the kernel was loaded twice, though the plans of eight threads are one:\n%s", out)
	}
	kernel := filepath.Join(path, filepath.FromSlash(open(t, path).Entries[0].File))
	data := must.Read(t, kernel)
	data[5] ^= 4
	must.OK(t, os.WriteFile(kernel, data, 0o644))
	if out := run(); !strings.HasPrefix(out, "open: ") || !strings.Contains(out, "it is not the file that was packed") {
		t.Errorf("a flipped bit: %s", out)
	}
	remove(t, kernel)
	pipe(t, kernel) // the program must not wait for a writer
	if out := run(); !strings.HasPrefix(out, "open: ") || !strings.Contains(out, "it is no regular file") {
		t.Errorf("a pipe: %s", out)
	}
	cc(t, "-std=c11", "-fsyntax-only", "-I"+filepath.Join(path, "c"), filepath.Join(path, "c", "autotune_pack.c"))
}

// A CMake project must be able to include a pack's folder without changes.
func TestCMake(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C, in one goroutine")
	}
	testneeds.CMake.Need(t)
	path, dir := packed(t, "layers", []cudasource.Winner{winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d")}), standIn(t)
	library := filepath.Join(dir, "libcuda.so.1")
	source, err := filepath.Abs("testdata/plan_all.c")
	must.OK(t, err)
	lines := []string{
		"cmake_minimum_required(VERSION 3.16)", "project(program C)", "add_subdirectory(" + filepath.Join(path, "c") + " pack)",
		"add_executable(program " + source + ")", "target_link_libraries(program layers -Wl," + library + ")", // an imitation of the CUDA driver
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	build := filepath.Join(dir, "build")
	for _, arguments := range [][]string{{"cmake", "-S", dir, "-B", build}, {"cmake", "--build", build}, {filepath.Join(build, "program"), path}} {
		out, err := underDriver(dir, arguments[0], arguments[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, out)
		}
	}
}
