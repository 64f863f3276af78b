package fleet_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"autotune/device/remote/fleet"
	"autotune/internal/test/natstest"
)

func connect(t *testing.T, url string, o fleet.ConnectOptions) *fleet.Broker {
	t.Helper()
	b, err := fleet.Connect(t.Context(), fleet.Login{URL: url}, "test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Objects come as they are kept, in one piece and in many; no larger than is allowed.
func TestFetch(t *testing.T) {
	url := natstest.Server(t)
	keeper, b := connect(t, url, fleet.ConnectOptions{}), connect(t, url, fleet.ConnectOptions{})
	name, data := "data-"+strings.Repeat("0", 64), []byte(nil)
	_, err := keeper.Serve("keeper", func(object string) (io.ReaderAt, error) {
		if object != name {
			return nil, errors.New("there is none")
		}
		return bytes.NewReader(data), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 1 << 20} {
		data = make([]byte, size)
		for i := range data {
			data[i] = byte(i * 7)
		}
		var got bytes.Buffer
		if err := b.Fetch(t.Context(), "keeper", 0, name, int64(size), &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%d bytes came as %d, %v", size, got.Len(), err)
		}
		if size > 0 {
			if err := b.Fetch(t.Context(), "keeper", 0, name, int64(size)-1, io.Discard); err == nil {
				t.Errorf("%d bytes came where %d were the most", size, size-1)
			}
		}
	}
	for want, one := range map[string][2]string{"there is none": {"keeper", "S.1"}, "no responders": {"nobody", name}, "object is": {"keeper", "../x"}} {
		if err := b.Fetch(t.Context(), one[0], 0, one[1], 1, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want words of %q", err, want)
		}
	}
}
