package scaffold

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// The templates: templates/LANG/all and templates/LANG/KIND, whose files end in .tmpl
// and are text/template with the delimiters <% and %>. In a path, __name__ is [values].Name.
//
//go:embed all:templates
var templates embed.FS

const templateEnd = ".tmpl"

// sdkFolder is where the carried SDK lies in a plugin's folder. It begins with a dot, so
// that tools which look at all code of the folder leave it alone.
const sdkFolder = ".seer/sdk"

// values is what templates know.
type values struct {
	ID    string // provider-tiny
	Name  string // tiny: small letters, digits, hyphens
	Ident string // tiny, as a word of a program: without hyphens
	Env   string // TINY: how variables begin
	Title string // Tiny
	Kind  sdk.Kind
	SDK   string // where the SDK lies, relative to the folder
	Dir   string // as the user wrote it
}

var namePattern = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func create(ctx context.Context, o Options) (Created, error) {
	if o.Lang == "" {
		o.Lang = Go
	}
	prefix, err := checkOptions(o)
	if err != nil {
		return Created{}, err
	}
	source, err := o.sdk()
	if err != nil {
		return Created{}, err
	}
	v := newValues(o, prefix)
	dir, err := filepath.Abs(v.Dir)
	if err != nil {
		return Created{}, err
	}
	files, err := render(o.Lang, v)
	if err != nil {
		return Created{}, err
	}
	if err := write(ctx, dir, files, source); err != nil {
		return Created{}, err
	}
	return Created{ID: v.ID, Dir: dir, Files: slices.Sorted(maps.Keys(files))}, nil
}

// checkOptions returns the first part of ids of the kind.
func checkOptions(o Options) (string, error) {
	prefix := map[sdk.Kind]string{sdk.KindProvider: "provider-", sdk.KindFetcher: "fetch-", sdk.KindExpose: "expose-"}[o.Kind]
	switch {
	case prefix == "":
		return "", fmt.Errorf("there is no kind of plugin %q; use provider, fetcher or expose", o.Kind)
	case o.Lang != Go && o.Lang != AssemblyScript:
		return "", fmt.Errorf("there is no template in the language %q; use %s or %s", o.Lang, Go, AssemblyScript)
	case len(o.Name) > 40 || !namePattern().MatchString(o.Name):
		return "", fmt.Errorf("%q cannot be the name of a plugin; use small letters, digits and hyphens, a letter first, at most 40: tiny-cloud", o.Name)
	case slices.Contains(reserved(), ident(strings.TrimPrefix(o.Name, prefix))):
		return "", fmt.Errorf("%q cannot be the name of a plugin: it means something else in its code; take another", o.Name)
	}
	return prefix, nil
}

// reserved are words that cannot be the name of a package or a folder, or would hide
// something in the code of the templates.
func reserved() []string {
	return strings.Fields(`break case chan const continue default defer else fallthrough for func go goto if import interface
		map package range return select struct switch type var main init internal vendor testdata test dist build api
		simulator cloud source sdk sdktest guest guesthttp http json strings testing address
		provider describe offers create observe list terminate fetcher resolve locate expose
		class export extends this null void let public private static function enum string error any bool int byte nil true false
		folder local hub seer`)
}

func ident(name string) string { return strings.ReplaceAll(name, "-", "") }

func newValues(o Options, prefix string) values {
	name := strings.TrimPrefix(o.Name, prefix) // who writes the id means it
	words := strings.Split(name, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	v := values{
		ID: prefix + name, Name: name, Ident: ident(name), Kind: o.Kind, SDK: sdkFolder, Dir: o.Dir,
		Env: strings.ToUpper(strings.ReplaceAll(name, "-", "_")), Title: strings.Join(words, " "),
	}
	if v.Dir == "" {
		v.Dir = v.ID
	}
	return v
}

// render makes all files of a template, by slash-separated path.
func render(lang Lang, v values) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, part := range []string{"all", string(v.Kind)} {
		root := path.Join("templates", string(lang), part)
		err := fs.WalkDir(templates, root, func(file string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && file == root {
				return fs.SkipAll
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(file, templateEnd) {
				return err
			}
			name := strings.TrimSuffix(strings.TrimPrefix(file, root+"/"), templateEnd)
			files[strings.ReplaceAll(name, "__name__", v.Ident)], err = execute(file, v)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no template of a plugin of the kind %s in %s", v.Kind, lang)
	}
	return files, nil
}

func execute(file string, v values) ([]byte, error) {
	text, err := templates.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, err := template.New(file).Delims("<%", "%>").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return nil, err
	}
	if strings.HasSuffix(file, ".go"+templateEnd) {
		return format.Source(out.Bytes()) // the order of imports depends on the name
	}
	return out.Bytes(), nil
}
