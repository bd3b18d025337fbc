package term

import (
	"fmt"
	"strings"
	"time"
)

// Clock is a time as people here write it; with the date when it is not today.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	t = t.Local()
	if now := time.Now(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// Span is a duration with one or two units: 42s, 5m, 3h10m, 2d4h.
func Span(d time.Duration) string {
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

// Plural counts things: 1 grant, 2 grants.
func Plural[N ~int | ~int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Size is a size in powers of a thousand: 512 B, 6.3 MB.
func Size(n int64) string {
	const unit = 1000
	value, prefix := float64(n), " kMGT"
	for value >= unit && len(prefix) > 1 {
		value, prefix = value/unit, prefix[1:]
	}
	if prefix[0] == ' ' {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", value, prefix[0])
}

// BinarySize is a size in powers of 1024: 12 KiB, 1.5 MiB.
func BinarySize(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// ShellQuoted is a path for a shell.
func ShellQuoted(path string) string {
	if strings.ContainsAny(path, " '\"$`\\!*?[](){}<>|&;~#\t\n") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
