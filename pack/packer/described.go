package packer

import (
	"encoding/json"
	"fmt"
	"slices"

	"autotune/operator"
	"autotune/pack"
	"autotune/pack/loaders"
)

// torchFunctions maps each PyTorch function to the operators that compute it. The last operator of each list has the
// function's own name, since that operator serves every call of the function.
type torchFunctions map[string][]torchFunction

// functionsFile is the JSON file from which Python reads torchFunctions.
const functionsFile = "functions.json"

// torchFunction is an operator that computes a PyTorch function, with the description of the function's arguments from
// op.yaml.
type torchFunction struct {
	Operator string `json:"operator"`
	operator.TorchCall
}

func (f torchFunctions) add(o *operator.Operator, call operator.TorchCall) {
	at := 0
	if call.Function == o.Name {
		at = len(f[call.Function])
	}
	f[call.Function] = slices.Insert(f[call.Function], at, torchFunction{o.Name, call})
}

// Described makes the files of a Python package that describes operators and has no kernels. With the same code as in
// packs, the package's modules find out which problem a PyTorch call computes. The file functions.json lists the
// operators that compute each PyTorch function.
func Described(name, tool string, operators []*operator.Operator) (map[string][]byte, error) {
	p, functions, folder := empty(name, tool), torchFunctions{}, pythonFolder+name+"/"
	for _, o := range operators {
		if o.PyTorch == nil || len(o.PyTorch.Calls) == 0 {
			continue
		}
		if err := p.describe(o); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name, err)
		}
		for _, call := range o.PyTorch.Calls {
			if err := p.meant(o, call); err != nil {
				return nil, err
			}
			if p.means(o, call) {
				functions.add(o, call)
			}
		}
	}
	for _, module := range []string{"arguments.py", "folds.py", "manifest.py", "pack.py"} {
		p.files[folder+module] = loaders.File("python/" + module)
	}
	p.addFormulas(folder)
	p.Files = map[string]pack.File{}
	text, err := written(p.Manifest)
	if err != nil {
		return nil, err
	}
	p.files[pack.ManifestFile] = text
	p.files[folder+functionsFile], err = json.Marshal(functions)
	return p.files, err
}
