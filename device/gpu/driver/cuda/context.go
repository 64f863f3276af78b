//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/device"
	"autotune/device/gpu"
)

// context is the primary context of a GPU, with a stream and events.
type context struct {
	*monitor
	current cu.CUContext
	bounds  gpu.Bounds
	stream  cu.Stream
	events  []cu.Event
	queued  error // the first of what was queued since Err was asked
}

// Open makes the GPU's context current on this thread.
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
	c.inUse.Store(true)
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

func (c *context) Enter() error { return failure(cu.SetCurrentContext(c.current)) }

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
	// That copy may still be on its way, and the stream does not wait for it.
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

// keep keeps the first error of what is queued.
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

// module is a binary on the GPU.
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

// function is one of its kernels.
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
