package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestUsage compares what the runtime says with what has been done, with a fake for
// the driver's program.
func TestUsage(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	smi := func(script string) { writeFile(t, filepath.Join(bin, "nvidia-smi"), "#!/bin/sh\n"+script) }
	smi(`test "$*" = "--query-gpu=index,name,utilization.gpu,temperature.gpu,memory.used,memory.total --format=csv,noheader,nounits" || exit 1
echo "0, NVIDIA H100, 80GB, 37, 61, 1024, 81559"; echo garbage; echo "1, Old one, [N/A], [N/A], 0, 100"`)
	m := startIn(t, nil, func(m *machine) { m.env = append(m.env, "PATH="+bin+":"+os.Getenv("PATH")) })
	m.push()
	ctx := testContext(t)
	var before protocol.Usage
	var err error
	testkit.EventuallyNil(t, "an answer of nvidia-smi, for which the runtime does not wait long", func() error {
		if before, err = m.client.Usage(ctx); err != nil || len(before.GPUs) == 0 {
			return fmt.Errorf("%+v %v", before, err)
		}
		return nil
	})
	if before.CPUCount <= 0 || before.MemoryLimit <= 0 || before.MemoryBytes <= 0 || before.Processes < 2 {
		t.Fatalf("%+v %v", before, err)
	}
	paths := map[string]bool{}
	for _, d := range before.Disks {
		paths[d.Path] = d.Bytes > 0 && d.Free >= 0 && d.Free <= d.Bytes
	}
	if !paths["/"] || !paths["/workspace"] || !paths["/tmp"] {
		t.Errorf("%+v", before.Disks)
	}
	want := []protocol.GPUUsage{{Index: 0, Name: "NVIDIA H100, 80GB", Utilization: 37, Temperature: 61, MemoryBytes: 1 << 30, MemoryTotal: 81559 << 20},
		{Index: 1, Name: "Old one", MemoryTotal: 100 << 20}}
	if fmt.Sprint(before.GPUs) != fmt.Sprint(want) {
		t.Errorf("%+v", before.GPUs)
	}
	p, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Background: true,
		Argv: []string{"python3", "-c", "b = b'x' * (100 << 20)\nwhile True: pass"}})
	if err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the use of a process", func() error {
		u, err := m.client.Usage(ctx)
		if err != nil || u.MemoryBytes < before.MemoryBytes+90<<20 || u.CPUSeconds < before.CPUSeconds+0.3 || u.Processes <= before.Processes {
			return fmt.Errorf("%+v %v, before %+v", u, err, before)
		}
		return nil
	})
	if err := m.client.Processes().Delete(ctx, p.ID); err != nil {
		t.Error(err)
	}
	for name, script := range map[string]string{"hangs": "exec sleep 1000", "hangs behind a pipe": "sleep 1000 & exit 0", "fails": "exit 9",
		"floods": "exec yes 0, x, 1, 1, 1, 1", "is no program": "exec /no/such"} {
		smi(script)
		began := time.Now()
		if u, err := m.client.Usage(ctx); err != nil || len(u.GPUs) > 1024 || name != "floods" && len(u.GPUs) > 0 {
			t.Errorf("%s: %d GPUs, %v", name, len(u.GPUs), err)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%s: %v", name, d)
		}
	}
}
