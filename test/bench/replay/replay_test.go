package replay

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACallIsAnsweredAsItWasTheFirstTime(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("X-Page", r.URL.Query().Get("page"))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	defer server.Close()
	client := &http.Client{Transport: Of(http.DefaultTransport)}
	for range 3 {
		for _, page := range []string{"1", "2"} {
			resp, err := client.Get(server.URL + "/list?page=" + page)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, []any{http.StatusTeapot, page, "/list"}, []any{resp.StatusCode, resp.Header.Get("X-Page"), string(body)})
		}
	}
	assert.Equal(t, 2, asked)
}
