import { createInterface } from "node:readline/promises"

/** Whoever sits before the program, as far as it can ask them something. */
export type Terminal = {
  /** Whether somebody can answer: a script, a pipe or a service can't. */
  readonly isInteractive: boolean
  /** Shows a text, and returns the line that is typed; "" at the end of the input. */
  readonly ask: (text: string) => Promise<string>
}

/** The terminal of this process. Questions go to stderr: stdout is for the answer alone. */
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
