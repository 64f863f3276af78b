// Package output writes the files that a user names.
//
// Package output writes a regular file completely or not at all, and keeps the file's permissions; if the name is a
// symbolic link, it writes the link's target. A file that is not regular (a device, a pipe, a socket) is written to and
// never replaced: replacing /dev/null would break the whole machine. "-" is standard output.
package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/google/renameio/v2"
	"golang.org/x/term"

	"autotune/internal/input"
)

const Standard = "-"

// maxLinks is how many symbolic links To follows at most; Linux has the same limit.
const maxLinks = 40

func To(path string, write func(io.Writer) error) error {
	if err := to(path, write); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, input.Reason(err))
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

// standard returns a writer to standard output. A terminal gets only harmless characters; a file gets every byte.
func standard() io.Writer {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return Plain(os.Stdout)
	}
	return os.Stdout
}

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

// resolve follows symbolic links from path, and tells whether the target is a regular file or does not exist yet.
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
		// The Linux kernel's links to open files (/dev/fd/63) may name no path that exists, so do not follow them.
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

// Check reports whether To could write a file, without writing it.
func Check(path string) error {
	if path == Standard {
		return nil
	}
	target, regular, err := resolve(path)
	if err == nil && regular {
		err = CheckFolder(filepath.Dir(target))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, input.Reason(err))
	}
	return nil
}

// CheckFolder reports whether this process can create files in a folder.
func CheckFolder(dir string) error {
	file, err := os.CreateTemp(dir, ".autotune-*")
	if err != nil {
		return input.Reason(err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// Same tells whether two names stand for the same regular file, or both for standard output.
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

// located returns the absolute path of a file, with the symbolic links of its folder resolved.
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

// Count writes a number with its noun: "1 element", "2 elements", "2 launches", "2 entries".
func Count[N int | int64 | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	switch stem, isY := strings.CutSuffix(what, "y"); {
	case strings.HasSuffix(what, "ch"), strings.HasSuffix(what, "ss"):
		what += "e"
	case isY && stem != "" && !strings.ContainsRune("aeou", rune(stem[len(stem)-1])):
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Line makes untrusted text one harmless line of a terminal: characters that would move the cursor, change colours, end
// the line or reverse the writing direction become spaces.
func Line(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if harmless(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// Row joins the cells of a table's row with tabs. Cells may be untrusted text, because Row removes their tabs and line
// breaks with Line.
func Row(cells ...string) string {
	shown := make([]string, len(cells))
	for i, cell := range cells {
		shown[i] = Line(cell)
	}
	return strings.Join(shown, "\t") + "\n"
}

// harmless tells whether a terminal merely displays the rune, which it does not do with a control character.
func harmless(r rune) bool {
	return !unicode.IsControl(r) && !unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Plain returns a writer that lets only harmless characters, tabs and line breaks through. Plain is for output that may
// contain names and messages of other people.
func Plain(w io.Writer) io.Writer { return plainWriter{w} }

type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(text []byte) (int, error) {
	shown := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || harmless(r) {
			return r
		}
		return ' '
	}, string(text))
	if _, err := io.WriteString(p.w, shown); err != nil {
		return 0, err
	}
	return len(text), nil
}
