package poolworker

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/internal/natstest"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
)

func connect(t *testing.T) *broker.Broker {
	t.Helper()
	b, err := broker.Connect(t.Context(), broker.Login{URL: natstest.Server(t)}, "test", broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// stored is a data file at the server.
func stored(t *testing.T, b *broker.Broker, contents string) remote.Data {
	t.Helper()
	d := remote.Data{Object: broker.DataName(fmt.Sprintf("%x", sha256.Sum256([]byte(contents)))), Bytes: int64(len(contents))}
	if err := b.Objects.KeepBytes(t.Context(), jetstream.ObjectMeta{Name: d.Object}, []byte(contents)); err != nil {
		t.Fatal(err)
	}
	return d
}

// Data files are fetched once and stay while they are held; what nobody holds makes way,
// the longest unused first, and comes back when it is needed again.
func TestSpool(t *testing.T) {
	b := connect(t)
	s := &Spool{Most: 250}
	data := map[string]remote.Data{}
	for _, name := range []string{"a", "b", "c"} {
		data[name] = stored(t, b, strings.Repeat(name, 100))
	}
	hold := func(names ...string) (fs.FS, func(), error) {
		files := map[string]remote.Data{}
		for _, name := range names {
			files[name+".npy"] = data[name]
		}
		return s.hold(t.Context(), b, files)
	}
	there := func() string {
		text := ""
		for _, name := range []string{"a", "b", "c"} {
			if s.files[data[name].Object] != nil {
				text += name
			}
		}
		return text
	}
	files, releaseA, err := hold("a")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(files, "a.npy"); err != nil || string(text) != strings.Repeat("a", 100) {
		t.Errorf("a.npy holds %q, %v", text, err)
	}
	if _, err := files.Open("b.npy"); err == nil {
		t.Error("an operator can open what is not its own")
	}
	_, releaseB, err := hold("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := hold("c"); err == nil || !strings.Contains(err.Error(), "this worker's disk may be used for 250, and open problems need 200 of them") || there() != "ab" {
		t.Errorf("with no room: %v, %s are there", err, there())
	}
	releaseB()
	if _, release, err := hold("c"); err != nil || there() != "ac" {
		t.Errorf("b was to make way: %v, %s are there", err, there())
	} else {
		release()
	}
	releaseA()
	releaseA() // once is enough
	if _, _, err := hold("b"); err != nil || there() != "bc" {
		t.Errorf("a was used before c: %v, %s are there", err, there())
	}
	dir := s.folder.Dir
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(files, "b.npy"); err == nil {
		t.Errorf("%s is still there", dir)
	}
}

// A file that is not what its name says, or larger than was said, is not taken.
func TestSpoolBelievesNobody(t *testing.T) {
	b := connect(t)
	d := stored(t, b, "right")
	if err := b.Objects.KeepBytes(t.Context(), jetstream.ObjectMeta{Name: broker.DataName(strings.Repeat("0", 64))}, []byte("wrong")); err != nil {
		t.Fatal(err)
	}
	for want, one := range map[string]remote.Data{
		"holds something else":         {Object: broker.DataName(strings.Repeat("0", 64)), Bytes: 5},
		"it has 5 bytes; 4 are the mo": {Object: d.Object, Bytes: 4},
		"object not found":             {Object: broker.DataName(strings.Repeat("1", 64)), Bytes: 4},
	} {
		s := &Spool{}
		_, _, err := s.hold(t.Context(), b, map[string]remote.Data{"x.npy": one})
		if err == nil || !strings.Contains(err.Error(), want) || s.taken != 0 {
			t.Errorf("got %v with %d bytes taken, want %q", err, s.taken, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Objects come as they were stored, in one piece and in many.
func TestObjects(t *testing.T) {
	b := connect(t)
	for _, size := range []int{0, 1, 128 << 10, 128<<10 + 1, 1 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * 7)
		}
		name := fmt.Sprintf("test-%x", sha256.Sum256(data))
		if err := b.Binaries.KeepBytes(t.Context(), jetstream.ObjectMeta{Name: name}, data); err != nil {
			t.Fatal(err)
		}
		got, _, err := b.Binaries.ReadBytes(t.Context(), name, int64(size))
		if err != nil || string(got) != string(data) {
			t.Errorf("%d bytes came as %d, %v", size, len(got), err)
		}
		if size > 0 {
			if _, _, err := b.Binaries.ReadBytes(t.Context(), name, int64(size)-1); err == nil {
				t.Errorf("%d bytes came where %d were the most", size, size-1)
			}
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Binaries.Read(stopped, "test", 1, func(io.Reader, *jetstream.ObjectInfo) error { return nil }); err == nil {
		t.Error("read after the end")
	}
}
