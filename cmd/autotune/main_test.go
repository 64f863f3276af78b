package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"autotune/internal/worker"
)

func TestMain(m *testing.M) {
	worker.Dispatch(workers())
	testscript.Main(m, map[string]func(){"autotune": main, "natsserver": natsServer})
}

// concurrent are the scripts of commands that do several things at once: what
// the race detector has to see. It makes each command slower by much.
var concurrent = []string{"search_emulator", "search_many", "simulate", "cache", "recheck"}

// Each file of testdata/script reads like a terminal session.
func TestScripts(t *testing.T) {
	p := testscript.Params{Dir: "testdata/script"}
	if testing.Short() {
		p.Dir = ""
		for _, name := range concurrent {
			p.Files = append(p.Files, "testdata/script/"+name+".txtar")
		}
	}
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/.cache")
		e.Setenv("HOME", e.WorkDir)
		// The compiler's temporary files stay with the test's.
		e.Setenv("TMPDIR", e.WorkDir)
		e.Setenv("PATH", os.Getenv("PATH"))
		// For scripts with another PATH.
		program, err := exec.LookPath("autotune")
		e.Setenv("AUTOTUNE", program)
		if err != nil {
			return err
		}
		shipped, err := filepath.Abs("../../recordings")
		e.Setenv("RECORDINGS", shipped)
		return err
	}
	testscript.Run(t, p)
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
