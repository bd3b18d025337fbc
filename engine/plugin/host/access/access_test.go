package access_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

// whole asks for something of every kind.
func whole() sdk.Manifest {
	return sdk.Manifest{
		ID: "provider-tiny", Version: "1.0.0", Implements: []string{"provider/1", "expose/1"}, Provides: []string{"tiny"},
		Permissions: sdk.Permissions{
			Folders: true,
			HTTP: []sdk.HTTPPermission{
				{Destination: "{url}", Methods: []string{"GET", "POST"}, Paths: []string{"/machines", "/machines/*"}, Reason: "finds\n machines"},
				{Destination: "https://prices.example", Methods: []string{"GET"}, Paths: []string{"/**"}, Reason: "asks for prices"},
			},
			GRPC: []sdk.GRPCPermission{{Destination: "{rpc}", Methods: []string{"/acme.Cloud/Create", "/acme.Cloud/Get*"}, Reason: "rents"}},
			SSH: []sdk.SSHPermission{
				{Hosts: []string{"lab-*.example.org", "{rpc}"}, Use: []string{sdk.SSHExec, sdk.SSHForward}, Reason: "runs machines"},
				{Hosts: []string{"*"}, Use: []string{sdk.SSHExec}, Reason: "looks"},
			},
			Kube: []sdk.KubePermission{
				{Contexts: []string{"lab", "{rpc}"}, Namespaces: []string{"agents", "team-*"}, Use: []string{sdk.KubeRead, sdk.KubeForward}, Reason: "runs machines"},
				{Contexts: []string{"*"}, Use: []string{sdk.KubeCluster}, Reason: "finds GPUs"},
			},
			Commands: []sdk.CommandPermission{{Command: "node", Reason: "runs it"}},
			Env:      []sdk.EnvPermission{{Names: []string{"PYTHONPATH", "NODE_PATH"}, Reason: "finds it"}},
			Files:    []sdk.FilePermission{{Paths: []string{".claude/skills/**", ".cursor/*"}, Reason: "is found"}},
		},
		Profile: &sdk.Profile{File: "~/.tiny.toml", FileEnv: "TINY_CONFIG", NameEnv: "TINY_PROFILE", Active: "active"},
		Settings: []sdk.Setting{
			{Name: "url", Doc: "the server", Env: []string{"TINY_URL"}, Default: "https://api.tiny.example"},
			{Name: "rpc", Doc: "the other server", Profile: "rpc"},
			{Name: "fixed", Doc: "does not change", Default: "7"},
		},
		Secrets: []sdk.Secret{{Name: "key", Doc: "make one", Env: []string{"TINY_KEY", "TINY_TOKEN"}, Profile: "key", Bind: []sdk.Binding{
			{Destination: "{url}", Header: "Authorization", Format: "Bearer {}"}, {Destination: "{rpc}", Header: "x-key"},
		}}},
		Captures: []sdk.Capture{
			{Name: "session", Method: "/acme.Cloud/Create", Field: "1", Bind: []sdk.Binding{{Destination: "{rpc}", Header: "x-session"}}},
			{Name: "host", Method: "/acme.Cloud/Create", Field: "2.1", URLField: "2.2", GRPC: []string{"/acme.Host/Copy", "/acme.Host/Move"}, Bind: []sdk.Binding{{Header: "authorization"}}},
		},
		Limits: sdk.PluginLimits{MemoryMB: 512, CallSeconds: 3},
	}
}

func TestLines(t *testing.T) {
	want := `capture host /acme.Cloud/Create 2.1 authorization url:2.2
capture host /acme.Cloud/Create 2.1 calls url:2.2 /acme.Host/Copy
capture host /acme.Cloud/Create 2.1 calls url:2.2 /acme.Host/Move
capture session /acme.Cloud/Create 1 x-session {rpc}
command node
env NODE_PATH
env PYTHONPATH
file .claude/skills/**
file .cursor/*
folders
grpc {rpc} /acme.Cloud/Create
grpc {rpc} /acme.Cloud/Get*
http GET https://prices.example /**
http GET {url}=https://api.tiny.example /machines
http GET {url}=https://api.tiny.example /machines/*
http POST {url}=https://api.tiny.example /machines
http POST {url}=https://api.tiny.example /machines/*
kube context * cluster
kube context lab namespace agents forward
kube context lab namespace agents read
kube context lab namespace team-* forward
kube context lab namespace team-* read
kube context {rpc} namespace agents forward
kube context {rpc} namespace agents read
kube context {rpc} namespace team-* forward
kube context {rpc} namespace team-* read
memory 512
profile ~/.tiny.toml TINY_CONFIG name=TINY_PROFILE active=active
secret key TINY_KEY,TINY_TOKEN,~key Authorization {url}=https://api.tiny.example
secret key TINY_KEY,TINY_TOKEN,~key x-key {rpc}
setting rpc ~rpc
setting url TINY_URL
ssh * exec
ssh lab-*.example.org exec
ssh lab-*.example.org forward
ssh {rpc} exec
ssh {rpc} forward`
	if got := strings.Join(access.Of(whole()), "\n"); got != want {
		t.Errorf("lines:\n%s\nwant:\n%s", got, want)
	}
	var texts []string
	for _, l := range access.Lines(whole()) {
		if l.Plain == "" || strings.ContainsAny(l.Plain+l.Reason, "\n\t") {
			t.Errorf("%q in words: %q, because %q", l.Text, l.Plain, l.Reason)
		}
		texts = append(texts, l.Text)
	}
	if !reflect.DeepEqual(access.Make(texts...), access.Of(whole())) {
		t.Errorf("Lines and Of differ: %q", texts)
	}
	if got := access.Lines(whole())[1]; got.Plain != "send GET and POST requests to https://api.tiny.example (or where your setting TINY_URL says), paths /machines, /machines/*" || got.Reason != "finds machines" {
		t.Errorf("in words: %+v", got)
	}
	said := map[string]string{}
	for _, l := range access.Lines(whole()) {
		said[l.Text] = l.Plain
	}
	if got := said["ssh {rpc} forward"]; got != "have Seer carry ports and sockets of lab-*.example.org or the hosts that your setting rpc in ~/.tiny.toml lists to this computer" {
		t.Errorf("forward in words: %q", got)
	}
	if got := said["ssh * exec"]; got != "run commands on any host that you name by SSH, with your keys, unseen" {
		t.Errorf("exec in words: %q", got)
	}
	if got := said["kube context lab namespace team-* forward"]; got != "have Seer carry ports of pods in the namespace agents or the namespace team-* of the Kubernetes context lab or the contexts that your setting rpc in ~/.tiny.toml lists to this computer" {
		t.Errorf("forward of pods in words: %q", got)
	}
	if got := said["kube context * cluster"]; got != "read what belongs to no namespace, such as nodes, of the Kubernetes context that you name, and ask it what you may do there" {
		t.Errorf("a cluster in words: %q", got)
	}
	if got := access.Of(sdk.Manifest{ID: "expose-x", Settings: []sdk.Setting{{Name: "a", Default: "b"}}, Limits: sdk.PluginLimits{MemoryMB: 256}}); len(got) != 0 {
		t.Errorf("a plugin that asks for nothing: %q", got)
	}
}

// The permission hash is what others compute, too: printf '%s\n' LINES | sort | sha256sum.
func TestHash(t *testing.T) {
	s := access.Make("setting url TINY_URL", "folders", "folders")
	if got := s.Hash(); got != "sha256:20deac06d390fe22165ca2e5964aab114f662c749e92d3109c7fa0830f1d9ca1" {
		t.Errorf("hash = %s", got)
	}
}

// Each line alone: what is left of the manifest asks for that line and nothing else.
func TestLimitIsExact(t *testing.T) {
	m := whole()
	all := access.Of(m)
	for _, line := range all {
		if got := access.Of(access.Limit(m, access.Set{line})); !reflect.DeepEqual(got, access.Set{line}) {
			t.Errorf("granted %q, left %q", line, got)
		}
		rest := all.Without(access.Set{line})
		if got := access.Of(access.Limit(m, rest)); !reflect.DeepEqual(got, rest) {
			t.Errorf("without %q: %q", line, got)
		}
	}
	if !reflect.DeepEqual(access.Limit(m, all), m) {
		t.Errorf("all granted: %+v", access.Limit(m, all))
	}
	if !reflect.DeepEqual(m, whole()) {
		t.Error("Limit has changed its manifest")
	}
}

// Nothing granted: no destination, credential or value of the user's is left, and what a
// backend hands out is still kept from the plugin.
func TestLimitToNothing(t *testing.T) {
	got := access.Limit(whole(), nil)
	if !reflect.DeepEqual(got.Permissions, sdk.Permissions{}) || got.Secrets != nil || got.Profile != nil || got.Limits.MemoryMB != 0 {
		t.Errorf("left: %+v", got)
	}
	for _, s := range got.Settings {
		if s.Env != nil || s.Profile != "" {
			t.Errorf("the setting %s is still read", s.Name)
		}
	}
	if len(got.Captures) != 2 || got.Captures[0].Bind != nil || got.Captures[1].GRPC != nil {
		t.Errorf("captures: %+v", got.Captures)
	}
}

// A pattern, destination, header or variable that changes is another line.
func TestWiderIsAnotherLine(t *testing.T) {
	before := access.Of(whole())
	for name, change := range map[string]func(*sdk.Manifest){
		"path":             func(m *sdk.Manifest) { m.Permissions.HTTP[0].Paths[0] = "/**" },
		"default":          func(m *sdk.Manifest) { m.Settings[0].Default = "https://evil.example" },
		"variable":         func(m *sdk.Manifest) { m.Settings[0].Env = append(m.Settings[0].Env, "HOME_URL") },
		"secret variable":  func(m *sdk.Manifest) { m.Secrets[0].Env[0] = "AWS_SECRET" },
		"secret's profile": func(m *sdk.Manifest) { m.Secrets[0].Profile = "other" },
		"header":           func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Header = "X-Debug" },
		"profile":          func(m *sdk.Manifest) { m.Profile.File = "~/.aws/config" },
		"profile section":  func(m *sdk.Manifest) { m.Profile.Section = "prod" },
		"profile folder":   func(m *sdk.Manifest) { m.Profile.Folders = []sdk.ProfileFolder{{Env: "TINY_HOME", File: "key"}} },
		"profile variable": func(m *sdk.Manifest) { m.Profile.FileEnv, m.Profile.NameEnv = "", "TINY_CONFIG" },
		"capture's field":  func(m *sdk.Manifest) { m.Captures[0].Field = "3" },
		"capture's URL":    func(m *sdk.Manifest) { m.Captures[1].URLField = "4" },
		"memory":           func(m *sdk.Manifest) { m.Limits.MemoryMB = 1024 },
		"command":          func(m *sdk.Manifest) { m.Permissions.Commands[0].Command = "sh" },
	} {
		m := whole()
		change(&m)
		if more := access.Of(m).Without(before); len(more) == 0 {
			t.Errorf("%s: nothing new", name)
		}
	}
	m := whole()
	m.Permissions.HTTP[0].Reason, m.Description, m.Settings[0].Doc, m.Secrets[0].Doc = "another", "another", "another", "another"
	if access.Of(m).Hash() != before.Hash() {
		t.Error("other words need another grant")
	}
}

// What people read names all that they say yes to: each variable, key and method.
func TestWordsLeaveNothingOut(t *testing.T) {
	m := whole()
	m.Settings = append(m.Settings, sdk.Setting{Name: "zone", Env: []string{"TINY_ZONE", "DATABASE_URL"}})
	m.Secrets[0].Env, m.Secrets[0].Profile = []string{"TINY_KEY", "GITHUB_TOKEN"}, "hidden_key"
	m.Permissions.GRPC = append(m.Permissions.GRPC, sdk.GRPCPermission{Destination: "https://api.tiny.example", Methods: []string{"/tiny.Public/Get", "/tiny.Admin/Get"}})
	var words strings.Builder
	for _, l := range access.Lines(m) {
		words.WriteString(l.Plain + "\n")
	}
	for _, part := range []string{"TINY_ZONE", "DATABASE_URL", "TINY_KEY", "GITHUB_TOKEN", "hidden_key", "/tiny.Public/Get", "/tiny.Admin/Get"} {
		if !strings.Contains(words.String(), part) {
			t.Errorf("%s is not among the words:\n%s", part, words.String())
		}
	}
}

func TestOddPartsMakeOneLine(t *testing.T) {
	seen := map[string]string{}
	for _, command := range []string{"a", "a ", " a", "a\n", `"a"`, `a"`, `"a\x20"`, "a b", `a\x20b`, "a\x00", "é", "", `""`} {
		line := access.Command(command)
		if strings.ContainsAny(line, "\n\x00") || strings.Count(line, " ") != 1 {
			t.Errorf("%q makes the line %q", command, line)
		}
		if other, taken := seen[line]; taken {
			t.Errorf("%q and %q make the line %q", command, other, line)
		}
		seen[line] = command
	}
}

func TestSets(t *testing.T) {
	s := access.Make("b", "a", "b")
	if !slices.Equal(s, access.Set{"a", "b"}) || !s.Has("a") || s.Has("c") || access.Set(nil).Has("a") {
		t.Errorf("set = %q", s)
	}
	if got := s.Without(access.Set{"a"}); !slices.Equal(got, access.Set{"b"}) {
		t.Errorf("Without = %q", got)
	}
	if got := s.And(access.Set{"b", "c"}); !slices.Equal(got, access.Set{"b"}) {
		t.Errorf("And = %q", got)
	}
}

// Whatever part is granted: what is left asks for that part, and again the same.
func FuzzLimit(f *testing.F) {
	f.Add(uint64(0), "/a", "https://x.example", "GET")
	f.Add(^uint64(0), "/a/**", "{url}", "POST")
	f.Add(uint64(0x5555), "/a b", "{url}=https://api.tiny.example", "GET http")
	f.Fuzz(func(t *testing.T, mask uint64, path, destination, method string) {
		m := whole()
		m.Permissions.HTTP = append(m.Permissions.HTTP, sdk.HTTPPermission{Destination: destination, Methods: []string{method, "GET"}, Paths: []string{path, "/b"}})
		all := access.Of(m)
		var granted access.Set
		for i, line := range all {
			if mask>>(i%64)&1 == 1 {
				granted = append(granted, line)
			}
		}
		left := access.Limit(m, granted)
		if got := access.Of(left); !slices.Equal(got, granted) {
			t.Fatalf("granted %q, left %q", granted, got)
		}
		if !reflect.DeepEqual(access.Limit(left, granted), left) {
			t.Fatal("a second time something else is left")
		}
		for _, line := range all {
			if strings.ContainsAny(line, "\n\r\x00") {
				t.Fatalf("the line %q is none", line)
			}
		}
	})
}
