package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// The scripts ask this program for the words that may come next, so they know
// operators, parameters and strategies as well as flags. Where it has none to
// offer, they complete file names.

const bashCompletion = `# bash completion for autotune: source <(autotune completion bash)
_autotune() {
  local cur="${COMP_WORDS[COMP_CWORD]}"
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" ` + completeWord + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    COMPREPLY=($(compgen -f -- "$cur"))
    compopt -o filenames
  elif [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[=:] ]]; then
    compopt -o nospace
  fi
}
complete -F _autotune autotune
`

const zshCompletion = `#compdef autotune
# zsh completion for autotune: source <(autotune completion zsh)
_autotune() {
  local -a candidates
  candidates=("${(@f)$("$words[1]" ` + completeWord + ` "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "$candidates[1]" ]]; then
    _files
  elif [[ ${#candidates} -eq 1 && "$candidates[1]" == *[=:] ]]; then
    compadd -S '' -- "${candidates[@]}"
  else
    compadd -- "${candidates[@]}"
  fi
}
compdef _autotune autotune
`

const fishCompletion = `# fish completion for autotune: autotune completion fish | source
function __autotune_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] ` + completeWord + ` $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c autotune -f -a '(__autotune_candidates)'
`

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a shell's completion script",
		ArgsUsage: "bash|zsh|fish",
		Action: func(c *cli.Context) error {
			script, err := completionScript(c.Args().First())
			if err != nil {
				return badInput(err)
			}
			_, err = fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

func completionScript(shell string) (string, error) {
	switch shell {
	case "bash":
		return bashCompletion, nil
	case "zsh":
		return zshCompletion, nil
	case "fish":
		return fishCompletion, nil
	case "":
		return "", fmt.Errorf("which shell? bash, zsh or fish, as in: source <(autotune completion bash)")
	}
	return "", fmt.Errorf("no completion for shell %q; want bash, zsh or fish, as in: source <(autotune completion bash)", shell)
}
