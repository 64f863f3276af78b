package gpu

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"autotune/device"
	"autotune/device/answers"
	"autotune/operator"
)

// alignment is the alignment of tensors in bytes, the same as that of the driver's own allocations.
const alignment = 256

// guardBytes is the size of the guard zone on each side of a tensor. A stray write is usually near its tensor: an
// index that is one row or one tile too far. A guard zone of a megabyte holds several rows or tiles of a tensor.
const guardBytes = 1 << 20

// zoneWords is the size of struct Zone in kernels.cu, in words of 64 bits.
const zoneWords = 3

// zonesAround returns the guard zones before and after a tensor, encoded as words of struct Zone. The zone after a
// tensor begins at the word in which the tensor ends, and leaves out the tensor's bytes of that word.
func zonesAround(data uint64, bytes int64, blockEnd uint64) []uint64 {
	end := data + uint64(bytes)
	word := end / 4 * 4
	return []uint64{
		data - guardBytes, guardBytes / 4, 0,
		word, (blockEnd - word) / 4, end - word,
	}
}

func aligned(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }

// tensors are a problem's arguments on the GPU: the tensors with guard zones around them, and copies of some tensors.
type tensors struct {
	gpu       *holding
	arguments []operator.Argument
	flushed   int64 // bytes of the buffer that is written to empty the L2 cache

	data       []Address // by argument; 0 if it has no elements
	references []Address // the reference's outputs; 0 for tensors that are not compared
	pristine   []Address // copies that restore tensors; 0 unless a tensor is both read and written
	flush      Address
	zones      Address // table of guard zones
	zoneCount  int
	found      Address // results of checks: words that the device's own kernels add to, see verify.Layout
}

// allocate allocates the tensors and their guard zones, the reference's outputs, the copies from which tensors are
// restored, and the words for the results of checks. The function words returns the number of words that checks need,
// given the number of guard zones.
func (t *tensors) allocate(words func(zones int) int) (err error) {
	n := len(t.arguments)
	t.data, t.references, t.pristine = make([]Address, n), make([]Address, n), make([]Address, n)
	var zones []uint64
	for i, a := range t.arguments {
		if a.Elements == 0 {
			continue
		}
		bytes := aligned(a.Bytes())
		block, err := t.take(bytes + 2*guardBytes)
		if err == nil && a.Role.Compared() {
			t.references[i], err = t.take(bytes)
		}
		if err == nil && a.Role == operator.InOut {
			t.pristine[i], err = t.take(bytes)
		}
		if err != nil {
			return err
		}
		t.data[i] = block + guardBytes
		zones = append(zones, zonesAround(uint64(t.data[i]), a.Bytes(), uint64(block)+uint64(bytes+2*guardBytes))...)
	}
	t.zoneCount = len(zones) / zoneWords
	t.flushed = max(2*t.gpu.Bounds().L2Bytes, 32<<20)
	if t.flush, err = t.take(t.flushed); err != nil {
		return err
	}
	if t.found, err = t.take(8 * int64(words(t.zoneCount))); err != nil {
		return err
	}
	if t.zones, err = t.take(8 * int64(len(zones))); err != nil || len(zones) == 0 {
		return err
	}
	table := make([]byte, 0, 8*len(zones))
	for _, word := range zones {
		table = binary.NativeEndian.AppendUint64(table, word)
	}
	if err := t.gpu.Write(t.zones, table); err != nil {
		return fmt.Errorf("write the table of guard zones: %w", err)
	}
	return nil
}

// allocateBare allocates tensors of exactly their size, without guard zones or copies. Tensors that are not filled stay
// uninitialised, so that the sanitizer's tools notice reads of them.
func (t *tensors) allocateBare() error {
	t.references, t.pristine = make([]Address, len(t.arguments)), make([]Address, len(t.arguments))
	for _, a := range t.arguments {
		address, err := t.take(a.Bytes())
		if err != nil {
			return fmt.Errorf("allocate %s: %w", a.Name, err)
		}
		t.data = append(t.data, address)
	}
	return nil
}

func (t *tensors) take(bytes int64) (Address, error) {
	if bytes == 0 {
		return 0, nil
	}
	address, err := t.gpu.Allocate(bytes)
	if err != nil {
		return 0, fmt.Errorf("allocate %s for the problem: %v: %w", device.GiB(bytes), err, device.ErrMemory)
	}
	return address, nil
}

// passed returns the values that a kernel receives for the arguments: addresses and scalars.
func (t *tensors) passed() []uint64 {
	values := make([]uint64, len(t.arguments))
	for i, a := range t.arguments {
		values[i] = uint64(t.data[i])
		if a.Role == operator.Scalar {
			values[i] = a.Bits()
		}
	}
	return values
}

// start returns the address of the values that an argument must have before each launch.
func (t *tensors) start(argument int) Address { return cmp.Or(t.pristine[argument], t.data[argument]) }

// restores reports whether a launch changes tensors that it also reads, which must be restored before the next launch.
func (t *tensors) restores() bool {
	return slices.ContainsFunc(t.pristine, func(a Address) bool { return a != 0 })
}

func (t *tensors) restore(buffers []Address) {
	for i, pristine := range t.pristine {
		if pristine != 0 {
			t.gpu.Copy(buffers[i], pristine, t.arguments[i].Bytes())
		}
	}
}

func (t *tensors) restoreAll() { t.restore(t.data) }

// overwrite fills the tensors with the given role, in the given buffers; the function `with` returns the bits of an
// element for the tensor's type.
func (t *tensors) overwrite(role operator.Role, buffers []Address, with func(operator.Type) uint64) {
	for i, a := range t.arguments {
		if a.Role == role {
			t.set(buffers[i], a, with(a.Type))
		}
	}
}

// set sets every element of a tensor. For elements of 64 bits, set repeats a word of 32 bits, so both halves of the
// element must be equal.
func (t *tensors) set(address Address, a operator.Argument, bits uint64) {
	if size := min(a.Type.Bytes(), 4); a.Elements > 0 {
		t.gpu.Set(address, int(size), uint32(bits), a.Bytes()/size)
	}
}

func (t *tensors) element(buffers []Address, argument int, element int64) (uint64, error) {
	a, bits := t.arguments[argument], [8]byte{} // its lowest bytes come first
	size := a.Type.Bytes()
	if err := t.gpu.Read(bits[:size], buffers[argument]+Address(size*element)); err != nil {
		return 0, fmt.Errorf("read element %d of %s: %w", element, a.Name, err)
	}
	return binary.LittleEndian.Uint64(bits[:]), nil
}

func (t *tensors) readFile(to Address, file string, a operator.Argument) error {
	contents, done, err := answers.Map(file, a.Bytes())
	if err != nil {
		return err
	}
	defer done()
	return t.gpu.Write(to, contents)
}

// writtenAtOnce is the number of bytes of a tensor that are copied to a file at a time.
const writtenAtOnce = 64 << 20

func (t *tensors) writeFile(file string, from Address, a operator.Argument) error {
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	part := make([]byte, min(writtenAtOnce, a.Bytes()))
	for done := int64(0); done < a.Bytes() && err == nil; done += int64(len(part)) {
		part = part[:min(int64(len(part)), a.Bytes()-done)]
		if err = t.gpu.Read(part, from+Address(done)); err == nil {
			_, err = to.Write(part)
		}
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("write %s: %w", a.Name, err)
	}
	return nil
}
