const isCompiled = /^(\/\$bunfs\/|B:[\\/]~BUN[\\/])/.test(Bun.main)

/** The command that started this program; when compiled, it is a single file. */
export const programCommand = (): readonly string[] =>
  isCompiled ? [process.execPath] : [process.execPath, Bun.main]

/** The command that starts this program as a worker or tool process; see `main.ts`. */
export const subprocessCommand = (word: string, entry: () => string): readonly string[] =>
  isCompiled ? [process.execPath, word] : [process.execPath, entry()]
