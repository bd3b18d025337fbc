package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// TestKilledWhileCreating kills a program that creates a machine, at every step,
// and looks at what another program then makes of it.
func TestKilledWhileCreating(t *testing.T) {
	if step := os.Getenv("SEER_TEST_DIE"); step != "" {
		die(t, step)
	}
	for _, kind := range few() {
		for _, step := range []string{"intended", "launched", "recorded"} {
			if kind == isolation.GVisor && step != "launched" {
				continue // as with the others, and slower
			}
			t.Run(kind+"/"+step, func(t *testing.T) {
				pl := newPlace(t)
				handle := handleOf(pl.base + "#crash")
				crash(t, pl, kind, step)
				// Whoever looks for the owner's machines finds it …
				if listed, err := pl.p.List(context.Background(), "me"); err != nil || len(listed) != 1 || listed[0].Handle != handle {
					t.Errorf("listed %+v, %v", listed, err)
				}
				// … and can end it without knowing more.
				if err := pl.p.Terminate(context.Background(), handle); err != nil {
					t.Error(err)
				}
				pl.empty()

				// Creating it again after another crash gives one machine.
				crash(t, pl, kind, step)
				b := pl.up(pl.spec("crash", kind))
				want := map[string]int{isolation.Bubblewrap: 2, isolation.None: 1}[kind]
				if found := processesWith("SEER_MACHINE=" + pl.base + "#crash"); kind != isolation.GVisor && len(found) != want {
					t.Errorf("processes %v", found)
				}
				if b.seen.State != sdk.Running {
					t.Errorf("it is %+v", b.seen)
				}
			})
		}
	}
}

func crash(t *testing.T, pl *place, kind, step string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledWhileCreating$")
	cmd.Env = append(os.Environ(), "SEER_TEST_DIE="+step, "SEER_TEST_BASE="+pl.base, "SEER_TEST_KIND="+kind)
	out, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it did not die at %s: %v\n%s", step, err, out)
	}
}

func die(t *testing.T, step string) {
	pl := &place{t: t, base: os.Getenv("SEER_TEST_BASE"), p: providerAt(os.Getenv("SEER_TEST_BASE"))}
	pl.p.at = func(now string) {
		if now == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if os.Getenv("SEER_TEST_ENGINE") != "" {
		startAndDie(t, pl, step)
	}
	spec := pl.spec("crash", os.Getenv("SEER_TEST_KIND"))
	if port, err := strconv.Atoi(os.Getenv("SEER_TEST_PORT")); err == nil {
		spec.Network, spec.Ports = "none", []int{port}
	}
	_, err := pl.p.Create(context.Background(), spec, nil)
	t.Fatalf("it survived: %v", err)
}

// TestEngineKilledWhileStarting kills the program that runs a start at every
// step of it, and lets the garbage collector of another one repair that.
func TestEngineKilledWhileStarting(t *testing.T) {
	if step := os.Getenv("SEER_TEST_DIE"); step != "" {
		die(t, step)
	}
	for _, step := range []string{"intended", "launched", "recorded", "observed", "running"} {
		t.Run(step, func(t *testing.T) {
			pl := newPlace(t)
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestEngineKilledWhileStarting$")
			cmd.Env = append(os.Environ(), "SEER_TEST_DIE="+step, "SEER_TEST_BASE="+pl.base, "SEER_TEST_ENGINE=1")
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("it did not die:\n%s", out)
			}
			d := driver(t, pl)
			all, err := d.Ledger.List()
			if err != nil || len(all) != 1 || !all[0].Live() {
				t.Fatalf("the ledger has %+v, %v", all, err)
			}
			report, err := d.GC(context.Background(), machine.GCOptions{Also: []string{Name}})
			if err != nil || len(report.Failed)+len(report.Unrecorded) != 0 {
				t.Fatalf("report %+v, %v", report, err)
			}
			if step == "running" { // the start was complete: its lease decides
				if len(report.Ended) != 0 {
					t.Errorf("report %+v", report)
				}
				if _, err := d.End(context.Background(), all[0], "test"); err != nil {
					t.Error(err)
				}
			}
			pl.empty()
			if all, _ := d.Ledger.List(); len(all) != 1 || all[0].Live() || !all[0].Released {
				t.Errorf("the ledger has %+v", all)
			}
		})
	}
}

func driver(t *testing.T, pl *place) *machine.Driver {
	t.Helper()
	ledger, err := machine.OpenLedger(filepath.Join(pl.base, "ledger"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return machine.NewDriver(machine.Options{
		Ledger: ledger, Providers: func(context.Context, string) (sdk.Provider, error) { return pl.p, nil },
	})
}

func startAndDie(t *testing.T, pl *place, step string) {
	r := machine.NewRecord()
	r.Provider = Name
	spec := pl.spec("engine", isolation.Bubblewrap)
	r.Key = spec.Key
	_, err := driver(t, pl).Start(context.Background(), r, []machine.Choice{{Provider: Name, Spec: spec}}, func(e machine.Event) {
		if e.Kind == machine.EventState && e.State == sdk.Starting {
			pl.p.at("observed")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	pl.p.at("running")
	t.Fatalf("it survived %s", step)
}
