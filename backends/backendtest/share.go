package backendtest

// Share returns an Only that keeps every nth check, the one with the number first and
// those that follow it. Kinds of targets that differ little share the suite so.
func Share(first, every int) func(Check) bool {
	kept := map[string]bool{}
	for i, c := range Checks() {
		if (i+first)%every == 0 {
			kept[c.Name] = true
		}
	}
	return func(c Check) bool { return kept[c.Name] }
}
