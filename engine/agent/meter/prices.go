package meter

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/yamldoc"
)

//go:embed prices.yaml
var embedded []byte

// Price is the price of a model's tokens, in USD per million.
type Price struct {
	Input, Output float64
	// CacheRead, CacheWrite and CacheWriteHour (for entries that stay for an hour) are the prices
	// of input that the model's cache provides or stores. Default: Input, Input and CacheWrite.
	CacheRead, CacheWrite, CacheWriteHour float64
	// Long is the price of requests with more than LongAbove tokens of input, including those of
	// the cache; nil = the same.
	Long      *Price
	LongAbove int64
}

// Prices are the prices of models, by patterns of their names.
type Prices struct {
	files []priceFile // the last one has precedence
}

type priceFile struct {
	date   string
	prices map[string]Price // by folded pattern
}

var (
	fileKeys  = []string{"date", "prices"}
	priceKeys = []string{"input", "output", "cache_read", "cache_write", "cache_write_1h"}
	longKeys  = append([]string{"above"}, priceKeys...)
)

// ReadPrices reads Seer's own prices, and then files of the same YAML format. A later file has
// precedence over all earlier ones. An absent file has no prices. The error has all mistakes, each
// with file:line.
func ReadPrices(files ...string) (*Prices, error) {
	p := &Prices{}
	errs := []error{p.read("prices.yaml", embedded)}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the prices of models cannot be read: %w", err))
			continue
		}
		errs = append(errs, p.read(file, data))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// Date is the date of Seer's own prices: YYYY-MM-DD.
func (p *Prices) Date() string { return p.files[0].date }

// Find returns the price of a model. In a file, the longest matching pattern counts. A pattern may
// also match the part of the name after a "/" or a ".", because gateways add prefixes. A "." equals
// a "-", and case does not matter.
func (p *Prices) Find(model string) (Price, bool) {
	names := []string{folded(model)}
	for i, c := range model {
		if c == '/' || c == '.' {
			names = append(names, folded(model[i+1:]))
		}
	}
	for i := len(p.files) - 1; i >= 0; i-- {
		best, price := "", Price{}
		for pattern, its := range p.files[i].prices {
			if fits(pattern, names) && (best == "" || longer(pattern, best)) {
				best, price = pattern, its
			}
		}
		if best != "" {
			return price, true
		}
	}
	return Price{}, false
}

func folded(name string) string { return strings.ReplaceAll(strings.ToLower(name), ".", "-") }

func fits(pattern string, names []string) bool {
	for _, name := range names {
		if ok, _ := path.Match(pattern, name); ok && name != "" { // reading has checked the patterns
			return true
		}
	}
	return false
}

// longer orders patterns by their number of characters without stars, then alphabetically.
func longer(a, b string) bool {
	plain := func(s string) int { return len(s) - strings.Count(s, "*") }
	if plain(a) != plain(b) {
		return plain(a) > plain(b)
	}
	return a < b
}

// cost returns the cost of a request in USD.
func (p Price) cost(u usage) float64 {
	if p.Long != nil && u.input+u.cacheRead+u.cacheWrite > p.LongAbove {
		p = *p.Long
	}
	total := float64(u.input)*p.Input + float64(u.output)*p.Output + float64(u.cacheRead)*p.CacheRead +
		float64(u.cacheWrite-u.cacheWriteHour)*p.CacheWrite + float64(u.cacheWriteHour)*p.CacheWriteHour
	return total / 1e6
}

// read adds the prices of a file.
func (p *Prices) read(file string, data []byte) error {
	r := &reader{yamldoc.Document{File: file}}
	root := r.NonEmptyRoot(data, "`prices:` and below it models with their prices")
	if root == nil {
		return r.Err()
	}
	f := r.Fields(root, "the file", fileKeys)
	found := priceFile{date: r.Text(f["date"], "date"), prices: map[string]Price{}}
	if n := f["date"]; n != nil {
		if _, err := time.Parse(time.DateOnly, found.date); err != nil {
			r.At(n.Line, "date: %q is not a day; write one as 2026-11-28", found.date)
		}
	}
	if f["prices"] == nil {
		r.At(root.Line, "prices: missing; write models with their prices")
	} else {
		r.prices(f["prices"], found.prices)
	}
	p.files = append(p.files, found)
	return r.Err()
}

type reader struct{ yamldoc.Document }

// prices reads the prices of models, in the order of the file.
func (r *reader) prices(n *yaml.Node, into map[string]Price) {
	fields := r.Fields(n, "prices", nil)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if pattern := key.Value; fields[pattern] == value {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				r.At(key.Line, "prices: %q is not a pattern; write the name of a model, with * for what may differ", pattern)
			}
			into[folded(pattern)] = r.price(value, "prices."+pattern)
		}
	}
}

func (r *reader) price(n *yaml.Node, what string) Price {
	f := r.Fields(n, what, append([]string{"long"}, priceKeys...))
	p := r.amounts(n, f, what)
	if long := f["long"]; long != nil {
		lf := r.Fields(long, what+".long", longKeys)
		its := r.amounts(long, lf, what+".long")
		p.Long = &its
		above := r.Text(lf["above"], what+".long.above")
		value, err := strconv.ParseInt(above, 10, 64)
		if err != nil || value <= 0 {
			r.At(long.Line, "%s.long.above: %q is not a number of tokens", what, above)
		}
		p.LongAbove = value
	}
	return p
}

// amounts reads the fields that the usual price and the price of long requests have in common.
func (r *reader) amounts(n *yaml.Node, f map[string]*yaml.Node, what string) Price {
	p := Price{Input: r.amount(f["input"], what+".input"), Output: r.amount(f["output"], what+".output")}
	for _, key := range priceKeys[:2] {
		if n.Kind == yaml.MappingNode && f[key] == nil {
			r.At(n.Line, "%s.%s: missing; write USD for a million tokens", what, key)
		}
	}
	p.CacheRead, p.CacheWrite = p.Input, p.Input
	if v := f["cache_read"]; v != nil {
		p.CacheRead = r.amount(v, what+".cache_read")
	}
	if v := f["cache_write"]; v != nil {
		p.CacheWrite = r.amount(v, what+".cache_write")
	}
	p.CacheWriteHour = p.CacheWrite
	if v := f["cache_write_1h"]; v != nil {
		p.CacheWriteHour = r.amount(v, what+".cache_write_1h")
	}
	return p
}

func (r *reader) amount(n *yaml.Node, what string) float64 {
	if n == nil {
		return 0
	}
	value, err := strconv.ParseFloat(r.Text(n, what), 64)
	if err != nil || !(value >= 0 && value < math.MaxInt32) {
		r.At(n.Line, "%s: %q is not an amount in USD", what, n.Value)
		return 0
	}
	return value
}
