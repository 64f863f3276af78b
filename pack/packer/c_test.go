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

// standIn compiles the stand-in for the driver into a folder of its own.
func standIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cc(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/libcuda.c")
	return dir
}

// underDriver is a command that finds the stand-in of a folder.
func underDriver(dir, program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	return cmd
}

// programInC compiles a program of testdata with a pack, beside a stand-in for the driver.
func programInC(t *testing.T, path, source string, flags ...string) (dir, program string) {
	t.Helper()
	dir = standIn(t)
	program, c := filepath.Join(dir, "program"), filepath.Join(path, "c")
	cc(t, append(flags, "-I"+c, "-o", program, filepath.Join("testdata", source), filepath.Join(c, "autotune_pack.c"), filepath.Join(c, "layers.c"),
		filepath.Join(dir, "libcuda.so.1"), "-ldl")...)
	return dir, program
}

// A program in C uses a pack on a driver that runs nothing.
func TestC(t *testing.T) {
	testneeds.Nothing(t)
	testneeds.CXX.Need(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not there")
	}
	w := winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d")
	path := packed(t, "layers", []cudasource.Winner{w})
	dir, program := programInC(t, path, "program.c")
	run := func() string {
		out, err := underDriver(dir, program, path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := run()
	for _, want := range []string{
		"exact: tuned, y 1x128x7x7 of 4 bytes", "again: tuned", "named: general, y 1x128x7x7", "no mode: fp8: the operator has no such math mode",
		"other: general, y 2x128x7x7", "stride: conv2d: stride_h must be at least 1; it is 0", "groups: conv2d: 3 groups do not divide the 4 input channels",
		"padding: conv2d: ", "elsewhere: general", "null: conv2d: a tensor is null", ": 0x1000 0x2000", "load " + w.Kernel.Digest()[:40],
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "conv2d_general_tf32_f32\n"); n != 2 { // two plans; those of eight threads are one
		t.Errorf("the general kernel was found %d times, want 2:\n%s", n, out)
	}
	kernel := cubinIn(t, path)
	data, err := os.ReadFile(kernel)
	must.OK(t, err)
	data[5] ^= 4
	must.OK(t, os.WriteFile(kernel, data, 0o644))
	if out := run(); !strings.HasPrefix(out, "open: ") || !strings.Contains(out, "it is not the file that was packed") {
		t.Errorf("a flipped bit: %s", out)
	}
	remove(t, kernel)
	pipe(t, kernel) // it waits for no writer
	if out := run(); !strings.HasPrefix(out, "open: ") || !strings.Contains(out, "it is no regular file") {
		t.Errorf("a pipe: %s", out)
	}
	cc(t, "-std=c11", "-fsyntax-only", "-I"+filepath.Join(path, "c"), filepath.Join(path, "c", "autotune_pack.c"))
}

// Parameters of floating point are double in C, and -0.0 means the default.
func TestFloatsInC(t *testing.T) {
	testneeds.Nothing(t)
	testneeds.CXX.Need(t)
	path := packed(t, "layers", []cudasource.Winner{
		winner(t, operator.Request{Shape: []int64{4, 64, 1}}, "layer_norm"), winner(t, operator.Request{Shape: []int64{4, 64, 1}}, "cross_entropy"),
	})
	_, program := programInC(t, path, "norms.c")
	var said []string
	for line := range strings.Lines(string(withDriver(t, nil, program, path))) {
		if !strings.HasPrefix(line, "load ") && !strings.HasPrefix(line, "find ") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	const refused = "layer_norm: eps must be at least "
	const together = "cross_entropy: weights of labels and smoothing are not computed together"
	if len(said) != 7 || said[5] != "planned" || said[6] != together || strings.Join(said[:3], " ") != "tuned tuned general" || said[3] != refused+"0.0; it is -1" || said[4] != refused+"0.0; it is -inf" {
		t.Errorf("it says %q", said)
	}
}

// A project of CMake's uses the pack's folder as it is.
func TestCMake(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C, in one goroutine")
	}
	testneeds.CMake.Need(t)
	path, dir := packed(t, "layers", []cudasource.Winner{winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d")}), standIn(t)
	library := filepath.Join(dir, "libcuda.so.1")
	source, err := filepath.Abs("testdata/program.c")
	must.OK(t, err)
	lines := []string{
		"cmake_minimum_required(VERSION 3.16)", "project(program C)", "add_subdirectory(" + filepath.Join(path, "c") + " pack)",
		"add_executable(program " + source + ")", "target_link_libraries(program layers -Wl," + library + ")", // a driver that runs nothing
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	build := filepath.Join(dir, "build")
	for _, arguments := range [][]string{{"cmake", "-S", dir, "-B", build}, {"cmake", "--build", build}, {filepath.Join(build, "program"), path}} {
		out, err := underDriver(dir, arguments[0], arguments[1:]...).CombinedOutput()
		if err != nil || arguments[0] != "cmake" && !strings.Contains(string(out), "exact: tuned, y 1x128x7x7") {
			t.Fatalf("%v: %v\n%s", arguments, err, out)
		}
	}
}
