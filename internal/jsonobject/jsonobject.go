// Package jsonobject reads and writes JSON objects whose order matters, which
// Go's maps lose.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// Writer builds an object field by field. The zero Writer is an empty one.
type Writer struct{ fields []byte }

// Add appends a field.
func (w *Writer) Add(name string, value any) error {
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(w.fields) > 0 {
		w.fields = append(w.fields, ',')
	}
	w.fields = append(append(append(w.fields, key...), ':'), text...)
	return nil
}

// Bytes returns the object.
func (w *Writer) Bytes() []byte { return append(append([]byte{'{'}, w.fields...), '}') }
