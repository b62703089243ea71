import { parseArgs } from "node:util"
import { type CommandDef, defineCommand, renderUsage, runCommand } from "citty"
import { Fault } from "../kernel/fault.ts"
import { nearest } from "../kernel/text/nearest.ts"

export type Flag = { readonly hint: string; readonly help: string; readonly required?: true }

/** Values by the flags' full spelling ("--data"). */
export type Flags = Readonly<Record<string, string | undefined>>

/** A command: its flags by their full spelling, and what it does; it answers the exit code. */
export type CommandLine = {
  readonly help: string
  readonly flags: Readonly<Record<string, Flag>>
  readonly run: (flags: Flags) => Promise<number>
}

/**
 * Runs the command that `words` names. Refuses unknown commands and flags, naming the nearest known
 * ones, words that belong to nothing, and flags without a value. Without a command it prints help.
 */
export async function runCommandLine(
  about: { readonly name: string; readonly help: string; readonly version: string },
  commands: Readonly<Record<string, CommandLine>>,
  words: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const root = defineCommand({ meta: { ...about, description: about.help }, subCommands: {} })
  const [name = "--help", ...rest] = words
  const exit = { code: 0 }
  const parts = Object.entries(commands).map(([each, command]) => [each, part(each, command, exit)])
  const whole: CommandDef = { ...root, subCommands: Object.fromEntries(parts) }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined

  if (isHelp(name)) print(await renderUsage(whole))
  else if (!command) throw misspeltError("command", name, Object.keys(commands))
  else if (rest.some(isHelp)) print(await renderUsage(part(name, command, exit), whole))
  else {
    refuseUnknown(name, command, rest)
    await runCommand(whole, { rawArgs: [...words] })
  }
  return exit.code
}

const isHelp = (word: string) => ["help", "--help", "-h"].includes(word)

function part(name: string, { help, flags, run }: CommandLine, exit: { code: number }): CommandDef {
  const args = Object.entries(flags).map(([flag, { hint, help: description, required }]) => [
    flag.slice(2),
    { type: "string", description, valueHint: hint, required: required ?? false },
  ])
  return {
    meta: { name, description: help },
    args: Object.fromEntries(args),
    run: async (context) => {
      const given = Object.keys(flags).map((flag) => [flag, context.args[flag.slice(2)]])
      exit.code = await run(Object.fromEntries(given))
    },
  }
}

/** The parser itself takes whatever it is given, so what it would swallow is refused first. */
function refuseUnknown(name: string, { flags }: CommandLine, words: readonly string[]): void {
  const names = Object.keys(flags)
  const options = names.map((flag) => [flag.slice(2), { type: "string" }] as const)
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind === "positional") throw usageError(`"${token.value}" is one word too many`)
    if (token.kind === "option-terminator") throw usageError(`"--" has no use here`)
    if (!names.includes(token.rawName)) throw misspeltError("flag", token.rawName, names)
    const isFlag = !token.inlineValue && token.value?.startsWith("--")
    if (!token.value || isFlag) throw usageError(`${token.rawName} needs a value`)
  }
  const given = new Set(tokens.map((token) => token.kind === "option" && token.rawName))
  const missing = names.filter((flag) => flags[flag]?.required && !given.has(flag))
  if (missing.length > 0) throw usageError(`latchkey ${name} needs ${missing.join(", ")}`)
}

function misspeltError(kind: string, word: string, known: readonly string[]): Fault {
  const closest = nearest(word, known)
  return usageError(`unknown ${kind} ${word}${closest ? `; did you mean ${closest}?` : ""}`)
}

const usageError = (message: string) => new Fault("invalid_argument", "command.usage", message)
