// Package testneeds lets a test require a tool that a machine may lack. A test without its tool is skipped with a
// message that `make test` counts at its end.
package testneeds

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Tool is a program or library outside this project.
type Tool struct {
	Name string
	Get  string // how to have it
	here func() bool
}

var (
	CXX       = &Tool{"a C++ compiler", "apt install g++, or set CXX", sync.OnceValue(compiler)}
	CMake     = &Tool{"CMake", "apt install cmake", program("cmake", "--version")}
	Python    = &Tool{"python3", "apt install python3", program("python3", "-c", "pass")}
	NumPy     = &Tool{"NumPy", "apt install python3-numpy, or pip install numpy", program("python3", "-c", "import numpy")}
	Torch     = &Tool{"PyTorch", "pip install torch", program("python3", "-c", "import torch")}
	NVRTC     = &Tool{"NVRTC", "apt install libnvrtc11.2 libnvrtc-builtins11.8 (Debian, non-free), or pip install nvidia-cuda-nvrtc", nil}
	Headers   = &Tool{"CUDA's headers", "apt install cuda-cudart-dev-13-0 (NVIDIA's repository), nvidia-cuda-dev (Debian, non-free), or pip install nvidia-cuda-runtime", nil}
	CUB       = &Tool{"CUB", "apt install cuda-cccl-13-0 (NVIDIA's repository), or pip install nvidia-cuda-cccl", nil}
	Sanitizer = &Tool{"compute-sanitizer", "apt install cuda-sanitizer-13-0 (NVIDIA's repository)", nil}
)

var tools = []*Tool{CXX, CMake, Python, NumPy, Torch, NVRTC, Headers, CUB, Sanitizer}

// compiler looks for a C++ compiler in the same way as the emulator.
func compiler() bool {
	names := []string{"g++", "c++"}
	if own := strings.Fields(os.Getenv("CXX")); len(own) > 0 {
		names = own[:1]
	}
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// program returns a function that tells whether a program is installed and, given arguments, whether it succeeds.
func program(name string, arguments ...string) func() bool {
	return sync.OnceValue(func() bool {
		_, err := exec.LookPath(name)
		return err == nil && (arguments == nil || exec.Command(name, arguments...).Run() == nil)
	})
}

func (tool *Tool) Need(t testing.TB) {
	t.Helper()
	if !tool.Here(t) {
		t.SkipNow()
	}
}

// Here tells whether the tool is installed; tests that can go on without the tool call Here in place of Need.
func (tool *Tool) Here(t testing.TB) bool {
	t.Helper()
	tool.asked()
	here := tool.here()
	if !here {
		t.Log(tool.leftOut())
	}
	return here
}

// Opened interprets the error err of code that looks for the tool itself. Opened skips the test if err wraps the error
// missing, and fails the test for any other error.
func (tool *Tool) Opened(t testing.TB, err, missing error) {
	t.Helper()
	if !tool.Found(t, err, missing) {
		t.SkipNow()
	}
}

// Found interprets the error err of code that looks for the tool itself. Found returns true if err is nil, returns
// false if err wraps the error missing, and fails the test for any other error.
func (tool *Tool) Found(t testing.TB, err, missing error) bool {
	t.Helper()
	tool.asked()
	if err == nil {
		return true
	} else if !errors.Is(err, missing) {
		t.Fatal(err)
	}
	t.Logf("%s: %v", tool.leftOut(), err)
	return false
}

const leftOut = "left out without "

func (tool *Tool) leftOut() string { return leftOut + tool.Name }

// asked reads the environment variable that says whether the tool is installed. `go test` records the variables that a
// test reads, so it runs the test again, despite a cached result, after the tool was installed or removed.
func (tool *Tool) asked() { _ = os.Getenv(tool.variable()) }

// Again tells whether all tests have passed with fewer tools and now run again, which `.ci/run` says by an environment
// variable.
func Again() bool { return os.Getenv("AUTOTUNE_TEST_AGAIN") != "" }

// A long test that needs no tool calls Nothing, which skips the test when all tests are run again with more tools.
func Nothing(t testing.TB) {
	t.Helper()
	if Again() {
		t.Skip("it asks for no tool, and has passed")
	}
}

// variable returns the environment variable that tells tests whether the tool is installed.
func (tool *Tool) variable() string {
	return "AUTOTUNE_TEST_" + notInVariable.ReplaceAllString(strings.ToUpper(tool.Name), "_")
}

var notInVariable = regexp.MustCompile(`[^A-Z0-9]+`)

var conditions = map[string]*Tool{"cxx": CXX, "python": Python, "numpy": NumPy, "torch": Torch, "nvrtc": NVRTC}

// look returns the tool that a test script's condition names, and the function that finds the tool. For tools that the
// code under test looks for itself, the caller provides the functions that find them.
func look(name string, found map[string]func() bool) (tool *Tool, here func() bool) {
	tool = conditions[name]
	if here = found[name]; here == nil && tool != nil {
		here = tool.here
	}
	return tool, here
}

// Here returns the environment variables that tell tests which tools are installed.
func Here(found map[string]func() bool) []string {
	byTool := map[*Tool]func() bool{}
	for name := range found {
		byTool[conditions[name]] = found[name]
	}
	var variables []string
	for _, tool := range tools {
		here := tool.here
		if byTool[tool] != nil {
			here = byTool[tool]
		}
		if here != nil {
			variables = append(variables, fmt.Sprintf("%s=%v", tool.variable(), here()))
		}
	}
	return variables
}

// InScript tells whether a script has a condition that asks for a tool other than a C++ compiler.
func InScript(text string) bool {
	for name := range conditions {
		if name != "cxx" && (strings.Contains(text, "["+name+"]") || strings.Contains(text, "[!"+name+"]")) {
			return true
		}
	}
	return false
}

func Condition(name string, found map[string]func() bool) (bool, error) {
	tool, here := look(name, found)
	if tool == nil || here == nil {
		return false, fmt.Errorf("there is no condition %s", name)
	}
	tool.asked()
	if !here() {
		fmt.Println(tool.leftOut()) // the condition does not know which script asks
		return false, nil
	}
	return true, nil
}
