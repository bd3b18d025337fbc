package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	listType     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerType   = "application/vnd.docker.distribution.manifest.v2+json"
	maxFiles     = 10_000
	maxKept      = 16 // manifests of an instance
)

// The annotations that name the file of a layer: of ORAS, and of ModelPack.
var titles = []string{"org.opencontainers.image.title", "org.cncf.model.filepath"}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
	Platform    struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	} `json:"platform"`
}

type manifest struct {
	MediaType   string            `json:"mediaType"`
	Manifests   []descriptor      `json:"manifests"` // of an index
	Layers      []descriptor      `json:"layers"`
	Annotations map[string]string `json:"annotations"`

	digest string
}

// manifest reads the manifest of a version. Of an index, it is the one for linux/amd64.
func (f *Fetcher) manifest(ctx context.Context, r reference) (manifest, error) {
	m, err := f.read(ctx, r)
	if err != nil || len(m.Manifests) == 0 {
		return m, err
	}
	i := slices.IndexFunc(m.Manifests, func(d descriptor) bool { return d.Platform.OS == "linux" && d.Platform.Architecture == "amd64" })
	if i < 0 && len(m.Manifests) == 1 {
		i = 0
	}
	if i < 0 {
		i = slices.IndexFunc(m.Manifests, func(d descriptor) bool { return d.Platform.OS == "" || d.Platform.OS == "unknown" })
	}
	if i < 0 {
		return m, sdk.Errorf(sdk.Unsupported, "%s has %d manifests, and none is for linux/amd64 or for all platforms; name one by its digest", r, len(m.Manifests))
	}
	name := r.String()
	r.version = m.Manifests[i].Digest
	if !digestPattern.MatchString(r.version) {
		return m, sdk.Errorf(sdk.Unsupported, "%s has a manifest with the digest %.80q; only SHA-256 can be verified", name, r.version)
	}
	if m, err = f.read(ctx, r); err == nil && len(m.Manifests) > 0 {
		err = sdk.Errorf(sdk.Unsupported, "%s leads from one index to another", name)
	}
	return m, err
}

// read reads and verifies what a version names.
func (f *Fetcher) read(ctx context.Context, r reference) (manifest, error) {
	pinned := digestPattern.MatchString(r.version)
	f.mu.Lock()
	kept, known := f.manifests[r.String()]
	f.mu.Unlock()
	if pinned && known {
		return kept, nil
	}
	doing := "reading the manifest of " + r.String()
	accept := http.Header{"Accept": {strings.Join([]string{indexType, manifestType, listType, dockerType}, ", ")}}
	a, _, err := f.get(ctx, r, doing, "/v2/"+r.repo+"/manifests/"+r.version, accept, maxManifest)
	if err != nil {
		return manifest{}, err
	}
	if a.Status != http.StatusOK {
		return manifest{}, f.problem(r, doing, a)
	}
	sum := sha256.Sum256(a.Body)
	m := manifest{}
	if err := json.Unmarshal(a.Body, &m); err != nil {
		return m, sdk.Errorf(sdk.Internal, "%s: %s answers with something else than a manifest: %v", doing, r.host, err)
	}
	m.digest = "sha256:" + hex.EncodeToString(sum[:])
	if pinned && m.digest != r.version {
		return m, sdk.Errorf(sdk.Internal, "%s: %s answers with another manifest, of the digest %s", doing, r.host, m.digest)
	}
	r.version = m.digest
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.manifests) >= maxKept {
		clear(f.manifests)
	}
	f.manifests[r.String()] = m
	return m, nil
}

// file is a layer with the path that its annotation gives.
type file struct {
	sdk.ModelFile
	digest string
}

// files are the layers that name a file.
func (m manifest) files(r reference) ([]file, error) {
	var all []file
	for _, d := range m.Layers {
		path := d.title()
		if path == "" {
			continue
		}
		switch {
		case !fs.ValidPath(path) || path == "." || strings.ContainsAny(path, "\\\x00"):
			return nil, sdk.Errorf(sdk.Invalid, "%s has a file with the path %.100q, which leads out of the model", r, path)
		case !digestPattern.MatchString(d.Digest) || d.Size < 0:
			return nil, sdk.Errorf(sdk.Unsupported, "%s has the file %s with the digest %.80q; only SHA-256 can be verified", r, path, d.Digest)
		case d.packed():
			return nil, sdk.Errorf(sdk.Unsupported, "%s has %s as an archive (%.80s); push the files by themselves, as raw layers", r, path, d.MediaType)
		}
		all = append(all, file{sdk.ModelFile{Path: path, Size: d.Size, SHA256: strings.TrimPrefix(d.Digest, "sha256:")}, d.Digest})
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(all); i++ {
		if all[i].Path == all[i-1].Path {
			return nil, sdk.Errorf(sdk.Invalid, "%s has the file %q twice", r, all[i].Path)
		}
	}
	switch {
	case len(all) == 0:
		return nil, sdk.Errorf(sdk.Unsupported, "%s has no files: no layer has the annotation %s; push the model with oras or modctl", r, titles[0])
	case len(all) > maxFiles:
		return nil, sdk.Errorf(sdk.Unsupported, "%s has %d files; %d can be fetched", r, len(all), maxFiles)
	}
	return all, nil
}

func (d descriptor) title() string {
	for _, name := range titles {
		if path := d.Annotations[name]; path != "" {
			return path
		}
	}
	return ""
}

// packed reports whether a layer is an archive of files.
func (d descriptor) packed() bool {
	kind := strings.TrimSuffix(strings.TrimSuffix(d.MediaType, "+gzip"), "+zstd")
	return d.Annotations["io.deis.oras.content.unpack"] == "true" || kind != d.MediaType ||
		strings.HasSuffix(kind, ".tar") || strings.HasSuffix(kind, "+tar")
}
