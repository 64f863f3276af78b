package pack

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"autotune/internal/test/must"
)

const seed = `{"schema":"autotune/pack/5","name":"layers","operators":[{"name":"scale","shape":["n"],
"parameters":[{"name":"by","type":"int","components":[{"name":"by","default":"n // 2"}],"min":1},
{"name":"type","type":"word","components":[{"name":"type","default":"'f32'"}],"words":["f32","bf16"]}],
"derived":[{"name":"m","value":"n*by if n > 1 else 1"}],"requires":[{"that":"m >= 1","because":"{m} is too few"}],
"tensors":[{"name":"x","role":"input","type_by":"type","shape":["n"]},{"name":"y","role":"output","type_by":"type","shape":["m"]}],
"math":["fp32"],"math_auto":"'fp32' if arch < 80 else 'fp32'"}],
"entries":[{"operator":"scale","problem":"scale 4","values":{"n":4,"by":2,"type":"f32"},"math":"fp32","target":"sm_90","file":"a.cubin",
"launches":[{"entry":"scale","grid":[1,1,1],"block":[32,1,1],"shared_bytes":0,"arguments":["x","w","y"]}],"workspaces":[{"name":"w","value":16}]}],
"families":[{"operator":"scale","problem":"scale {4..9}","values":{"by":3,"type":"f32"},"range":[[[4,4],[6,9]]],"math":"fp32","target":"sm_90",
"tree":{"if":"n <= 7","then":{"entries":[1,0]},"else":{}},"entries":[{"file":"b.cubin","define":[{"name":"rows","value":"ceil_div(m, 8)"}],
"where":["rows > 2"],"launches":[{"entry":"scale","when":"n > 1","grid":["rows","1","1"],"block":["32","1","1"],"shared_bytes":"4*n","arguments":["x","w","y"]}],
"workspaces":[{"name":"w","value":"4*rows"}],"sizes":{"at":2,"names":["n","rows"]}},
{"file":"b.cubin","define":[],"where":["n % 2 == 1"],"launches":[{"entry":"odd","grid":["n","1","1"],"block":["32","1","1"],"shared_bytes":"0","arguments":["x","y"],
"cluster":["1","1","1"],"dependent":true}],"workspaces":[],"sizes":{"at":0,"names":[]}}]}],
"general":[{"operator":"scale","math":"fp32","type":"f32","file":"a.cubin","entry":"any","sizes":["n","by","m"]}],
"types":{"f32":4,"bf16":2},"files":{"a.cubin":{"bytes":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
"b.cubin":{"bytes":10,"sha256":"84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"}}}`

// mapSeed changes a seed manifest so that its kernels take workspaces as tensor maps.
var mapSeed = strings.NewReplacer(
	`"shared_bytes":0,"arguments":["x","w","y"]`, `"shared_bytes":0,"arguments":["x","w","y"],"maps":[{"at":1,"words":[1,2,3,4,5,6,-7]}]`,
	`"shared_bytes":"4*n","arguments":["x","w","y"]`, `"shared_bytes":"4*n","arguments":["x","w","y"],"maps":[{"at":1,"words":["n","rows","3","4","5","6","-n"]}]`).Replace(seed)

// seedFiles returns a pack's folder with the given manifest and the files that it names.
func seedFiles(manifest string) fstest.MapFS {
	return fstest.MapFS{ManifestFile: {Data: []byte(manifest)}, "a.cubin": {}, "b.cubin": {Data: []byte("0123456789")}}
}

// Whatever a manifest says, reading it and planning with it must end without a panic.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(seed))
	f.Add([]byte(mapSeed))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := read(seedFiles(string(text)))
		if err != nil {
			return
		}
		loader := p.On(nothing{})
		for _, o := range p.Operators {
			for n := range int64(10) {
				shape := make([]int64, len(o.Shape))
				for i := range shape {
					shape[i] = n + int64(i)
				}
				if plan, err := loader.Plan(o.Name, shape, nil, ""); err == nil {
					_ = plan.Prepare()
				}
			}
		}
	})
}

// nothing is a driver that loads and launches nothing.
type nothing struct{}

func (nothing) GPU() GPU                                              { return GPU{Name: "a GPU", Arch: 90, SharedBytes: 48 << 10} }
func (nothing) Load([]byte, string, int64) (Kernel, error)            { return 0, nil }
func (nothing) Launch(Kernel, Launch, Stream, []unsafe.Pointer) error { return nil }

// A problem that was packed must have its own kernel, and every other problem must have none.
func TestSeedIsAPack(t *testing.T) {
	p, err := read(seedFiles(seed))
	must.OK(t, err)
	for n, want := range map[int64]string{
		4: "<nil>", 6: "scale: no kernel of the pack was made for this problem in math mode fp32 on a GPU (sm_90)"} {
		if _, err := p.On(nothing{}).Plan("scale", []int64{n}, map[string]string{"by": "2"}, ""); fmt.Sprint(err) != want {
			t.Errorf("%d: %v, want %s", n, err, want)
		}
	}
}
