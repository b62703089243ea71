/** What this program is started with to be a worker: by another one of its kind, never by hand. */
export const workerWord = "__worker"

/** What this program is started with: compiled, it is one file. */
export const ownProgram = (): readonly string[] =>
  /^(\/\$bunfs\/|B:[\\/]~BUN[\\/])/.test(Bun.main)
    ? [process.execPath]
    : [process.execPath, Bun.main]
