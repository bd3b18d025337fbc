package oci

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/sdk"
)

// compress gives the same bytes for the same module, so that pushing again is nothing new.
func compress(data []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	return enc.EncodeAll(data, nil), nil
}

const window = 64 << 20 // zstd -19 needs 8 MiB

// decompress believes nothing that the data says about its size: it stops at the limit.
func decompress(data []byte, limit int64) ([]byte, error) {
	dec, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	out, err := io.ReadAll(io.LimitReader(dec, limit+1))
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "its module cannot be decompressed: %v", err)
	}
	if int64(len(out)) > limit {
		return nil, sdk.Errorf(sdk.Invalid, "its module is larger than %s", mib(limit))
	}
	return out, nil
}

func unpack(data []byte) ([]byte, error) { return decompress(data, bundle.MaxWasm) }

func mib(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
