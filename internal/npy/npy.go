// Package npy reads what the head of a .npy file says: the format in which NumPy keeps
// one array. The array's bytes are the rest of the file.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

type Header struct {
	Type  string // of the elements, as NumPy calls it: "float32"
	Shape []int64
	Start int64 // where the array's bytes begin
	Bytes int64 // that they take
}

const (
	magic = "\x93NUMPY"
	// maxText bounds the head. NumPy's own are of 128 bytes, unless elements are records.
	maxText = 64 << 10
	// maxDimensions is NumPy's own bound.
	maxDimensions = 64
)

// The text of a head is a dictionary in Python's syntax, of three keys in any order.
var (
	descrForm   = regexp.MustCompile(`(?:^|[{,])\s*['"]descr['"]\s*:\s*(?:'([^']*)'|"([^"]*)")`)
	fortranForm = regexp.MustCompile(`(?:^|[{,])\s*['"]fortran_order['"]\s*:\s*(True|False)\b`)
	shapeForm   = regexp.MustCompile(`(?:^|[{,])\s*['"]shape['"]\s*:\s*\(([^()]*)\)`)
	typeForm    = regexp.MustCompile(`^([<>|=])([fiub])([1248])$`)
)

func Read(r io.Reader) (Header, error) {
	text, start, err := readText(r)
	if err != nil {
		return Header{}, err
	}
	h := Header{Start: start}
	descr, fortran, shape := descrForm.FindStringSubmatch(text), fortranForm.FindStringSubmatch(text), shapeForm.FindStringSubmatch(text)
	if !strings.HasPrefix(text, "{") || descr == nil || fortran == nil || shape == nil {
		return h, errors.New("its head does not say the type, order and shape of one array")
	}
	if fortran[1] == "True" {
		return h, errors.New("its array is in Fortran's order; save numpy.ascontiguousarray(it)")
	}
	size, err := h.readType(descr[1] + descr[2])
	if err != nil {
		return h, err
	}
	h.Bytes = size
	if h.Shape, err = readShape(shape[1]); err != nil {
		return h, err
	}
	for _, n := range h.Shape {
		if n > 0 && h.Bytes > math.MaxInt64/n {
			return h, errors.New("its array would have more than 2^63 bytes")
		}
		h.Bytes *= n
	}
	return h, nil
}

func readText(r io.Reader) (text string, start int64, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:6]) != magic {
		return "", 0, errors.New("it is no .npy file: numpy.save writes one")
	}
	version := head[6]
	if version < 1 || version > 3 {
		return "", 0, fmt.Errorf("it is a .npy file of version %d, and 1 to 3 are known", version)
	}
	field := make([]byte, 4)[:min(2*version, 4)] // the head's length, of which version 1 has the lower half
	if _, err := io.ReadFull(r, field); err != nil {
		return "", 0, errors.New("it ends within its head")
	}
	length := int64(binary.LittleEndian.Uint32(field[:4]))
	if length > maxText {
		return "", 0, fmt.Errorf("its head would have %d bytes; %d are the most", length, maxText)
	}
	bytes := make([]byte, length)
	if _, err := io.ReadFull(r, bytes); err != nil {
		return "", 0, errors.New("it ends within its head")
	}
	return strings.TrimSpace(string(bytes)), int64(len(head)+len(field)) + length, nil
}

// readType reads "<f4", and gives the bytes of an element.
func (h *Header) readType(descr string) (size int64, err error) {
	form := typeForm.FindStringSubmatch(descr)
	if form == nil {
		return 0, fmt.Errorf("its elements are of the type %.40q; numbers and booleans are taken", descr)
	}
	size, _ = strconv.ParseInt(form[3], 10, 64)
	if form[1] == ">" && size > 1 {
		return 0, fmt.Errorf("its elements, %s, begin with the highest byte; save it with the lowest first, as %q", descr, "<"+descr[1:])
	}
	h.Type = map[string]string{"f": "float", "i": "int", "u": "uint"}[form[2]] + strconv.FormatInt(8*size, 10)
	switch {
	case form[2] == "b" && size == 1:
		h.Type = "bool"
	case form[2] == "b", form[2] == "f" && size == 1:
		return 0, fmt.Errorf("its elements are of the type %q, which does not exist", descr)
	}
	return size, nil
}

// readShape reads the inside of "(3, 4)", "(3,)" or "()".
func readShape(text string) ([]int64, error) {
	shape := []int64{}
	parts := strings.Split(text, ",")
	if last := len(parts) - 1; strings.TrimSpace(parts[last]) == "" {
		parts = parts[:last]
	}
	if len(parts) > maxDimensions {
		return nil, fmt.Errorf("its array has %d dimensions; %d are the most", len(parts), maxDimensions)
	}
	for _, part := range parts {
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(part), "L"), 10, 64)
		if err != nil || n < 0 {
			oneLine := strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
			return nil, fmt.Errorf("its shape, (%.80s), is not a list of lengths", oneLine)
		}
		shape = append(shape, n)
	}
	return shape, nil
}
