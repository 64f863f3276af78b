package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"

	"autotune/internal/input"
	"autotune/internal/npy"
	"autotune/operator/tree"
)

// OwnKernel is a kernel of the operator's that fills the tensors that name it, or that gives one number for how far
// outputs are from the reference's: 0 where they are correct.
type OwnKernel struct {
	Source Source
	Entry  string
}

// String is as in "op_compare of compare.cu".
func (k *OwnKernel) String() string { return k.Entry + " of " + k.Source.File }

func (k *OwnKernel) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// DataFile is a .npy file of the operator's folder. Its head was read; its contents are read where they are needed.
type DataFile struct {
	npy.Header
	Name   string
	open   func() (fs.File, error)
	digest func() (string, error)
}

// Open opens the file. It may be an *os.File.
func (d *DataFile) Open() (fs.File, error) { return d.open() }

// Digest identifies the contents. The first call reads them.
func (d *DataFile) Digest() (string, error) { return d.digest() }

// outsideFill reads `FILE.cu` or `FILE.npy`; not ok if it is a distribution.
func (l *loader) outsideFill(n *tree.Node, a ArgumentSpec) (f FillSpec, ok bool) {
	switch path.Ext(n.Written) {
	case ".npy":
		return FillSpec{File: l.data(n, a)}, true
	case ".cu":
		entry := l.o.Name + "_fill"
		s := l.kernelFile(n, n, entry)
		f.Kernel = s.File + " " + entry
		l.o.FillKernels[f.Kernel] = &OwnKernel{s, entry}
		return f, true
	}
	return f, false
}

// data reads the head of the file with a tensor's contents, and gives its name.
func (l *loader) data(n *tree.Node, a ArgumentSpec) string {
	name := n.Written
	if !fileForm.MatchString(name) || path.Ext(name) != ".npy" {
		n.Refuse("this must name a .npy file in the operator's folder, as x.npy")
	}
	if a.TypeBy != "" {
		n.RefuseHint("give the tensor one type, as f32", "a file holds elements of one type; those of `%s` are %s", a.Name, a.TypeText())
	}
	if a.OrderBy != "" {
		n.RefuseHint("fill it by a kernel, or from a distribution", "a file holds elements in one order; that of `%s` is named by `%s`", a.Name, a.OrderBy)
	}
	d, known := l.o.Data[name]
	if !known {
		var err error
		if d, err = newDataFile(l.fsys, path.Join(l.dir, name)); err != nil {
			hint := ""
			if errors.Is(err, fs.ErrNotExist) {
				hint = tree.NearestOrAll(name, "the folder has", fileNames(l.fsys, path.Join(l.dir, "*.npy")))
			}
			n.RefuseHint(hint, "%s cannot be used: %v", name, input.Reason(err))
		}
		d.Name = name
		l.o.Data[name] = d
	}
	if want := a.Type.NumPy(); d.Type != want {
		n.RefuseHint("save it as "+want, "%s holds %s, and the tensor `%s` is of type %s", name, d.Type, a.Name, a.Type)
	}
	return name
}

func newDataFile(fsys fs.FS, name string) (*DataFile, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case leadsOut(err):
		return nil, errors.New("it is a link that leads out of the operator's folder; put a copy there")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	d := &DataFile{open: func() (fs.File, error) { return fsys.Open(name) }}
	d.digest = sync.OnceValues(d.hash)
	f, err := d.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if d.Header, err = npy.Read(f); err != nil {
		return nil, err
	}
	if rest := info.Size() - d.Start; rest != d.Bytes {
		return nil, fmt.Errorf("its head announces %d bytes of elements, and it has %d", d.Bytes, rest)
	}
	return d, nil
}

func (d *DataFile) hash() (string, error) {
	f, err := d.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if n, err := io.Copy(h, f); err != nil || n != d.Start+d.Bytes {
		return "", fmt.Errorf("%s has changed while it was in use: %w", d.Name, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (b *binder) holds(file string, a Argument) {
	d := b.p.Operator.Data[file]
	if !slices.Equal(d.Shape, a.Shape) && !(d.Bytes == 0 && a.Elements == 0) {
		b.refuse("", "%s holds an array of %s, and `%s` is of %s here", file, shapeText(d.Shape), a.Name, shapeText(a.Shape))
	}
}

// shapeText writes the shape of an array, as "3x4"; "()" is that of one number.
func shapeText(shape []int64) string {
	if len(shape) == 0 {
		return "()"
	}
	return FormatShape(shape)
}

// Filling is a kernel that fills tensors, and which arguments of the operator's it
// takes: those tensors and all scalars, in order. The seed follows them.
type Filling struct {
	Kernel    Kernel
	Tensors   []int
	Arguments []int
}

func (p *Problem) Fillings() []Filling {
	var all []Filling
	for _, name := range sorted(p.Operator.FillKernels) {
		f, most := Filling{}, int64(0)
		for i, a := range p.Arguments {
			fills := a.Fill != nil && a.Fill.Kernel == name
			if fills {
				f.Tensors = append(f.Tensors, i)
				most = max(most, a.Elements)
			}
			if fills || a.Role == Scalar {
				f.Arguments = append(f.Arguments, i)
			}
		}
		if most > 0 {
			k := p.Operator.FillKernels[name]
			f.Kernel = helper(p, "fill", k.Entry, k.Source, most)
			all = append(all, f)
		}
	}
	return all
}

func (p *Problem) Comparing() (Kernel, bool) {
	c := p.Operator.Compare
	if c == nil {
		return Kernel{}, false
	}
	return helper(p, "compare", c.Entry, c.Source, p.Output().Elements), true
}

// helper is a kernel of the operator's beside its templates, with a thread for each of some elements.
func helper(p *Problem, role, entry string, s Source, elements int64) Kernel {
	blocks := (elements + referenceBlock - 1) / referenceBlock
	launch := Launch{Entry: entry, Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{referenceBlock, 1, 1}}
	return kernelOf(p, role, s, neighbourValues(p, role, s, nil), Launches{launch})
}
