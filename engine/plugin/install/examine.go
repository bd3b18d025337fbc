package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// examine checks a bundle by itself and against the policy.
func (i Installer) examine(p *Plan, policy store.Policy) error {
	if err := p.bundle.Check(); err != nil {
		return err
	}
	found, err := inspect(p.bundle, p.Origin)
	if err != nil {
		return err
	}
	p.manifest = found.Manifest
	p.ID, p.Version, p.Description = found.Manifest.ID, found.Manifest.Version, p.bundle.Description()
	p.Digest, p.Wasm, p.Contract = p.bundle.Digest(), found.Digest, found.Manifest.Implements
	p.Provides, p.DefaultFor = found.Manifest.Provides, found.Manifest.DefaultFor
	p.Lines, p.Access = access.Lines(found.Manifest), access.Of(found.Manifest)
	p.Hash = p.Access.Hash()
	if _, p.Beyond = policy.Limit(p.Access, false); len(p.Beyond) > 0 {
		p.warn("the policy in %s does not allow all that it asks for: %s", policy.File, strings.Join(p.Beyond, ", "))
	}
	p.report()
	return i.signature(p, policy)
}

// inspect lets the host read the files as it will when the plugin is used.
func inspect(b bundle.Bundle, from bundle.Origin) (host.Plugin, error) {
	dir, err := os.MkdirTemp("", "seer-plugin-")
	if err != nil {
		return host.Plugin{}, err
	}
	defer os.RemoveAll(dir)
	for suffix, data := range map[string][]byte{".wasm": b.Wasm, ".yaml": b.Manifest} {
		if err := os.WriteFile(filepath.Join(dir, b.ID+suffix), data, 0o600); err != nil {
			return host.Plugin{}, err
		}
	}
	found, err := host.Inspect(filepath.Join(dir, b.ID+".wasm"))
	var fault *host.Error
	if errors.As(err, &fault) { // it names files that will be gone
		text := strings.ReplaceAll(fault.Err.Error(), dir+string(filepath.Separator), "")
		return found, &host.Error{Fault: fault.Fault, Plugin: fault.Plugin, File: from.Resolved, Err: errors.New(text)}
	}
	return found, err
}

// signature checks who signed the bundle, and that it is who signed those before.
func (i Installer) signature(p *Plan, policy store.Policy) error {
	if policy.Signatures == store.SignaturesOff {
		p.unlooked = true
		return nil
	}
	fingerprint := ""
	if p.bundle.Signature != nil {
		signer, err := sign.Verify(p.bundle.Statement(), p.bundle.Signature)
		if err != nil {
			return fmt.Errorf("its signature is wrong, so that it may have been changed on its way: %w", err)
		}
		p.Signer, fingerprint = &signer, signer.Fingerprint
	}
	known, err := i.Store.Signer(p.ID)
	if err != nil {
		return err
	}
	if known != "" && known != fingerprint {
		return &store.SignerError{ID: p.ID, Known: known, Got: fingerprint}
	}
	p.Known = known != ""
	warning, err := policy.AllowsSigner(p.ID, fingerprint)
	if warning != "" {
		p.warn("%s", warning)
	}
	return err
}

// report takes a conformance report only for this very module. It is the author's word.
func (p *Plan) report() {
	if p.bundle.Report == nil {
		return
	}
	var r sdktest.Report
	switch err := json.Unmarshal(p.bundle.Report, &r); {
	case err != nil:
		p.warn("its conformance report cannot be read: %v", err)
		return
	case r.Digest != p.Wasm:
		p.warn("its conformance report is about another build, and is not shown")
		return
	case r.Kit < sdktest.KitVersion:
		p.warn("its conformance report was made by an older kit (%d; this program has %d)", r.Kit, sdktest.KitVersion)
	}
	if !r.OK() {
		p.warn("by its own conformance report it failed %d of %d checks", r.Count(sdktest.Failed), len(r.Results))
	}
	for i := range r.Results { // whoever wrote it may want to speak to the terminal
		r.Results[i].Check, r.Results[i].Detail = httpretry.Printable(r.Results[i].Check), httpretry.Printable(r.Results[i].Detail)
	}
	r.Plugin, r.Version, r.Seer = httpretry.Printable(r.Plugin), httpretry.Printable(r.Version), httpretry.Printable(r.Seer)
	p.Report = &r
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}
