package match

import (
	"slices"
	"testing"
)

// What is behind the end of the budget is not fetched and not silently left out.
func TestGREP03BudgetIsTold(t *testing.T) {
	files := map[string]string{"a": "needle\n", "b": "needle\n", "c": "needle\n", "d/.gitignore": "e\n", "d/e": "needle\n", "d/f": "needle\n"}
	for _, c := range []struct {
		bytes int64
		want  []string
		notes []string
	}{
		{1000, []string{"a:1:needle", "b:1:needle", "c:1:needle", "d/f:1:needle"}, nil},
		{28, []string{"a:1:needle", "b:1:needle", "c:1:needle", "d/f:1:needle"}, nil},
		{15, []string{"a:1:needle", "b:1:needle", "c:1:needle"}, []string{"1 file was not searched: files travel from this target to be searched, at most 15B of them; narrow the search with path or glob"}},
		{7, []string{"a:1:needle"}, []string{"3 files were not searched: files travel from this target to be searched, at most 7B of them; narrow the search with path or glob"}},
	} {
		b := NewBudget(c.bytes)
		var got []string
		_, err := SearchWith(t.Context(), b.Within(inMemory(files)), SearchRequest{Root: "/", Path: "/", Pattern: "needle"}, Options{Workers: 1}, func(l SearchLine) bool {
			got = append(got, l.Path+":1:"+l.Text)
			return true
		})
		if err != nil || !slices.Equal(got, c.want) || !slices.Equal(b.Notes(), c.notes) {
			t.Errorf("%d bytes: %q, %q, %v", c.bytes, got, b.Notes(), err)
		}
	}
}
