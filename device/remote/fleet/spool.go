package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"autotune/device/remote"
	"autotune/internal/scratch"
)

// usualDisk is what data files may take on a worker's disk unless it is told otherwise.
const usualDisk = 4 << 30

// Spool is where the workers of a process keep data files of operators, for as long as
// there is room: a file that no open problem needs makes way for others. They are in a
// temporary folder. The zero value is ready.
type Spool struct {
	Most int64 // bytes that they may take together; 0: 4 GiB

	mu     sync.Mutex // held while a file is fetched, too: two workers that need one fetch it once
	folder *scratch.Folder
	files  map[string]*spooled // by their objects' names
	taken  int64
}

type spooled struct {
	bytes int64
	held  int // by how many
}

// hold has files there until release is called, and gives them by the names that their
// operator has for them.
func (s *Spool) hold(ctx context.Context, fetch fetcher, files map[string]remote.Data) (remote.Files, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var held []string
	paths := remote.Files{}
	for name, d := range files {
		if err := s.have(ctx, fetch, d); err != nil {
			s.letGo(held)
			return nil, nil, err
		}
		s.files[d.Object].held++
		held = append(held, d.Object)
		paths[name] = s.path(d.Object)
	}
	release := sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.letGo(held)
	})
	return paths, release, nil
}

func (s *Spool) letGo(names []string) {
	for _, name := range names {
		s.files[name].held--
	}
}

func (s *Spool) have(ctx context.Context, fetch fetcher, d remote.Data) (err error) {
	if s.files[d.Object] != nil {
		return nil
	}
	if s.folder == nil {
		if s.folder, err = scratch.New("worker"); err != nil {
			return err
		}
		s.files = map[string]*spooled{}
	}
	if err := s.makeRoom(d.Bytes); err != nil {
		return err
	}
	if err := fetchFile(ctx, fetch, d, s.path(d.Object)); err != nil {
		return errors.Join(err, os.RemoveAll(s.path(d.Object)))
	}
	s.files[d.Object] = &spooled{bytes: d.Bytes}
	s.taken += d.Bytes
	return nil
}

// fetchFile makes a file of an object, whose name says what it holds.
func fetchFile(ctx context.Context, fetch fetcher, d remote.Data, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	err = fetch(ctx, d.Object, d.Bytes, io.MultiWriter(f, h))
	if err = errors.Join(err, f.Close()); err == nil && remote.DataName(hex.EncodeToString(h.Sum(nil))) != d.Object {
		err = fmt.Errorf("the data file %s holds something else", d.Object)
	}
	return err
}

// makeRoom removes files that nobody holds, until there is room.
func (s *Spool) makeRoom(bytes int64) error {
	most := cmp.Or(s.Most, usualDisk)
	for name, f := range s.files {
		if s.taken+bytes <= most {
			return nil
		}
		if f.held > 0 {
			continue
		}
		if err := os.Remove(s.path(name)); err != nil {
			return err
		}
		s.taken -= f.bytes
		delete(s.files, name)
	}
	if s.taken+bytes > most {
		return fmt.Errorf("there is no room for a data file of %d bytes: this worker's disk may be used for %d, and open "+
			"problems need %d of them", bytes, most, s.taken)
	}
	return nil
}

func (s *Spool) path(object string) string { return filepath.Join(s.folder.Dir, object) }

func (s *Spool) Close() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.Close()
}
