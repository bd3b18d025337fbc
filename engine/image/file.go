package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// UnpackFile returns the root file system of an image that is a file of this computer, by its absolute
// path: a squashfs file as enroot and pyxis use, or a SIF file of Apptainer. It is unpacked once for
// each size and time of the file. A folder is used where it is. Errors are [sdk.Error] of the codes
// invalid, not_found and unsupported, or match [state.ErrNoSpace].
func UnpackFile(ctx context.Context, file string, o Options) (Root, error) {
	o = o.defaults()
	real, info, err := find(file)
	if err != nil {
		return Root{}, err
	}
	if info.IsDir() {
		return Root{Dir: real, Env: variables(real), Platform: o.Platform}, nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "file\n%s\n%d\n%d\n", real, info.Size(), info.ModTime().UnixNano()))
	r := record{Digest: "sha256:" + hex.EncodeToString(sum[:]), Platform: o.Platform}
	s, err := openStore(o.Dir)
	if err != nil {
		return Root{}, err
	}
	root, there := s.get(r.Digest)
	if !there {
		if root, err = s.unpackFile(ctx, file, r, o); err != nil {
			return Root{}, err
		}
	}
	root.Env = variables(root.Dir)
	return root, s.remember(named{Ref: file, Platform: o.Platform, Digest: r.Digest, At: time.Now().UTC()})
}

// find follows the links of a path and looks at its end.
func find(file string) (real string, info fs.FileInfo, err error) {
	if real, err = filepath.EvalSymlinks(file); err == nil {
		info, err = os.Stat(real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, sdk.Errorf(sdk.NotFound, "the image %s: there is no such file or folder on the computer of the machine; write in image.base a path that is there", file)
	case err != nil:
		return "", nil, sdk.Errorf(sdk.Unsupported, "the image %s cannot be read: %v; let your user read it, or choose another one in image.base", file, err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return "", nil, invalid("the image %s is neither a file nor a folder; choose another one in image.base", file)
	}
	return real, info, nil
}

// inFile finds the squashfs of a file.
func inFile(file, platform string) (section, error) {
	f, err := os.Open(file)
	if err != nil {
		return section{}, sdk.Errorf(sdk.Unsupported, "the image %s cannot be read: %v; let your user read it, or choose another one in image.base", file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return section{}, err
	}
	part, err := squashfsIn(f, info.Size(), platform)
	if err != nil {
		return section{}, ofImage(file, err)
	}
	return part, nil
}

// CheckFile finds what keeps [UnpackFile] from using a file or folder. Packed reports that it needs
// [FindUnsquashfs].
func CheckFile(file string) (packed bool, err error) {
	real, info, err := find(file)
	if err != nil || info.IsDir() {
		return false, err
	}
	_, err = inFile(real, thisPlatform())
	return true, err
}

// unpackFile makes the root of a record out of a file.
func (s store) unpackFile(ctx context.Context, file string, r record, o Options) (Root, error) {
	part, err := inFile(file, o.Platform)
	if err != nil {
		return Root{}, err
	}
	if err := s.checkSpace(file, part.size); err != nil {
		return Root{}, err
	}
	tool, err := FindUnsquashfs(os.Getenv("PATH"))
	if err != nil {
		return Root{}, ofImage(file, err)
	}
	return s.build(ctx, r, o.Log, func(tree string) (bytes, files int64, err error) {
		o.Log(fmt.Sprintf("%s: unpacking %s by unsquashfs", file, size(part.size)))
		u := unsquash{tool: tool, file: file, part: part}
		if err := u.run(ctx, tree); err != nil {
			if ctx.Err() != nil {
				return 0, 0, ctx.Err()
			}
			return 0, 0, ofImage(file, state.NoSpace(s.dir, err))
		}
		count, err := settle(tree)
		if err != nil {
			return 0, 0, ofImage(file, state.NoSpace(s.dir, err))
		}
		o.Log(fmt.Sprintf("%s: unpacked %s in %d files", file, size(count.bytes), count.files))
		if count.skipped > 0 {
			o.Log(fmt.Sprintf("%s: left out %d × device, pipe or socket", file, count.skipped))
		}
		return count.bytes, count.files, nil
	})
}

// ofImage names the image in an error.
func ofImage(file string, err error) error {
	var coded *sdk.Error
	if errors.As(err, &coded) {
		return sdk.Errorf(coded.Code, "the image %s: %s", file, coded.Message)
	}
	return fmt.Errorf("the image %s: %w", file, err)
}
