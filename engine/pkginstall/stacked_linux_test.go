package pkginstall_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testsource"
)

// stacked: an upper layer has only what the one below it lacks, or has in another version,
// and a machine sees of both what pip would have chosen for one.
func stacked(t *testing.T, client *client.Client) {
	index := testsource.NewIndex(t, "",
		testsource.Package{Name: "service", Version: "2.0", Needs: []string{"kernel", "wire>=1"}, Script: "service-says", Data: "share/jupyter/service.txt"},
		testsource.Package{Name: "kernel", Version: "6.0", Data: "share/jupyter/kernel.txt"}, testsource.Package{Name: "kernel", Version: "7.0", Data: "share/jupyter/kernel.txt"},
		testsource.Package{Name: "wire", Version: "0.9"}, testsource.Package{Name: "wire", Version: "1.1", Data: "share/jupyter/lab/static/wire.txt"},
		testsource.Package{Name: "own", Version: "3.0", Needs: []string{"wire"}, Script: "own-says", Data: "share/jupyter/lab/static/own.txt"})
	sh := func(script string) (string, int) {
		t.Helper()
		var out bytes.Buffer
		p, err := client.Processes().Run(t.Context(), protocol.ProcessSpec{Argv: []string{"sh", "-c", script}}, nil, &out, &out)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String()), p.ExitCode
	}
	aside := func() { sh("rm -rf ~/.seer/python") } // each machine begins without one
	at, code := sh("cd ~ && mkdir -p layers/lower layers/upper layers/wrong && cd layers && pwd")
	if code != 0 {
		t.Fatal(at)
	}
	lower, upper, wrong := at+"/lower", at+"/upper", at+"/wrong"
	build := func(layer, below string, packages ...string) error {
		err := pkginstall.Build(t.Context(), client, pkginstall.Spec{PythonPackages: packages, Env: map[string]string{"PIP_INDEX_URL": index.URL}}, pkginstall.Layer{Folder: layer, Below: below, Shared: layer == lower}, nil)
		aside()
		return err
	}
	if err := build(lower, "", "service>=2"); err != nil {
		t.Fatal(err)
	}
	files := index.Fetched()
	if err := build(upper, lower, "own", "kernel<7", "service>=2"); err != nil {
		t.Fatal(err)
	}
	if n := index.Fetched() - files; n != 2 {
		t.Errorf("the upper layer fetched %d files, not own and kernel alone", n)
	}
	err := build(wrong, lower, "wire<1", "service>=2")
	if err == nil || !strings.Contains(err.Error(), "ResolutionImpossible") && !strings.Contains(err.Error(), "conflicting dependencies") {
		t.Errorf("what does not go together: %v", err)
	}
	used, err := pkginstall.Use(t.Context(), client, upper, lower)
	if err != nil {
		t.Fatal(err)
	}
	if want := upper + "/python/bin:" + lower + "/python/bin:"; !strings.Contains(used.Env["PATH"], want) {
		t.Errorf("PATH %s", used.Env["PATH"])
	}
	got, _ := sh("PATH='" + used.Env["PATH"] + `'; python -c 'import service, kernel, own, wire; print(service.VERSION, kernel.VERSION, own.VERSION, wire.VERSION)'
service-says; own-says; cd ~/.seer/python/share/jupyter; cat service.txt; cat kernel.txt; readlink kernel.txt; pip list --format freeze | grep -E '^(kernel|wire|own|service)='; pip check 2>&1 | grep -E 'kernel|wire|own|service'`)
	want := "2.0 6.0 3.0 1.1\n2.0\n3.0\ndata of service\ndata of kernel\n" + upper + "/python/share/jupyter/kernel.txt\nkernel==6.0\nown==3.0\nservice==2.0\nwire==1.1"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, _ := sh("ls ~/.seer/python/share/jupyter/lab/static " + lower + "/python/share/jupyter/lab/static"); !strings.Contains(got, ":\nown.txt\n") || !strings.HasSuffix(got, ":\nwire.txt") {
		t.Errorf("JupyterLab's files, of which those of a shared layer are used where they are: %q", got)
	}
	aside()
}
