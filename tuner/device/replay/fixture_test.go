package replay

import (
	"math"
	"time"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

var recordedAt = time.Date(2025, 11, 21, 9, 30, 0, 0, time.UTC)

// evaluated is a variant with what the device said of it.
type evaluated struct {
	variant    device.Variant
	evaluation device.Evaluation
}

// trial is what a search keeps of it.
func (e evaluated) trial(at time.Time) trial.Trial {
	c, r := e.variant.Configuration, e.evaluation
	return trial.Trial{
		Template: c.Template, Configuration: c.Map(), KernelDigest: e.variant.Kernel.Digest(),
		Status: r.Status, Message: r.Message, Time: trial.Summarise(r.Samples, r.Batch), SamplesMS: r.Samples,
		MaxAbsError: r.MaxAbsError, Resources: r.Resources,
		Phases:   trial.Phases{CompileMS: r.CompileMS, VerifyMS: r.VerifyMS, MeasureMS: r.MeasureMS},
		ClockMHz: r.ClockMHz, Warnings: r.Warnings, Dropped: r.Dropped, At: at,
	}
}

func configuration(template string, blockX int64, vec any) space.Configuration {
	value, err := expr.FromGo(vec)
	if err != nil {
		panic(err)
	}
	return space.Configuration{
		Template: template, Names: []string{"block_x", "vec"}, Values: []expr.Value{expr.Int(blockX), value},
	}
}

func variant(c space.Configuration, source string) device.Variant {
	kernel := operator.Kernel{
		Operator: "max_pool2d", Template: c.Template, Entry: "max_pool2d_" + c.Template, Source: source,
		Macros: []operator.Macro{{Name: "BLOCK_X", Value: c.Values[0].String()}, {Name: "VEC", Value: c.Values[1].String()}},
	}
	return device.Variant{Configuration: c, Kernel: kernel}
}

// oneOfEach has an evaluation for each status, with awkward values among them.
func oneOfEach() []evaluated {
	return []evaluated{
		{variant(configuration("direct", 32, int64(1)), "v1"), device.Evaluation{
			Status: trial.OK, Samples: []float64{1.25, 1.125, 1.5}, Batch: 1, MaxAbsError: 1.5e-7,
			Resources: trial.Resources{Registers: 40, SharedBytes: 49152, LocalBytes: 16, Occupancy: 0.75},
			VerifyMS:  2.5, MeasureMS: 41.5, CompileMS: 123.456, ClockMHz: 1980,
		}},
		{variant(configuration("direct", 64, true), "v1"), device.Evaluation{
			Status: trial.OK, Samples: []float64{0.0123456}, Batch: 8, Warnings: []string{"clocks moved"}, Dropped: true,
		}},
		{variant(configuration("direct", 64, int64(1)), "v1"), device.Evaluation{Status: trial.CompileError, Message: "direct.cu:12: expected a ;", CompileMS: 80}},
		{variant(configuration("direct", 128, 0.5), "v1"), device.Evaluation{Status: trial.LaunchError, Message: "too many resources"}},
		{variant(configuration("direct", 128, "a|b=c"), "v1"), device.Evaluation{Status: trial.WrongResult, Message: "4 elements differ", MaxAbsError: math.Inf(1)}},
		{variant(configuration("rows", 32, int64(1)), "v1"), device.Evaluation{Status: trial.Timeout, Message: "10 s"}},
		{variant(configuration("rows", 64, int64(1)), "v1"), device.Evaluation{Status: trial.Crashed, Message: "an illegal memory access"}},
		{variant(configuration("rows", 128, int64(1)), "v1"), device.Evaluation{Status: trial.Pruned, Message: "shared memory"}},
	}
}

func problem() *operator.Problem {
	return &operator.Problem{Operator: &operator.Operator{Name: "max_pool2d"}, Shape: []int64{1, 2, 20, 20}, Math: "fp32"}
}

// recorded makes a recording of the problem with these evaluations.
func recorded(list []evaluated) Recording {
	r := Recording{Metadata: Metadata{
		TimeUnit: TimeUnit, Format: Format, Tool: "autotune 0.1.0",
		Operator: "max_pool2d", Problem: problem().String(), Shape: []int64{1, 2, 20, 20},
		Parameters: map[string]string{"kernel": "4", "stride": "1"}, Math: "fp32",
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
		r.Results = append(r.Results, NewResult(e.trial(recordedAt.Add(time.Duration(i)*time.Second))))
	}
	return r
}
