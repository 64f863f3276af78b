package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"autotune/device/compile"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/tuner/devices"
)

func TestMain(m *testing.M) {
	devices.Dispatch()
	testscript.Main(m, map[string]func(){"autotune": main, "natsserver": natsServer})
}

// concurrent lists the scripts of commands that use several goroutines. Short test runs, such as those with the race
// detector, run only the scripts that the variable concurrent lists.
var concurrent = []string{"search_emulator", "search_many", "simulate", "cache"}

// Each file of testdata/script is the transcript of a terminal session.
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
		// The compiler writes its temporary files into the test's own folder.
		e.Setenv("TMPDIR", e.WorkDir)
		e.Setenv("PATH", os.Getenv("PATH"))
		// Python needs PYTHONPATH and LD_LIBRARY_PATH to find NumPy on some systems; GOGC sets how often Go collects
		// garbage.
		for _, name := range []string{"PYTHONPATH", "LD_LIBRARY_PATH", "GOGC"} {
			e.Setenv(name, os.Getenv(name))
		}
		// Scripts that change PATH call the program as $AUTOTUNE.
		program, err := exec.LookPath("autotune")
		e.Setenv("AUTOTUNE", program)
		if err != nil {
			return err
		}
		shipped, err := filepath.Abs("../../recordings")
		e.Setenv("RECORDINGS", shipped)
		// FAKE_TORCH is a small imitation of PyTorch for scripts that run Python programs.
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
	testscript.Run(t, p)
}

// scriptsWithTools returns the test scripts that run only if a tool, such as a C++ compiler, is installed.
func scriptsWithTools(t *testing.T, folder string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(folder + "/*.txtar")
	must.OK(t, err)
	for _, file := range all {
		text := must.Read(t, file)
		if testneeds.InScript(string(text)) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		t.Errorf("no script in %s asks for a tool", folder)
	}
	return files
}

// The operator shown in docs/writing-an-operator.md must be the one that the tests run.
func TestDocumentedOperator(t *testing.T) {
	page := must.Read(t, "../../docs/writing-an-operator.md")
	script, err := txtar.ParseFile("testdata/script/own_operator.txtar")
	must.OK(t, err)
	for _, file := range script.Files {
		if !bytes.Contains(page, append([]byte("\n"), file.Data...)) {
			t.Errorf("the page does not show %s as it is in the script", file.Name)
		}
	}
}
