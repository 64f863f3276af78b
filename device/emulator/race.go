package emulator

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/internal/worker"
	"autotune/operator"
)

// Data races are looked for by a separate program whose memory accesses are instrumented (runtime/race_clocks.h). A
// program with instrumented accesses is ten to thirty times slower, so no trial is timed with it.

// raceFlags make the compiler insert a call at each memory access, with different calls for volatile accesses. The
// sanitizer's library is not linked, because the runtime defines the functions that instrumented kernels call.
var raceFlags = []string{
	"-gdwarf-4", "-fsanitize=thread", "-U__SANITIZE_THREAD__", "--param=tsan-distinguish-volatile=1",
	"--param=tsan-instrument-func-entry-exit=0",
}

// initialisers returns the number of constructors that the compiler itself adds to a kernel's file: one in programs
// that look for races. The constructor added by the compiler calls a function that the runtime defines with an empty
// body.
func (c *hostCompiler) initialisers() uint64 {
	if c.options.races {
		return 1
	}
	return 0
}

// watching is the compiler of programs that look for races, opened when the first such program is needed.
type watching struct {
	mu       sync.Mutex
	compiler compile.Compiler // nil until it is needed
}

func (w *watching) get(o Options) (compile.Compiler, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.compiler == nil {
		o.Sanitize, o.races = false, true
		host, err := newHostCompiler(o)
		if err != nil {
			return nil, err
		}
		w.compiler = host.cached()
	}
	return w.compiler, nil
}

func (w *watching) close() error {
	if w.compiler == nil {
		return nil
	}
	return w.compiler.Close()
}

// raceLaunches is the number of launches that are examined for races: one with the threads in their usual order, and
// one with another order.
const raceLaunches = 2

// raceSlowdown is the factor by which the time limit of a launch is raised for programs that look for races.
const raceSlowdown = 10

func (s *session) Races(ctx context.Context, v device.Variant) (o trial.Outcome, looked string, err error) {
	o.Status = trial.OK
	unlooked := func(why string) (trial.Outcome, string, error) { return o, "races: not looked for, " + why, nil }
	compiler, err := s.device.watching.get(s.device.options)
	if err != nil {
		return o, "", err
	}
	binary, err := compiler.Compile(ctx, compile.Request{Kernel: v.Kernel, Arch: s.device.Arch(), Timeout: 2 * s.proto.CompileTimeout})
	var refused *compile.Error
	if errors.As(err, &refused) {
		return unlooked("the kernel does not compile with -fsanitize=thread: " + refused.Message)
	}
	if err != nil {
		return o, "", err
	}
	j, err := s.job(v.Kernel.Launches)
	if err != nil {
		return o, "", err
	}
	j.workers, j.protocol.Samples = 1, 0
	if !s.device.options.Sanitize { // else the limit is already raised
		j.protocol.LaunchTimeout *= raceSlowdown
	}
	j.check = device.Check{Launches: raceLaunches}
	unable, err := j.ready(v.Kernel, binary, s.problem.Limits)
	if err != nil {
		return o, "", err
	}
	dir, err := temporary(s.dir, "races-")
	if err != nil {
		return o, "", err
	}
	defer os.RemoveAll(dir)
	j.placeInputs("../")
	names, a := sourceNames(v.Kernel), response{Outcome: unable}
	if unable.Status == "" {
		a, err = runProgram(ctx, dir, binary.Code, j, names)
	}
	switch {
	case err != nil:
		return o, "", err
	case a.Race != nil: // what the launches made is judged elsewhere
		place := func(pc uint64) string { return placeOf(ctx, filepath.Join(dir, "program"), pc, names) }
		o.Fail(trial.WrongResult, a.Race.text(v.Kernel, binary.Code, s.tensor, place))
		return o, "", nil
	case a.Status != trial.OK:
		return unlooked(fmt.Sprintf("the watched program ended as %s: %s", gpuStatus(a.Status), a.Message))
	}
	return o, a.Looked.text(a.Launches), nil
}

type looked struct {
	FirstBlocks  int64 `json:"first_blocks"` // blocks examined of the launch that was too long to be examined whole
	Of           int64 `json:"of"`           // number of blocks of that launch; 0 if all launches were examined whole
	BytesLeftOut int64 `json:"bytes_left_out"`
}

func (l looked) text(launches int) string {
	text := "no data race in " + output.Count(launches, "launch") +
		" (looked for: threads of a block between barriers, blocks of a launch; not looked for: launches that overlap, fences of the async proxy, PTX"
	if l.Of > 0 {
		text += fmt.Sprintf("; looked at the first %d of %d blocks", l.FirstBlocks, l.Of)
	}
	if l.BytesLeftOut > 0 {
		text += fmt.Sprintf("; left out the last %d MiB of the outputs", max(1, l.BytesLeftOut>>20))
	}
	return text + ")"
}

type race struct {
	Kernel  string   `json:"kernel"` // the kernel, if there are several
	Space   string   `json:"space"`  // tensor, variable, static, shared
	Tensor  string   `json:"tensor"`
	Address uint64   `json:"address"` // offset in the tensor or in the block's variables, or an absolute address
	Bytes   int      `json:"bytes"`
	By      raceSide `json:"by"`
	With    raceSide `json:"with"` // the earlier access
}

type raceSide struct {
	Writes bool      `json:"writes"`
	Atomic bool      `json:"atomic"`
	PC     uint64    `json:"pc"`
	Block  [3]uint32 `json:"block"`
	Thread [3]uint32 `json:"thread"`
}

func (r *race) text(k operator.Kernel, code []byte, tensor func(string) operator.Argument, placeOf func(pc uint64) string) string {
	what, memory := r.memory(code, tensor)
	did := map[bool]string{true: "wrote", false: "read"}[r.With.Writes]
	does := map[bool]string{true: "writes", false: "reads"}[r.By.Writes]
	for _, side := range []struct {
		word   *string
		atomic bool
	}{{&did, r.With.Atomic}, {&does, r.By.Atomic}} {
		if side.atomic {
			*side.word += " by an atomic or volatile access"
		}
	}
	barrier, remedy := "barrier", "use an atomic or __syncthreads()"
	who := fmt.Sprintf("thread %s of block %s", index(r.With.Thread), index(r.With.Block))
	if r.By.Block != r.With.Block {
		barrier, remedy = "order", "use an atomic, or two launches"
	}
	at := cmp.Or(placeOf(r.By.PC), k.File)
	text := fmt.Sprintf("race: %s: thread %s of block %s %s %s (%s, %s) which %s %s", at, index(r.By.Thread), index(r.By.Block), does, what, memory,
		output.Count(r.Bytes, "byte"), who, did)
	if place := placeOf(r.With.PC); place != "" {
		text += " at " + place
	}
	text += fmt.Sprintf(" with no %s between them; %s", barrier, remedy)
	if r.Kernel != "" {
		text = r.Kernel + ": " + text
	}
	return text
}

func index(i [3]uint32) string {
	if i[1] == 0 && i[2] == 0 {
		return fmt.Sprint(i[0])
	}
	return fmt.Sprintf("(%d,%d,%d)", i[0], i[1], i[2])
}

// memory names the memory that a race is about, and its kind.
func (r *race) memory(code []byte, tensor func(string) operator.Argument) (what, kind string) {
	switch r.Space {
	case "tensor":
		what = r.Tensor
		if t := tensor(r.Tensor); t.Elements > 0 {
			what += fmt.Sprint(t.Coordinates(int64(r.Address) / t.Type.Bytes()))
		}
		return what, "global memory"
	case "variable":
		return cmp.Or(variableAt(code, elf.STT_OBJECT, r.Address), "a variable"), "global memory"
	case "static":
		return cmp.Or(variableAt(code, elf.STT_TLS, r.Address), "a variable"), "shared memory"
	}
	return "the block's memory", "dynamic shared memory"
}

var localName = regexp.MustCompile(`^_ZZ.*E(\d+)(\w+?)(?:_\d+)?$`)

// variableAt returns the name of the variable at an address, or "" if there is none.
func variableAt(code []byte, kind elf.SymType, address uint64) string {
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return ""
	}
	all, _ := file.Symbols()
	for _, s := range all {
		if elf.ST_TYPE(s.Info) != kind || address-s.Value >= s.Size {
			continue
		}
		name := plainName(strings.TrimPrefix(s.Name, ownName))
		if m := localName.FindStringSubmatch(name); m != nil {
			if n, _ := strconv.Atoi(m[1]); n == len(m[2]) {
				name = m[2]
			}
		}
		return name
	}
	return ""
}

// placeOf returns the line in the kernel's own files that made the call before the address pc, and the line that called
// the surrounding function if the compiler inlined it; placeOf returns "" if no line is known. The tool addr2line is
// installed together with the linker.
func placeOf(ctx context.Context, program string, pc uint64, names []string) string {
	command := exec.CommandContext(ctx, "addr2line", "-i", "-e", program, fmt.Sprintf("%#x", pc-1))
	command.Env = worker.Environment("PATH", "LD_LIBRARY_PATH")
	worker.OwnGroup(command)
	found, _ := command.Output() // without addr2line the message names only the file
	inner, kernel := "", ""
	for line := range strings.Lines(string(found)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		number, _, _ := strings.Cut(rest, " ")
		name := kernelFile(path, names)
		if name == "" {
			continue
		}
		place := name + ":" + number
		inner = cmp.Or(inner, place)
		if name == names[0] {
			kernel = cmp.Or(kernel, place)
		}
	}
	if kernel != "" && kernel != inner {
		return inner + " (called at " + kernel + ")"
	}
	return inner
}
