import { workerWord } from "../../boot/program.ts"
import type { Start } from "../../boot/running.ts"
import { ownProgram } from "../../runtime/program.ts"
import { type Channel, channelOf, type Handlers, type Message } from "../../store/index.ts"

/** A process that answers beside this one. */
export type Child = {
  readonly line: Channel
  /** Resolves with its code, or what has ended it. */
  readonly exited: Promise<string | number>
  readonly kill: () => void
}

/** It hears by a line that nobody else can reach: neither arguments nor files tell it anything. */
export function startChild(start: Pick<Start, "env">, handlers: Handlers): Child {
  const child = Bun.spawn([...ownProgram(), workerWord], {
    env: ownEnvironment(start),
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    serialization: "json",
    ipc: (message) => line.take(message),
  })
  const tell = (message: Message) => {
    try {
      child.send(message)
    } catch {
      // It has ended, as is noticed by its end: whoever waits for it is told then.
    }
  }
  const line = channelOf(tell, handlers)
  const exited = child.exited.then(() => {
    line.lost()
    return child.signalCode ?? child.exitCode ?? 0
  })
  return { line, exited, kill: () => child.kill("SIGKILL") }
}

/** What is configured they are told, secrets too: these need not stand there once more. */
const ownEnvironment = ({ env = {} }: Pick<Start, "env">) =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !name.startsWith("LATCHKEY_") && name !== "NOTIFY_SOCKET",
    ),
  )
