package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkLinks follows every link within the repository at root. It returns the number of links
// and the broken ones.
func checkLinks(root string, pages []*page) (count int, problems []problem) {
	byPath := make(map[string]*page)
	for _, p := range pages {
		byPath[p.path] = p
	}
	for _, p := range pages {
		for _, l := range p.links {
			if outside(l.target) {
				continue
			}
			count++
			if wrong := follow(root, byPath, p, l.target); wrong != "" {
				problems = append(problems, problem{p.path, l.line, fmt.Sprintf("link to %s: %s", l.target, wrong)})
			}
		}
	}
	return count, problems
}

func outside(target string) bool {
	return strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:")
}

// follow returns what is wrong with a link, or "".
func follow(root string, pages map[string]*page, from *page, target string) string {
	file, anchor, _ := strings.Cut(target, "#")
	path := from.path
	if file != "" {
		path = filepath.Join(filepath.Dir(from.path), file)
	}
	if strings.HasPrefix(path, "..") {
		return "leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		return "the file does not exist"
	}
	if anchor == "" {
		return ""
	}
	to, known := pages[path]
	switch {
	case !known:
		return "only pages have anchors"
	case !to.anchors[anchor]:
		return "the page lacks this heading"
	}
	return ""
}
