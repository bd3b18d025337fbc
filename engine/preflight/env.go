package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/joho/godotenv"

	"github.com/seer-engine/seer/engine/experiment"
)

// Env is where secrets come from: the environment first, then .env beside the
// experiment file.
type Env struct {
	lookup func(string) (string, bool)
	dotenv map[string]string
	path   string
}

// ReadEnv reads .env in dir, where there is one. lookup is the environment, as
// [os.LookupEnv]; nil is an empty one.
func ReadEnv(dir string, lookup func(string) (string, bool)) (*Env, error) {
	return readEnv(dir, lookup, openDotEnv)
}

func readEnv(dir string, lookup func(string) (string, bool), open func(dir string) (*os.File, error)) (*Env, error) {
	e := &Env{lookup: lookup, path: filepath.Join(dir, DotEnv)}
	f, err := open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return nil, &experiment.Error{File: e.path, Message: "the file cannot be read: " + reason(err),
			Hint: "check its permissions; a link must not lead out of the folder, where secrets of other projects are: copy the file, or set the variables in the environment"}
	}
	defer f.Close()
	if e.dotenv, err = godotenv.Parse(f); err != nil {
		// The parser quotes the line it fails at, which may hold a secret.
		return nil, &experiment.Error{File: e.path, Message: "the file is not a list of NAME=value lines", Hint: "put values with spaces or quotes into quotes"}
	}
	return e, nil
}

// openDotEnv opens a plain file in dir. What came with an experiment may be a link to a file
// of the user's, or a pipe.
func openDotEnv(dir string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(DotEnv, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a plain file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// DotEnv is where a variable of the file beside the experiment comes from.
const DotEnv = ".env"

// Lookup finds a variable and says where: "environment" or [DotEnv].
func (e *Env) Lookup(name string) (value, from string, ok bool) {
	if e == nil {
		return "", "", false
	}
	if e.lookup != nil {
		if value, ok = e.lookup(name); ok && value != "" {
			return value, "environment", true
		}
	}
	value = e.dotenv[name]
	return value, DotEnv, value != ""
}

// minSecret is the fewest bytes of a secret that the runtime takes: a shorter one would be
// replaced all over the outputs.
const minSecret = 4

// secrets checks that each has a value; an empty one is as good as none.
func (c *check) secrets() {
	for i, name := range c.exp.Sandbox.Secrets {
		value, from, ok := c.facts.Env.Lookup(name)
		if ok && len(value) < minSecret {
			c.fail(fmt.Sprintf("sandbox.secrets.%d", i), fmt.Sprintf("the secret `%s` is shorter than %d bytes and could not be kept out of outputs", name, minSecret),
				"give it a longer value, or, if it is not a secret, put it into sandbox.env")
			continue
		}
		if ok {
			if c.report.Secrets == nil {
				c.report.Secrets = map[string]string{}
			}
			c.report.Secrets[name] = from
			continue
		}
		hint := "set it in the environment"
		if c.facts.Env != nil {
			hint += " or in " + c.facts.Env.path
		}
		c.fail(fmt.Sprintf("sandbox.secrets.%d", i), "the secret `"+name+"` is not set", hint)
	}
}
