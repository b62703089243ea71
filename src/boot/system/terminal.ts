import { createInterface } from "node:readline/promises"

/** The terminal of the user, if the program can ask questions. */
export type Terminal = {
  /** Whether a user can answer, which is not the case for scripts, pipes and services. */
  readonly isInteractive: boolean
  /** Shows a text and returns the typed line; "" at the end of the input. */
  readonly ask: (text: string) => Promise<string>
}

/** The terminal of this process. Questions go to stderr, because stdout is only for results. */
export const systemTerminal = (): Terminal => ({
  isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  ask: async (text) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")))
    try {
      return await Promise.race([lines.question(text), ended])
    } finally {
      lines.close()
    }
  },
})
