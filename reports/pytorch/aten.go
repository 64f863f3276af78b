package pytorch

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/program"
)

// methods are the functions that Python writes as a method of the first argument, of the same arguments.
var methods = map[string]string{
	"aten.contiguous.default": "contiguous", "aten.expand.default": "expand", "aten.flatten.using_ints": "flatten",
	"aten.permute.default": "permute", "aten.reshape.default": "reshape", "aten.squeeze.dim": "squeeze", "aten.t.default": "t",
	"aten.transpose.int": "transpose", "aten.unsqueeze.default": "unsqueeze", "aten.view.default": "view",
}

// signs are the functions that Python writes between two arguments.
var signs = map[string]string{"aten.add.Tensor": "+", "aten.div.Tensor": "/", "aten.mul.Tensor": "*", "aten.sub.Tensor": "-"}

var (
	constantForm = regexp.MustCompile(`^(device|torch\.[a-z][a-z0-9_]*|float\('-?(inf|nan)'\)|torch\.device\('[a-z]+(:\d{1,3})?'\))$`)
	digitsForm   = regexp.MustCompile(`^\d{1,9}$`)
	typeForm     = regexp.MustCompile(`^(bool|uint8|int(8|16|32|64)|b?float(16|32|64)|complex(64|128))$`)
)

// callOf writes a node as an expression of Python. names has the values' names there.
func callOf(n program.Node, names map[string]string) (string, error) {
	var arguments []string
	for _, a := range n.Arguments {
		text, err := written(a, names)
		if err != nil {
			return "", fmt.Errorf("%.80q: %w", n.Name, err)
		}
		arguments = append(arguments, text)
	}
	for _, keyword := range slices.Sorted(maps.Keys(n.Keywords)) {
		text, err := written(n.Keywords[keyword], names)
		if err == nil && !quote.IsPythonName(keyword) {
			err = fmt.Errorf("its argument %.80q is no name in Python", keyword)
		}
		if err != nil {
			return "", fmt.Errorf("%.80q: %w", n.Name, err)
		}
		arguments = append(arguments, keyword+"="+text)
	}
	plain := len(n.Keywords) == 0 && len(arguments) > 0 && n.Arguments[0].Value != ""
	if sign := signs[n.Function]; sign != "" && plain && len(arguments) == 2 {
		return arguments[0] + " " + sign + " " + arguments[1], nil
	}
	if method := methods[n.Function]; method != "" && plain {
		if len(arguments) == 2 && len(n.Arguments[1].List) > 0 { // sizes may stand by themselves
			arguments[1] = arguments[1][1 : len(arguments[1])-1]
		}
		return fmt.Sprintf("%s.%s(%s)", arguments[0], method, strings.Join(arguments[1:], ", ")), nil
	}
	if parts := strings.Split(n.Function, "."); len(parts) != 3 || len(lists.Where(parts, quote.IsPythonName)) != 3 {
		return "", fmt.Errorf("%.80q: its function %.80q is none of torch.ops: want a name as aten.conv2d.default", n.Name, n.Function)
	}
	return fmt.Sprintf("torch.ops.%s(%s)", n.Function, strings.Join(arguments, ", ")), nil
}

// written is an argument of a call in Python.
func written(a program.Argument, names map[string]string) (string, error) {
	if a.Value != "" {
		name, known := names[a.Value]
		if !known {
			return "", fmt.Errorf("it reads %.80q, which is no value before it", a.Value)
		}
		return name, nil
	}
	if a.List != nil {
		parts := make([]string, len(a.List))
		for i, part := range a.List {
			var err error
			if parts[i], err = written(part, names); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	if a.Python != "" {
		if !constantForm.MatchString(a.Python) {
			return "", fmt.Errorf("its argument %.80q is no constant that a module has", a.Python)
		}
		return a.Python, nil
	}
	return constant(a.Constant)
}

// constant writes a constant of JSON.
func constant(value any) (string, error) {
	switch c := value.(type) {
	case nil:
		return "None", nil
	case bool:
		return map[bool]string{true: "True", false: "False"}[c], nil
	case int64:
		return strconv.FormatInt(c, 10), nil
	case float64:
		return float(c), nil
	case string:
		return quote.Python(c), nil
	}
	return "", fmt.Errorf("its argument %.80v is of type %T", value, value)
}

// float writes a number so that Python reads the same one.
func float(x float64) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x):
		return "float(" + quote.Python(text) + ")"
	case !strings.ContainsAny(text, ".e"):
		text += ".0"
	}
	return text
}

// attribute writes the path of a parameter or a buffer as an expression. The parts of a container's are numbers, and a
// class would take a name with two underscores for its own.
func attribute(path string) (string, error) {
	expression := "self"
	for part := range strings.SplitSeq(path, ".") {
		switch {
		case digitsForm.MatchString(part), quote.IsName(part) && (!quote.IsPythonName(part) || strings.HasPrefix(part, "__")):
			expression = fmt.Sprintf("getattr(%s, %s)", expression, quote.Python(part))
		case quote.IsName(part):
			expression += "." + part
		default:
			return "", fmt.Errorf("the model's %.80q cannot be written: want names and numbers with dots, as layers.0.weight", path)
		}
	}
	return expression, nil
}
