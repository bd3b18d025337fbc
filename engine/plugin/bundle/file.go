package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Names of the files of a bundle, after the stem that they share.
const (
	wasmSuffix      = ".wasm"
	manifestSuffix  = ".yaml"
	signatureSuffix = ".wasm.sig"
	reportSuffix    = ".conformance.json"
)

// ReadFile reads STEM.wasm, and what of STEM.yaml, STEM.wasm.sig and
// STEM.conformance.json lies beside it.
func ReadFile(path string) (Bundle, Origin, error) {
	origin := Origin{Reference: path}
	abs, err := filepath.Abs(path)
	if err != nil {
		return Bundle{}, origin, err
	}
	origin.Resolved = abs
	b, err := readFile(abs)
	if err != nil {
		return Bundle{}, origin, within(path, err)
	}
	return b, origin, nil
}

func readFile(path string) (Bundle, error) {
	stem, ok := strings.CutSuffix(path, wasmSuffix)
	if !ok {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return Bundle{}, sdk.Errorf(sdk.Invalid, "a folder; name the .wasm file in it")
		}
		return Bundle{}, sdk.Errorf(sdk.Invalid, "a plugin's file ends in .wasm")
	}
	wasm, err := readPart(path, "the module", MaxWasm)
	if err != nil {
		return Bundle{}, err
	}
	manifest, err := readBeside(stem+manifestSuffix, "the manifest", MaxManifest)
	if err != nil {
		return Bundle{}, err
	}
	b, err := New(wasm, manifest)
	if err != nil {
		return Bundle{}, err
	}
	if b.Signature, err = readBeside(stem+signatureSuffix, "the signature", MaxSignature); err != nil {
		return Bundle{}, err
	}
	b.Report, err = readBeside(stem+reportSuffix, "the conformance report", MaxReport)
	return b, err
}

// readPart reads a file whose size it has looked at first. A pipe or device has none.
func readPart(path, what string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, sdk.Errorf(sdk.NotFound, "there is no such file")
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, sdk.Errorf(sdk.Invalid, "a folder; name the .wasm file in it")
	case !info.Mode().IsRegular():
		return nil, sdk.Errorf(sdk.Invalid, "not a regular file")
	case info.Size() > limit:
		return nil, tooLarge(what, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // it may grow meanwhile
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(what, limit)
	}
	return data, err
}

func readBeside(path, what string, limit int64) ([]byte, error) {
	data, err := readPart(path, what, limit)
	if sdk.CodeOf(err) == sdk.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, within(filepath.Base(path), err)
	}
	return data, nil
}

// Write puts the bundle's files into a folder, which it makes where it is missing, and
// returns the path of the module. Each file is replaced in one step, the module last;
// a signature or report of an earlier build is removed.
func (b Bundle) Write(dir string) (string, error) {
	if err := b.Check(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	stem := filepath.Join(dir, b.ID)
	for _, part := range []struct {
		suffix string
		data   []byte
	}{
		{signatureSuffix, b.Signature}, {reportSuffix, b.Report}, {manifestSuffix, b.Manifest}, {wasmSuffix, b.Wasm},
	} {
		if err := replace(stem+part.suffix, part.data); err != nil {
			return "", err
		}
	}
	return stem + wasmSuffix, nil
}

// replace writes a file in one step, or removes it where there is nothing to write.
func replace(path string, data []byte) error {
	if data == nil {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".bundle-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// within says where an error happened and keeps its code.
func within(where string, err error) error {
	var coded *sdk.Error
	if errors.As(err, &coded) {
		return &sdk.Error{Code: coded.Code, Message: where + ": " + err.Error(), Seconds: coded.Seconds}
	}
	return fmt.Errorf("%s: %w", where, err)
}
