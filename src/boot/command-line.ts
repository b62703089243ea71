import { parseArgs } from "node:util"
import { Fault } from "../kernel/fault.ts"
import { nearest } from "../kernel/text/nearest.ts"

/** A flag; without a `hint` it takes no value, and is on where it is given. */
export type Flag = {
  readonly hint?: string
  readonly help: string
  readonly required?: true
  /** What it may be, for completions. */
  readonly of?: readonly string[]
}

/** A word that a command takes without a flag. */
export type Word = { readonly help: string; readonly of?: readonly string[] }

/** Values by the flags' full spelling ("--data") and words' names; "on" of what has no value. */
export type Flags = Readonly<Record<string, string | undefined>>

/** What came of a command: `text` is for people, `data` for programs, which ask with `--json`. */
export type Outcome = {
  readonly code?: number
  readonly text?: string
  readonly data?: unknown
}

/** A command: its words in their order, its flags by their full spelling, and what it does. */
export type CommandLine = {
  readonly help: string
  readonly words?: Readonly<Record<string, Word>>
  readonly flags: Readonly<Record<string, Flag>>
  /** What a program could not read anyway, a script or a service that runs on, has no `--json`. */
  readonly plain?: true
  /** What it ends with beside the codes that all have, and when. */
  readonly exits?: Readonly<Record<number, string>>
  readonly run: (flags: Flags) => Promise<Outcome>
}

/** By name, which may be two words ("admin recover"). */
export type CommandTable = Readonly<Record<string, CommandLine>>

export const jsonFlag: Flag = { help: "Answer in JSON, for programs" }

/** The flags of a command, with that which all have. */
export const flagsOf = ({ flags, plain }: CommandLine): Readonly<Record<string, Flag>> =>
  plain ? flags : { ...flags, "--json": jsonFlag }

/**
 * Runs the command that `words` names, and answers the exit code. Refuses unknown commands and
 * flags, naming the nearest known ones, words that belong to nothing, and flags without a value.
 * Without a command it prints help.
 */
export async function runCommandLine(
  about: About,
  commands: CommandTable,
  words: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const [name = "--help", ...rest] = namedFirst(commands, words)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (isHelp(name) || (command && rest.some(isHelp))) {
    print(command ? commandHelp(about, name, command) : programHelp(about, commands))
    return 0
  }
  if (!command) throw misspeltError("command", typedName(commands, words), Object.keys(commands))
  const flags = flagsIn(name, command, rest)
  const outcome = await command.run(flags)
  const text = flags["--json"] ? JSON.stringify(outcome.data, null, 2) : outcome.text
  if (text !== undefined) print(text)
  return outcome.code ?? 0
}

type About = { readonly name: string; readonly help: string; readonly version: string }

/** How the program is called, and its commands. */
function programHelp({ name, help, version }: About, commands: CommandTable): string {
  const listed = Object.entries(commands).map(([each, { help }]) => [each, help] as const)
  return [
    `${help} (${name} v${version})`,
    `USAGE ${name} ${Object.keys(commands).join("|")}`,
    section("COMMANDS", listed),
    `Use ${name} <command> --help for more information about a command.`,
    exitsText({}),
  ].join("\n\n")
}

/** How a command is called. */
function commandHelp({ name, version }: About, command: string, line: CommandLine): string {
  const words = Object.entries(line.words ?? {})
  const flags = Object.entries(flagsOf(line)).map(
    ([flag, { hint, help, required }]) =>
      [hint === undefined ? flag : `${flag}=<${hint}>`, help, required] as const,
  )
  const required = flags.flatMap(([flag, , isRequired]) => (isRequired ? [flag] : []))
  const usage = ["[OPTIONS]", ...words.map(([word]) => `<${word}>`), ...required]
  return [
    `${line.help} (${name} ${command} v${version})`,
    `USAGE ${name} ${command} ${usage.join(" ")}`,
    section(
      "ARGUMENTS",
      words.map(([word, { help }]) => [word, help, true] as const),
    ),
    section("OPTIONS", flags),
    exitsText(line.exits ?? {}),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

type HelpRow = readonly [name: string, help: string, isRequired?: boolean | undefined]

/** Rows in two columns under a heading; empty without rows. */
function section(heading: string, rows: readonly HelpRow[]): string {
  if (rows.length === 0) return ""
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(
    ([name, help, isRequired]) =>
      `  ${name.padEnd(width)}  ${help}${isRequired ? " (Required)" : ""}`,
  )
  return [heading, "", ...lines].join("\n")
}

/** What every command ends with. */
const exits: Readonly<Record<number, string>> = {
  0: "done",
  1: "refused, or failed",
  2: "not typed rightly",
}

function exitsText(more: Readonly<Record<number, string>>): string {
  const lines = Object.entries({ ...exits, ...more }).map(([code, when]) => `  ${code}  ${when}`)
  return ["EXIT CODES", "", ...lines].join("\n")
}

/** A name of two words as one. */
function namedFirst(commands: CommandTable, words: readonly string[]): readonly string[] {
  const name = words.slice(0, 2).join(" ")
  return Object.hasOwn(commands, name) ? [name, ...words.slice(2)] : words
}

/** What was meant to be the name: two words, where one alone begins several. */
function typedName(commands: CommandTable, words: readonly string[]): string {
  const [first = ""] = words
  const isBegun = Object.keys(commands).some((name) => name.startsWith(`${first} `))
  return words.slice(0, isBegun ? 2 : 1).join(" ")
}

const isHelp = (word: string) => ["help", "--help", "-h"].includes(word)

/**
 * What was typed behind the name. The platform's parser takes whatever it is given, so each of its
 * tokens is looked at: nothing is swallowed. Of a flag that comes twice the last holds.
 *
 * `citty` 0.2.2 is not used. It fails our tests: it ignores unknown flags and words too many, takes
 * `--no-data` for a flag, and knows no completions.
 */
function flagsIn(name: string, command: CommandLine, typed: readonly string[]): Flags {
  const flags = flagsOf(command)
  const names = Object.keys(flags)
  const options = names.map((flag) => [flag.slice(2), { type: typeOf(flags[flag]) }] as const)
  const { tokens } = parseArgs({
    args: [...typed],
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const words = Object.keys(command.words ?? {})
  const given = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === "option-terminator") throw usageError(`"--" has no use here`)
    if (token.kind === "option") given.set(token.rawName, valueIn(token, flags))
    else {
      const word = words.shift()
      if (word === undefined) throw usageError(`"${token.value}" is one word too many`)
      given.set(word, token.value)
    }
  }
  const missing = names.filter((flag) => flags[flag]?.required && !given.has(flag))
  const wanted = [...words, ...missing]
  if (wanted.length > 0) throw usageError(`latchkey ${name} needs ${wanted.join(", ")}`)
  return Object.fromEntries(given)
}

const typeOf = (flag: Flag | undefined) => (flag?.hint === undefined ? "boolean" : "string")

type Given = {
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

/** What a flag says; "on" where it takes nothing. */
function valueIn({ rawName, value, inlineValue }: Given, flags: CommandLine["flags"]): string {
  const flag = Object.hasOwn(flags, rawName) ? flags[rawName] : undefined
  if (!flag) throw misspeltError("flag", rawName, Object.keys(flags))
  if (flag.hint === undefined) {
    if (value !== undefined) throw usageError(`${rawName} takes no value`)
    return "on"
  }
  const isFlag = !inlineValue && value?.startsWith("--")
  if (!value || isFlag) throw usageError(`${rawName} needs a value`)
  return value
}

function misspeltError(kind: string, word: string, known: readonly string[]): Fault {
  const closest = nearest(word, known)
  return usageError(`unknown ${kind} ${word}${closest ? `; did you mean ${closest}?` : ""}`)
}

export const usageError = (message: string) =>
  new Fault("invalid_argument", "command.usage", message)
