package cuda

// Reasons for which a GPU runs below the clock it could have, as the bits that
// NVML reports; those that say nothing about a measurement are left out.
var throttleReasons = []struct {
	bit  uint64
	text string
}{
	{0x04, "throttled: power limit"},
	{0x08, "throttled: hardware slowdown"},
	{0x20, "throttled: temperature (driver)"},
	{0x40, "throttled: temperature (hardware)"},
	{0x80, "throttled: power brake"},
}

func throttleWarnings(reasons uint64) []string {
	var warnings []string
	for _, r := range throttleReasons {
		if reasons&r.bit != 0 {
			warnings = append(warnings, r.text)
		}
	}
	return warnings
}
