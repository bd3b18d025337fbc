package ssh

import (
	"bufio"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/internal/spelling"
	"github.com/seer-engine/seer/internal/sshname"
)

func checkHost(host string) error {
	if !sshname.Valid(host) {
		return &Error{Host: host, Kind: BadHost, Message: "a host is NAME or USER@NAME, with letters, digits and ._:- in it, and each begins with a letter or digit; " + quoteShort(host) + " does not"}
	}
	return nil
}

func quoteShort(text string) string {
	return strings.ToValidUTF8(`"`+text[:min(len(text), 60)]+`"`, "?")
}

// suggest says what may have been meant by a host that nobody knows.
func (c *Client) suggest(host string) string {
	login, name, cut := strings.Cut(host, "@")
	if !cut {
		login, name = "", host
	} else {
		login += "@"
	}
	if near := spelling.Nearest(name, c.known()); near != "" {
		return "ssh_config has " + login + near + ", which may have been meant"
	}
	return "write a Host with this name into ~/.ssh/config, or use its address"
}

// known are the names in the user's ssh_config that stand for one host.
func (c *Client) known() []string {
	file := c.o.ConfigFile
	if file == "" {
		me, err := user.LookupId(strconv.Itoa(os.Getuid())) // as ssh does, which does not ask HOME
		if err != nil {
			return nil
		}
		file = filepath.Join(me.HomeDir, ".ssh", "config")
	}
	return namesIn(file, filepath.Dir(file), 4)
}

func namesIn(file, base string, depth int) (names []string) {
	f, err := os.Open(file)
	if err != nil || depth == 0 {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(strings.Replace(lines.Text(), "=", " ", 1))
		if len(words) < 2 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "host":
			for _, word := range words[1:] {
				if !strings.ContainsAny(word, `*?!"`) {
					names = append(names, strings.ToLower(word))
				}
			}
		case "include":
			for _, word := range words[1:] {
				if !filepath.IsAbs(word) {
					word = filepath.Join(base, word)
				}
				more, _ := filepath.Glob(word)
				for _, file := range more {
					names = append(names, namesIn(file, base, depth-1)...)
				}
			}
		}
	}
	return names
}
