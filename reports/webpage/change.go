package webpage

import (
	"fmt"
	"strings"
	"time"

	"autotune/reports"
)

// changeOf says what changed since the search before of the same problem on the same device,
// if the page has one; "" if it has none.
func changeOf(searches []Search, at int) string {
	now := searches[at].Best
	if !now.Found() {
		return ""
	}
	before := -1
	for i, s := range searches {
		b := s.Best
		same := b.Found() && b.Problem.Text == now.Problem.Text && b.Device.Name == now.Device.Name && b.Conditions == now.Conditions
		if same && b.RecordedAt.Before(now.RecordedAt) && (before < 0 || b.RecordedAt.After(searches[before].Best.RecordedAt)) {
			before = i
		}
	}
	if before < 0 {
		return ""
	}
	was := searches[before].Best
	u := reports.UnitOf(was.Time.Median)
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
