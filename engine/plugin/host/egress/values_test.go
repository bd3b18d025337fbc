package egress

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func profiled() sdk.Manifest {
	m := cloud()
	m.Profile = &sdk.Profile{File: "~/.cloud.toml", FileEnv: "CLOUD_CONFIG", NameEnv: "CLOUD_PROFILE", Active: "active", Section: "default"}
	m.Settings[0].Profile = "server_url"
	m.Settings = append(m.Settings, sdk.Setting{Name: "fast", Doc: "x", Profile: "fast", Default: "false"})
	m.Secrets[0].Profile = "key"
	return m
}

const profileText = `
[default]
server_url = "https://default.example.com"
key = "default-key"

[work]
server_url = "https://work.example.com"
key = "work-key"
fast = true
other = "not asked for"

[home]
active = true
key = "home-key"
`

func home(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".cloud.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProfile(t *testing.T) {
	dir := home(t, profileText)
	elsewhere := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(elsewhere, []byte("[default]\nkey = \"elsewhere-key\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env      map[string]string
		text     string
		settings map[string]string
		secret   string
		where    string
	}{
		"active":   {nil, "", map[string]string{"endpoint": "https://example.com", "fast": "false"}, "home-key", "~/.cloud.toml [home]"},
		"named":    {map[string]string{"CLOUD_PROFILE": "work"}, "", map[string]string{"endpoint": "https://work.example.com", "fast": "true"}, "work-key", "~/.cloud.toml [work]"},
		"default":  {nil, strings.Replace(profileText, "active = true", "active = false", 1), map[string]string{"endpoint": "https://default.example.com", "fast": "false"}, "default-key", "~/.cloud.toml [default]"},
		"variable": {map[string]string{"CLOUD_KEY": "env-key", "CLOUD_URL": "https://env.example.com"}, "", map[string]string{"endpoint": "https://env.example.com", "fast": "false"}, "env-key", "CLOUD_KEY of environment"},
		"file":     {map[string]string{"CLOUD_CONFIG": elsewhere}, "", map[string]string{"endpoint": "https://example.com", "fast": "false"}, "elsewhere-key", elsewhere + " [default]"},
		"none":     {map[string]string{"CLOUD_CONFIG": elsewhere + "x"}, "", map[string]string{"endpoint": "https://example.com", "fast": "false"}, "", ""},
		"no such":  {nil, "[other]\nkey = \"x\"", map[string]string{"endpoint": "https://example.com", "fast": "false"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{manifest: profiled(), env: tc.env, home: dir}
			if tc.text != "" {
				w.home = home(t, tc.text)
			}
			g := w.gateway(t)
			if got, err := g.Settings(); err != nil || !reflect.DeepEqual(got, tc.settings) {
				t.Errorf("settings %v, %v", got, err)
			}
			s := g.Secrets()[0]
			if s.Found != (tc.secret != "") || s.Where != tc.where || s.Problem != "" || g.o.read().secrets["api-key"].text != tc.secret {
				t.Errorf("secret %+v", s)
			}
		})
	}
}

// A file that is one plain text has the value of one key.
func TestProfileOfOneValue(t *testing.T) {
	m := profiled()
	m.Profile = &sdk.Profile{File: m.Profile.File, FileEnv: m.Profile.FileEnv, Key: "key"}
	g := world{manifest: m, home: home(t, "  plain-key\n")}.gateway(t)
	if s := g.Secrets()[0]; !s.Found || s.Where != "~/.cloud.toml" || g.o.read().secrets["api-key"].text != "plain-key" {
		t.Errorf("secret %+v", s)
	}
	if s := (world{manifest: m, home: t.TempDir()}).gateway(t).Secrets()[0]; s.Found {
		t.Errorf("without the file: %+v", s)
	}
}

func TestBadProfiles(t *testing.T) {
	outside := home(t, profileText)
	for name, tc := range map[string]struct {
		make func(t *testing.T, file string) error
		env  map[string]string
		want string
	}{
		"no toml": {func(_ *testing.T, file string) error {
			return os.WriteFile(file, []byte("[default]\nkey = hidden-value\n"), 0o600)
		}, nil, "~/.cloud.toml:2:7 is not valid TOML"},
		"folder":  {func(_ *testing.T, file string) error { return os.Mkdir(file, 0o700) }, nil, "not a regular file"},
		"large":   {func(_ *testing.T, file string) error { return os.WriteFile(file, make([]byte, maxProfile+1), 0o600) }, nil, "larger than 1024 KiB"},
		"outside": {func(_ *testing.T, file string) error { return os.Symlink(filepath.Join(outside, ".cloud.toml"), file) }, nil, "outside the home folder"},
		"no such": {func(_ *testing.T, file string) error { return os.WriteFile(file, []byte(profileText), 0o600) },
			map[string]string{"CLOUD_PROFILE": "wrok"}, `"wrok", which CLOUD_PROFILE names, is not in ~/.cloud.toml`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.make(t, filepath.Join(dir, ".cloud.toml")); err != nil {
				t.Fatal(err)
			}
			w := world{manifest: profiled(), env: tc.env, home: dir}
			g := w.gateway(t)
			_, err := g.Settings()
			testkit.WantCode(t, err, sdk.Unauthorized, tc.want)
			if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			if s := g.Secrets()[0]; s.Found || s.Problem != err.Error() {
				t.Errorf("secret %+v", s)
			}
			_, err = guestOf(t, g).get("https://example.com/v2/x")
			testkit.WantCode(t, err, sdk.Unauthorized, tc.want)
		})
	}
}

// A link inside the home folder is how many keep such files.
func TestProfileByLink(t *testing.T) {
	dir := home(t, profileText)
	if err := os.Rename(filepath.Join(dir, ".cloud.toml"), filepath.Join(dir, "dotfile")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "dotfile"), filepath.Join(dir, ".cloud.toml")); err != nil {
		t.Fatal(err)
	}
	if s := (world{manifest: profiled(), home: dir}).gateway(t).Secrets()[0]; !s.Found {
		t.Errorf("secret %+v", s)
	}
}

// A token set while the engine runs is found by the next call.
func TestValuesAreReadAnew(t *testing.T) {
	base, w := serve(t, nil)
	delete(w.env, "CLOUD_KEY")
	g := w.gateway(t)
	if s := g.Secrets()[0]; s.Found || s.Doc == "" || s.Env[0] != "CLOUD_KEY" {
		t.Errorf("secret %+v", s)
	}
	w.env["CLOUD_KEY"] = "  " + token + "\n"
	if s := g.Secrets()[0]; !s.Found || s.Where != "CLOUD_KEY of environment" || g.o.read().secrets["api-key"].text != token {
		t.Errorf("secret %+v", s)
	}
	w.env["CLOUD_URL"] = base + "/path"
	_, err := guestOf(t, g).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Invalid, "endpoint", "CLOUD_URL of environment", "https://host[:port]")
	w.env["CLOUD_URL"] = ""
	w.manifest.Settings[0].Default = ""
	_, err = w.guest(t).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Invalid, "endpoint", "has no value; set CLOUD_URL")
}

func FuzzProfile(f *testing.F) {
	f.Add(profileText)
	f.Add("active = true\ndefault = 3\n")
	f.Add("[default]\nkey = [1]\n[[work]]\nkey = \"x\"")
	f.Add("[a.b]\nactive=true\n'' = {}")
	f.Fuzz(func(t *testing.T, text string) {
		dir := home(t, text)
		o := Options{Manifest: profiled(), Home: dir}
		if v := o.read(); v.err != nil && (!strings.HasPrefix(v.err.Error(), "the profile ") || len(v.err.Error()) > 200) {
			t.Errorf("error %q", v.err)
		}
	})
}

// Each mistake of a manifest has one problem, at its place.
func TestCheck(t *testing.T) {
	if problems := append(Check(profiled()), Check(rpcCloud())...); len(problems) != 0 {
		t.Fatalf("%v", problems)
	}
	for i, tc := range []struct {
		change func(m *sdk.Manifest)
		want   Problem
	}{
		{func(m *sdk.Manifest) { m.Profile.File = "/etc/passwd" }, Problem{"profile.file", "below the home folder"}},
		{func(m *sdk.Manifest) { m.Profile.File = "~/../x" }, Problem{"profile.file", "below the home folder"}},
		{func(m *sdk.Manifest) { m.Profile.File = "~/" }, Problem{"profile.file", "below the home folder"}},
		{func(m *sdk.Manifest) { m.Profile.NameEnv = "A B" }, Problem{"profile.name_env", "not a name of a variable"}},
		{func(m *sdk.Manifest) { m.Profile = &sdk.Profile{File: m.Profile.File, Key: "a.b"} }, Problem{"profile.key", "not a plain TOML key"}},
		{func(m *sdk.Manifest) { m.Profile.Key = "a" }, Problem{"profile.key", "leave out name_env, active and section"}},
		{func(m *sdk.Manifest) { m.Profile.Active = "a.b" }, Problem{"profile.active", "not a plain TOML key"}},
		{func(m *sdk.Manifest) { m.Settings[1].Name = "Fast" }, Problem{"settings.1.name", "not of the form"}},
		{func(m *sdk.Manifest) { m.Settings[1].Name = "endpoint" }, Problem{"settings.1.name", "twice"}},
		{func(m *sdk.Manifest) { m.Settings[1].Doc = " " }, Problem{"settings.1.doc", "missing"}},
		{func(m *sdk.Manifest) { m.Settings[1] = sdk.Setting{Name: "x", Doc: "x"} }, Problem{"settings.1", "can have no value"}},
		{func(m *sdk.Manifest) { m.Settings[1].Env = []string{"AWS_SECRET_ACCESS_KEY"} }, Problem{"settings.1", "looks like a credential"}},
		{func(m *sdk.Manifest) { m.Settings[1].Profile = "key" }, Problem{"settings.1", "looks like a credential"}},
		{func(m *sdk.Manifest) { m.Settings[1].Env = []string{"1A"} }, Problem{"settings.1.env.0", "not a name of a variable"}},
		{func(m *sdk.Manifest) { m.Settings[0].Default = "http://example.com" }, Problem{"settings.0.default", "must be https://"}},
		{func(m *sdk.Manifest) { m.Permissions.HTTP[0].Reason = "" }, Problem{"permissions.http.0.reason", "missing"}},
		{func(m *sdk.Manifest) { m.Permissions.HTTP[0].Methods = nil }, Problem{"permissions.http.0.methods", "missing"}},
		{func(m *sdk.Manifest) { m.Permissions.HTTP[0].Methods = []string{"GET", "get"} }, Problem{"permissions.http.0.methods.1", "none of"}},
		{func(m *sdk.Manifest) { m.Permissions.HTTP[0].Methods = []string{"CONNECT"} }, Problem{"permissions.http.0.methods.0", "none of"}},
		{func(m *sdk.Manifest) { m.Permissions.HTTP[0].Paths = nil }, Problem{"permissions.http.0.paths", "missing"}},
		{func(m *sdk.Manifest) { m.Permissions.HTTP[0].Paths = []string{"/**/x"} }, Problem{"permissions.http.0.paths.0", "last segment"}},
		{func(m *sdk.Manifest) { addHTTP(m, "") }, Problem{"permissions.http.1.destination", "missing"}},
		{func(m *sdk.Manifest) { addHTTP(m, "http://example.com") }, Problem{"permissions.http.1.destination", "not encrypted"}},
		{func(m *sdk.Manifest) { addHTTP(m, "https://*.example.com") }, Problem{"permissions.http.1.destination", "no plain host"}},
		{func(m *sdk.Manifest) { addHTTP(m, "https://example.com/x") }, Problem{"permissions.http.1.destination", "more than scheme"}},
		{func(m *sdk.Manifest) { addHTTP(m, "{nothing}") }, Problem{"permissions.http.1.destination", `no setting "nothing"`}},
		{func(m *sdk.Manifest) { m.Secrets[0].Doc = "" }, Problem{"secrets.0.doc", "how to get one"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Name = "" }, Problem{"secrets.0.name", "not of the form"}},
		{func(m *sdk.Manifest) { m.Secrets = append(m.Secrets, m.Secrets[0]) }, Problem{"secrets.1.name", "names two credentials"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Env, m.Secrets[0].Profile = nil, "" }, Problem{"secrets.0", "can have no value"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind = nil }, Problem{"secrets.0.bind", "missing"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Destination = "" }, Problem{"secrets.0.bind.0.destination", "missing"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Destination = "https://evil.example" }, Problem{"secrets.0.bind.0.destination", "no permission names"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Header = "" }, Problem{"secrets.0.bind.0.header", "missing"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Header = "Host" }, Problem{"secrets.0.bind.0.header", "not a header"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Header = "a:b" }, Problem{"secrets.0.bind.0.header", "not a header"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Format = "Bearer" }, Problem{"secrets.0.bind.0.format", "{} once"}},
		{func(m *sdk.Manifest) { m.Secrets[0].Bind[0].Format = "{}\r\n{}" }, Problem{"secrets.0.bind.0.format", "{} once"}},
		{func(m *sdk.Manifest) { m.Permissions.GRPC[0].Reason = "" }, Problem{"permissions.grpc.0.reason", "missing"}},
		{func(m *sdk.Manifest) { m.Permissions.GRPC[0].Methods = append(m.Permissions.GRPC[0].Methods, "/*/Do") }, Problem{"permissions.grpc.0.methods.1", "/package.Service/Method"}},
		{func(m *sdk.Manifest) { m.Captures[0].Method = "/acme.Cloud/*" }, Problem{"captures.0.method", "/package.Service/Method"}},
		{func(m *sdk.Manifest) { m.Captures[0].Method = "/acme.Other/Login" }, Problem{"captures.0.method", "no permission allows"}},
		{func(m *sdk.Manifest) { m.Captures[0].Field = "one" }, Problem{"captures.0.field", "field numbers"}},
		{func(m *sdk.Manifest) { m.Captures[0].Name = "worker" }, Problem{"captures.1.name", "names two credentials"}},
		{func(m *sdk.Manifest) { m.Captures[0].GRPC = []string{"/a.B/C"} }, Problem{"captures.0.grpc", "url_field"}},
		{func(m *sdk.Manifest) { m.Captures[0].Bind = nil }, Problem{"captures.0.bind", "missing"}},
		{func(m *sdk.Manifest) { m.Captures[0].Bind[0].Destination = "https://x.example" }, Problem{"captures.0.bind.0.destination", "no permission names"}},
		{func(m *sdk.Manifest) { m.Captures[0].Bind[0] = m.Secrets[0].Bind[0] }, Problem{"captures.0.bind.0.header", "holds the secret api-key already"}},
		{func(m *sdk.Manifest) { m.Captures[1].URLField = "3.1" }, Problem{"captures.1.url_field", "is the field of the credential"}},
		{func(m *sdk.Manifest) { m.Captures[1].URLField = "x" }, Problem{"captures.1.url_field", "field numbers"}},
		{func(m *sdk.Manifest) { m.Captures[1].GRPC = nil }, Problem{"captures.1.grpc", "missing"}},
		{func(m *sdk.Manifest) { m.Captures[1].Bind[0].Destination = "{server}" }, Problem{"captures.1.bind.0.destination", "leave it empty"}},
	} {
		m := profiled()
		rpc := rpcCloud()
		m.Permissions.GRPC, m.Captures = rpc.Permissions.GRPC, rpc.Captures
		m.Settings = append(m.Settings, rpc.Settings...)
		tc.change(&m)
		problems := Check(m)
		if len(problems) != 1 || problems[0].At != tc.want.At || !strings.Contains(problems[0].Text, tc.want.Text) {
			t.Errorf("%d: %v, want %v", i, problems, tc.want)
		}
	}
	m := profiled()
	m.Profile = nil
	if got := fmt.Sprint(Check(m)); strings.Count(got, "names no profile") != 3 {
		t.Errorf("without a profile: %s", got)
	}
}

func addHTTP(m *sdk.Manifest, destination string) {
	p := m.Permissions.HTTP[0]
	p.Destination = destination
	m.Permissions.HTTP = append(m.Permissions.HTTP, p)
}

// A .env file that comes with somebody's project brings credentials, but does not
// say where they are sent.
func TestOnlyTheEnvironmentSays(t *testing.T) {
	o := Options{Manifest: sdk.Manifest{
		Profile:  &sdk.Profile{File: "~/.cloud.toml", FileEnv: "CLOUD_FILE"},
		Settings: []sdk.Setting{{Name: "url", Env: []string{"CLOUD_URL"}, Default: "https://cloud.test"}},
		Secrets:  []sdk.Secret{{Name: "key", Env: []string{"CLOUD_KEY"}}},
	}, SecretEnv: func(name string) (string, string, bool) { return "from-dotenv", "/x/.env", true }}
	v := o.read()
	if got := v.settings["url"]; got.text != "https://cloud.test" || got.users {
		t.Errorf("the destination is %+v", got)
	}
	if got := v.secrets["key"]; got.text != "from-dotenv" || got.where != "CLOUD_KEY of /x/.env" || v.err != nil {
		t.Errorf("the secret is %+v, %v", got, v.err)
	}
}
