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

// timeOf reads a time of Compute's. It is in UTC, because each time in another zone keeps a copy of that.
func timeOf(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err
}

// named is a record of a list.
type named interface{ name() string }

// faulty is what of a record could not be read, by the name of its field.
type faulty map[string]error

// String is empty if all could be read.
func (f faulty) String() string {
	for _, field := range slices.Sorted(maps.Keys(f)) {
		return oneLine(fmt.Sprintf("%s: %v", field, f[field]))
	}
	return ""
}

// note adds a fault, unless the field has one already.
func (f faulty) note(field string, err error) {
	if _, known := f[field]; err != nil && !known {
		f[field] = err
	}
}

// errNameless is a record that may be anything.
var errNameless = errors.New("answer not understood: a record without a name")

// eachRow calls each with the records of the array that comes next. A record that is
// not as it should be costs what of it cannot be read, and not the list. One without a
// name is an error, which is returned when all are read.
func eachRow[T named](s *stream, each func(T, faulty) error) error {
	return eachText(s, func(text []byte) error {
		one, wrong, err := readRow[T](text)
		if err != nil {
			return err
		}
		return each(one, wrong)
	})
}

// eachText calls each with the texts of these records, as eachRow does with what they say.
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

// readRow reads a record, and says what of it cannot be read.
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

// readFields reads the fields of a record that can be read, and says which
// cannot.
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

// distinct holds each thing of a list once, by its name, in the list's order.
type distinct[T any] struct {
	all []T
	at  map[string]int
}

// add keeps v, unless it is there already. It returns the one that is, if that is
// not the same: then nobody can say which of the two holds.
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

// contradiction is what is unread of a thing that a list has twice, and not alike.
const contradiction = "the list has it twice, and not alike"
