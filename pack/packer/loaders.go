package packer

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/pack"
	"autotune/pack/loaders"
	"autotune/reports/cudasource"
	"autotune/tuner/operator"
)

// addLoaders adds what programs in Python and C load the pack with.
func (p *Packed) addLoaders(winners []cudasource.Winner) error {
	if err := p.addPython(winners); err != nil {
		return err
	}
	for _, name := range []string{"autotune_pack.h", "autotune_pack.c"} {
		text, err := loaders.FS.ReadFile("c/" + name)
		if err != nil {
			return err
		}
		p.files["c/"+name] = text
	}
	header, tables, notices := cTables(&p.Manifest, func(file string) pack.File {
		return pack.File{Bytes: int64(len(p.files[file])), SHA256: fmt.Sprintf("%x", sha256.Sum256(p.files[file]))}
	})
	p.files["c/"+p.Name+".h"], p.files["c/"+p.Name+".c"] = []byte(header), []byte(tables)
	p.Notices = append(p.Notices, notices...)
	return nil
}

// variant is the folder of what runs on every PyTorch with CUDA, as Hugging Face's kernels
// call it. The package is in a folder of its name there, for a plain import.
const variant = "build/torch-cuda/"

// operatorModule is an operator's own module in the package.
const operatorModule = `"""%s"""
from .pack import give_names

give_names(%q, globals())

`

func (p *Packed) addPython(winners []cudasource.Winner) error {
	folder := variant + p.Name + "/"
	for _, name := range []string{"__init__.py", "pack.py"} {
		text, err := loaders.FS.ReadFile("python/" + name)
		if err != nil {
			return err
		}
		p.files[folder+name] = text
	}
	archs := map[string]bool{}
	for _, e := range p.Entries {
		number := strings.TrimPrefix(e.Target, "sm_")
		digits := strings.TrimRight(number, "abcdefghijklmnopqrstuvwxyz")
		archs[digits[:len(digits)-1]+"."+number[len(digits)-1:]] = true
	}
	digest := sha256.Sum256(p.files[folder+"pack.py"])
	metadata, err := json.MarshalIndent(map[string]any{
		"name": p.Name, "id": fmt.Sprintf("%s_%x", p.Name, digest[:4]), "version": 1, "license": "MIT", "python-depends": []string{},
		"backend": map[string]any{"type": "cuda", "archs": slices.Sorted(maps.Keys(archs))},
	}, "", "  ")
	if err != nil {
		return err
	}
	p.files[folder+"metadata.json"], p.files[variant+"metadata.json"] = metadata, metadata
	p.files[variant+"__init__.py"] = fmt.Appendf(nil, "from .%s import *\nfrom .%[1]s import __all__\n", p.Name)
	for _, w := range winners {
		o, class := w.Problem.Operator, ""
		if why := notInPython(o); why != "" {
			p.Notices = append(p.Notices, fmt.Sprintf("%s is left out of the Python package: %s", o.Name, why))
			continue
		}
		if o.PyTorch != nil {
			class = "\n" + o.PyTorch.Module.Text
		}
		p.files[folder+o.Name+"_module.py"] = fmt.Appendf(nil, operatorModule+class, strings.ReplaceAll(o.Summary, `"`, "'"), o.Name)
	}
	return nil
}

// notInPython says why an operator is no function of tensors with one result; "" if it is.
func notInPython(o *operator.Operator) string {
	outputs := 0
	for _, a := range o.Arguments {
		switch {
		case a.Role == operator.InOut:
			return "`" + a.Name + "` is read and written"
		case a.Role == operator.Output:
			outputs++
		}
	}
	if outputs != 1 {
		return "it has several outputs"
	}
	return ""
}
