package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Project is a small project with one bug. It needs a POSIX sh and nothing else.
type Project struct {
	Files map[string]string // content by path
	Test  string            // the command that runs its test
	// Where the bug is, for people and tests; nothing that mends it is told.
	BugFile string
	BugLine int
}

// function is a library function of two numbers, with its true body.
type function struct {
	name string
	body string // arithmetic of $1 and $2
	eval func(a, b int) int
}

func functions() []function {
	return []function{
		{"sum", "$1 + $2", func(a, b int) int { return a + b }},
		{"difference", "$1 - $2", func(a, b int) int { return a - b }},
		{"product", "$1 * $2", func(a, b int) int { return a * b }},
		{"perimeter", "2 * ($1 + $2)", func(a, b int) int { return 2 * (a + b) }},
		{"square_sum", "$1 * $1 + $2 * $2", func(a, b int) int { return a*a + b*b }},
		{"average", "($1 + $2) / 2", func(a, b int) int { return (a + b) / 2 }},
		{"remainder", "$1 % $2", func(a, b int) int { return a % b }},
		{"double_sum", "$1 + $2 + $1 + $2", func(a, b int) int { return 2 * (a + b) }},
		{"scaled", "10 * $1 + $2", func(a, b int) int { return 10*a + b }},
		{"triangle", "$1 * ($1 + 1) / 2 + $2", func(a, b int) int { return a*(a+1)/2 + b }},
		{"gap", "($1 - $2) * ($1 - $2)", func(a, b int) int { return (a - b) * (a - b) }},
		{"steps", "$1 * 7 + $2 * 3", func(a, b int) int { return a*7 + b*3 }},
	}
}

// New makes a project. The seed decides the names, the order, and the file and
// line of the bug: an off-by-one in one function.
func New(seed uint64) Project {
	r := rand.New(rand.NewPCG(seed, 0x7069)) //nolint:gosec // a sample project, reproducible by its seed
	fns := functions()
	r.Shuffle(len(fns), func(i, j int) { fns[i], fns[j] = fns[j], fns[i] })
	names := []string{"circle", "grid", "ledger", "market", "orbit", "river"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:4]

	p := Project{Files: map[string]string{}, Test: "sh test.sh"}
	bug := r.IntN(len(fns))
	var checks []string
	for n, library := range names {
		file := "lib/" + library + ".sh"
		lines := []string{"# " + strings.ToUpper(library[:1]) + library[1:] + ": arithmetic for the " + library + " reports.", ""}
		for i := n; i < len(fns); i += len(names) {
			f := fns[i]
			name := library + "_" + f.name
			for range r.IntN(3) {
				lines = append(lines, fmt.Sprintf("# See the notes on %s, part %d.", f.name, 1+r.IntN(9)))
			}
			body := f.body
			if i == bug {
				body += " + 1"
				p.BugFile, p.BugLine = file, len(lines)+1
			}
			lines = append(lines, fmt.Sprintf("%s() { echo $((%s)); }", name, body), "")
			for range 2 {
				a, b := 2+r.IntN(40), 2+r.IntN(40)
				checks = append(checks, fmt.Sprintf("check %s %d %d %d", name, a, b, f.eval(a, b)))
			}
		}
		p.Files[file] = strings.Join(lines, "\n")
	}
	slices.Sort(checks)
	p.Files["test.sh"] = testScript(checks)
	p.Files["README"] = "A sample project: libraries in lib/, their test in test.sh. Run it with: sh test.sh\n"
	return p
}

func testScript(checks []string) string {
	return `# Runs every function of the libraries and compares its answer.
for library in lib/*.sh; do . "./$library"; done
passed=0 failed=0
check() {
	got=$("$1" "$2" "$3")
	if [ "$got" = "$4" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1 $2 $3: expected $4, got $got"
	fi
}
` + strings.Join(checks, "\n") + `
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
`
}
