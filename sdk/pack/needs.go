package pack

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// Needs finds out what a module needs of a host: the contracts whose functions it
// exports, the host functions that it imports, and the first version of Seer that has
// them all. A host function that this SDK does not know is left out: a host that does
// not know it either says so itself.
func Needs(m wasmfile.Module) sdk.Needs {
	n := sdk.Needs{Contract: []string{}, Seer: firstVersion, Host: map[string]string{}}
	for _, kind := range []sdk.Kind{sdk.KindProvider, sdk.KindFetcher, sdk.KindExpose} {
		if exportsAll(m, kind.Exports()) {
			n.Contract = append(n.Contract, fmt.Sprintf("%s/%d", kind, sdk.ContractVersion))
		}
	}
	for _, imp := range m.Imports {
		for _, f := range sdk.HostFunctions() {
			if imp.Module != sdk.HostModule || imp.Name != f.Name {
				continue
			}
			n.Host[f.Name] = f.Since
			if newer(f.Since, n.Seer) {
				n.Seer = f.Since
			}
		}
	}
	return n
}

// firstVersion of Seer has contract version 1.
const firstVersion = "0.1.0"

func exportsAll(m wasmfile.Module, names []string) bool {
	for _, name := range names {
		if !m.HasExport(name) {
			return false
		}
	}
	return true
}

// newer compares versions of the form 1.2.3.
func newer(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x > y
		}
	}
	return len(as) > len(bs)
}

// Embed adds to a module the manifest and what it needs, as custom sections. A module
// that has the same sections already is returned as it is.
func Embed(code, manifest []byte) ([]byte, error) {
	module, err := wasmfile.Parse(code)
	if err != nil {
		return nil, err
	}
	needs, err := json.Marshal(Needs(module))
	if err != nil {
		return nil, err
	}
	for _, s := range []struct {
		name, what string
		content    []byte
	}{{sdk.ManifestSection, "manifest", manifest}, {sdk.NeedsSection, "note of its needs", needs}} {
		have, ok := module.Custom(s.name)
		switch {
		case !ok:
			code = wasmfile.AppendCustom(code, s.name, s.content)
		case string(have) != string(s.content):
			return nil, fmt.Errorf("it already carries another %s; pack the compiler's output instead", s.what)
		}
	}
	return code, nil
}
