// Package jsonobject reads and writes JSON objects whose order matters, which Go's maps lose.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Read calls each for every field of an object, in order. null has none.
func Read(data []byte, each func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	switch t, err := d.Token(); {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t != json.Delim('{'):
		return fmt.Errorf("must be an object, not %.40s", data)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := each(name.(string), value); err != nil {
			return err
		}
	}
	return nil
}

type Writer struct {
	fields []byte
	err    error
}

// Add appends a field. MarshalJSON tells of the first that cannot be written.
func (w *Writer) Add(name string, value any) {
	key, _ := json.Marshal(name) // every text can be written
	text, err := json.Marshal(value)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", name, err)
	}
	if len(w.fields) > 0 {
		w.fields = append(w.fields, ',')
	}
	w.fields = append(append(append(w.fields, key...), ':'), text...)
}

func (w Writer) MarshalJSON() ([]byte, error) {
	return slices.Concat([]byte{'{'}, w.fields, []byte{'}'}), w.err
}
