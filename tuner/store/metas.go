package store

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// bbolt keeps two root pages, 0 and 1, and writes them in turn: the newer one
// makes a transaction valid. Where the newer is damaged, bbolt silently takes the
// older, and the last transaction is gone. bbolt has no call that tells, so the
// few bytes that tell are read here.
const (
	metaMagic         = 0xED0CDAED
	metaStart         = 16 // after the page's header
	pageSizeAt        = 8
	metaTransactionAt = 48
	metaSumAt         = 56
	metaSize          = 64
)

// A root is one of the two root pages.
type root struct {
	at          int64 // of its contents in the file
	sound       bool
	pageSize    int64
	transaction uint64 // that wrote it
}

// roots reads both root pages.
func roots(f io.ReaderAt) [2]root {
	first := readRoot(f, metaStart)
	size := int64(os.Getpagesize())
	if first.sound {
		size = first.pageSize
	}
	return [2]root{first, readRoot(f, size+metaStart)}
}

func readRoot(f io.ReaderAt, at int64) root {
	var raw [metaSize]byte
	_, err := f.ReadAt(raw[:], at)
	sum := fnv.New64a()
	sum.Write(raw[:metaSumAt])
	return root{
		at:          at,
		sound:       err == nil && binary.LittleEndian.Uint32(raw[:]) == metaMagic && sum.Sum64() == binary.LittleEndian.Uint64(raw[metaSumAt:]),
		pageSize:    int64(binary.LittleEndian.Uint32(raw[pageSizeAt:])),
		transaction: binary.LittleEndian.Uint64(raw[metaTransactionAt:]),
	}
}

// damagedRoots are the issues of root pages that are not sound.
func damagedRoots(f io.ReaderAt) (issues []Issue) {
	for page, r := range roots(f) {
		if !r.sound {
			issues = append(issues, Issue{"file", fmt.Sprintf("page %d", page),
				"one of the two root pages is damaged: what was stored last may be lost; the next search mends the page"})
		}
	}
	return issues
}

// stateBefore writes a copy of a file in which the state before the last
// transaction is the newest: the newer root page loses its checksum. bbolt writes
// no page that either root needs. It tells false where there is no such state.
func stateBefore(f *os.File, to string) (bool, error) {
	both := roots(f)
	if !both[0].sound || !both[1].sound {
		return false, nil
	}
	newer := both[0]
	if both[1].transaction > newer.transaction {
		newer = both[1]
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	older, err := os.Create(to)
	if err != nil {
		return false, err
	}
	defer older.Close()
	if _, err := io.Copy(older, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return false, err
	}
	_, err = older.WriteAt(make([]byte, 8), newer.at+metaSumAt)
	return err == nil, err
}
