package reports

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner/bestconfig"
)

// Unit is the unit in which all times of one search are printed.
type Unit struct {
	Name  string  `json:"name"`
	PerMS float64 `json:"per_ms"` // how many units a millisecond has
}

// UnitOf returns the unit in which a time in milliseconds is easiest to read.
func UnitOf(ms float64) Unit {
	switch {
	case ms > 0 && ms < 0.1:
		return Unit{"µs", 1000}
	case ms >= 1e5:
		return Unit{"s", 0.001}
	}
	return Unit{"ms", 1}
}

func (u Unit) Format(ms float64) string { return significant(ms*u.PerMS, 4) + " " + u.Name }

// unitOf returns the unit for the time of the untuned default, which is known early, or else of the winner.
func unitOf(b bestconfig.Document) Unit {
	if base, known := b.Baselines[bestconfig.Default]; known {
		return UnitOf(base.TimeMS)
	}
	return UnitOf(b.Time.Median)
}

func FormatMS(ms float64) string { return UnitOf(ms).Format(ms) }

// significant formats x with the given number of significant digits and without an exponent.
func significant(x float64, digits int) string {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', digits-1, 64), "e")
	power, err := strconv.Atoi(exponent)
	if err != nil { // NaN or an infinity
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, digits-1-power), 64)
}

func formatPercent(share float64) string { return significant(100*share, 3) + " %" }

// formatChance formats a probability in percent. A small probability becomes "under 1 %" instead of 0.
func formatChance(chance float64) string {
	if chance > 0 && chance < 0.01 {
		return "under 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*chance)
}

// formatBandwidth formats bytes per second in GB/s or TB/s, the decimal units of GPUs' data sheets.
func formatBandwidth(bytesPerSecond float64) string {
	if bytesPerSecond >= 1e12 {
		return significant(bytesPerSecond/1e12, 3) + " TB/s"
	}
	return significant(bytesPerSecond/1e9, 3) + " GB/s"
}

// perSecond formats a rate in billions per second, for n operations or bytes that take ms milliseconds.
func perSecond(n int64, ms float64) string { return significant(float64(n)/ms/1e6, 4) }

func formatBytes(n int64) string {
	switch x := float64(n); {
	case x >= 1e9:
		return significant(x/1e9, 3) + " GB"
	case x >= 1e6:
		return significant(x/1e6, 3) + " MB"
	case x >= 1e4:
		return significant(x/1e3, 3) + " kB"
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// Title names a problem briefly, for example "conv2d 16x16x1024x1024".
func Title(b bestconfig.Document) string {
	return output.Line(b.Operator + " " + operator.FormatShape(b.Problem.Shape))
}

// parametersOf returns the problem's parameters, such as "kernel=3x3", and its math mode, in the problem's order.
func parametersOf(b bestconfig.Document) []string {
	if words := strings.Fields(output.Line(b.Problem.Text)); len(words) > 2 {
		return words[2:]
	}
	words := lists.Of(b.Problem.Parameters, func(p operator.Parameter) string { return output.Line(p.Name + "=" + p.Value) })
	if b.Problem.Math != "" {
		words = append(words, "math="+b.Problem.Math)
	}
	return words
}

// originOf says where the times come from, so that emulated or replayed times are not mistaken for new ones of a GPU.
func originOf(b bestconfig.Document) string {
	kind := b.Device.Kind.Properties()
	switch {
	case !kind.Compiles && b.Recording != nil:
		return fmt.Sprintf("replayed from a recording of %s on %s", day(b.Recording.RecordedAt), b.Recording.Device)
	case kind.Caveat != "":
		return fmt.Sprintf("%s, %s: times say nothing about a GPU", kind.Caveat, day(b.RecordedAt))
	}
	return b.Device.Name + ", " + day(b.RecordedAt)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func settingOf(b bestconfig.Document) string {
	return output.Line(joined(", ", originOf(b), b.Conditions.Unusual()))
}

func joined(separator string, texts ...string) string {
	return strings.Join(lists.Where(texts, func(text string) bool { return text != "" }), separator)
}

// number matches a word that is a number. Lines are not broken between a number and the next word, which is its unit.
var number = regexp.MustCompile(`^[0-9][0-9.,]*$`)

// phrases splits a text into words, except that a number and its unit form one phrase.
func phrases(text string) []string {
	var list []string
	after := false
	for _, word := range strings.Fields(text) {
		if last := len(list) - 1; after {
			list[last] += " " + word
		} else {
			list = append(list, word)
		}
		after = number.MatchString(word) && !strings.HasSuffix(word, ",")
	}
	return list
}

// middle shortens a text by leaving out its middle, since names that begin alike often differ at the end.
func middle(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	head := most / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-head-1):])
}

// Wrap breaks a text between words into lines of at most the given width. Wrap indents all lines of the text but the
// first.
func Wrap(text string, width int) string {
	const indent = "  "
	fits := func(line string) bool { return len(indent)+utf8.RuneCountInString(line) <= width }
	return strings.Join(wrapped(phrases(text), fits), "\n"+indent)
}

// Hang writes a label and a text in lines of a table's width, and indents the later lines to where the text began. For
// an empty text, Hang returns "".
func Hang(label, text string) string {
	t := &table{}
	t.wrap(label, utf8.RuneCountInString(label), text)
	return t.lines.String()
}

// wrapped fills lines with as many words as fit, and with at least one word each.
func wrapped(words []string, fits func(line string) bool) []string {
	var lines []string
	for i, word := range words {
		if last := len(lines) - 1; i > 0 && fits(lines[last]+" "+word) {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
