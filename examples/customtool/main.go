// Command customtool gives the loop a tool of one's own: a Go struct is its
// schema, and the function gets that struct, filled and checked.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/tool"
)

// convertParams are what the model fills in. What has no omitempty is required;
// numbers that come as strings are converted, and what does not fit is explained
// to the model before the tool runs.
type convertParams struct {
	Celsius float64 `json:"celsius" jsonschema:"the temperature in degrees Celsius"`
	Unit    string  `json:"unit,omitempty" jsonschema:"fahrenheit or kelvin; fahrenheit if left out"`
}

// convertDetails are for programs and screens; the model does not see them.
type convertDetails struct {
	Value float64 `json:"value"`
}

// newConvert makes the tool.
func newConvert() (tool.Tool, error) {
	return schema.Define(schema.Spec[convertParams]{
		Name:        "convert_temperature",
		Description: "Converts a temperature in degrees Celsius.",
		Access:      tool.AccessRead,
		Execute: func(_ context.Context, _ tool.Call, p convertParams, update tool.Update) (tool.Result, error) {
			if p.Celsius < -273.15 {
				// A failure is an error whose text says what to change.
				return tool.Result{}, fmt.Errorf("convert %g °C: nothing is colder than -273.15 °C", p.Celsius)
			}
			update(tool.TextResult("converting"))
			d := convertDetails{Value: p.Celsius*9/5 + 32}
			unit := "°F"
			switch p.Unit {
			case "", "fahrenheit":
			case "kelvin":
				d.Value, unit = p.Celsius+273.15, "K"
			default:
				return tool.Result{}, fmt.Errorf("unknown unit %q: use fahrenheit or kelvin", p.Unit)
			}
			r := tool.TextResult(fmt.Sprintf("%g %s", d.Value, unit))
			r.Details = d
			return r, nil
		},
	})
}

// session is what the model says here: a wrong call, then a right one.
const session = `
turns:
  - toolCalls: [{name: convert_temperature, arguments: {celsius: warm}}]
  - expect: [{isError: true, contains: celsius}]
    toolCalls: [{name: convert_temperature, arguments: {celsius: "20"}}, {name: convert_temperature, arguments: {celsius: -300}}]
  - expect: [{equals: 68 °F}, {isError: true, contains: colder}]
    text: It is 68 °F.
`

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	convert, err := newConvert()
	if err != nil {
		return err
	}
	script, err := scripted.Parse("session", []byte(strings.TrimSpace(session)))
	if err != nil {
		return err
	}
	active := func() []tool.Tool { return []tool.Tool{convert} }
	a, err := agent.New(agent.Options{Provider: script.Provider(nil), Tools: active, Executor: call.New(call.Options{Tools: active})})
	if err != nil {
		return err
	}
	a.Subscribe(func(_ context.Context, e agent.Event) error {
		if end, ok := e.(agent.ToolExecutionEnd); ok {
			_, err := fmt.Fprintf(out, "%v %s\n", end.IsError, strings.SplitN(tool.TextOf(end.Result.Content), "\n", 2)[0])
			return err
		}
		return nil
	})
	summary, err := a.Prompt(ctx, llm.UserText("How warm is it?", time.Now().UnixMilli()))
	return errors.Join(err, summary.Err)
}
