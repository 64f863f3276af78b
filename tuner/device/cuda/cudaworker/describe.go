//go:build cuda

package cudaworker

import (
	"fmt"
	"os"
	"regexp"

	"gorgonia.org/cu"

	"autotune/internal/libcuda"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
)

// driverFile is where the kernel's driver tells its version.
const driverFile = "/proc/driver/nvidia/version"

var driverVersion = regexp.MustCompile(`\b\d{3,}\.\d+(?:\.\d+)?\b`)

// kernelDriver finds the version in the text in which the kernel's driver tells
// it, "" if there is none.
func kernelDriver(text string) string { return driverVersion.FindString(text) }

// describeAll describes every GPU, or says why there is none.
func describeAll() ([]wire.GPU, error) {
	if err := libcuda.Error(); err != nil {
		return nil, &wire.Fault{Kind: wire.NoDevice, Message: fmt.Sprintf("no NVIDIA driver: %v", err)}
	}
	count, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("count the GPUs: %w", err)
	}
	if count == 0 {
		return nil, &wire.Fault{Kind: wire.NoDevice, Message: "the NVIDIA driver knows no GPU"}
	}
	text, _ := os.ReadFile(driverFile) // not everywhere, not important
	all := make([]wire.GPU, count)
	for i := range all {
		all[i], err = describeDevice(cu.Device(i))
		if err != nil {
			return nil, fmt.Errorf("describe GPU %d: %w", i, err)
		}
		all[i].CUDA, all[i].Driver = cu.Version(), kernelDriver(string(text))
	}
	return all, nil
}

// Attributes that gorgonia.org/cu does not name.
const maxSharedMemoryPerBlockOptin cu.DeviceAttribute = 97

func describeDevice(d cu.Device) (wire.GPU, error) {
	name, err := d.Name()
	if err != nil {
		return wire.GPU{}, err
	}
	memory, err := d.TotalMem()
	if err != nil {
		return wire.GPU{}, err
	}
	read := reader{device: d}
	about := wire.GPU{
		Name: name,
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
		MaxGrid:   read.triple(cu.MaxGridDimX, cu.MaxGridDimY, cu.MaxGridDimZ),
		MaxBlock:  read.triple(cu.MaxBlockDimX, cu.MaxBlockDimY, cu.MaxBlockDimZ),
		SMThreads: read.int(cu.MaxThreadsPerMultiprocessor),
	}
	return about, read.err
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
		r.err = fmt.Errorf("attribute %d: %w", a, err)
	}
	return value
}

func (r *reader) triple(x, y, z cu.DeviceAttribute) [3]int64 {
	return [3]int64{int64(r.int(x)), int64(r.int(y)), int64(r.int(z))}
}
