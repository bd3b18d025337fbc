package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var noDistribution = regexp.MustCompile(`No matching distribution found for ([A-Za-z0-9._-]+)`)

// placed says where the experiment names the package that pip has not found. What only a
// package needs has no place.
func (u *up) placed(err error) error {
	if err == nil {
		return nil
	}
	found := noDistribution.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	s := u.exp.Sandbox
	i := slices.IndexFunc(s.PythonPackages[:len(s.PythonPackages)-s.Implied], sameAs(strings.TrimRight(found[1], ".")))
	if i < 0 {
		return err
	}
	path := fmt.Sprintf("sandbox.python_packages.%d", i)
	switch at := u.exp.Position(path); {
	case at.Set != "":
		return fmt.Errorf("--set %s: %w", at.Set, err)
	case at.Line > 0:
		return fmt.Errorf("%s:%d: %s: %w", at.File, at.Line, path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
