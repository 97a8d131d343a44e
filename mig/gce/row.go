package gce

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"google.golang.org/protobuf/proto"
)

// named is a record of a list.
type named interface {
	proto.Message
	GetName() string
}

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

// readRows reads the records of a page, each by itself into a new m, and calls
// each with it. A record that is not as it should be costs what of it cannot be
// read, and not the list. One without a name is an error: it may be anything.
func readRows[T named](items json.RawMessage, empty func() T, each func(T, faulty) error) error {
	var rows []json.RawMessage
	if items != nil {
		if err := json.Unmarshal(items, &rows); err != nil {
			return fmt.Errorf("answer not understood: %w", err)
		}
	}
	for _, row := range rows {
		m, wrong := empty(), faulty{}
		if err := understand(row, m); err != nil {
			wrong = readFields(row, m, empty)
		}
		if m.GetName() == "" {
			return errors.New("answer not understood: a record without a name")
		}
		if err := each(m, wrong); err != nil {
			return err
		}
	}
	return nil
}

// readFields reads the fields of a record that can be read, and says which
// cannot.
func readFields[T named](row json.RawMessage, m T, empty func() T) faulty {
	proto.Reset(m)
	wrong := faulty{}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(row, &fields); err != nil {
		return faulty{"record": err}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{field: fields[field]})
		if err != nil {
			wrong.note(field, err)
			continue
		}
		part := empty()
		if err := understand(alone, part); err != nil {
			wrong.note(field, err)
			continue
		}
		proto.Merge(m, part)
	}
	return wrong
}

// distinct holds each thing of a list once, in the list's order.
type distinct[T any] struct {
	all []T
	at  map[string]int // by what tells things apart
}

// add keeps v, unless it is there already. It returns the one that is, if that is
// not the same: then nobody can say which of the two holds.
func (d *distinct[T]) add(key string, v T) (other *T) {
	if i, there := d.at[key]; there {
		if reflect.DeepEqual(d.all[i], v) {
			return nil
		}
		return &d.all[i]
	}
	if d.at == nil {
		d.at = map[string]int{}
	}
	d.at[key] = len(d.all)
	d.all = append(d.all, v)
	return nil
}

// contradiction is what is unread of a thing that a list has twice, and not alike.
const contradiction = "the list has it twice, and not alike"
