package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"autotune/internal/jsonobject"
	"autotune/space/expr"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// failedTimes are the words that Kernel Tuner has in place of a time.
var failedTimes = map[trial.Status]string{
	trial.CompileError: "CompilationFailedConfig",
	trial.Pruned:       "InvalidConfig",
	trial.LaunchError:  "RuntimeFailedConfig",
	trial.Crashed:      "RuntimeFailedConfig",
	trial.Timeout:      "RuntimeFailedConfig",
	trial.WrongResult:  "RuntimeFailedConfig",
}

// WriteKernelTuner writes trials of one template as a cache of Kernel Tuner, which
// calls tunables by the names of their macros. More than that of a trial, such as how
// it failed or what else was measured, has no place there.
func WriteKernelTuner(w io.Writer, p *operator.Problem, t *operator.Template, device string, trials []trial.Trial) error {
	o := p.Operator
	keys := make([]string, len(t.Tunables))
	var values, rows jsonobject.Writer
	for i, tunable := range t.Tunables {
		keys[i] = o.MacroName(tunable.Name)
		list := make([]expr.Value, len(tunable.Values))
		for k, v := range tunable.Values {
			list[k] = foreignValue(v)
		}
		if err := values.Add(keys[i], list); err != nil {
			return err
		}
	}
	for _, x := range trials {
		if x.Template != t.Name {
			continue
		}
		key, row, err := rowOf(o, x)
		if err != nil {
			return err
		}
		if err := rows.Add(key, row); err != nil {
			return err
		}
	}
	var file jsonobject.Writer
	for _, field := range []struct {
		key   string
		value any
	}{
		{"schema_version", SchemaVersion}, {"device_name", device}, {"kernel_name", t.Launches[0].Entry.Text}, {"problem_size", p.Shape},
		{"tune_params_keys", keys}, {"tune_params", json.RawMessage(values.Bytes())}, {"objective", objective}, {"cache", json.RawMessage(rows.Bytes())},
	} {
		if err := file.Add(field.key, field.value); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s\n", file.Bytes())
	return err
}

// foreignValue is a value as kernels, and so other tools, have it: 0 or 1 for a boolean.
func foreignValue(v expr.Value) expr.Value {
	if n, ok := v.AsInt(); ok {
		return expr.Int(n)
	}
	return v
}

// rowOf is a trial as a row of a cache, with its key.
func rowOf(o *operator.Operator, x trial.Trial) (key string, row json.RawMessage, err error) {
	var fields jsonobject.Writer
	add := func(key string, value any) {
		if err == nil {
			err = fields.Add(key, value)
		}
	}
	words := make([]string, len(x.Values))
	for i, v := range x.Values {
		value := foreignValue(v.Value)
		words[i] = value.String()
		add(o.MacroName(v.Name), value)
	}
	if x.Status == trial.OK {
		add("time", x.Time.Median)
		add("times", x.SamplesMS)
	} else {
		add("time", failedTimes[x.Status])
	}
	add("compile_time", x.Phases.CompileMS)
	add("verification_time", x.Phases.VerifyMS)
	add("benchmark_time", x.Phases.MeasureMS)
	add("strategy_time", 0)
	add("framework_time", 0)
	add("timestamp", x.At.UTC().Format("2006-01-02 15:04:05.000000-07:00"))
	return strings.Join(words, ","), fields.Bytes(), err
}
