// Testsummary runs `go test -json` with its arguments. Testsummary prints what `go test` would print, followed by the
// tests that were skipped because a tool is missing. Testsummary also counts tests of cached packages, since the cache
// of `go test` holds what tests printed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"autotune/device/compile"
	"autotune/internal/test/testneeds"
	"autotune/internal/worker"
)

func main() {
	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
	command := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	command.Env = append(os.Environ(), testneeds.Here(map[string]func() bool{"nvrtc": hasNVRTC})...)
	command.Stderr = os.Stderr
	events, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	left := testneeds.Summary{}
	readErr := summarize(events, os.Stdout, left)
	err = command.Wait()
	left.Print(os.Stdout)
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		os.Exit(1)
	case err != nil || readErr != nil:
		fmt.Fprintln(os.Stderr, errors.Join(err, readErr))
		os.Exit(1)
	}
}

func hasNVRTC() bool {
	c, err := compile.NVRTC(context.Background())
	return err == nil && c.Close() == nil
}

// event is a line of `go test -json`; `go doc test2json` describes its fields.
type event struct {
	Action, Package, Test, Output string
}

func summarize(events io.Reader, out io.Writer, left testneeds.Summary) error {
	said := map[string]*strings.Builder{} // output by package and test, until the test ends
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%q is no event of go test: %w", line, err)
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "output":
			left.Line(key, e.Output)
			if said[key] == nil {
				said[key] = &strings.Builder{}
			}
			said[key].WriteString(e.Output)
		case "pass", "skip", "fail":
			for unfinished, text := range said { // tests that a panic or a time limit ended
				if e.Action == "fail" && e.Test == "" && unfinished != key && strings.HasPrefix(unfinished, key) {
					fmt.Fprint(out, text)
					delete(said, unfinished)
				}
			}
			if text := said[key]; text != nil {
				fmt.Fprint(out, shown(e, text.String()))
				delete(said, key)
			}
		}
	}
}

func shown(e event, text string) string {
	switch {
	case e.Action == "fail":
		return text
	case e.Test != "":
		return ""
	}
	last := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if line := last[len(last)-1]; !strings.HasSuffix(line, "[no test files]") {
		return line + "\n"
	}
	return ""
}
