package cudafile

import "strings"

// Squeeze removes comments, blank lines, and all but one of the spaces between two words. Two sources that Squeeze
// makes equal compile to the same code, except for line numbers.
func Squeeze(text string) string {
	var squeezed strings.Builder
	squeezed.Grow(len(text))
	gap := byte(0) // what stands between the last word and the next
	for len(text) > 0 {
		if blank, end := blankAhead(text); end > 0 {
			if gap != '\n' {
				gap = blank
			}
			text = text[end:]
			continue
		}
		if gap != 0 && squeezed.Len() > 0 {
			squeezed.WriteByte(gap)
		}
		gap = 0
		end := wordAhead(text)
		squeezed.WriteString(text[:end])
		text = text[end:]
	}
	return squeezed.String()
}

// blankAhead returns the length of a space or comment at the start of a text, and whether it is a space or a new line.
func blankAhead(text string) (kind byte, end int) {
	switch {
	case text[0] == '\n':
		return '\n', 1
	case strings.IndexByte(" \t\r\v\f", text[0]) >= 0:
		return ' ', 1
	case strings.HasPrefix(text, "//"):
		for end = 2; end < len(text) && text[end] != '\n'; end++ {
			if text[end] == '\\' && end+1 < len(text) {
				end++ // a backslash continues the comment on the next line
			}
		}
		return ' ', end
	case strings.HasPrefix(text, "/*"):
		_, after, _ := strings.Cut(text[2:], "*/")
		return ' ', len(text) - len(after)
	}
	return 0, 0
}

// wordAhead returns the length of the string, number, name or sign at the start of a text.
func wordAhead(text string) int {
	switch c := text[0]; {
	case strings.HasPrefix(text, `R"`):
		fence, inside, _ := strings.Cut(text[2:], "(")
		_, after, _ := strings.Cut(inside, ")"+fence+`"`)
		return len(text) - len(after)
	case c == '"' || c == '\'':
		for end := 1; end < len(text) && text[end] != '\n'; end++ {
			switch text[end] {
			case c:
				return end + 1
			case '\\':
				end++
			}
		}
		return strings.IndexByte(text+"\n", '\n')
	case wordByte(c):
		end := 1 // the quote in 1'000 begins no character literal
		for end < len(text) && (wordByte(text[end]) || text[end] == '\'' && isDigit(c)) {
			end++
		}
		if end == 1 || text[end-1] != 'R' {
			return end
		}
		return end - 1 // u8R"(...)"
	}
	return 1
}

func wordByte(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
