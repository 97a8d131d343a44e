package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page is a documentation page.
type page struct {
	path    string // relative to the repository's root
	blocks  []block
	links   []link
	anchors map[string]bool
}

// block is a fenced block. Its language determines its use:
//
//	sh          commands as typed; they must exit 0 and print no Slurm error
//	bash NAME   a job script, or the content of an executable file NAME
//	yaml NAME   a file
//	yaml        a fragment of config.yaml, which must load
//	slurm       lines of slurm.conf; with a NAME, a file
//	go          code; the tests follow the example of CONTRIBUTING.md
//	text        output, or a picture
type block struct {
	language string
	name     string // of the file; empty: none
	line     int    // first line of the content
	text     string
}

// link is a link to a place in the repository or elsewhere.
type link struct {
	target string
	line   int // first line of its paragraph or table
}

// singlePages lists the pages outside docs.
var singlePages = []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "test/README.md", "test/chaos/README.md"}

// readPages reads all pages of the repository at root.
func readPages(root string) ([]*page, error) {
	paths := slices.Clone(singlePages)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			path, err = filepath.Rel(root, path)
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var pages []*page
	for _, path := range paths {
		source, err := os.ReadFile(filepath.Join(root, path))
		if errors.Is(err, fs.ErrNotExist) && path != "README.md" {
			continue
		}
		if err != nil {
			return nil, err
		}
		p, err := parsePage(path, source)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

var (
	inTag       = regexp.MustCompile(`(?:href|src|srcset)="([^"]+)"`)
	tagID       = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// parsePage parses a page.
func parsePage(path string, source []byte) (*page, error) {
	p := &page{path: path, anchors: make(map[string]bool)}
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	line := 0 // of the current block
	return p, ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			line = 1 + bytes.Count(source[:n.Lines().At(0).Start], []byte("\n"))
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			language, name := "", ""
			if n.Info != nil {
				language, name, _ = strings.Cut(strings.TrimSpace(string(n.Info.Value(source))), " ")
			}
			b := block{language, name, line, string(n.Lines().Value(source))}
			if lines := n.Lines(); lines.Len() > 0 && !bytes.HasPrefix(bytes.TrimSpace(source[lines.At(lines.Len()-1).Stop:]), []byte("```")) {
				return ast.WalkStop, fmt.Errorf("%s:%d: a block that does not end; close it with ```", path, line-1)
			}
			p.blocks = append(p.blocks, b)
		case *ast.Heading:
			p.addAnchor(words(n, source))
		case *ast.Link:
			p.links = append(p.links, link{string(n.Destination), line})
		case *ast.Image:
			p.links = append(p.links, link{string(n.Destination), line})
		case *ast.HTMLBlock:
			p.addTags(string(n.Lines().Value(source)), line)
		case *ast.RawHTML:
			p.addTags(string(n.Segments.Value(source)), line)
		}
		return ast.WalkContinue, nil
	})
}

func (p *page) addTags(html string, line int) {
	for _, found := range inTag.FindAllStringSubmatch(html, -1) {
		p.links = append(p.links, link{found[1], line})
	}
	for _, id := range tagID.FindAllStringSubmatch(html, -1) {
		p.anchors[id[1]] = true
	}
}

// words returns the text of a node without markup.
func words(n ast.Node, source []byte) (all string) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			all += string(t.Value(source))
		} else {
			all += words(child, source)
		}
	}
	return all
}

// addAnchor adds the anchor that GitHub assigns to a heading. Repeated headings are numbered.
func (p *page) addAnchor(heading string) {
	name := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	unique := name
	for n := 1; p.anchors[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	p.anchors[unique] = true
}

// runs reports whether a block of the page must be run, written or loaded.
func (p *page) runs() bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return b.language != "text" && b.language != "go" })
}

// types reports whether a command of the page contains the word.
func (p *page) types(word string) bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return b.language == "sh" && strings.Contains(b.text, word) })
}
