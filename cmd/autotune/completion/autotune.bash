# bash completion for autotune: source <(autotune completion bash)
_autotune() {
  local cur="${COMP_WORDS[COMP_CWORD]}"
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    COMPREPLY=($(compgen -f -- "$cur"))
    compopt -o filenames
  elif [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[=:] ]]; then
    compopt -o nospace
  fi
}
complete -F _autotune autotune
