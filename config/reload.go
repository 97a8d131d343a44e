package config

import "reflect"

// Reload merges a newly read configuration into the running one. It keeps the running
// values of keys that a process reads only when it starts, and names those that differ.
func (c *Config) Reload(read *Config) (next *Config, restart []string) {
	merged := *read
	restart = keep(reflect.ValueOf(c).Elem(), reflect.ValueOf(&merged).Elem(), "")
	return &merged, restart
}

// keep copies the values that need a restart, and returns the keys of those that differ.
func keep(running, merged reflect.Value, path string) (differ []string) {
	for _, f := range fieldsOf(running.Type()) {
		now, next := running.Field(f.index), merged.Field(f.index)
		switch {
		case now.Kind() == reflect.Struct:
			differ = append(differ, keep(now, next, path+f.key+".")...)
		case f.restart && !reflect.DeepEqual(now.Interface(), next.Interface()):
			next.Set(now)
			differ = append(differ, path+f.key)
		}
	}
	return differ
}
