package prove

import (
	"strings"
	"testing"

	"autotune/pack"
)

// Texts from a pack must not be able to add rows or columns to the table, or to send commands to the terminal.
func TestPacksForgeNoRows(t *testing.T) {
	const forged = "conv2d 1x2\tsm_90\nholds\tother\x1b[2J\u202e\u2028holds"
	k := &Checked{pack: &pack.Pack{Path: "layers", Manifest: pack.Manifest{
		Entries:  []*pack.Entry{{Tuned: pack.Tuned{Problem: forged, Target: "sm_90", Device: forged}}},
		Families: []*pack.Family{{Tuned: pack.Tuned{Problem: forged, Target: "sm_90", Device: forged}}},
		General:  []*pack.General{{Operator: "conv2d", Math: "fp32", Type: forged}},
	}}}
	texts := map[string]string{"listing": k.Text()}
	k.Entries = []*Entry{{Target: "sm_90", Verdict: Verdict{Problem: forged, Verdict: unproven, Message: forged}}}
	texts["table"] = k.Text()
	for what, text := range texts {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if want := map[string]int{"listing": 5, "table": 3}[what]; len(lines) != want {
			t.Errorf("the %s has %d lines, want %d:\n%s", what, len(lines), want, text)
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "holds") || strings.ContainsAny(line, "\t\x1b\u202e\u2028") {
				t.Errorf("the %s has the line %q", what, line)
			}
		}
	}
}
