import { parseArgs } from "node:util"
import { Fault } from "../kernel/fault.ts"
import { findNearest } from "../kernel/text/nearest.ts"

/** A flag. A flag without a `hint` takes no value and is set by its presence. */
export type Flag = {
  readonly hint?: string
  readonly help: string
  readonly required?: true
  /** The possible values, for completion. */
  readonly values?: readonly string[]
}

/** A positional argument of a command. */
export type Argument = { readonly help: string; readonly values?: readonly string[] }

/** Values by full flag name ("--data") or argument name; "on" for flags without a value. */
export type Flags = Readonly<Record<string, string | undefined>>

/** The result of a command: `text` for people, `data` for programs that use `--json`. */
export type CommandResult = {
  readonly exitCode?: number
  readonly text?: string
  readonly data?: unknown
}

/** A command: its arguments in order, its flags by full name, and its function. */
export type Command = {
  readonly help: string
  readonly arguments?: Readonly<Record<string, Argument>>
  readonly flags: Readonly<Record<string, Flag>>
  /** Whether the command has no `--json` because its output is a script or it keeps running. */
  readonly hasNoJson?: true
  /** Exit codes in addition to the common ones, with their meaning. */
  readonly exitCodes?: Readonly<Record<number, string>>
  readonly run: (flags: Flags) => Promise<CommandResult>
}

/** Commands by name, which can have two words ("admin recover"). */
export type CommandTable = Readonly<Record<string, Command>>

export const jsonFlag: Flag = { help: "Print the result as JSON" }

/** The flags of a command, including --json. */
export const flagsOf = ({ flags, hasNoJson }: Command): Readonly<Record<string, Flag>> =>
  hasNoJson ? flags : { ...flags, "--json": jsonFlag }

/**
 * Runs the command that `words` names and returns the exit code. Rejects unknown commands and flags
 * with a suggestion, surplus arguments and flags without their value. Prints help if there is no
 * command.
 */
export async function runCommandLine(
  program: ProgramInfo,
  commands: CommandTable,
  argumentWords: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const [name = "--help", ...rest] = joinCommandName(commands, argumentWords)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (isHelp(name) || (command && rest.some(isHelp))) {
    print(command ? commandHelp(program, name, command) : programHelp(program, commands))
    return 0
  }
  if (!command)
    throw unknownNameError(
      "command",
      intendedCommandName(commands, argumentWords),
      Object.keys(commands),
    )
  const flags = parseFlags(name, command, rest)
  const outcome = await command.run(flags)
  const text = flags["--json"] ? JSON.stringify(outcome.data, null, 2) : outcome.text
  if (text !== undefined) print(text)
  return outcome.exitCode ?? 0
}

type ProgramInfo = { readonly name: string; readonly help: string; readonly version: string }

/** The usage of the program and its commands. */
function programHelp({ name, help, version }: ProgramInfo, commands: CommandTable): string {
  const listed = Object.entries(commands).map(([each, { help }]) => [each, help] as const)
  return [
    `${help} (${name} v${version})`,
    `USAGE ${name} ${Object.keys(commands).join("|")}`,
    formatSection("COMMANDS", listed),
    `Use ${name} <command> --help for more information about a command.`,
    formatExitCodes({}),
  ].join("\n\n")
}

/** The usage of a command. */
function commandHelp({ name, version }: ProgramInfo, command: string, definition: Command): string {
  const argumentWords = Object.entries(definition.arguments ?? {})
  const flags = Object.entries(flagsOf(definition)).map(
    ([flag, { hint, help, required }]) =>
      [hint === undefined ? flag : `${flag}=<${hint}>`, help, required] as const,
  )
  const required = flags.flatMap(([flag, , isRequired]) => (isRequired ? [flag] : []))
  const usage = ["[OPTIONS]", ...argumentWords.map(([word]) => `<${word}>`), ...required]
  return [
    `${definition.help} (${name} ${command} v${version})`,
    `USAGE ${name} ${command} ${usage.join(" ")}`,
    formatSection(
      "ARGUMENTS",
      argumentWords.map(([word, { help }]) => [word, help, true] as const),
    ),
    formatSection("OPTIONS", flags),
    formatExitCodes(definition.exitCodes ?? {}),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

type HelpRow = readonly [name: string, help: string, isRequired?: boolean | undefined]

/** Two aligned columns below a heading; empty without rows. */
function formatSection(heading: string, rows: readonly HelpRow[]): string {
  if (rows.length === 0) return ""
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(
    ([name, help, isRequired]) =>
      `  ${name.padEnd(width)}  ${help}${isRequired ? " (Required)" : ""}`,
  )
  return [heading, "", ...lines].join("\n")
}

/** The exit codes of all commands. */
const commonExitCodes: Readonly<Record<number, string>> = {
  0: "done",
  1: "rejected or failed",
  2: "invalid usage",
}

function formatExitCodes(more: Readonly<Record<number, string>>): string {
  const lines = Object.entries({ ...commonExitCodes, ...more }).map(
    ([code, when]) => `  ${code}  ${when}`,
  )
  return ["EXIT CODES", "", ...lines].join("\n")
}

/** Joins the two words of a command name into one. */
function joinCommandName(
  commands: CommandTable,
  argumentWords: readonly string[],
): readonly string[] {
  const name = argumentWords.slice(0, 2).join(" ")
  return Object.hasOwn(commands, name) ? [name, ...argumentWords.slice(2)] : argumentWords
}

/** The command that was probably meant: two words if the first word starts several commands. */
function intendedCommandName(commands: CommandTable, argumentWords: readonly string[]): string {
  const [first = ""] = argumentWords
  const isBegun = Object.keys(commands).some((name) => name.startsWith(`${first} `))
  return argumentWords.slice(0, isBegun ? 2 : 1).join(" ")
}

const isHelp = (word: string) => ["help", "--help", "-h"].includes(word)

/**
 * Parses the arguments of a command. The platform's parser accepts any input, so each token is
 * checked here and nothing is ignored. The last value of a repeated flag applies.
 * `citty` 0.2.2 fails our tests: it ignores unknown flags and surplus arguments, treats `--no-data`
 * as a flag, and has no completion.
 */
function parseFlags(name: string, command: Command, args: readonly string[]): Flags {
  const flags = flagsOf(command)
  const names = Object.keys(flags)
  const options = names.map((flag) => [flag.slice(2), { type: typeOf(flags[flag]) }] as const)
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const argumentWords = Object.keys(command.arguments ?? {})
  const input = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === "option-terminator") throw usageError('"--" is not supported')
    if (token.kind === "option") input.set(token.rawName, flagValueOf(token, flags))
    else {
      const word = argumentWords.shift()
      if (word === undefined) throw usageError(`unexpected argument "${token.value}"`)
      input.set(word, token.value)
    }
  }
  const missing = names.filter((flag) => flags[flag]?.required && !input.has(flag))
  const missingArguments = [...argumentWords, ...missing]
  if (missingArguments.length > 0)
    throw usageError(`latchkey ${name} requires ${missingArguments.join(", ")}`)
  return Object.fromEntries(input)
}

const typeOf = (flag: Flag | undefined) => (flag?.hint === undefined ? "boolean" : "string")

type OptionToken = {
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

/** The value of a flag; "on" if the flag takes none. */
function flagValueOf(
  { rawName, value, inlineValue }: OptionToken,
  flags: Command["flags"],
): string {
  const flag = Object.hasOwn(flags, rawName) ? flags[rawName] : undefined
  if (!flag) throw unknownNameError("flag", rawName, Object.keys(flags))
  if (flag.hint === undefined) {
    if (value !== undefined) throw usageError(`${rawName} does not take a value`)
    return "on"
  }
  const isFlag = !inlineValue && value?.startsWith("--")
  if (!value || isFlag) throw usageError(`${rawName} requires a value`)
  return value
}

function unknownNameError(kind: string, word: string, knownNames: readonly string[]): Fault {
  const closest = findNearest(word, knownNames)
  return usageError(`unknown ${kind} ${word}${closest ? `; did you mean ${closest}?` : ""}`)
}

export const usageError = (message: string) =>
  new Fault("invalid_argument", "command.usage", message)
