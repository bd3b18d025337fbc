package host_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// Findings and what was cleaned come from the plugin as plain lines, in known states, and not
// without end.
func TestCheckAndClean(t *testing.T) {
	t.Parallel()
	h := open(t, host.Options{Dirs: []string{guests(t, "pretend")}})
	p, err := h.Provider(t.Context(), "pretend")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 5000)
	check := func(options string) ([]sdk.Finding, error) {
		return p.(sdk.Checker).Check(t.Context(), sdk.CheckQuery{Options: []byte(options)})
	}
	found, err := check(`{"findings":[{"name":"a\nb","state":"failed","detail":"\u001b[31mred","fix":"c\rd"},{"name":"e","state":"ok"}]}`)
	if err != nil || len(found) != 2 || strings.ContainsAny(fmt.Sprint(found), "\n\r\x1b") || found[0].State != sdk.FindingFailed {
		t.Errorf("%+v, %v", found, err)
	}
	for options, text := range map[string]string{
		`{"findings":[{"name":"a","state":"fine"}]}`:                       `the state "fine"`,
		`{"findings":[{"name":"","state":"ok"}]}`:                          "without a name",
		`{"findings":[{"name":"a","state":"ok","detail":"` + long + `"}]}`: "more than 4096 bytes",
		`{"findings":[{"name":"a","state":"ok"}],"repeat":200}`:            "201 findings",
	} {
		_, err := check(options)
		wantFault(t, err, host.FaultOutput, text)
	}
	_, err = check(`[]`)
	testkit.WantCode(t, err, sdk.Invalid, "options")

	clean := func(options string) ([]sdk.Cleaned, error) {
		return p.(sdk.Cleaner).Clean(t.Context(), sdk.CleanInput{DryRun: true, Options: []byte(options)})
	}
	gone, err := clean(`{"cleaned":[{"name":"lab:~/.cache/seer\n","bytes":7}]}`)
	if err != nil || len(gone) != 1 || strings.Contains(gone[0].Name, "\n") || gone[0].Bytes != 7 {
		t.Errorf("%+v, %v", gone, err)
	}
	for _, options := range []string{`{"cleaned":[{"name":"a","bytes":-1}]}`, `{"cleaned":[{"name":""}]}`} {
		_, err := clean(options)
		wantFault(t, err, host.FaultOutput, "without a name")
	}
}

// A plugin without the exports says so, and the host knows before it runs it.
func TestWithoutCheckAndClean(t *testing.T) {
	t.Parallel()
	h := openV1(t, host.Options{})
	p, err := h.Provider(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.(sdk.Checker).Check(t.Context(), sdk.CheckQuery{})
	testkit.WantCode(t, err, sdk.Unsupported, "has no checks")
	_, err = p.(sdk.Cleaner).Clean(t.Context(), sdk.CleanInput{})
	testkit.WantCode(t, err, sdk.Unsupported, "keeps nothing")
	plugins, _ := h.Plugins(t.Context())
	if !reflect.DeepEqual(with(plugins), []string(nil)) {
		t.Errorf("%v", with(plugins))
	}
}

func with(plugins []host.Plugin) (names []string) {
	for _, p := range plugins {
		if p.Checks || p.Cleans {
			names = append(names, p.Manifest.ID)
		}
	}
	return names
}
