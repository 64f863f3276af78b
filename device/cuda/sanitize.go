package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/device/trial"
	"autotune/internal/input"
	"autotune/operator"
)

// A launch takes many times as long under compute-sanitizer. A variant that timed out without compute-sanitizer gets a
// smaller extension of its time limit than a variant that ended.
const (
	watchedFactor = 30
	endlessFactor = 3
	watchedSlack  = 2 * time.Minute // to start, to fill the inputs, to end
)

// sanitized is a GPU that also runs each variant under compute-sanitizer. Each tool of compute-sanitizer runs in a
// process of its own, because its report is complete only when the process has ended.
type sanitized struct {
	*remote.Child
	program string
}

func (g *sanitized) Open(
	ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol,
) (device.Session, error) {
	s, err := g.Child.Open(ctx, p, reference, proto)
	if err != nil {
		return nil, err
	}
	return &sanitizedSession{s.(*remote.Session), g, p}, nil
}

type sanitizedSession struct {
	*remote.Session
	gpu     *sanitized
	problem *operator.Problem
}

// Evaluate evaluates a variant and then runs it under each tool of compute-sanitizer. A tool's finding replaces the
// variant's outcome.
func (s *sanitizedSession) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	o, err := s.Session.Evaluate(ctx, v, best)
	if err != nil {
		return o, err
	}
	limit := s.Protocol().LaunchTimeout
	switch o.Status {
	case trial.OK, trial.WrongResult, trial.Crashed:
		limit *= watchedFactor
	case trial.Timeout:
		limit *= endlessFactor
	default:
		return o, nil // the variant never ran
	}
	for _, tool := range sanitizerTools {
		seen, err := s.watch(ctx, tool, v, limit)
		if err != nil {
			return o, err
		}
		// If a variant already failed without compute-sanitizer, that failure says more than its failure under a tool.
		if seen.found || o.Status == trial.OK && seen.status != trial.OK {
			o.Fail(seen.status, tool.name+": "+seen.message)
			return o, nil
		}
	}
	return o, nil
}

type watched struct {
	status  trial.Status
	message string
	found   bool // the tool found something
}

// watch runs a variant under one of compute-sanitizer's tools. An error of watch means that the tool cannot work.
func (s *sanitizedSession) watch(ctx context.Context, tool sanitizerTool, v device.Variant, limit time.Duration) (watched, error) {
	dir, err := os.MkdirTemp("", "autotune-sanitizer-")
	if err != nil {
		return watched{}, fmt.Errorf("compute-sanitizer needs a folder for its report: %w", err)
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, tool.name+".log")
	program := tool.command(s.gpu.program, log)
	o, err := s.gpu.LaunchUnder(ctx, s.problem, s.Protocol(), program, v, limit, limit+watchedSlack)
	if ctx.Err() != nil {
		return watched{}, ctx.Err()
	}
	r, readErr := reportIn(ctx, log)
	switch {
	case len(r.findings) > 0:
		return watched{tool.status, r.findings[0], true}, nil
	case errors.Is(err, context.DeadlineExceeded):
		return watched{status: trial.Timeout, message: fmt.Sprintf("no end within %v", limit)}, nil
	case err == nil && o.Status != trial.OK:
		return watched{status: o.Status, message: o.Message}, nil
	case err != nil || !r.complete:
		why := cmp.Or(err, said(r), readErr, errors.New("its report has no end"))
		return watched{}, fmt.Errorf("%s gave no verdict: %w", tool.name, why)
	}
	return watched{status: trial.OK}, nil
}

// said returns an error with the first line of a sanitizer's incomplete report that does not belong to a finding.
func said(r sanitizerReport) error {
	if r.complete || r.trouble == "" {
		return nil
	}
	return errors.New(r.trouble)
}

// reportBound limits the size of a report; a tool reports at most a hundred findings.
var reportBound = input.Bound{Kind: "a report of compute-sanitizer", Bytes: 16 << 20}

func reportIn(ctx context.Context, log string) (sanitizerReport, error) {
	text, err := input.File(ctx, log, reportBound.Read)
	if err != nil {
		return sanitizerReport{}, err
	}
	return readReport(string(text)), nil
}

// sanitizerProgram is NVIDIA's program that finds memory errors and races in kernels.
const sanitizerProgram = "compute-sanitizer"

// ErrNoSanitizer means that compute-sanitizer is not installed. Errors that wrap ErrNoSanitizer say how to install
// compute-sanitizer.
var ErrNoSanitizer = errors.New("compute-sanitizer not found")

// FindSanitizer finds compute-sanitizer on the PATH or in the usual places of CUDA.
func FindSanitizer() (path string, err error) {
	if path := compile.FindTool(sanitizerProgram); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("%w: it watches kernels on a GPU, and is neither on the PATH nor in /usr/local/cuda*/bin; "+
		"install cuda-sanitizer-13-0 (NVIDIA's repository) or a CUDA toolkit, or use the emulator's sanitizers: --device emulator", ErrNoSanitizer)
}

type sanitizerTool struct {
	name    string
	status  trial.Status // of a variant in which the tool finds something
	options []string
}

// sanitizerTools lists the tools in the order in which they run, until one finds something. Invalid memory accesses and
// invalid barriers count as crashes. Races and reads of uninitialized memory count as wrong results, because a kernel
// with such a fault is right only by chance.
var sanitizerTools = []sanitizerTool{
	// Small tensors lie next to each other in GPU memory. Without padding between tensors, an access past the end of
	// one tensor would fall into the next one unnoticed.
	{"memcheck", trial.Crashed, []string{"--padding", "1048576"}},
	{"racecheck", trial.WrongResult, nil},
	{"initcheck", trial.WrongResult, nil},
	{"synccheck", trial.Crashed, nil},
}

// command returns the command line that runs a worker under the tool of compute-sanitizer. Reports of API errors are
// turned off, because the worker handles errors of the driver's calls itself.
func (t sanitizerTool) command(program, log string) []string {
	return slices.Concat([]string{program, "--tool", t.name, "--report-api-errors", "no", "--log-file", log}, t.options)
}

// Each line of a report begins with reportMark. Lines that continue a finding are indented or begin with "and".
const (
	reportMark     = "========="
	reportIndented = "    "
)

var (
	summaryForm = regexp.MustCompile(`^(?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: .*\((\d+) errors?)`)
	// placeForm matches the place of a finding: the function, the offset in it and, if it is known, the line.
	placeForm = regexp.MustCompile(`\bat (\S.*?)\+(0x[0-9a-f]+)(?: in (.+?):(\d+))?(\s+\[\d+ hazards?\])?$`)
)

type sanitizerReport struct {
	complete bool     // the report has its last line
	findings []string // each in one line
	trouble  string   // the first line of an incomplete report that is no finding
}

func readReport(text string) sanitizerReport {
	var r sanitizerReport
	errorCount := 0
	var blocks []string
	for line := range strings.Lines(text) {
		said, ours := strings.CutPrefix(strings.TrimRight(line, " \r\n"), reportMark)
		said = strings.TrimPrefix(said, " ")
		if m := summaryForm.FindStringSubmatch(said); m != nil {
			r.complete = true
			n, err := strconv.Atoi(m[1] + m[2])
			if err != nil {
				n = 1
			}
			errorCount += n
			continue
		}
		switch {
		case !ours || said == "" || said == strings.ToUpper(sanitizerProgram):
		case strings.HasPrefix(said, reportIndented) && len(blocks) > 0:
			blocks[len(blocks)-1] += "\n" + strings.TrimSpace(said)
		default:
			blocks = append(blocks, strings.TrimSpace(said))
		}
	}
	for _, block := range blocks {
		if finding := findingOf(block); finding != "" {
			r.findings = append(r.findings, finding)
		}
	}
	if len(blocks) > 0 {
		r.trouble, _, _ = strings.Cut(blocks[0], "\n")
	}
	if errorCount > 0 && len(r.findings) == 0 { // findings in a form that this program does not know
		r.findings = append(r.findings, strings.TrimSpace(fmt.Sprintf("%d errors reported; %s", errorCount, r.trouble)))
	}
	return r
}

// findingOf turns one block of the report into a line: what the kernel did, where, and in which thread. For a block
// that only warns or that is not about a kernel, findingOf returns "".
func findingOf(block string) string {
	lines := strings.Split(block, "\n")
	head := strings.TrimPrefix(lines[0], "Error: ")
	if strings.HasPrefix(head, "Warning:") || strings.HasPrefix(head, "Info:") {
		return ""
	}
	parts, placed := []string{strings.TrimSuffix(head, ".")}, placeForm.MatchString(head)
	for _, line := range lines[1:] {
		switch {
		case strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "and ") && placeForm.MatchString(line):
			placed = true
			parts = append(parts, line)
		case strings.HasPrefix(line, "by thread"):
			parts = append(parts, line)
		}
	}
	if !placed {
		return ""
	}
	for i, part := range parts {
		parts[i] = shortPlace(part)
	}
	return strings.Join(parts, " ")
}

// shortPlace names the place of a finding by its source line, or by its function if the line is unknown.
func shortPlace(line string) string {
	if m := placeForm.FindStringSubmatch(line); m != nil && m[3] != "" {
		return placeForm.ReplaceAllString(line, "at $3:$4$5")
	}
	return placeForm.ReplaceAllString(line, "at $1+$2$5")
}
