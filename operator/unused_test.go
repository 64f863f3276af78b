package operator

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator/tree"
	"autotune/templates"
)

func TestWarningsOfWhatNothingMentions(t *testing.T) {
	for name, test := range map[string]struct {
		yaml   [2]string // old and new text of op.yaml
		kernel string    // added in front of the kernel's text
		own    string    // added in front of the included file's text
		warned bool
	}{
		"nowhere":                    {warned: true},
		"only in comments":           {kernel: "// WIDE loads\n/* or\n WIDE stores */\n", warned: true},
		"only given a value":         {kernel: "#ifndef WIDE\n#  define WIDE 1\n#endif\n", warned: true},
		"part of a longer name":      {kernel: "#define V WIDEST\n", warned: true},
		"in lower case":              {kernel: "int wide;\n", warned: true},
		"in the kernel":              {kernel: "constexpr bool Wide = WIDE;\n"},
		"behind a macro's name":      {kernel: "#define V WIDE\n"},
		"in what the kernel holds":   {own: "#if WIDE\n#endif\n"},
		"in a constraint":            {yaml: [2]string{"[chunk <= 256]", "[chunk <= 256, not wide or vec > 1]"}},
		"in a derived value":         {yaml: [2]string{"chunk: block_x*vec", "chunk: block_x*vec*(1 + int(wide))"}},
		"in the launch":              {yaml: [2]string{"shared: 4*block_x", "shared: 4*block_x*int(wide)"}},
		"with one value, which asks": {yaml: [2]string{"wide: [false, true]", "wide: [false]"}},
	} {
		files := operatorFiles(strings.Replace(goodOperator, test.yaml[0], test.yaml[1], 1))
		files["direct.cu"].Data = append([]byte(test.kernel), files["direct.cu"].Data...)
		files["own.cuh"].Data = append([]byte(test.own), files["own.cuh"].Data...)
		o, err := Load(files, ".")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		direct, _ := o.Template("direct")
		if direct.Warnings() != nil != test.warned {
			t.Errorf("%s: warnings %q", name, direct.Warnings())
		}
	}
}

func TestBuiltInOperatorsMentionEveryTunable(t *testing.T) {
	all, err := Operators()
	must.OK(t, err)
	for _, o := range all {
		for _, template := range o.Templates {
			for _, warning := range template.Warnings() {
				t.Errorf("%s: %s", o.Name, warning)
			}
		}
	}
}

// Expressions of built-in operators must be short; to shorten a long expression, name its parts with `let`. Every
// fragment of op.yaml must be included by some built-in operator.
func TestBuiltInExpressionsAreShort(t *testing.T) {
	all, err := Operators()
	must.OK(t, err)
	read := map[string]bool{}
	for _, o := range all {
		for name := range o.files {
			read[name] = true
		}
	}
	files, err := fs.Glob(templates.FS, "*/*.yaml")
	must.OK(t, err)
	for _, name := range files {
		text, err := fs.ReadFile(templates.FS, name)
		must.OK(t, err)
		if !read[path.Base(name)] {
			t.Errorf("nothing includes %s", name)
		}
		var faults tree.Faults
		longest(t, tree.File{Name: name, Faults: &faults}.Parse(string(text)))
		must.OK(t, faults.Err())
	}
}

func longest(t *testing.T, n *tree.Node) {
	t.Helper()
	if most := 160; len(n.Value) > most {
		t.Errorf("%s has %d characters, and %d are the most: %s", n.Position, len(n.Value), most, n.Value)
	}
	for _, e := range n.Entries {
		longest(t, e.Value)
	}
	for _, item := range n.Items {
		longest(t, item)
	}
}
