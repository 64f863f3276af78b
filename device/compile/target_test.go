package compile

import "testing"

func TestTarget(t *testing.T) {
	for _, test := range []struct {
		compiler   string
		capability int
		want       string
	}{
		{"NVRTC 13.0", 90, "sm_90a"}, {"NVRTC 12.1", 90, "sm_90a"}, {"NVRTC 11.8", 90, "sm_90"},
		{"NVRTC 13.0", 80, "sm_80"}, {"NVRTC 13.0", 120, "sm_120"}, {"", 90, "sm_90"},
	} {
		if got := Target(test.compiler, test.capability); got != test.want {
			t.Errorf("Target(%q, %d) = %s, want %s", test.compiler, test.capability, got, test.want)
		}
	}
}
