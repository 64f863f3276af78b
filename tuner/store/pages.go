package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

// bbolt gives up a file at its first damaged page. What follows reads its pages
// without it, and goes on beside each one that is damaged. Nothing that stands in
// a page is believed before it is compared with the bounds of what was read.
//
// A page has a header (number, kind, count of elements, pages that it overflows
// into) and its elements. Those of a branch lead to pages, those of a leaf hold a
// key and a value. A bucket is a value that holds its root's number, or, with the
// number 0, its only page.
const (
	pageHeader   = 16
	elementSize  = 16
	bucketHeader = 16

	branchPage = 0x01
	leafPage   = 0x02

	bucketFlag = 0x01
)

// salvager walks through what a root page leads to.
type salvager struct {
	file     *os.File
	size     int64 // of the file
	pageSize int64

	seen   map[uint64]bool
	value  func(path []string, raw []byte) error // takes what is whole; nil: only pages are followed
	issues []Issue
}

func newSalvager(f *os.File, size int64, root []byte) *salvager {
	return &salvager{file: f, size: size, pageSize: int64(binary.LittleEndian.Uint32(root[pageSizeAt:])), seen: map[uint64]bool{}}
}

// report notes a fault in what lies under a path.
func (s *salvager) report(path []string, key, format string, args ...any) {
	where, inner := place(append(slices.Clip(path), key))
	if len(path) < 2 {
		where, inner = "file", key
	}
	if len(s.issues) < maxIssues {
		s.issues = append(s.issues, Issue{where, inner, fmt.Sprintf(format, args...)})
	}
}

// follow walks through a page and those below. It returns only the errors of
// value.
func (s *salvager) follow(id uint64, path []string) error {
	name := fmt.Sprintf("page %d", id)
	if s.seen[id] {
		s.report(path, name, "more than one page leads to it")
		return nil
	}
	s.seen[id] = true
	page, err := s.read(id)
	if err != nil {
		s.report(path, name, "what it held is left: %v", err)
		return nil
	}
	if s.value == nil {
		s.reach(id+1, s.end(id, page), name, path)
	}
	return s.elements(page, name, path)
}

// reach notes pages that a page overflows into. To save values it is better not to
// believe that.
func (s *salvager) reach(first, end uint64, name string, path []string) {
	for id := first; id < end; id++ {
		if s.seen[id] {
			s.report(path, name, "it reaches into page %d, which has another use", id)
			return
		}
		s.seen[id] = true
	}
}

// end is the page behind one that was read.
func (s *salvager) end(id uint64, page []byte) uint64 {
	return id + uint64((int64(len(page))+s.pageSize-1)/s.pageSize)
}

// read returns a page with those that it overflows into, as far as they are there.
func (s *salvager) read(id uint64) ([]byte, error) {
	pages := uint64(s.size / s.pageSize)
	if id < 2 || id >= pages+1 {
		return nil, errors.New("it lies outside of the file")
	}
	head := make([]byte, pageHeader)
	at := int64(id) * s.pageSize
	if _, err := s.file.ReadAt(head, at); err != nil {
		return nil, errors.New("the file ends before it")
	}
	if has := binary.LittleEndian.Uint64(head); has != id {
		return nil, fmt.Errorf("it calls itself page %d", has)
	}
	overflow := int64(binary.LittleEndian.Uint32(head[12:]))
	page := make([]byte, min((1+overflow)*s.pageSize, s.size-at))
	if _, err := s.file.ReadAt(page, at); err != nil {
		return nil, err
	}
	return page, nil
}

// elements walks through the elements of a page.
func (s *salvager) elements(page []byte, name string, path []string) error {
	if len(page) < pageHeader {
		s.report(path, name, "it is cut")
		return nil
	}
	kind, count := binary.LittleEndian.Uint16(page[8:]), int(binary.LittleEndian.Uint16(page[10:]))
	if kind != branchPage && kind != leafPage {
		s.report(path, name, "what it held is left: its kind reads %#x", kind)
		return nil
	}
	for i := range count {
		at := pageHeader + i*elementSize
		if at+elementSize > len(page) {
			s.report(path, name, "it is cut after %d of %d elements", i, count)
			return nil
		}
		var err error
		if kind == branchPage {
			err = s.follow(binary.LittleEndian.Uint64(page[at+8:]), path)
		} else {
			err = s.leaf(page[at:], name, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaf takes the element with which rest begins. Its key and value lie where it
// says, counted from its own beginning.
func (s *salvager) leaf(rest []byte, name string, path []string) error {
	number := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(rest[at:])) }
	key, value, end := number(4), number(4)+number(8), number(4)+number(8)+number(12)
	if end > uint64(len(rest)) {
		s.report(path, name, "one of its elements reaches beyond it and is left")
		return nil
	}
	here := append(slices.Clip(path), string(rest[key:value]))
	if isBucket(here) {
		return s.bucket(rest[value:end], name, here)
	}
	raw := rest[value:end]
	if s.value == nil {
		return nil
	}
	if err := checkValue(here, raw, number(0)&bucketFlag != 0); err != nil {
		s.report(path, here[len(here)-1], "%v", err)
		return nil
	}
	return s.value(here, raw)
}

// bucket walks through what a bucket's value leads to.
func (s *salvager) bucket(raw []byte, name string, path []string) error {
	if len(raw) < bucketHeader {
		s.report(path, name, "its bucket has %d bytes and is left", len(raw))
		return nil
	}
	if root := binary.LittleEndian.Uint64(raw); root != 0 {
		return s.follow(root, path)
	}
	return s.elements(raw[bucketHeader:], name, path)
}
