package pack

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"unsafe"
)

// Pointer is an address in a GPU's memory.
type Pointer uintptr

// Stream is a CUstream of the driver's; 0 is the default one.
type Stream uintptr

// Kernel is a kernel that a driver has loaded.
type Kernel uintptr

// GPU is what the choice of a kernel depends on.
type GPU struct {
	Name        string
	Arch        int   // compute capability times ten: 90
	SharedBytes int64 // that a block may have, with opt-in
}

func (g GPU) String() string { return fmt.Sprintf("%s (sm_%d)", g.Name, g.Arch) }

// Driver is one GPU and what loaders ask of it. It may be used by many goroutines at once.
type Driver interface {
	GPU() GPU
	// Load loads a cubin, or PTX that ends with a zero, and gives a kernel of it. Launches may
	// have so many bytes of dynamic shared memory. The image is there for good.
	Load(image []byte, entry string, sharedBytes int64) (Kernel, error)
	// Launch puts a launch on a stream. The arguments point to their values.
	Launch(k Kernel, l Launch, s Stream, arguments []unsafe.Pointer) error
}

// Loader makes plans for one GPU and keeps the kernels that it has loaded there.
type Loader struct {
	pack   *Pack
	driver Driver
	gpu    GPU
	mutex  sync.Mutex
	loaded map[loadedKey]Kernel
}

type loadedKey struct {
	file, entry string
	sharedBytes int64
}

// On is the pack on a GPU.
func (p *Pack) On(d Driver) *Loader {
	return &Loader{pack: p, driver: d, gpu: d.GPU(), loaded: map[loadedKey]Kernel{}}
}

// runs tells whether the GPU can run an entry's file.
func (l *Loader) runs(e *Entry) bool {
	arch, own := target(e.Target)
	for _, launch := range e.Launches {
		if launch.SharedBytes > l.gpu.SharedBytes || launch.Cooperative && e.Device != l.gpu.Name {
			return false
		}
	}
	return arch == l.gpu.Arch || !own && arch/10 == l.gpu.Arch/10 && arch < l.gpu.Arch
}

// rank orders entries for one problem that the GPU can run.
func (l *Loader) rank(e *Entry) int {
	rank, own := target(e.Target)
	if own {
		rank++
	}
	if e.Device == l.gpu.Name && e.Time != nil {
		rank += 10_000
	}
	return rank
}

// target is an architecture's number, and whether its code runs on no later one.
func target(name string) (arch int, own bool) {
	parts := targetForm.FindStringSubmatch(name)
	arch, _ = strconv.Atoi(parts[1])
	return arch, parts[2] != ""
}

// Prepare loads the plan's kernels, so that Launch loads nothing: call it before a stream is
// captured.
func (p *Plan) Prepare() error {
	for _, s := range p.steps {
		if _, err := p.loader.kernel(s); err != nil {
			return err
		}
	}
	return nil
}

// kernel gives a step's kernel, loaded.
func (l *Loader) kernel(s step) (Kernel, error) {
	key := loadedKey{s.file, s.Entry, s.SharedBytes}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if k, ok := l.loaded[key]; ok {
		return k, nil
	}
	k, err := l.driver.Load(l.pack.files[s.file], s.Entry, s.SharedBytes)
	if err != nil {
		return 0, fmt.Errorf("load %s of %s for %s: %w", s.Entry, s.file, l.gpu, err)
	}
	l.loaded[key] = k
	return k, nil
}

// alignment is that of all pointers, which kernels load vectors from.
const alignment = 16

// Launch computes on a stream. It takes a pointer for each of the plan's Tensors; where one
// has no bytes, its pointer is not looked at.
func (p *Plan) Launch(s Stream, pointers ...Pointer) error {
	if len(pointers) != len(p.Tensors) {
		return fmt.Errorf("it takes %d pointers, one for each tensor of the plan; got %d", len(p.Tensors), len(pointers))
	}
	given := make([]Pointer, len(pointers))
	for i, t := range p.Tensors {
		switch {
		case t.Bytes == 0:
		case pointers[i] == 0:
			return fmt.Errorf("the pointer of %s is null", t.Name)
		case pointers[i]%alignment != 0:
			return fmt.Errorf("%s is not aligned to %d bytes", t.Name, alignment)
		default:
			given[i] = pointers[i]
		}
	}
	for _, step := range p.steps {
		k, err := p.loader.kernel(step)
		if err == nil {
			err = p.launch(k, step, s, given)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) launch(k Kernel, step step, s Stream, given []Pointer) error {
	var arguments []unsafe.Pointer
	for _, at := range step.tensors {
		arguments = append(arguments, unsafe.Pointer(&given[at]))
	}
	if last := len(step.sizes) - 1; last >= 0 { // a struct, which its first member stands for, and a number
		arguments = append(arguments, unsafe.Pointer(&step.sizes[0]), unsafe.Pointer(&step.sizes[last]))
	}
	err := p.loader.driver.Launch(k, step.Launch, s, arguments)
	runtime.KeepAlive(given)
	if err != nil {
		return fmt.Errorf("launch %s: %w", step.Entry, err)
	}
	return nil
}

// ErrNoDriver means that libcuda is not on this machine, or cannot be used.
var ErrNoDriver = errors.New("no NVIDIA driver")
