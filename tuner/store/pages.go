package store

import (
	"encoding/binary"
	"fmt"
	"io"

	"go.etcd.io/bbolt"
)

// The layout of a bbolt page: a header, then elements, then the keys and values
// that they point at. It is read here once more, byte by byte within bounds,
// because bbolt trusts its pages: on a damaged file its own check can touch
// memory that is not there, or run in circles.
const (
	branchPage  = 0x01
	leafPage    = 0x02
	elementSize = 16

	bucketElement    = 0x01 // the value is a bucket
	bucketHeaderSize = 16
)

// pageWalker follows the pages of a file from the root.
type pageWalker struct {
	file     io.ReaderAt
	pageSize int
	pages    int          // in the file
	seen     map[int]bool // first pages and the ones that they overflow to
}

// walkPages returns what is wrong with the first page that does not hold what
// it should.
func walkPages(file io.ReaderAt, tx *bbolt.Tx) error {
	size := tx.DB().Info().PageSize
	w := &pageWalker{file: file, pageSize: size, pages: int(tx.Size() / int64(size)), seen: map[int]bool{0: true, 1: true}}
	return w.walk(uint64(tx.Cursor().Bucket().Root()))
}

func (w *pageWalker) walk(id uint64) error {
	page, err := w.load(id)
	if err != nil {
		return err
	}
	if err := w.elements(page); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// load reads a page with its overflow and sees that it is the one it claims to
// be and was not met before.
func (w *pageWalker) load(id uint64) ([]byte, error) {
	if id < 2 || id >= uint64(w.pages) {
		return nil, fmt.Errorf("a page %d is named, the file has %d", id, w.pages)
	}
	head := make([]byte, pageHeaderSize)
	if _, err := w.file.ReadAt(head, int64(id)*int64(w.pageSize)); err != nil {
		return nil, err
	}
	if says := binary.NativeEndian.Uint64(head); says != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, says)
	}
	span := uint64(binary.NativeEndian.Uint32(head[12:])) + 1
	if id+span > uint64(w.pages) {
		return nil, fmt.Errorf("page %d claims %d pages, the file has %d", id, span, w.pages)
	}
	for n := id; n < id+span; n++ {
		if w.seen[int(n)] {
			return nil, fmt.Errorf("page %d belongs to two places", n)
		}
		w.seen[int(n)] = true
	}
	page := make([]byte, span*uint64(w.pageSize))
	_, err := w.file.ReadAt(page, int64(id)*int64(w.pageSize))
	return page, err
}

// elements sees that what a page's elements point at lies within the page, and
// follows them.
func (w *pageWalker) elements(page []byte) error {
	kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	if pageHeaderSize+count*elementSize > len(page) {
		return fmt.Errorf("it claims %d elements, more than it has room for", count)
	}
	for i := range count {
		element := page[pageHeaderSize+i*elementSize:]
		var err error
		switch kind {
		case branchPage:
			err = w.branch(element)
		case leafPage:
			err = w.leaf(element)
		default:
			err = fmt.Errorf("its type is %#x, neither branch nor leaf", kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *pageWalker) branch(element []byte) error {
	position, keySize := binary.NativeEndian.Uint32(element), binary.NativeEndian.Uint32(element[4:])
	if uint64(position)+uint64(keySize) > uint64(len(element)) {
		return fmt.Errorf("a key of %d bytes reaches beyond it", keySize)
	}
	return w.walk(binary.NativeEndian.Uint64(element[8:]))
}

func (w *pageWalker) leaf(element []byte) error {
	flags, position := binary.NativeEndian.Uint32(element), binary.NativeEndian.Uint32(element[4:])
	keySize, valueSize := binary.NativeEndian.Uint32(element[8:]), binary.NativeEndian.Uint32(element[12:])
	begin := uint64(position) + uint64(keySize)
	if begin+uint64(valueSize) > uint64(len(element)) {
		return fmt.Errorf("a key of %d and a value of %d bytes reach beyond it", keySize, valueSize)
	}
	if flags&bucketElement == 0 {
		return nil
	}
	value := element[begin : begin+uint64(valueSize)]
	if len(value) < bucketHeaderSize {
		return fmt.Errorf("a bucket's header has %d bytes", len(value))
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return w.walk(root)
	}
	// A small bucket lies within its parent's page.
	inline := value[bucketHeaderSize:]
	if len(inline) < pageHeaderSize {
		return fmt.Errorf("a bucket within it has %d bytes", len(inline))
	}
	return w.elements(inline)
}
