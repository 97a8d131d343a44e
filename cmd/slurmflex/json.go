package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// write writes a command's document as text or as JSON.
func write(w io.Writer, asJSON bool, document fmt.Stringer) error {
	if !asJSON {
		_, err := io.WriteString(w, document.String())
		return err
	}
	return writeJSON(w, document)
}

func writeJSON(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON, as described in docs/reference.md")
}
