package compile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What either disassembler prints.
const (
	byNvdisasm = `	.section	.text.k,"ax",@progbits
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
        /*0020*/                   @!P0 EXIT ;
        /*0030*/                   @UP0 UTMALDG.2D [UR8], [UR4] ;
        /*0040*/                   LDG.E.128 R4, desc[UR6][R2.64] ;
.L_x_1:
        /*0050*/                   HGMMA.64x128x8.F32.TF32 R24, R4, gdesc[UR8], R24, gsb0 ;
        /*0060*/                   IMAD.WIDE R2, R0, 0x4, R2 ;
        /*0070*/                   IMAD.MOV.U32 R9, RZ, RZ, R3 ;
        /*0080*/                   BRA.U UP0, ` + "`(.L_x_1) ;" + `
        /*0090*/                   NOP;
`
	byCuobjdump = `		Function : k
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_PTX_SM(EF_CUDA_SM80)"
        /*0000*/                   MOV R1, c[0x0][0x28] ;                   /* 0x00000a0000017a02 */
                                                                           /* 0x000fe20000000f00 */
        /*0010*/              @P0  STS.128 [R8], R4 ;                       /* 0x0000000408000388 */
        /*0020*/                   FFMA R5, R5, R6, R7 ;                    /* 0x0000000605057223 */
        /*0030*/                   EXIT ;                                   /* 0x000000000000794d */
`
)

func TestMixOf(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Part
	}{
		{byNvdisasm, []Part{{addresses, 3}, {"branches", 2}, {"asynchronous copies", 1}, {"constants", 1}, {"global memory", 1}, {TensorCores, 1}}},
		{byCuobjdump, []Part{{"branches", 1}, {"floating point", 1}, {addresses, 1}, {SharedMemory, 1}}},
		{"nothing", nil},
	} {
		m := mixOf(c.text)
		n := 0
		for _, p := range m.Kinds {
			n += p.Count
		}
		if !slices.Equal(m.Kinds, c.want) || n != m.Instructions {
			t.Errorf("%d instructions: %v, want %v", m.Instructions, m.Kinds, c.want)
		}
	}
}

// A disassembler tells where there is one. Where it fails, the notes do.
func TestMixBy(t *testing.T) {
	source := "extern \"C\" __global__ void scale(float* y) { y[threadIdx.x] = __shfl_xor_sync(~0u, y[threadIdx.x], 1) * N; }"
	b, err := openNVRTC(t, 1).Compile(t.Context(), request(source))
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	t.Setenv("PATH", tools+":/usr/bin:/bin")
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(name, tools)
	}
	for _, c := range []struct{ name, program, by string }{
		{"", "", "the cubin's notes"},
		{"nvdisasm", "exit 1", "the cubin's notes"},
		{"cuobjdump", "cat <<'E'\n" + byCuobjdump + "E", "cuobjdump"},
		{"nvdisasm", "test -s $2 && cat <<'E'\n" + byNvdisasm + "E", "nvdisasm"},
	} {
		if c.name != "" {
			if err := os.WriteFile(filepath.Join(tools, c.name), []byte("#!/bin/sh\n"+c.program+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		m, err := MixOf(t.Context(), b.Code)
		if err != nil || m.By != c.by || m.Instructions < 4 {
			t.Errorf("with %s: %+v, %v", c.name, m, err)
		}
		if c.by == "the cubin's notes" && m.Together == 0 {
			t.Error("the notes tell of no shuffle")
		}
	}
	if _, err := MixOf(t.Context(), []byte("no cubin")); err == nil {
		t.Error("a file that is no cubin has a mix")
	}
}
