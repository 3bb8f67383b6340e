package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/cmd/piremote/internal/wire"
)

func (a *app) modelsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "models [word...]",
		Short: "List the models that can be asked, and whether there is a key for them",
		Long: "models lists the catalogue's models by provider: the context window and the longest answer in tokens, the price of a million\n" +
			"tokens in US dollars (input, output, read from the cache, written to it), whether they see images, and the levels of thinking.\n" +
			"With words it lists the models whose provider/id holds each of them. It asks nobody, and prints no key.",
		RunE: func(_ *cobra.Command, args []string) error { return a.models(args) },
	}
}

func (a *app) models(words []string) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	providers, err := wire.ModelProviders(cfg, a.getenv)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	found := 0
	for _, p := range providers {
		models := slices.DeleteFunc(slices.Clone(p.Models), func(m wire.ModelEntry) bool { return !holds(p.Name+"/"+m.ID, words) })
		if len(models) == 0 && (len(p.Models) > 0 || !holds(p.Name+"/", words)) {
			continue
		}
		if found++; found > 1 {
			_, _ = fmt.Fprintln(w)
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", p.Name, about(p))
		if len(models) > 0 {
			_, _ = fmt.Fprint(w, "  MODEL\tCONTEXT\tOUTPUT\tIN\tOUT\tREAD\tWRITE\tIMAGES\tTHINKING\n")
		}
		for _, m := range models {
			_, _ = fmt.Fprintf(w, "  %s\n", strings.Join([]string{
				p.Name + "/" + m.ID, tokens(m.ContextWindow), tokens(m.MaxOutput), dollars(m.CostIn), dollars(m.CostOut),
				dollars(m.CostCacheRead), dollars(m.CostCacheWrite), yes(m.Vision), levels(m),
			}, "\t"))
		}
	}
	if found == 0 {
		return &usageError{fmt.Errorf("no model's provider/id holds %s; piremote models lists all", strings.Join(words, " and "))}
	}
	return w.Flush()
}

// holds reports whether name holds each word, in either case.
func holds(name string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(strings.ToLower(name), strings.ToLower(word)) {
			return false
		}
	}
	return true
}

// about says how a provider is reached.
func about(p wire.ModelProvider) string {
	text := p.KeyVariable + " is not set"
	switch {
	case p.HasKey:
		text = p.KeyVariable + " is set"
	case !p.KeyNeeded:
		text = "no key is needed"
	}
	if p.BaseURL != "" {
		text += ", configured at " + withoutUser(p.BaseURL)
	}
	if len(p.Models) == 0 {
		text += "; any model of the server can be named"
	}
	return text
}

// withoutUser takes a name and a password out of an address.
func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); ok && i >= 0 {
		return scheme + "://" + host[i+1:] + "/" + path
	}
	return address
}

func tokens(n int64) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
	}
	return strconv.FormatInt((n+500)/1000, 10) + "k"
}

func dollars(cost float64) string { return strconv.FormatFloat(cost, 'g', 4, 64) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// levels are the levels of thinking that can be asked for.
func levels(m wire.ModelEntry) string {
	switch {
	case !m.Reasoning:
		return "no"
	case len(m.ThinkingLevels) == 0:
		return "any level"
	}
	return strings.ReplaceAll(strings.Join(m.ThinkingLevels, ","), "none", "off")
}
