package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"unicode/utf8"

	"go.etcd.io/bbolt"
)

// The buckets at the top of the file and what they hold.
var (
	aboutBucket    = []byte("autotune") // schemaKey
	problemsBucket = []byte("problems") // a bucket a problem
	schemaKey      = []byte("schema")
)

// foreign describes a file that bbolt does not know as one of its own.
func foreign(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return unusable(path, err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 24))
	if err != nil {
		return unusable(path, err)
	}
	return &ForeignError{Path: path, Detail: describe(head)}
}

// describe says in a few words how a file begins.
func describe(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case len(head) == 0:
		return "it is empty"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "it begins with zeros"
	case utf8.Valid(line) && !bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' }):
		return fmt.Sprintf("it begins with %q", line)
	}
	return "it is some other binary file"
}

// recognise checks that the file is ours, of a version that is known, and puts
// the buckets into an empty one.
func (s *Store) recognise(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return unusable(s.path, err)
	}
	empty := false // bbolt fills a file of no bytes, if it may
	err = s.transact(ctx, info.Size() > 0, func(o opened) error {
		return o.db.View(func(tx *bbolt.Tx) error {
			if name, _ := tx.Cursor().First(); name == nil {
				empty = true
				return nil
			}
			return s.checkSchema(tx)
		})
	})
	if err != nil || !empty || s.options.ReadOnly {
		return err
	}
	return s.update(initialise)
}

// whole checks that the file has not been cut.
func (s *Store) whole(o opened) error {
	info, err := o.file.Stat()
	if err != nil {
		return unusable(s.path, err)
	}
	return o.db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return &DamagedError{s.path, fmt.Sprintf("it should have at least %d bytes and has %d", tx.Size(), info.Size())}
		}
		return nil
	})
}

func (s *Store) checkSchema(tx *bbolt.Tx) error {
	about := tx.Bucket(aboutBucket)
	if about == nil && tx.Bucket(problemsBucket) != nil {
		return &DamagedError{s.path, "its schema version is missing"}
	}
	if about == nil {
		return &ForeignError{s.path, "it is another program's database"}
	}
	has := string(about.Get(schemaKey))
	version, err := strconv.Atoi(has)
	if err != nil || version < 1 {
		return &DamagedError{s.path, fmt.Sprintf("its schema version reads %q", has)}
	}
	if version > schemaVersion {
		return &NewerError{Path: s.path, Has: has}
	}
	if tx.Bucket(problemsBucket) == nil {
		return &DamagedError{s.path, "its list of problems is missing"}
	}
	return nil
}

// upgrade raises the schema of a file that is written to, so that versions which
// do not know what is written refuse it.
func (s *Store) upgrade(tx *bbolt.Tx) error {
	about, version := tx.Bucket(aboutBucket), []byte(strconv.Itoa(schemaVersion))
	if about == nil || bytes.Equal(about.Get(schemaKey), version) {
		return nil // empty as yet, or up to date
	}
	if err := s.checkSchema(tx); err != nil { // another version may have been here since it was opened
		return err
	}
	return about.Put(schemaKey, version)
}

// initialise lays out an empty file.
func initialise(tx *bbolt.Tx) error {
	about, err := tx.CreateBucketIfNotExists(aboutBucket)
	if err != nil {
		return err
	}
	if err := about.Put(schemaKey, []byte(strconv.Itoa(schemaVersion))); err != nil {
		return err
	}
	_, err = tx.CreateBucketIfNotExists(problemsBucket)
	return err
}
