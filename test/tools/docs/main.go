// Command docs checks the documentation against the product: every link inside the repository
// leads somewhere, every command runs in the page's own cluster, and every configuration
// loads. docs/dev/testing.md describes the conventions for pages. The command needs root and its
// own mount namespace: make docs-check.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	// limit bounds the check of all pages.
	limit = 20 * time.Minute
	// atOnce is the number of pages with a cluster at the same time.
	atOnce = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	right, err := check(ctx, os.Stdout, os.Args[1:])
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
	}
	if err != nil || !right {
		os.Exit(1)
	}
}

// problem describes what is wrong with a line of a page.
type problem struct {
	page string
	line int // starting at 1
	text string
}

func (p problem) String() string { return fmt.Sprintf("%s:%d: %s", p.page, p.line, p.text) }

// check checks the repository in the working directory. It prints the problems and a line of
// counts. It runs only the requested pages, or all pages if none is requested.
func check(ctx context.Context, out io.Writer, asked []string) (right bool, err error) {
	pages, err := readPages(".")
	if err != nil {
		return false, fmt.Errorf("%w; run it in the repository's root", err)
	}
	links, problems := checkLinks(".", pages)
	wrong, err := runPages(ctx, out, pages, asked)
	if err != nil {
		return false, err
	}
	problems = append(problems, wrong...)
	slices.SortStableFunc(problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.page, b.page), cmp.Compare(a.line, b.line))
	})
	verdict := "all right"
	if len(problems) > 0 {
		verdict = fmt.Sprintf("%d problems", len(problems))
	}
	for _, p := range problems {
		fmt.Fprintln(out, p)
	}
	fmt.Fprintf(out, "docs: %d pages, %d links, %s\n", len(pages), links, verdict)
	return len(problems) == 0, nil
}

// runPages runs the pages in parallel.
func runPages(ctx context.Context, out io.Writer, pages []*page, asked []string) (problems []problem, err error) {
	results := make([]run, len(pages))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, p := range pages {
		if len(asked) > 0 && !slices.Contains(asked, p.path) || !p.runs() {
			continue
		}
		r, known := &results[i], false
		r.page = p
		if r.setting, known = settings[p.path]; !known {
			r.problem(p.blocks[0].line, "the page has commands, but test/tools/docs/settings.go does not name the user who types them")
			continue
		}
		group.Go(func() error {
			begun := time.Now()
			if err := r.all(ctx); err != nil {
				return fmt.Errorf("%s: %w", p.path, err)
			}
			fmt.Fprintf(out, "%s: %.0f s\n", p.path, time.Since(begun).Seconds())
			return nil
		})
	}
	err = group.Wait()
	for _, r := range results {
		problems = append(problems, r.problems...)
	}
	return problems, err
}
