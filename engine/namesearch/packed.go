package namesearch

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// packed tells the format of archives and compressed data by their first bytes; "" = none.
func packed(head []byte) string {
	for _, f := range []struct{ magic, format string }{
		{"\x1f\x8b\x08", "gzip"}, {"PK\x03\x04", "zip"}, {"BZh", "bzip2"}, {"\xfd7zXZ\x00", "xz"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"PACK\x00\x00\x00", "git"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.format
		}
	}
	switch {
	case len(head) > tarMagic+5 && string(head[tarMagic:tarMagic+5]) == "ustar":
		return "tar"
	case len(head) > 2 && head[0] == 0x78 && (head[1] == 0x01 || head[1] == 0x5e || head[1] == 0x9c || head[1] == 0xda):
		return "zlib"
	}
	return ""
}

const tarMagic = 257 // where a tar file has its mark

// unpack searches what is in packed data. What is damaged ends where it is damaged.
func (s *search) unpack(format string, r *bufio.Reader, depth int) (string, error) {
	if format != "zip" {
		defer s.inside()()
	}
	var plain io.Reader
	switch format {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return "", err
		}
		if s.names.In([]byte(z.Name+"\n"+z.Comment)) || s.names.In(z.Extra) {
			return "gzip", errFound
		}
		plain = z
	case "zlib":
		z, err := zlib.NewReader(r)
		if err != nil {
			return "", err
		}
		plain = z
	case "bzip2":
		plain = bzip2.NewReader(r)
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPacked))
		if err != nil {
			return "", err
		}
		defer z.Close()
		plain = z
	case "xz":
		return s.xz(r, depth)
	case "tar":
		return s.tar(r, depth)
	case "zip":
		return s.zip(r, depth)
	case "git":
		return s.gitPack(r, depth)
	}
	form, err := s.stream(plain, depth)
	return within(format, form), err
}

// xz runs the system's own program: Go has none.
func (s *search) xz(r io.Reader, depth int) (string, error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "xz", "-dc", "--memlimit=256MiB")
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", errors.Join(errUnsearched, err)
	}
	form, err := s.stream(out, depth)
	if stops(err) {
		cancel()
	}
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	return within("xz", form), err
}

func (s *search) tar(r io.Reader, depth int) (string, error) {
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		texts := h.Name + "\n" + h.Linkname + "\n" + h.Uname + "\n" + h.Gname
		for key, value := range h.PAXRecords {
			texts += "\n" + key + "\n" + value
		}
		if s.names.In([]byte(texts)) {
			return "tar", errFound
		}
		if form, err := s.stream(t, depth); stops(err) {
			return within("tar, "+h.Name, form), err
		}
	}
}

// tensorOf matches a member of a zip file that torch made, which is nothing but numbers.
var tensorOf = lazyregexp.New(`(^|/)data/\d+$`)

// zip reads the whole file into memory where it cannot seek in it.
func (s *search) zip(r *bufio.Reader, depth int) (string, error) {
	at, size := s.file, s.fileSize
	if at == nil || s.nested {
		data, err := io.ReadAll(io.LimitReader(r, maxPacked+1))
		if err != nil {
			return "", err
		}
		if len(data) > maxPacked {
			return "", errUnsearched
		}
		at, size = bytes.NewReader(data), int64(len(data))
	}
	z, err := zip.NewReader(at, size)
	if err != nil && z == nil {
		return "", err
	}
	defer s.inside()()
	if s.names.In([]byte(z.Comment)) {
		return "zip", errFound
	}
	for _, f := range z.File {
		if s.names.In([]byte(f.Name+"\n"+f.Comment)) || s.names.In(f.Extra) {
			return "zip", errFound
		}
		if tensorOf().MatchString(f.Name) {
			continue
		}
		member, err := f.Open()
		if err != nil {
			continue // encrypted, or damaged
		}
		form, err := s.stream(member, depth)
		_ = member.Close()
		if stops(err) {
			return within("zip, "+f.Name, form), err
		}
	}
	return "", nil
}

// gitPack searches the objects of a repository's history. Of one that is stored as a
// difference, what the difference adds is searched.
func (s *search) gitPack(r *bufio.Reader, depth int) (string, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", err
	}
	for range binary.BigEndian.Uint32(head[8:]) {
		c, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		kind := c >> 4 & 7
		for c&0x80 != 0 { // the size goes on
			if c, err = r.ReadByte(); err != nil {
				return "", err
			}
		}
		switch kind {
		case 6: // the distance to what it differs from
			for c = 0x80; c&0x80 != 0; {
				if c, err = r.ReadByte(); err != nil {
					return "", err
				}
			}
		case 7: // the hash of it
			if _, err := r.Discard(20); err != nil {
				return "", err
			}
		}
		z, err := zlib.NewReader(r)
		if err != nil {
			return "", err
		}
		form, err := s.stream(z, depth)
		if stops(err) {
			return within("git", form), err
		}
		if _, err := io.Copy(io.Discard, z); err != nil {
			return "", err
		}
	}
	return "", nil
}

// stops reports whether an error ends the whole search of a file.
func stops(err error) bool { return errors.Is(err, errFound) || errors.Is(err, errUnsearched) }

// within joins the forms that something was found in, from the outside to the inside.
func within(outer, inner string) string {
	if inner == "" {
		return outer
	}
	return outer + ", " + inner
}
