package reports

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"autotune/internal/output"
)

// Comparable tells whether both are winners of one problem on one device, timed alike.
func (b BestConfig) Comparable(other BestConfig) bool {
	return b.Found() && other.Found() && b.Problem.Text == other.Problem.Text && b.Device.Name == other.Device.Name && b.Conditions == other.Conditions
}

// Since says what changed since an earlier search of the same problem on the same device.
func (b BestConfig) Since(was BestConfig) string {
	now := b
	u := UnitOf(was.Time.Median)
	times := fmt.Sprintf("%s, was %s", u.Format(now.Time.Median), u.Format(was.Time.Median))
	text := fmt.Sprintf("Since %s ", was.RecordedAt.UTC().Format(time.DateOnly))
	switch change := 100 * (now.Time.Median/was.Time.Median - 1); {
	case change > 0 && !now.Time.Reaches(was.Time):
		text += fmt.Sprintf("the winner takes %.2g %% longer (%s), beyond both intervals", change, times)
	case change < 0 && !was.Time.Reaches(now.Time):
		text += fmt.Sprintf("the winner takes %.2g %% less (%s), beyond both intervals", -change, times)
	default:
		text += fmt.Sprintf("nothing changed that the intervals can tell (%s)", times)
	}
	var also []string
	if was.Key() != now.Key() {
		also = append(also, "it was "+was.Configuration.String())
	}
	for _, version := range [][3]string{{"driver", was.Device.Driver, now.Device.Driver}, {"compiler", was.Device.Compiler, now.Device.Compiler}} {
		if version[1] != version[2] && version[1] != "" && version[2] != "" {
			also = append(also, fmt.Sprintf("the %s was %s", version[0], version[1]))
		}
	}
	if was.KernelDigest != now.KernelDigest && was.Key() == now.Key() && was.KernelDigest != "" && now.KernelDigest != "" {
		also = append(also, "its kernel was edited")
	}
	if len(also) > 0 {
		text += "; " + strings.Join(also, "; ")
	}
	return text + "."
}

// HistoryTable writes winners of one problem in the order of time, each with what changed since
// the one before on the same device.
func HistoryTable(w io.Writer, list []BestConfig) error {
	var text strings.Builder
	rows := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "searched\tdriver\tcompiler\ttrials\ttime\twinner")
	for _, b := range list {
		cells := []string{
			b.RecordedAt.UTC().Format(time.DateOnly), b.Device.Driver, b.Device.Compiler, fmt.Sprint(b.Trials.Total), b.unit().Format(b.Time.Median), b.Configuration.String(),
		}
		io.WriteString(rows, output.Row(cells...))
	}
	rows.Flush()
	last := map[string]BestConfig{} // by device and conditions
	for _, b := range list {
		key := b.Device.Name + b.Conditions.String()
		if was, known := last[key]; known {
			text.WriteString(Hang("- ", output.Line(b.Device.Name+": "+b.Since(was))))
		}
		last[key] = b
	}
	_, err := io.WriteString(w, text.String())
	return err
}
