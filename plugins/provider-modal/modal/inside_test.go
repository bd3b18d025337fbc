package modal

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

func TestSettings(t *testing.T) {
	good := map[string]string{"server_url": "https://api.modal.com", "sandbox_v2": "true", "snapshot_days": "30"}
	s, err := parseSettings(good)
	if err != nil || s.target() != "https://api.modal.com" || s.cpuBackend != 2 || s.snapshotDays != 30 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, value := range map[string]string{"server_url": "api.modal.com", "environment": "a b", "snapshot_days": "-1"} {
		bad := map[string]string{"server_url": "https://api.modal.com", name: value}
		if _, err := parseSettings(bad); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s, err := parseSettings(map[string]string{"server_url": "http://127.0.0.1:1/", "sandbox_v2": "False"}); err != nil || s.cpuBackend != 1 || s.target() != "http://127.0.0.1:1" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestRates(t *testing.T) {
	list, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	old := slices.Clone(list.GPUs)
	list.apply(map[string]string{
		"gpu_h100": "3.10", "GPU A100 80GB": "2.00", "sandbox_cpu": "0.2", "sandbox-memory-gib": "0.03", // understood
		"T4": "0.000164", "L4": "nan", "H200": "-1", "B200": "many", "A10": "Inf", "volume": "0.09", "cpu": "0.05", // not
	})
	want := map[string]float64{"H100": 3.10, "A100-80GB": 2.00}
	for i, k := range list.GPUs {
		price, changed := want[k.Name]
		if !changed {
			price = old[i].Hour
		}
		if k.Hour != price {
			t.Errorf("%s costs %v, not %v", k.Name, k.Hour, price)
		}
	}
	if list.CPUCoreHour != 0.2 || list.MemoryGiBHour != 0.03 {
		t.Errorf("CPU %v, memory %v", list.CPUCoreHour, list.MemoryGiBHour)
	}
}

// The table in the docs is the built-in one.
func TestDocumentedPrices(t *testing.T) {
	list, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../../docs/providers/modal.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{"Prices of " + list.Date, fmt.Sprintf("Seer reckons with %.2f", list.RegionFactor),
		fmt.Sprintf("$%.2f a core and hour", list.CPUCoreHour), fmt.Sprintf("$%.3f a GiB and hour", list.MemoryGiBHour)}
	for _, k := range list.GPUs {
		rows = append(rows, fmt.Sprintf(" | %.0f | %.2f | %d |", k.MemoryGB, k.Hour, k.Max))
	}
	for _, row := range rows {
		if !strings.Contains(string(docs), row) {
			t.Errorf("docs/providers/modal.md does not say %q", row)
		}
	}
}

func TestNames(t *testing.T) {
	for key, want := range map[string]string{"seer-abc": "seer-abc", "a b": "seer-", "": "seer-", "ap-0123456789012345678901": "seer-", strings.Repeat("k", 65): "seer-"} {
		if got := sandboxName(key); got != want && (want != "seer-" || !strings.HasPrefix(got, want) || !objectName.MatchString(got)) {
			t.Errorf("the key %q has the name %q", key, got)
		}
	}
}

func TestNetwork(t *testing.T) {
	o := order{MachineSpec: sdk.MachineSpec{Network: "hosts", NetworkHosts: []string{"huggingface.co", "*.pytorch.org", "10.0.0.1", "10.1.0.0/16"}}}
	access := o.network()
	if !slices.Equal(access.GetAllowedDomains(), []string{"huggingface.co", "*.pytorch.org"}) || !slices.Equal(access.GetAllowedCidrs(), []string{"10.0.0.1/32", "10.1.0.0/16"}) {
		t.Errorf("%v", access)
	}
	o.Network = "none"
	if access := o.network(); access.GetNetworkAccessType().String() != "ALLOWLIST" || len(access.GetAllowedDomains())+len(access.GetAllowedCidrs()) != 0 {
		t.Errorf("%v", access) // BLOCKED would block tunnels
	}
}

// What a builder makes of a RUN is what the shell was meant to see.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{"echo a", `echo "a b" \`, "[ -f /x ] || echo no", "cat <<E\nx\nE", "--mount=x", "# not", " echo a", `["sh"]`, "echo 'ü' <&0", "a\tb", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if strings.ToValidUTF8(command, "") != command || strings.TrimSpace(command) == "" {
			t.Skip()
		}
		argument := runArgument(command)
		if strings.ContainsAny(argument, "\n\r") {
			t.Fatalf("%q became more than one line: %q", command, argument)
		}
		var list []string
		if json.Unmarshal([]byte(argument), &list) == nil {
			if len(list) != 3 || list[2] != command {
				t.Errorf("%q became %q", command, list)
			}
		} else if argument != command || strings.HasSuffix(argument, `\`) || strings.HasPrefix(argument, "--") {
			t.Errorf("%q became %q", command, argument)
		}
	})
}

func TestBuildLogLines(t *testing.T) {
	var b buildLog
	for _, piece := range []string{"\x1b[1mone\x1b[0m\ntw", "o\r\n10%\r20", "%\r30%\n\n", "\x1b]0;title\x07fo", "ur"} {
		b.add(piece)
	}
	b.flush()
	if want := []string{"one", "two", "30%", "four"}; !slices.Equal(b.lines, want) {
		t.Errorf("lines %q, not %q", b.lines, want)
	}
}

// A log has the same lines in whatever pieces it comes.
func FuzzBuildLog(f *testing.F) {
	f.Add("one\ntwo\x1b[31m red\x1b[0m\r\nthree", uint(4), uint(9))
	f.Fuzz(func(t *testing.T, text string, i, j uint) {
		var whole, pieces buildLog
		if len(text) > maxLine {
			t.Skip()
		}
		whole.add(text)
		whole.flush()
		first := min(int(i%2000), len(text))
		second := min(first+int(j%2000), len(text))
		for _, piece := range []string{text[:first], text[first:second], text[second:]} {
			pieces.add(piece)
			pieces = buildLog{rest: pieces.rest, lines: pieces.lines} // as in the next call
		}
		pieces.flush()
		if !slices.Equal(whole.lines, pieces.lines) {
			t.Errorf("%q whole, %q in pieces", whole.lines, pieces.lines)
		}
		for _, line := range whole.lines {
			if strings.ContainsAny(line, "\x1b\n\r\x00") {
				t.Errorf("line %q", line)
			}
		}
	})
}

func FuzzTag(f *testing.F) {
	f.Add("owner-1", "owner 1")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := tag(a), tag(b)
		if len(x) > maxTag || untaggable.MatchString(x) {
			t.Errorf("%q became %q", a, x)
		}
		if a != b && x == y {
			t.Errorf("%q and %q became %q", a, b, x)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add(`{"step":"build","layer":-1}`)
	f.Add(`{"step":"sandbox","volumes":["vo-1","vo-2"]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		c := creation{order: order{layers: []layer{{from: "python:3.12-slim"}}}}
		if json.Unmarshal([]byte(raw), &c.at) == nil && c.fits() && (c.at.Step == stepImage || c.at.Step == stepBuild) {
			_ = c.layers[c.at.Layer].String()
		}
	})
}

func FuzzOptions(f *testing.F) {
	f.Add(`{"app":"seer","cloud":"aws"}`)
	f.Add(`{"app":7}`)
	f.Fuzz(func(t *testing.T, raw string) {
		o, err := parseOptions(json.RawMessage(raw))
		if err == nil && !objectName.MatchString(o.App) || err != nil && sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q became %+v, %v", raw, o, err)
		}
	})
}
