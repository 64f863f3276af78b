package tuner

import (
	"testing"
	"time"
)

func TestBusy(t *testing.T) {
	at := func(from, to int) span {
		zero := time.Unix(1000, 0)
		return span{zero.Add(time.Duration(from) * time.Second), zero.Add(time.Duration(to) * time.Second)}
	}
	for _, test := range []struct {
		name              string
		compiling, device []span
		want              time.Duration
	}{
		{"nothing", nil, nil, 0},
		{"one of two compilers", []span{at(0, 5)}, nil, 0},
		{"both compilers overlap", []span{at(0, 5), at(3, 9)}, nil, 2 * time.Second},
		{"the device alone", nil, []span{at(1, 2), at(2, 4), at(6, 7)}, 4 * time.Second},
		{"both count once", []span{at(0, 5), at(0, 5)}, []span{at(4, 8)}, 8 * time.Second},
	} {
		l := &workLog{compiling: test.compiling, device: test.device}
		if got := l.busy(2); got != test.want {
			t.Errorf("%s: busy for %v, want %v", test.name, got, test.want)
		}
	}
}
