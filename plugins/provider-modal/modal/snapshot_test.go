package modal_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/plugins/provider-modal/modal"
	"github.com/seer-engine/seer/sdk"
)

// writer is a machine that leaves something in its files.
func writer() sdk.MachineSpec {
	spec := newSpec()
	spec.Command = []string{"python3", "-c", "import os, time; os.makedirs('/workspace', exist_ok=True); open('/workspace/note', 'w').write('kept'); time.sleep(600)"}
	return spec
}

func snapshot(t *testing.T, p *modal.Provider, handle, key string) (image string, err error) {
	t.Helper()
	var cursor json.RawMessage
	for range 20 {
		step, err := p.Snapshot(t.Context(), handle, key, cursor)
		if err != nil || step.Image != "" {
			return step.Image, err
		}
		cursor = step.Cursor
	}
	t.Fatal("no copy after 20 steps")
	return "", nil
}

func TestSnapshotAndStartFromIt(t *testing.T) {
	for name, gpu := range map[string]string{"CPU": "", "GPU": "L4"} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t, fakemodal.Options{})
			p := newProvider(t, cloud)
			spec := writer()
			spec.GPU = gpu
			handle := testprovider.Create(t, p, spec)
			testprovider.Await(t, p, handle, sdk.Running)
			image, err := snapshot(t, p, handle, "copy-1")
			if err != nil {
				t.Fatal(err)
			}
			if again, err := snapshot(t, p, handle, "copy-1"); err != nil || again != image {
				t.Errorf("the same key gave %s, then %s, %v", image, again, err)
			}
			if other, err := snapshot(t, p, handle, "copy-2"); err != nil || other == image {
				t.Errorf("another key gave %s, too: %v", other, err)
			}
			next := newSpec()
			next.GPU, next.Image = gpu, &sdk.Image{Snapshot: image}
			testprovider.Await(t, p, testprovider.Create(t, p, next), sdk.Running)
			more := newSpec()
			more.Image = &sdk.Image{Snapshot: image, PythonPackages: []string{"numpy"}}
			testprovider.Await(t, p, testprovider.Create(t, p, more), sdk.Running)
		})
	}
}

func TestSnapshotOfWhatDoesNotRun(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	handle := testprovider.Create(t, p, newSpec())
	if err := p.Terminate(t.Context(), handle); err != nil {
		t.Fatal(err)
	}
	testprovider.Await(t, p, handle, sdk.Stopped)
	_, err := snapshot(t, p, handle, "copy-1")
	testkit.WantCode(t, err, sdk.Invalid, "does not run")
	_, err = snapshot(t, p, "sb-unknown", "copy-1")
	testkit.WantCode(t, err, sdk.NotFound)
	_, err = snapshot(t, p, "elsewhere", "copy-1")
	testkit.WantCode(t, err, sdk.NotFound)
}

// A copy whose answer is lost is asked for again, and is the same one.
func TestSnapshotOnce(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	handle := testprovider.Create(t, p, writer())
	testprovider.Await(t, p, handle, sdk.Running)
	setFaults(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{
		{Method: "TaskSnapshotFilesystem", Code: codes.Unavailable, AfterEffect: true, Times: 2}}})
	images := map[string]bool{}
	for range 4 {
		step, err := p.Snapshot(t.Context(), handle, "copy-1", nil)
		if err == nil {
			images[step.Image] = true
		} else {
			testkit.WantCode(t, err, sdk.Unavailable)
		}
	}
	copies := 0
	for _, e := range cloud.Events() {
		if e.Kind == "snapshot" {
			copies++
		}
	}
	if len(images) != 1 || copies != 1 {
		t.Errorf("images %v of %d copies", images, copies)
	}
}

func TestSnapshotThatTakesLong(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	handle := testprovider.Create(t, p, newSpec())
	testprovider.Await(t, p, handle, sdk.Running)
	setFaults(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{{Method: "TaskSnapshotFilesystem", Hang: true, Times: 1}}})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if step, err := p.Snapshot(ctx, handle, "copy-1", nil); err != nil {
		testkit.WantCode(t, err, sdk.Unavailable)
	} else if step.Image != "" || len(step.Cursor) == 0 {
		t.Errorf("step %+v although there is no answer", step)
	}
	if _, err := snapshot(t, p, handle, "copy-1"); err != nil {
		t.Errorf("the next time: %v", err)
	}
}

// A server that takes long for a copy, and begins anew when nobody waits for it, is waited
// for as Modal's SDK waits.
func TestSnapshotOfManyFiles(t *testing.T) {
	p := newProvider(t, newCloud(t, fakemodal.Options{}))
	slowly(p, "TaskSnapshotFilesystem", 50*time.Second)
	handle := testprovider.Create(t, p, newSpec())
	testprovider.Await(t, p, handle, sdk.Running)
	if _, err := snapshot(t, p, handle, "copy-1"); err != nil {
		t.Error(err)
	}
}
