package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine"
)

// where says on what a sandbox runs.
func where(i engine.Info) string {
	parts := []string{"On " + i.Provider}
	if i.Isolation != "" {
		parts = append(parts, "isolation "+i.Isolation)
	}
	if i.Network != "" {
		parts = append(parts, "network "+i.Network)
	}
	return strings.Join(parts, ", ")
}

// clock is a time as people here write it; with the date when it is not today.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	t = t.Local()
	if now := time.Now(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// span is a duration with one or two units: 42s, 5m, 3h10m, 2d4h.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// ends says how long a live sandbox still has.
func ends(i engine.Info) string {
	if !i.State.Live() {
		return "-"
	}
	if i.Lease.Overdue {
		return "overdue"
	}
	left := time.Until(i.Lease.Ends)
	if left <= 0 {
		return "now"
	}
	return "in " + span(left)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// plural counts things: 1 grant, 2 grants.
func plural[N ~int | ~int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func serviceNames(i engine.Info) []string {
	names := make([]string, len(i.Services))
	for n, s := range i.Services {
		names[n] = s.Name
	}
	return names
}
