package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// formOf tells the known forms apart by the first of their names in the file.
func formOf(data []byte) (string, error) {
	form := ""
	err := eachField(data, func(name string, d *json.Decoder) error {
		switch name {
		case "cache", "tune_params_keys":
			form = "cache"
			return errDone
		case "results", "schema_version":
			form = "results"
			return errDone
		}
		return skip(d)
	})
	if form == "" && err == nil {
		err = errors.New(`neither a Kernel Tuner cache (it has no "cache") nor T4 results (it has no "results")`)
	}
	if form != "" {
		err = nil
	}
	return form, err
}

// errDone ends eachField early, without an error.
var errDone = errors.New("done")

// eachField calls do for every field of an object, which must read its value.
func eachField(data []byte, do func(name string, d *json.Decoder) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("not a recording: it does not begin with a JSON object")
	}
	err := fields(d, do)
	if errors.Is(err, errDone) {
		return nil
	}
	return located(data, d, err)
}

// fields goes on in an object whose opening bracket was read.
func fields(d *json.Decoder, do func(name string, d *json.Decoder) error) error {
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return fmt.Errorf("a name is expected, not %v", t)
		}
		if err := do(name, d); err != nil {
			return err
		}
	}
	_, err := d.Token() // the closing bracket
	return err
}

// skip reads over a value.
func skip(d *json.Decoder) error {
	var value json.RawMessage
	return d.Decode(&value)
}

// cutShort says whether an error means that the file ends too early.
func cutShort(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// located adds the line to an error of the decoder.
func located(data []byte, d *json.Decoder, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case cutShort(err):
		return fmt.Errorf("the file ends in the middle: %w", err)
	case errors.As(err, &syntax), errors.As(err, &kind):
		at := min(max(d.InputOffset(), 0), int64(len(data)))
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at], []byte("\n")), err)
	}
	return err
}
