package artifact

import (
	"regexp"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// reference is the name of a model: registry/repository:tag or registry/repository@digest.
type reference struct{ host, repo, version string }

var (
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)
	repoPattern   = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagPattern    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

const form = "write oci:registry/repository:tag, such as oci:ghcr.io/org/model:v1"

// parse reads a name. A revision of the experiment is a tag or a digest.
func parse(name, revision string) (reference, error) {
	var r reference
	host, rest, _ := strings.Cut(name, "/")
	rest, digest, pinned := strings.Cut(rest, "@")
	repo, tag, tagged := strings.Cut(rest, ":")
	r.host, r.repo, r.version = host, repo, "latest"
	if tagged {
		r.version = tag
	}
	if pinned {
		r.version = digest
	}
	if !hostPattern.MatchString(host) || !strings.ContainsAny(host, ".:") || !repoPattern.MatchString(repo) || len(repo) > 255 ||
		tagged && !tagPattern.MatchString(tag) || pinned && !digestPattern.MatchString(digest) {
		return r, sdk.Errorf(sdk.Invalid, "%.200q is not the name of a model in a registry; %s", name, form)
	}
	if revision == "" {
		return r, nil
	}
	if !tagPattern.MatchString(revision) && !digestPattern.MatchString(revision) {
		return r, sdk.Errorf(sdk.NotFound, "%s/%s has no tag or digest %.100q", r.host, r.repo, revision)
	}
	r.version = revision
	return r, nil
}

// name is that of the repository, which every version of the model has.
func (r reference) name() string { return r.host + "/" + r.repo }

// String names the version, too.
func (r reference) String() string {
	if digestPattern.MatchString(r.version) {
		return r.name() + "@" + r.version
	}
	return r.name() + ":" + r.version
}
