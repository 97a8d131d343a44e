package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// page is a page of the documentation.
type page struct {
	path    string // from the repository's root
	blocks  []block
	links   []link
	anchors map[string]bool
}

// block is a fenced block. Its language says what becomes of it:
//
//	sh          commands as typed, which must exit 0 without an error of Slurm's
//	bash NAME   a job script, or what a file NAME says that is made executable
//	yaml NAME   a file
//	yaml        a part of config.yaml, which must load
//	slurm       lines of slurm.conf, which Slurm must know; with a NAME a file too
//	text        output, or a picture
type block struct {
	language string
	name     string // of the file; empty: none
	line     int    // of the first line in it
	text     string
}

// link is a link to a place in the repository or elsewhere.
type link struct {
	target string
	line   int
}

// The pages are these, and all of docs.
var (
	singlePages = []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "test/README.md", "test/chaos/README.md"}
	pageFolder  = "docs"
)

// readPages reads all pages of the repository at root.
func readPages(root string) ([]*page, error) {
	paths := slices.Clone(singlePages)
	err := filepath.WalkDir(filepath.Join(root, pageFolder), func(path string, _ fs.DirEntry, err error) error {
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
		text, err := os.ReadFile(filepath.Join(root, path))
		if errors.Is(err, fs.ErrNotExist) && path != "README.md" {
			continue
		}
		if err != nil {
			return nil, err
		}
		p, err := parsePage(path, string(text))
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

var (
	fence    = regexp.MustCompile("^ *```+ *([^`]*)$")
	heading  = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)
	inline   = regexp.MustCompile(`\]\(<?([^()\s>]+)>?(?: "[^"]*")?\)`)
	named    = regexp.MustCompile(`^ *\[[^\]]+\]: +(\S+)`)
	inTag    = regexp.MustCompile(`(?:href|src|srcset)="([^"]+)"`)
	tagID    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	codeSpan = regexp.MustCompile("`[^`]*`")
)

// parsePage takes a page apart.
func parsePage(path, text string) (*page, error) {
	p := &page{path: path, anchors: make(map[string]bool)}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if open := fence.FindStringSubmatch(lines[i]); open != nil {
			end := slices.IndexFunc(lines[i+1:], func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "```") })
			if end < 0 {
				return nil, fmt.Errorf("%s:%d: a block that does not end; close it with ```", path, i+1)
			}
			p.addBlock(open[1], i+2, lines[i+1:i+1+end])
			i += end + 1
			continue
		}
		p.addProse(lines[i], i+1)
	}
	return p, nil
}

func (p *page) addBlock(info string, line int, text []string) {
	language, name, _ := strings.Cut(strings.TrimSpace(info), " ")
	p.blocks = append(p.blocks, block{language, name, line, strings.Join(text, "\n") + "\n"})
}

func (p *page) addProse(text string, line int) {
	if h := heading.FindStringSubmatch(text); h != nil {
		p.addAnchor(h[1])
	}
	plain := codeSpan.ReplaceAllString(text, "``")
	for _, form := range []*regexp.Regexp{inline, named, inTag} {
		for _, found := range form.FindAllStringSubmatch(plain, -1) {
			p.links = append(p.links, link{found[1], line})
		}
	}
	for _, id := range tagID.FindAllStringSubmatch(plain, -1) {
		p.anchors[id[1]] = true
	}
}

var (
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// addAnchor adds the anchor that GitHub gives a heading: a second one of the
// same words is numbered.
func (p *page) addAnchor(words string) {
	words = strings.ToLower(linkText.ReplaceAllString(words, "$1"))
	name := strings.ReplaceAll(notInAnchor.ReplaceAllString(words, ""), " ", "-")
	unique := name
	for n := 1; p.anchors[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	p.anchors[unique] = true
}

// runs reports whether something on the page is to be run, written or loaded.
func (p *page) runs() bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return b.language != "text" })
}

// types reports whether a command of the page has the word.
func (p *page) types(word string) bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return b.language == "sh" && strings.Contains(b.text, word) })
}
