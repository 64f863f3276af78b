//go:build cuda

package cuda

import (
	"fmt"
	"os"
	"regexp"

	"gorgonia.org/cu"

	"autotune/device"
	"autotune/device/gpu"
	"autotune/internal/libcuda"
	"autotune/operator"
)

// driverFile is where the kernel's driver tells its version.
const driverFile = "/proc/driver/nvidia/version"

var driverVersion = regexp.MustCompile(`\b\d{3,}\.\d+(?:\.\d+)?\b`)

// kernelDriver finds the version in the text in which the kernel's driver tells it, "" if there is none.
func kernelDriver(text string) string { return driverVersion.FindString(text) }

// driverText names a driver as device.Info shows it.
func driverText(kernel string, cuda int) string {
	// The driver tells 13010 for CUDA 13.1.
	supported := fmt.Sprintf("CUDA %d.%d", cuda/1000, cuda%1000/10)
	if kernel == "" {
		return supported
	}
	return fmt.Sprintf("%s (%s)", kernel, supported)
}

// List describes every GPU, or says why there is none.
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
	text, _ := os.ReadFile(driverFile) // not everywhere, not important
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

// Attributes that gorgonia.org/cu does not name.
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
		MaxGrid:   read.triple(cu.MaxGridDimX, cu.MaxGridDimY, cu.MaxGridDimZ),
		MaxBlock:  read.triple(cu.MaxBlockDimX, cu.MaxBlockDimY, cu.MaxBlockDimZ),
		SMThreads: read.int(cu.MaxThreadsPerMultiprocessor),
	}
	return b, read.err
}

// reader reads a device's attributes and keeps the first error.
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

func (r *reader) triple(x, y, z cu.DeviceAttribute) [3]int64 {
	return [3]int64{int64(r.int(x)), int64(r.int(y)), int64(r.int(z))}
}
