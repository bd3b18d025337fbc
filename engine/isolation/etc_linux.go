package isolation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// etcAllowed is all of /etc that a program needs to find its libraries,
// certificates and time zone. Everything else there stays outside.
var etcAllowed = []string{
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives",
	"ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/ca-trust", "pki/tls/openssl.cnf",
	"nsswitch.conf", "protocols", "services", "localtime", "timezone", "os-release", "debian_version",
	"mime.types", "fonts", "matplotlibrc", "python3*",
}

var etcNetwork = []string{"gai.conf", "host.conf"}

const resolvConf = "resolv.conf"

const nsswitch = "passwd: files\ngroup: files\nhosts: files dns\n"

// etcShown lists what of this computer's /etc is shown, and leaves out links that
// lead nowhere.
func etcShown(spec Spec) ([]string, error) {
	allowed := append([]string(nil), etcAllowed...)
	if spec.Network || spec.Nameserver != "" {
		allowed = append(allowed, etcNetwork...)
	}
	if spec.Network {
		allowed = append(allowed, resolvConf)
	}
	var shown []string
	for _, pattern := range allowed {
		found, err := filepath.Glob("/etc/" + pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if _, err := os.Stat(path); err == nil { // a dangling link is not there for anybody
				shown = append(shown, path)
			}
		}
	}
	return shown, nil
}

// etcFiles are the files in /etc that are made for the command: path → content.
func etcFiles(spec Spec) (map[string]string, error) {
	hostname := spec.hostname()
	files := map[string]string{
		"/etc/hosts":    fmt.Sprintf("127.0.0.1 localhost %s\n::1 localhost\n", hostname),
		"/etc/hostname": hostname + "\n",
	}
	if spec.Nameserver != "" && !spec.Network {
		files["/etc/"+resolvConf] = resolver("/etc/"+resolvConf, spec.Nameserver)
	}
	if spec.Root.Writable {
		// Its own user could not read what belongs to the only one who is mapped.
		files["/etc/apt/apt.conf.d/99seer"] = "APT::Sandbox::User \"root\";\n"
	}
	if spec.Root.Image == "" {
		files["/etc/passwd"] = fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\n%snobody:x:65534:65534::/:/bin/false\n", passwdLine())
		files["/etc/group"] = fmt.Sprintf("root:x:0:\n%s:x:%d:\nnogroup:x:65534:\n", User, uid)
		if spec.Root.Writable { // packages know the system's own users by name
			files["/etc/passwd"] = fmt.Sprintf("root:x:0:0:root:%s:/bin/sh\n%s%s", Home, passwdLine(), systemAccounts("/etc/passwd"))
			files["/etc/group"] = fmt.Sprintf("root:x:0:\n%s:x:%d:\n%s", User, uid, systemAccounts("/etc/group"))
		}
		if _, err := os.Stat("/etc/nsswitch.conf"); err != nil {
			files["/etc/nsswitch.conf"] = nsswitch
		}
		return files, nil
	}
	// An image has users of its own, which its files belong to.
	for name, line := range map[string]string{"passwd": passwdLine(), "group": fmt.Sprintf("%s:x:%d:\n", User, uid)} {
		have, err := readInside(spec.Root.Image, "/etc/"+name)
		if err != nil {
			return nil, err
		}
		if have == nil {
			have = []byte("root:x:0:0:root:/root:/bin/sh\n")
			if name == "group" {
				have = []byte("root:x:0:\n")
			}
		}
		if !bytes.HasPrefix(have, []byte(User+":")) && !bytes.Contains(have, []byte("\n"+User+":")) {
			files["/etc/"+name] = line + string(have) // first, because the image may have a user with this number
		}
	}
	if spec.Network {
		if data, err := os.ReadFile("/etc/" + resolvConf); err == nil {
			files["/etc/"+resolvConf] = string(data)
		}
	}
	return files, nil
}

// resolver is the resolv.conf of a network whose name server asks those of this computer:
// its search list and options with another server.
func resolver(file, server string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		data = nil // a name server is all that is needed
	}
	out := "nameserver " + server + "\n"
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 1 && (words[0] == "search" || words[0] == "domain" || words[0] == "options") {
			out += strings.Join(words, " ") + "\n"
		}
	}
	return out
}

// systemAccounts are the lines of passwd or group that are not of people, without
// the people in a group.
func systemAccounts(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) < 4 {
			continue
		}
		id, err := strconv.Atoi(fields[2])
		if err != nil || id == 0 || id >= uid && id != 65534 {
			continue
		}
		if len(fields) == 4 {
			fields[3] = ""
		}
		fields[1] = "x" // old systems have a hash there
		out.WriteString(strings.Join(fields, ":") + "\n")
	}
	return out.String()
}

func passwdLine() string { return fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", User, uid, uid, Home) }

// readInside reads a file of an image, whose links do not lead out of it. A file
// that is missing is nil.
func readInside(image, path string) ([]byte, error) {
	root, err := os.OpenRoot(image)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := root.ReadFile(strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil, nil //nolint:nilerr // an image may have none, or a link that leads nowhere
	}
	return data, nil
}

func (s Spec) hostname() string {
	if s.Hostname == "" {
		return "seer"
	}
	return s.Hostname
}
