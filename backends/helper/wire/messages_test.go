package wire

import (
	"bytes"
	"errors"
	"io/fs"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/piremote/piremote/tools/ops"
)

// messages are one of each, with no field left out.
func messages() []Message {
	when := time.Unix(1_700_000_000, 123_456_789)
	version := FileVersion{ID: ops.FileID{Device: 1, Inode: 1 << 63}, Size: 5, Modified: when}
	failure := &Failure{Form: FormFile, Op: "read", Path: "/a\xff\n", Code: 3, Kind: "k", Text: "t", Tree: true}
	report := ops.WriteReport{Path: "/a", Created: true, InPlace: "why", Kept: "a.orig", Version: ops.Version(version)}
	return []Message{
		&Hello{1, true, "s", "secret", true, true, time.Minute, time.Second},
		&Welcome{1, "linux", "/root", true, true},
		&Request{MethodExec, 9, 8, "c", []byte("body")},
		&Credit{1 << 31},
		&Upload{1, 1 << 40},
		&Part{1, 1 << 40, []byte("data")},
		&OpenRequest{"~/a", "/", []ops.Root{{Path: "/data", ReadOnly: true}, {Path: "/b"}}},
		&OpenReply{1, "/a", "/", []ops.Root{{Path: "/b"}}, []string{"weak", ""}, true},
		&PathRequest{1, "/a b\x00c"},
		&PathReply{"/x"},
		&ReadRequest{1, "/a", 2, 3, 4, &version},
		&ReadReply{version, true, []byte("data")},
		&WindowRequest{1, "/a", ops.WindowRequest{Offset: 1, Limit: 2, MaxBytes: 3}},
		&WindowReply{ops.Window{Data: []byte("a\n"), Lines: 1, TotalLines: 2, LineBytes: 3, Size: 4, Head: []byte("a"), Invalid: true, Version: ops.Version(version)}},
		&StatReply{ops.FileInfo{FileName: "n", FileSize: 1, FileMode: fs.ModeDir | 0o755, Modified: when, ID: ops.FileID{Device: 1, Inode: 2}}},
		&Entries{[]ops.DirEntry{{EntryName: "a", EntryType: fs.ModeSymlink}, {}}},
		&SearchRequest{1, ops.SearchRequest{Root: "/", Path: "/a", Pattern: "p", Literal: true, IgnoreCase: true, Glob: "*", Context: 1, Limit: 2, MaxLine: 3}},
		&Lines{[]ops.SearchLine{{Path: "p", Line: 1, Text: "t", Context: true, Binary: true, Cut: true}}},
		&GlobRequest{1, ops.GlobRequest{Root: "/", Path: "/a", Pattern: "*", Limit: 4}},
		&Paths{[]string{"a", "b/"}},
		&SearchReply{ops.SearchReport{Limited: true, Unreadable: 2, Notes: []string{"n"}}},
		&WriteRequest{1, "/a", WriteSwap, ops.Expect{Exists: true, Size: 3, Hash: "h"}, []byte("data")},
		&WriteReply{report},
		&EditRequest{1, "/a", ops.EditRequest{Name: "a", Edits: []ops.Replacement{{Old: "o", New: "n"}}, Limit: 5, Expect: "ff"}},
		&EditReply{ops.EditReport{WriteReport: report, Before: "b", After: "a", Diff: "d", Patch: "p", FirstChangedLine: 3, Tolerant: []int{0, 2}}},
		&AskRequest{"c"},
		&AskReply{FateUnknown, []byte("r"), failure},
		&Record{"c", true, "/a", 1, &version, "h", true, report, [2]string{"b", "a"}, failure},
		&ExecRequest{"j", 1, ops.Command{
			Script: "s", Shell: ops.Shell{Kind: ops.ShellPowerShell, Path: "/sh"}, Dir: "/", Env: map[string]string{"B": "2", "A": "1"},
			Timeout: 1, Grace: 2, Spill: true, SpillLimit: 3, Background: ops.BackgroundKeep,
		}},
		&AttachRequest{"j", 4},
		&Output{1, ops.Chunk{Dropped: 2, DroppedLines: 3, Data: []byte("x")}},
		&ExecReply{ops.Exit{
			Code: 1, Signal: "KILL", TimedOut: true, Shell: "/sh", Background: true, Killed: 2, Survivors: []string{"1 x"},
			Unverified: "u", Limits: []string{"l"}, SpillPath: "/s", SpillSize: 3, SpillCut: true,
		}, failure, true},
		failure,
	}
}

// Every field survives; so does its absence. A message with a field that is not
// listed fails here, since no field above is zero.
func TestMessagesSurviveEncoding(t *testing.T) {
	for _, want := range messages() {
		if hole := zeroField(reflect.ValueOf(want).Elem(), reflect.TypeOf(want).String()); hole != "" {
			t.Errorf("%s is zero in the test's message", hole)
		}
		got, _ := reflect.New(reflect.TypeOf(want).Elem()).Interface().(Message)
		err := Decode(Encode(want), got)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%T: %v\n%s", want, err, diff)
		}
		empty, _ := reflect.New(reflect.TypeOf(want).Elem()).Interface().(Message)
		err = Decode(Encode(empty), got)
		if diff := cmp.Diff(empty, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("empty %T: %v\n%s", want, err, diff)
		}
	}
}

// zeroField names an exported field that is zero, but for elements of lists.
func zeroField(v reflect.Value, name string) string {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return ""
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		return zeroField(v.Elem(), name)
	}
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			if hole := zeroField(v.Field(i), name+"."+v.Type().Field(i).Name); hole != "" {
				return hole
			}
		}
		return ""
	}
	if v.IsZero() {
		return name
	}
	return ""
}

func TestCutAndPaddedMessagesAreErrors(t *testing.T) {
	for _, m := range messages() {
		b := Encode(m)
		for n := range len(b) {
			got, _ := reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message)
			if err := Decode(b[:n], got); !errors.Is(err, ErrProtocol) {
				t.Errorf("%T cut at %d of %d: %v", m, n, len(b), err)
			}
		}
		got, _ := reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message)
		if err := Decode(append(b, 0), got); !errors.Is(err, ErrProtocol) {
			t.Errorf("%T with a byte more: %v", m, err)
		}
	}
}

// What can be decoded is encoded to something that is decoded to the same.
func FuzzDecode(f *testing.F) {
	for i, m := range messages() {
		f.Add(i, Encode(m))
	}
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		all := messages()
		kind := reflect.TypeOf(all[uint(i)%uint(len(all))]).Elem()
		first, _ := reflect.New(kind).Interface().(Message)
		if err := Decode(raw, first); err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Fatal(err)
			}
			return
		}
		second, _ := reflect.New(kind).Interface().(Message)
		err := Decode(Encode(first), second)
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// A body in pieces is what Encode makes, whatever part of it is taken; what is large
// is not copied.
func TestBodiesAreWhatIsEncoded(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 3*largeField/16)
	all := append(messages(), &WriteRequest{View: 1, Path: "/a", Data: large}, &Part{Upload: 1, Data: large[:largeField]})
	for _, m := range all {
		want, body := Encode(m), EncodeBody(m)
		if got := body.AppendRange(nil, 0, body.Len()); body.Len() != len(want) || !bytes.Equal(got, want) {
			t.Fatalf("%T: %d bytes, want %d", m, len(got), len(want))
		}
		for _, step := range []int{1 + len(want)/7, largeField, len(want) + 9} {
			var got []byte
			for at := 0; at < len(want); at += step {
				got = body.AppendRange(got, at, at+step)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%T: in parts of %d it is another", m, step)
			}
		}
	}
	body := EncodeBody(&WriteRequest{Data: large})
	if n := len(body.pieces); n != 3 || &body.pieces[1][0] != &large[0] {
		t.Errorf("%d pieces, the second of %d bytes is a copy", n, len(body.pieces[1]))
	}
}
