package operator

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"autotune/templates"
)

var defaultForm = regexp.MustCompile(`(?m)^#define ([A-Z]\w*) (-?\d+|[a-z]\w*)$`)

// A kernel's file alone, as an editor or nvcc reads it, is the kernel of the
// example in its template's default configuration: the values in problem.cuh, at its own
// head and for the axes that it lacks (one_slice.cuh, one_row.cuh) are those that op.yaml derives.
func TestFilesAloneAreTheExample(t *testing.T) {
	oneAtATime(t)
	for _, name := range OperatorNames() {
		o, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		sizes, err := templates.FS.ReadFile(path.Join(name, "problem.cuh"))
		if err != nil {
			continue
		}
		p, err := o.Bind(Request{Shape: o.Example, Math: "fp32"}, exampleLimits)
		if err != nil {
			t.Fatal(err)
		}
		for _, configuration := range p.Defaults(t.Context()) {
			k, err := p.Kernel(configuration)
			if err != nil {
				t.Fatal(err)
			}
			alone := map[string]string{}
			for _, text := range []string{string(sizes), k.Includes["one_slice.cuh"], k.Includes["one_row.cuh"], k.Source} {
				for _, m := range defaultForm.FindAllStringSubmatch(text, -1) {
					alone[m[1]] = m[2]
				}
			}
			text := k.Source
			for _, include := range k.Includes {
				text += include
			}
			for _, m := range k.Macros {
				value, given := alone[m.Name]
				used := regexp.MustCompile(`\b` + m.Name + `\b`).MatchString(withoutComments(text))
				switch {
				case given && value != m.Value:
					t.Errorf("%s/%s: %s is %s, op.yaml's example has %s", name, k.File, m.Name, value, m.Value)
				case !given && used:
					t.Errorf("%s/%s: %s has no value for editors and nvcc; op.yaml's example has %s", name, k.File, m.Name, m.Value)
				}
			}
		}
	}
}

func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "//")
		b.WriteString(code + "\n")
	}
	return b.String()
}
