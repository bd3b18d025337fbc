package scaffold

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/pack"
)

// outFolder is where a build goes if nobody says otherwise.
const outFolder = "dist"

func build(ctx context.Context, o BuildOptions) (Result, error) {
	start := time.Now()
	p, err := open(o)
	if err != nil {
		return Result{}, err
	}
	tmp, err := os.MkdirTemp("", "seer-build-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(tmp)
	compiled, err := p.compile(ctx, tmp)
	if err != nil {
		return Result{}, err
	}
	code, err := os.ReadFile(compiled)
	if err != nil {
		return Result{}, fmt.Errorf("the build of %s did not make its module: %w", p.Dir, err)
	}
	if code, err = pack.Embed(code, p.text); err != nil {
		return Result{}, fmt.Errorf("%s: %w", p.Dir, err)
	}
	if err := p.inspect(tmp, code); err != nil {
		return Result{}, err
	}
	removed, err := p.clear(code)
	if err != nil {
		return Result{}, err
	}
	wasm, err := pack.Write(p.Out, p.manifest.ID, code, p.text)
	if err != nil {
		return Result{}, err
	}
	sum := sha256.Sum256(code)
	return Result{
		Manifest: p.manifest, Lang: p.lang, Wasm: wasm, YAML: strings.TrimSuffix(wasm, ".wasm") + ".yaml",
		Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(code)), Removed: removed, Took: time.Since(start),
	}, nil
}

// clear removes what was said about an earlier build: a signature and a report are of the
// very bytes. A build that gives the same again keeps them.
func (p project) clear(code []byte) (removed []string, err error) {
	stem := filepath.Join(p.Out, p.manifest.ID)
	if before, err := os.ReadFile(stem + ".wasm"); err == nil && bytes.Equal(before, code) {
		return nil, nil
	}
	for _, suffix := range []string{".wasm.sig", ".conformance.json"} {
		switch err := os.Remove(stem + suffix); {
		case err == nil:
			removed = append(removed, stem+suffix)
		case !errors.Is(err, fs.ErrNotExist):
			return removed, err
		}
	}
	return removed, nil
}

// project is a plugin's source folder.
type project struct {
	BuildOptions // with absolute folders
	lang         Lang
	text         []byte // of the manifest
	manifest     sdk.Manifest
}

func open(o BuildOptions) (project, error) {
	p := project{BuildOptions: o}
	var err error
	file := filepath.Join(o.Dir, pack.ManifestFile)
	p.text, err = os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, remedy.For(fmt.Errorf("%s is no plugin's folder: there is no %s in it; make a new plugin, or name the folder of one", abs(o.Dir), pack.ManifestFile),
			remedy.Remedy{Action: remedy.NewPlugin})
	}
	if err != nil {
		return p, err
	}
	if p.manifest, err = host.CheckManifest(file, p.text); err != nil {
		return p, err
	}
	if p.Dir, err = filepath.Abs(o.Dir); err != nil {
		return p, err
	}
	if o.Out == "" {
		p.Out = filepath.Join(p.Dir, outFolder)
		// Of a folder that somebody sent, it could lead to where plugins are found.
		if info, err := os.Lstat(p.Out); err == nil && !info.IsDir() {
			return p, remedy.For(fmt.Errorf("%s is a link or a file; remove it, or say where else the plugin goes", p.Out), remedy.Remedy{Action: remedy.ChooseOutput})
		}
	}
	if p.Out, err = filepath.Abs(p.Out); err != nil {
		return p, err
	}
	p.lang, err = language(p.Dir)
	return p, err
}

// language finds out what a plugin is written in.
func language(dir string) (Lang, error) {
	found, err := filepath.Glob(filepath.Join(escape(dir), "*.go"))
	// Tests alone make no Go plugin: one in AssemblyScript may have some.
	if found = slices.DeleteFunc(found, func(f string) bool { return strings.HasSuffix(f, "_test.go") }); err == nil && len(found) > 0 {
		return Go, nil
	}
	for _, name := range []string{"asconfig.json", "package.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return AssemblyScript, nil
		}
	}
	return "", fmt.Errorf("%s has neither Go files nor an asconfig.json or package.json; a module made by other means is packed by seer-pack", dir)
}

// escape takes the meaning from characters of a folder's name that patterns know.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func abs(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		return full
	}
	return dir
}

// compile returns the path of what the compiler has made.
func (p project) compile(ctx context.Context, tmp string) (string, error) {
	if p.lang == AssemblyScript {
		return p.compileAssemblyScript(ctx)
	}
	if err := p.checkGo(ctx); err != nil {
		return "", err
	}
	wasm := filepath.Join(tmp, "plugin.wasm")
	return wasm, p.run(ctx, pack.Command(ctx, p.Dir, wasm))
}

// inspect looks at the plugin as the host will: a function that is not exported is found
// here, and not by a user.
func (p project) inspect(tmp string, code []byte) error {
	dir := filepath.Join(tmp, "made")
	wasm, err := pack.Write(dir, p.manifest.ID, code, p.text)
	if err != nil {
		return err
	}
	_, err = host.Inspect(wasm)
	var fault *host.Error
	if errors.As(err, &fault) {
		fault.File = p.Dir
	}
	return err
}
