package oci

import (
	"context"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/sdk"
)

// Kind is where a reference leads.
type Kind string

// The values of [Kind].
const (
	File     Kind = "file"
	URL      Kind = "url"
	Registry Kind = "registry"
)

// Place is a reference that has been understood.
type Place struct {
	Kind Kind
	Host string // of a registry, with its port
	Name string // path, address, or host/name:tag or host/name@sha256:… of a registry
}

// Resolve understands a reference by its form alone, never by what lies on the disk:
//
//	oci://host/name[:tag|@sha256:…]      a registry; without either, the tag latest
//	https://host/path/ID.wasm            an address; http:// is for this computer alone
//	/path, ./path, ../path, anything.wasm   a file
//	host/name[:tag|@sha256:…]            a registry, where the host has a dot or a port or is localhost
//
// Anything else is an error that says how to be clear.
func Resolve(ref string) (Place, error) {
	scheme, rest, has := strings.Cut(ref, "://")
	switch {
	case strings.TrimSpace(ref) == "":
		return Place{}, sdk.Errorf(sdk.Invalid, "no reference: name a file (./tiny.wasm), an address (https://…/tiny.wasm) or a registry's (registry.example/acme/tiny:1.2)")
	case has && scheme == "oci":
		return inRegistry(rest)
	case has && (scheme == "https" || scheme == "http"):
		return Place{Kind: URL, Name: ref}, nil
	case has:
		return Place{}, sdk.Errorf(sdk.Invalid, "%.200q: %.20q is not a way to get plugins; there are oci://, https:// and paths of files", ref, scheme+"://")
	case looksLikeFile(ref):
		return Place{Kind: File, Name: ref}, nil
	}
	host, _, has := strings.Cut(ref, "/")
	if has && (host == "localhost" || strings.ContainsAny(host, ".:")) {
		return inRegistry(ref)
	}
	return Place{}, sdk.Errorf(sdk.Invalid, "%.200q may be a file or a plugin in some registry: write ./%.200s for a file, or the registry too, like registry.example/%.200s", ref, ref, ref)
}

func looksLikeFile(ref string) bool {
	for _, prefix := range []string{"/", "./", "../", `\`, `.\`, `..\`} {
		if strings.HasPrefix(ref, prefix) {
			return true
		}
	}
	return ref == "." || ref == ".." || strings.HasSuffix(ref, ".wasm")
}

const defaultTag = "latest"

func inRegistry(ref string) (Place, error) {
	parsed, err := parse(ref)
	if err != nil {
		return Place{}, err
	}
	return Place{Kind: Registry, Host: parsed.Registry, Name: parsed.String()}, nil
}

// parse takes host/name[:tag|@sha256:…], with or without oci:// before it.
func parse(ref string) (registry.Reference, error) {
	bare := strings.TrimPrefix(ref, "oci://")
	parsed, err := registry.ParseReference(bare)
	if err != nil || strings.ContainsAny(parsed.Registry, "@?#") || strings.HasPrefix(bare, ".") || strings.HasSuffix(bare, ":") {
		return parsed, sdk.Errorf(sdk.Invalid, "%.200q is not a registry's reference, which has the form host/name:tag or host/name@sha256:…, in small letters", ref)
	}
	if parsed.Reference == "" {
		parsed.Reference = defaultTag
	}
	return parsed, nil
}

// Pinned is the reference to exactly one manifest of the repository of ref.
func Pinned(ref, digest string) (string, error) {
	parsed, err := parse(ref)
	if err != nil {
		return "", err
	}
	parsed.Reference = digest
	if err := parsed.ValidateReferenceAsDigest(); err != nil {
		return "", sdk.Errorf(sdk.Invalid, "%.100q is not a digest like sha256:…", digest)
	}
	return "oci://" + parsed.String(), nil
}

// Source gets bundles from wherever a reference leads.
type Source struct {
	Client Client // its transfer options hold for https as well
}

// Fetch gets the bundle. Nothing of it has been checked but that it is one.
func (s Source) Fetch(ctx context.Context, ref string) (bundle.Bundle, bundle.Origin, error) {
	place, err := Resolve(ref)
	if err != nil {
		return bundle.Bundle{}, bundle.Origin{Reference: ref}, err
	}
	switch place.Kind {
	case File:
		return bundle.ReadFile(ref)
	case URL:
		return bundle.Fetch(ctx, ref, s.Client.Transfer)
	default:
		return s.Client.Pull(ctx, ref)
	}
}
