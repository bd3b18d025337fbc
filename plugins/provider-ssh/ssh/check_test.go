package ssh_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/sdk"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	good := []sdk.Finding{{Name: "python", State: sdk.FindingOK, Detail: "3.12"}}
	bad := []sdk.Finding{{Name: "python", State: sdk.FindingFailed, Detail: "too old", Fix: "install it"}}
	var asked sdk.CheckQuery
	l := &lab{usual: "one,two", hosts: map[string]map[string]func([]byte) (any, error){
		"one": host(map[string]func([]byte) (any, error){"check": func(raw []byte) (any, error) {
			asked = input[sdk.CheckQuery](t, raw)
			return good, nil
		}}),
		"two": host(map[string]func([]byte) (any, error){"check": answers(bad)}),
		"old": host(map[string]func([]byte) (any, error){"check": func([]byte) (any, error) {
			return nil, sdk.Errorf(sdk.Unsupported, "bring Seer's program there: no space")
		}}),
	}}
	check := func(options string) map[string]sdk.Finding {
		t.Helper()
		return testprovider.Check(t, l.provider(), sdk.CheckQuery{GPU: "H100", Isolation: "auto", Options: json.RawMessage(options)})
	}
	found := check(`null`)
	if found["login to one"].State != sdk.FindingOK || found["python on one"].Detail != "3.12" || found["python on two"].State != sdk.FindingWarning {
		t.Errorf("a host that will do makes the other's lack a warning: %+v", found)
	}
	if asked.GPU != "H100" || asked.Isolation != "" || asked.Options != nil {
		t.Errorf("the host was asked %+v", asked)
	}
	if found := check(`{"host":"two"}`); found["python on two"].State != sdk.FindingFailed {
		t.Errorf("%+v", found)
	}
	if f := check(`{"host":"away"}`)["login to away"]; f.State != sdk.FindingFailed || !strings.Contains(f.Detail, "away cannot be reached") {
		t.Errorf("%+v", f)
	}
	if f := check(`{"host":"old"}`)["Seer's program on old"]; f.State != sdk.FindingFailed || !strings.Contains(f.Detail, "no space") {
		t.Errorf("%+v", f)
	}
	_, err := l.provider().Check(t.Context(), sdk.CheckQuery{Options: json.RawMessage(`{"hots":"x"}`)})
	testkit.WantCode(t, err, sdk.Invalid, `there is no "hots"`)
}

func TestClean(t *testing.T) {
	t.Parallel()
	cleans := func(name string) map[string]func([]byte) (any, error) {
		return host(map[string]func([]byte) (any, error){"clean": func(raw []byte) (any, error) {
			if input[sdk.CleanInput](t, raw).DryRun {
				name += " dry"
			}
			return []sdk.Cleaned{{Name: "~/" + name, Bytes: 7}}, nil
		}})
	}
	l := &lab{usual: "one", used: []string{"two"}, hosts: map[string]map[string]func([]byte) (any, error){"one": cleans("a"), "two": cleans("b"),
		"broken": host(map[string]func([]byte) (any, error){"clean": func([]byte) (any, error) { return nil, errors.New("read-only") }})}}
	gone, err := l.provider().Clean(t.Context(), sdk.CleanInput{DryRun: true})
	if got := fmt.Sprint(gone); err != nil || got != "[{one:~/a dry 7} {two:~/b dry 7}]" {
		t.Errorf("%s, %v", got, err)
	}
	gone, err = l.provider().Clean(t.Context(), sdk.CleanInput{Options: json.RawMessage(`{"host":"two"}`)})
	if len(gone) != 1 || err != nil || !strings.HasPrefix(gone[0].Name, "two:") {
		t.Errorf("%v, %v", gone, err)
	}
	_, err = l.provider().Clean(t.Context(), sdk.CleanInput{Options: json.RawMessage(`{"host":"broken"}`)})
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Error(err)
	}
}
