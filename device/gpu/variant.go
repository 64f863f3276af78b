package gpu

import (
	"fmt"

	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
)

type variant struct {
	gpu      GPU
	module   Module
	launches []launch
}

type launch struct {
	operator.Launch
	function   Function
	needs      Needs
	parameters Parameters
	free       func() // the parameters; nil until they are bound
}

func load(g GPU, b *compile.Binary, k operator.Kernel) (v variant, err error) {
	v.gpu = g
	if v.module, err = g.Load(b.Code); err != nil {
		return v, fmt.Errorf("the driver refuses the binary: %w", err)
	}
	for _, l := range k.Launches {
		one := launch{Launch: l}
		if one.function, err = v.module.Function(b.Symbol(l.Entry)); err != nil {
			v.unload()
			return v, fmt.Errorf("find %s in the binary: %w", l.Entry, err)
		}
		if one.needs, err = one.function.Needs(); err != nil {
			v.unload()
			return v, fmt.Errorf("read what %s needs: %w", l.Entry, err)
		}
		v.launches = append(v.launches, one)
	}
	return v, nil
}

func (t *tensors) loadVariant(b *compile.Binary, k operator.Kernel) (variant, error) {
	v, err := load(t.gpu.GPU, b, k)
	if err != nil {
		return v, err
	}
	if err := t.copySymbols(v.module); err != nil {
		v.unload()
		return v, err
	}
	v.bind(t.arguments, t.passed())
	return v, nil
}

// copySymbols queues copies of tensors to variables in constant memory, where later launches on the queue read them.
func (t *tensors) copySymbols(m Module) error {
	for i, a := range t.arguments {
		if a.Symbol == "" || a.Elements == 0 {
			continue
		}
		address, bytes, err := m.Global(a.Symbol)
		if err != nil {
			return fmt.Errorf("the kernel has no __constant__ variable %s for %s: %w", a.Symbol, a.Name, err)
		}
		if bytes < a.Bytes() {
			return fmt.Errorf("the __constant__ variable %s has %d bytes, %s takes %d", a.Symbol, bytes, a.Name, a.Bytes())
		}
		t.gpu.Copy(address, t.data[i], a.Bytes())
	}
	return nil
}

// bind sets the values of the arguments in all of the variant's launches.
func (v variant) bind(arguments []operator.Argument, values []uint64) {
	v.unbind()
	for i, l := range v.launches {
		var passed [][]uint64
		for at, argument := range operator.Passed(arguments, l.Launch) {
			words := []uint64{values[argument]}
			if m := l.MapAt(at); m != nil {
				words = m.With(values[argument])
			}
			passed = append(passed, words)
		}
		v.launches[i].parameters, v.launches[i].free = v.gpu.Bind(passed)
	}
}

func (v variant) unbind() {
	for i, l := range v.launches {
		if l.free != nil {
			l.free()
		}
		v.launches[i].free = nil
	}
}

// unload frees the kernel. An error of Unload is ignored, because a module that stays loaded costs only a little memory
// until the process ends.
func (v variant) unload() {
	v.unbind()
	_ = v.module.Unload()
}

func (v variant) launch(count int) {
	each := 1
	if len(v.launches) == 1 {
		count, each = 1, count
	}
	for range count {
		for _, l := range v.launches {
			v.gpu.Launch(l.function, l.Launch, l.parameters, each)
		}
	}
}

// fit records the resources that the variant needs and reports whether the variant can be launched.
func (v variant) fit(o *trial.Outcome) bool {
	for i, l := range v.launches {
		r, status, message := l.fit(v.gpu.Bounds())
		if status != "" && len(v.launches) > 1 {
			message = l.Entry + ": " + message
		}
		if i == 0 {
			o.Resources = r
		} else {
			o.Resources = o.Resources.Beside(r)
		}
		if o.Status, o.Message = status, message; status != "" {
			return false
		}
	}
	return true
}

// fit returns the resources of one launch, and a status that is "" if the launch is possible.
func (l launch) fit(bounds Bounds) (r trial.Resources, status trial.Status, message string) {
	r = l.needs.resources(l.Launch, 0, bounds)
	if message = unfit(l.needs, l.Launch, bounds.Limits); message != "" {
		return r, trial.Pruned, message
	}
	if l.SharedBytes > 0 {
		if err := l.function.AllowShared(l.SharedBytes); err != nil {
			return r, trial.LaunchError, fmt.Sprintf("ask for %d bytes of dynamic shared memory: %v", l.SharedBytes, err)
		}
	}
	blocks, err := l.function.Occupancy(int(verify.Volume(l.Block)), l.SharedBytes)
	if err != nil {
		return r, trial.LaunchError, fmt.Sprintf("ask for the occupancy: %v", err)
	}
	if blocks == 0 {
		return r, trial.Pruned, fmt.Sprintf("not even one block fits into a multiprocessor (%d registers, %d threads, %d bytes of shared memory)",
			l.needs.Registers, verify.Volume(l.Block), r.SharedBytes)
	}
	if most := int64(blocks) * int64(bounds.SMs); l.Cooperative && verify.Volume(l.Grid) > most {
		return r, trial.Pruned, fmt.Sprintf("a cooperative launch of %d blocks: at most %d run at once", verify.Volume(l.Grid), most)
	}
	return l.needs.resources(l.Launch, blocks, bounds), "", ""
}

// unfit says why a launch is impossible on this GPU, or returns "" if it is possible.
func unfit(n Needs, l operator.Launch, limits operator.Limits) string {
	l.SharedBytes += n.StaticShared
	if message := verify.Refused(l, limits); message != "" {
		return message
	}
	if threads := verify.Volume(l.Block); threads > int64(n.MaxThreads) {
		return fmt.Sprintf("a block has %d threads, %d registers a thread leave room for %d", threads, n.Registers, n.MaxThreads)
	}
	return ""
}

func (n Needs) resources(launch operator.Launch, blocksPerSM int, d Bounds) trial.Resources {
	r := trial.Resources{Registers: n.Registers, SharedBytes: n.StaticShared + launch.SharedBytes, LocalBytes: n.Local}
	if d.SMThreads > 0 {
		r.Occupancy = float64(int64(blocksPerSM)*verify.Volume(launch.Block)) / float64(d.SMThreads)
	}
	return r
}

// mismatch returns a message if the size of a kernel's parameters differs from the size of its arguments. If the sizes
// are equal, or if the binary does not contain the size of its parameters, mismatch returns "". The driver would not
// notice that a kernel has more parameters than arguments, and would read beyond the arguments.
func mismatch(d Driver, b *compile.Binary, k operator.Kernel, arguments []operator.Argument) string {
	for _, l := range k.Launches {
		passed := lists.Of(operator.Passed(arguments, l), func(i int) operator.Argument { return arguments[i] })
		if wrong := launchMismatch(d, b, l, passed); wrong != "" {
			if len(k.Launches) > 1 {
				wrong = l.Entry + ": " + wrong
			}
			return wrong
		}
	}
	return ""
}

func launchMismatch(d Driver, b *compile.Binary, l operator.Launch, arguments []operator.Argument) string {
	size, known := d.ParameterBytes(b.Code, b.Symbol(l.Entry))
	// A GPU aligns the first parameter to 16 bytes. Tensor maps need a larger alignment than the first parameter, so
	// the total size of the parameters depends on the first parameter's address, and every possible address is tried.
	for first := 0; known && first < operator.TensorMapAlign; first += 16 {
		known = size != argumentBytes(l, arguments, first)
	}
	if !known {
		return ""
	}
	return fmt.Sprintf("the kernel's parameters take %s, the operator's %s %d",
		output.Count(size, "byte"), output.Count(len(arguments), "argument"), argumentBytes(l, arguments, 0))
}

// argumentBytes returns the size of the arguments as kernel parameters that begin at offset first. Each argument is
// aligned to its size, and a tensor map to operator.TensorMapAlign.
func argumentBytes(l operator.Launch, arguments []operator.Argument, first int) int {
	bytes := first
	for i, a := range arguments {
		size, align := 8, 8
		if l.MapAt(i) != nil {
			size, align = operator.TensorMapBytes, operator.TensorMapAlign
		} else if a.Role == operator.Scalar {
			size = int(a.Type.Bytes())
			align = size
		}
		bytes = (bytes+align-1)/align*align + size
	}
	return bytes - first
}
