// Command acme is a fetcher that the engine has never heard of. A model's name is
// the server and the files, as a query: 127.0.0.1:8000/tiny?model.bin=7:<sha256>
package main

import (
	"context"
	"net/url"
	"sort"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

type fetcher struct{}

func (fetcher) Resolve(_ context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	name, query, _ := strings.Cut(ref.Name, "?")
	files, err := url.ParseQuery(query)
	if err != nil || len(files) == 0 {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.NotFound, "acme has no model %q", ref.Name)
	}
	out := sdk.ResolvedModel{Name: name, Revision: "r1"}
	for path, v := range files {
		size, sum, _ := strings.Cut(v[0], ":")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return out, sdk.Errorf(sdk.Invalid, "size of %s: %v", path, err)
		}
		out.Files = append(out.Files, sdk.ModelFile{Path: path, Size: n, SHA256: sum})
	}
	sort.Slice(out.Files, func(i, j int) bool { return out.Files[i].Path < out.Files[j].Path })
	return out, nil
}

func (fetcher) Locate(_ context.Context, f sdk.FileRef) (sdk.Location, error) {
	return sdk.Location{URL: "http://" + f.Name + "/" + f.Path, Headers: map[string]string{"X-Acme": "yes"}}, nil
}

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(fetcher{}) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(fetcher{}) }

func main() {}
