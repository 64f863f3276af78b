package cuda

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/internal/input"
	"autotune/internal/output"
	"autotune/internal/scratch"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// counterProgram is NVIDIA's, which reads the hardware's counters while kernels run.
const counterProgram = "ncu"

// ErrNoCounters means that there are no counters to be read here; the message wrapped around it
// says why.
var ErrNoCounters = errors.New("no counters")

// countersLimit is what a program may take under ncu, which runs its kernels many times.
const countersLimit = 3 * time.Minute

// Counters launches a variant once in a process of its own under ncu, and reads these metrics of
// each of its launches. Several kernels' are averaged; metrics that the GPU lacks are left out. ncu
// sees only children that a process starts through the C library, which Go does not use for that.
// So the process that launches is ncu's own child.
func Counters(ctx context.Context, d device.Device, p *operator.Problem, proto device.Protocol, v device.Variant, metrics []string) (map[string]float64, error) {
	launcher, here := d.(interface {
		LaunchUnder(context.Context, *operator.Problem, device.Protocol, []string, device.Variant, time.Duration) (trial.Outcome, error)
	})
	if !here {
		return nil, fmt.Errorf("%w: only a GPU of this machine has them; name one, as --device cuda:0", ErrNoCounters)
	}
	program := compile.FindTool(counterProgram)
	if program == "" {
		return nil, fmt.Errorf("%w: ncu is neither on the PATH nor in /usr/local/cuda*/bin; install cuda-nsight-compute-13-0 (NVIDIA's repository) or a CUDA toolkit", ErrNoCounters)
	}
	folder, err := scratch.New("counters")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	log := filepath.Join(folder.Dir, "log")
	o, err := launcher.LaunchUnder(ctx, p, proto, counterCommand(program, log, v.Kernel.Launches, metrics), v, countersLimit)
	if err == nil && o.Status != trial.OK {
		err = fmt.Errorf("the winner ended as %s: %s", o.Status, o.Reason())
	}
	text, readErr := input.File(ctx, log, counterBound.Read)
	if found := readCounters(string(text), metrics); len(found) > 0 {
		return found, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoCounters, output.Line(complaint(string(text), cmp.Or(err, readErr))))
}

// counterBound bounds what ncu writes.
var counterBound = input.Bound{Kind: "a report of ncu", Bytes: 16 << 20}

// counterCommand is the command line that the process is started under. All that ncu says goes to a file, since the
// process answers on standard output. Clocks are as in the times beside the counters.
func counterCommand(program, log string, launches operator.Launches, metrics []string) []string {
	var names []string
	for _, l := range launches {
		name, _, _ := strings.Cut(l.Entry, "<") // of a name expression ncu knows the function
		if name = regexp.QuoteMeta(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return []string{program, "--csv", "--log-file", log, "--clock-control", "none", "--kernel-name", "regex:^(" + strings.Join(names, "|") + ")$",
		"--launch-count", strconv.Itoa(len(launches)), "--metrics", strings.Join(metrics, ",")}
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
		return "under ncu: " + err.Error()
	}
	said := "nothing"
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			said = line
		}
	}
	return "ncu saw none of the kernels; its last line: " + said
}

// readCounters reads the table that ncu writes among other words.
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
