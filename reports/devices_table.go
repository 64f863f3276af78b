package reports

import (
	"strings"
	"unicode/utf8"

	"autotune/tuner/devices"
)

// The columns of the table of devices.
const (
	deviceWidth  = 10
	problemWidth = tableWidth - deviceWidth - 2
)

// DevicesTable tells what devices there are: what --device takes, then what that
// is, and the problems of recordings.
func DevicesTable(list []devices.Listing) string {
	t := &table{}
	t.line("%-*s%s", deviceWidth, "--device", "what")
	for _, l := range list {
		t.wrap(l.Device, deviceWidth, phrases(l.About))
		for _, problem := range l.Problems {
			t.line("%-*s%s", deviceWidth+2, "", briefly(problem, problemWidth))
		}
	}
	return t.lines.String()
}

// briefly shortens a problem by leaving out the words before the last, which
// tells its math mode.
func briefly(problem string, most int) string {
	words := strings.Fields(problem)
	text := problem
	for n := len(words) - 2; n > 0 && utf8.RuneCountInString(text) > most; n-- {
		text = strings.Join(words[:n], " ") + " … " + words[len(words)-1]
	}
	return middle(text, most)
}
