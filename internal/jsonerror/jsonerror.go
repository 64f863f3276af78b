// Package jsonerror says where a JSON document is wrong.
package jsonerror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Describe turns an error of decoding data into one that says on which line and
// in words of the document. offset is how far the decoder has come, for errors
// that do not tell.
func Describe(err error, data []byte, offset int64) error {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return fmt.Errorf("line %d: the document must be an object, not a %s", Line(data, wrongType.Offset), wrongType.Value)
	case errors.As(err, &wrongType):
		return fmt.Errorf("line %d: %s must be a %s, not a %s", Line(data, wrongType.Offset), wrongType.Field, wrongType.Type, wrongType.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: not JSON: %w", Line(data, syntax.Offset), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the document is cut short: its JSON ends at line %d", Line(data, int64(len(data))))
	default:
		return fmt.Errorf("line %d: %s", Line(data, offset), strings.TrimPrefix(err.Error(), "json: "))
	}
}

// Line is the number of the line that data's byte at offset is on, from 1.
func Line(data []byte, offset int64) int {
	offset = max(0, min(offset, int64(len(data))))
	return 1 + bytes.Count(data[:offset], []byte{'\n'})
}
