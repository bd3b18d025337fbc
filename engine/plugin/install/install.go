// Package install brings plugins from elsewhere into the store: it fetches one, checks
// all that can be checked without running it, says what the user has to know, and activates
// it after the user has agreed.
package install

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// Source gets bundles, such as an [oci.Source].
type Source interface {
	Fetch(ctx context.Context, ref string) (bundle.Bundle, bundle.Origin, error)
}

// Installer is stateless: two may work on one store.
type Installer struct {
	Store  *store.Store
	Source Source

	// Others are the plugins that are used now, wherever they are from. One that would
	// be used in the place of another is not installed without a question.
	Others []host.Plugin
}

// Request says what to install.
type Request struct {
	Ref     string // as [oci.Resolve] understands it
	LockDir string // folder whose seer.lock shall name it; "" = none
}

// Plan is everything that is to be known before a plugin is installed. Nothing has been
// stored yet, and nothing of the plugin has run.
type Plan struct {
	ID          string        `json:"id"`
	Version     string        `json:"version"`
	Description string        `json:"description"`
	Digest      string        `json:"digest"` // of the bundle
	Wasm        string        `json:"wasm"`   // digest of the module
	Origin      bundle.Origin `json:"origin"`

	Signer *sign.Signer    `json:"signer"`           // nil = unsigned, or the policy wants no look
	Known  bool            `json:"known"`            // the signer is the one that is remembered
	Report *sdktest.Report `json:"report,omitempty"` // says the author; nil = none that is about this module

	Lines      []access.Line `json:"lines"`       // what it asks for, with its reasons
	Access     access.Set    `json:"access"`      // the same as a set
	Hash       string        `json:"permissions"` // the permission hash
	Beyond     access.Set    `json:"beyond"`      // asked for, and not allowed by the policy whatever is granted
	Contract   []string      `json:"contract"`
	Provides   []string      `json:"provides"`
	DefaultFor []string      `json:"default_for,omitempty"`

	Active  *store.Installed `json:"active,omitempty"` // the version that is used now; nil = none
	Added   access.Set       `json:"added"`            // asked for, and not by the active version
	Removed access.Set       `json:"removed"`

	NeedsGrant bool     `json:"needs_grant"` // nothing becomes active without a yes
	Why        []string `json:"why"`         // it is asked, where there is more to tell than the permissions
	Warnings   []string `json:"warnings"`

	Locked bool   `json:"locked"`         // a lock names it: other versions stay active
	Lock   string `json:"lock,omitempty"` // folder whose lock will name it

	bundle   bundle.Bundle
	manifest sdk.Manifest
	unlooked bool // the policy wants no look at signatures
	under    *store.Grant
	decided  bool // there is a grant of this module
}

// Plan fetches a plugin and checks it. The error is why it must not be installed.
func (i Installer) Plan(ctx context.Context, r Request) (*Plan, error) {
	policy, err := i.Store.Policy()
	if err != nil {
		return nil, err
	}
	ref, err := allowed(policy, r.Ref)
	if err != nil {
		return nil, err
	}
	b, from, err := i.Source.Fetch(ctx, ref)
	if err != nil {
		return nil, err
	}
	if from.Reference, err = reference(r.Ref, r.LockDir); err != nil {
		return nil, err
	}
	p := &Plan{Origin: from, Lock: r.LockDir, bundle: b}
	if err := i.examine(p, policy); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Ref, err)
	}
	return p, i.compare(p)
}

// allowed asks the policy before anybody else is asked.
func allowed(policy store.Policy, ref string) (string, error) {
	place, err := oci.Resolve(ref)
	if err != nil {
		return "", err
	}
	switch place.Kind {
	case oci.Registry:
		return ref, policy.AllowsHost(place.Host)
	case oci.URL:
		u, err := url.Parse(ref)
		if err != nil {
			return "", fmt.Errorf("%q is not an address: %w", ref, err)
		}
		return ref, policy.AllowsHost(u.Host)
	default:
		return ref, nil
	}
}

// reference is what a lock says: the path of a file must mean the same wherever Seer is
// started, and on a colleague's computer if the file travels with the lock.
func reference(ref, lockDir string) (string, error) {
	place, err := oci.Resolve(ref)
	if err != nil || place.Kind != oci.File {
		return ref, err
	}
	abs, err := filepath.Abs(ref)
	if err != nil || lockDir == "" {
		return abs, err
	}
	dir, err := filepath.Abs(lockDir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(rel), nil
	}
	return abs, nil
}
