package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"autotune/device/compile"
	"autotune/internal/test/endurance"
	"autotune/internal/test/testneeds"
	"autotune/tuner/devices"
)

func TestMain(m *testing.M) {
	devices.Dispatch()
	testscript.Main(m, map[string]func(){"autotune": main, "natsserver": natsServer})
}

// concurrent are the scripts of commands that do several things at once: what
// the race detector has to see. It makes each command slower by much.
var concurrent = []string{"search_emulator", "search_many", "simulate", "cache"}

// Each file of testdata/script reads like a terminal session.
func TestScripts(t *testing.T) {
	p := testscript.Params{Dir: "testdata/script"}
	if testing.Short() {
		p.Dir = ""
		for _, name := range concurrent {
			p.Files = append(p.Files, "testdata/script/"+name+".txtar")
		}
	}
	if testneeds.Again() && !testing.Short() {
		p.Files, p.Dir = scriptsWithTools(t, p.Dir), ""
	}
	linkTo := compiledTogether(t)
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/.cache")
		if err := linkTo(e.WorkDir + "/.cache"); err != nil {
			return err
		}
		e.Setenv("HOME", e.WorkDir)
		// The compiler's temporary files stay with the test's.
		e.Setenv("TMPDIR", e.WorkDir)
		e.Setenv("PATH", os.Getenv("PATH"))
		// Where python3 finds NumPy, if it is not among the system's; and how often memory is collected.
		for _, name := range []string{"PYTHONPATH", "LD_LIBRARY_PATH", "GOGC"} {
			e.Setenv(name, os.Getenv(name))
		}
		// For scripts with another PATH.
		program, err := exec.LookPath("autotune")
		e.Setenv("AUTOTUNE", program)
		if err != nil {
			return err
		}
		shipped, err := filepath.Abs("../../recordings")
		e.Setenv("RECORDINGS", shipped)
		// A PyTorch for scripts of programs that use one.
		stand, err2 := filepath.Abs("../../pack/capture/testdata")
		e.Setenv("FAKE_TORCH", stand)
		return cmp.Or(err, err2)
	}
	nvrtc := sync.OnceValue(func() bool {
		c, err := compile.NVRTC(context.Background())
		return err == nil && c.Close() == nil
	})
	p.Condition = func(name string) (bool, error) {
		if name == "full" {
			return endurance.Full(), nil
		}
		return testneeds.Condition(name, map[string]func() bool{"nvrtc": nvrtc})
	}
	p.Cmds = map[string]func(ts *testscript.TestScript, neg bool, args []string){"npy": writeNPY}
	testscript.Run(t, p)
}

// scriptsWithTools are those that ask for a tool.
func scriptsWithTools(t *testing.T, folder string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(folder + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if testneeds.InScript(string(text)) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		t.Errorf("no script in %s asks for a tool", folder)
	}
	return files
}

// writeNPY is `npy FILE TYPE SHAPE FIRST STEP`: it writes an array that counts up, of
// "<f4" or "<i4".
func writeNPY(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: npy FILE TYPE SHAPE FIRST STEP")
	}
	count, first, step := 1, 0.0, 0.0
	for _, side := range strings.Split(args[2], ",") {
		n, err := strconv.Atoi(side)
		ts.Check(err)
		count *= n
	}
	_, err := fmt.Sscan(args[3]+" "+args[4], &first, &step)
	ts.Check(err)
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }", args[1], args[2])
	head += strings.Repeat(" ", 128-10-1-len(head)) + "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	file = append(file, head...)
	for i := range count {
		x := first + step*float64(i)
		switch args[1] {
		case "<f4":
			file = binary.LittleEndian.AppendUint32(file, math.Float32bits(float32(x)))
		case "<i4":
			file = binary.LittleEndian.AppendUint32(file, uint32(int32(x)))
		default:
			ts.Fatalf("npy writes <f4 and <i4")
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), file, 0o644))
}

// The operator that docs/writing-an-operator.md shows is the one that is tested.
func TestDocumentedOperator(t *testing.T) {
	page, err := os.ReadFile("../../docs/writing-an-operator.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := txtar.ParseFile("testdata/script/own_operator.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range script.Files {
		if !bytes.Contains(page, append([]byte("\n"), file.Data...)) {
			t.Errorf("the page does not show %s as it is in the script", file.Name)
		}
	}
}
