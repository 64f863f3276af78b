package testneeds

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// recorder is a test double that records the messages of a test.
type recorder struct {
	testing.TB
	said, failed string
	skipped      bool
}

func (r *recorder) Helper()                         {}
func (r *recorder) Log(args ...any)                 { r.said = fmt.Sprint(args...) }
func (r *recorder) Logf(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }
func (r *recorder) SkipNow()                        { r.skipped = true }
func (r *recorder) Fatal(args ...any)               { r.failed = fmt.Sprint(args...); runtime.Goexit() }

// run calls f in a goroutine of its own, because Fatal ends the goroutine that calls it.
func (r *recorder) run(f func(testing.TB)) {
	ended := make(chan bool)
	go func() { defer close(ended); f(r) }()
	<-ended
}

func TestNeed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var r recorder
	missing := &Tool{Name: "bash", here: program("bash")}
	if missing.Need(&r); !r.skipped || r.said != "left out without bash" {
		t.Errorf("without it: skipped %v, %q", r.skipped, r.said)
	}
	there := &Tool{Name: "Go", here: func() bool { return true }}
	r = recorder{}
	if there.Need(&r); r.skipped || r.said != "" || !there.Here(&r) {
		t.Errorf("with it: skipped %v, %q", r.skipped, r.said)
	}
	t.Setenv("CXX", "my-compiler -O2")
	if compiler() {
		t.Error("found a compiler that is not there")
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "my-compiler"), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !compiler() || !program("my-compiler")() || program("my-compiler", "-c")() {
		t.Error("a program that is there and fails: found, but not where it has to succeed")
	}
}

func TestOpened(t *testing.T) {
	missing := errors.New("no library")
	for _, c := range []struct {
		err          error
		said, failed string
	}{
		{nil, "", ""},
		{fmt.Errorf("here: %w", missing), "left out without NVRTC: here: no library", ""},
		{errors.New("broken"), "", "broken"},
	} {
		var r recorder
		r.run(func(t testing.TB) { NVRTC.Opened(t, c.err, missing) })
		if r.said != c.said || r.skipped != (c.said != "") || r.failed != c.failed {
			t.Errorf("%v: %+v", c.err, r)
		}
	}
}

// TestCondition uses a tool that is not in the list of tools, so that the summary does not count it as missing.
func TestCondition(t *testing.T) {
	conditions["tea"] = &Tool{Name: "tea"}
	defer delete(conditions, "tea")
	for _, here := range []bool{true, false} {
		got, err := Condition("tea", map[string]func() bool{"tea": func() bool { return here }})
		if err != nil || got != here {
			t.Errorf("%v: %v, %v", here, got, err)
		}
	}
	for _, name := range []string{"nvrtc", "perl"} {
		if _, err := Condition(name, nil); err == nil {
			t.Errorf("%s: nobody looks for it, and there is no error", name)
		}
	}
}

// The cached results of `go test` depend on each tool that a test asks for.
func TestHere(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	without := Here(map[string]func() bool{"nvrtc": no, "torch": no})
	with := Here(map[string]func() bool{"nvrtc": yes, "torch": no})
	if !slices.Contains(with, "AUTOTUNE_TEST_NVRTC=true") || !slices.Contains(with, "AUTOTUNE_TEST_PYTORCH=false") {
		t.Errorf("%q", with)
	}
	others := func(variable string) bool { return strings.HasPrefix(variable, NVRTC.variable()) }
	if slices.Equal(with, without) || !slices.Equal(slices.DeleteFunc(with, others), slices.DeleteFunc(without, others)) {
		t.Errorf("%q with NVRTC, %q without", with, without)
	}
	variables := map[string]bool{}
	for _, tool := range tools {
		variables[tool.variable()] = true
	}
	if len(variables) != len(tools) {
		t.Errorf("%d tools have %d variables", len(tools), len(variables))
	}
}

// The summary counts a test once for each tool, however often the test reports the tool as missing.
func TestSummary(t *testing.T) {
	s := Summary{}
	for _, line := range []string{
		"=== RUN TestA", "    a_test.go:3: left out without NVRTC: not found", "    a_test.go:4: left out without NVRTC",
	} {
		s.Line("p TestA", line)
	}
	s.Line("p TestB", "    b_test.go:3: left out without NVRTC")
	s.Line("q TestScripts", NumPy.leftOut())
	var b strings.Builder
	s.Print(&b)
	want := "left out without NumPy: 1 test; to run: " + NumPy.Get + "\n" +
		"left out without NVRTC: 2 tests; to run: " + NVRTC.Get + "\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// When all tests run again because tools were installed, only tests that ask for a tool run.
func TestAgain(t *testing.T) {
	for _, again := range []string{"", "1"} {
		t.Setenv("AUTOTUNE_TEST_AGAIN", again)
		skipped := false
		t.Run("long", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			Nothing(t)
		})
		if skipped != (again != "") {
			t.Errorf("with AUTOTUNE_TEST_AGAIN=%q a test that asks for nothing is skipped: %v", again, skipped)
		}
	}
	for text, asks := range map[string]bool{"exec autotune ops\n": false, "[!cxx] skip\n": false, "[!python] stop\n": true, "[nvrtc] stdout ok\n": true} {
		if InScript(text) != asks {
			t.Errorf("%q asks for a tool: %v", text, !asks)
		}
	}
}
