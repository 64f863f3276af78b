package cuda

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/internal/output"
	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/operator"
)

// counterProgram is NVIDIA's, which reads the hardware's counters while kernels run.
const counterProgram = "ncu"

// ErrNoCounters means that there are no counters to be read here; the message wrapped around it
// says why.
var ErrNoCounters = errors.New("no counters")

// countersLimit is what a program may take under ncu, which runs its kernels many times.
const countersLimit = 3 * time.Minute

// Counters runs a command that launches kernels, and reads these metrics of the first launch of
// each. Several kernels' are averaged; metrics that the GPU lacks are left out.
func Counters(ctx context.Context, command []string, launches operator.Launches, metrics []string) (map[string]float64, error) {
	program := compile.FindTool(counterProgram)
	if program == "" {
		return nil, fmt.Errorf("%w: ncu is neither on the PATH nor in /usr/local/cuda*/bin; install cuda-nsight-compute-13-0 (NVIDIA's repository) or a CUDA toolkit", ErrNoCounters)
	}
	var names []string
	for _, l := range launches {
		name, _, _ := strings.Cut(l.Entry, "<") // of a name expression ncu knows the function
		if name = regexp.QuoteMeta(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, countersLimit)
	defer cancel()
	flags := []string{"--csv", "--target-processes", "all", "--kernel-name", "regex:^(" + strings.Join(names, "|") + ")$",
		"--launch-count", strconv.Itoa(len(launches)), "--metrics", strings.Join(metrics, ",")}
	run := exec.CommandContext(ctx, program, append(flags, command...)...)
	said := &worker.Output{}
	run.Stderr = said
	run.WaitDelay = time.Second
	out, err := run.Output()
	found := readCounters(string(out), metrics)
	if len(found) > 0 {
		return found, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoCounters, output.Line(complaint(string(out)+"\n"+said.String(), err)))
}

// complaint is what ncu says is wrong.
func complaint(text string, err error) string {
	if strings.Contains(text, "ERR_NVGPUCTRPERM") {
		return "ncu may not read them here (ERR_NVGPUCTRPERM); https://developer.nvidia.com/ERR_NVGPUCTRPERM says how that is allowed"
	}
	for line := range strings.Lines(text) {
		if fault, is := strings.CutPrefix(strings.TrimSpace(line), "==ERROR== "); is {
			return "ncu: " + fault
		}
	}
	if err != nil {
		return "ncu: " + err.Error()
	}
	said := "nothing" // ncu hides how the command ended
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			said = line
		}
	}
	return "ncu saw none of the kernels; the last that was said: " + said
}

// readCounters reads the table that ncu prints among the words of the command.
func readCounters(text string, metrics []string) map[string]float64 {
	sum, count := map[string]float64{}, map[string]float64{}
	name, value := -1, -1
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, `"`) {
			continue
		}
		row, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil {
			continue
		}
		if at := slices.Index(row, "Metric Name"); at >= 0 {
			name, value = at, slices.Index(row, "Metric Value")
			continue
		}
		if name < 0 || value < 0 || len(row) <= max(name, value) || !slices.Contains(metrics, row[name]) {
			continue
		}
		if x, err := strconv.ParseFloat(strings.ReplaceAll(row[value], ",", ""), 64); err == nil {
			sum[row[name]] += x
			count[row[name]]++
		}
	}
	for metric, n := range count {
		sum[metric] /= n
	}
	return sum
}
