package fakemodal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
)

func fault(t *testing.T, cloud *fakemodal.Cloud, f fakemodal.Faults) {
	t.Helper()
	if err := cloud.SetFaults(f); err != nil {
		t.Fatal(err)
	}
}

func lookup(t *testing.T, client *modal.Client) error {
	t.Helper()
	_, err := client.Apps.FromName(t.Context(), "test", &modal.AppFromNameParams{CreateIfMissing: true})
	return err
}

func calls(cloud *fakemodal.Cloud, method string) (n int) {
	for _, e := range cloud.Events() {
		if e.Kind == "call" && e.Method == method {
			n++
		}
	}
	return n
}

func TestCredentials(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	if err := lookup(t, client); err != nil {
		t.Fatal(err)
	}
	wrong := cloud.Env()
	wrong["MODAL_TOKEN_SECRET"] = "as-wrong"
	if err := lookup(t, connect(t, wrong)); status.Code(errors.Unwrap(err)) != codes.Unauthenticated && status.Code(err) != codes.Unauthenticated {
		t.Errorf("a wrong secret: %v", err)
	}
	app := pb.AppGetOrCreateRequest_builder{AppName: "test"}.Build()
	pairs := credentials(cloud)
	for name, c := range map[string][]string{
		"nothing":      nil,
		"no token":     pairs,
		"wrong token":  append(pairs, "x-modal-auth-token", "a.b.c"),
		"two secrets":  append(pairs, "x-modal-token-secret", "other"),
		"other's name": append([]string{"x-modal-token-id", "ak-other"}, pairs[4:]...),
	} {
		if _, err := raw(t, cloud, c...).AppGetOrCreate(t.Context(), app); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := append(append([]string{}, pairs...), pairs...)
	if _, err := raw(t, cloud, twice...).AuthTokenGet(t.Context(), &pb.AuthTokenGetRequest{}); err != nil {
		t.Errorf("twice the same: %v", err)
	}
	python := append(append([]string{}, pairs...), "x-modal-client-type", "1")[2:]
	if _, err := raw(t, cloud, python...).AppGetOrCreate(t.Context(), app); err != nil {
		t.Errorf("the Python client needs no token: %v", err)
	}
	if _, err := raw(t, cloud, python...).SandboxListV2(t.Context(), &pb.SandboxListRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("but for the second back end: %v", err)
	}
	fault(t, cloud, fakemodal.Faults{TokenRevoked: true})
	if err := lookup(t, client); status.Code(err) != codes.Unauthenticated {
		t.Errorf("revoked: %v", err)
	}
}

func TestTokensExpire(t *testing.T) {
	// Times of tokens are whole seconds, so that one of a second may be over at once.
	for life := 5 * time.Second; ; life *= 4 { // and one of five between two steps of a slow computer
		err := tokensExpire(t, life)
		if err == nil {
			return
		}
		if status.Code(err) != codes.Unauthenticated || life > time.Minute {
			t.Fatal(err)
		}
	}
}

func tokensExpire(t *testing.T, life time.Duration) error {
	cloud, client := begin(t, fakemodal.Options{TokenLife: life, RouterLife: life})
	app, err := client.Apps.FromName(t.Context(), "test", &modal.AppFromNameParams{CreateIfMissing: true})
	if err != nil {
		return err
	}
	sb, err := client.Sandboxes.Create(t.Context(), app, client.Images.FromRegistry("a", nil), &modal.SandboxCreateParams{GPU: "T4"})
	if err != nil {
		return err
	}
	use := func() error {
		cp, err := sb.Exec(t.Context(), []string{"echo", "a"}, nil)
		if err != nil {
			return err
		}
		if out, err := io.ReadAll(cp.Stdout); err != nil || string(out) != "a\n" {
			return fmt.Errorf("%q: %w", out, err)
		}
		return nil
	}
	if err := use(); err != nil {
		return err
	}
	gets, accesses := calls(cloud, "AuthTokenGet"), calls(cloud, "TaskGetCommandRouterAccess")
	testkit.Eventually(t, "new tokens", func() bool {
		if err = use(); err == nil {
			err = lookup(t, client)
		}
		return err != nil || calls(cloud, "AuthTokenGet") > gets && calls(cloud, "TaskGetCommandRouterAccess") > accesses
	})
	return err
}

func TestCallsThatFail(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	if err := lookup(t, client); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fault fakemodal.CallFault
		want  codes.Code
		calls int
	}{
		"a short storm":  {fakemodal.CallFault{Method: "App*", Code: codes.Unavailable, Times: 2}, codes.OK, 3},
		"a long one":     {fakemodal.CallFault{Method: "App*", Code: codes.Internal}, codes.Internal, 4},
		"too many calls": {fakemodal.CallFault{Method: "AppGetOrCreate", Code: codes.ResourceExhausted, RetryAfter: time.Millisecond, Times: 6}, codes.OK, 7},
		"a refusal":      {fakemodal.CallFault{Method: "*", Code: codes.ResourceExhausted, Text: "no"}, codes.ResourceExhausted, 1},
		"after one":      {fakemodal.CallFault{Method: "App*", Code: codes.PermissionDenied, Skip: 1}, codes.OK, 1},
		"cut":            {fakemodal.CallFault{Method: "App*", Cut: true, Times: 1}, codes.OK, 2},
		"another method": {fakemodal.CallFault{Method: "Sandbox*", Code: codes.Internal}, codes.OK, 1},
	} {
		before := calls(cloud, "AppGetOrCreate")
		fault(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{c.fault}})
		err := lookup(t, client)
		if n := calls(cloud, "AppGetOrCreate") - before; status.Code(err) != c.want || n != c.calls {
			t.Errorf("%s: %v after %d calls", name, err, n)
		}
	}
	if err := cloud.SetFaults(fakemodal.Faults{Calls: []fakemodal.CallFault{{Method: "["}}}); err == nil {
		t.Error("a broken pattern is taken")
	}
	fault(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{{Method: "App*", Hang: true}}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Apps.FromName(ctx, "test", nil); !errors.Is(ctx.Err(), context.DeadlineExceeded) || err == nil {
		t.Errorf("no answer: %v", err)
	}
}

func TestAnswersThatAreLost(t *testing.T) {
	for name, f := range map[string]fakemodal.CallFault{
		"cut":  {Method: "SandboxCreate", AfterEffect: true, Times: 1},
		"code": {Method: "SandboxCreate", AfterEffect: true, Times: 1, Code: codes.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, client := begin(t, fakemodal.Options{})
			fault(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{f}})
			image := client.Images.FromRegistry("a", nil)
			_, err := client.Sandboxes.Create(t.Context(), newApp(t, client), image, &modal.SandboxCreateParams{GPU: "T4", Name: "one"})
			if !errors.As(err, new(modal.AlreadyExistsError)) { // the client asks again
				t.Errorf("%v", err)
			}
			if m := cloud.Machines(); len(m) != 1 || m[0].State == fakemodal.Ended {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestDown(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{GPU: "T4"})
	fault(t, cloud, fakemodal.Faults{Down: true})
	if _, err := sb.Terminate(t.Context(), nil); status.Code(err) != codes.Unavailable {
		t.Errorf("terminate: %v", err)
	}
	if !cloud.Machines()[0].Billing {
		t.Error("it has ended")
	}
	fault(t, cloud, fakemodal.Faults{RouterDown: true})
	if err := lookup(t, connect(t, cloud.Env())); err != nil {
		t.Error(err)
	}
	fault(t, cloud, fakemodal.Faults{})
	testkit.Eventually(t, "the end", func() bool {
		_, err := sb.Terminate(t.Context(), &modal.SandboxTerminateParams{Wait: true})
		return err == nil
	})
}

func TestNoCapacity(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	app := newApp(t, client)
	image, err := client.Images.FromRegistry("a", nil).Build(t.Context(), app, nil)
	if err != nil {
		t.Fatal(err)
	}
	api := api(t, cloud)
	queue := func(gpu string) string {
		answer, err := api.SandboxCreate(t.Context(), pb.SandboxCreateRequest_builder{AppId: app.AppID, Definition: pb.Sandbox_builder{
			ImageId: image.ImageID, TimeoutSecs: 300, Resources: pb.Resources_builder{GpuConfig: pb.GPUConfig_builder{GpuType: gpu, Count: 1}.Build()}.Build(),
		}.Build()}.Build())
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetSandboxId()
	}
	task := func(id string, wait float32) *pb.SandboxGetTaskIdResponse {
		answer, err := api.SandboxGetTaskId(t.Context(), pb.SandboxGetTaskIdRequest_builder{SandboxId: id, Timeout: &wait}.Build())
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	fault(t, cloud, fakemodal.Faults{NoCapacity: []string{"h100", "cpu"}})
	first, second, other := queue("H100"), queue("H100"), queue("T4")
	if a := task(other, 20); a.GetTaskId() == "" {
		t.Errorf("another GPU: %v", a)
	}
	if a := task(first, 0.1); a.HasTaskId() || a.HasTaskResult() {
		t.Errorf("it has %v", a)
	}
	if m := cloud.Machines()[0]; m.State != fakemodal.Queued || m.Billing {
		t.Errorf("%+v", m)
	}
	if _, err := client.Sandboxes.Create(t.Context(), app, image, nil); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("of the second back end: %v", err)
	}
	if _, err := api.SandboxTerminate(t.Context(), pb.SandboxTerminateRequest_builder{SandboxId: second}.Build()); err != nil {
		t.Fatal(err)
	}
	if a := task(second, 20); a.HasTaskId() || a.GetTaskResult().GetStatus() != pb.GenericResult_GENERIC_STATUS_TERMINATED {
		t.Errorf("terminated in the queue: %v", a)
	}
	fault(t, cloud, fakemodal.Faults{})
	if a := task(first, 20); a.GetTaskId() == "" {
		t.Errorf("when there is some again: %v", a)
	}
}

func TestExhausted(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	fault(t, cloud, fakemodal.Faults{Exhausted: "Workspace spend limit reached"})
	for _, gpu := range []string{"", "H100"} {
		_, err := client.Sandboxes.Create(t.Context(), newApp(t, client), client.Images.FromRegistry("a", nil), &modal.SandboxCreateParams{GPU: gpu})
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "spend limit") {
			t.Errorf("%q: %v", gpu, err)
		}
	}
}

func TestMachinesThatDie(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		cloud, client := begin(t, fakemodal.Options{})
		fault(t, cloud, fakemodal.Faults{DiesStarting: true})
		_, err := client.Sandboxes.Create(t.Context(), newApp(t, client), client.Images.FromRegistry("a", nil), &modal.SandboxCreateParams{GPU: gpu})
		if err == nil || !strings.Contains(err.Error(), "the worker was lost") {
			t.Errorf("while starting: %v", err)
		}
		fault(t, cloud, fakemodal.Faults{DiesAfter: 50 * time.Millisecond, StartDelay: 100 * time.Millisecond})
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu})
		if code, err := sb.Wait(t.Context(), nil); err != nil || code != 137 {
			t.Errorf("later: %d %v", code, err)
		}
		fault(t, cloud, fakemodal.Faults{})
		sb = create(t, client, modal.SandboxCreateParams{GPU: gpu})
		if err := cloud.KillMachine(sb.SandboxID); err != nil {
			t.Fatal(err)
		}
		if code, err := sb.Wait(t.Context(), nil); err != nil || code != 137 {
			t.Errorf("killed: %d %v", code, err)
		}
		m := cloud.Machines()
		if waited := m[1].Started.Sub(m[1].Created); waited < 100*time.Millisecond {
			t.Errorf("a slow start took %v", waited)
		}
		if m[0].Result != "INIT_FAILURE" || m[1].Result != "INTERNAL_FAILURE" || m[2].Result != "INTERNAL_FAILURE" {
			t.Errorf("%+v", m)
		}
		if err := cloud.KillMachine(sb.SandboxID); err == nil {
			t.Error("it dies twice")
		}
	})
}

// served is a sandbox with a web server, and where it is.
func served(t *testing.T, client *modal.Client, gpu string) (*modal.Sandbox, string) {
	t.Helper()
	port := testkit.FreePort(t)
	sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, EncryptedPorts: []int{port},
		Command: []string{"sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x >page; exec python3 -m http.server " + strconv.Itoa(port)}})
	tunnels, err := sb.Tunnels(t.Context(), 2*time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sb, net.JoinHostPort(tunnels[port].Host, strconv.Itoa(tunnels[port].Port))
}

// page fetches without keeping a connection.
func page(address string) (int, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /page HTTP/1.0\r\n\r\n"); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	data, err := io.ReadAll(resp.Body)
	return len(data), err
}

func TestTunnels(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	sb, address := served(t, client, "T4")
	whole := func() bool { n, err := page(address); return n == 100000 && err == nil }
	testkit.Eventually(t, "the page", whole)
	for _, there := range cloud.Machines()[0].Tunnels {
		if there != address {
			t.Errorf("the tunnel is at %s, not %s", there, address)
		}
	}
	fault(t, cloud, fakemodal.Faults{TunnelBytes: 5000})
	if n, err := page(address); err == nil || n >= 5000 {
		t.Errorf("cut after 5000 bytes: %d %v", n, err)
	}
	fault(t, cloud, fakemodal.Faults{TunnelTime: 50 * time.Millisecond})
	idle := dial(t, address)
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("an old connection is not cut")
	}
	fault(t, cloud, fakemodal.Faults{})
	open := dial(t, address)
	testkit.Eventually(t, "the cut", func() bool { // it may not be there yet
		if err := cloud.CutTunnels(sb.SandboxID); err != nil {
			t.Fatal(err)
		}
		_ = open.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := open.Read(make([]byte, 1))
		var timeout net.Error
		return err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
	})
	if !whole() {
		t.Error("a new connection does not work")
	}
	if err := cloud.FreezeMachine(sb.SandboxID); err != nil {
		t.Fatal(err)
	}
	frozen := dial(t, address)
	if _, err := io.WriteString(frozen, "GET /page HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = frozen.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := frozen.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("a frozen machine answers")
	}
	if !cloud.Machines()[0].Billing {
		t.Error("a frozen machine costs nothing")
	}
	if err := cloud.ThawMachine(sb.SandboxID); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the page", whole)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestTunnelsThatDoNotComeUp(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		cloud, client := begin(t, fakemodal.Options{})
		fault(t, cloud, fakemodal.Faults{TunnelNever: true})
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, EncryptedPorts: []int{1234}})
		if _, err := sb.Tunnels(t.Context(), 50*time.Millisecond, nil); !errors.As(err, new(modal.SandboxTimeoutError)) {
			t.Errorf("never: %v", err)
		}
		fault(t, cloud, fakemodal.Faults{TunnelDelay: 100 * time.Millisecond})
		sb = create(t, client, modal.SandboxCreateParams{GPU: gpu, EncryptedPorts: []int{1234}, UnencryptedPorts: []int{1235}})
		tunnels, err := sb.Tunnels(t.Context(), 2*time.Minute, nil)
		if err != nil || len(tunnels) != 2 || tunnels[1235].UnencryptedPort == 0 {
			t.Errorf("late: %v %v", tunnels, err)
		}
	})
}

func TestWarningsAndLatency(t *testing.T) {
	cloud := fakemodal.New(fakemodal.Options{Dir: t.TempDir()})
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	for name, value := range cloud.Env() {
		t.Setenv(name, value)
	}
	var log strings.Builder
	client, err := modal.NewClientWithOptions(&modal.ClientParams{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fault(t, cloud, fakemodal.Faults{Warning: "old & slow", Latency: 100 * time.Millisecond})
	start := time.Now()
	if err := lookup(t, client); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 200*time.Millisecond { // two calls
		t.Errorf("it took %v", d)
	}
	if !strings.Contains(log.String(), "old & slow") {
		t.Errorf("log %q", log.String())
	}
}

func TestUnknownFields(t *testing.T) {
	cloud, _ := begin(t, fakemodal.Options{})
	answer, err := api(t, cloud).EnvironmentGetOrCreate(t.Context(), &pb.EnvironmentGetOrCreateRequest{})
	if err != nil || len(answer.ProtoReflect().GetUnknown()) == 0 {
		t.Errorf("%v %v", answer, err)
	}
}

func TestLoaderBoots(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		_, client := begin(t, fakemodal.Options{})
		env, err := loader.BootEnv(loader.Boot{Listen: "tcp:0.0.0.0:8765", AdminSHA256: strings.Repeat("0", 64)})
		if err != nil {
			t.Fatal(err)
		}
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Command: loader.Command("python3"), Env: env, EncryptedPorts: []int{8765},
			Volumes: map[string]*modal.Volume{"/models": volume(t, client, "models")}})
		tunnels, err := sb.Tunnels(t.Context(), 2*time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + net.JoinHostPort(tunnels[8765].Host, strconv.Itoa(tunnels[8765].Port)) + "/"
		testkit.Eventually(t, "the loader", func() bool {
			resp, err := http.Get(url)
			if err != nil {
				return false
			}
			resp.Body.Close()
			return resp.StatusCode == http.StatusUnauthorized
		})
	})
}
