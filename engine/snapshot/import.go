package snapshot

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seer-engine/seer/internal/ctxio"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

var blobForm = lazyregexp.New(`^blobs/sha256/([0-9a-f]{64})$`)

// Import takes a file that Export has written into the store, as name, or as it was
// called where it comes from if name is empty. Everything is verified before anything is
// to be seen: digests, the document, the indexes. The same snapshot under the same name
// may be imported again. When ctx ends while r gives nothing, a read from r may still be
// under way.
func (s *Store) Import(ctx context.Context, r io.Reader, name string) (Snapshot, error) {
	if name != "" {
		if err := CheckName(name); err != nil {
			return Snapshot{}, err
		}
	}
	w, err := s.begin(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer w.end()
	im := importer{work: w, sizes: map[string]int64{}}
	from, end := patient(ctx, r)
	defer end()
	sn, err := im.run(ctx, from, name)
	if err != nil && ctx.Err() != nil {
		return Snapshot{}, ctx.Err()
	}
	var coded *sdk.Error
	if errors.As(err, &coded) && !strings.HasPrefix(coded.Message, "the snapshot ") {
		return Snapshot{}, sdk.Errorf(coded.Code, "this is not a snapshot that can be imported: %s", coded.Message)
	}
	return sn, err
}

type importer struct {
	work   *work
	layout bool
	head   *v1.Index
	sizes  map[string]int64 // of blobs that are here, by digest
}

func (im *importer) run(ctx context.Context, r io.Reader, name string) (Snapshot, error) {
	if err := im.read(ctx, r); err != nil {
		return Snapshot{}, err
	}
	data, d, called, signature, err := im.document()
	if err != nil {
		return Snapshot{}, err
	}
	if name == "" {
		if name = called; CheckName(name) != nil {
			return Snapshot{}, sdk.Errorf(sdk.Invalid, "its name %.80q is not valid here; give it another one", called)
		}
	}
	for _, p := range d.parts() {
		if size, ok := im.sizes[p.Digest]; !ok || size != p.Size {
			return Snapshot{}, sdk.Errorf(sdk.Invalid, "its part %s is missing, or has not %d bytes", p.Digest, p.Size)
		}
	}
	for _, t := range d.Trees {
		if err := im.index(t); err != nil {
			return Snapshot{}, err
		}
	}
	for _, b := range d.Blobs {
		if err := im.sum(ctx, b); err != nil {
			return Snapshot{}, err
		}
	}
	return im.work.publishDocument(ctx, name, data, d, signature, true)
}

func (im *importer) index(t Tree) error {
	f, err := os.Open(im.work.path(t.Index.Digest))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = readIndex(f, t)
	return err
}

// sum looks at what is not of the SHA-256s, by which all else is known already.
func (im *importer) sum(ctx context.Context, b Blob) error {
	if b.XXH3 == "" {
		return nil
	}
	f, err := os.Open(im.work.path(b.Part.Digest))
	if err != nil {
		return err
	}
	defer f.Close()
	same, err := b.sums(ctx, f)
	if err == nil && !same {
		err = sdk.Errorf(sdk.Invalid, "%.80q has not the sum %s", b.Name, b.XXH3)
	}
	return err
}

// read takes the files of the layout apart, in whatever order they come.
func (im *importer) read(ctx context.Context, r io.Reader) error {
	in := &ending{r: bufio.NewReaderSize(ctxio.Reader(ctx, r), 1<<20)}
	tr := tar.NewReader(in)
	for files := 0; ; files++ {
		hdr, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF) && files == 0:
			return sdk.Errorf(sdk.Invalid, "it is empty")
		case errors.Is(err, io.EOF) && in.over:
			return sdk.Errorf(sdk.Invalid, "it was cut: its end is missing")
		case errors.Is(err, io.EOF):
			_, err = io.Copy(io.Discard, in.r) // the padding
			return err
		case err != nil && files == 0:
			return sdk.Errorf(sdk.Invalid, "it is not a tar file: %v", err)
		case err != nil:
			return sdk.Errorf(sdk.Invalid, "it is damaged or was cut: %v", err)
		case files > 2*maxParts:
			return sdk.Errorf(sdk.Invalid, "it has more than %d files", 2*maxParts)
		}
		if err := im.file(hdr, tr); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return sdk.Errorf(sdk.Invalid, "it was cut within %.100q", hdr.Name)
			}
			return err
		}
	}
}

func (im *importer) file(hdr *tar.Header, r io.Reader) error {
	name := strings.TrimPrefix(hdr.Name, "./")
	if hdr.Typeflag == tar.TypeDir {
		if name = strings.TrimSuffix(name, "/"); name == "" || name == "." || name == "blobs" || name == "blobs/sha256" {
			return nil
		}
	}
	blob := blobForm().FindStringSubmatch(name)
	switch {
	case hdr.Typeflag != tar.TypeReg:
		return sdk.Errorf(sdk.Invalid, "it has %.100q, which no snapshot has", hdr.Name)
	case blob != nil:
		return im.blob("sha256:"+blob[1], r)
	case name == v1.ImageIndexFile && im.head == nil:
		im.head = &v1.Index{}
		return parseSmall(r, name, im.head)
	case name == v1.ImageLayoutFile && !im.layout:
		im.layout = true
		var layout v1.ImageLayout
		if err := parseSmall(r, name, &layout); err != nil {
			return err
		}
		if layout.Version != v1.ImageLayoutVersion {
			return sdk.Errorf(sdk.Unsupported, "it is an image layout of the version %.20q, not %s", layout.Version, v1.ImageLayoutVersion)
		}
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "it has %.100q, which no snapshot has", hdr.Name)
}

func (im *importer) blob(digest string, r io.Reader) error {
	if _, ok := im.sizes[digest]; ok {
		return sdk.Errorf(sdk.Invalid, "it has %s twice", digest)
	}
	p, err := im.work.add(func(to io.Writer) error {
		_, err := io.CopyBuffer(to, r, make([]byte, 1<<20))
		return err
	})
	if err != nil {
		return err
	}
	if p.Digest != digest {
		return sdk.Errorf(sdk.Invalid, "its part %s has other bytes: they are %s", digest, p.Digest)
	}
	im.sizes[digest] = p.Size
	return nil
}

func parseSmall(r io.Reader, name string, to any) error {
	data, err := io.ReadAll(io.LimitReader(r, maxDocument))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return sdk.Errorf(sdk.Invalid, "its %s cannot be read: %v", name, err)
	}
	return nil
}

// document follows the layout to the snapshot's document, and says how it was called and
// how it is signed.
func (im *importer) document() ([]byte, document, string, Signature, error) {
	fail := func(format string, args ...any) ([]byte, document, string, Signature, error) {
		return nil, document{}, "", Signature{}, sdk.Errorf(sdk.Invalid, format, args...)
	}
	if im.head == nil || !im.layout {
		return fail("it has no %s or no %s", v1.ImageIndexFile, v1.ImageLayoutFile)
	}
	if len(im.head.Manifests) != 1 {
		return fail("it has %d images instead of one snapshot", len(im.head.Manifests))
	}
	desc := im.head.Manifests[0]
	text, err := im.small(string(desc.Digest))
	if err != nil {
		return fail("its manifest: %v", err)
	}
	var m v1.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fail("its manifest cannot be read: %v", err)
	}
	if m.ArtifactType != artifactType || m.Config.MediaType != configType {
		return fail("it holds %.80q, not a Seer snapshot (%s)", m.ArtifactType+m.Config.MediaType, artifactType)
	}
	data, err := im.small(string(m.Config.Digest))
	if err != nil {
		return fail("its document: %v", err)
	}
	d, err := parseDocument(data)
	signature := Signature{Name: m.Annotations[signedAnnotation], SSH: m.Annotations[signatureAnnotation]}
	if err == nil {
		err = signature.check()
	}
	return data, d, desc.Annotations[v1.AnnotationRefName], signature, err
}

func (im *importer) small(digest string) ([]byte, error) {
	size, ok := im.sizes[digest]
	if !ok || size > maxDocument {
		return nil, sdk.Errorf(sdk.Invalid, "%.100q is missing or larger than %d bytes", digest, maxDocument)
	}
	return os.ReadFile(im.work.path(digest))
}
