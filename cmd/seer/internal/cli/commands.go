package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Args checks the number of arguments; what names them for the message.
func Args(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		switch {
		case len(given) < least:
			return Usagef("%s needs %s: %s", cmd.CommandPath(), what, cmd.UseLine())
		case most >= 0 && len(given) > most:
			return Usagef("%s takes no %q: %s", cmd.CommandPath(), given[most], cmd.UseLine())
		}
		return nil
	}
}

// Family is a command that only has others below it.
func Family(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: onlyCommands}
	c.AddCommand(commands...)
	return c
}

func onlyCommands(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return unknown(cmd, given[0])
	}
	return cmd.Help()
}

func unknown(cmd *cobra.Command, typed string) error {
	return Usagef("unknown command %q for %q%s", typed, cmd.CommandPath(), suggest(cmd, typed))
}

// StrictDefaults adds the commands help and completion of cobra, which report no mistake by themselves.
func StrictDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, given []string) error {
				of, rest, _ := root.Find(given)
				if len(rest) > 0 {
					return unknown(of, rest[0])
				}
				return nil
			}
		case "completion":
			c.Args, c.RunE = cobra.ArbitraryArgs, onlyCommands
		}
	}
}

func suggest(cmd *cobra.Command, typed string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(typed); len(near) > 0 {
		return fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return ""
}
