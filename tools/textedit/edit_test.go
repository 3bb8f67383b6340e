package textedit_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/textedit"
)

type edits = []textedit.Edit

// apply fails the test on an error.
func apply(t *testing.T, content string, list ...textedit.Edit) textedit.Outcome {
	t.Helper()
	before := bytes.Clone([]byte(content))
	given := []byte(content)
	out, err := textedit.Apply("a.txt", given, list)
	if err != nil {
		t.Fatalf("Apply(%q): %v", content, err)
	}
	if !bytes.Equal(before, given) {
		t.Fatal("Apply modified its input")
	}
	return out
}

type applyCase struct {
	name, content string
	edits         edits
	want          string
	tolerant      []int
}

func runApply(t *testing.T, cases []applyCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := apply(t, c.content, c.edits...)
			if got := string(out.Bytes); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if diff := cmp.Diff(c.tolerant, out.Tolerant); diff != "" {
				t.Errorf("Tolerant: %s", diff)
			}
		})
	}
}

func TestApply(t *testing.T) {
	runApply(t, []applyCase{
		{"one", "a\nb\nc\n", edits{{"b", "B"}}, "a\nB\nc\n", nil},
		{"whole file", "a", edits{{"a", "b"}}, "b", nil},
		{"delete all", "a\n", edits{{"a\n", ""}}, "", nil},
		{"several, not in order", "one two three", edits{{"three", "3"}, {"one", "1"}}, "1 two 3", nil},
		{"adjacent", "abcd", edits{{"ab", "x"}, {"cd", "y"}}, "xy", nil},
		{"no newline at end", "a\nb", edits{{"b", "b\n"}}, "a\nb\n", nil},
		{"NUL bytes", "a\x00b\x00c", edits{{"\x00b", "\x00\x00"}}, "a\x00\x00\x00c", nil},
	})
}

func TestEDIT01TolerantMatchKeepsOtherBytes(t *testing.T) {
	runApply(t, []applyCase{
		{
			"trailing blanks", "untouched   \nreplace me   \nafter\ntrailing   \n",
			edits{{"replace me\nafter", "D\nE"}},
			"untouched   \nD\nE\ntrailing   \n",
			[]int{0},
		},
		{
			"blanks in old only", "x  \n\u00a0keep\nfoo\nbar\u3000\n",
			edits{{"foo  \nbar", "y"}},
			"x  \n\u00a0keep\ny\u3000\n",
			[]int{0},
		},
		{"blanks at the end of old", "foo \t\nbar\n", edits{{"foo   ", "X"}}, "X\nbar\n", []int{0}},
		{"blanks at the end of file", "bar\nfoo ", edits{{"foo\t", "X"}}, "bar\nX", []int{0}},
		{"blanks before the first ending", "x \t\nfoo\n", edits{{"  \nfoo", "\nbar"}}, "x\nbar\n", []int{0}},
		{"quotes elsewhere", "“a”\nsay “hi”\n‘b’ – c\n", edits{{`say "hi"`, `say "ho"`}}, "“a”\nsay \"ho\"\n‘b’ – c\n", []int{0}},
		{"exact wins", "say “hi”\nsay \"hi\"\n", edits{{`"hi"`, `"ho"`}}, "say “hi”\nsay \"ho\"\n", nil},
		{"full width", "ＡＢＣ\nｘ＝１\nＤ\n", edits{{"x=1", "x=2"}}, "ＡＢＣ\nx=2\nＤ\n", []int{0}},
		{"only the second", "a\n‘b’\n", edits{{"a", "A"}, {"'b'", "'c'"}}, "A\n'c'\n", []int{1}},
	})
}

func TestEDIT01TolerantMatchIsNoGuess(t *testing.T) {
	for _, c := range []struct{ name, content, old string }{
		{"indentation", "\tfoo()\n\tbar()\n", "foo()\nbar()"},
		{"a word that goes on", "“returned”", `"return `},
		{"blanks alone", "a\nb\nc", "  \n"},
		{"tab for blanks", "a b", "a\tb"},
		{"case", "Foo", "foo"},
		{"half of a ligature", "oﬃce", "of"},
		{"the other half", "oﬁx", "ix"},
		{"half of a combined character", "e\u0301\u0323x", "\u1eb9"},
		{"text before the end of a line", "foo bar\n", "foo\t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := textedit.Apply("a.txt", []byte(c.content), edits{{c.old, "NEW"}})
			var missing *textedit.NotFoundError
			if !errors.As(err, &missing) {
				t.Errorf("got %v, want NotFoundError", err)
			}
		})
	}
}

func TestEDIT02OtherEncodingsStay(t *testing.T) {
	latin := "const x = 1;\n// caf\xe9\n"
	gbk := "\xc4\xe3\xba\xc3\nkey = 1\n\xca\xc0\xbd\xe7"
	surrogate := "a\n\xed\xa0\x80\n\xff\xfe\nz"
	runApply(t, []applyCase{
		{"Latin-1", latin, edits{{"const x = 1;", "const x = 2;"}}, "const x = 2;\n// caf\xe9\n", nil},
		{"GBK", gbk, edits{{"key = 1", "key = 2"}}, strings.Replace(gbk, "1", "2", 1), nil},
		{"tolerant beside bad bytes", "\xe9 ‘k’ \xe9\n\xc3", edits{{"'k'", "'v'"}}, "\xe9 'v' \xe9\n\xc3", []int{0}},
		{"surrogates and marks", surrogate, edits{{"z", "é"}}, "a\n\xed\xa0\x80\n\xff\xfe\né", nil},
	})
}

func TestEDIT03TolerantMatchKeepsTheRestOfTheLine(t *testing.T) {
	for _, e := range []string{"caf\u00e9", "cafe\u0301"} {
		tail := " + x  # " + e + " – note…  \n"
		runApply(t, []applyCase{
			{e, "msg = “hi”" + tail, edits{{`"hi"`, `"bye"`}}, `msg = "bye"` + tail, []int{0}},
			{"behind " + e, e + " ﬁ ½ “hi” ﬁ", edits{{`"hi"`, `"bye"`}}, e + ` ﬁ ½ "bye" ﬁ`, []int{0}},
		})
	}
	runApply(t, []applyCase{
		{"old covers folds of other lengths", "[ﬁ ½ e\u0301 x² “]", edits{{"fi 1⁄2 é x2 \"", "Z"}}, "[Z]", []int{0}},
		{"no-break space", "a\u00a0\u2013\u202fb\u00a0c", edits{{"a - b", "A"}}, "A\u00a0c", []int{0}},
	})
}

func TestEDIT05TextIsLiteral(t *testing.T) {
	template := "a $& b $$ c $1 ${0} \\1 \\n %s $` $'"
	runApply(t, []applyCase{
		{"new", "x\nKEY\ny", edits{{"KEY", template}}, "x\n" + template + "\ny", nil},
		{"old", "x\na.b(c)*\nabc\n", edits{{"a.b(c)*", "^$"}}, "x\n^$\nabc\n", nil},
		{"both", "[" + template + "]", edits{{template, template + template}}, "[" + template + template + "]", nil},
	})
}

func TestLineEndingsOfTheSurroundings(t *testing.T) {
	runApply(t, []applyCase{
		{"CRLF", "a\r\nb\r\nc\r\n", edits{{"a\nb", "A\nB\nB2"}}, "A\r\nB\r\nB2\r\nc\r\n", nil},
		{"inside one line of CRLF", "a\r\nb\r\n", edits{{"b", "b1\nb2"}}, "a\r\nb1\r\nb2\r\n", nil},
		{"last line, CRLF before", "a\r\nb", edits{{"b", "b\nc"}}, "a\r\nb\r\nc", nil},
		{"LF in a mixed file", "a\r\nb\nc\r\n", edits{{"b", "1\n2"}}, "a\r\n1\n2\nc\r\n", nil},
		{"CRLF in a mixed file", "a\nb\r\nc\n", edits{{"b", "1\n2"}}, "a\n1\r\n2\r\nc\n", nil},
		{"mixed within the span", "a\r\nb\nc\r\nd\n", edits{{"a\nb\nc\nd", "a\nb\nX\nd"}}, "a\r\nb\nX\r\nd\n", nil},
		{"mixed, lines removed", "a\r\nb\nc\r\nd\n", edits{{"a\nb\nc\nd\n", "a\nd\n"}}, "a\r\nd\n", nil},
		{"mixed, tail kept", "a\nb\r\nc\nd\r\n", edits{{"a\nb\nc\nd\n", "a\nN\nN\nc\nd\n"}}, "a\nN\r\nN\nc\nd\r\n", nil},
		{"starts with an ending", "a\r\nb\r\n", edits{{"\nb", "\nc"}}, "a\r\nc\r\n", nil},
		{"ends with an ending", "a\r\nb\r\n", edits{{"a\n", ""}}, "b\r\n", nil},
		{"explicit CRLF", "a\r\nb\r\n", edits{{"a\r\nb", "c\r\nd"}}, "c\r\nd\r\n", nil},
		{"explicit CRLF finds only that", "a\nb\na\r\nb", edits{{"a\r\nb", "c"}}, "a\nb\nc", nil},
		{"explicit CRLF into LF is literal", "a\nb\n", edits{{"a", "a\r"}}, "a\r\nb\n", nil},
		{"tolerant, CRLF", "a  \r\n“b”\r\n", edits{{"a\n\"b\"", "x\ny"}}, "x\r\ny\r\n", []int{0}},
		{"CRLF in old, LF in file", "a\nb\n", edits{{"a\r\nb", "x\ny"}}, "x\ny\n", []int{0}},
		{"other CRs stay", "a\rb\r\r\nc\r\n", edits{{"c", "d"}}, "a\rb\r\r\nd\r\n", nil},
		{"CR of the text itself", "a\r\r\nb", edits{{"a\r\nb", "x"}}, "x", []int{0}},
	})
}

func TestEDIT07ExactlyOneByteOrderMark(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	runApply(t, []applyCase{
		{"old without", bom + "key: 1\n", edits{{"key: 1", "key: 2"}}, bom + "key: 2\n", nil},
		{"old with", bom + "key: 1\n", edits{{bom + "key: 1", "key: 2"}}, bom + "key: 2\n", nil},
		{"both with", bom + "key: 1\n", edits{{bom + "key: 1", bom + "key: 2"}}, bom + "key: 2\n", nil},
		{"new with", bom + "key: 1\n", edits{{"key: 1", bom + "key: 2"}}, bom + "key: 2\n", nil},
		{"old with is at the start", bom + "a\na\n", edits{{bom + "a", "b"}}, bom + "b\na\n", nil},
		{"later line", bom + "a\nb\n", edits{{"b", "c"}}, bom + "a\nc\n", nil},
		{"delete all", bom + "a", edits{{"a", ""}}, bom, nil},
		{"the mark alone", bom + "a", edits{{bom, "x"}}, bom + "xa", nil},
		{"tolerant", bom + "‘a’\r\nb", edits{{bom + "'a'\nb", "c\nd"}}, bom + "c\r\nd", []int{0}},
		{"a mark that is none", "a" + bom + "b", edits{{"a" + bom, "x"}}, "xb", nil},
	})
}
