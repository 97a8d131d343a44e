package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"slurmflex/config"
)

// page is a man page under construction, in roff. Source: man(7).
type page struct{ strings.Builder }

// roff escapes a text so that roff prints it unchanged.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") { // otherwise roff reads it as a request
			b.WriteString(`\&`)
		}
		b.WriteString(line)
	}
	return b.String()
}

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// text writes paragraphs. Paragraphs with indented lines are not filled.
func (p *page) text(text string) {
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		p.WriteString(".PP\n")
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(p, ".nf\n%s\n.fi\n", roff(paragraph))
			continue
		}
		p.WriteString(roff(paragraph) + "\n")
	}
}

// item writes a term and its meaning.
func (p *page) item(term, meaning string) {
	fmt.Fprintf(p, ".TP\n.B %s\n%s\n", roff(term), roff(meaning))
}

// options writes the descriptions of the flags except --help.
func (p *page) options(title string, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if first {
			p.section(title)
			first = false
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(p, ".TP\n.B %s", roff(name))
		if value != "" {
			fmt.Fprintf(p, "\\fI %s\\fR", roff(value))
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0s" {
			usage += " (default: " + f.DefValue + ")"
		}
		p.WriteString("\n" + roff(usage) + "\n")
	})
}

func dashed(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// pageOf returns the man page of a command; unset holds the defaults of options. The page of
// slurmflex itself has more sections.
func pageOf(c *cobra.Command, unset config.Options) string {
	p := &page{}
	p.WriteString(".\\\" Written by UPDATE=1 go test ./cmd/slurmflex -run TestManPages; do not edit.\n")
	fmt.Fprintf(p, ".TH %s 1 \"\" slurmflex slurmflex\n", roff(strings.ToUpper(dashed(c))))
	p.section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", roff(dashed(c)), roff(c.Short))
	p.section("SYNOPSIS")
	fmt.Fprintf(p, ".B %s\n", roff(c.CommandPath()))
	fmt.Fprintf(p, "%s\n", roff(synopsis(c)))
	p.section("DESCRIPTION")
	p.text(described(c))
	commands(p, c)
	p.options("OPTIONS", c.NonInheritedFlags())
	if c.HasParent() {
		p.options("OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	} else if c.HasAvailableSubCommands() {
		reference(p, unset)
	}
	if c.CommandPath() == "slurmflex config" {
		p.section("KEYS")
		keys, _ := config.Explain("")
		for _, k := range keys {
			p.item(k.Path, k.Meaning)
		}
	}
	p.section("EXAMPLES")
	p.text(c.Example)
	p.section("SEE ALSO")
	fmt.Fprintf(p, "%s\n", strings.Join(related(c), ",\n"))
	return p.String()
}

// synopsis returns the text after the command's own name.
func synopsis(c *cobra.Command) string {
	if c.HasAvailableSubCommands() {
		return "[OPTION]... COMMAND"
	}
	_, arguments, _ := strings.Cut(c.Use, " ")
	return strings.TrimSpace("[OPTION]... " + arguments)
}

// commands lists the subcommands by group.
func commands(p *page, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	p.section("COMMANDS")
	for _, g := range append(c.Groups(), &cobra.Group{ID: hookMark, Title: "Called by slurmctld:"}, &cobra.Group{Title: "Others:"}) {
		heading := c.HasParent() // without groups, no heading is needed
		for _, sub := range c.Commands() {
			group := sub.GroupID
			if isHook(sub) {
				group = hookMark
			}
			if !(sub.IsAvailableCommand() || isHook(sub)) || sub.Name() == "help" || group != g.ID {
				continue
			}
			if !heading {
				fmt.Fprintf(p, ".SS %s\n", roff(strings.TrimSuffix(g.Title, ":")))
				heading = true
			}
			p.item(sub.Name(), sub.Short)
		}
	}
}

// related returns the pages of the command's parent and of its subcommands. A command with neither
// is related to slurmflex's page.
func related(c *cobra.Command) []string {
	var pages []string
	switch {
	case c.HasParent():
		pages = append(pages, dashed(c.Parent()))
	case !c.HasAvailableSubCommands():
		pages = append(pages, "slurmflex")
	}
	for _, sub := range c.Commands() {
		if hasPage(sub) {
			pages = append(pages, dashed(sub))
		}
	}
	for i, name := range pages {
		pages[i] = fmt.Sprintf("\\fB%s\\fR(1)", roff(name))
	}
	return pages
}

// hasPage reports whether a command has a page of its own: completion commands for one shell do
// not.
func hasPage(c *cobra.Command) bool {
	return (c.IsAvailableCommand() || isHook(c)) && c.Name() != "help" && !(c.HasParent() && c.Parent().Name() == "completion")
}
