// Package attack runs the table of attacks that Seer defends against. A test package
// lists rows; docs/security.md lists the same names.
package attack

import (
	"errors"
	"strings"
	"testing"
)

// Row is one attack on one isolation.
type Row struct {
	// Name identifies the attack in docs/security.md.
	Name string
	// Isolation is "bubblewrap", "gvisor" or "none"; empty if the attack does not
	// depend on one. Rows for gvisor run in `make e2e`, which builds it.
	Isolation string
	// Want is a part of the expected refusal.
	Want string
	// Try makes the attack and returns nil if it succeeds, or else what refused it.
	// With defended false, it switches the defence off first through an unexported
	// seam. It ends the test when the attack could not be made at all.
	Try func(t *testing.T, defended bool) error
}

// Outcome is what [Row.Try] returns for an attack whose program prints "succeeded", or what
// refused it.
func Outcome(printed string) error {
	if printed == "succeeded" {
		return nil
	}
	return errors.New(printed)
}

// Run makes each attack twice, as subtests isolation/name/refused and
// isolation/name/control. The attack must fail as Want says, and it must succeed once
// the defence is off: otherwise the row would prove nothing.
func Run(t *testing.T, rows []Row) {
	t.Helper()
	run(t, rows, Row.run)
}

// RunParallel is [Run] for attacks of which each has a machine of its own, and a defence that
// is switched off there alone: several are made at a time.
func RunParallel(t *testing.T, rows []Row) {
	t.Helper()
	run(t, rows, func(r Row, t *testing.T) {
		t.Parallel()
		r.run(t)
	})
}

func run(t *testing.T, rows []Row, one func(Row, *testing.T)) {
	t.Helper()
	byIsolation := map[string][]Row{}
	for _, row := range rows {
		isolation := row.Isolation
		if isolation == "" {
			isolation = "any"
		}
		byIsolation[isolation] = append(byIsolation[isolation], row)
	}
	for isolation, rows := range byIsolation {
		t.Run(isolation, func(t *testing.T) {
			for _, row := range rows {
				t.Run(row.Name, func(t *testing.T) { one(row, t) })
			}
		})
	}
}

func (r Row) run(t *testing.T) {
	if r.Want == "" {
		t.Fatal("the row does not say how the attack is refused")
	}
	t.Run("refused", func(t *testing.T) {
		err := r.Try(t, true)
		switch {
		case err == nil:
			t.Error("the attack succeeds")
		case !strings.Contains(err.Error(), r.Want):
			t.Errorf("refused by %q, not by %q", err, r.Want)
		}
	})
	t.Run("control", func(t *testing.T) {
		if err := r.Try(t, false); err != nil {
			t.Errorf("the attack fails without the defence, so the row proves nothing: %v", err)
		}
	})
}
