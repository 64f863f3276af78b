package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// bbolt keeps two pages that tell where everything lies, page 0 and page 1, and
// writes them in turn: the newer one makes a transaction valid. Where the newer
// is damaged, bbolt silently takes the older, and the last transaction is gone.

const (
	metaMagic  = 0xED0CDAED
	metaStart  = 16 // after the page's header
	metaSize   = 64
	metaSumAt  = metaSize - 8
	pageSizeAt = 8
)

// metas looks at both pages.
func metas(path string) ([]Issue, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	defer f.Close()
	size := int64(os.Getpagesize())
	if first := meta(f, 0); sound(first) {
		size = int64(binary.LittleEndian.Uint32(first[pageSizeAt:]))
	}
	var issues []Issue
	for page := range int64(2) {
		if !sound(meta(f, page*size)) {
			issues = append(issues, Issue{"file", fmt.Sprintf("page %d", page),
				"one of the two pages that tell where everything lies is damaged: what was stored last may be lost; the next search mends the page"})
		}
	}
	return issues, nil
}

// meta reads the page's contents at an offset, or nil.
func meta(f io.ReaderAt, at int64) []byte {
	b := make([]byte, metaSize)
	if _, err := f.ReadAt(b, at+metaStart); err != nil {
		return nil
	}
	return b
}

func sound(meta []byte) bool {
	magic := binary.LittleEndian.AppendUint32(nil, metaMagic)
	if !bytes.HasPrefix(meta, magic) {
		return false
	}
	sum := fnv.New64a()
	sum.Write(meta[:metaSumAt])
	return sum.Sum64() == binary.LittleEndian.Uint64(meta[metaSumAt:])
}
