package image

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"testing"
)

// sifFixture is a SIF file as Apptainer writes it: with the text it was built from, the system, and a
// partition for changes.
type sifFixture struct {
	fs, use uint32
	arch    string
}

func writeSIF(t testing.TB, file string, system []byte, change func(*sifFixture)) string {
	t.Helper()
	f := sifFixture{fs: 1, use: 2, arch: map[string]string{"amd64": "02", "arm64": "04"}[runtime.GOARCH]}
	if change != nil {
		change(&f)
	}
	const table, slots, data = 4096, 48, 32768
	out := make([]byte, data, data+len(system)+8192)
	copy(out, "#!/usr/bin/env run-singularity\n")
	copy(out[32:], "SIF_MAGIC\x0001\x0002\x00")
	number := func(at int, values ...int64) {
		for i, v := range values {
			binary.LittleEndian.PutUint64(out[at+8*i:], uint64(v))
		}
	}
	used := 0
	part := func(kind uint32, content []byte, extra ...uint32) {
		d := table + 585*used
		used++
		binary.LittleEndian.PutUint32(out[d:], kind)
		out[d+4] = 1
		binary.LittleEndian.PutUint32(out[d+5:], uint32(used))
		for len(out)%4096 != 0 {
			out = append(out, 0)
		}
		number(d+17, int64(len(out)), int64(len(content)), int64(len(content)))
		for i, v := range extra {
			binary.LittleEndian.PutUint32(out[d+201+4*i:], v)
		}
		if len(extra) > 0 {
			copy(out[d+209:], f.arch)
		}
		out = append(out, content...)
	}
	part(0x4001, []byte("bootstrap: docker\n"))
	part(0x4004, bytes.Repeat([]byte("overlay"), 100), 2, 4)
	part(0x4004, system, f.fs, f.use)
	number(80, int64(slots-used), slots, table, slots*585, data, int64(len(out)-data))
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
