package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// file is a .npy file of a version with some head.
func file(version byte, head string) []byte {
	text := head + "\n"
	data := append([]byte(magic), version, 0)
	if version == 1 {
		data = binary.LittleEndian.AppendUint16(data, uint16(len(text)))
	} else {
		data = binary.LittleEndian.AppendUint32(data, uint32(len(text)))
	}
	return append(data, text...)
}

func head(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }   ", descr, order, shape)
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		version            byte
		descr, shape, want string
		bytes              int64
	}{
		{1, "<f4", "3, 4", "float32 [3 4]", 48},
		{2, "<f8", "5,", "float64 [5]", 40},
		{3, "|b1", "", "bool []", 1},
		{1, "|i1", "0, 7", "int8 [0 7]", 0},
		{1, "<u8", "2L, 2L", "uint64 [2 2]", 32},
		{1, "<f2", " 7 ,", "float16 [7]", 14},
	} {
		data := file(tt.version, head(tt.descr, "False", tt.shape))
		h, err := Read(bytes.NewReader(append(slices.Clone(data), 1, 2, 3)))
		if got := fmt.Sprint(h.Type, " ", h.Shape); err != nil || got != tt.want || h.Bytes != tt.bytes || h.Start != int64(len(data)) {
			t.Errorf("%s (%s): %s, %d bytes from %d, %v", tt.descr, tt.shape, got, h.Bytes, h.Start, err)
		}
	}
	other := `{"shape": (2, 3), "fortran_order": False, "descr": "<i4"}`
	if h, err := Read(bytes.NewReader(file(1, other))); err != nil || h.Type != "int32" || h.Bytes != 24 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestReadHostile(t *testing.T) {
	long := file(2, head("<f4", "False", "1"))
	binary.LittleEndian.PutUint32(long[8:], 1<<32-1)
	cut := file(1, head("<f4", "False", "1"))
	for want, data := range map[string][]byte{
		"no .npy file":                     []byte("PK\x03\x04 an archive"),
		"it is no .npy file":               nil,
		"ends within":                      cut[:30],
		"it ends within its head":          cut[:9],
		"version 9":                        file(9, ""),
		"would have 4294967295 bytes":      long,
		"in Fortran's order":               file(1, head("<f4", "True", "3, 4")),
		"begin with the highest byte":      file(1, head(">f4", "False", "3, 4")),
		"of the type \"|O\"":               file(1, head("|O", "False", "3, 4")),
		"of the type \"<b8\", which does ": file(1, head("<b8", "False", "3, 4")),
		"more than 2^63 bytes":             file(1, head("<f8", "False", "4611686018427387904, 4")),
		"is not a list of lengths":         file(1, head("<f8", "False", "-1, 4")),
		"(1e9), is not a list":             file(1, head("<f8", "False", "1e9")),
		"65 dimensions":                    file(1, head("<f8", "False", strings.Repeat("1, ", 65))),
		"does not say the type":            file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"),
		"its head does not say":            file(1, "__import__('os').system('true')"),
	} {
		if h, err := Read(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v; want %s", h, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(1, head("<f4", "False", "3, 4")))
	f.Add(file(2, head("|b1", "False", "")))
	f.Add(file(3, `{"shape": (2, 3), "fortran_order": False, "descr": "<i4"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("two lines: %q", err)
			}
			return
		}
		if h.Start > int64(len(data)) || h.Bytes < 0 || h.Type == "" || len(h.Shape) > maxDimensions {
			t.Errorf("%+v of %d bytes", h, len(data))
		}
		for _, n := range h.Shape {
			if n < 0 || n == 0 && h.Bytes != 0 {
				t.Errorf("%+v", h)
			}
		}
	})
}
