package gce

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// timeOf parses one of Compute's times. It returns UTC, because each time in another zone keeps its
// own copy of the zone.
func timeOf(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err
}

// named is a record of a list.
type named interface{ name() string }

// faulty holds the read errors of a record by field name.
type faulty map[string]error

// String describes one read error, that of the first field by name; it is empty if there is none.
func (f faulty) String() string {
	for _, field := range slices.Sorted(maps.Keys(f)) {
		return oneLine(fmt.Sprintf("%s: %v", field, f[field]))
	}
	return ""
}

// note adds a field's error unless the field already has one.
func (f faulty) note(field string, err error) {
	if _, known := f[field]; err != nil && !known {
		f[field] = err
	}
}

// errNameless reports a record without a name, which could be any object.
var errNameless = errors.New("answer not understood: a record without a name")

// eachRow calls each with every record of the array that comes next. A malformed record loses only
// its unreadable fields and does not make the list fail. A record without a name is an error, which
// eachRow returns after reading all records.
func eachRow[T named](s *stream, each func(T, faulty) error) error {
	return eachText(s, func(text []byte) error {
		one, wrong, err := readRow[T](text)
		if err != nil {
			return err
		}
		return each(one, wrong)
	})
}

// eachText calls each with the text of every record of the array that comes next. Errors of each
// are handled as in eachRow.
func eachText(s *stream, each func(text []byte) error) error {
	var nameless error
	err := s.elements(func() error {
		err := each(s.next())
		if errors.Is(err, errNameless) {
			nameless, err = err, nil
		}
		return err
	})
	return cmp.Or(err, nameless)
}

// readRow reads a record and returns the errors of its unreadable fields.
func readRow[T named](text []byte) (one T, wrong faulty, err error) {
	wrong = faulty{}
	if json.Unmarshal(text, &one) != nil {
		one, wrong = readFields[T](text)
	}
	if one.name() == "" {
		err = errNameless
	}
	return one, wrong, err
}

// readFields reads all readable fields of a record and returns the errors of the others.
func readFields[T any](text []byte) (one T, wrong faulty) {
	wrong = faulty{}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return one, faulty{"record": err}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{field: fields[field]})
		var part T
		if err == nil {
			err = json.Unmarshal(alone, &part)
		}
		if err == nil {
			err = json.Unmarshal(alone, &one)
		}
		wrong.note(field, notUnderstood(err))
	}
	return one, wrong
}

// distinct holds the items of a list without duplicate names, in the list's order.
type distinct[T any] struct {
	all []T
	at  map[string]int
}

// add keeps v unless an item of that name exists. It returns the existing item if it differs from
// v: then neither can be trusted.
func (d *distinct[T]) add(name string, v T) (other *T) {
	if i, there := d.at[name]; there {
		if reflect.DeepEqual(d.all[i], v) {
			return nil
		}
		return &d.all[i]
	}
	if d.at == nil {
		d.at = map[string]int{}
	}
	d.at[name] = len(d.all)
	d.all = append(d.all, v)
	return nil
}

// contradiction is the Unread text of an item that a list contains twice with different content.
const contradiction = "the list has it twice, and not alike"
