package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// FuzzAQuestion sends arbitrary requests to a cluster with arbitrary text by other users. Each
// request must get an answer, only reads are allowed, and text of others must never become markup
// in a page.
func FuzzAQuestion(f *testing.F) {
	f.Add("GET", "/", "localhost:8918", "none left")
	f.Add("GET", "/why?q=812", "127.0.0.1:8918", "<script>alert(1)</script>")
	f.Add("HEAD", "/status.json", "[::1]:8918", "\x00\xff")
	f.Add("POST", "/why?q=alpha-a3-1", "localhost", `"onclick="x`)
	f.Add("GET", "/why?q=%zz&q=../..", "evil.example", "'; drop")
	f.Add("GET", "/healthz/../metrics", "", "")
	f.Fuzz(func(t *testing.T, method, target, host, text string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost:8918/", nil)
		if err != nil {
			t.Skip("clients cannot send that method")
		}
		u, err := r.URL.Parse(target)
		if err != nil {
			t.Skip("or that target")
		}
		r.URL, r.Host = u, host
		asBrowser(r)
		w := newWorld()
		w.pass(text)
		answer := httptest.NewRecorder()
		w.Handler().ServeHTTP(answer, r)

		assert.Less(t, answer.Code, 504)
		assert.NotEqual(t, http.StatusInternalServerError, answer.Code)
		if r.Method != "" && r.Method != http.MethodGet && r.Method != http.MethodHead {
			assert.Equal(t, http.StatusMethodNotAllowed, answer.Code)
		}
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") && strings.Contains(text, "<") {
			own := newWorld()
			own.pass("plain")
			plain := httptest.NewRecorder()
			own.Handler().ServeHTTP(plain, r)
			assert.Equal(t, strings.Count(plain.Body.String(), "<script"), strings.Count(answer.Body.String(), "<script"))
		}
	})
}
