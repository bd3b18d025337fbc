package testkit

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"testing"
)

// Gzip compresses a text.
func Gzip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// Zip is an archive of one file.
func Zip(name, text string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.Create(name)
	_, _ = f.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// JSON is a value as JSON.
func JSON(t testing.TB, v any) string {
	t.Helper()
	return string(Must(json.Marshal(v))(t))
}

// Unhex returns the bytes of hexadecimal digits.
func Unhex(t testing.TB, digits string) []byte {
	t.Helper()
	return Must(hex.DecodeString(digits))(t)
}
