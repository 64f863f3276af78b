package prove

import (
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/tuner"
	"autotune/tuner/final"
	"autotune/tuner/winners"
)

// In the check for CI, a winner that is wrong, or slower than the noise explains, must fail with a message that also
// says what else changed, such as the driver.
func TestGateVerdict(t *testing.T) {
	proof := func(ms, noise float64) final.Proof {
		return final.Proof{Outcome: trial.Outcome{Status: trial.OK}, NowMS: ms, Noise: noise, Ceilings: device.Ceilings{CopyBytesPerMS: 2.7e9}}
	}
	wrong := proof(1, 0.01)
	wrong.Fail(trial.WrongResult, "y differs\nat 3")
	moved := winners.Kept{Record: tuner.Record{Device: device.Info{Driver: "570", Compiler: "NVRTC 12.8"}, Ceilings: device.Ceilings{CopyBytesPerMS: 3e9}}}
	for _, c := range []struct {
		name    string
		was     float64
		proof   final.Proof
		then    winners.Kept
		verdict string
		message string
	}{
		{"as it was", 1, proof(1, 0.01), winners.Kept{}, "holds", ""},
		{"faster", 1, proof(0.5, 0.01), winners.Kept{}, "holds", ""},
		{"within the noise", 1, proof(1.009, 0.01), moved, "holds", ""},
		{"slower", 1, proof(1.023, 0.01), winners.Kept{}, "slower", "2.3 % slower, the noise here is 1 %"},
		{"slower elsewhere", 1, proof(1.023, 0.01), moved, "slower",
			"2.3 % slower, the noise here is 1 %; a copy now has 90 % of the bandwidth that it had; the driver was 570 and is 580"},
		{"nothing recorded that compares", 0, proof(9, 0.01), winners.Kept{}, "holds", ""},
		{"no times", 1, proof(0, 0), winners.Kept{}, "holds", ""},
		{"wrong", 1, wrong, winners.Kept{}, "wrong_result", "y differs"},
	} {
		r := Verdict{WasMS: c.was}
		r.compare(c.proof, c.then, device.Info{Driver: "580", Compiler: "NVRTC 12.8"})
		if r.Verdict != c.verdict || r.Message != c.message {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, r.Verdict, r.Message, c.verdict, c.message)
		}
		if r.Lost() != (c.verdict != "holds") {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
