package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
)

// The buckets at the top of the file and what they hold.
var (
	aboutBucket    = []byte("autotune") // schemaKey
	problemsBucket = []byte("problems") // a bucket a problem
	schemaKey      = []byte("schema")
)

// foreign describes a file that bbolt does not know as one of its own by how it begins.
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
	line, _, _ := strings.Cut(string(head), "\n")
	detail := fmt.Sprintf("it begins with %q", line)
	switch {
	case len(head) == 0:
		detail = "it is empty"
	case len(bytes.Trim(head, "\x00")) == 0:
		detail = "it begins with zeros"
	case !strconv.CanBackquote(strings.TrimRight(line, "\r")):
		detail = "it is some other binary file"
	}
	return &ForeignError{Path: path, Detail: detail}
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
			return checkSchema(tx, s.path)
		})
	})
	if err != nil || !empty || s.options.ReadOnly {
		return err
	}
	return s.update(initialise)
}

// whole checks that the file has not been cut.
func (o opened) whole(path string) error {
	info, err := o.file.Stat()
	if err != nil {
		return unusable(path, err)
	}
	return o.db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return &DamagedError{path, fmt.Sprintf("it should have at least %d bytes and has %d", tx.Size(), info.Size())}
		}
		return nil
	})
}

// checkSchema refuses a file of a version that is not known.
func checkSchema(tx *bbolt.Tx, path string) error {
	about := tx.Bucket(aboutBucket)
	if about == nil && tx.Bucket(problemsBucket) != nil {
		return &DamagedError{path, "its schema version is missing"}
	}
	if about == nil {
		return &ForeignError{path, "it is another program's database"}
	}
	has := string(about.Get(schemaKey))
	version, err := strconv.Atoi(has)
	if err != nil || version < 1 {
		return &DamagedError{path, fmt.Sprintf("its schema version reads %q", has)}
	}
	if version > schemaVersion {
		return &NewerError{Path: path, Has: has}
	}
	if tx.Bucket(problemsBucket) == nil {
		return &DamagedError{path, "its list of problems is missing"}
	}
	return nil
}

// upgrade raises the schema of a file that is written to, so that versions which
// do not know what is written refuse it.
func upgrade(tx *bbolt.Tx, path string) error {
	about, version := tx.Bucket(aboutBucket), []byte(strconv.Itoa(schemaVersion))
	if about == nil || bytes.Equal(about.Get(schemaKey), version) {
		return nil // empty as yet, or up to date
	}
	if err := checkSchema(tx, path); err != nil { // another version may have been here since it was opened
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
