package report

import (
	"fmt"
	"strconv"

	"github.com/seer-engine/seer/engine/event"
)

// cost is what a run has cost.
type cost struct {
	Sandbox, Model, Total string
	Models                []costRow // by model
	Requests              []costRow
	Left                  string
	Estimated, Unpriced   bool
}

// costRow is a request, or the sum of those to a model.
type costRow struct {
	Name, Time, Status                        string
	Requests                                  int
	Input, CacheRead, CacheWrite, Output, USD string
	Took                                      string
	Estimated, Unpriced                       bool
}

func (s *source) cost(most int) cost {
	c := cost{
		Sandbox: dollars(s.Cost), Model: dollars(s.ModelCost), Total: dollars(s.Cost + s.ModelCost),
		Estimated: s.Estimated, Unpriced: s.Unpriced,
	}
	sums := map[string]*event.ModelRequest{}
	counts := map[string]int{}
	var models []string
	first, last := ends(len(s.requests), min(most, 1000))
	for i, r := range s.requests {
		sum := sums[r.Model]
		if sum == nil {
			if len(models) == 100 {
				continue
			}
			sum = &event.ModelRequest{Model: r.Model}
			sums[r.Model], models = sum, append(models, r.Model)
		}
		counts[r.Model]++
		sum.Input, sum.Output, sum.CacheRead, sum.CacheWrite = sum.Input+r.Input, sum.Output+r.Output, sum.CacheRead+r.CacheRead, sum.CacheWrite+r.CacheWrite
		sum.Cost, sum.Seconds = sum.Cost+r.Cost, sum.Seconds+r.Seconds
		sum.Estimated, sum.Unpriced = sum.Estimated || r.Estimated, sum.Unpriced || r.Unpriced
		if i < first || i >= last {
			row := costRowOf(r.ModelRequest)
			row.Time, row.Status = r.Time.UTC().Format("15:04:05"), strconv.Itoa(r.Status)
			if r.Error != "" {
				row.Status += " " + line(r.Error, 80)
			}
			c.Requests = append(c.Requests, row)
		}
	}
	if last > first {
		c.Left = fmt.Sprintf("%d of %d requests are left out of this table; the sums have all.", last-first, len(s.requests))
	}
	for _, m := range models {
		row := costRowOf(*sums[m])
		row.Requests = counts[m]
		c.Models = append(c.Models, row)
	}
	return c
}

func costRowOf(r event.ModelRequest) costRow {
	row := costRow{
		Name: line(r.Model, 80), Input: count(r.Input), Output: count(r.Output), CacheRead: count(r.CacheRead), CacheWrite: count(r.CacheWrite),
		USD: dollars(r.Cost), Took: seconds(r.Seconds), Estimated: r.Estimated, Unpriced: r.Unpriced,
	}
	if r.Unpriced {
		row.USD = "no price"
	}
	return row
}

// count groups digits by thin spaces.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}
