package history

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// decoder reads lines. Lines as this program writes them take a tenth of the time
// that encoding/json takes; all others are left to that.
type decoder struct {
	texts map[string]string // those that come again and again: names of nodesets, users, zones

	last     *Entry                  // of the line before, which has most of its texts in common with the next
	date     [len("2006-01-02")]byte // of the last time that was read
	midnight Time                    // the beginning of that day
	wrong    bool                    // a value of the line is not of its key's type
}

// maxTexts bounds the texts that are kept.
const maxTexts = 100_000

// decode reads a line into e, and returns an error if it is none of ours. It uses the
// memory of what e held before. It is faster if last is the entry of the line before;
// it is never nil, and not e.
func (d *decoder) decode(line []byte, e, last *Entry) error {
	d.last = last
	*e = Entry{Uses: e.Uses[:0]}
	if !d.fast(line, e) {
		*e = Entry{}
		if err := json.Unmarshal(line, e); err != nil {
			return err
		}
	}
	return e.check()
}

// fast reads an object of strings without escapes, of whole numbers, true and
// false, and of the list of jobs. It reports false if the line has anything more, or
// anything that encoding/json would not read just so.
func (d *decoder) fast(line []byte, e *Entry) bool {
	if bytes.IndexByte(line, '\\') >= 0 || !utf8.Valid(line) {
		return false
	}
	d.wrong = false
	rest, ok := d.object(line, func(key []byte, v value) bool { return d.set(e, key, v) }, func(rest []byte) ([]byte, bool) {
		return d.uses(rest, e)
	})
	return ok && !d.wrong && len(rest) == 0
}

// value is a scalar.
type value struct {
	is     scalarType
	text   []byte
	number int64 // 1 for true
}

type scalarType byte

const (
	isText scalarType = iota
	isNumber
	isBool
)

// object reads an object, calls set for each of its scalars and list for the list
// of jobs, and returns what follows the object.
func (d *decoder) object(b []byte, set func([]byte, value) bool, list func([]byte) ([]byte, bool)) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '{' {
		return nil, false
	}
	b = b[1:]
	for {
		var key []byte
		if key, b, ok = text(b); !ok || len(b) < 2 || b[0] != ':' {
			return nil, false
		}
		b = b[1:]
		if b[0] == '[' {
			if list == nil || string(key) != "jobs" {
				return nil, false
			}
			if b, ok = list(b); !ok {
				return nil, false
			}
		} else {
			var v value
			if v, b, ok = scalar(b); !ok || !set(key, v) {
				return nil, false
			}
		}
		switch {
		case len(b) == 0:
			return nil, false
		case b[0] == '}':
			return b[1:], true
		case b[0] != ',':
			return nil, false
		}
		b = b[1:]
	}
}

// uses reads the list of jobs.
func (d *decoder) uses(b []byte, e *Entry) (rest []byte, ok bool) {
	b = b[1:]
	if len(e.Uses) > 0 {
		return nil, false // a second one
	}
	for {
		var u, last Use
		if n := len(e.Uses); n < len(d.last.Uses) {
			last = d.last.Uses[n]
		}
		if b, ok = d.object(b, func(key []byte, v value) bool { return d.setUse(&u, &last, key, v) }, nil); !ok || len(b) == 0 {
			return nil, false
		}
		e.Uses = append(e.Uses, u)
		switch b[0] {
		case ']':
			return b[1:], true
		case ',':
			b = b[1:]
		default:
			return nil, false
		}
	}
}

// text reads a string without escapes.
func text(b []byte) (inside, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(b); i++ { // they are short
		switch c := b[i]; {
		case c == '"':
			return b[1:i], b[i+1:], true
		case c < ' ':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// scalar reads a string without escapes, a whole number from 0 up of at most 18
// digits, true or false.
func scalar(b []byte) (v value, rest []byte, ok bool) {
	switch {
	case b[0] == '"':
		v.text, rest, ok = text(b)
		return v, rest, ok
	case bytes.HasPrefix(b, []byte("true")):
		return value{is: isBool, number: 1}, b[4:], true
	case bytes.HasPrefix(b, []byte("false")):
		return value{is: isBool}, b[5:], true
	}
	v.is = isNumber
	n := 0
	for n < len(b) && n < 19 && b[n] >= '0' && b[n] <= '9' {
		v.number = v.number*10 + int64(b[n]-'0')
		n++
	}
	return v, b[n:], n == 1 || n > 1 && n < 19 && b[0] != '0'
}

// set sets the field of that key. A key that is not known is passed over: a later
// version of the same schema may have more.
func (d *decoder) set(e *Entry, key []byte, v value) bool {
	switch string(key) {
	case "v":
		e.Version = int(d.number(v, isNumber))
	case "kind":
		e.Kind = Kind(d.keep(v, string(d.last.Kind)))
	case "id":
		e.ID = string(d.text(v))
	case "nodeset":
		e.NodeSet = d.keep(v, d.last.NodeSet)
	case "machine_type":
		e.Machine = d.keep(v, d.last.Machine)
	case "region":
		e.Region = d.keep(v, d.last.Region)
	case "zone":
		e.Zone = d.keep(v, d.last.Zone)
	case "node":
		e.Node = d.keep(v, d.last.Node)
	case "count":
		e.Count = int(d.number(v, isNumber))
	case "gpus":
		e.GPUs = int(d.number(v, isNumber))
	case "lease_seconds":
		e.Seconds = d.number(v, isNumber)
	case "from":
		return d.setTime(&e.From, v)
	case "to":
		return d.setTime(&e.To, v)
	case "end":
		e.End = End(d.keep(v, string(d.last.End)))
	case "attempts":
		e.Attempts = int(d.number(v, isNumber))
	case "cause":
		e.Cause = d.keep(v, d.last.Cause)
	case "flex_start":
		e.FlexStart = d.number(v, isBool) == 1
	case "spot":
		e.Spot = d.number(v, isBool) == 1
	case "booting_seconds":
		e.Booting = d.number(v, isNumber)
	case "used_seconds":
		e.Used = d.number(v, isNumber)
	case "idle_seconds":
		e.Idle = d.number(v, isNumber)
	case "wasted_seconds":
		e.Wasted = d.number(v, isNumber)
	default:
		return d.setWho(&e.Who, &d.last.Who, key, v)
	}
	return true
}

func (d *decoder) setUse(u, last *Use, key []byte, v value) bool {
	switch string(key) {
	case "from":
		return d.setTime(&u.From, v)
	case "to":
		return d.setTime(&u.To, v)
	}
	return d.setWho(&u.Who, &last.Who, key, v)
}

func (d *decoder) setWho(w, last *Who, key []byte, v value) bool {
	switch string(key) {
	case "job":
		w.Job = uint32(d.number(v, isNumber))
		return v.number <= 1<<32-1
	case "name":
		w.Name = d.keep(v, last.Name)
	case "user":
		w.User = d.keep(v, last.User)
	case "account":
		w.Account = d.keep(v, last.Account)
	case "partition":
		w.Partition = d.keep(v, last.Partition)
	default:
		return bytes.IndexFunc(key, isFolded) < 0
	}
	return true
}

// isFolded reports whether encoding/json may take a letter for another one in a key.
func isFolded(c rune) bool { return c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf }

func (d *decoder) text(v value) []byte {
	d.wrong = d.wrong || v.is != isText
	return v.text
}

func (d *decoder) number(v value, is scalarType) int64 {
	d.wrong = d.wrong || v.is != is
	return v.number
}

// keep is a text of its own, most often the last one; equal ones share memory.
func (d *decoder) keep(v value, last string) string {
	text := d.text(v)
	if string(text) == last {
		return last
	}
	if kept, ok := d.texts[string(text)]; ok {
		return kept
	}
	if d.texts == nil || len(d.texts) >= maxTexts {
		d.texts = map[string]string{}
	}
	kept := string(text)
	d.texts[kept] = kept
	return kept
}

// setTime reads a time such as 2026-11-22T08:13:32Z. It reports false for any
// other form of RFC 3339.
func (d *decoder) setTime(to *Time, v value) bool {
	b := d.text(v)
	if len(b) != len("2006-01-02T15:04:05Z") || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != 'Z' {
		return false
	}
	if string(b[:10]) != string(d.date[:]) && !d.setDate(b[:10]) {
		return false
	}
	hour, minute, second := two(b[11:]), two(b[14:]), two(b[17:])
	if hour > 23 || minute > 59 || second > 59 {
		return false
	}
	*to = d.midnight + Time(hour*3600+minute*60+second)
	return true
}

// setDate reads a day such as 2026-11-22.
func (d *decoder) setDate(b []byte) bool {
	century, years, month, day := two(b), two(b[2:]), two(b[5:]), two(b[8:])
	year := century*100 + years
	if century > 99 || years > 99 || b[4] != '-' || b[7] != '-' || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return false
	}
	copy(d.date[:], b)
	d.midnight = Time(daysSince1970(year, month, day) * 24 * 3600)
	return true
}

// two is the number that two digits are, from 0 to 99; more if they are none.
func two(b []byte) int64 {
	tens, ones := b[0]-'0', b[1]-'0'
	if tens > 9 || ones > 9 {
		return 100
	}
	return int64(tens)*10 + int64(ones)
}

func daysIn(year, month int64) int64 {
	switch {
	case month == 2 && (year%4 == 0 && year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// daysSince1970 counts the days of the Gregorian calendar from March on, so that
// the day of a leap year is the last. The year is 0 or later.
func daysSince1970(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	if year < 0 {
		year += 400
		return daysSince1970(year, month, day) - 146097
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}
