package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/reports/export"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
	"autotune/tuner/strategy"
)

// completeWord is the first argument of completion scripts. They ask for the words that
// may stand where the last of the other arguments does.
const completeWord = "__complete"

// printCandidates prints them, one a line; nothing where a file's name belongs.
func printCandidates(w io.Writer, app *cli.App, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	typed := words[len(words)-1]
	for _, candidate := range candidates(readArguments(app, words[:len(words)-1]), typed) {
		if strings.HasPrefix(candidate, typed) {
			if _, err := fmt.Fprintln(w, candidate); err != nil {
				return err
			}
		}
	}
	return nil
}

// candidates are the words that may follow the line. Of the last one, a part is typed.
func candidates(before *commandLine, typed string) []string {
	command := before.command
	switch {
	case before.open != "":
		return flagValues(before.open, before.arguments)
	case strings.HasPrefix(typed, "-"):
		return append(flagNames(command.Flags), "--help")
	case len(command.Subcommands) > 0:
		return commandNames(command.Subcommands)
	case command.Name == "completion":
		return shells
	case strings.Contains(command.ArgsUsage, "OPERATOR") && operatorIn(before.arguments) == "":
		return operator.OperatorNames()
	}
	return nil
}

// flagValues are the words that a flag's value may be.
func flagValues(flag string, before []string) []string {
	switch flag {
	case "device":
		return deviceWords()
	case "l2":
		return device.L2Words
	case "launch":
		return device.LaunchWords
	case "math":
		return []string{"auto", "fp32", "tf32", "tf32_even"}
	case "color":
		return colorWords
	case "strategy":
		return strategy.Names()
	case "baseline":
		return []string{"torch_eager=", "torch_compile=", "torch_eager_fp32="}
	case "inputs":
		return operator.Distributions()
	case "format":
		return export.Names()
	}
	return operatorWords(flag, operatorIn(before))
}

// deviceWords are the values of --device, each up to what the user fills in.
func deviceWords() []string {
	words := devices.Forms()
	for i, form := range words {
		if name, _, more := strings.Cut(form, ":"); more {
			words[i] = name + ":"
		}
	}
	return words
}

// operatorIn finds the operator among the words.
func operatorIn(words []string) string {
	for _, word := range words {
		if slices.Contains(operator.OperatorNames(), word) {
			return word
		}
	}
	return ""
}

// operatorWords are the words of an operator with which a flag's value may begin. In
// --where they are its tunables, and what problems and devices give.
func operatorWords(flag, name string) []string {
	op, err := operator.Find(name)
	if err != nil {
		return nil // completion has nowhere to complain
	}
	var words []string
	switch flag {
	case "set":
		for _, p := range op.Parameters {
			words = append(words, p.Name+"=")
		}
	case "template":
		for _, t := range op.Templates {
			words = append(words, t.Name)
		}
	case "config":
		for _, t := range op.Templates {
			words = append(words, "template="+t.Name+",")
		}
	case "where":
		words = slices.Concat(op.Shape, operator.LimitNames())
		for _, p := range op.Parameters {
			words = append(words, p.Components()...)
		}
		for _, t := range op.Templates {
			for _, tunable := range t.Tunables {
				words = append(words, tunable.Name)
			}
		}
		slices.Sort(words)
	}
	return slices.Compact(words)
}
