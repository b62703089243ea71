import { type CommandTable, type Flag, flagsOf } from "../command-line.ts"

/** The hidden command that the shell scripts call for completion. */
export const completeCommand = "__complete"

/** Printed instead of candidates if the argument is a file, which the shell completes itself. */
const filesMarker = ":files"

/**
 * The completions of the last word, one per line, each followed by a tab and its help text. They
 * depend on the words before it: the command, or a flag that requires a value.
 */
export function completionsFor(
  commands: CommandTable,
  typed: readonly string[],
): readonly string[] {
  const before = typed.slice(0, -1)
  const word = typed.at(-1) ?? ""
  const name = commandNameIn(commands, before)
  if (name === undefined) return formatMatches(word, nextNames(commands, before))
  const line = commands[name]
  if (!line) return []
  const flags = flagsOf(line)
  const [flag, part] = word.includes("=") ? word.split("=", 2) : [before.at(-1) ?? "", undefined]
  const pendingFlag = Object.hasOwn(flags, flag) ? flags[flag] : undefined
  if (pendingFlag?.hint !== undefined)
    return completionValues(pendingFlag, part ?? word, part === undefined ? "" : flag)
  const argumentWords = Object.values(line.arguments ?? {})
  const isFile = Object.keys(line.arguments ?? {}).includes("FILE") && !word.startsWith("-")
  if (isFile && before.length === name.split(" ").length) return [filesMarker]
  const used = new Set(before)
  return formatMatches(word, [
    ...argumentWords.flatMap(({ values = [], help }) =>
      values.map((each) => [each, help] as const),
    ),
    ...Object.entries(flags)
      .filter(([each]) => !used.has(each))
      .map(([each, { help }]) => [each, help] as const),
    ["--help", "Show the usage and flags"],
  ])
}

/** The command that the first words name; undefined if it is not complete. */
function commandNameIn(
  commands: CommandTable,
  argumentWords: readonly string[],
): string | undefined {
  const [first = "", second = ""] = argumentWords
  return [`${first} ${second}`, first].find((name) => Object.hasOwn(commands, name))
}

type Candidate = readonly [word: string, help: string]

function nextNames(commands: CommandTable, before: readonly string[]): readonly Candidate[] {
  const found = new Map<string, string>()
  for (const [name, { help }] of Object.entries(commands)) {
    const argumentWords = name.split(" ")
    if (before.some((word, at) => word !== argumentWords[at])) continue
    const next = argumentWords[before.length]
    // Several commands with the same first word have no common help text.
    if (next !== undefined) found.set(next, found.has(next) ? "" : help)
  }
  return [...found]
}

function completionValues({ values, hint }: Flag, word: string, flag: string): readonly string[] {
  if (values) {
    return formatMatches(
      word,
      values.map((each) => [each, ""] as const),
    ).map((value) => (flag === "" ? value : `${flag}=${value}`))
  }
  return hint?.startsWith("FILE") || hint === "DIR" ? [filesMarker] : []
}

const formatMatches = (word: string, candidates: readonly Candidate[]): readonly string[] =>
  candidates
    .filter(([candidate]) => candidate.startsWith(word))
    .map(([candidate, help]) => (help === "" ? candidate : `${candidate}\t${help}`))

/** Scripts that a shell loads once. They call the program for every completion. */
export const completionScripts: Readonly<Record<string, string>> = {
  bash: `_latchkey() {
  local IFS=$'\\n' found
  found=$("\${COMP_WORDS[0]}" ${completeCommand} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ "$found" = ${filesMarker} ]; then
    COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
  else
    COMPREPLY=($(printf '%s\\n' "$found" | cut -f 1))
  fi
}
complete -o filenames -F _latchkey latchkey`,
  zsh: `#compdef latchkey
_latchkey() {
  local -a found described
  found=("\${(@f)$("\${words[1]}" ${completeCommand} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "$found[1]" == ${filesMarker} ]]; then
    _files
    return
  fi
  local each
  for each in $found; do
    described+=("\${\${each%%$'\\t'*}//:/\\\\:}:\${each#*$'\\t'}")
  done
  _describe -o latchkey described
}
compdef _latchkey latchkey`,
  fish: `function __latchkey_complete
  set -l typed (commandline -opc)
  set -l found ($typed[1] ${completeCommand} $typed[2..] (commandline -ct) 2>/dev/null)
  if test "$found" = ${filesMarker}
    __fish_complete_path (commandline -ct)
  else
    string join \\n -- $found
  end
end
complete -c latchkey -f -a "(__latchkey_complete)"`,
}
