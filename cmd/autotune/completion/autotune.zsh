#compdef autotune
# zsh completion for autotune: source <(autotune completion zsh)
_autotune() {
  local -a candidates
  candidates=("${(@f)$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "$candidates[1]" ]]; then
    _files
  elif [[ ${#candidates} -eq 1 && "$candidates[1]" == *[=:] ]]; then
    compadd -S '' -- "${candidates[@]}"
  else
    compadd -- "${candidates[@]}"
  fi
}
compdef _autotune autotune
