package compare

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// version is the version of the transcripts that Read reads.
const version = 1

// Project replaces every project name and number in a transcript.
const Project = "PROJECT"

// Header is the first line of a transcript, a file that slurmflex-trial --record wrote.
type Header struct {
	Version int       `json:"transcript"`
	Begun   time.Time `json:"begun"`
}

// Exchange is a call and its answer.
type Exchange struct {
	Verb   string          `json:"verb"`
	Path   string          `json:"path"`
	Query  string          `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Status int             `json:"status"` // 0: the call got no answer
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  string          `json:"error,omitempty"` // why the call got no answer
}

// lineLimit is the longest line that Read accepts, in bytes: a list of 500 instances is well below
// this limit.
const lineLimit = 16 << 20

// Read reads a transcript. Its errors name the line.
func Read(r io.Reader) (h Header, exchanges []Exchange, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, lineLimit)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			err = json.Unmarshal(lines.Bytes(), &h)
		} else {
			var e Exchange
			err = json.Unmarshal(lines.Bytes(), &e)
			exchanges = append(exchanges, e)
		}
		if err != nil {
			return Header{}, nil, fmt.Errorf("line %d: %w", n, err)
		}
		if h.Version != version {
			return Header{}, nil, fmt.Errorf("line 1: transcript version %d, and this program reads %d", h.Version, version)
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return Header{}, nil, err
	case h.Version == 0:
		return Header{}, nil, errors.New("the file is empty")
	}
	return h, exchanges, nil
}
