package pack

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/input"
)

// What a pack may have at most.
const (
	mostFiles     = 20_000
	mostFileBytes = 256 << 20
	mostBytes     = 2 << 30
	mostWorkspace = 1 << 50
	mostGrid      = 1<<31 - 1
	mostBlock     = 1024
	mostCluster   = 16
	mostShared    = 1 << 20
)

// bound is what a manifest may have at most.
var bound = input.Bound{Kind: "a pack's manifest", Bytes: 64 << 20, Values: 8 << 20, Depth: 24}

// Pack is a pack that has been verified. It is safe for concurrent use.
type Pack struct {
	Manifest
	Path  string
	files map[string][]byte // the kernels' binaries, by path
}

// Open reads a folder or a .zip and verifies all of it: each file's size and digest, and that the
// manifest makes sense. It runs nothing of the pack.
func Open(path string) (*Pack, error) {
	files, closing, err := filesOf(path)
	if err == nil {
		defer closing.Close()
		var p *Pack
		if p, err = read(files); err == nil {
			p.Path = path
			return p, nil
		}
	}
	return nil, fmt.Errorf("the pack %s: %w", path, err)
}

// Is tells whether a path is that of a pack, by its manifest.
func Is(path string) bool {
	files, closing, err := filesOf(path)
	if err != nil {
		return false
	}
	defer closing.Close()
	f, err := files.Open(ManifestFile)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 256))
	return err == nil && regexp.MustCompile(`^\s*{\s*"schema":\s*"autotune/pack/`).Match(head)
}

// filesOf gives the files of a zip or of a folder; links out of the folder are refused.
func filesOf(path string) (fs.FS, io.Closer, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, input.Reason(err)
	case info.IsDir():
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, nil, input.Reason(err)
		}
		return root.FS(), root, nil
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is neither a folder nor a .zip")
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, fmt.Errorf("it is neither a folder nor a .zip that can be read: %w", err)
	}
	if len(archive.File) > mostFiles {
		archive.Close()
		return nil, nil, fmt.Errorf("it has %d files; a pack may have %d", len(archive.File), mostFiles)
	}
	return archive, archive, nil
}

func read(files fs.FS) (*Pack, error) {
	text, err := readFile(files, ManifestFile, int64(bound.Bytes))
	if err != nil {
		return nil, err
	}
	if err := bound.JSON(text); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	p := &Pack{files: map[string][]byte{}}
	var only struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &only); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	if !slices.Contains(schemas, only.Schema) {
		return nil, fmt.Errorf("its schema is %.40q and this program reads %s; a newer autotune may read it, or pack it again", only.Schema, strings.Join(schemas, ", "))
	}
	if err := json.Unmarshal(text, &p.Manifest); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	return p, p.verify(files)
}

// readFile reads a regular file of at most so many bytes.
func readFile(files fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, input.Reason(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes; it may have %d", name, info.Size(), most)
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, input.Reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than the %d bytes that it may have", most)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// verify reads every file and holds it against the manifest. It keeps the binaries.
func (p *Pack) verify(files fs.FS) error {
	kept := map[string]bool{}
	for _, e := range p.Entries {
		kept[e.File] = true
	}
	for _, g := range p.General {
		kept[g.File] = true
	}
	for _, f := range p.Families {
		for _, v := range f.Variants {
			kept[v.File] = true
		}
	}
	for name, want := range sorted(p.Files) {
		data, err := readFile(files, name, want.Bytes)
		if err != nil {
			return err
		}
		if digest := sha256.Sum256(data); int64(len(data)) != want.Bytes || hex.EncodeToString(digest[:]) != want.SHA256 {
			return fmt.Errorf("%s is not the file that was packed: its %d bytes have another digest", name, len(data))
		}
		if kept[name] {
			p.files[name] = append(data, 0) // a zero byte ends PTX
		}
	}
	return nil
}

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	targetForm = regexp.MustCompile(`^sm_([0-9]{2,3})([a-z]?)$`)
)

// check looks for what no loader could use. Operators' formulas are parsed already.
func (m *Manifest) check() error {
	total := int64(0)
	for name, file := range sorted(m.Files) {
		switch total += file.Bytes; {
		case !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\:"):
			return fmt.Errorf("the path %.80q leaves the pack", name)
		case file.Bytes < 0 || file.Bytes > mostFileBytes || total > mostBytes:
			return fmt.Errorf("%s would have %d bytes; a file may have %d, all together %d", name, file.Bytes, mostFileBytes, int64(mostBytes))
		}
	}
	if slices.Contains(m.Operators, nil) || slices.Contains(m.Entries, nil) || slices.Contains(m.Families, nil) || slices.Contains(m.General, nil) {
		return errors.New("null stands where an operator or a kernel belongs")
	}
	if !nameForm.MatchString(m.Name) || len(m.Files) > mostFiles {
		return fmt.Errorf("it is called %.80q and has %d files; a name is one of C, and files are %d at most", m.Name, len(m.Files), mostFiles)
	}
	for _, o := range m.Operators {
		if err := m.checkOperator(o); err != nil {
			return fmt.Errorf("operator %.80q: %w", o.Name, err)
		}
	}
	for i, e := range m.Entries {
		if err := m.checkEntry(e); err != nil {
			return fmt.Errorf("entry %d, %.80q: %w", i+1, e.Problem, err)
		}
	}
	for i, f := range m.Families {
		if err := m.checkFamily(f); err != nil {
			return fmt.Errorf("family %d, %.80q: %w", i+1, f.Problem, err)
		}
	}
	for i, g := range m.General {
		if err := m.checkFile(g.Operator, g.File); err != nil {
			return fmt.Errorf("general kernel %d: %w", i+1, err)
		}
	}
	return nil
}

func (m *Manifest) checkOperator(o *Operator) error {
	for _, name := range append(o.names(), o.Name) {
		if !nameForm.MatchString(name) {
			return fmt.Errorf("%.80q is no name", name)
		}
	}
	for _, t := range o.Tensors {
		if !slices.Contains([]string{"input", "weight", "output", "inout"}, t.Role) {
			return fmt.Errorf("the tensor %.80q has the role %.80q; it may be input, weight, output or inout", t.Name, t.Role)
		}
		if _, known := m.Types[t.Type]; !known && t.TypeBy == "" || !nameForm.MatchString(t.Name) {
			return fmt.Errorf("the tensor %.80q has the type %.80q, which `types` lacks", t.Name, t.Type)
		}
		if t.Symbol == "" {
			continue
		}
		if !nameForm.MatchString(t.Symbol) || t.Role != "input" && t.Role != "weight" || m.Schema == Schema {
			return fmt.Errorf("%s %.80q cannot be in constant memory as %.80q: that holds what is read, under a name of C, in packs of the schema %q or a later one",
				t.Role, t.Name, t.Symbol, SchemaConstants)
		}
	}
	if m.operator(o.Name) != o {
		return errors.New("there are two of that name")
	}
	return nil
}

func (m *Manifest) checkFile(operator, file string) error {
	if m.operator(operator) == nil {
		return fmt.Errorf("it is of the operator %.80q, which the pack does not describe", operator)
	}
	if _, listed := m.Files[file]; !listed {
		return fmt.Errorf("its file %.80q is not among the pack's files", file)
	}
	return nil
}

func (m *Manifest) checkEntry(e *Entry) error {
	if err := m.checkFile(e.Operator, e.File); err != nil {
		return err
	}
	if !targetForm.MatchString(e.Target) {
		return fmt.Errorf("%.40q is no architecture, as sm_90a", e.Target)
	}
	o := m.operator(e.Operator)
	known, taken := o.Taken(), []string{}
	for _, w := range e.Workspaces {
		if w.Bytes < 0 || w.Bytes > mostWorkspace {
			return fmt.Errorf("its workspace %.80q has %d bytes", w.Name, w.Bytes)
		}
		known = append(known, w.Name)
	}
	addresses := len(known)
	for _, s := range e.Scalars {
		known = append(known, s.Name)
	}
	for _, l := range e.Launches {
		for i := range 3 {
			if l.Grid[i] < 1 || l.Grid[i] > mostGrid || l.Block[i] < 1 || l.Block[i] > mostBlock || l.Cluster[i] < 0 || l.Cluster[i] > mostCluster {
				return fmt.Errorf("it launches a grid of %v with blocks of %v, which no GPU does", l.Grid, l.Block)
			}
		}
		if l.SharedBytes < 0 || l.SharedBytes > mostShared {
			return fmt.Errorf("a block would have %d bytes of shared memory", l.SharedBytes)
		}
		if err := cmp.Or(takes(known, l.Arguments), checkMaps(m.Schema, l.Maps, l.Arguments, known[:addresses])); err != nil {
			return err
		}
		taken = append(taken, l.Arguments...)
	}
	if len(e.Launches) == 0 {
		return errors.New("it launches nothing")
	}
	return o.written(taken)
}

// written refuses launches that together leave an output as it is.
func (o *Operator) written(taken []string) error {
	for _, t := range o.Tensors {
		if t.Role == "output" && !slices.Contains(taken, t.Name) {
			return fmt.Errorf("no launch takes the output %.80q", t.Name)
		}
	}
	return nil
}

// takes refuses a launch's arguments that are unknown.
func takes(known, arguments []string) error {
	for _, name := range arguments {
		if !slices.Contains(known, name) {
			return fmt.Errorf("a launch takes %.80q, which is no tensor, workspace or scalar", name)
		}
	}
	return nil
}

// checkMaps refuses tensor maps that a launch cannot pass. Only what has an address can be passed as one.
func checkMaps[Word any](schema string, all []TensorMap[Word], arguments, addresses []string) error {
	for i, m := range all {
		twice := slices.ContainsFunc(all[:i], func(other TensorMap[Word]) bool { return other.At == m.At })
		switch {
		case schema != SchemaMaps:
			return fmt.Errorf("a launch passes tensor maps, which packs of the schema %q alone may have", SchemaMaps)
		case m.At < 0 || m.At >= len(arguments) || twice:
			return fmt.Errorf("a launch has %d arguments and a tensor map at %d; each argument may have one map", len(arguments), m.At)
		case !slices.Contains(addresses, arguments[m.At]):
			return fmt.Errorf("%.80q is passed as a tensor map, and is no tensor or workspace", arguments[m.At])
		case len(m.Words) != mapWordsTold:
			return fmt.Errorf("the tensor map of %.80q has %d words; it should have %d", arguments[m.At], len(m.Words), mapWordsTold)
		}
	}
	return nil
}
