package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/test/testneeds"
)

// The rows of another vendor's GPUs, and the rest of their package beside the driver.
const (
	thirdConstant = `	Third    Kind = "third"` + "\n"
	thirdLine     = `	{Kind: Third, Label: "a third GPU", Argument: "N", Compiles: true, Measures: true, Persists: true},` + "\n"
	thirdRow      = `	device.Third: gpus{kind: device.Third, list: third.List, compiler: third.Compiler, target: third.Target,
		open: func(_ context.Context, n int, o Options) (device.Device, error) { return third.Start(n, o.CacheDir) },
	}.row(),
`
	thirdPackage = `package third

import (
	"context"

	"autotune/device/compile"
	"autotune/device"
	"autotune/device/gpu"
)

type driver struct{ *fakeDriver }

func (d driver) List() ([]device.Info, error) {
	found, err := d.fakeDriver.List()
	found[0].Kind, found[0].Name = device.Third, "Third X1"
	return found, err
}

type compiler struct{ fakeCompiler }

func (compiler) Workers() int { return 1 }

func List(context.Context) ([]device.Info, error) { return driver{newFake()}.List() }

func Compiler(context.Context) (compile.Compiler, error) { return compiler{}, nil }

func Target(string, int) string { return "gfx942" }

func Start(n int, cacheDir string) (device.Device, error) {
	return gpu.Open(driver{newFake()}, n, gpu.Options{Compiler: compiler{}, Target: Target("", 0), CacheDir: cacheDir})
}
`
)

// thirdProgram lists the devices, searches an operator on the one that auto takes, and writes the search's
// record. It is the rooms below the commands, which take twice as long to build.
const thirdProgram = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/operator"
)

func main() {
	devices.Dispatch()
	if err := search(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func search(ctx context.Context, folder string) error {
	fmt.Printf("%+v\n", devices.List(ctx))
	op, err := operator.Load(os.DirFS(folder), ".")
	if err != nil {
		return err
	}
	opener := devices.NewOpener(devices.Spec{}, devices.Options{})
	defer opener.Close()
	opened, err := opener.Open(ctx, op, operator.Request{Shape: []int64{1000}})
	if err != nil {
		return err
	}
	result, err := tuner.Search(ctx, opened.Problem, opened.Device, tuner.Options{})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result.Record)
}
`

// Another vendor's GPUs take what docs/architecture.md names and nothing else: a driver,
// a compiler, and two rows. The driver here is the one in memory of package gpu's tests.
func TestThirdKind(t *testing.T) {
	testneeds.Nothing(t)
	if testing.Short() {
		t.Skip("builds a program")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]string{}
	put := func(path, text string) {
		t.Helper()
		made := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(made, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, path)] = made
	}
	read := func(path string, edits ...string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(edits); i += 2 {
			if strings.Count(string(text), edits[i]) != 1 {
				t.Fatalf("%s has %q %d times", path, edits[i], strings.Count(string(text), edits[i]))
			}
		}
		return strings.NewReplacer(edits...).Replace(string(text))
	}
	const constant, line, row = "	Replay   Kind = \"replay\"\n", "var kinds = []Properties{\n", "var kindsByName = map[device.Kind]kind{\n"
	rows := []string{"device/kind.go", "tuner/devices/kinds.go"}
	put(rows[0], read(rows[0], constant, constant+thirdConstant, line, line+thirdLine))
	put(rows[1], read(rows[1], row, row+thirdRow, "import (\n", "import (\n\t\"autotune/device/third\"\n"))
	put("device/third/driver.go", read("device/gpu/fake_test.go", "package gpu\n", "package third\n", "import (\n", "import (\n\t. \"autotune/device/gpu\"\n"))
	put("device/third/third.go", thirdPackage)
	put("cmd/third/main.go", thirdProgram)
	page := read("docs/architecture.md")
	for _, path := range append(rows, "gpu.Driver", "compile.Compiler") {
		if !strings.Contains(page, path) {
			t.Errorf("docs/architecture.md does not name %s", path)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	run := func(command string, arguments ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), command, arguments...)
		c.Dir, c.Env = root, append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
		if command != program {
			c.Env = os.Environ()
		}
		text, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", filepath.Base(command), arguments, err, text)
		}
		return string(text)
	}
	run("go", "build", "-ldflags", "-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./cmd/third") // without CUDA
	operator := filepath.Join(dir, "affine")
	if err := os.CopyFS(operator, os.DirFS("../../internal/test/testoperators/testdata/affine")); err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(operator, "op.yaml")
	text := read("internal/test/testoperators/testdata/affine/op.yaml", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]", "[0, 1, 4, 6]")
	if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	found := run(program, operator)
	for _, want := range []string{`{Device:third:0 About:Third X1`, `"kind":"third"`, `"name":"Third X1"`, `"mode":0`} {
		if !strings.Contains(found, want) {
			t.Errorf("the devices and the search's record have no %s:\n%s", want, found)
		}
	}
}
