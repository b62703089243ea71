import { rmSync } from "node:fs"

/** What the system's shells answer for a program that ended by these signals. */
const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** Works; a signal that would end the process first removes what has been made so far. */
export async function unlessInterrupted<T>(
  made: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const handlers = Object.entries(codes).map(([signal, code]) => {
    const clear = () => {
      for (const each of made) rmSync(each, { recursive: true, force: true })
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
