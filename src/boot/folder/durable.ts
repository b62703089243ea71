import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { tryFile } from "../start-error.ts"

/**
 * Writes a file for its owner only, completely or not at all, because half a key would make all
 * data unreadable. The text can depend on the descriptor of the file, which is new until it is
 * renamed.
 */
export function writeDurably(file: string, text: string | ((fresh: number) => string)): void {
  tryFile(file, () => {
    const fresh = `${file}.new`
    const descriptor = openSync(fresh, "w", 0o600)
    try {
      writeFileSync(descriptor, typeof text === "string" ? text : text(descriptor))
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(fresh, file)
    syncDirectory(dirname(file))
  })
}

/** A rename is durable only after the directory is synced. Windows does not support this. */
function syncDirectory(folder: string): void {
  if (process.platform === "win32") return
  const descriptor = openSync(folder, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
