package tuner

import (
	"testing"
	"time"
)

func TestBusy(t *testing.T) {
	at := func(from, to int) [2]time.Time {
		zero := time.Unix(1000, 0)
		return [2]time.Time{zero.Add(time.Duration(from) * time.Second), zero.Add(time.Duration(to) * time.Second)}
	}
	for _, test := range []struct {
		name              string
		compiling, device [][2]time.Time
		want              time.Duration
	}{
		{"nothing", nil, nil, 0},
		{"one of two compilers", [][2]time.Time{at(0, 5)}, nil, 0},
		{"both compilers overlap", [][2]time.Time{at(0, 5), at(3, 9)}, nil, 2 * time.Second},
		{"the device alone", nil, [][2]time.Time{at(1, 2), at(2, 4), at(6, 7)}, 4 * time.Second},
		{"both count once", [][2]time.Time{at(0, 5), at(0, 5)}, [][2]time.Time{at(4, 8)}, 8 * time.Second},
	} {
		l := &workLog{}
		for _, s := range test.compiling {
			l.add(edge{s[0], 1, 0}, edge{s[1], -1, 0})
		}
		for _, s := range test.device {
			l.add(edge{s[0], 0, 1}, edge{s[1], 0, -1})
		}
		if got := l.busy(2); got != test.want {
			t.Errorf("%s: busy for %v, want %v", test.name, got, test.want)
		}
	}
}
