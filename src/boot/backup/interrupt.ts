import { rmSync } from "node:fs"

/** The exit codes that shells report for these signals. */
const signalExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** Runs `work`. If a signal would end the process, removes the temporary files first. */
export async function withCleanupOnSignal<T>(
  temporaryFiles: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const handlers = Object.entries(signalExitCodes).map(([signal, code]) => {
    const clear = () => {
      for (const each of temporaryFiles) rmSync(each, { recursive: true, force: true })
      process.exit(code)
    }
    process.on(signal, clear)
    return () => process.off(signal, clear)
  })
  try {
    return await work()
  } finally {
    for (const remove of handlers) remove()
  }
}
