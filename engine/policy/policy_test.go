package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/policy"
)

// write makes a policy that counts: only the user of the test can change it.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, text string) policy.Policy {
	t.Helper()
	p, err := policy.FromOf(write(t, text), os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWithoutAFileAllIsAllowed(t *testing.T) {
	t.Parallel()
	p, err := policy.From(filepath.Join(t.TempDir(), "policy.yaml"))
	if err != nil || p.File != "" {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, err := range []error{p.Provider("modal"), p.Network("host", nil), p.Network("hosts", []string{"example.org"}), p.Isolation("none"), p.GPUs(7, 1)} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p := read(t, `
providers: [local, ssh]
networks: [none, hosts]
network_hosts: [pypi.org, "*.example.org"]
isolations: [bubblewrap, gvisor]
gpus_per_user: 2
plugins: {signatures: require}
`)
	for name, tc := range map[string]struct {
		err     error
		allowed bool
	}{
		"provider":             {p.Provider("ssh"), true},
		"another provider":     {p.Provider("modal"), false},
		"no network":           {p.Network("none", nil), true},
		"open network":         {p.Network("open", nil), false},
		"usual network":        {p.Network("", nil), false},
		"hosts":                {p.Network("hosts", []string{"pypi.org", "a.example.org", "b.example.org:443", "*.c.example.org"}), true},
		"another host":         {p.Network("hosts", []string{"pypi.org", "example.com"}), false},
		"the domain itself":    {p.Network("hosts", []string{"example.org"}), false},
		"an alike name":        {p.Network("hosts", []string{"notexample.org"}), false},
		"more than the domain": {p.Network("hosts", []string{"*.org"}), false},
		"isolation":            {p.Isolation("gvisor"), true},
		"without isolation":    {p.Isolation("none"), false},
		"two GPUs":             {p.GPUs(1, 1), true},
		"three GPUs":           {p.GPUs(1, 2), false},
	} {
		if (tc.err == nil) != tc.allowed {
			t.Errorf("%s: %v", name, tc.err)
		}
		if tc.err != nil && !strings.Contains(tc.err.Error(), p.File) {
			t.Errorf("%s: %v does not name the file", name, tc.err)
		}
	}
	if want := p.File + ": providers: local, ssh; networks: none, hosts; network_hosts: pypi.org, *.example.org; isolations: bubblewrap, gvisor; gpus_per_user: 2"; p.String() != want {
		t.Errorf("%s\nwant %s", p, want)
	}
}

func TestAnEmptyListAllowsNothing(t *testing.T) {
	t.Parallel()
	p := read(t, "providers: []\ngpus_per_user: 0\n")
	if p.Provider("local") == nil || p.GPUs(0, 1) == nil || p.Network("open", nil) != nil {
		t.Errorf("%+v", p)
	}
}

func TestMistakesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	file := write(t, "provider: [local]\nnetworks: [nohne, hosts]\nisolations: bubblewrap\ngpus_per_user: -1\n")
	_, err := policy.FromOf(file, os.Getuid())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{file + ":1: ", `did you mean "providers"`, file + `:2: networks: "nohne" is not one of none, hosts, open, host; did you mean "none"?`, file + ":3: ", file + ":4: gpus_per_user"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
}

// What others than root can change does not count, and allows nothing either.
func TestOnlyRootsFileCounts(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(file string) error{
		"writable for all":       func(file string) error { return os.Chmod(file, 0o666) },
		"writable for the group": func(file string) error { return os.Chmod(file, 0o664) },
		"in an open folder":      func(file string) error { return os.Chmod(filepath.Dir(file), 0o777) },
		"of another user":        func(string) error { return nil },
	} {
		file, owner := write(t, "networks: [open]\n"), os.Getuid()
		if err := spoil(file); err != nil {
			t.Fatal(err)
		}
		if name == "of another user" {
			owner++
		}
		if p, err := policy.FromOf(file, owner); err == nil || !strings.Contains(err.Error(), "others than root can change") {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// A link counts if nobody else can replace what it leads to. One that leads nowhere allows nothing.
func TestLinks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(target string) error
		want  string
	}{
		"private":           {func(string) error { return nil }, ""},
		"leads nowhere":     {os.Remove, "cannot be read"},
		"in an open folder": {func(target string) error { return os.Chmod(filepath.Dir(target), 0o777) }, "others than root can change"},
	} {
		target, link := write(t, "networks: [none]\n"), filepath.Join(t.TempDir(), "policy.yaml")
		if err := errors.Join(os.Symlink(target, link), tc.spoil(target)); err != nil {
			t.Fatal(err)
		}
		p, err := policy.FromOf(link, os.Getuid())
		if tc.want == "" && (err != nil || p.Network("open", nil) == nil) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func FuzzFrom(f *testing.F) {
	f.Add("providers: [local]\n")
	f.Add("gpus_per_user: 99999999999999999999\nnetworks: {a: b}\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := write(t, text)
		if p, err := policy.FromOf(file, os.Getuid()); err == nil && p.File != file {
			t.Errorf("%+v", p)
		}
	})
}
