package pack

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"autotune/internal/sharedlib"
)

// libcuda is the CUDA driver's library, opened at run time.
type libcuda struct {
	init           func(flags uint32) int32
	errorString    func(code int32, text **byte) int32
	device         func(device *int32, ordinal int32) int32
	name           func(name *byte, size, device int32) int32
	attribute      func(value *int32, attribute, device int32) int32
	retain         func(context *uintptr, device int32) int32
	setCurrent     func(context uintptr) int32
	moduleLoad     func(module *uintptr, image *byte) int32
	moduleFunction func(function *uintptr, module uintptr, name *byte) int32
	setAttribute   func(function uintptr, attribute, value int32) int32
	launch         func(function uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr, arguments, extra *unsafe.Pointer) int32

	// The fields load and launchEx are cuFuncLoad and cuLaunchKernelEx, or nil if the driver is too old.
	load     func(function uintptr) int32
	launchEx func(config *launchConfig, function uintptr, arguments, extra *unsafe.Pointer) int32
}

// These constants have the values that the CUDA driver's API gives them.
const (
	majorAttribute         = 75
	minorAttribute         = 76
	sharedOptInAttribute   = 97
	maxDynamicSharedOfFunc = 8
	cooperativeLaunch      = 2
	clusterLaunch          = 4
	dependentLaunch        = 6
)

// launchConfig has the layout of CUlaunchConfig.
type launchConfig struct {
	grid, block [3]uint32
	shared      uint32
	stream      uintptr
	attributes  *launchAttribute
	count       uint32
}

// launchAttribute has the layout of CUlaunchAttribute.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [16]uint32
}

var openLibcuda = sync.OnceValues(func() (*libcuda, error) {
	handle, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	c := &libcuda{}
	if err == nil {
		err = sharedlib.Bind(handle, map[string]any{
			"cuInit": &c.init, "cuGetErrorString": &c.errorString, "cuDeviceGet": &c.device, "cuDeviceGetName": &c.name,
			"cuDeviceGetAttribute": &c.attribute, "cuDevicePrimaryCtxRetain": &c.retain, "cuCtxSetCurrent": &c.setCurrent,
			"cuModuleLoadData": &c.moduleLoad, "cuModuleGetFunction": &c.moduleFunction,
			"cuFuncSetAttribute": &c.setAttribute, "cuLaunchKernel": &c.launch,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	// Ignore errors of these two calls of Bind, since older drivers lack cuLaunchKernelEx and cuFuncLoad.
	_ = sharedlib.Bind(handle, map[string]any{"cuLaunchKernelEx": &c.launchEx})
	_ = sharedlib.Bind(handle, map[string]any{"cuFuncLoad": &c.load})
	return c, c.check("cuInit", c.init(0))
})

// check turns a CUresult into an error.
func (c *libcuda) check(call string, result int32) error {
	if result == 0 {
		return nil
	}
	var text *byte
	if c.errorString(result, &text) != 0 || text == nil {
		return fmt.Errorf("%s: error %d", call, result)
	}
	return fmt.Errorf("%s: %s", call, unix.BytePtrToString(text))
}

// cuda is a GPU that is used through libcuda.
type cuda struct {
	*libcuda
	gpu     GPU
	context uintptr
	mutex   sync.Mutex
	modules map[*byte]uintptr // loaded modules by the first byte of their images
}

// CUDA opens a GPU by its number. The driver uses the GPU's primary context, as the CUDA runtime does, so it accepts
// pointers and streams of the CUDA runtime.
func CUDA(ordinal int) (Driver, error) {
	lib, err := openLibcuda()
	if err != nil {
		return nil, err
	}
	c := &cuda{libcuda: lib, modules: map[*byte]uintptr{}}
	var device, major, minor, shared int32
	name := make([]byte, 256)
	err = c.check("cuDeviceGet", c.device(&device, int32(ordinal)))
	if err == nil {
		err = cmp.Or(
			c.check("cuDeviceGetName", c.name(&name[0], int32(len(name)), device)),
			c.check("cuDeviceGetAttribute", c.attribute(&major, majorAttribute, device)),
			c.check("cuDeviceGetAttribute", c.attribute(&minor, minorAttribute, device)),
			c.check("cuDeviceGetAttribute", c.attribute(&shared, sharedOptInAttribute, device)),
			c.check("cuDevicePrimaryCtxRetain", c.retain(&c.context, device)))
	}
	if err != nil {
		return nil, fmt.Errorf("open GPU %d: %w", ordinal, err)
	}
	c.gpu = GPU{Name: unix.ByteSliceToString(name), Arch: int(10*major + minor), SharedBytes: int64(shared)}
	return c, nil
}

func (c *cuda) GPU() GPU { return c.gpu }

// current makes the GPU's context current in this thread, and returns the function that releases the thread.
func (c *cuda) current() (release func(), err error) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread, c.check("cuCtxSetCurrent", c.setCurrent(c.context))
}

func (c *cuda) Load(image []byte, entry string, sharedBytes int64) (Kernel, error) {
	release, err := c.current()
	defer release()
	if err != nil {
		return 0, err
	}
	m, err := c.module(image)
	if err != nil {
		return 0, err
	}
	var function uintptr
	err = c.check("cuModuleGetFunction", c.moduleFunction(&function, m, &append([]byte(entry), 0)[0]))
	if err == nil && sharedBytes > 0 { // more than 48 KB must be allowed; the kernel's static memory counts, too
		err = c.check("cuFuncSetAttribute", c.setAttribute(function, maxDynamicSharedOfFunc, int32(sharedBytes)))
	}
	if err == nil && c.load != nil { // load the kernel now, not at the first launch
		err = c.check("cuFuncLoad", c.load(function))
	}
	return Kernel(function), err
}

// module returns the driver's module for a binary, which it loads at the first call for this binary.
func (c *cuda) module(image []byte) (m uintptr, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	first := &image[0]
	if m = c.modules[first]; m != 0 {
		return m, nil
	}
	if err = c.check("cuModuleLoadData", c.moduleLoad(&m, first)); err == nil {
		c.modules[first] = m
	}
	return m, err
}

func (c *cuda) Launch(k Kernel, l Launch, s Stream, arguments []unsafe.Pointer) error {
	release, err := c.current()
	defer release()
	if err != nil {
		return err
	}
	grid, block := extent(l.Grid), extent(l.Block)
	taken := unsafe.SliceData(arguments)
	attributes := attributesOf(l)
	if len(attributes) == 0 {
		return c.check("cuLaunchKernel", c.launch(uintptr(k), grid[0], grid[1], grid[2], block[0], block[1], block[2],
			uint32(l.SharedBytes), uintptr(s), taken, nil))
	}
	if c.launchEx == nil {
		return fmt.Errorf("this driver has no cuLaunchKernelEx, which the launch needs: CUDA 11.8 or a newer one has it")
	}
	config := &launchConfig{grid: grid, block: block, shared: uint32(l.SharedBytes), stream: uintptr(s), attributes: &attributes[0], count: uint32(len(attributes))}
	return c.check("cuLaunchKernelEx", c.launchEx(config, uintptr(k), taken, nil))
}

func extent(e [3]int64) [3]uint32 { return [3]uint32{uint32(e[0]), uint32(e[1]), uint32(e[2])} }

// attributesOf returns a launch's attributes in the driver's form. The driver takes a launch's grid, block and shared
// memory as fields of CUlaunchConfig, not as attributes.
func attributesOf(l Launch) (all []launchAttribute) {
	add := func(id uint32, values ...uint32) {
		a := launchAttribute{id: id}
		copy(a.value[:], values)
		all = append(all, a)
	}
	if l.Cooperative {
		add(cooperativeLaunch, 1)
	}
	if cluster := extent(l.Cluster); cluster != [3]uint32{} {
		add(clusterLaunch, cluster[:]...)
	}
	if l.Dependent {
		add(dependentLaunch, 1)
	}
	return all
}
