package build

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

var (
	noDistribution = lazyregexp.New(`No matching distribution found for ([A-Za-z0-9._-]+)`)
	// noPackage is how apt says that it has none of that name, or not in this version.
	noPackage    = lazyregexp.New(`E: (?:Unable to locate package |Package '|Version '[^']*' for ')([a-z0-9][a-z0-9+.-]*)`)
	ofRepository = lazyregexp.New(`^the install command of ([^(]+) \(`)
	ofField      = lazyregexp.New(`^(?:sandbox\.)?(repos|image\.commands)\.(\d+)(: | \()`)
)

// locate says where the experiment asks for what could not be installed. What only a
// package needs, and what Seer itself needs, has no place. building is the layer that was
// being built; nil = none.
func (i *Installation) locate(err error, building *layer) error {
	if err == nil || sdk.CodeOf(err) != sdk.Invalid {
		return err
	}
	path, named := fieldOf(i.Experiment.Sandbox, err.Error(), building)
	if path == "" {
		return err
	}
	place := ""
	switch at := i.Experiment.Position(path); {
	case at.Set != "":
		place = "override " + at.Set + ": "
	case at.Line > 0:
		place = fmt.Sprintf("%s:%d: ", at.File, at.Line)
	}
	if !named {
		place += path + ": "
	}
	if place == "" {
		return err
	}
	return fmt.Errorf("%s%w", place, err)
}

// fieldOf is the field of the experiment that an error of installing is about, and
// whether it names that itself.
func fieldOf(s experiment.Sandbox, said string, building *layer) (path string, named bool) {
	if building != nil && building.at == basePath {
		return "", false // nobody asked for any of it
	}
	asked := s.PythonPackages[:len(s.PythonPackages)-s.Implied]
	if f := ofField().FindStringSubmatch(said); f != nil {
		return "sandbox." + f[1] + "." + f[2], strings.HasPrefix(said, "sandbox.")
	}
	if f := ofRepository().FindStringSubmatch(said); f != nil {
		for i, r := range s.Repos {
			if r.Name() == f[1] {
				return "sandbox.repos." + strconv.Itoa(i) + ".install", false
			}
		}
	}
	if f := noDistribution().FindStringSubmatch(said); f != nil {
		return item("sandbox.python_packages", slices.IndexFunc(asked, preflight.SamePackage(strings.TrimRight(f[1], "."))), false), false
	}
	if strings.HasPrefix(said, "installing Python packages failed") {
		return item("sandbox.python_packages", -1, len(asked) > 0), false
	}
	if strings.HasPrefix(said, "installing system packages failed") {
		i, whole := -1, len(s.SystemPackages) > 0
		if f := noPackage().FindStringSubmatch(said); f != nil {
			missing := strings.TrimRight(f[1], ".")
			i = slices.IndexFunc(s.SystemPackages, func(p string) bool {
				name, _, _ := strings.Cut(p, "=")
				return name == missing
			})
			whole = whole && missing != "git" && missing != "ca-certificates" // which repositories need
		}
		return item("sandbox.system_packages", i, whole), false
	}
	return "", false
}

// item is one of a list, or the list itself where it is not known which; "" where the list
// will not do.
func item(list string, i int, whole bool) string {
	switch {
	case i >= 0:
		return list + "." + strconv.Itoa(i)
	case whole:
		return list
	}
	return ""
}
