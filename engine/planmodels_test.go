package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// library is the Hub with models of so many bytes that nobody downloads.
type library struct {
	bytes int64
	meet  func(ctx context.Context) error // each time it is asked; nil = nothing
}

func (l library) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	m := sdk.ResolvedModel{Name: ref.Name, Revision: strings.Repeat("a", 40), Files: []sdk.ModelFile{{Path: "weights.bin", Size: l.bytes, SHA256: strings.Repeat("b", 64)}}}
	if l.meet != nil {
		return m, l.meet(ctx)
	}
	return m, nil
}

func (library) Locate(context.Context, sdk.FileRef) (sdk.Location, error) {
	return sdk.Location{URL: "http://127.0.0.1:1/weights.bin"}, nil
}

// disks is a provider with volumes, whose machines nobody gets.
type disks struct {
	*rented
	asked chan sdk.MachineSpec
}

func (p disks) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	info, err := p.rented.Describe(ctx)
	info.Features = append(info.Features, sdk.FeatureVolumes)
	return info, err
}

func (p disks) Create(_ context.Context, spec sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	p.asked <- spec
	return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "no machine")
}

// A volume for models has room for them; one that is given too small a size is refused before a
// machine is asked for.
func TestVolumeHasRoomForModels(t *testing.T) {
	t.Parallel()
	cloud := disks{&rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}, make(chan sdk.MachineSpec, 9)}
	e := newEngine(t, func(o *engine.Options) {
		o.Providers, o.Fetchers = map[string]sdk.Provider{"rented": cloud}, map[string]sdk.Fetcher{"hub": library{bytes: 18_500_000_000}}
		o.Trust = trust.All
	})
	const file = "sandbox:\n  provider: rented\n  models: [org/large]\n  volumes: [{name: kept, path: /kept, models: true%s}]\nserve: [{file: i.py}]\n"
	const code = "@expose\ndef f() -> int:\n    return 1\n"
	free := load(t, map[string]string{"seer.yaml": fmt.Sprintf(file, ""), "i.py": code})
	p, err := e.Plan(t.Context(), free, engine.CheckOptions{})
	said := strings.Join(p.Lines(), "\n")
	if err != nil || p.Volumes[0].SizeGB != 21 || !strings.Contains(said, "kept at /kept, 21 GB when it is made") {
		t.Errorf("%v, %+v", err, p.Volumes)
	}
	if !strings.Contains(said, "download: 18.5 GB, about 3 min 5 s at 100.0 MB/s (assumed: the network of a rented machine") {
		t.Errorf("the time of the download:\n%s", said)
	}
	if _, err := e.Up(t.Context(), free, engine.UpOptions{}); err == nil || len(cloud.asked) == 0 {
		t.Fatalf("no machine was asked for: %v", err)
	}
	if spec := <-cloud.asked; spec.Volumes[0].SizeGB != 21 {
		t.Errorf("the machine has %+v", spec.Volumes)
	}
	small := load(t, map[string]string{"seer.yaml": fmt.Sprintf(file, ", size: 10GB"), "i.py": code})
	const want = "seer.yaml:4: sandbox.volumes.0.size: the volume kept has 10 GB, and the models and datasets that it keeps have 18.5 GB; write `size: 21GB` or more"
	for len(cloud.asked) > 0 {
		<-cloud.asked
	}
	_, planned := e.Plan(t.Context(), small, engine.CheckOptions{})
	_, started := e.Up(t.Context(), small, engine.UpOptions{})
	for _, err := range []error{planned, started} {
		if err == nil || !strings.Contains(err.Error(), want) || len(cloud.asked) > 0 {
			t.Errorf("%v, %d machines", err, len(cloud.asked))
		}
	}
}

// A plan asks for all of its models and datasets side by side.
func TestPlanAsksSideBySide(t *testing.T) {
	t.Parallel()
	const all = 3
	came, everybody := make(chan bool, all), make(chan struct{})
	go func() {
		for range all {
			<-came
		}
		close(everybody)
	}()
	l := library{bytes: 1, meet: func(ctx context.Context) error {
		came <- true
		select {
		case <-everybody:
			return nil
		case <-ctx.Done():
			return errors.New("nobody else was asked for meanwhile")
		}
	}}
	e := newEngine(t, func(o *engine.Options) { o.Fetchers = map[string]sdk.Fetcher{"hub": l} })
	exp := load(t, map[string]string{"seer.yaml": "sandbox:\n  models: [org/a, org/b]\n  datasets: [org/c]\nserve: [{file: i.py}]\n", "i.py": "@expose\ndef f() -> int:\n    return 1\n"})
	p, err := e.Plan(t.Context(), exp, engine.CheckOptions{})
	if warned := strings.Join(p.Warnings, "\n"); err != nil || strings.Contains(warned, "looked at") {
		t.Errorf("%v, %s", err, warned)
	}
}
