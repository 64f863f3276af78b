//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/tuner/device"
	"autotune/tuner/device/answers"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// What an operator has of its own beside its templates: files and kernels that fill
// tensors, files with what is right, a kernel that compares.

// loadOwn loads the operator's own kernels.
func (p *problem) loadOwn() (err error) {
	for _, f := range p.request.Fillings {
		v, err := p.loadPart(device.FillKernel, f.Image)
		if err != nil {
			return err
		}
		p.fillings = append(p.fillings, v)
	}
	if c := p.request.Comparing; c != nil {
		p.compares, err = p.loadPart(device.Comparison, c.Image)
	}
	return err
}

func (p *problem) loadPart(part string, i wire.Image) (variant, error) {
	v, err := loadImage(i)
	if err != nil {
		return v, badPart(part, "cannot be loaded", err)
	}
	p.modules = append(p.modules, v.module)
	if status, message := unfit(v.launches[0].needs, v.launches[0].Launch.Launch, p.gpu.bounds); status != "" {
		return v, badPart(part, "cannot run on this GPU", errors.New(message))
	}
	return v, nil
}

// launchPart queues one of the operator's own kernels.
func (p *problem) launchPart(v variant, a *arguments) error {
	l := v.launches[0]
	return launchRow(l.function, l.Launch.Launch, p.gpu.stream, a, 1)
}

// fillOwn fills the tensors whose contents are not drawn: from files, and by the
// operator's own kernels.
func (p *problem) fillOwn() error {
	for i, a := range p.request.Arguments {
		if i < len(p.request.Files) && p.request.Files[i] != "" && a.Elements > 0 {
			if err := p.read(p.start(i), p.request.Files[i], a); err != nil {
				return fmt.Errorf("fill %s: %w", a.Name, err)
			}
		}
	}
	for i, f := range p.request.Fillings {
		if err := p.fillBy(p.fillings[i], f); err != nil {
			return err
		}
	}
	return nil
}

// fillBy launches a kernel that fills tensors. They lie between guard zones, which tell
// whether it kept to them.
func (p *problem) fillBy(v variant, f wire.Filling) error {
	for _, i := range f.Tensors {
		if a := p.request.Arguments[i]; a.Elements > 0 {
			if err := p.set(p.tensors[i], a, elements.Poison(a.Type)); err != nil {
				return fmt.Errorf("overwrite %s: %w", a.Name, err)
			}
		}
	}
	passed := p.passed()
	var values []uint64
	for _, i := range f.Arguments {
		values = append(values, passed[i])
	}
	a := newArguments(append(values, uint64(p.request.Fills[f.Tensors[0]].Seed))...)
	defer a.free()
	if _, err := p.timeEach(1, nothing, func() error { return p.launchPart(v, a) }, referenceLimit); err != nil {
		return badPart(device.FillKernel, "fails: "+f.File, err)
	}
	if err := p.keptInside(f); err != nil {
		return err
	}
	for _, i := range f.Tensors {
		if start := p.start(i); start != p.tensors[i] {
			if err := cu.MemcpyDtoDAsync(start, p.tensors[i], p.request.Arguments[i].Bytes(), p.gpu.stream); err != nil {
				return fmt.Errorf("keep %s: %w", p.request.Arguments[i].Name, err)
			}
		}
	}
	return nil
}

// keptInside complains of a kernel that wrote outside the tensors that it fills.
func (p *problem) keptInside(f wire.Filling) error {
	if p.zoneCount == 0 {
		return nil
	}
	l := p.layout()
	if err := cu.MemsetD32Async(p.found, 0, int64(2*l.words), p.gpu.stream); err != nil {
		return err
	}
	if err := p.checkGuards(uint64(p.found) + uint64(8*l.hits)); err != nil {
		return err
	}
	words, err := p.results(l)
	if err != nil {
		return fmt.Errorf("look at the guard zones: %w", err)
	}
	if words[l.hits] == 0 {
		return nil
	}
	return errors.Join(p.fillGuards(), &wire.Fault{
		Kind: wire.BadReference, Part: device.FillKernel, Message: fmt.Sprintf("is wrong: %s: %s", f.File, zoneMessage(words[l.hits:], p.guarded())),
	})
}

// guarded are the arguments that have guard zones.
func (p *problem) guarded() []operator.Argument {
	return slices.DeleteFunc(slices.Clone(p.request.Arguments), func(a operator.Argument) bool { return a.Elements == 0 })
}

// hasReference tells whether a kernel says what is right.
func (p *problem) hasReference() bool { return len(p.request.Reference.Code) > 0 }

// learnAnswers finds what is right for the inputs of the moment, if it is known here.
func (p *problem) learnAnswers() error {
	p.sums = nil
	if p.hasReference() {
		if err := p.runReference(); err != nil {
			return err
		}
		return p.rememberSums()
	}
	if p.request.Answers == nil {
		return nil
	}
	return p.takeAnswer(p.request.Answers)
}

// takeAnswer reads what is right from files.
func (p *problem) takeAnswer(files []string) error {
	p.request.Answers = files
	for i, a := range p.request.Arguments {
		if i >= len(files) || files[i] == "" || p.references[i] == 0 {
			continue
		}
		if err := p.read(p.references[i], files[i], a); err != nil {
			return fmt.Errorf("read what is right for %s: %w", a.Name, err)
		}
	}
	return p.rememberSums()
}

// read copies a tensor's contents, the last bytes of a file, to the GPU.
func (p *problem) read(to cu.DevicePtr, file string, a operator.Argument) error {
	start, err := answers.Size(file, a.Bytes())
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	contents, err := syscall.Mmap(int(f.Fd()), 0, int(start+a.Bytes()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	defer syscall.Munmap(contents)
	if err := cu.MemcpyHtoD(to, unsafe.Pointer(&contents[start]), a.Bytes()); err != nil {
		return err
	}
	return cu.Synchronize() // the stream does not wait for that copy
}

// writePart is how much of a tensor is fetched at a time.
const writePart = 64 << 20

// writeInputs writes what the tensors that are read hold into files.
func (p *problem) writeInputs(files []string) error {
	if err := cu.Synchronize(); err != nil {
		return err
	}
	part := make([]byte, writePart)
	for i, a := range p.request.Arguments {
		if i >= len(files) || files[i] == "" || a.Elements == 0 {
			continue
		}
		if err := p.write(files[i], p.start(i), a.Bytes(), part); err != nil {
			return fmt.Errorf("write %s: %w", a.Name, err)
		}
	}
	return nil
}

func (p *problem) write(file string, from cu.DevicePtr, bytes int64, part []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for done := int64(0); done < bytes && err == nil; {
		size := min(int64(len(part)), bytes-done)
		if err = cu.MemcpyDtoH(unsafe.Pointer(&part[0]), from+cu.DevicePtr(done), size); err == nil {
			_, err = f.Write(part[:size])
		}
		done += size
	}
	return errors.Join(err, f.Close())
}

// compareOwn queues the operator's own comparison of outputs, which lie in the given
// buffers, with what is right.
func (p *problem) compareOwn(outputs []cu.DevicePtr, apart uint64) error {
	if p.request.Comparing == nil {
		return nil
	}
	passed := p.passed()
	var values []uint64
	for i, a := range p.request.Arguments {
		switch a.Role {
		case operator.Output:
			values = append(values, uint64(outputs[i]), uint64(p.references[i]))
		case operator.InOut:
			values = append(values, uint64(outputs[i]), uint64(p.references[i]), uint64(p.pristine[i]))
		case operator.Input, operator.Weight, operator.Scalar:
			values = append(values, passed[i])
		}
	}
	a := newArguments(append(values, apart)...)
	defer a.free()
	return p.launchPart(p.compares, a)
}

// ownVerdict reads what the operator's own comparison gave, and tells whether that is
// right; it is where there is none.
func (p *problem) ownVerdict(l layout, words []uint64) (apart float64, right bool) {
	if p.request.Comparing == nil {
		return 0, true
	}
	apart = math.Float64frombits(words[l.apart])
	return apart, apart <= p.request.Comparing.Bound // a NaN is not
}

// judgeOwn adds what the operator's own comparison found.
func (p *problem) judgeOwn(l layout, words []uint64, f *findings) {
	switch apart, right := p.ownVerdict(l, words); {
	case p.request.Comparing == nil:
	case right:
		f.largestError = apart
	default:
		f.complaints = append(f.complaints, device.TooFarApart(p.request.Comparing.File, apart, p.request.Comparing.Bound))
	}
}
