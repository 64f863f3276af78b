package replay

import (
	"math"
	"strconv"
	"time"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

var recordedAt = time.Date(2025, 11, 21, 9, 30, 0, 0, time.UTC)

// evaluated is a variant with what the device said of it.
type evaluated struct {
	variant device.Variant
	outcome trial.Outcome
}

// trial is what a search keeps of it.
func (e evaluated) trial(at time.Time) trial.Trial {
	return trial.Trial{Configuration: e.variant.Configuration, KernelDigest: e.variant.Kernel.Digest(), Outcome: e.outcome, At: at}
}

// sampled is an outcome with these samples.
func sampled(o trial.Outcome, samples []float64, batch int) trial.Outcome {
	o.SetSamples(samples, batch)
	return o
}

func sixDigits(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		panic(err)
	}
	return rounded
}

func configuration(template string, blockX int64, vec expr.Value) space.Configuration {
	return space.Configuration{Template: template, Values: space.Values{
		{Name: "block_x", Value: expr.Int(blockX)}, {Name: "vec", Value: vec},
	}}
}

func variant(c space.Configuration, source string) device.Variant {
	kernel := operator.Kernel{
		Operator: "max_pool2d", Template: c.Template, Launches: operator.Launches{{Entry: "max_pool2d_" + c.Template}}, Source: source,
		Macros: []operator.Macro{{Name: "BLOCK_X", Value: c.Values[0].Value.String()}, {Name: "VEC", Value: c.Values[1].Value.String()}},
	}
	return device.Variant{Configuration: c, Kernel: kernel}
}

// oneOfEach has an outcome for each status, with awkward values among them.
func oneOfEach() []evaluated {
	return []evaluated{
		{variant(configuration("direct", 32, expr.Int(1)), "v1"), sampled(trial.Outcome{
			Status:   trial.OK,
			Measured: trial.Measured{MaxAbsError: 1.5e-7, Resources: trial.Resources{Registers: 40, SharedBytes: 49152, LocalBytes: 16, Occupancy: 0.75}},
			Phases:   trial.Phases{VerifyMS: 2.5, MeasureMS: 41.5, CompileMS: 123.456}, ClockMHz: 1980,
		}, []float64{1.25, 1.125, 1.5}, 1)},
		{variant(configuration("direct", 64, expr.Bool(true)), "v1"), sampled(trial.Outcome{Status: trial.OK, Warnings: []trial.Warning{{Kind: trial.ClockMoved, LowMHz: 1500, HighMHz: 1980}}, Dropped: true}, []float64{0.0123456}, 8)},
		{variant(configuration("direct", 64, expr.Int(1)), "v1"), trial.Outcome{Status: trial.CompileError, Message: "direct.cu:12: expected a ;", Phases: trial.Phases{CompileMS: 80}}},
		{variant(configuration("direct", 128, expr.Float(0.5)), "v1"), trial.Outcome{Status: trial.LaunchError, Message: "too many resources"}},
		{variant(configuration("direct", 128, expr.String("a|b=c")), "v1"), trial.Outcome{Status: trial.WrongResult, Message: "4 elements differ", Measured: trial.Measured{MaxAbsError: math.Inf(1)}}},
		{variant(configuration("rows", 32, expr.Int(1)), "v1"), trial.Outcome{Status: trial.Timeout, Message: "10 s"}},
		{variant(configuration("rows", 64, expr.Int(1)), "v1"), trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}},
		{variant(configuration("rows", 128, expr.Int(1)), "v1"), trial.Outcome{Status: trial.Pruned, Message: "shared memory"}},
	}
}

func problem() *operator.Problem {
	return &operator.Problem{Operator: &operator.Operator{Name: "max_pool2d"}, Shape: []int64{1, 2, 20, 20}, Math: "fp32"}
}

// recorded makes a recording of the problem with these outcomes.
func recorded(list []evaluated) recording.Recording {
	r := recording.Recording{Metadata: recording.Metadata{
		TimeUnit: recording.TimeUnit, Format: recording.Format, Tool: "autotune 0.1.0",
		Problem: problem().Record(),
		Device: device.Info{
			Name: "NVIDIA H100 80GB HBM3", Kind: device.CUDA, Driver: "580.65.06", Compiler: "NVRTC 13.0",
			Limits: operator.Limits{Arch: 90, SMs: 132, MaxThreadsPerBlock: 1024, WarpSize: 32},
		},
		Protocol:   device.DefaultProtocol(),
		Ceilings:   device.Ceilings{ReferenceMS: 12.5, CopyBytesPerMS: 3.03e9, Baselines: map[string]float64{"torch_eager": 10.8, "torch_compile": 11.9}},
		Valid:      8,
		RecordedAt: recordedAt,
	}}
	for i, e := range list {
		r.Trials = append(r.Trials, e.trial(recordedAt.Add(time.Duration(i)*time.Second)))
	}
	return r
}
