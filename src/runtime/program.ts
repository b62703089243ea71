const isCompiled = /^(\/\$bunfs\/|B:[\\/]~BUN[\\/])/.test(Bun.main)

/** What this program is started with: compiled, it is one file. */
export const ownProgram = (): readonly string[] =>
  isCompiled ? [process.execPath] : [process.execPath, Bun.main]

/** What it is started with to do one thing in a process of its own; see `main.ts`. */
export const ownPart = (word: string, entry: () => string): readonly string[] =>
  isCompiled ? [process.execPath, word] : [process.execPath, entry()]
