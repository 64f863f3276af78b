package emulator

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"autotune/device"
	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/worker"
	"autotune/operator"
)

// response is the line of JSON in which a program says how its job ended.
type response struct {
	trial.Outcome
	Launches int    `json:"launches"` // number of verified launches
	When     string `json:"when"`     // in which launch the output was wrong or differed from the first launch's
	Saves    int    `json:"saves"`    // launches saved in each output file: the first, and one that differs from it
	Changes  uint32 `json:"changes"`  // seed of the changes to the inputs
	Gaps     []gaps `json:"gaps"`
	Race     *race  `json:"race"`   // the first race that was found
	Looked   looked `json:"looked"` // what was examined for races
}

// gaps describes the elements of an output that hold no number after the first launch.
type gaps struct {
	Tensor    string `json:"tensor"`
	Unwritten int64  `json:"unwritten"`
	First     int64  `json:"first"` // index of the first unwritten element
	NaN       int64  `json:"nan"`   // number of NaNs, unwritten elements included
}

// The following statuses occur only in the response of a variant's program.
const (
	deadlock trial.Status = "deadlock" // no thread of a block can go on
	unable   trial.Status = "unable"   // the program cannot do its job
)

// A program itself ends a launch that takes too long, and reports when a launch begins and ends. launchGrace and
// restLimit limit the wait for a program that cannot end or report a launch, because the kernel stopped the program
// or overwrote its memory.
const (
	launchGrace = time.Second     // beyond a launch's time
	restLimit   = 2 * time.Minute // between launches: tensors are filled and compared
)

const maxAnswer = 64 << 10

// runProgram writes a variant's program into the folder, gives it a job and returns its response. No process that the
// program started outlives the program. names are the kernel's source files, in which a sanitizer's report is located.
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
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	words, err := j.walls.around(dir, code, j)
	if err != nil {
		return response{}, fmt.Errorf("emulator: %w", err)
	}
	cmd := exec.CommandContext(limited, words[0], words[1:]...)
	cmd.Dir = dir
	// The output of a kernel is shown to the person who searches, so the program must not see the user's environment.
	cmd.Env = append(worker.Environment("LD_LIBRARY_PATH"), sanitizerSettings...)
	cmd.Stdin = strings.NewReader(j.text())
	cmd.ExtraFiles = []*os.File{resultEnd}
	output := &worker.Output{Tail: 64 << 10} // a sanitizer's report is long
	cmd.Stdout, cmd.Stderr = output, output
	worker.OwnGroup(cmd)
	err = cmd.Start()
	resultEnd.Close()
	if err != nil {
		return response{}, fmt.Errorf("emulator: the variant's program cannot be started: %w", err)
	}
	said := listen(result, j.protocol.LaunchTimeout+launchGrace, cancel)
	err = cmd.Wait()
	left := worker.EndGroup(cmd)
	// A child that left the program's process group may still hold the pipe open.
	_ = result.SetReadDeadline(time.Now().Add(launchGrace))
	a := <-said
	switch {
	case ctx.Err() != nil:
		return response{}, ctx.Err()
	case a.late:
		return ended(trial.Timeout, "the variant's program did not end and was killed"), nil
	case a.garbled:
		return ended(trial.Crashed, "the kernel wrote into the emulator's own pipe"), nil
	case left && a.response != nil && a.response.Status == trial.OK:
		return ended(trial.Crashed, "the kernel started a process and left it running"), nil
	case a.response == nil || err != nil: // the program failed without an answer of its own
		return silent(err, output.String(), names), nil
	}
	if a.response.Status == unable {
		return response{}, fmt.Errorf("emulator: %s", a.response.Message)
	}
	return *a.response, nil
}

type answer struct {
	response *response // nil if there was none
	garbled  bool      // something else was written to the pipe, too
	late     bool      // the program was silent for too long and was killed
}

// listen reads what a program writes until the program ends, and kills a program whose launch does not return in time.
func listen(from io.Reader, launchLimit time.Duration, kill func()) <-chan answer {
	said := make(chan answer, 1)
	go func() {
		var a answer
		var late atomic.Bool
		watch := time.AfterFunc(restLimit, func() { late.Store(true); kill() })
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, maxAnswer)
		for lines.Scan() {
			switch line := lines.Text(); line {
			case "launch":
				watch.Reset(launchLimit)
			case "rest":
				watch.Reset(restLimit)
			default:
				a.garbled = a.garbled || a.response != nil || !a.read(line)
			}
		}
		a.garbled = a.garbled || errors.Is(lines.Err(), bufio.ErrTooLong)
		// The remaining output of the program is read and dropped, so that the program does not block on a full pipe.
		_, _ = io.Copy(io.Discard, from)
		watch.Stop()
		a.late = late.Load()
		said <- a
	}()
	return said
}

// read stores a line of the program's output as its response, if the line is a response.
func (a *answer) read(line string) bool {
	var r response
	if json.Unmarshal([]byte(line), &r) != nil || !slices.Contains(append(trial.Statuses, deadlock, unable), r.Status) {
		return false
	}
	// A line that looks like a response may have been written by the kernel itself, or from data that the kernel has
	// changed.
	r.Message = worker.Shown(r.Message)
	a.response = &r
	return true
}

// writeProgram writes an executable as a new file, since the old program's file may be in use for a moment after its
// last process has ended. While the new file is open for writing, no other process may be started: that process would
// inherit the open file, and the program could not be run ("text file busy").
func writeProgram(path string, code []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, code, 0o700)
}

func silent(err error, output string, names []string) response {
	if message := sanitizerMessage(output, names); message != "" {
		return ended(trial.Crashed, worker.Shown(message))
	}
	message := "the variant's program ended without an answer"
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGSYS {
			return ended(trial.Crashed, "the kernel called the operating system, which none can on a GPU")
		}
		message = "the variant's program ended with " + exit.String()
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := worker.Shown(lines[len(lines)-1]); last != "" {
		message += ": " + last
	}
	return ended(trial.Crashed, message)
}

func ended(status trial.Status, message string) response {
	return response{Outcome: trial.Outcome{Status: status, Message: message}}
}

// job is the task of a variant's program, which runtime/job.h reads.
type job struct {
	walls       *walls
	launches    operator.Launches
	protocol    device.Protocol
	workers     int
	patience    int // multiple of LaunchTimeout for a launch whose blocks keep ending; 0 means one
	dropAboveMS float64
	check       device.Check
	first       int    // launches that earlier programs verified
	gaps        bool   // report what the first launch left unwritten
	change      bool   // launch once more, after a few elements of the inputs changed
	changes     uint32 // seed of the changes to the inputs; 0 if they did not change
	arguments   []jobArgument
}

// jobArgument is a scalar or a tensor. A tensor's contents are generated at random according to its fill, or are read
// from the file that `input` names in the program's folder. The variant's program writes a tensor's final contents to
// the file that output names, unless output is "".
type jobArgument struct {
	operator.Argument
	symbol        uint64 // address of the variable that the tensor is copied to; 0 if there is none
	fill          elements.Fill
	input, output string
}

func (j *job) placeInputs(up string) {
	for i, a := range j.arguments {
		if a.input != "" {
			j.arguments[i].input = up + a.input
		}
	}
}

func (j job) text() string {
	var b strings.Builder
	line := func(word string, values ...any) {
		b.WriteString(word)
		for _, v := range values {
			fmt.Fprintf(&b, " %v", v)
		}
		b.WriteString("\n")
	}
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	p, all := j.protocol, lists.Of(j.arguments, func(a jobArgument) operator.Argument { return a.Argument })
	for _, l := range j.launches {
		g, t, c := l.Grid, l.Block, l.Cluster
		if !l.Clustered() {
			c = [3]int64{1, 1, 1}
		}
		line("launch", slices.Index(j.launches.Entries(), l.Entry), g[0], g[1], g[2], t[0], t[1], t[2], l.SharedBytes, c[0], c[1], c[2], number(l.Cooperative), number(l.Dependent), cmp.Or(l.Entry, "kernel"))
		for at, argument := range operator.Passed(all, l) {
			values := []any{argument}
			if m := l.MapAt(at); m != nil {
				for _, word := range m.Words {
					values = append(values, word)
				}
			}
			line("pass", values...)
		}
	}
	line("workers", j.workers)
	line("launch_timeout_ms", p.LaunchTimeout.Milliseconds())
	line("patience", max(1, j.patience))
	line("warm_up", p.WarmUp)
	line("samples", p.Samples)
	line("measure_ms", trial.MS(p.MeasureTime))
	line("drop_above_ms", j.dropAboveMS)
	line("checks", max(j.check.Launches, 1), j.check.Limit.Milliseconds())
	line("first", j.first)
	line("gaps", number(j.gaps))
	line("change", number(j.change))
	line("changes", j.changes)
	for _, a := range j.arguments {
		if a.Role == operator.Scalar {
			line("scalar", a.Name, a.Bits(), a.Type, a.Type.CUDA())
			continue
		}
		line("tensor", a.Name, a.Role, elements.TypeNumber(a.Type), a.Elements, a.fill.Seed, a.fill.Distribution, a.fill.A, a.fill.B,
			cmp.Or(a.input, "-"), cmp.Or(a.output, "-"), a.Type, a.Type.CUDA())
		if a.symbol != 0 {
			line("symbol", a.symbol)
		}
	}
	return b.String()
}
