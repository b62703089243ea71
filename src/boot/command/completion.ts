import { type CommandTable, type Flag, flagsOf } from "../command-line.ts"

/** The word that a shell's script asks by; it stands in no help. */
export const completeWord = "__complete"

/** Says in place of candidates that a file is wanted, which the shell itself knows best. */
const files = ":files"

/**
 * What the last of the typed words may become, one a line with its help behind a tab. What comes
 * before it decides: the command, a flag that wants a value, words without a flag.
 */
export function completed(commands: CommandTable, typed: readonly string[]): readonly string[] {
  const before = typed.slice(0, -1)
  const word = typed.at(-1) ?? ""
  const name = nameIn(commands, before)
  if (name === undefined) return fitting(word, namesAfter(commands, before))
  const line = commands[name]
  if (!line) return []
  const flags = flagsOf(line)
  const [flag, part] = word.includes("=") ? word.split("=", 2) : [before.at(-1) ?? "", undefined]
  const asked = Object.hasOwn(flags, flag) ? flags[flag] : undefined
  if (asked?.hint !== undefined)
    return valuesOf(asked, part ?? word, part === undefined ? "" : flag)
  const words = Object.values(line.words ?? {})
  const isFile = Object.keys(line.words ?? {}).includes("FILE") && !word.startsWith("-")
  if (isFile && before.length === name.split(" ").length) return [files]
  const given = new Set(before)
  return fitting(word, [
    ...words.flatMap(({ of = [], help }) => of.map((each) => [each, help] as const)),
    ...Object.entries(flags)
      .filter(([each]) => !given.has(each))
      .map(([each, { help }]) => [each, help] as const),
    ["--help", "What it does, and its flags"],
  ])
}

/** The command that the first words name; undefined while that is not said. */
function nameIn(commands: CommandTable, words: readonly string[]): string | undefined {
  const [first = "", second = ""] = words
  return [`${first} ${second}`, first].find((name) => Object.hasOwn(commands, name))
}

type Candidate = readonly [word: string, help: string]

function namesAfter(commands: CommandTable, before: readonly string[]): readonly Candidate[] {
  const found = new Map<string, string>()
  for (const [name, { help }] of Object.entries(commands)) {
    const words = name.split(" ")
    if (before.some((word, at) => word !== words[at])) continue
    const next = words[before.length]
    // Several commands behind one word have no help in common.
    if (next !== undefined) found.set(next, found.has(next) ? "" : help)
  }
  return [...found]
}

function valuesOf({ of, hint }: Flag, word: string, flag: string): readonly string[] {
  if (of) {
    return fitting(
      word,
      of.map((each) => [each, ""] as const),
    ).map((value) => (flag === "" ? value : `${flag}=${value}`))
  }
  return hint?.startsWith("FILE") || hint === "DIR" ? [files] : []
}

const fitting = (word: string, candidates: readonly Candidate[]): readonly string[] =>
  candidates
    .filter(([candidate]) => candidate.startsWith(word))
    .map(([candidate, help]) => (help === "" ? candidate : `${candidate}\t${help}`))

/** What a shell reads once; it then asks the program itself, whose commands are its own. */
export const completionScripts: Readonly<Record<string, string>> = {
  bash: `_latchkey() {
  local IFS=$'\\n' found
  found=$("\${COMP_WORDS[0]}" ${completeWord} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ "$found" = ${files} ]; then
    COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
  else
    COMPREPLY=($(printf '%s\\n' "$found" | cut -f 1))
  fi
}
complete -o filenames -F _latchkey latchkey`,
  zsh: `#compdef latchkey
_latchkey() {
  local -a found described
  found=("\${(@f)$("\${words[1]}" ${completeWord} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "$found[1]" == ${files} ]]; then
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
  set -l found ($typed[1] ${completeWord} $typed[2..] (commandline -ct) 2>/dev/null)
  if test "$found" = ${files}
    __fish_complete_path (commandline -ct)
  else
    string join \\n -- $found
  end
end
complete -c latchkey -f -a "(__latchkey_complete)"`,
}
