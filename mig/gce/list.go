package gce

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	pageSize  = 500  // Compute's maximum
	pageLimit = 1000 // pages of one list: half a million records
)

// page holds the fields that every page of a list has.
type page struct {
	kind, next   string
	warning      any // of one of Google's types for warnings; nil if there is none
	unreachables []string
}

// warning has the fields that Google's types for warnings share.
type warning struct{ Code, Message string }

// pages checks the pages of a list one after the other. An endless or incomplete list is an error,
// never a shorter list.
type pages struct {
	read  int             // number of pages so far
	given map[string]bool // page tokens so far
}

// add returns an error if the page shows that the list is incomplete or does not end.
func (p *pages) add(one page) error {
	p.read++
	if one.kind == "" { // every list has a kind; without it, the answer must not pass for an empty list
		return errors.New("answer not understood: not a list")
	}
	w, err := recast[*warning](one.warning)
	if err != nil {
		return err
	}
	if w != nil && w.Code != "NO_RESULTS_ON_PAGE" { // this warning is about an empty page
		return fmt.Errorf("incomplete answer: %s: %s", w.Code, w.Message)
	}
	if len(one.unreachables) > 0 {
		return fmt.Errorf("incomplete answer: unreachable: %s", strings.Join(one.unreachables, ", "))
	}
	if one.next == "" {
		return nil
	}
	if p.given[one.next] {
		return fmt.Errorf("the list does not end: page token %q came before", one.next)
	}
	if p.read >= pageLimit {
		return fmt.Errorf("the list does not end: there is more after %d pages", pageLimit)
	}
	if p.given == nil {
		p.given = map[string]bool{}
	}
	p.given[one.next] = true
	return nil
}

// eachRecord adds a page to the list, and calls read for each of its records.
func eachRecord[T any](list *pages, one page, items []*T, read func(*T) error) error {
	if err := list.add(one); err != nil {
		return err
	}
	for _, m := range items {
		if m == nil {
			return errNameless
		}
		if err := read(m); err != nil {
			return err
		}
	}
	return nil
}

// recast returns a value of one of Google's types as a T with fields of the same names: Google has a
// type of its own for each place in the API.
func recast[T any](of any) (as T, err error) {
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &as)
	}
	return as, err
}

// given returns the elements of a list without nulls.
func given[T any](list []*T) []*T {
	return slices.DeleteFunc(list, func(v *T) bool { return v == nil })
}

// distinct holds the records of a list without duplicates, in the list's order. A list contains a
// record twice if a page boundary moves between two calls.
type distinct[T any] struct {
	all []T
	at  map[string]int // by name
}

// add keeps a record. A second record that differs from the first is an error, because neither can
// be trusted.
func (d *distinct[T]) add(name string, v T) error {
	if i, there := d.at[name]; there {
		if !reflect.DeepEqual(d.all[i], v) {
			return fmt.Errorf("answer not understood: the list has %s twice, and not alike", name)
		}
		return nil
	}
	if d.at == nil {
		d.at = map[string]int{}
	}
	d.at[name] = len(d.all)
	d.all = append(d.all, v)
	return nil
}

// errNameless reports a record without a name, which could be any object.
var errNameless = errors.New("answer not understood: a record without a name")

// timeOf parses a time in a record. It returns UTC, because each time in another zone keeps its own
// copy of the zone.
func timeOf(record, field, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("answer not understood: %s: %s: %w", record, field, err)
	}
	return t.UTC(), nil
}

// createdAt parses the creation time of a record, which must have a name.
func createdAt(name, text string) (time.Time, error) {
	if name == "" {
		return time.Time{}, errNameless
	}
	return timeOf(name, "creationTimestamp", text)
}

// namesOf returns the filter for names that begin with the cluster's name and a hyphen. The
// expression must match the whole name. Source: discovery document, parameter filter.
func namesOf(cluster string) string {
	return `name eq "` + regexp.QuoteMeta(cluster) + `-.*"`
}

// perRegion calls read for every region in parallel. A region with a read error is in unseen, with
// the reason, and none of its results are returned.
func perRegion[T any](regions []string, read func(region string) ([]T, error)) (all []T, unseen map[string]error) {
	regions = slices.Compact(slices.Sorted(slices.Values(regions)))
	found := make([][]T, len(regions))
	errs := make([]error, len(regions))
	var wg sync.WaitGroup
	for i, region := range regions {
		wg.Go(func() { found[i], errs[i] = read(region) })
	}
	wg.Wait()
	unseen = make(map[string]error)
	for i, region := range regions {
		if errs[i] != nil {
			unseen[region], found[i] = errs[i], nil
		}
	}
	return slices.Concat(found...), unseen
}
