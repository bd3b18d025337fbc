package fakemodal_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
)

func listed(t *testing.T, client *modal.Client, p modal.SandboxListParams) (ids []string) {
	t.Helper()
	all, err := client.Sandboxes.List(t.Context(), &p)
	if err != nil {
		t.Fatal(err)
	}
	for sb, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sb.SandboxID)
	}
	return ids
}

func TestListAndTags(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{PageSize: 2})
	app := newApp(t, client)
	var ids []string
	for i := range 5 {
		gpu := []string{"", "T4"}[i%2]
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Tags: map[string]string{"n": strconv.Itoa(i), "owner": "me"}})
		ids = append([]string{sb.SandboxID}, ids...)
		if tags, err := sb.GetTags(t.Context(), nil); err != nil || tags["n"] != strconv.Itoa(i) || tags["owner"] != "me" {
			t.Errorf("tags %v %v", tags, err)
		}
		if err := sb.SetTags(t.Context(), map[string]string{"odd": strconv.Itoa(i % 2)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := listed(t, client, modal.SandboxListParams{AppID: app.AppID}); !slices.Equal(got, ids) {
		t.Errorf("listed %v, not %v", got, ids)
	}
	if got := listed(t, client, modal.SandboxListParams{}); !slices.Equal(got, ids) {
		t.Errorf("of the environment: %v", got)
	}
	odd := []string{ids[1], ids[3]}
	if got := listed(t, client, modal.SandboxListParams{AppID: app.AppID, Tags: map[string]string{"odd": "1"}}); !slices.Equal(got, odd) {
		t.Errorf("with tags: %v, not %v", got, odd)
	}
	first, err := api(t, cloud).SandboxList(t.Context(), pb.SandboxListRequest_builder{AppId: app.AppID, IncludeFinished: true}.Build())
	if err != nil || len(first.GetSandboxes()) != 2 || first.GetSandboxes()[0].GetId() != ids[1] {
		t.Errorf("of the first back end: %v %v", first, err)
	}
	sb, err := client.Sandboxes.FromID(t.Context(), ids[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Terminate(t.Context(), &modal.SandboxTerminateParams{Wait: true}); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, client, modal.SandboxListParams{AppID: app.AppID}); slices.Contains(got, ids[0]) {
		t.Error("an ended one is listed")
	}
	all, err := api(t, cloud).SandboxListV2(t.Context(), pb.SandboxListRequest_builder{AppId: app.AppID, IncludeFinished: true}.Build())
	if err != nil || all.GetSandboxes()[0].GetId() != ids[0] || all.GetSandboxes()[0].GetTaskInfo().GetResult().GetStatus() != pb.GenericResult_GENERIC_STATUS_TERMINATED {
		t.Errorf("with the ended: %v %v", all, err)
	}
}

func TestNames(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		_, client := begin(t, fakemodal.Options{})
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Name: "one"})
		image := client.Images.FromRegistry("python:3.12-slim", nil)
		_, err := client.Sandboxes.Create(t.Context(), newApp(t, client), image, &modal.SandboxCreateParams{GPU: gpu, Name: "one"})
		if !errors.As(err, new(modal.AlreadyExistsError)) {
			t.Errorf("a second one: %v", err)
		}
		if found, err := client.Sandboxes.FromName(t.Context(), "test", "one", nil); err != nil || found.SandboxID != sb.SandboxID {
			t.Errorf("found %v: %v", found, err)
		}
		if _, err := sb.Terminate(t.Context(), &modal.SandboxTerminateParams{Wait: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Sandboxes.FromName(t.Context(), "test", "one", nil); !errors.As(err, new(modal.NotFoundError)) {
			t.Errorf("after its end: %v", err)
		}
		found, err := client.Sandboxes.FromName(t.Context(), "test", "one", &modal.SandboxFromNameParams{IncludeTerminated: true})
		if err != nil || found.SandboxID != sb.SandboxID {
			t.Errorf("with the ended: %v %v", found, err)
		}
		create(t, client, modal.SandboxCreateParams{GPU: gpu, Name: "one"})
	})
}

func TestLateName(t *testing.T) {
	_, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{})
	if err := sb.ExperimentalSetName(t.Context(), "late", nil); err != nil {
		t.Fatal(err)
	}
	if err := sb.ExperimentalSetName(t.Context(), "later", nil); !errors.As(err, new(modal.ConflictError)) {
		t.Errorf("a second name: %v", err)
	}
}

func TestWhatCannotBeCreated(t *testing.T) {
	_, client := begin(t, fakemodal.Options{MaxGPUs: 4, MaxMachines: 2})
	app := newApp(t, client)
	image := client.Images.FromRegistry("python:3.12-slim", nil)
	for name, c := range map[string]struct {
		p    modal.SandboxCreateParams
		want codes.Code
	}{
		"gpu":        {modal.SandboxCreateParams{GPU: "H900"}, codes.InvalidArgument},
		"any gpu":    {modal.SandboxCreateParams{GPU: "any"}, codes.InvalidArgument},
		"many gpus":  {modal.SandboxCreateParams{GPU: "A10:5"}, codes.InvalidArgument},
		"region":     {modal.SandboxCreateParams{Regions: []string{"mars-1"}}, codes.InvalidArgument},
		"cloud":      {modal.SandboxCreateParams{Cloud: "clouds"}, codes.InvalidArgument},
		"long":       {modal.SandboxCreateParams{Timeout: 25 * time.Hour}, codes.InvalidArgument},
		"port twice": {modal.SandboxCreateParams{EncryptedPorts: []int{80, 80}}, codes.InvalidArgument},
		"network":    {modal.SandboxCreateParams{EncryptedPorts: []int{80}, BlockNetwork: true}, codes.InvalidArgument},
		"root":       {modal.SandboxCreateParams{Volumes: map[string]*modal.Volume{"/": volume(t, client, "v")}}, codes.InvalidArgument},
		"no volume":  {modal.SandboxCreateParams{Volumes: map[string]*modal.Volume{"/v": {VolumeID: "vo-none"}}}, codes.NotFound},
		"no secret":  {modal.SandboxCreateParams{Secrets: []*modal.Secret{{SecretID: "st-none"}}}, codes.NotFound},
		"quota":      {modal.SandboxCreateParams{GPU: "H100:5"}, codes.ResourceExhausted},
	} {
		if _, err := client.Sandboxes.Create(t.Context(), app, image, &c.p); status.Code(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.Sandboxes.Create(t.Context(), app, client.Images.FromRegistry("x", nil), &modal.SandboxCreateParams{Regions: []string{"us-east"}, GPU: "H100!"}); err != nil {
		t.Error(err)
	}
	create(t, client, modal.SandboxCreateParams{})
	if _, err := client.Sandboxes.Create(t.Context(), app, image, nil); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one too many: %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		cloud, client := begin(t, fakemodal.Options{})
		state := func(sb *modal.Sandbox) fakemodal.Machine {
			m := cloud.Machines()
			return m[slices.IndexFunc(m, func(m fakemodal.Machine) bool { return m.ID == sb.SandboxID })]
		}
		short := create(t, client, modal.SandboxCreateParams{GPU: gpu, Timeout: time.Second})
		for limit := time.Second; ; limit *= 4 { // a slow computer may not get to the command in it
			busy := create(t, client, modal.SandboxCreateParams{GPU: gpu, IdleTimeout: limit})
			_, err := busy.Exec(t.Context(), []string{"sleep", "1000"}, nil)
			idle := create(t, client, modal.SandboxCreateParams{GPU: gpu, IdleTimeout: limit})
			if _, err := idle.Wait(t.Context(), nil); err != nil || state(idle).Result != "IDLE_TIMEOUT" {
				t.Errorf("idle: %v, %+v", err, state(idle))
			}
			if err == nil && state(busy).State == fakemodal.Running {
				break
			}
			if limit > 10*time.Second {
				t.Fatalf("busy: %v, %+v", err, state(busy))
			}
		}
		if code, err := short.Wait(t.Context(), nil); err != nil || code != 124 || state(short).Result != "TIMEOUT" {
			t.Errorf("timeout: %d %v, %+v", code, err, state(short))
		}
	})
}

func volume(t *testing.T, client *modal.Client, name string) *modal.Volume {
	t.Helper()
	v, err := client.Volumes.FromName(t.Context(), name, &modal.VolumeFromNameParams{CreateIfMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVolumes(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		cloud, client := begin(t, fakemodal.Options{})
		v := volume(t, client, "data")
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Volumes: map[string]*modal.Volume{"/data": v}, Command: []string{"sh", "-c", "echo kept >/data/f"}})
		if code, err := sb.Wait(t.Context(), nil); err != nil || code != 0 {
			t.Fatalf("%d %v", code, err)
		}
		again := create(t, client, modal.SandboxCreateParams{GPU: gpu, Volumes: map[string]*modal.Volume{"/data": volume(t, client, "data")}})
		if text, err := again.Filesystem.ReadText(t.Context(), "/data/f", nil); err != nil || text != "kept\n" {
			t.Errorf("%q %v", text, err)
		}
		if err := again.ReloadVolumes(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if _, err := client.Volumes.FromName(t.Context(), "other", nil); !errors.As(err, new(modal.NotFoundError)) {
			t.Errorf("an unknown one: %v", err)
		}
		list, err := api(t, cloud).VolumeList(t.Context(), &pb.VolumeListRequest{})
		if err != nil || len(list.GetItems()) != 1 || list.GetItems()[0].GetLabel() != "data" || list.GetItems()[0].GetVolumeId() != v.VolumeID {
			t.Errorf("%v %v", list, err)
		}
		if err := client.Volumes.Delete(t.Context(), "data", nil); err != nil {
			t.Error(err)
		}
		if _, err := client.Volumes.FromName(t.Context(), "data", nil); !errors.As(err, new(modal.NotFoundError)) {
			t.Errorf("a deleted one: %v", err)
		}
	})
}

func TestSecrets(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		cloud, client := begin(t, fakemodal.Options{})
		if _, err := api(t, cloud).SecretGetOrCreate(t.Context(), pb.SecretGetOrCreateRequest_builder{DeploymentName: "keys",
			ObjectCreationType: pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_IF_MISSING, EnvDict: map[string]string{"A": "1"}}.Build()); err != nil {
			t.Fatal(err)
		}
		named, err := client.Secrets.FromName(t.Context(), "keys", &modal.SecretFromNameParams{RequiredKeys: []string{"A"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Secrets.FromName(t.Context(), "keys", &modal.SecretFromNameParams{RequiredKeys: []string{"A", "B"}}); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a missing key: %v", err)
		}
		if _, err := client.Secrets.FromName(t.Context(), "none", nil); !errors.As(err, new(modal.NotFoundError)) {
			t.Errorf("an unknown one: %v", err)
		}
		made, err := client.Secrets.FromMap(t.Context(), map[string]string{"B": "2", "C": "no"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Secrets: []*modal.Secret{named, made}, Env: map[string]string{"C": "3"}})
		if out, _, _ := finish(t, sb, nil, "", "sh", "-c", "echo $A$B$C"); out != "123\n" {
			t.Errorf("%q", out)
		}
		if err := client.Secrets.Delete(t.Context(), "keys", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestSnapshot(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		_, client := begin(t, fakemodal.Options{})
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Workdir: "/root/deep"})
		if out, errs, code := finish(t, sb, nil, "", "sh", "-c", "echo a >f; mkdir d; ln -s ../f d/link; echo b >/workspace/g; chmod 700 f"); code != 0 {
			t.Fatal(out, errs)
		}
		image, err := sb.SnapshotFilesystem(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if out, _, _ := finish(t, sb, nil, "", "sh", "-c", "echo later >f"); out != "" {
			t.Fatal(out)
		}
		again := createFrom(t, client, image, modal.SandboxCreateParams{GPU: gpu, Workdir: "/root/deep"})
		if out, errs, _ := finish(t, again, nil, "", "sh", "-c", "cat f d/link /workspace/g; test -x f && echo x"); out != "a\na\nb\nx\n" {
			t.Errorf("%q %q", out, errs)
		}
		layered, err := image.DockerfileCommands([]string{"RUN true"}, nil).Build(t.Context(), newApp(t, client), nil)
		if err != nil {
			t.Fatal(err)
		}
		third := createFrom(t, client, layered, modal.SandboxCreateParams{GPU: gpu})
		if text, err := third.Filesystem.ReadText(t.Context(), "/root/deep/f", nil); err != nil || text != "a\n" {
			t.Errorf("a layer above: %q %v", text, err)
		}
	})
}

func TestSnapshotThatExpires(t *testing.T) {
	_, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{})
	image, err := sb.SnapshotFilesystem(t.Context(), &modal.SandboxSnapshotFilesystemParams{TTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "its end", func() bool {
		_, err := client.Images.FromID(t.Context(), image.ImageID, nil)
		return errors.As(err, new(modal.NotFoundError))
	})
}

func TestDirectorySnapshot(t *testing.T) {
	_, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{})
	ctx, fs := t.Context(), sb.Filesystem
	if err := errors.Join(fs.WriteText(ctx, "in", "/workspace/a/f", nil), fs.WriteText(ctx, "old", "/workspace/b/f", nil)); err != nil {
		t.Fatal(err)
	}
	image, err := sb.SnapshotDirectory(ctx, "/workspace/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.MountImage(ctx, "/workspace/b", image, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadText(ctx, "/workspace/b/f", nil); err != nil || text != "in" {
		t.Errorf("%q %v", text, err)
	}
	if err := sb.UnmountImage(ctx, "/workspace/b", nil); err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadText(ctx, "/workspace/b/f", nil); err != nil || text != "old" {
		t.Errorf("%q %v", text, err)
	}
	if err := sb.UnmountImage(ctx, "/workspace/b", nil); err == nil {
		t.Error("twice")
	}
}

func TestExitSnapshot(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		_, client := begin(t, fakemodal.Options{})
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Command: []string{"sh", "-c", "echo last >f; read x"},
			ExperimentalOptions: map[string]any{"enable_exit_snapshot": true}})
		now := time.Duration(0)
		if _, err := sb.ExperimentalGetExitSnapshot(t.Context(), &modal.SandboxExperimentalGetExitSnapshotParams{Timeout: &now}); !errors.As(err, new(modal.TimeoutError)) {
			t.Errorf("too early: %v", err)
		}
		if err := sb.Stdin.Close(); err != nil {
			t.Fatal(err)
		}
		image, err := sb.ExperimentalGetExitSnapshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		again := createFrom(t, client, image, modal.SandboxCreateParams{GPU: gpu})
		if text, err := again.Filesystem.ReadText(t.Context(), "/workspace/f", nil); err != nil || text != "last\n" {
			t.Errorf("%q %v", text, err)
		}
		if _, err := again.ExperimentalGetExitSnapshot(t.Context(), nil); !errors.As(err, new(modal.InvalidError)) {
			t.Errorf("not asked for: %v", err)
		}
	})
}

func TestReadiness(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		_, client := begin(t, fakemodal.Options{})
		port := testkit.FreePort(t)
		tcp, err := modal.NewTCPProbe(port, &modal.TCPProbeParams{Interval: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, ReadinessProbe: tcp, Command: []string{"python3", "-m", "http.server", strconv.Itoa(port)}})
		if err := sb.WaitUntilReady(t.Context(), 2*time.Minute, nil); err != nil {
			t.Error(err)
		}
		never, err := modal.NewExecProbe([]string{"false"}, &modal.ExecProbeParams{Interval: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		sb = create(t, client, modal.SandboxCreateParams{GPU: gpu, ReadinessProbe: never})
		if err := sb.WaitUntilReady(t.Context(), 200*time.Millisecond, nil); err == nil {
			t.Error("it is ready")
		}
	})
}

func TestEnvironmentsAndApps(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	if _, err := client.Apps.FromName(t.Context(), "none", nil); !errors.As(err, new(modal.NotFoundError)) {
		t.Errorf("an unknown app: %v", err)
	}
	if _, err := client.Apps.FromName(t.Context(), "a", &modal.AppFromNameParams{Environment: "none", CreateIfMissing: true}); !errors.As(err, new(modal.NotFoundError)) {
		t.Errorf("an unknown environment: %v", err)
	}
	if err := client.Environments.Objects.Create(t.Context(), "dev", nil); err != nil {
		t.Fatal(err)
	}
	dev, err := client.Apps.FromName(t.Context(), "test", &modal.AppFromNameParams{Environment: "dev", CreateIfMissing: true})
	if err != nil || dev.AppID == newApp(t, client).AppID {
		t.Errorf("%v %v", dev, err)
	}
	sb := create(t, client, modal.SandboxCreateParams{})
	if _, err := api(t, cloud).AppStop(t.Context(), pb.AppStopRequest_builder{AppId: newApp(t, client).AppID}.Build()); err != nil {
		t.Fatal(err)
	}
	if code, err := sb.Wait(t.Context(), nil); err != nil || code != 137 {
		t.Errorf("of a stopped app: %d %v", code, err)
	}
}

func TestUsage(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{GPU: "L4:2", CPU: 2})
	use, err := api(t, cloud).SandboxGetResourceUsage(t.Context(), pb.SandboxGetResourceUsageRequest_builder{SandboxId: sb.SandboxID}.Build())
	if err != nil || use.GetGpuType() != "L4" || use.GetGpuNanosecs() == 0 || use.GetCpuCoreNanosecs() != use.GetGpuNanosecs() {
		t.Errorf("%v %v", use, err)
	}
	rates, err := api(t, cloud).WorkspaceBillingRates(t.Context(), &pb.WorkspaceBillingRatesRequest{})
	if err != nil || rates.GetRates()["H100"] == "" {
		t.Errorf("%v %v", rates, err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	cloud := fakemodal.New(fakemodal.Options{})
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	client := connect(t, cloud.Env())
	for _, gpu := range []string{"", "H100"} {
		create(t, client, modal.SandboxCreateParams{GPU: gpu})
	}
	dir := filepath.Dir(cloud.Env()["MODAL_CONFIG_PATH"])
	if err := cloud.Close(); err != nil {
		t.Fatal(err)
	}
	for _, m := range cloud.Machines() {
		if m.Billing || m.State != fakemodal.Ended {
			t.Errorf("%+v", m)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
