package store

import (
	"encoding/binary"
	"fmt"
	"os"
)

// Where a root page's contents have the page that lists the free ones, and the
// first page that was never used.
const (
	metaFreeAt = 32
	metaEndAt  = 40
)

// freePage is the kind of a page that lists free ones. Where they are too many for
// the page's count, the first element is their number.
const (
	freePage  = 0x10
	manyPages = 0xffff
	idSize    = 8
)

// structure sees that no page has two uses, before a file is written. bbolt would
// believe a damaged list of free pages, or a damaged length of a page, and write
// over trials that are whole.
func (s *Store) structure() error {
	f, err := os.OpenFile(s.path, os.O_RDWR, 0) // one that may not be written is refused at once
	if err != nil {
		return unusable(s.path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return unusable(s.path, err)
	}
	roots, _ := roots(f)
	if len(roots) == 0 {
		return &DamagedError{s.path, "both pages that tell where everything lies are damaged"}
	}
	w := newSalvager(f, info.Size(), roots[0])
	if err := w.follow(binary.LittleEndian.Uint64(roots[0][metaRootAt:]), nil); err != nil {
		return err
	}
	w.free(roots[0])
	if len(w.issues) > 0 {
		return &DamagedError{s.path, w.issues[0].String()}
	}
	return nil
}

// free looks at the list of free pages: each must be one that nothing leads to.
func (s *salvager) free(root []byte) {
	id, end := binary.LittleEndian.Uint64(root[metaFreeAt:]), binary.LittleEndian.Uint64(root[metaEndAt:])
	name := fmt.Sprintf("page %d, which lists the free ones", id)
	page, err := s.read(id)
	if err != nil {
		s.report(nil, name, "%v", err)
		return
	}
	s.reach(id, s.end(id, page), name, nil)
	kind, n := binary.LittleEndian.Uint16(page[8:]), int(binary.LittleEndian.Uint16(page[10:]))
	ids := page[pageHeader:]
	if n == manyPages && len(ids) >= idSize {
		n, ids = int(binary.LittleEndian.Uint64(ids)), ids[idSize:]
	}
	if kind != freePage || n < 0 || n > len(ids)/idSize {
		s.report(nil, name, "its kind reads %#x, its length %d", kind, n)
		return
	}
	for i := range n {
		free := binary.LittleEndian.Uint64(ids[i*idSize:])
		if free < 2 || free >= end || s.seen[free] {
			s.report(nil, name, "page %d is not free", free)
			return
		}
		s.seen[free] = true
	}
}
