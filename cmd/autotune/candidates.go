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

// completeWord is the first argument with which completion scripts ask for the
// words that may stand where the last of the other arguments does.
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

// candidates are the words that may follow the line, of which the last is typed
// in part.
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
		return assignable(baselineNames)
	case "inputs":
		return operator.Distributions()
	case "format":
		return export.Names()
	case "set":
		return parameterNames(operatorIn(before))
	case "template":
		return templateNames(operatorIn(before))
	case "config":
		return startsOfConfigurations(operatorIn(before))
	case "where":
		return expressionNames(operatorIn(before))
	}
	return nil
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

func parameterNames(name string) []string {
	op, err := operator.Find(name)
	if err != nil {
		return nil // completion has nowhere to complain
	}
	var names []string
	for _, p := range op.Parameters {
		names = append(names, p.Name)
	}
	return assignable(names)
}

func templateNames(name string) []string {
	op, err := operator.Find(name)
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range op.Templates {
		names = append(names, t.Name)
	}
	return names
}

func startsOfConfigurations(name string) []string {
	var words []string
	for _, template := range templateNames(name) {
		words = append(words, "template="+template+",")
	}
	return words
}

// expressionNames are names that --where may use: tunables, and what problems
// and devices give.
func expressionNames(name string) []string {
	op, err := operator.Find(name)
	if err != nil {
		return nil
	}
	names := slices.Concat(op.Shape, operator.LimitNames())
	for _, p := range op.Parameters {
		names = append(names, p.Components()...)
	}
	for _, t := range op.Templates {
		for _, tunable := range t.Tunables {
			names = append(names, tunable.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// assignable are names that a value follows.
func assignable(names []string) []string {
	var words []string
	for _, name := range names {
		words = append(words, name+"=")
	}
	return words
}
