package pack

import (
	"testing"
	"testing/fstest"
)

const seed = `{"schema":"autotune/pack/1","name":"layers","operators":[{"name":"scale","shape":["n"],
"parameters":[{"name":"by","type":"int","components":[{"name":"by","default":"n // 2"}],"min":1},
{"name":"type","type":"word","components":[{"name":"type","default":"'f32'"}],"words":["f32","bf16"]}],
"derived":[{"name":"m","expression":"n*by if n > 1 else 1"}],"requires":[{"that":"m >= 1","because":"{m} is too few"}],
"tensors":[{"name":"x","role":"input","type_by":"type","shape":["n"]},{"name":"y","role":"output","type_by":"type","shape":["m"]}],
"math":["fp32"],"math_auto":"'fp32' if arch < 80 else 'fp32'","dispatch":[{"by":"exact"},{"by":"general"}]}],
"entries":[{"operator":"scale","problem":"scale 4","values":{"n":4,"by":2,"type":"f32"},"math":"fp32","target":"sm_90","file":"a.cubin",
"launches":[{"entry":"scale","grid":[1,1,1],"block":[32,1,1],"shared_bytes":0,"arguments":["x","w","y"]}],"workspaces":[{"name":"w","bytes":16}]}],
"general":[{"operator":"scale","math":"fp32","type":"f32","file":"a.cubin","entry":"any","sizes":["n","by","m"]}],
"types":{"f32":4,"bf16":2},"files":{"a.cubin":{"bytes":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}}`

// Whatever a manifest says, reading it and planning with it end, and without a panic.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(seed))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := read(fstest.MapFS{ManifestFile: {Data: text}, "a.cubin": {}})
		if err != nil {
			return
		}
		loader := &Loader{pack: p, gpu: GPU{Name: "a GPU", Arch: 90, SharedBytes: 48 << 10}}
		for _, o := range p.Operators {
			for n := range int64(5) {
				shape := make([]int64, len(o.Shape))
				for i := range shape {
					shape[i] = n + int64(i)
				}
				_, _ = loader.Plan(o.Name, shape, nil, "")
			}
		}
	})
}

func TestSeedIsAPack(t *testing.T) {
	p, err := read(fstest.MapFS{ManifestFile: {Data: []byte(seed)}, "a.cubin": {}})
	if err != nil {
		t.Fatal(err)
	}
	loader := &Loader{pack: p, gpu: GPU{Arch: 90}}
	for n, tuned := range map[int64]bool{4: true, 6: false} {
		if plan, err := loader.Plan("scale", []int64{n}, nil, ""); err != nil || (plan.Entry != nil) != tuned {
			t.Errorf("%d: %+v, %v", n, plan, err)
		}
	}
}
