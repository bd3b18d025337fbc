package registry

import (
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/seer-engine/seer/sdk"
)

// parse reads a name as `docker pull` does: without a registry it is of Docker
// Hub, and without a tag it is the latest.
func parse(ref string) (registry.Reference, error) {
	full := ref
	first, _, slash := strings.Cut(ref, "/")
	switch {
	case !slash:
		full = "docker.io/library/" + ref
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		full = "docker.io/" + ref
	}
	if strings.HasSuffix(ref, ":") || strings.HasPrefix(ref, ".") {
		return registry.Reference{}, sdk.Errorf(sdk.Invalid, "%q is not a name of an image (like python:3.12 or ghcr.io/org/name:tag)", ref)
	}
	parsed, err := registry.ParseReference(full)
	if err != nil {
		return registry.Reference{}, sdk.Errorf(sdk.Invalid, "%q is not a name of an image (like python:3.12 or ghcr.io/org/name:tag): %v", ref, err)
	}
	if parsed.Reference == "" {
		parsed.Reference = "latest"
	}
	return parsed, nil
}
