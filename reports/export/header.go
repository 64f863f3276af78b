package export

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"text/template"

	"autotune/device/compile"
	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

func writeHeader(ctx context.Context, out io.Writer, k cudasource.Winner) ([]string, error) {
	b, target, err := compiled(ctx, k, "sm_")
	if err != nil {
		return nil, err
	}
	text, err := headerText(k, b, target)
	if err == nil {
		_, err = io.WriteString(out, text)
	}
	return nil, err
}

// headerSource is a header, in the language of text/template. All in it is static: a program may
// include it in several of its files.
//
//go:embed header.h.tmpl
var headerSource string

var headerPage = template.Must(template.New("header").Funcs(template.FuncMap{
	"member": member, "ctype": cType, "quoted": quote.C, "attributes": cudasource.Attributes, "given": given,
}).Parse(headerSource))

// headerView is what it is filled with.
type headerView struct {
	cudasource.Winner
	Name   string
	Story  []string
	Binary *compile.Binary
}

// headerText is the header around a binary.
func headerText(k cudasource.Winner, b *compile.Binary, target string) (string, error) {
	v := headerView{Winner: k, Name: "autotune_" + k.Problem.Operator.Name, Binary: b}
	v.Story = append(k.Story(), "Compiled for "+target+" by NVRTC.",
		v.Name+"_load loads the kernel into the current context, once; "+v.Name+"_launch puts it on a stream.",
		"They check no shapes and no pointers, which must be aligned to 16 bytes.", "")
	for _, a := range k.Arguments() {
		about := a.ShapeText()
		if a.Role == operator.Scalar {
			about = fmt.Sprintf("%v for this problem", a.Value)
		}
		v.Story = append(v.Story, fmt.Sprintf("%s (%s): %s, %s", a.Name, a.Role, a.Type, about))
	}
	v.Story = lists.Of(v.Story, func(line string) string { return quote.CComment(strings.ReplaceAll(line, `\`, " ")) })
	var text strings.Builder
	err := headerPage.Execute(&text, v)
	return text.String(), err
}

// given names arguments as the launching function does.
func given(w cudasource.Winner, l operator.Launch) cudasource.Given {
	return w.Given(l, func(a operator.Argument) string { return member(a.Name) })
}

// Guard is the macro that keeps the header from being read twice.
func (v headerView) Guard() string { return strings.ToUpper(v.Name) + "_H" }

// Lines are the binary's bytes, as they stand in lines.
func (v headerView) Lines() iter.Seq[[]byte] { return slices.Chunk(v.Binary.Code, 24) }

// Constants are the arguments that are copied to constant memory.
func (v headerView) Constants() []operator.Argument {
	return lists.Where(v.Arguments(), func(a operator.Argument) bool { return a.Symbol != "" && a.Elements > 0 })
}

// cTypes are C's types for the operators' types that only CUDA has.
var cTypes = map[operator.Type]string{
	operator.F16: "unsigned short", operator.BF16: "unsigned short", operator.F8E4M3: "unsigned char",
	operator.F8E5M2: "unsigned char", operator.Bool: "unsigned char",
}

// cType is how C declares an argument.
func cType(a operator.Argument) string {
	if a.Role != operator.Scalar {
		return "CUdeviceptr"
	}
	return cmp.Or(cTypes[a.Type], a.Type.CUDA())
}

// member makes an argument's name one of C that is free in the launching function.
func member(name string) string {
	if name == "kernel" {
		return "kernel_"
	}
	return cudasource.Identifier(name)
}
