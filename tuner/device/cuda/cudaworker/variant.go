//go:build cuda

package cudaworker

import (
	"fmt"

	"gorgonia.org/cu"

	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// variant is a compiled kernel loaded into the GPU: the launches that it consists of.
type variant struct {
	module   cu.Module
	launches []loaded
}

// loaded is a launch with all that it takes.
type loaded struct {
	wire.Launch
	function  cu.Function
	needs     needs
	arguments *arguments // nil until they are bound
}

// loadVariant loads a compiled kernel for the problem's tensors.
func (p *problem) loadVariant(i wire.Image) (variant, error) {
	v, err := loadImage(i)
	if err != nil {
		return v, err
	}
	if err := p.copySymbols(v.module); err != nil {
		v.unload()
		return v, err
	}
	v.bind(p.passed())
	return v, nil
}

// loadImage loads a compiled kernel, whatever it is launched on.
func loadImage(i wire.Image) (v variant, err error) {
	if v.module, err = cu.LoadData(string(i.Code)); err != nil {
		return v, fmt.Errorf("the driver refuses the binary: %w", err)
	}
	defer func() {
		if err != nil {
			v.unload()
		}
	}()
	for _, l := range i.Launches {
		one, err := loadLaunch(v.module, l)
		if err != nil {
			return v, err
		}
		v.launches = append(v.launches, one)
	}
	return v, nil
}

func loadLaunch(m cu.Module, l wire.Launch) (one loaded, err error) {
	one.Launch = l
	if one.function, err = m.Function(l.Symbol); err != nil {
		return one, fmt.Errorf("find %s in the binary: %w", l.Entry, err)
	}
	for attribute, to := range map[cu.FunctionAttribute]func(int){
		cu.NumRegs:              func(x int) { one.needs.Registers = x },
		cu.SharedSizeBytes:      func(x int) { one.needs.StaticShared = int64(x) },
		cu.LocalSizeBytes:       func(x int) { one.needs.Local = int64(x) },
		cu.FnMaxThreadsPerBlock: func(x int) { one.needs.MaxThreads = x },
	} {
		value, err := one.function.Attribute(attribute)
		if err != nil {
			return one, fmt.Errorf("read what %s needs: %w", l.Entry, err)
		}
		to(value)
	}
	return one, nil
}

// copySymbols copies what lies in constant memory to its variables. What follows on the
// stream finds it there.
func (p *problem) copySymbols(m cu.Module) error {
	for i, a := range p.request.Arguments {
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
		if err := cu.MemcpyDtoDAsync(address, p.tensors[i], a.Bytes(), p.gpu.stream); err != nil {
			return fmt.Errorf("copy %s to %s: %w", a.Name, a.Symbol, err)
		}
	}
	return nil
}

// bind makes the launches take these values, one an argument of the problem.
func (v variant) bind(values []uint64) {
	for i := range v.launches {
		l := &v.launches[i]
		l.free()
		passed := make([]uint64, len(l.Passed))
		for j, argument := range l.Passed {
			passed[j] = values[argument]
		}
		l.arguments = newArguments(passed...)
	}
}

func (l *loaded) free() {
	if l.arguments != nil {
		l.arguments.free()
		l.arguments = nil
	}
}

// unload frees the kernel. A failure costs a little memory, which goes with the
// session's worker at the latest.
func (v variant) unload() {
	for i := range v.launches {
		v.launches[i].free()
	}
	_ = v.module.Unload()
}

// launch queues the variant's launches count times.
func (p *problem) launch(v variant, count int) error {
	each := 1
	if len(v.launches) == 1 {
		count, each = 1, count
	}
	for range count {
		for _, l := range v.launches {
			if err := launchRow(l.function, l.Launch.Launch, p.gpu.stream, l.arguments, each); err != nil {
				return fmt.Errorf("launch: %w", err)
			}
		}
	}
	return nil
}

// fit records what the variant needs and tells whether it can be launched.
func (p *problem) fit(v variant, e *trial.Outcome) bool {
	for i, l := range v.launches {
		r, status, message := p.fitLaunch(l)
		if status != "" && len(v.launches) > 1 {
			message = l.Entry + ": " + message
		}
		if i == 0 {
			e.Resources = r
		} else {
			e.Resources = e.Resources.Beside(r)
		}
		if e.Status, e.Message = status, message; status != "" {
			return false
		}
	}
	return true
}

// fitLaunch is fit for one of the launches; the status is "" if nothing speaks against it.
func (p *problem) fitLaunch(l loaded) (r trial.Resources, status trial.Status, message string) {
	launch := l.Launch.Launch
	r = l.needs.resources(launch, 0, p.gpu.bounds)
	if status, message = unfit(l.needs, launch, p.gpu.bounds); status != "" {
		return r, status, message
	}
	if launch.SharedBytes > 0 {
		if err := allowShared(l.function, launch.SharedBytes); err != nil {
			return r, trial.LaunchError, fmt.Sprintf("ask for %d bytes of dynamic shared memory: %v", launch.SharedBytes, inWords(err))
		}
	}
	blocks, err := l.function.MaxActiveBlocksPerMultiProcessor(int(threadsOf(launch)), launch.SharedBytes)
	if err != nil {
		return r, trial.LaunchError, fmt.Sprintf("ask for the occupancy: %v", inWords(err))
	}
	if blocks == 0 {
		return r, trial.Pruned, fmt.Sprintf("not even one block fits into a multiprocessor (%d registers, %d threads, %d bytes of shared memory)",
			l.needs.Registers, threadsOf(launch), r.SharedBytes)
	}
	if most := int64(blocks) * int64(p.gpu.bounds.SMs); launch.Cooperative && blocksOf(launch) > most {
		return r, trial.Pruned, fmt.Sprintf("a cooperative launch of %d blocks: at most %d run at once", blocksOf(launch), most)
	}
	return l.needs.resources(launch, blocks, p.gpu.bounds), "", ""
}

func blocksOf(l operator.Launch) int64 { return l.Grid[0] * l.Grid[1] * l.Grid[2] }
