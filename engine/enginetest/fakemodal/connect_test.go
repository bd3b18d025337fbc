package fakemodal_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	modal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestConnectToken(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		_, client := begin(t, fakemodal.Options{})
		port := testkit.FreePort(t)
		const echo = `
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{self.path} {self.headers['X-Verified-User-Data']} {self.headers['Authorization']}".encode())
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
`
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Command: []string{"python3", "-c", echo, strconv.Itoa(port)}})
		c, err := sb.CreateConnectToken(t.Context(), &modal.SandboxCreateConnectTokenParams{UserMetadata: "me", Port: port})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(query string, header ...string) (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/p"+query, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(header) > 0 {
				req.Header.Set(header[0], header[1])
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return 0, err.Error()
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(body)
		}
		testkit.Eventually(t, "an answer", func() bool { code, _ := ask("", "Authorization", "Bearer "+c.Token); return code == 200 })
		for name, got := range map[string]func() (int, string){
			"header": func() (int, string) { return ask("", "Authorization", "Bearer "+c.Token) },
			"query":  func() (int, string) { return ask("?_modal_connect_token=" + c.Token) },
			"cookie": func() (int, string) { return ask("", "Cookie", "_modal_connect_token="+c.Token) },
		} {
			if code, body := got(); code != 200 || body != "/p me None" {
				t.Errorf("%s: %d %q", name, code, body)
			}
		}
		if code, _ := ask("", "Authorization", "Bearer other"); code != http.StatusUnauthorized {
			t.Errorf("a wrong token: %d", code)
		}
		if _, err := sb.Terminate(t.Context(), &modal.SandboxTerminateParams{Wait: true}); err != nil {
			t.Fatal(err)
		}
		if code, _ := ask("", "Authorization", "Bearer "+c.Token); code != 0 {
			t.Errorf("after the end: %d", code)
		}
		if _, err := sb.CreateConnectToken(t.Context(), nil); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a token for an ended one: %v", err)
		}
	})
}

func TestMounts(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	api, app := api(t, cloud), newApp(t, client)
	sum := sha256.Sum256([]byte("content"))
	sha := hex.EncodeToString(sum[:])
	files := []*pb.MountFile{pb.MountFile_builder{Filename: "/workspace/deep/f", Sha256Hex: sha}.Build()}
	req := pb.MountGetOrCreateRequest_builder{ObjectCreationType: pb.ObjectCreationType_OBJECT_CREATION_TYPE_EPHEMERAL, Files: files}.Build()
	if _, err := api.MountGetOrCreate(t.Context(), req); status.Code(err) != codes.NotFound {
		t.Errorf("before the upload: %v", err)
	}
	if a, err := api.MountBatchedCheckExistence(t.Context(), pb.MountBatchedCheckExistenceRequest_builder{Sha256HexHashes: []string{sha}}.Build()); err != nil || len(a.GetMissingSha256HexHashes()) != 1 {
		t.Errorf("%v %v", a, err)
	}
	if _, err := api.MountPutFile(t.Context(), pb.MountPutFileRequest_builder{Sha256Hex: sha, Data: []byte("other")}.Build()); status.Code(err) != codes.InvalidArgument {
		t.Errorf("another content: %v", err)
	}
	if a, err := api.MountPutFile(t.Context(), pb.MountPutFileRequest_builder{Sha256Hex: sha, Data: []byte("content")}.Build()); err != nil || !a.GetExists() {
		t.Fatalf("%v %v", a, err)
	}
	mount, err := api.MountGetOrCreate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	image, err := client.Images.FromRegistry("a", nil).Build(t.Context(), app, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := api.SandboxCreateV2(t.Context(), pb.SandboxCreateV2Request_builder{AppId: app.AppID, Definition: pb.Sandbox_builder{
		ImageId: image.ImageID, TimeoutSecs: 300, MountIds: []string{mount.GetMountId()}}.Build()}.Build())
	if err != nil {
		t.Fatal(err)
	}
	sb, err := client.Sandboxes.FromID(t.Context(), answer.GetSandboxId(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := sb.Filesystem.ReadText(t.Context(), "/workspace/deep/f", nil); err != nil || text != "content" {
		t.Errorf("%q %v", text, err)
	}
	bad := []*pb.MountFile{pb.MountFile_builder{Filename: "../f", Sha256Hex: sha}.Build()}
	if _, err := api.MountGetOrCreate(t.Context(), pb.MountGetOrCreateRequest_builder{Files: bad}.Build()); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a path that leaves: %v", err)
	}
	if _, err := api.MountPutFile(t.Context(), pb.MountPutFileRequest_builder{Sha256Hex: strings.Repeat("../", 8), Data: []byte("x")}.Build()); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a sum that is a path: %v", err)
	}
}
