package config

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"
)

// Effective returns the configuration as a file with every key that has an effect, including unset
// keys. The file loads as the same configuration.
func (c *Config) Effective() ([]byte, error) {
	w := writer{}
	top := w.mapping(reflect.ValueOf(c).Elem(), all)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if w.err == nil {
		w.err = enc.Encode(top)
	}
	if w.err != nil {
		return nil, fmt.Errorf("write the effective configuration: %w", w.err)
	}
	return b.Bytes(), nil
}

// writer writes the fields of the configuration. err is the first error.
type writer struct{ err error }

// mapping returns the keys of selected fields of a struct.
func (w *writer) mapping(v reflect.Value, selects func(field) bool) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v.Type()) {
		if !selects(f) {
			continue
		}
		if flex, is := v.Field(f.index).Interface().(*Flex); is && flex.Capacity.AtOnce() {
			m.Content = append(m.Content, w.mapping(reflect.ValueOf(*flex), besideCapacity).Content...)
		} else if n := w.value(f, v.Field(f.index)); n != nil {
			w.put(m, f.key, n)
		}
	}
	return m
}

func (w *writer) put(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, w.encoded(key), value)
}

// value returns the value of a field; nil if the value is the same as no value.
func (w *writer) value(f field, v reflect.Value) *yaml.Node {
	switch value := v.Interface().(type) {
	case *Flex:
		return w.mapping(v.Elem(), inFlexBlock)
	case time.Duration:
		return w.encoded(value.String())
	}
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.String:
		named := &yaml.Node{Kind: yaml.MappingNode}
		for i := range v.Len() {
			item, selects := reflect.Indirect(v.Index(i)), all
			if set, is := item.Interface().(NodeSet); is && set.Flex == nil {
				selects = inSize
			}
			w.put(named, item.FieldByName("Name").String(), w.mapping(item, selects))
		}
		return named
	case v.Kind() == reflect.Struct:
		if m := w.mapping(v, all); len(m.Content) > 0 {
			return m
		}
		return nil
	case v.CanInt() && (v.Int() < f.low || v.Int() > f.high):
		return nil
	case v.Kind() == reflect.String && v.Len() == 0, v.Kind() == reflect.Map && v.Len() == 0, v.Kind() == reflect.Slice && v.IsNil():
		return nil
	}
	n := w.encoded(v.Interface())
	if v.Kind() == reflect.Slice {
		n.Style = yaml.FlowStyle
	}
	return n
}

func (w *writer) encoded(value any) *yaml.Node {
	n := &yaml.Node{}
	if err := n.Encode(value); err != nil && w.err == nil {
		w.err = err
	}
	return n
}
