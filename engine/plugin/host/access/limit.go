package access

import (
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// Limit is what is left of a manifest when only the lines of granted hold: what it asks
// for is what both have. Two things stay, for they give nothing: a setting that may not
// be read has its default, and the credential of a capture that may go nowhere is still
// kept from the plugin. m is not changed.
func Limit(m sdk.Manifest, granted Set) sdk.Manifest {
	out := m
	out.Permissions = permissions(m, granted)
	if m.Profile != nil && !granted.Has(profile(*m.Profile)) {
		out.Profile = nil
	}
	out.Settings = slices.Clone(m.Settings)
	for i, s := range out.Settings {
		if asks(s) && !granted.Has(setting(s)) {
			out.Settings[i].Env, out.Settings[i].Profile = nil, ""
		}
	}
	out.Secrets = nil
	for _, s := range m.Secrets {
		s.Bind = keep(s.Bind, func(b sdk.Binding) bool { return granted.Has(Secret(m, s, b)) })
		if len(s.Bind) > 0 {
			out.Secrets = append(out.Secrets, s)
		}
	}
	out.Captures = slices.Clone(m.Captures)
	for i, c := range out.Captures {
		out.Captures[i].Bind = keep(c.Bind, func(b sdk.Binding) bool { return granted.Has(capture(m, c, b)) })
		out.Captures[i].GRPC = keep(c.GRPC, func(method string) bool { return granted.Has(CapturedCall(c, method)) })
	}
	if m.Limits.MemoryMB > freeMemoryMB && !granted.Has(memory(m.Limits.MemoryMB)) {
		out.Limits.MemoryMB = 0
	}
	return out
}

func permissions(m sdk.Manifest, granted Set) sdk.Permissions {
	in := m.Permissions
	out := sdk.Permissions{Folders: in.Folders && granted.Has(Folders)}
	for _, p := range in.HTTP {
		out.HTTP = append(out.HTTP, http(m, p, granted)...)
	}
	for _, p := range in.GRPC {
		if p.Methods = keep(p.Methods, func(method string) bool { return granted.Has(GRPC(m, p, method)) }); len(p.Methods) > 0 {
			out.GRPC = append(out.GRPC, p)
		}
	}
	for _, p := range in.SSH {
		out.SSH = append(out.SSH, ssh(m, p, granted)...)
	}
	for _, p := range in.Kube {
		out.Kube = append(out.Kube, kube(m, p, granted)...)
	}
	out.Commands = keep(in.Commands, func(p sdk.CommandPermission) bool { return granted.Has(Command(p.Command)) })
	for _, p := range in.Env {
		if p.Names = keep(p.Names, func(name string) bool { return granted.Has(Env(name)) }); len(p.Names) > 0 {
			out.Env = append(out.Env, p)
		}
	}
	for _, p := range in.Files {
		if p.Paths = keep(p.Paths, func(path string) bool { return granted.Has(File(path)) }); len(p.Paths) > 0 {
			out.Files = append(out.Files, p)
		}
	}
	return out
}

// http is the whole permission, or else one for each method with the paths that are
// granted for it: methods and paths of one permission belong together in every
// combination.
func http(m sdk.Manifest, p sdk.HTTPPermission, granted Set) []sdk.HTTPPermission {
	return each(p, p.Methods, func(left *sdk.HTTPPermission, method string) int {
		left.Methods = []string{method}
		left.Paths = keep(p.Paths, func(path string) bool { return granted.Has(HTTP(m, p, method, path)) })
		return len(left.Paths)
	}, len(p.Paths))
}

// ssh is the whole permission, or else one for each use with the hosts that are granted for it.
func ssh(m sdk.Manifest, p sdk.SSHPermission, granted Set) []sdk.SSHPermission {
	return each(p, p.Use, func(left *sdk.SSHPermission, use string) int {
		left.Use = []string{use}
		left.Hosts = keep(p.Hosts, func(pattern string) bool { return granted.Has(SSH(m, pattern, use)) })
		return len(left.Hosts)
	}, len(p.Hosts))
}

// each is the whole permission, or else one for each use of which something is granted. limit narrows
// a copy to one use, and returns how many of its all places are granted for that.
func each[P any](p P, uses []string, limit func(left *P, use string) int, all int) []P {
	var out []P
	whole := true
	for _, use := range uses {
		left := p
		n := limit(&left, use)
		whole = whole && n == all
		if n > 0 {
			out = append(out, left)
		}
	}
	if whole {
		return []P{p}
	}
	return out
}

// kube is the whole permission, or else one for each use and context with the namespaces that
// are granted for them.
func kube(m sdk.Manifest, p sdk.KubePermission, granted Set) []sdk.KubePermission {
	var out []sdk.KubePermission
	whole := true
	for _, use := range p.Use {
		for _, context := range p.Contexts {
			left := p
			left.Use, left.Contexts = []string{use}, []string{context}
			left.Namespaces = keep(p.Namespaces, func(namespace string) bool { return granted.Has(Kube(m, context, namespace, use)) })
			some := len(left.Namespaces) > 0 || use == sdk.KubeCluster && granted.Has(Kube(m, context, "", use))
			whole = whole && some && len(left.Namespaces) == len(p.Namespaces)
			if some {
				out = append(out, left)
			}
		}
	}
	if whole {
		return []sdk.KubePermission{p}
	}
	return out
}

// keep copies those that are granted.
func keep[T any](all []T, granted func(T) bool) []T {
	var out []T
	for _, one := range all {
		if granted(one) {
			out = append(out, one)
		}
	}
	return out
}
