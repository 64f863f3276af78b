// Package output writes the files that a user names.
//
// A regular file appears whole or not at all, with the permissions that it had;
// a symbolic link is followed to the file behind it. A file that is not regular
// (a device, a pipe, a socket) is written to and never replaced: a file put in
// the place of /dev/null would take it from the whole machine. "-" is standard
// output.
package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/term"
)

// Standard is the name of standard output.
const Standard = "-"

// maxLinks is how many symbolic links lead to a file at most, as on Linux.
const maxLinks = 40

// To has write produce the file called path.
func To(path string, write func(io.Writer) error) error {
	if err := to(path, write); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, plain(err))
	}
	return nil
}

func to(path string, write func(io.Writer) error) error {
	if path == Standard {
		return write(standard())
	}
	target, regular, err := resolve(path)
	switch {
	case err != nil:
		return err
	case regular:
		return replace(target, write)
	}
	file, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// standard is standard output: a terminal gets only what it shows, anything else
// every byte.
func standard() io.Writer {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return Plain(os.Stdout)
	}
	return os.Stdout
}

// replace puts a new file in the place of a regular one, or of none.
func replace(path string, write func(io.Writer) error) error {
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer file.Cleanup()
	if err := write(file); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

// resolve follows links to what path stands for, and tells whether that is a
// regular file or one that does not exist yet.
func resolve(path string) (target string, regular bool, err error) {
	target = path
	for range maxLinks {
		info, err := os.Lstat(target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return target, true, nil
		case err != nil:
			return "", false, err
		case info.IsDir():
			return "", false, errors.New("it is a folder; name a file")
		case info.Mode()&fs.ModeSymlink == 0:
			return target, info.Mode().IsRegular(), nil
		}
		// The kernel's own links to open files (/dev/fd/63) lead to no path.
		if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return target, false, nil
		}
		link, err := os.Readlink(target)
		if err != nil {
			return "", false, err
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(target), link)
		}
		target = link
	}
	return "", false, errors.New("too many symbolic links")
}

// Check finds out, without writing, whether To could write the file.
func Check(path string) error {
	if path == Standard {
		return nil
	}
	target, regular, err := resolve(path)
	if err == nil && regular {
		err = CheckFolder(filepath.Dir(target))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, plain(err))
	}
	return nil
}

// CheckFolder finds out whether files can be made in a folder.
func CheckFolder(dir string) error {
	file, err := os.CreateTemp(dir, ".autotune-*")
	if err != nil {
		return plain(err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// Same tells whether two names stand for one regular file or both for standard
// output.
func Same(a, b string) bool {
	if a == Standard || b == Standard {
		return a == b
	}
	first, regular, err := resolve(a)
	second, also, err2 := resolve(b)
	if err != nil || err2 != nil || !regular || !also {
		return false
	}
	return located(first) == located(second)
}

// located is the absolute path of a file, with the links of its folder followed.
func located(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// plain is the reason alone: the operation and the temporary file's name that
// package os puts in front tell a user nothing.
func plain(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
