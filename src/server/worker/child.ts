import { workerCommand } from "../../boot/program.ts"
import type { StartInput } from "../../boot/running.ts"
import { programCommand } from "../../runtime/program.ts"
import { type Channel, createChannel, type Handlers, type Message } from "../../store/index.ts"

/** A worker process. */
export type WorkerProcess = {
  readonly channel: Channel
  /** Resolves with the exit code or the signal. */
  readonly exited: Promise<string | number>
  readonly kill: () => void
}

/** Starts a worker that communicates over a private channel, not with arguments or files. */
export function startWorkerProcess(
  start: Pick<StartInput, "env">,
  handlers: Handlers,
): WorkerProcess {
  const child = Bun.spawn([...programCommand(), workerCommand], {
    env: workerEnvironment(start),
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    serialization: "json",
    ipc: (message) => line.take(message),
  })
  const sendMessage = (message: Message) => {
    try {
      child.send(message)
    } catch {
      // The process has ended, and waiting requests are notified by its exit.
    }
  }
  const line = createChannel(sendMessage, handlers)
  const exited = child.exited.then(() => {
    line.lost()
    return child.signalCode ?? child.exitCode ?? 0
  })
  return { channel: line, exited, kill: () => child.kill("SIGKILL") }
}

/**
 * Workers receive the configuration with its secrets over the channel, so these variables are
 * removed.
 */
const workerEnvironment = ({ env = {} }: Pick<StartInput, "env">) =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !name.startsWith("LATCHKEY_") && name !== "NOTIFY_SOCKET",
    ),
  )
