package space_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autotune/space"
	"autotune/space/expr"
)

// listed returns the values of a map in random order.
func listed(values map[string]expr.Value) space.Values {
	var list space.Values
	for name, v := range values {
		list = append(list, space.Value{Name: name, Value: v})
	}
	return list
}

func TestConfigurationJSON(t *testing.T) {
	c := space.Configuration{Template: "direct", Values: space.Values{
		{Name: "vec", Value: expr.Int(1)}, {Name: "share", Value: expr.Float(1)}, {Name: "block", Value: expr.Int(1<<53 + 1)},
		{Name: "padded", Value: expr.Bool(true)}, {Name: "store", Value: expr.String("1")},
	}}
	const want = `{"template":"direct","configuration":{"vec":1,"share":1.0,"block":9007199254740993,"padded":true,"store":"1"}}`
	text, err := json.Marshal(c)
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v\nwant %s", text, err, want)
	}
	var back space.Configuration
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, c) {
		t.Errorf("read back %+v, %v", back, err)
	}
	flat, err := json.Marshal(c.Flat())
	if want := `{"block":9007199254740993,"padded":true,"share":1.0,"store":"1","template":"direct","vec":1}`; err != nil || string(flat) != want {
		t.Errorf("flat %s, %v", flat, err)
	}
	if c := space.Unflatten(c.Flat()); c.Template != "direct" || c.String() != "direct block=9007199254740993 padded=true share=1.0 store=1 vec=1" {
		t.Errorf("unflattened %v", c)
	}
	for text, want := range map[string]string{
		`{"configuration":{"tile":[4]}}`: "configuration.tile: a value is a number, a bool or a string",
		`{"configuration":{"tile":{}}}`:  "configuration.tile: a value is",
		`{"configuration":{"a":1e999}}`:  "configuration.a: a value is",
		`{"configuration":[4]}`:          "must be an object, not [4]",
	} {
		if err := json.Unmarshal([]byte(text), &back); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestValuesSurviveJSON(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.Int64(), expr.Int), rapid.Map(rapid.Float64Range(-1e300, 1e300), expr.Float),
		rapid.Map(rapid.Bool(), expr.Bool), rapid.Map(rapid.String(), expr.String),
	)
	rapid.Check(t, func(t *rapid.T) {
		values := listed(rapid.MapOf(rapid.StringMatching(`[a-z_"é]{1,8}`), value).Draw(t, "values"))
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		var back space.Values
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, values) {
			t.Fatalf("%s became %+v, %v", text, back, err)
		}
	})
}
