package plugintest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

const largestModule = 64 << 20

// static makes the checks that run nothing. It reports whether the plugin can be run.
func (r *run) static() bool {
	start := time.Now()
	p, err := host.Inspect(r.o.Wasm)
	r.report.Plugin, r.report.Version, r.report.Digest = p.Manifest.ID, p.Manifest.Version, p.Digest
	if err != nil {
		r.add("static/loads", start, err.Error(), nil)
		return false
	}
	r.plugin = p
	r.add("static/loads", start, "", nil)
	code, err := os.ReadFile(r.o.Wasm)
	if err == nil {
		var m wasmfile.Module
		if m, err = wasmfile.Parse(code); err == nil {
			r.module(m, len(code), start)
		}
	}
	if err != nil {
		r.add("static/reads", start, err.Error(), nil)
	}
	r.add("static/permissions-narrow", start, "", wide(p.Manifest))
	return err == nil
}

func (r *run) module(m wasmfile.Module, size int, start time.Time) {
	wrong := ""
	if size > largestModule {
		wrong = fmt.Sprintf("the module has %s; somebody has to fetch and compile it. Strip debug information, or leave libraries out", amount(int64(size)))
	}
	r.add("static/size", start, wrong, errors.New(amount(int64(size))))
	wrong = ""
	if _, ok := m.Custom(sdk.ManifestSection); !ok {
		wrong = "the manifest is not inside the module, so that the file alone says nothing; build with `seer plugin build`"
	}
	r.add("static/manifest-inside", start, wrong, nil)
	wrong = ""
	if _, ok := m.Custom(sdk.NeedsSection); !ok {
		wrong = "the module does not say what it needs of Seer, so that an older one cannot say that it is too old; build with `seer plugin build`"
	}
	r.add("static/needs-inside", start, wrong, nil)
	r.add("static/imports", start, needless(m, r.plugin.Manifest), nil)
}

// needless tells of host functions that the manifest gives no use for.
func needless(m wasmfile.Module, manifest sdk.Manifest) string {
	p := manifest.Permissions
	var wrong []string
	for _, imp := range m.Imports {
		missing := ""
		switch {
		case imp.Module != sdk.HostModule:
		case imp.Name == sdk.HostHTTPOpen && len(p.HTTP) == 0:
			missing = "permissions.http"
		case imp.Name == sdk.HostGRPCOpen && len(p.GRPC) == 0:
			missing = "permissions.grpc"
		case imp.Name == sdk.HostKubeOpen && len(p.Kube) == 0:
			missing = "permissions.kube"
		case imp.Name == sdk.HostSSHOpen && len(p.SSH) == 0:
			missing = "permissions.ssh"
		case !p.Folders && slices.Contains([]string{sdk.HostFolderList, sdk.HostFolderRead, sdk.HostFolderDigest}, imp.Name):
			missing = "permissions.folders"
		}
		if missing != "" {
			wrong = append(wrong, fmt.Sprintf("it imports %s, and the manifest has no %s, so that every use of it fails", imp.Name, missing))
		}
	}
	return strings.Join(wrong, "; ")
}

// wide tells, as a note, what a user will hesitate to grant.
func wide(m sdk.Manifest) error {
	var notes []error
	for _, p := range m.Permissions.HTTP {
		if slices.Contains(p.Paths, "/**") {
			notes = append(notes, fmt.Errorf("every path of %s is asked for; name those that are needed", p.Destination))
		}
		if len(p.Methods) > 5 {
			notes = append(notes, fmt.Errorf("nearly every method of %s is asked for; name those that are needed", p.Destination))
		}
	}
	for _, p := range m.Permissions.GRPC {
		for _, method := range p.Methods {
			if strings.HasSuffix(method, "/*") {
				notes = append(notes, fmt.Errorf("every method of %s at %s is asked for; name those that are needed", strings.TrimSuffix(method, "/*"), p.Destination))
			}
		}
	}
	if len(m.Permissions.Files) > 0 && slices.ContainsFunc(m.Permissions.Files, func(p sdk.FilePermission) bool { return slices.Contains(p.Paths, "**") }) {
		notes = append(notes, errors.New("files of any name are asked for; name those that are needed"))
	}
	return errors.Join(notes...)
}
