package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"slurmflex/flex/view"
)

// answerData is the data of an answer to why.
type answerData struct {
	Cluster, Query, Error, At string
	Answer                    view.Answer
	Story                     []view.Step // empty unless the subject is a job of the last day
}

// why answers browsers with a page and other clients with text. verbose=1 adds the details to the
// text. The page always has them.
func (s *Server) why(w http.ResponseWriter, r *http.Request) {
	v, ok := s.view(w)
	if !ok {
		return
	}
	query, now := r.URL.Query().Get("q"), s.now(r)
	past := s.Board.History.Story(strings.TrimSpace(query))
	answer, err := v.Why(query, now, past)
	status := http.StatusOK
	switch {
	case err != nil && (query == "" || len(query) > view.MaxQuery):
		status = http.StatusBadRequest
	case err != nil:
		status = http.StatusNotFound
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		data := answerData{Cluster: v.Cluster, Query: query, At: at(v.SeenAt, now), Answer: answer}
		if err != nil {
			data.Error = err.Error()
		}
		if answer.Past != nil {
			data.Story = answer.Past.Steps(now)
		}
		render(w, status, "answer.html", data)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	verbose := r.URL.Query().Get("verbose") == "1"
	if past != nil && past.EndedAt.IsZero() && !verbose {
		answer.Past = nil
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(answer.Text(verbose)))
}

// story answers with the recorded events of a job, for `slurmflex why`.
func (s *Server) story(w http.ResponseWriter, r *http.Request) {
	past := s.Board.History.Story(strings.TrimSpace(r.URL.Query().Get("q")))
	if past == nil {
		http.Error(w, "nothing is recorded of such a job", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(past) // fails only if the client is gone
}
