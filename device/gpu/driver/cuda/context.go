//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/device"
	"autotune/device/gpu"
	"autotune/internal/libcuda"
	"autotune/operator"
)

// context is the primary context of a GPU, with a stream and events.
type context struct {
	*monitor
	current cu.CUContext
	bounds  gpu.Bounds
	stream  cu.Stream
	events  []cu.Event
	queued  error // first error of queued work since the last call of Err
}

func (d driver) Open(ordinal, events int) (gpu.GPU, error) {
	all, err := d.List()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(all) {
		return nil, fmt.Errorf("there is no GPU %d: %w", ordinal, device.ErrNone)
	}
	c := &context{monitor: startMonitor(cu.Device(ordinal))}
	if c.bounds, err = boundsOf(cu.Device(ordinal), all[ordinal].Limits); err != nil {
		return nil, fmt.Errorf("describe GPU %d: %w", ordinal, err)
	}
	if c.current, err = cu.Device(ordinal).RetainPrimaryCtx(); err != nil {
		return nil, fmt.Errorf("create a context on GPU %d: %w", ordinal, failure(err))
	}
	if err := c.Enter(); err != nil {
		return nil, fmt.Errorf("use the context of GPU %d: %w", ordinal, err)
	}
	if c.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return nil, fmt.Errorf("create a stream: %w", failure(err))
	}
	c.events = make([]cu.Event, events)
	for i := range c.events {
		if c.events[i], err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return nil, fmt.Errorf("create an event: %w", failure(err))
		}
	}
	return c, nil
}

func (c *context) Enter() error       { return failure(cu.SetCurrentContext(c.current)) }
func (c *context) Bounds() gpu.Bounds { return c.bounds }

func (c *context) Free() (free, total int64, err error) {
	free, total, err = cu.MemInfo()
	return free, total, failure(err)
}

func (c *context) Allocate(bytes int64) (gpu.Address, error) {
	address, err := cu.MemAlloc(bytes)
	return gpu.Address(address), failure(err)
}

func (c *context) Release(at gpu.Address) error { return failure(cu.MemFree(cu.DevicePtr(at))) }

func (c *context) Write(to gpu.Address, from []byte) error {
	if err := cu.MemcpyHtoD(cu.DevicePtr(to), unsafe.Pointer(unsafe.SliceData(from)), int64(len(from))); err != nil {
		return failure(err)
	}
	// An asynchronous copy may still be running when MemcpyHtoD returns, and later work on the stream would not wait
	// for the copy.
	return c.Synchronize()
}

func (c *context) Read(to []byte, from gpu.Address) error {
	return failure(cu.MemcpyDtoH(unsafe.Pointer(unsafe.SliceData(to)), cu.DevicePtr(from), int64(len(to))))
}

func (c *context) Synchronize() error { return failure(cu.Synchronize()) }

func (c *context) Copy(to, from gpu.Address, bytes int64) {
	c.keep(cu.MemcpyDtoDAsync(cu.DevicePtr(to), cu.DevicePtr(from), bytes, c.stream))
}

func (c *context) Set(to gpu.Address, size int, pattern uint32, count int64) {
	switch at := cu.DevicePtr(to); size {
	case 1:
		c.keep(cu.MemsetD8Async(at, byte(pattern), count, c.stream))
	case 2:
		c.keep(cu.MemsetD16Async(at, uint16(pattern), count, c.stream))
	default:
		c.keep(cu.MemsetD32Async(at, uint(pattern), count, c.stream))
	}
}

func (c *context) Record(event int) { c.keep(c.events[event].Record(c.stream)) }

func (c *context) keep(err error) {
	if c.queued == nil {
		c.queued = failure(err)
	}
}

func (c *context) Err() error {
	err := c.queued
	c.queued = nil
	return err
}

func (c *context) Passed(event int) (bool, error) {
	err := c.events[event].Query()
	if errors.Is(err, cu.NotReady) {
		return false, nil
	}
	return err == nil, failure(err)
}

func (c *context) Elapsed(from, to int) (float64, error) {
	ms, err := c.events[from].Elapsed(c.events[to])
	return ms, failure(err)
}

type module struct{ cu.Module }

func (c *context) Load(code []byte) (gpu.Module, error) {
	m, err := cu.LoadData(string(code))
	if err != nil {
		return nil, failure(err)
	}
	return module{m}, nil
}

func (m module) Function(symbol string) (gpu.Function, error) {
	f, err := m.Module.Function(symbol)
	if err != nil {
		return nil, failure(err)
	}
	return function{f}, nil
}

func (m module) Global(name string) (gpu.Address, int64, error) {
	at, bytes, err := m.Module.Global(name)
	return gpu.Address(at), bytes, failure(err)
}

func (m module) Unload() error { return failure(m.Module.Unload()) }

type function struct{ cu.Function }

func (f function) Needs() (n gpu.Needs, err error) {
	for attribute, to := range map[cu.FunctionAttribute]func(int){
		cu.NumRegs:              func(x int) { n.Registers = x },
		cu.SharedSizeBytes:      func(x int) { n.StaticShared = int64(x) },
		cu.LocalSizeBytes:       func(x int) { n.Local = int64(x) },
		cu.FnMaxThreadsPerBlock: func(x int) { n.MaxThreads = x },
	} {
		value, err := f.Attribute(attribute)
		if err != nil {
			return n, failure(err)
		}
		to(value)
	}
	return n, nil
}

func (f function) Occupancy(threads int, sharedBytes int64) (blocks int, err error) {
	blocks, err = f.MaxActiveBlocksPerMultiProcessor(threads, sharedBytes)
	return blocks, failure(err)
}

// driverFile is the file in which NVIDIA's kernel module states its version.
const driverFile = "/proc/driver/nvidia/version"

var driverVersion = regexp.MustCompile(`\b\d{3,}\.\d+(?:\.\d+)?\b`)

// kernelDriver finds the version of NVIDIA's kernel module in the text of driverFile, or returns "".
func kernelDriver(text string) string { return driverVersion.FindString(text) }

func driverText(kernel string, cuda int) string {
	// The driver reports 13010 for CUDA 13.1.
	supported := fmt.Sprintf("CUDA %d.%d", cuda/1000, cuda%1000/10)
	if kernel == "" {
		return supported
	}
	return fmt.Sprintf("%s (%s)", kernel, supported)
}

func (driver) List() ([]device.Info, error) {
	if err := libcuda.Error(); err != nil {
		return nil, fmt.Errorf("no NVIDIA driver: %w: %w", err, device.ErrNone)
	}
	count, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("count the GPUs: %w", failure(err))
	}
	if count == 0 {
		return nil, fmt.Errorf("the NVIDIA driver knows no GPU: %w", device.ErrNone)
	}
	text, _ := os.ReadFile(driverFile) // the file is missing on some systems, and the version is not essential
	driver := driverText(kernelDriver(string(text)), cu.Version())
	all := make([]device.Info, count)
	for i := range all {
		if all[i], err = describeDevice(cu.Device(i)); err != nil {
			return nil, fmt.Errorf("describe GPU %d: %w", i, err)
		}
		all[i].Driver = driver
	}
	return all, nil
}

// maxSharedMemoryPerBlockOptin is an attribute that gorgonia.org/cu does not define.
const maxSharedMemoryPerBlockOptin cu.DeviceAttribute = 97

func describeDevice(d cu.Device) (device.Info, error) {
	name, err := d.Name()
	if err != nil {
		return device.Info{}, failure(err)
	}
	memory, err := d.TotalMem()
	if err != nil {
		return device.Info{}, failure(err)
	}
	read := reader{device: d}
	about := device.Info{
		Name: name,
		Kind: device.CUDA,
		Limits: operator.Limits{
			Arch:               10*read.int(cu.ComputeCapabilityMajor) + read.int(cu.ComputeCapabilityMinor),
			SMs:                read.int(cu.MultiprocessorCount),
			MaxThreadsPerBlock: read.int(cu.MaxThreadsPerBlock),
			MaxSharedPerBlock:  read.int(maxSharedMemoryPerBlockOptin),
			SharedPerSM:        read.int(cu.MaxSharedMemoryPerMultiprocessor),
			RegistersPerSM:     read.int(cu.MaxRegistersPerMultiprocessor),
			WarpSize:           read.int(cu.WarpSize),
			L2Bytes:            int64(read.int(cu.L2CacheSize)),
			MemoryBytes:        memory,
		},
	}
	return about, read.err
}

func boundsOf(d cu.Device, l operator.Limits) (gpu.Bounds, error) {
	read := reader{device: d}
	b := gpu.Bounds{
		Limits:    l,
		SMThreads: read.int(cu.MaxThreadsPerMultiprocessor),
	}
	return b, read.err
}

type reader struct {
	device cu.Device
	err    error
}

func (r *reader) int(a cu.DeviceAttribute) int {
	if r.err != nil {
		return 0
	}
	value, err := r.device.Attribute(a)
	if err != nil {
		r.err = fmt.Errorf("attribute %d: %w", a, failure(err))
	}
	return value
}
