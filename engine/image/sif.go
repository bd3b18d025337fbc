package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/seer-engine/seer/sdk"
)

// section is a file system in a file.
type section struct{ offset, size int64 }

// squashfsIn finds the squashfs of a file: the whole file, or the system of a SIF file.
func squashfsIn(f io.ReaderAt, length int64, platform string) (section, error) {
	whole := section{0, length}
	head := make([]byte, sifHeader)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return section{}, err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, squashfsMagic):
		return whole, checkSquashfs(f, whole)
	case n == sifHeader && bytes.HasPrefix(head[32:], sifMagic):
		return sifSystem(f, head, length, platform)
	}
	return section{}, sdk.Errorf(sdk.Unsupported, "it is neither a folder nor a file of squashfs or SIF; make one of an image by `enroot import` or `apptainer pull`")
}

// The numbers of the format, as github.com/sylabs/sif has them.
const (
	sifHeader       = 128 // bytes
	sifDescriptor   = 585 // bytes, without padding between its fields
	maxDescriptors  = 4096
	sifPartition    = 0x4004 // a descriptor's kind
	sifSquashfs     = 1      // file systems of a partition
	sifExt3         = 2
	sifEncrypted    = 5
	sifSystemPart   = 1 // uses of a partition
	sifPrimaryPart  = 2
	sifExtraOffset  = sifDescriptor - 384
	sifOffsetOffset = 17 // of the field with the offset of the data
)

var (
	sifMagic = []byte("SIF_MAGIC\x00")
	// sifPlatforms are the names of processors in SIF files.
	sifPlatforms = map[string]string{"01": "linux/386", "02": "linux/amd64", "03": "linux/arm", "04": "linux/arm64", "06": "linux/ppc64le"}
)

// sifSystem finds the partition with the root file system. All numbers of the file are taken for
// those of a stranger.
func sifSystem(f io.ReaderAt, head []byte, length int64, platform string) (section, error) {
	total := int64(binary.LittleEndian.Uint64(head[88:]))
	at := int64(binary.LittleEndian.Uint64(head[96:]))
	if total < 0 || total > maxDescriptors || at < sifHeader || at > length || total*sifDescriptor > length-at {
		return section{}, invalid("the SIF file is damaged: its table of %d parts cannot be at %d", total, at)
	}
	table := make([]byte, total*sifDescriptor)
	if _, err := io.ReadFull(io.NewSectionReader(f, at, int64(len(table))), table); err != nil {
		return section{}, err
	}
	var found []byte
	for ; len(table) > 0; table = table[sifDescriptor:] {
		d, extra := table[:sifDescriptor], table[sifExtraOffset:]
		if binary.LittleEndian.Uint32(d) != sifPartition || d[4] == 0 {
			continue
		}
		use := binary.LittleEndian.Uint32(extra[4:])
		if use == sifPrimaryPart || use == sifSystemPart && found == nil {
			found = d
		}
	}
	if found == nil {
		return section{}, sdk.Errorf(sdk.Unsupported, "the SIF file has no partition with a system, as OCI-SIF files have none; make one by `apptainer pull` or `apptainer build`")
	}
	return checkPartition(f, found, length, platform)
}

func checkPartition(f io.ReaderAt, d []byte, length int64, platform string) (section, error) {
	extra := d[sifExtraOffset:]
	switch kind := binary.LittleEndian.Uint32(extra); kind {
	case sifSquashfs:
	case sifEncrypted:
		return section{}, sdk.Errorf(sdk.Unsupported, "its system is encrypted; build it without --encrypt")
	case sifExt3:
		return section{}, sdk.Errorf(sdk.Unsupported, "its system is a file system ext3, which only root can mount; build it again with a newer Apptainer")
	default:
		return section{}, sdk.Errorf(sdk.Unsupported, "its system has the unknown kind %d; build it by `apptainer build`", kind)
	}
	if made := sifPlatforms[string(bytes.TrimRight(extra[8:11], "\x00"))]; made != "" && made != platform {
		return section{}, sdk.Errorf(sdk.NotFound, "it is for %s, not for %s", made, platform)
	}
	s := section{int64(binary.LittleEndian.Uint64(d[sifOffsetOffset:])), int64(binary.LittleEndian.Uint64(d[sifOffsetOffset+8:]))}
	if s.offset < sifHeader || s.size <= 0 || s.offset > length || s.size > length-s.offset {
		return section{}, invalid("the SIF file is damaged or incomplete: its system of %d bytes cannot be at %d", s.size, s.offset)
	}
	return s, checkSquashfs(f, s)
}

var squashfsMagic = []byte("hsqs")

// checkSquashfs reads the superblock: a file that was cut off is told before it is unpacked.
func checkSquashfs(f io.ReaderAt, s section) error {
	head := make([]byte, 96)
	if _, err := f.ReadAt(head, s.offset); err != nil || s.size < int64(len(head)) {
		return invalid("its squashfs is damaged or incomplete: it has %d bytes", s.size)
	}
	if !bytes.HasPrefix(head, squashfsMagic) {
		return invalid("its squashfs is damaged: it begins with %q", head[:4])
	}
	if major := binary.LittleEndian.Uint16(head[28:]); major != 4 {
		return sdk.Errorf(sdk.Unsupported, "its squashfs has the version %d, and 4 is supported", major)
	}
	used := binary.LittleEndian.Uint64(head[40:])
	if used > math.MaxInt64 || int64(used) > s.size {
		return invalid("its squashfs is damaged or incomplete: it has %d bytes of %d", s.size, used)
	}
	return nil
}
