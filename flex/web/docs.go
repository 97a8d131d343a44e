package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"slurmflex/docs"
)

// docData is the data of a page of the documentation.
type docData struct{ Cluster, Query, Name, Text string }

// docs answers with a page of the documentation as text, or with the section of ?section=.
func (s *Server) docs(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("page")
	text, err := docs.Pages.ReadFile(name + ".md")
	if err != nil {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	part := string(text)
	if anchor := r.URL.Query().Get("section"); anchor != "" {
		if part = sectionOf(part, anchor); part == "" {
			http.Error(w, "no such section", http.StatusNotFound)
			return
		}
	}
	render(w, http.StatusOK, "docs.html", docData{Cluster: s.Board.Cluster(), Name: name, Text: part})
}

var (
	heading  = regexp.MustCompile(`(?m)^(#+) (.+)$`)
	unlinked = regexp.MustCompile(`[^\w\- ]`) // absent from anchors
)

// sectionOf returns the section of a page under the heading with that anchor; empty if there is none.
func sectionOf(page, anchor string) string {
	level, from := 0, 0
	for _, at := range heading.FindAllStringSubmatchIndex(page, -1) {
		marks, title := page[at[2]:at[3]], page[at[4]:at[5]]
		switch {
		case level > 0 && len(marks) <= level:
			return page[from:at[0]]
		case level == 0 && strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(title), ""), " ", "-") == anchor:
			level, from = len(marks), at[0]
		}
	}
	if level == 0 {
		return ""
	}
	return page[from:]
}

// docLink returns the address of a section of the documentation.
func docLink(page, section string) string { return fmt.Sprintf("/docs/%s?section=%s", page, section) }
