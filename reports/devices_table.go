package reports

import (
	"io"

	"autotune/tuner/devices"
)

// The columns of the table of devices.
const (
	deviceWidth  = 10
	problemWidth = tableWidth - deviceWidth - 2 // a longer problem loses its middle
)

// DevicesTable prints what devices there are: what --device takes, then what that
// is, and the problems of recordings.
func DevicesTable(w io.Writer, list []devices.Listing) error {
	t := &table{}
	t.line("%-*s%s", deviceWidth, "--device", "what")
	for _, l := range list {
		t.wrap(l.Device, deviceWidth, phrases(l.About))
		for _, problem := range l.Problems {
			t.line("%-*s%s", deviceWidth+2, "", middle(problem, problemWidth))
		}
	}
	return t.write(w)
}
