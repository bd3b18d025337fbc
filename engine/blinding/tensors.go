package blinding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/safetensors"
	"github.com/seer-engine/seer/sdk"
)

// frameworks are the formats that transformers reads from the metadata.
var frameworks = []string{"pt", "tf", "flax", "mlx", "np"}

// safetensors copies a file of tensors with no more metadata than the format. The
// header keeps its length, so that the tensors stay where they are.
func (m *maker) safetensors(ctx context.Context, name, from, to string) error {
	header, size, err := safetensors.ReadFile(from)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "%s is not a file of safetensors: %v", name, err)
	}
	clean, err := m.header(ctx, name, header)
	if err != nil {
		return err
	}
	parsed, err := safetensors.Parse(clean)
	if err == nil && safetensors.LengthBytes+int64(len(header))+parsed.End != size {
		err = errors.New("its size is not that of its tensors")
	}
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "%s is not a file of safetensors: %v", name, err)
	}
	if err := copyFile(ctx, from, to); err != nil || bytes.Equal(clean, header) {
		return err
	}
	m.report.Changed = append(m.report.Changed, name)
	return overwrite(to, clean, safetensors.LengthBytes)
}

// header is a header with new metadata, as long as before.
func (m *maker) header(ctx context.Context, name string, header []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(header, &fields); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "%s is not a file of safetensors: its header is not JSON: %v", name, err)
	}
	if metadata, has := fields["__metadata__"]; has {
		var said struct {
			Format string `json:"format"`
		}
		_ = json.Unmarshal(metadata, &said)
		if !slices.Contains(frameworks, said.Format) {
			said.Format = "pt"
		}
		fields["__metadata__"], _ = json.Marshal(said) // a struct of one text
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		return nil, err
	}
	clean := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(clean) > len(header) { // its metadata was shorter than {"format":"pt"}
		delete(fields, "__metadata__")
		out.Reset()
		if err := e.Encode(fields); err != nil {
			return nil, err
		}
		clean = bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	}
	if len(clean) > len(header) {
		return nil, cannot("the header of %s cannot be written again", name)
	}
	if _, found := m.names.Find(ctx, clean); found {
		return nil, cannot("a tensor in %s has the name in its own", name)
	}
	return append(clean, bytes.Repeat([]byte(" "), len(header)-len(clean))...), nil
}

func overwrite(path string, data []byte, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	return errors.Join(err, f.Close())
}

const piece = 64 << 20 // copied at once

// copyFile copies a file, and its holes as holes. The system shares the bytes of both where its file system can
// (btrfs, XFS). A hard link would show the times of the original.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for at := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if at, err = copyData(in, out, at); errors.Is(err, io.EOF) {
			return lengthen(out, in)
		} else if err != nil {
			return err
		}
	}
}

// copyData copies the next piece of data from an offset on, and leaves holes out: weights that
// only a machine will have are one. It returns where the piece ends.
func copyData(in, out *os.File, at int64) (int64, error) {
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	begin, err := in.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return 0, io.EOF
	case err != nil: // the file system does not tell
		begin = at
	}
	end, err := in.Seek(begin, unix.SEEK_HOLE)
	if err != nil {
		end = info.Size()
	}
	if end <= begin {
		return 0, io.EOF
	}
	for _, f := range []*os.File{in, out} {
		if _, err := f.Seek(begin, io.SeekStart); err != nil {
			return 0, err
		}
	}
	n, err := io.CopyN(out, in, min(piece, end-begin))
	return begin + n, err
}

// lengthen gives out the size of in.
func lengthen(out, in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return out.Truncate(info.Size())
}
