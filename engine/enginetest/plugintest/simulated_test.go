package plugintest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// What is asked of clusters and hosts reaches a simulator by HTTP, and meets the faults of the
// kit on the way.
func TestSimulatedClusters(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path != simulatedCommand {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get(contextHeader), r.Header.Get("Content-Type"), string(body)}, " "))
			return
		}
		var c Command
		if err := json.Unmarshal(body, &c); err != nil {
			t.Error(err)
		}
		result := CommandResult{Stdout: append([]byte(c.Exec.Pod+" "), c.Stdin...), Code: 3}
		if c.Exec.Pod == "gone" {
			result = CommandResult{Error: sdk.Errorf(sdk.NotFound, "there is no pod gone")}
		}
		_ = json.NewEncoder(w).Encode(result) // a lost one is seen below
	}))
	defer server.Close()
	there, err := sdktest.Remote(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	world := sdktest.NewWorld(there)
	c := simulatedClusters{simulated{&pretended{}, world}}
	resp, err := c.Do(t.Context(), "a/b", sdk.KubeRequest{Method: "POST", Path: "/api/v1/x", Query: map[string][]string{"q": {"1 2"}}, ContentType: "application/json"}, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if want := "POST /api/v1/x?q=1+2 a%2Fb application/json {}"; err != nil || resp.StatusCode != 201 || string(text) != want {
		t.Errorf("%d %q, %v; want %q", resp.StatusCode, text, err, want)
	}
	r, err := c.Exec(t.Context(), "lab", sdk.KubeExec{Pod: "seer-1"}, strings.NewReader("hello"))
	if err != nil || string(r.Stdout) != "seer-1 hello" || r.Code != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = c.Exec(t.Context(), "lab", sdk.KubeExec{Pod: "gone"}, nil)
	testkit.WantCode(t, err, sdk.NotFound, "there is no pod gone")
	for effect, want := range map[int]sdk.Code{401: sdk.Unauthorized, 404: sdk.NotFound, 400: sdk.Invalid, 503: sdk.Unavailable} {
		remove := world.Inject(sdktest.Fault{Effect: sdktest.StatusCode(effect)})
		_, err := c.Exec(t.Context(), "lab", sdk.KubeExec{Pod: "seer-1"}, nil)
		testkit.WantCode(t, err, want, "")
		remove()
	}
	world.Inject(sdktest.Fault{Effect: sdktest.Refused()})
	_, err = c.Do(t.Context(), "", sdk.KubeRequest{Method: "GET", Path: "/version"}, nil)
	testkit.WantCode(t, err, sdk.Unavailable, "cannot be reached")
}
