import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { withFile } from "../start-error.ts"

/**
 * On disk as a whole or not at all, for its owner only: half a key would lose everything. What is
 * written may depend on the file that it is written to, which is a new one until it has its name.
 */
export function writeDurably(file: string, text: string | ((fresh: number) => string)): void {
  withFile(file, () => {
    const fresh = `${file}.new`
    const descriptor = openSync(fresh, "w", 0o600)
    try {
      writeFileSync(descriptor, typeof text === "string" ? text : text(descriptor))
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(fresh, file)
    syncFolder(dirname(file))
  })
}

/** A name is on disk when its folder is. Windows has no such thing to ask for. */
function syncFolder(folder: string): void {
  if (process.platform === "win32") return
  const descriptor = openSync(folder, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
