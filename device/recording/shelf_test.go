package recording

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/internal/test/must"
	"autotune/operator"
)

// shelf makes a file system of recordings, each with its own change of the usual metadata.
func shelf(t *testing.T, changes ...func(*Metadata)) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{"README.md": {Data: []byte("recordings")}}
	for _, change := range changes {
		r := recorded(oneOfEach())
		change(&r.Metadata)
		fsys[FileName(r.Metadata)] = &fstest.MapFile{Data: encoded(t, r, true)}
	}
	return fsys
}

func on(name string, arch int) func(*Metadata) {
	return func(m *Metadata) { m.Device.Name, m.Device.Limits.Arch = name, arch }
}

func TestFileName(t *testing.T) {
	m := recorded(nil).Metadata
	m.Problem.Text = "max_pool2d 1x2x20x20 kernel=4x4"
	if got, want := FileName(m), "h100-80gb-hbm3-max_pool2d-1x2x20x20-fp32-82479f24.json.gz"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestListPrefersTheNewest(t *testing.T) {
	entries, err := List(shelf(t, on("NVIDIA A100", 80), on("NVIDIA H100", 90), on("NVIDIA T4", 75)))
	if err != nil || len(entries) != 3 || entries[0].Metadata.Device.Name != "NVIDIA H100" {
		t.Errorf("List = %+v, %v; want the newest architecture's first", entries, err)
	}
	fsys := shelf(t, on("NVIDIA H100 PCIe", 90), func(m *Metadata) { m.RecordedAt = m.RecordedAt.AddDate(0, 1, 0) })
	entries, err = List(fsys)
	if err != nil || len(entries) != 2 || !entries[0].Metadata.RecordedAt.After(recordedAt) {
		t.Errorf("List = %+v, %v; want the latest first", entries, err)
	}
	r, err := LoadFS(fsys, entries[0].Name)
	if err != nil || r.File != entries[0].Name || len(r.Trials) != 8 {
		t.Errorf("LoadFS = %+v, %v", r, err)
	}
}

func TestListRefusesDamage(t *testing.T) {
	fsys := fstest.MapFS{"x-toy-.json.gz": {Data: []byte("no gzip")}}
	if _, err := List(fsys); err == nil || !strings.Contains(err.Error(), "x-toy-") {
		t.Errorf("err = %v", err)
	}
}

func TestShippedRecordingsLoad(t *testing.T) {
	entries, err := List(Shipped())
	must.OK(t, err)
	for _, e := range entries {
		r, err := LoadFS(Shipped(), e.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := FileName(r.Metadata); e.Name != want {
			t.Errorf("%s should be named %s", e.Name, want)
		}
	}
	if _, err := Shipped().Open("README.md"); err != nil {
		t.Error(err)
	}
}

// On a machine without a GPU, the recorded GPU decides what "auto" means.
func TestFindRequest(t *testing.T) {
	op, err := operator.Find("conv2d")
	must.OK(t, err)
	request := operator.Request{Shape: []int64{1, 4, 20, 20}, Math: "auto"}
	under := func(arch int) func(*Metadata) {
		p, err := op.Bind(request, operator.Limits{Arch: arch, SMs: 80, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 96 << 10, WarpSize: 32, MemoryBytes: 1 << 34})
		must.OK(t, err)
		return func(m *Metadata) {
			m.Problem, m.Device.Limits = p.Record(), p.Limits
		}
	}
	for _, arch := range []int{70, 90} {
		fsys := shelf(t, under(arch))
		e, p, err := FindRequest(fsys, op, request, nil)
		if err != nil || p.String() != e.Metadata.Problem.Text || p.Limits.Arch != arch {
			t.Errorf("sm_%d: %+v, %v, %v", arch, e.Metadata.Problem, p, err)
		}
		request := request
		request.Shape = []int64{1, 4, 20, 21}
		if _, _, err := FindRequest(fsys, op, request, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("another shape: %v", err)
		}
	}
}

// FindRequest compares the problem in the recording and does not rely on the file's name.
func TestFindRequestChecksTheProblem(t *testing.T) {
	op, err := operator.Find("conv2d")
	must.OK(t, err)
	fsys := fstest.MapFS{"h100-conv2d-1x4x20x20-fp32-00000000.json.gz": {Data: encoded(t, recorded(oneOfEach()), true)}}
	request := operator.Request{Shape: []int64{1, 4, 20, 20}, Parameters: map[string]string{"c_out": "4", "kernel": "3x3"}}
	if _, _, err := FindRequest(fsys, op, request, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("FindRequest: %v", err)
	}
}
