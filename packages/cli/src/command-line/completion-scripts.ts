/**
 * Completion scripts by shell. Each hands the words so far to `flow completion words -- ...` and offers the lines that
 * it prints; where nothing is printed the shell offers file names.
 */
export const completionScripts = {
  bash: `# flow completion for bash
_flow_complete() {
  local candidates
  candidates=$(flow completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _flow_complete flow`,
  zsh: `#compdef flow
# flow completion for zsh
_flow() {
  local -a candidates
  candidates=(\${(f)"$(flow completion words -- "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)"})
  if (( \${#candidates} )); then compadd -a candidates; else _files; fi
}
compdef _flow flow`,
  fish: `# flow completion for fish
function __flow_complete
  set -l tokens (commandline -opc) (commandline -ct)
  flow completion words -- $tokens[2..-1] 2>/dev/null
end
complete -c flow -a '(__flow_complete)'`,
} as const;
