package callcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
)

func newToken(a app) *cobra.Command {
	return cli.Family("token", "Let others call a service within limits", newTokenNew(a), newTokenLs(a), newTokenRevoke(a))
}

type tokenFlags struct {
	name      string
	access    experiment.Access
	arguments []string
	out       string
}

func newTokenNew(a app) *cobra.Command {
	var f tokenFlags
	c := &cobra.Command{
		Use:   "new ID SERVICE [--function NAME]… [--out FILE]",
		Short: "Make a token with limits and write its connection file",
		Long: `Make a token that can call one service within limits, and write it to a connection
file for seer call --connection, for seer mcp, or for a library's connection.json. A call
beyond a limit does not run, and its error says why. Anybody who can read the file can
call the service.

--argument limits an argument by JSON Schema: 'generate.max_tokens={"maximum": 512}'.`,
		Example: `  seer token new lab model_tools --function next_words --calls 100 --expires 2h --out guest.json
  seer token new lab model_tools --rate 60/min --spend 1.50 --argument 'layer.index={"maximum": 11}'`,
		Args:              cli.Args(2, 2, "a sandbox and a SERVICE"),
		ValidArgsFunction: a.completeSandboxThenService,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.tokenNew(cmd.Context(), f, given[0], given[1])
		},
	}
	c.Flags().StringVar(&f.name, "name", "", "a `NAME` for the token")
	c.Flags().StringArrayVar(&f.access.Functions, "function", nil, "a `FUNCTION` that may be called; may be repeated (default: all)")
	c.Flags().IntVar(&f.access.Calls, "calls", 0, "allow at most this `MANY` calls (default: any number)")
	c.Flags().StringVar(&f.access.Rate, "rate", "", "allow this rate of calls, as in `60/min`, 5/s or 100/12h (default: any rate)")
	c.Flags().DurationVar(&f.access.Expires, "expires", 0, "let the token expire after this long, as in 2h (default: with the sandbox)")
	c.Flags().Float64Var(&f.access.Spend, "spend", 0, "allow calls whose running time costs at most this many `USD` (default: no limit)")
	c.Flags().StringArrayVar(&f.arguments, "argument", nil, "limit an argument: `FUNCTION.PARAMETER=SCHEMA`; may be repeated")
	c.Flags().StringVarP(&f.out, "out", "o", "connection.json", "the connection `FILE` to write; it must not exist")
	return c
}

// limits are the flags as a token has them.
func (f *tokenFlags) limits(now time.Time) (protocol.Token, error) {
	if f.access.Calls < 0 || f.access.Spend < 0 || f.access.Expires < 0 {
		return protocol.Token{}, cli.Usagef("a limit must be above zero; leave it out to set none")
	}
	f.access.Arguments = map[string]map[string]any{}
	for _, bound := range f.arguments {
		place, text, ok := strings.Cut(bound, "=")
		fn, param, dotted := strings.Cut(place, ".")
		var schema map[string]any
		if !ok || !dotted || json.Unmarshal([]byte(text), &schema) != nil || schema == nil {
			return protocol.Token{}, cli.Usagef("%q does not limit an argument; write FUNCTION.PARAMETER=SCHEMA, as in 'generate.max_tokens={\"maximum\": 512}'", bound)
		}
		if f.access.Arguments[fn] == nil {
			f.access.Arguments[fn] = map[string]any{}
		}
		f.access.Arguments[fn][param] = schema
	}
	t, err := engine.TokenOf(f.access, now)
	if err != nil {
		return t, cli.Usagef("--rate: %w; write it as 60/min, 5/s or 100/12h", err)
	}
	t.Name = f.name
	return t, nil
}

// madeToken is the result of token new.
type madeToken struct {
	ID         string `json:"id"`
	Service    string `json:"service"`
	Connection string `json:"connection"`
}

func (a app) tokenNew(ctx context.Context, f tokenFlags, ref, name string) error {
	limits, err := f.limits(time.Now())
	if err != nil {
		return err
	}
	if _, err := os.Lstat(f.out); !errors.Is(err, os.ErrNotExist) {
		if err != nil {
			return err
		}
		return &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("the file %s is there already; name another with --out", f.out)}
	}
	return a.withService(ctx, ref, name, func(v *engine.Service) error {
		held, made, err := v.NewToken(ctx, limits)
		if err != nil {
			return err
		}
		if err := held.Connection().Write(f.out); err != nil {
			return errors.Join(err, v.RevokeToken(context.WithoutCancel(ctx), made.ID))
		}
		file, err := filepath.Abs(f.out)
		if err != nil {
			return err
		}
		return a.Print(madeToken{ID: made.ID, Service: name, Connection: file}, func(io.Writer) error {
			a.UI.Tell("The token %s of %s may call %s", made.ID, name, listText(functionNames(held)))
			return a.Println(file)
		})
	})
}

func functionNames(v *engine.Service) []string {
	names := []string{}
	for _, f := range v.Interface().Functions {
		names = append(names, f.Name)
	}
	return names
}

func listText(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func (a app) withService(ctx context.Context, ref, name string, use func(*engine.Service) error) error {
	s, err := a.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer s.Close()
	v, err := s.Service(ctx, name)
	if err != nil {
		return err
	}
	return use(v)
}

func newTokenLs(a app) *cobra.Command {
	return &cobra.Command{
		Use: "ls ID SERVICE", Aliases: []string{"list"}, Short: "List the tokens of a service, their limits and use",
		Long:              "List the tokens of a service, their limits and their use. The token main belongs to\nthe user who serves the functions.",
		Example:           "  seer token ls lab model_tools",
		Args:              cli.Args(2, 2, "a sandbox and a SERVICE"),
		ValidArgsFunction: a.completeSandboxThenService,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.withService(cmd.Context(), given[0], given[1], func(v *engine.Service) error {
				tokens, err := v.Tokens(cmd.Context())
				if err != nil {
					return err
				}
				if tokens == nil {
					tokens = []protocol.Token{}
				}
				return a.Print(tokens, func(w io.Writer) error {
					return term.PrintTable(w, a.UI.Width(), tokenColumns(), tokenRows(tokens))
				})
			})
		},
	}
}

func newTokenRevoke(a app) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID SERVICE TOKEN…", Short: "Revoke tokens",
		Long:              "Revoke tokens: Seer closes the connections and handles that were made with them, and\nrefuses further calls.",
		Example:           "  seer token revoke lab model_tools t-0c1d2e3f4a5b6c7d",
		Args:              cli.Args(3, -1, "a sandbox, a SERVICE and a TOKEN"),
		ValidArgsFunction: a.completeTokens,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.withService(cmd.Context(), given[0], given[1], func(v *engine.Service) error {
				for _, id := range given[2:] {
					if err := v.RevokeToken(cmd.Context(), id); err != nil {
						return err
					}
				}
				return a.Print(given[2:], func(io.Writer) error { return nil })
			})
		},
	}
}

func tokenColumns() []term.Column {
	return []term.Column{{Title: "TOKEN"}, {Title: "NAME", Drop: 2}, {Title: "FUNCTIONS", Drop: 3}, {Title: "LIMITS"}, {Title: "CALLS"}, {Title: "RAN", Drop: 1}, {Title: "SPENT", Drop: 1}, {Title: "REFUSED", Drop: 1}, {Title: "LAST", Drop: 4}}
}

func tokenRows(tokens []protocol.Token) [][]string {
	rows := make([][]string, len(tokens))
	for i, t := range tokens {
		var use protocol.TokenUse
		if t.Use != nil {
			use = *t.Use
		}
		functions := "all"
		if len(t.Functions) > 0 {
			functions = strings.Join(t.Functions, ", ")
		}
		rows[i] = []string{t.ID, cmp.Or(t.Name, "-"), functions, limitsText(t), fmt.Sprint(use.Calls), seconds(use.Seconds),
			fmt.Sprintf("$%.4f", use.SpendUSD), fmt.Sprint(use.Refused), term.Clock(unixTime(use.Last))}
	}
	return rows
}

// limitsText says what a token may in few words.
func limitsText(t protocol.Token) string {
	var parts []string
	if t.Calls > 0 {
		parts = append(parts, fmt.Sprintf("%d calls", t.Calls))
	}
	if len(t.Rate) == 2 {
		parts = append(parts, fmt.Sprintf("%g in %s", t.Rate[0], term.Span(time.Duration(t.Rate[1]*float64(time.Second)))))
	}
	if t.Expires > 0 {
		parts = append(parts, "until "+term.Clock(time.Unix(t.Expires, 0)))
	}
	if t.SpendUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", t.SpendUSD))
	}
	for _, fn := range slices.Sorted(maps.Keys(t.Arguments)) {
		parts = append(parts, fn+"("+strings.Join(slices.Sorted(maps.Keys(t.Arguments[fn])), ", ")+")")
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}
