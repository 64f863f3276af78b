package reports

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner"
)

var recordedAt = time.Date(2025, 11, 21, 9, 30, 0, 0, time.UTC)

// convolution is a search on a GPU where everything is known.
func convolution() BestConfig {
	b := BestConfig{
		Schema: Schema, Tool: "autotune 0.1.0", Operator: "conv2d",
		Problem: operator.ProblemRecord{
			Shape: []int64{16, 16, 1024, 1024}, Math: "tf32",
			Parameters: operator.Parameters{
				{Name: "bias", Value: "false"}, {Name: "c_out", Value: "128"}, {Name: "dilation", Value: "1x1"}, {Name: "groups", Value: "1"},
				{Name: "kernel", Value: "3x3"}, {Name: "padding", Value: "0x0"}, {Name: "stride", Value: "1x1"},
			},
			Text: "conv2d 16x16x1024x1024 c_out=128 kernel=3x3 stride=1x1 padding=0x0 dilation=1x1 groups=1 bias=false math=tf32",
		},
		Device: device.Info{Name: "NVIDIA H100 80GB HBM3", Kind: device.CUDA, Driver: "580.65.06", Compiler: "NVRTC 13.0"},
		Configuration: space.Configuration{Template: "direct", Values: space.Values{
			{Name: "block_x", Value: expr.Int(32)}, {Name: "block_y", Value: expr.Int(8)}, {Name: "padded", Value: expr.Bool(true)}, {Name: "share", Value: expr.Float(0.5)},
			{Name: "store", Value: expr.String("streaming")}, {Name: "tile", Value: expr.Int(4)}, {Name: "unroll", Value: expr.Int(3)}, {Name: "vec", Value: expr.Int(4)},
		}},
		Macros:   map[string]string{"BLOCK_X": "32", "BLOCK_Y": "8", "TILE": "4", "UNROLL": "3", "VEC": "4", "N": "16"},
		Launches: operator.Launches{{Entry: "conv2d_direct", Grid: [3]int64{256, 128, 16}, Block: [3]int64{32, 8, 1}, SharedBytes: 49152}}, Target: "sm_90a",
		KernelDigest: strings.Repeat("0123456789abcdef", 4), ReferenceDigest: strings.Repeat("fedcba9876543210", 4),
		Time: trial.Timing{Median: 6.27, CI95: [2]float64{6.265, 6.281}, Samples: 30},
		Measured: trial.Measured{
			MaxAbsError: 1.43e-6, Resources: trial.Resources{Registers: 96, SharedBytes: 49152, Occupancy: 0.5},
		},
		Protocol:   device.DefaultProtocol(),
		Trials:     tuner.Counts{Total: 412, ByStatus: map[trial.Status]int{trial.OK: 398, trial.CompileError: 3, trial.WrongResult: 1, trial.Pruned: 10}},
		Search:     Search{Strategy: "bayesian", Seconds: 41.27, Evaluations: 400, Resumed: 12, ValidConfigurations: 2816},
		Warnings:   []string{"clocks moved from 1980 to 1755 MHz while the finalists were timed: times of early trials are up to 3 % low", "noise of 4 % on 2 trials"},
		RecordedAt: recordedAt,
	}
	for name, ms := range map[BaselineName]float64{Default: 14.2, Reference: 187.4, TorchEager: 7.1, TorchCompile: 7.12} {
		b.Compare(name, ms)
	}
	b.SetRoofline(9_635_000_000, 618_000_000_000, 3.03e9)
	return b
}

// replayed is the same search, answered from a recording.
func replayed() BestConfig {
	b := convolution()
	b.Device.Kind, b.Protocol = device.Replay, device.Protocol{}
	b.Recording = &Recording{File: "h100-80gb-hbm3-conv2d-16x16x1024x1024-tf32-0badcafe.json.gz", RecordedAt: recordedAt, Device: b.Device.Name}
	b.RecordedAt = recordedAt.AddDate(0, 2, 0)
	b.KernelDigest, b.ReferenceDigest = b.KernelDigest[:16], ""
	return b
}

// emulated is a small search on the CPU: no roofline, no PyTorch.
func emulated() BestConfig {
	b := convolution()
	b.Operator = "max_pool2d"
	b.Problem = operator.ProblemRecord{
		Shape: []int64{1, 2, 20, 20}, Math: "fp32", Parameters: operator.Parameters{{Name: "kernel", Value: "4x4"}, {Name: "stride", Value: "1x1"}},
	}
	b.Device = device.Info{Name: "emulator (AMD EPYC 9B14)", Kind: device.Emulator, Compiler: "g++ 12.2"}
	b.Values = space.Values{{Name: "block_x", Value: expr.Int(64)}, {Name: "rows", Value: expr.Int(2)}, {Name: "vec", Value: expr.Int(1)}}
	b.Launches = operator.Launches{{Entry: "pool", Grid: [3]int64{1, 9, 2}, Block: [3]int64{64, 1, 1}}}
	b.Time = trial.Timing{Median: 0.00512, CI95: [2]float64{0.00512, 0.00512}, Samples: 1}
	b.Baselines = nil
	b.Compare(Default, 0.0061)
	b.Compare(Reference, 0.0144)
	b.SetRoofline(5512, 9248, 0)
	b.Trials = tuner.Counts{Total: 12, ByStatus: map[trial.Status]int{trial.OK: 12}}
	b.Search = Search{Strategy: "random", Seconds: 8.4, Evaluations: 12, ValidConfigurations: 84}
	b.Warnings, b.MaxAbsError = nil, 0
	return b
}

// failed is a search without a valid variant.
func failed() BestConfig {
	b := convolution()
	b.Configuration, b.Macros, b.Baselines = space.Configuration{}, nil, nil
	b.Time = trial.Timing{}
	b.SetRoofline(9_635_000_000, 618_000_000_000, 3.03e9)
	b.Trials = tuner.Counts{Total: 40, ByStatus: map[trial.Status]int{trial.CompileError: 30, trial.Timeout: 10}}
	return b
}

// trials are n made-up trials that get nearer to best; of every hundred,
// failures fail.
func trials(n, failures int, best float64) []trial.Trial {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	bad := []trial.Status{trial.CompileError, trial.LaunchError, trial.WrongResult, trial.Timeout, trial.Crashed, trial.Pruned}
	list := make([]trial.Trial, n)
	for i := range list {
		if rng.IntN(100) < failures {
			list[i].Status = bad[rng.IntN(len(bad))]
			continue
		}
		progress := 2.2 * math.Exp(-3*float64(i)/float64(n))
		ms := best * (1 + (0.12+progress)*math.Abs(rng.NormFloat64())*1.5)
		list[i].Status = trial.OK
		list[i].Time = trial.Timing{Median: ms, Min: ms, CI95: [2]float64{ms, ms}, Samples: 20}
	}
	return list
}
