package reports

import (
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

func TestTrialText(t *testing.T) {
	launch := operator.Launch{Grid: [3]int64{20, 1, 1}, Block: [3]int64{32, 8, 1}, SharedBytes: 4608}
	c := space.Configuration{Template: "direct", Values: space.Values{{Name: "vec", Value: expr.Int(2)}}}
	right := trial.Outcome{
		Status: trial.OK, Warnings: []trial.Warning{{Kind: trial.Throttled, Reason: "power limit"}}, Phases: trial.Phases{CompileMS: 120, VerifyMS: 3, MeasureMS: 40},
		Measured: trial.Measured{MaxAbsError: 1e-7, Resources: trial.Resources{Registers: 40, SharedBytes: 4608, LocalBytes: 16, Occupancy: 0.5}},
	}
	right.SetSamples([]float64{1, 1, 2, 2, 3, 3, 3}, 1)
	for _, tt := range []struct {
		name string
		t    trial.Trial
		kind device.Kind
		want string
	}{
		{"ok", trial.Trial{Outcome: right, Log: "direct.cu(3): warning: x is unused\r\n\n"}, device.CUDA, `ok            direct vec=2
    grid 20x1x1, block 32x8x1, 4608 bytes of dynamic shared memory
    40 registers, 16 bytes of spills and stack, 4608 bytes shared, occupancy 50 %
    2.000 ms, 95 % interval 1.000 ms to 3.000 ms, 7 samples
    largest error 1e-07
    compiled in 0.12 s, verified in 0.003 s, timed in 0.04 s
    warning: throttled: power limit
    direct.cu(3): warning: x is unused
`},
		{"said once", trial.Trial{
			Outcome: trial.Outcome{Status: trial.CompileError, Message: "direct.cu:3: no such x"},
			Log:     "direct.cu(3): error: no such x\n1 error detected",
		}, device.CUDA, `compile_error direct vec=2
    grid 20x1x1, block 32x8x1, 4608 bytes of dynamic shared memory
    direct.cu(3): error: no such x
    1 error detected
`},
		{"crashed compiler", trial.Trial{
			Outcome: trial.Outcome{Status: trial.CompileError, Message: "direct.cu: the compiler crashed: signal"}, Log: "stack",
		}, device.CUDA, `compile_error direct vec=2
    grid 20x1x1, block 32x8x1, 4608 bytes of dynamic shared memory
    direct.cu: the compiler crashed: signal
    stack
`},
		{"wrong", trial.Trial{Outcome: trial.Outcome{Status: trial.WrongResult, Message: "y differs\nat 3"}, Log: "a warning"}, device.Emulator, `wrong_result  direct vec=2
    grid 20x1x1, block 32x8x1, 4608 bytes of dynamic shared memory
    y differs
    at 3
    a warning
`},
	} {
		tt.t.Configuration, tt.t.Launches = c, operator.Launches{launch}
		if got := TrialText(tt.t, tt.kind.Properties()); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
