package pack

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"unsafe"

	"autotune/internal/lists"
)

// Pointer is an address in a GPU's memory.
type Pointer uintptr

// Stream is a CUstream of the CUDA driver; 0 is the default stream.
type Stream uintptr

// Kernel is the handle of a kernel that a driver has loaded.
type Kernel uintptr

// GPU holds the properties of a device that decide which kernel is chosen.
type GPU struct {
	Name        string
	Arch        int   // compute capability times ten: 90
	SharedBytes int64 // largest per block, with opt-in
}

func (g GPU) String() string { return fmt.Sprintf("%s (sm_%d)", g.Name, g.Arch) }

// Driver loads and launches kernels on one GPU. A Driver must be safe for concurrent use.
type Driver interface {
	GPU() GPU
	// Load finds a kernel in a cubin, or in PTX that ends with a zero byte, and lets launches of the kernel use
	// sharedBytes of dynamic shared memory. The driver loads an image, i.e. a cubin or PTX, at the image's first use
	// and never unloads it.
	Load(image []byte, entry string, sharedBytes int64) (Kernel, error)
	// Launch enqueues a launch on a stream. Each element of arguments points to an argument's value.
	Launch(k Kernel, l Launch, s Stream, arguments []unsafe.Pointer) error
}

// Loader finds the kernels of a pack for problems on one GPU.
type Loader struct {
	pack   *Pack
	driver Driver
	gpu    GPU
}

// On returns a loader that uses the pack on the driver's GPU.
func (p *Pack) On(d Driver) *Loader { return &Loader{p, d, d.GPU()} }

// runs reports whether the GPU can run an entry, which may have been compiled for another GPU.
func (g GPU) runs(e *Entry) bool {
	for _, launch := range e.Launches {
		if launch.SharedBytes > g.SharedBytes || launch.Cooperative && e.Device != g.Name {
			return false
		}
	}
	arch, own, _ := Target(e.Target)
	return arch == g.Arch || !own && arch/10 == g.Arch/10 && arch < g.Arch
}

// rank returns a number by which to choose among the entries for one problem: entries measured on this model of GPU
// rank highest, then entries for newer architectures.
func (g GPU) rank(e *Entry) int {
	rank, own, _ := Target(e.Target)
	if own {
		rank++
	}
	if e.Device == g.Name && e.Time != nil {
		rank += 10_000
	}
	return rank
}

// Target returns an architecture's number, such as 90 for sm_90a. own reports whether code for the architecture runs
// on no other one, as code for sm_90a does.
func Target(name string) (arch int, own, ok bool) {
	parts := targetForm.FindStringSubmatch(name)
	if parts == nil {
		return 0, false, false
	}
	arch, err := strconv.Atoi(parts[1])
	return arch, parts[2] != "", err == nil
}

// Prepare loads the plan's kernels, so that Launch loads nothing. Call Prepare before a CUDA graph captures the
// stream.
func (p *Plan) Prepare() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.kernels != nil {
		return nil
	}
	var kernels []Kernel
	for _, launch := range p.Entry.Launches {
		k, err := p.loader.driver.Load(p.loader.pack.files[p.Entry.File], launch.Entry, launch.SharedBytes)
		if err != nil {
			return fmt.Errorf("load %s of %s for %s: %w", launch.Entry, p.Entry.File, p.loader.gpu, err)
		}
		kernels = append(kernels, k)
	}
	p.kernels = kernels
	return nil
}

// alignment is the alignment in bytes that kernels need of every pointer, since they load vectors.
const alignment = 16

// Launch runs the plan's kernels on a stream. Launch takes a pointer for each tensor in Tensors, and ignores the
// pointers of empty tensors.
func (p *Plan) Launch(s Stream, pointers ...Pointer) error {
	if len(pointers) != len(p.Tensors) {
		return fmt.Errorf("it takes %d pointers, one for each tensor of the plan; got %d", len(p.Tensors), len(pointers))
	}
	given := make([]Pointer, len(pointers), len(pointers)+len(p.Entry.Scalars)+mapWords*len(p.maps))
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
	for _, s := range p.Entry.Scalars {
		given = append(given, Pointer(s.Value))
	}
	for _, m := range p.maps {
		given = append(append(given, given[m.of]), m.behind[:]...)
	}
	if err := p.Prepare(); err != nil {
		return err
	}
	defer runtime.KeepAlive(given)
	for i, launch := range p.Entry.Launches {
		arguments := lists.Of(p.places[i], func(at int) unsafe.Pointer { return unsafe.Pointer(&given[at]) })
		launch.Dependent = launch.Dependent && i > 0
		if err := p.loader.driver.Launch(p.kernels[i], launch, s, arguments); err != nil {
			return fmt.Errorf("launch %s: %w", launch.Entry, err)
		}
	}
	return nil
}

// ErrNoDriver means that the CUDA driver library is missing on this machine or cannot be used.
var ErrNoDriver = errors.New("no NVIDIA driver")
