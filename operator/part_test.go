package operator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
)

// A restricted space contains exactly the configurations that satisfy the restriction, and its templates' defaults.
func TestRestrictedSpaceIsTheFilteredOne(t *testing.T) {
	o := find(t, "max_pool2d")
	whole := bindShape(t, o, 1, 2, 40, 40)
	all := spaceOf(t, whole)
	for _, only := range []Restriction{
		{},
		{Templates: []string{"stream", "direct"}},
		{Where: []string{"rows == 4"}},
		{Where: []string{"block_x*vec <= 64", "h == 40 and max_shared > 0"}},
		{Where: []string{"span > 4 or streaming == 1"}}, // a derived value
		{Templates: []string{"columns"}, Where: []string{"rows in (2, 8)", "kernel_h == 4"}},
		{Fixed: map[string]string{"template": "direct", "block_x": "64", "block_y": "4", "rows": "1", "vec": "1", "unroll": "4"}},
		{Templates: []string{"direct"}, Fixed: map[string]string{"block_x": "64", "block_y": "2", "rows": "2", "vec": "1", "unroll": "4"}},
	} {
		part, err := whole.Part(only)
		if err != nil {
			t.Errorf("%s: %v", only, err)
			continue
		}
		s, err := part.Space(t.Context())
		if err != nil {
			t.Errorf("%s: %v", only, err)
			continue
		}
		want := map[string]bool{}
		for i := range all.Len() {
			if c := all.At(i); satisfies(t, whole, c, only) {
				want[c.Key()] = true
			}
		}
		if s.Len() != int64(len(want)) || s.Len() == 0 {
			t.Errorf("%s: %d configurations, want %d", only, s.Len(), len(want))
		}
		for i := range s.Len() {
			if c := s.At(i); !want[c.Key()] {
				t.Errorf("%s: %s does not belong there", only, c)
			}
		}
		for _, c := range part.Defaults(t.Context()) {
			if !want[c.Key()] {
				t.Errorf("%s: the default %s does not belong there", only, c)
			}
		}
		if only.IsZero() != (only.String() == "") {
			t.Errorf("%s: leaves nothing out: %v", only, only.IsZero())
		}
	}
}

// satisfies evaluates a restriction for a configuration by brute force.
func satisfies(t *testing.T, p *Problem, c space.Configuration, only Restriction) bool {
	t.Helper()
	if len(only.Templates) > 0 && !slices.Contains(only.Templates, c.Template) {
		return false
	}
	template, _ := p.Operator.Template(c.Template)
	at, err := useOf(p, template).at(c.Values)
	must.OK(t, err)
	env := at.env
	for _, where := range only.Where {
		code := expr.MustParse(where)
		if slices.ContainsFunc(code.Names(), func(name string) bool { _, ok := env[name]; return !ok }) {
			return false
		}
		v, err := code.Eval(env)
		must.OK(t, err)
		if !v.Truth() {
			return false
		}
	}
	if only.Fixed == nil {
		return true
	}
	fixed := maps.Clone(only.Fixed)
	delete(fixed, "template")
	if named, ok := only.Fixed["template"]; ok && named != c.Template || len(fixed) != len(c.Values) {
		return false
	}
	return !slices.ContainsFunc(c.Values, func(v space.Value) bool { return fixed[v.Name] != v.Value.String() })
}

// A fixed boolean may be written true, as autotune prints it, or 1, as a macro contains it.
func TestFixedValues(t *testing.T) {
	o := find(t, "conv2d")
	direct, _ := o.Template("direct")
	for _, text := range []string{"true", "True", "1"} {
		given := map[string]string{"template": "direct"}
		for _, v := range direct.Default.Values {
			given[v.Name] = v.Value.String()
		}
		given["stage"] = text
		part, err := bindShape(t, o, 1, 16, 40, 40).Part(Restriction{Fixed: given})
		must.OK(t, err)
		if v, _ := part.fixed.Get("stage"); v != expr.Bool(true) {
			t.Errorf("stage=%s is %v", text, v)
		}
	}
}

// A mistake in a restriction is reported as a mistake of the user, not of the operator.
func TestRestrictionRefused(t *testing.T) {
	o := find(t, "max_pool2d")
	for _, only := range []Restriction{
		{Templates: []string{"nope"}},
		{Where: []string{"1 +"}},
		{Where: []string{"nope == 1"}},
		{Where: []string{"kernel == 1"}},
		{Where: []string{"target < 3"}},
		{Where: []string{"block_x // 0 == 1"}},
		{Where: []string{"1 // (rows - 1) == 1"}},
		{Where: []string{"rows < 0"}},
		{Fixed: map[string]string{}},
		{Fixed: map[string]string{"template": "direct"}},
		{Fixed: map[string]string{"template": "direct", "block_x": "32", "block_y": "1", "rows": "1", "vec": "1", "unroll": "1"}},
	} {
		part, err := bindShape(t, o, 1, 2, 40, 40).Part(only)
		_, bindErr := o.Bind(Request{Shape: []int64{1, 2, 40, 40}, Only: only}, TypicalLimits())
		if fmt.Sprint(bindErr) != fmt.Sprint(err) {
			t.Errorf("%+v: Bind says %v, Part %v", only, bindErr, err)
		}
		if err == nil {
			_, err = part.Space(t.Context())
		}
		var refused *RequestError
		if !errors.As(err, &refused) {
			t.Errorf("%+v: got %v, want a RequestError", only, err)
		}
	}
}
