//go:build !linux

package netproxy

import (
	"context"
	"errors"
)

// UplinkTools is empty: there is no tool.
func UplinkTools(string) string { return "" }

// DetectUplink finds none: a network namespace needs Linux.
func DetectUplink(context.Context) (string, error) {
	return "", errors.New("a network of its own needs Linux")
}
