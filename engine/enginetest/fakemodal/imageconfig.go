package fakemodal

import (
	"maps"
	"path"
	"strings"
)

// configOf is what a layer inherits, and what its own steps add.
func (c *Cloud) configOf(im *image) ImageConfig {
	config := ImageConfig{Env: map[string]string{}}
	inherit := func(from ImageConfig) {
		maps.Copy(config.Env, from.Env)
		config.Workdir = from.Workdir
	}
	for _, step := range im.steps {
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		rest = strings.TrimSpace(rest)
		switch strings.ToUpper(verb) {
		case "FROM":
			if rest == "base" && im.base != nil {
				inherit(im.base.config)
			} else if from, ok := c.opts.Images(imageName(rest)); ok {
				inherit(from)
			}
		case "ENV":
			if name, value, ok := strings.Cut(rest, "="); ok {
				config.Env[name] = strings.Trim(value, `"`)
			}
		case "WORKDIR":
			if !path.IsAbs(rest) {
				rest = path.Join("/", config.Workdir, rest)
			}
			config.Workdir = rest
		}
	}
	return config
}

// imageName is the image of a FROM, without a platform or a name for the stage.
func imageName(from string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(from, "--platform=linux/amd64")), " ")
	return name
}
