package emulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"autotune/internal/worker"
	"autotune/tuner/trial"
)

// response is the line in which a program says how its job ended.
type response struct {
	trial.Outcome
	Launches int    `json:"launches"` // verified
	When     string `json:"when"`     // of a wrong result: which launches
	Wrong    *struct {
		Tensor string `json:"tensor"`
		Count  int64  `json:"count"`
		Index  int64  `json:"index"`
		Got    string `json:"got"`
		Want   string `json:"want"`
	} `json:"wrong"`
}

// The statuses that only a program's answer has.
const (
	deadlock trial.Status = "deadlock" // no thread of a block can go on
	unable   trial.Status = "unable"   // the program cannot do its job
)

// The program ends itself when a launch takes too long; these are for one that
// cannot any more, because the kernel overwrote what it needs for that.
const (
	graceTime    = 2 * time.Minute
	graceLaunchs = 4
)

// runProgram puts a variant's program into the folder, gives it a job and returns
// its response. names are the kernel's source files, for finding the guilty line
// in a sanitizer's report.
func runProgram(ctx context.Context, dir string, code []byte, j job, names []string) (response, error) {
	program := filepath.Join(dir, "program")
	if err := writeProgram(program, code); err != nil {
		return response{}, fmt.Errorf("emulator: %w", err)
	}
	result, resultEnd, err := os.Pipe()
	if err != nil {
		return response{}, fmt.Errorf("emulator: %w", err)
	}
	defer result.Close()
	limited, cancel := context.WithTimeout(ctx, graceTime+graceLaunchs*j.protocol.LaunchTimeout+2*j.protocol.MeasureTime)
	defer cancel()
	cmd := exec.CommandContext(limited, program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), sanitizerSettings...)
	cmd.Stdin = strings.NewReader(j.text())
	cmd.ExtraFiles = []*os.File{resultEnd}
	cmd.SysProcAttr = worker.ChildAttributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	output := &worker.Output{Tail: 64 << 10} // a sanitizer's report is long
	cmd.Stdout, cmd.Stderr = output, output
	err = cmd.Start()
	resultEnd.Close()
	if err != nil {
		return response{}, fmt.Errorf("emulator: the variant's program cannot be started: %w", err)
	}
	line, readErr := io.ReadAll(io.LimitReader(result, 1<<20))
	err = cmd.Wait()
	if ctx.Err() != nil {
		return response{}, ctx.Err()
	}
	if len(line) > 0 && readErr == nil {
		var a response
		if err := json.Unmarshal(line, &a); err != nil {
			return response{}, fmt.Errorf("emulator: the variant's program answered %q: %w", line, err)
		}
		return a, nil
	}
	return silent(limited, err, output.String(), names), nil
}

// writeProgram writes a file to run. While it is open for writing no other
// process may be started: it would inherit the open file, and the program could
// not be run ("text file busy").
func writeProgram(path string, code []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, code, 0o700)
}

// silent says how a program ended that did not say so itself.
func silent(limited context.Context, err error, output string, names []string) response {
	if limited.Err() != nil {
		return ended(trial.Timeout, "the variant's program did not end and was killed")
	}
	if message := sanitizerMessage(output, names); message != "" {
		return ended(trial.Crashed, message)
	}
	message := "the variant's program ended without an answer"
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		message = "the variant's program ended with " + exit.String()
	}
	if last := lastLine(output); last != "" {
		message += ": " + last
	}
	return ended(trial.Crashed, message)
}

func ended(status trial.Status, message string) response {
	return response{Outcome: trial.Outcome{Status: status, Message: message}}
}

func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
