package web

import (
	"net/http"
	"regexp"
	"strings"

	"slurmflex/docs"
)

// section is a part of the troubleshooting page, from one heading to the next. Its anchor is that of
// GitHub, so that a link to the daemon's page and one to a copy of the documentation differ only in
// front of the anchor.
type section struct{ Anchor, Text string }

// troubleshooting answers with the troubleshooting page as text. The alerts link to its sections.
func (s *Server) troubleshooting(w http.ResponseWriter, _ *http.Request) {
	render(w, http.StatusOK, "troubleshooting.html", struct {
		Cluster, Query string
		Sections       []section
	}{Cluster: s.Board.cluster(), Sections: sectionsOf(docs.Troubleshooting)})
}

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unlinked = regexp.MustCompile(`[^\w\- ]`) // absent from anchors
)

// sectionsOf splits a page before each heading.
func sectionsOf(page string) (all []section) {
	at := heading.FindAllStringSubmatchIndex(page, -1)
	for i, h := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		title := unlinked.ReplaceAllString(strings.ToLower(page[h[2]:h[3]]), "")
		all = append(all, section{strings.ReplaceAll(title, " ", "-"), page[h[0]:end]})
	}
	return all
}
