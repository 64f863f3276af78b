package cuda

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/worker"
	"autotune/operator"
)

// fakeWorker replaces the child process that drives a GPU. The variant's mode says how the fake worker behaves.
const fakeWorker = "fake-cuda"

// acts lists the behaviours that the modes of the tests' operator select in the fake worker.
var acts = []string{"right", "faults", "slow_under_tools", "dies_under_tools"}

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]worker.Func{
		fakeWorker: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return remote.Serve(ctx, in, out, remote.Vendor{
				List: func() ([]device.Info, error) {
					return []device.Info{{Name: "NVIDIA Fake", Kind: device.CUDA, Limits: operator.Limits{Arch: 90, MaxThreadsPerBlock: 1024}}}, nil
				},
				Open: func(_ remote.Setup, c compile.Compiler) (device.Device, error) { return fakeGPU{compiler: c}, nil },
				Exit: func() {},
			})
		},
		"compile":  compile.Worker,
		workerName: Worker,
	})
	os.Exit(m.Run())
}

type fakeGPU struct {
	device.Device
	compiler compile.Compiler
}

func (g fakeGPU) Info() device.Info          { return device.Info{Kind: device.CUDA} }
func (g fakeGPU) Compiler() compile.Compiler { return g.compiler }
func (g fakeGPU) Arch() string               { return "sm_90" }

func (fakeGPU) Open(context.Context, *operator.Problem, *compile.Binary, device.Protocol) (device.Session, error) {
	return fakeSession{}, nil
}

func act(v device.Variant) string {
	mode, _ := v.Configuration.Get("mode")
	n, _ := mode.AsInt()
	return acts[n]
}

func (fakeGPU) Launch(_ context.Context, _ *operator.Problem, _ device.Protocol, v device.Variant) (trial.Outcome, error) {
	switch act(v) {
	case "slow_under_tools":
		return trial.Outcome{Status: trial.Timeout, Message: "it was not done in time"}, device.ErrLost
	case "faults":
		return trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}, device.ErrLost
	case "dies_under_tools":
		os.Exit(3)
	}
	return trial.Outcome{Status: trial.OK}, nil
}

type fakeSession struct{ device.Session }

func (fakeSession) Ceilings() device.Ceilings { return device.Ceilings{ReferenceMS: 7} }
func (fakeSession) Close() error              { return nil }

func (fakeSession) Evaluate(_ context.Context, v device.Variant, _ float64) (trial.Outcome, error) {
	if act(v) == "faults" {
		return trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}, device.ErrLost
	}
	o := trial.Outcome{Status: trial.OK}
	o.SetSamples([]float64{1, 2, 3}, 1)
	return o, nil
}

type fakeCompiler struct{ compile.Compiler }

func (fakeCompiler) Close() error    { return nil }
func (fakeCompiler) Version() string { return "NVRTC 0.0" }

func openFake(t *testing.T) *remote.Child {
	t.Helper()
	d, err := remote.OpenChild(t.Context(), remote.ChildOptions{
		Worker: fakeWorker, Target: compile.Target, Compiler: func(context.Context) (compile.Compiler, error) { return fakeCompiler{}, nil },
	})
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, d.Close()) })
	return d
}

// The target that kernels are compiled for depends on the compiler and on the GPU.
func TestTarget(t *testing.T) {
	if d := openFake(t); d.Arch() != "sm_90" {
		t.Errorf("compiled for %s", d.Arch())
	}
}

// On a machine without a GPU, errors of Open and List name what is missing: the driver, or the worker in the binary.
func TestNothingToOpen(t *testing.T) {
	_, listErr := List(t.Context())
	if listErr == nil {
		t.Skip("this machine has a GPU")
	}
	_, openErr := Open(t.Context(), 0, Options{})
	for _, err := range []error{openErr, listErr} {
		if !errors.Is(err, device.ErrNone) || !strings.Contains(err.Error(), missingHere) {
			t.Errorf("%v; want ErrNone with %q", err, missingHere)
		}
	}
}
