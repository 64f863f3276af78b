package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

const bashCompletion = `# bash completion for autotune: source <(autotune completion bash)
_autotune() {
  local cur="${COMP_WORDS[COMP_CWORD]}"
  local words=("${COMP_WORDS[@]:0:$COMP_CWORD}")
  if [[ "$cur" == -* ]]; then words+=("$cur"); fi
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -F _autotune autotune
`

const zshCompletion = `#compdef autotune
# zsh completion for autotune: source <(autotune completion zsh)
_autotune() {
  local -a words_before candidates
  words_before=("${(@)words[1,CURRENT-1]}")
  [[ "$words[CURRENT]" == -* ]] && words_before+=("$words[CURRENT]")
  candidates=("${(@f)$("${words_before[@]}" --generate-bash-completion 2>/dev/null)}")
  if (( ${#candidates} )) && [[ -n "$candidates[1]" ]]; then compadd -- "${candidates[@]}"; else _files; fi
}
compdef _autotune autotune
`

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a shell's completion script",
		ArgsUsage: "bash|zsh|fish",
		Action: func(c *cli.Context) error {
			script, err := completionScript(c.App, c.Args().First())
			if err != nil {
				return badInput(err)
			}
			_, err = fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

func completionScript(app *cli.App, shell string) (string, error) {
	switch shell {
	case "bash":
		return bashCompletion, nil
	case "zsh":
		return zshCompletion, nil
	case "fish":
		return app.ToFishCompletion()
	}
	return "", fmt.Errorf("no completion for shell %q; want bash, zsh or fish, as in: source <(autotune completion bash)", shell)
}
