package fakegce

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
)

// maxBatch is the maximum number of calls in one batch.
const maxBatch = 1000

// batch answers the calls in a multipart/mixed body in order, each as if it had been sent
// alone.
func (s *Server) batch(r *http.Request, body []byte) reply {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || err != nil || kind != "multipart/mixed" || parameters["boundary"] == "" {
		return refuse(badRequest("Failed to parse batch request: it must be a POST of multipart/mixed with a boundary."))
	}
	var answers bytes.Buffer
	out := multipart.NewWriter(&answers)
	in := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for n := 1; ; n++ {
		part, err := in.NextPart()
		if errors.Is(err, io.EOF) && n > 1 {
			break
		}
		if err != nil || n > maxBatch {
			return refuse(badRequest("Failed to parse batch request: it must have 1 to %d parts.", maxBatch))
		}
		call, sent, err := readPart(r, part)
		if err != nil {
			return refuse(badRequest("Failed to parse batch request: part %d is not an HTTP request.", n))
		}
		answer := s.call(call, sent)
		if answer.dropped {
			return answer
		}
		if err := s.writePart(out, part.Header.Get("Content-ID"), answer); err != nil {
			return refuse(err)
		}
	}
	if err := out.Close(); err != nil {
		return refuse(err)
	}
	return reply{status: http.StatusOK, kind: "multipart/mixed; boundary=" + out.Boundary(), body: answers.Bytes()}
}

// readPart parses the request in one part of a batch. The part inherits the Authorization
// header of the whole unless it has its own.
func readPart(whole *http.Request, part io.Reader) (*http.Request, []byte, error) {
	text := bufio.NewReader(part)
	r, err := http.ReadRequest(text)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err == nil && r.ContentLength <= 0 {
		body, err = io.ReadAll(text)
	}
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", whole.Header.Get("Authorization"))
	}
	return r.WithContext(whole.Context()), bytes.TrimSpace(body), err
}

func (s *Server) writePart(out *multipart.Writer, id string, answer reply) error {
	header := textproto.MIMEHeader{"Content-Type": {"application/http"}}
	if id != "" {
		header.Set("Content-ID", "<response-"+strings.TrimPrefix(id, "<"))
	}
	w, err := out.CreatePart(header)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(w, "HTTP/1.1 %d %s\r\n", answer.status, http.StatusText(answer.status)); err != nil {
		return err
	}
	if err = s.header(answer).Write(w); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\r\n%s\r\n", answer.body)
	return err
}
