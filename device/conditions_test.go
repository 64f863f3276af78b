package device_test

import (
	"encoding/json"
	"strings"
	"testing"

	"autotune/device"
)

func TestConditions(t *testing.T) {
	for _, test := range []struct{ l2, launch, all, unusual, flags, stored string }{
		{"cold", "direct", "cold L2, direct launches", "", "", `{}`},
		{"warm", "direct", "warm L2, direct launches", "warm L2", "--l2 warm", `{"l2":"warm"}`},
		{"cold", "graph", "cold L2, CUDA graph", "CUDA graph", "--launch graph", `{"launch":"graph"}`},
		{"warm", "graph", "warm L2, CUDA graph", "warm L2, CUDA graph", "--l2 warm --launch graph", `{"l2":"warm","launch":"graph"}`},
	} {
		c := device.ConditionsOf(test.l2, test.launch)
		if c.String() != test.all || c.Unusual() != test.unusual || c.Flags() != test.flags || c.Usual() != (test.unusual == "") || c.Check() != nil {
			t.Errorf("%s, %s: %q, %q, %q, %v, %v", test.l2, test.launch, c, c.Unusual(), c.Flags(), c.Usual(), c.Check())
		}
		if stored, err := json.Marshal(c); err != nil || string(stored) != test.stored {
			t.Errorf("%s, %s is stored as %s, want %s", test.l2, test.launch, stored, test.stored)
		}
	}
	for _, unknown := range []device.Conditions{{L2: "tepid"}, {Launch: "cold"}} {
		if unknown.Check() == nil {
			t.Errorf("%+v is taken", unknown)
		}
	}
}

// The default protocol is stored without its conditions. If the JSON of the default protocol changed, the key of every
// stored trial would change too.
func TestUsualProtocolIsStoredAsBefore(t *testing.T) {
	const before = `{"version":1,"samples":30,"min_samples":5,"warm_up":2,"batch_below":20000,"measure_time":300000000,` +
		`"drop_ratio":1.15,"launch_timeout":10000000000,"compile_timeout":30000000000,"seed":1,"distribution":"uniform01"}`
	p := device.DefaultProtocol()
	if stored, err := json.Marshal(p); err != nil || string(stored) != before {
		t.Errorf("stored as %s, want %s", stored, before)
	}
	p.Conditions.L2 = device.Warm
	if stored, _ := json.Marshal(p); !strings.Contains(string(stored), `"conditions":{"l2":"warm"}`) {
		t.Errorf("a warm one is stored as %s", stored)
	}
}
