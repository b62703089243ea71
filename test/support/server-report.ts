/** A server that a test file started, for the report of a failed test. */
export type StartedServer = {
  /** Its command-line arguments. */
  readonly command: string
  /** Everything printed so far, both streams. */
  readonly output: () => string
  /** How it ended; undefined while it runs. */
  readonly ended: () => ServerEnd | undefined
}

export type ServerEnd = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Whether the test itself stopped it with that signal. */
  readonly isStopped: boolean
}

/** The servers of the current test file: server-setup.ts clears the list before each file. */
export const startedServers: StartedServer[] = []

const linesMax = 40

/**
 * The last lines of servers that run or failed, and with `withStopped` of all; empty if there are
 * none.
 */
export function createServerReport(
  servers: readonly StartedServer[],
  { withStopped = false } = {},
): string {
  return servers
    .filter(({ ended }) => withStopped || !isStopped(ended()))
    .map(formatServer)
    .join("\n\n")
}

const isStopped = (end?: ServerEnd) => end !== undefined && (end.isStopped || end.code === 0)

function formatServer({ command, output, ended }: StartedServer): string {
  const end = ended()
  const state = end ? `ended with ${end.signal ?? end.code}` : "is running"
  const lines = output().trimEnd().split("\n")
  const rest = lines.length > linesMax ? [`… ${lines.length - linesMax} lines before`] : []
  return [`latchkey ${command} ${state}:`, ...rest, ...lines.slice(-linesMax)].join("\n")
}
