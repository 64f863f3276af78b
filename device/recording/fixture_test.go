package recording

import (
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

var recordedAt = time.Date(2025, 11, 21, 9, 30, 0, 0, time.UTC)

func configuration(template string, blockX int64, vec expr.Value) space.Configuration {
	return space.Configuration{Template: template, Values: space.Values{
		{Name: "block_x", Value: expr.Int(blockX)}, {Name: "vec", Value: vec},
	}}
}

// oneOfEach returns a trial for each status, with awkward values among them.
func oneOfEach() []trial.Trial {
	list := []trial.Trial{
		{Configuration: configuration("direct", 32, expr.Int(1)), Outcome: trial.Outcome{
			Status:   trial.OK,
			Measured: trial.Measured{MaxAbsError: 1.5e-7, Resources: trial.Resources{Registers: 40, SharedBytes: 49152, LocalBytes: 16, Occupancy: 0.75}},
			Phases:   trial.Phases{CompileMS: 123.456, VerifyMS: 2.5, MeasureMS: 41.5}, ClockMHz: 1980,
		}},
		{Configuration: configuration("direct", 64, expr.Bool(true)), Outcome: trial.Outcome{Status: trial.OK, Warnings: []trial.Warning{{Kind: trial.ClockMoved, LowMHz: 1500, HighMHz: 1980}}, Dropped: true}},
		{Configuration: configuration("direct", 64, expr.Int(1)), Outcome: trial.Outcome{Status: trial.CompileError, Message: "direct.cu:12: expected a ;", Phases: trial.Phases{CompileMS: 80}}},
		{Configuration: configuration("direct", 128, expr.Float(0.5)), Outcome: trial.Outcome{Status: trial.LaunchError, Message: "too many resources"}},
		{Configuration: configuration("direct", 128, expr.String("a|b=c")), Outcome: trial.Outcome{Status: trial.WrongResult, Message: "4 elements differ", Measured: trial.Measured{MaxAbsError: 1e300}}},
		{Configuration: configuration("rows", 32, expr.Int(1)), Outcome: trial.Outcome{Status: trial.Timeout, Message: "10 s"}},
		{Configuration: configuration("rows", 64, expr.Int(1)), Outcome: trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}},
		{Configuration: configuration("rows", 128, expr.Int(1)), Outcome: trial.Outcome{Status: trial.Pruned, Message: "shared memory"}},
	}
	list[0].SetSamples([]float64{1.25, 1.125, 1.5}, 1)
	list[1].SetSamples([]float64{0.0123456}, 8)
	for i := range list {
		list[i].At = recordedAt.Add(time.Duration(i) * time.Second)
		list[i].KernelDigest = strings.Repeat("0123456789abcdef"[i:i+1], 64)
	}
	return list
}

func problem() *operator.Problem {
	return &operator.Problem{Operator: &operator.Operator{Name: "max_pool2d"}, Shape: []int64{1, 2, 20, 20}, Math: "fp32",
		Parameters: operator.Parameters{{Name: "kernel", Value: "4"}, {Name: "stride", Value: "1"}}}
}

func recorded(list []trial.Trial) Recording {
	return Recording{Trials: list, Metadata: Metadata{
		TimeUnit: TimeUnit, Format: Format, Tool: "autotune 0.1.0",
		Problem: operator.ProblemRecord{
			Operator: "max_pool2d", Text: problem().String(), Shape: []int64{1, 2, 20, 20},
			Parameters: operator.Parameters{{Name: "kernel", Value: "4"}, {Name: "stride", Value: "1"}}, Math: "fp32",
		},
		Device: device.Info{
			Name: "NVIDIA H100 80GB HBM3", Kind: device.CUDA, Driver: "580.65.06", Compiler: "NVRTC 13.0",
			Limits: operator.Limits{Arch: 90, SMs: 132, MaxThreadsPerBlock: 1024, WarpSize: 32},
		},
		Protocol:   device.DefaultProtocol(),
		Ceilings:   device.Ceilings{ReferenceMS: 12.5, CopyBytesPerMS: 3.03e9, Baselines: map[string]float64{"torch_eager": 10.8, "torch_compile": 11.9}},
		Valid:      8,
		RecordedAt: recordedAt,
	}}
}
