// Package link finds the files of models that are at HTTPS addresses:
//
//	https://host/model.gguf#sha256=HEX           one file
//	https://host/folder/SHA256SUMS#sha256=HEX    the files that this list names, beside it
//
// The digest makes the address immutable.
package link

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

const (
	list     = "SHA256SUMS"
	maxFiles = 500 // of a list; each costs a request
)

// Fetcher implements [sdk.Fetcher]. The transport must return answers that redirect.
type Fetcher struct{ Sender guestapi.Sender }

// address is the name of a model.
type address struct {
	*url.URL        // without the fragment
	digest   string // SHA-256 in hexadecimal digits
	size     int64  // -1 = not given
}

const form = "write url:https://host/file#sha256=DIGEST, as sha256sum prints it"

func parse(name string) (address, error) {
	before, fragment, _ := strings.Cut(name, "#")
	u, err := url.Parse(before)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return address{}, sdk.Errorf(sdk.Invalid, "%.200q is not the address of a model; %s", name, form)
	}
	a := address{URL: u, size: -1}
	for part := range strings.SplitSeq(fragment, "&") {
		if fragment == "" {
			break
		}
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "sha256":
			a.digest = strings.ToLower(value)
		case "size":
			if a.size, err = strconv.ParseInt(value, 10, 64); err != nil || a.size < 0 {
				return a, sdk.Errorf(sdk.Invalid, "the size %.40q in %.200q is not a number of bytes", value, name)
			}
		default:
			return a, sdk.Errorf(sdk.Invalid, "%.200q has %.40q behind #; %s, and &size=BYTES if the server does not say it", name, part, form)
		}
	}
	if !isDigest(a.digest) {
		return a, sdk.Errorf(sdk.Invalid, "%.200q has no SHA-256 of 64 hexadecimal digits behind #; %s", name, form)
	}
	if file := a.file(); !fs.ValidPath(file) || file == "." || strings.ContainsAny(file, "\\\x00") {
		return a, sdk.Errorf(sdk.Invalid, "%.200q does not end with the name of a file", name)
	}
	return a, nil
}

func isDigest(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 64
}

// file is the name of the file that is at the address.
func (a address) file() string { return path.Base("/" + a.Path) }

func (a address) isList() bool { return a.file() == list }

// at is the address of a file beside the list.
func (a address) at(file string) string {
	if !a.isList() {
		return a.String()
	}
	u := *a.URL
	u.Path = strings.TrimSuffix(u.Path, list) + file
	u.RawPath = ""
	return u.String()
}

// Resolve implements [sdk.Fetcher].
func (f Fetcher) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	a, err := parse(ref.Name)
	if err != nil {
		return sdk.ResolvedModel{}, err
	}
	if ref.Revision != "" && ref.Revision != a.digest {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.NotFound, "a model at an address has no revision but its digest; remove revision")
	}
	m := sdk.ResolvedModel{Name: ref.Name, Revision: a.digest}
	if a.isList() {
		m.Files, err = f.listed(ctx, a)
	} else {
		m.Files = []sdk.ModelFile{{Path: a.file(), Size: a.size, SHA256: a.digest}}
	}
	if err != nil {
		return sdk.ResolvedModel{}, err
	}
	m.Files = slices.DeleteFunc(m.Files, func(file sdk.ModelFile) bool { return !ref.Wants(file.Path) })
	for i, file := range m.Files {
		if file.Size < 0 {
			if m.Files[i].Size, err = f.size(ctx, a.at(file.Path)); err != nil {
				return sdk.ResolvedModel{}, err
			}
		}
	}
	return m, nil
}

// listed reads the list of files, in the form that sha256sum writes.
func (f Fetcher) listed(ctx context.Context, a address) ([]sdk.ModelFile, error) {
	answer, err := f.ask(ctx, "GET", a.String())
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(answer.Body); hex.EncodeToString(sum[:]) != a.digest {
		return nil, sdk.Errorf(sdk.Internal, "%s has the SHA-256 %x, not %s; correct the digest if you trust the change", a, sum, a.digest)
	}
	var files []sdk.ModelFile
	lines := bufio.NewScanner(bytes.NewReader(answer.Body))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		digest, file, _ := strings.Cut(line, " ")
		file = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(file, " "), "*"), "./")
		if !isDigest(digest) || !fs.ValidPath(file) || file == "." || strings.ContainsAny(file, "\\\x00") {
			return nil, sdk.Errorf(sdk.Invalid, "%s has the line %.100q, which is not a digest and relative path", a, line)
		}
		files = append(files, sdk.ModelFile{Path: file, Size: -1, SHA256: strings.ToLower(digest)})
	}
	if err := lines.Err(); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "%s is not a list of files: %v", a, err)
	}
	slices.SortFunc(files, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(files); i++ {
		if files[i].Path == files[i-1].Path {
			return nil, sdk.Errorf(sdk.Invalid, "%s lists %q twice", a, files[i].Path)
		}
	}
	if len(files) == 0 || len(files) > maxFiles {
		return nil, sdk.Errorf(sdk.Invalid, "%s lists %d files; 1 to %d can be fetched", a, len(files), maxFiles)
	}
	return files, nil
}

// size asks how large a file is.
func (f Fetcher) size(ctx context.Context, address string) (int64, error) {
	a, err := f.ask(ctx, "HEAD", address)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(a.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return 0, sdk.Errorf(sdk.Unsupported, "the server of %s does not say how large the file is; append &size=BYTES to the name of the model", address)
	}
	return n, nil
}

func (f Fetcher) ask(ctx context.Context, method, address string) (guestapi.Answer, error) {
	u, err := url.Parse(address)
	if err != nil {
		return guestapi.Answer{}, sdk.Errorf(sdk.Invalid, "%.200q is not an address", address)
	}
	client := guestapi.Client{Name: u.Host, URL: u.Scheme + "://" + u.Host, Sender: f.Sender}
	r := guestapi.Request{Doing: "asking for " + u.Path, Method: method, Path: u.RequestURI()}
	a, err := client.Send(ctx, r)
	switch {
	case err != nil:
		return a, err
	case a.Status/100 == 3:
		return a, sdk.Errorf(sdk.Unsupported, "%s redirects to another address; name that one, or append &size=BYTES to the name of one file", address)
	case a.Status != 200:
		return a, client.Problem(r, a)
	}
	return a, nil
}

// Locate implements [sdk.Fetcher].
func (f Fetcher) Locate(_ context.Context, file sdk.FileRef) (sdk.Location, error) {
	a, err := parse(file.Name)
	if err != nil {
		return sdk.Location{}, err
	}
	if file.Revision != a.digest || !fs.ValidPath(file.Path) || file.Path == "." || strings.ContainsAny(file.Path, "\\\x00") || !a.isList() && file.Path != a.file() {
		return sdk.Location{}, sdk.Errorf(sdk.NotFound, "%.200q has no file %.100q", file.Name, file.Path)
	}
	return sdk.Location{URL: a.at(file.Path)}, nil
}
