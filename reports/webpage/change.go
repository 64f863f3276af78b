package webpage

import "autotune/reports"

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
		if b.Comparable(now) && b.RecordedAt.Before(now.RecordedAt) && (before < 0 || b.RecordedAt.After(searches[before].Best.RecordedAt)) {
			before = i
		}
	}
	if before < 0 {
		return ""
	}
	return reports.Since(now, searches[before].Best)
}
