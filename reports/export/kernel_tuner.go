package export

import (
	"context"
	"fmt"
	"io"

	"autotune/tuner/recording"
)

var kernelTuner = Format{Name: "kernel-tuner", Summary: "the trials of the winner's template as a cache of Kernel Tuner", Trials: Always, Write: writeKernelTuner}

func writeKernelTuner(_ context.Context, out io.Writer, w Winner) ([]string, error) {
	k, err := w.Kernel()
	if err != nil {
		return nil, err
	}
	o := k.Problem.Operator
	template, ok := o.Template(k.Kernel.Template)
	if !ok {
		return nil, fmt.Errorf("%s has no template %s", o.Name, k.Kernel.Template)
	}
	return otherTemplates(o, template), recording.WriteKernelTuner(out, k.Problem, template, w.Best.Device.Name, w.Trials)
}
