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
func (c *Config) Effective() []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(mappingOf(reflect.ValueOf(c).Elem(), all)); err != nil {
		panic(fmt.Sprintf("write the effective configuration: %v", err)) // it has only plain values
	}
	return b.Bytes()
}

// mappingOf returns the keys of selected fields of a struct.
func mappingOf(v reflect.Value, selects func(field) bool) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v.Type()) {
		if !selects(f) {
			continue
		}
		if flex, is := v.Field(f.index).Interface().(*Flex); is && flex.Capacity.AtOnce() {
			m.Content = append(m.Content, mappingOf(reflect.ValueOf(*flex), besideCapacity).Content...)
		} else if n := nodeOf(f, v.Field(f.index)); n != nil {
			m.Content = append(m.Content, encoded(f.key), n)
		}
	}
	return m
}

// nodeOf returns the value of a field; nil if the value is the same as no value.
func nodeOf(f field, v reflect.Value) *yaml.Node {
	switch value := v.Interface().(type) {
	case *Flex:
		return mappingOf(v.Elem(), inFlexBlock)
	case time.Duration:
		return encoded(value.String())
	}
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.String:
		named := &yaml.Node{Kind: yaml.MappingNode}
		for i := range v.Len() {
			item, selects := reflect.Indirect(v.Index(i)), all
			if set, is := item.Interface().(NodeSet); is && set.Flex == nil {
				selects = inSize
			}
			named.Content = append(named.Content, encoded(item.FieldByName("Name").String()), mappingOf(item, selects))
		}
		return named
	case v.Kind() == reflect.Struct:
		if m := mappingOf(v, all); len(m.Content) > 0 {
			return m
		}
		return nil
	case v.CanInt() && (v.Int() < f.low || v.Int() > f.high):
		return nil
	case v.Kind() == reflect.String && v.Len() == 0, v.Kind() == reflect.Map && v.Len() == 0, v.Kind() == reflect.Slice && v.IsNil():
		return nil
	}
	n := encoded(v.Interface())
	if v.Kind() == reflect.Slice {
		n.Style = yaml.FlowStyle
	}
	return n
}

func encoded(value any) *yaml.Node {
	n := &yaml.Node{}
	if err := n.Encode(value); err != nil {
		panic(fmt.Sprintf("write the effective configuration: %v", err)) // it has only plain values
	}
	return n
}
