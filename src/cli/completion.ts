// `purser completion`: scripts that complete commands, options and names in a shell.

import { Argument, type Command } from 'commander';
import type { CommandHost } from './command.ts';
import { addExamples, defineCommand } from './command-line.ts';

/** Returns `purser completion`. */
export function defineCompletionCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'completion', 'print a shell completion script')
    .description('Print a shell completion script for commands, options, contexts and object names.')
    .addArgument(new Argument('<SHELL>', 'bash, zsh or fish').choices(Object.keys(SCRIPTS)));
  addExamples(command, {
    'Enable completion in this bash session': 'source <(purser completion bash)',
    'Enable completion in every zsh session': 'purser completion zsh > "${fpath[1]}/_purser"',
    'Enable completion in every fish session': 'purser completion fish > ~/.config/fish/completions/purser.fish',
  });
  return command.action((shell: keyof typeof SCRIPTS) => host.print(SCRIPTS[shell]));
}

/** Script for bash. It splits COMP_LINE at spaces, because bash also splits COMP_WORDS at `:` and `=`, which context names can contain. */
const BASH = `# bash completion for purser
_purser() {
  local line=\${COMP_LINE:0:COMP_POINT} words candidates directive current prefix
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=\${words[\${#words[@]}-1]}
  mapfile -t candidates < <("\${words[0]}" __complete "\${words[@]:1}" 2> /dev/null)
  COMPREPLY=()
  ((\${#candidates[@]} > 0)) || return
  directive=\${candidates[\${#candidates[@]}-1]#:}
  unset "candidates[\${#candidates[@]}-1]"
  ((directive & 4)) && compopt +o default
  ((directive & 2)) && compopt -o nospace
  # Readline replaces only the part after the last character that COMP_WORDBREAKS contains.
  [[ $current == --*=* ]] && current=\${current#*=}
  [[ $COMP_WORDBREAKS == *:* ]] && prefix=\${current%"\${current##*:}"}
  candidates=("\${candidates[@]%%$'\\t'*}")
  COMPREPLY=("\${candidates[@]#"$prefix"}")
}
complete -o default -F _purser purser
`;

const ZSH = `#compdef purser
# zsh completion for purser
_purser() {
  local -a lines candidates
  local line value
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  local directive=\${lines[-1]#:}
  for line in "\${(@)lines[1,-2]}"; do
    value=\${line%%$'\\t'*}
    line=\${line#"$value"}
    candidates+=("\${value//:/\\\\:}\${line:+:\${line#$'\\t'}}")
  done
  if (( \${#candidates} )); then
    # The value of --option=value is the part after the equals sign.
    compset -P '--[^=]#='
    _describe 'purser' candidates
  elif (( ! (directive & 4) )); then
    compset -P '--[^=]#='
    _files
  fi
}
if [ "\${funcstack[1]}" = "_purser" ]; then
  _purser "$@"
else
  compdef _purser purser
fi
`;

const FISH = `# fish completion for purser
function __purser_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2> /dev/null)
    set -q lines[1]; or return
    set -l prefix (string match -r -- '^--[^=]+=' $current)
    if test (count $lines) -gt 1
        # Quoted, because fish expands a string with an unquoted empty variable to nothing.
        printf '%s\\n' "$prefix"$lines[1..-2]
    else if test "$lines[-1]" = ':0'
        printf '%s\\n' "$prefix"(__fish_complete_path (string replace -r -- '^--[^=]+=' '' $current))
    end
end
complete -c purser -e
complete -c purser -f -a '(__purser_complete)'
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };
