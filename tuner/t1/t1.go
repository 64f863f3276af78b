// Package t1 reads and writes T1 documents: descriptions of tuning problems that
// several autotuning tools share. They follow the schema of the AutoTuning
// Association, with the keys that Kernel Tuner adds.
//
// Read makes the draft of an operator of a document and its kernel. What the document
// says and an operator cannot is listed, key by key: nothing is dropped in silence.
// Write makes a document of a problem's template.
package t1

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/input"
	"autotune/internal/jsonerror"
	"autotune/space"
	"autotune/space/expr"
)

// bound is what a document may have at most.
var bound = input.Bound{Kind: "a T1 document", Bytes: 1 << 20, Values: 100_000, Depth: 32}

// Document is a T1 document as it was read.
type Document struct {
	KernelFile string // relative to the document, or to the folder above

	part         space.Part
	parameters   []*section // of the part's tunables
	root, kernel *section
	fault        error // the first section that is not of the form it should be
}

// Is tells whether a JSON document claims to be of T1's form.
func Is(data []byte) bool {
	var form struct {
		KernelSpecification, ConfigurationSpace json.RawMessage
		Draft                                   json.RawMessage `json:"configuration_space"`
	}
	return json.Unmarshal(data, &form) == nil && (form.KernelSpecification != nil || form.ConfigurationSpace != nil || form.Draft != nil)
}

// Read reads a document.
func Read(r io.Reader) (*Document, error) {
	data, err := bound.Unpack(r)
	if err == nil {
		err = bound.JSON(data)
	}
	if err != nil {
		return nil, err
	}
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	if d.root.values["KernelSpecification"] == nil {
		return nil, errors.New(`it has no "KernelSpecification": it describes a space and no kernel; autotune space --file reads it`)
	}
	err = d.check()
	return d, cmp.Or(d.fault, err)
}

// Spaces reads the tuning spaces of a file: a document's, or those of the forms that
// package space knows. A key of ConfigurationSpace that means nothing is an error. So is
// a section that neither the schema nor other tools know.
func Spaces(r io.Reader) ([]space.Published, error) {
	data, err := space.Bound.Unpack(r)
	if err != nil {
		return nil, err
	}
	if !Is(data) {
		return space.ParsePublished(data)
	}
	if err := space.Bound.JSON(data); err != nil {
		return nil, err
	}
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	general := d.root.section("General")
	name := general.text("BenchmarkName")
	clear(general.values)
	for _, key := range []string{"$schema", "KernelSpecification", "BenchmarkConfig", "Search", "SearchSettings", "SearchSpace", "Budget", "Library"} {
		d.root.take(key)
	}
	for _, parameter := range d.parameters {
		parameter.take("Default")
	}
	if unknown := d.root.left(); d.fault == nil && len(unknown) > 0 {
		return nil, fmt.Errorf("unknown key %q; remove it or mend its spelling", unknown[0])
	}
	return []space.Published{{Name: name, Part: d.part, Valid: -1}}, d.fault
}

// parse reads a document as far as its space.
func parse(data []byte) (*Document, error) {
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, jsonerror.Describe(err, data, decoder.InputOffset())
	}
	root, err := renew(root)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	d.root = newSection("", root, &d.fault)
	err = d.space()
	return d, cmp.Or(d.fault, err)
}

// space reads the tuning parameters and the conditions.
func (d *Document) space() (err error) {
	configuration := d.root.section("ConfigurationSpace")
	d.parameters = configuration.sections("TuningParameters")
	for _, p := range d.parameters {
		p.take("Type") // the values say it
		t := space.Tunable{Name: p.text("Name")}
		if t.Name == "" {
			return fmt.Errorf("%s has no Name", strings.TrimPrefix(p.path, "ConfigurationSpace."))
		}
		if t.Values, err = values(p.take("Values")); err != nil {
			return fmt.Errorf("tunable %s: Values: %w", t.Name, err)
		}
		d.part.Tunables = append(d.part.Tunables, t)
	}
	var sources []string
	for _, c := range configuration.sections("Conditions") {
		c.take("Parameters") // the expression names them
		sources = append(sources, c.text("Expression"))
	}
	d.part.Constraints, err = space.ParseConstraints(sources)
	return err
}

// values reads a list, or a text in which Python has one.
func values(of any) (list []expr.Value, err error) {
	if source, ok := of.(string); ok {
		return expr.ParseList(source)
	}
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("neither a list nor a text that holds one: %s", jsonerror.Words(err))
	}
	return list, nil
}

// versionForm are the versions that are read. Documents of 0 have the same keys.
var versionForm = regexp.MustCompile(`^[01](\.|$)`)

// check checks what the rest relies on.
func (d *Document) check() error {
	d.kernel = d.root.section("KernelSpecification")
	for _, s := range []*section{d.root, d.root.section("General")} {
		if version := s.text("FormatVersion"); version != "" && !versionForm.MatchString(version) {
			return fmt.Errorf("its FormatVersion is %s; this version reads 1", version)
		}
	}
	if language := d.kernel.text("Language"); language != "CUDA" {
		return fmt.Errorf("KernelSpecification.Language is %q; kernels of CUDA can be imported", language)
	}
	if d.KernelFile = d.kernel.text("KernelFile"); d.KernelFile == "" {
		return errors.New("KernelSpecification.KernelFile is missing: the name of the kernel's file")
	}
	return nil
}

// section is an object of a document that remembers what of it was read.
type section struct {
	path   string
	values map[string]any
	inner  map[string]*section
	fault  *error // the document's
}

func newSection(path string, values map[string]any, fault *error) *section {
	return &section{path, maps.Clone(values), map[string]*section{}, fault}
}

// refuse notes what is not of the form it should be; only the first counts.
func (s *section) refuse(format string, args ...any) {
	*s.fault = cmp.Or(*s.fault, fmt.Errorf(format, args...))
}

func (s *section) name(key string) string {
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}

// take gives a value, which then counts as read.
func (s *section) take(key string) any {
	v := s.values[key]
	delete(s.values, key)
	return v
}

// text is a value that is a text or a number; "" for others.
func (s *section) text(key string) string {
	switch v := s.values[key].(type) {
	case string:
		s.take(key)
		return v
	case json.Number:
		s.take(key)
		return v.String()
	}
	return ""
}

// list is a value that is a list, or one that stands for a list of one.
func (s *section) list(key string) []any {
	switch v := s.take(key).(type) {
	case []any:
		return v
	case nil:
		return nil
	default:
		return []any{v}
	}
}

// texts is a list of texts and numbers.
func (s *section) texts(key string) (texts []string) {
	for i, item := range s.list(key) {
		switch v := item.(type) {
		case string:
			texts = append(texts, v)
		case json.Number:
			texts = append(texts, v.String())
		case bool:
			texts = append(texts, strconv.FormatBool(v))
		default:
			s.refuse("%s[%d] must be a text or a number", s.name(key), i)
		}
	}
	return texts
}

// section is a value that is an object; one that is absent is empty.
func (s *section) section(key string) *section {
	if known, ok := s.inner[key]; ok {
		return known
	}
	values, ok := s.values[key].(map[string]any)
	if !ok && s.values[key] != nil {
		s.refuse("%s must be an object", s.name(key))
	}
	s.take(key)
	s.inner[key] = newSection(s.name(key), values, s.fault)
	return s.inner[key]
}

// sections is a list of objects.
func (s *section) sections(key string) (all []*section) {
	for i, item := range s.list(key) {
		path := fmt.Sprintf("%s[%d]", s.name(key), i)
		values, ok := item.(map[string]any)
		if !ok {
			s.refuse("%s must be an object", path)
		}
		s.inner[path] = newSection(path, values, s.fault)
		all = append(all, s.inner[path])
	}
	return all
}

// nothing tells whether a value means the same as an absent one.
func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		return v == "0"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// left lists the keys that have a meaning and were not read.
func (s *section) left() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !nothing(s.values[key]) {
			keys = append(keys, s.name(key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.inner)) {
		keys = append(keys, s.inner[key].left()...)
	}
	return keys
}
