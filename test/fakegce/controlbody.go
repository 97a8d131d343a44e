package fakegce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// ParseSwitches reads switches from a JSON object and refuses unknown fields.
func ParseSwitches(text string) (s Switches, err error) {
	err = readObject([]byte(text), &s)
	return s, err
}

// readObject reads one JSON object and refuses unknown fields. Its errors are written for
// users who do not see the code.
func readObject(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return wrongJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its JSON value")
	}
	return nil
}

// wrongJSON rewrites an error of encoding/json without Go's terms.
func wrongJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	var text notDuration
	unknown, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.As(err, &text):
		return text
	case isUnknown:
		return fmt.Errorf("unknown field %s", unknown)
	case errors.As(err, &wrong) && wrong.Field == "":
		return errors.New("it must be an object")
	case errors.As(err, &wrong):
		field := strings.TrimPrefix(wrong.Field, "faultFields.") // the name of the embedded struct
		return fmt.Errorf("%q must be %s", field, kindOf(wrong.Type))
	}
	return errors.New("it is not JSON")
}

// kindOf returns JSON's name for the values of a Go type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Float64:
		return "a number"
	case reflect.Int:
		return "a whole number"
	}
	return "an object"
}

// duration is a time.Duration written in JSON as a string such as "1h30m".
type duration struct{ time.Duration }

func (d *duration) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		return nil
	}
	if d.Duration, err = time.ParseDuration(string(text)); err != nil {
		return notDuration(text)
	}
	return nil
}

// notDuration is the error for a text that is not a duration.
type notDuration string

func (n notDuration) Error() string {
	return fmt.Sprintf("not a duration: %q; write it like \"90s\" or \"1h30m\"", string(n))
}
