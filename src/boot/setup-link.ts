import { rmSync, writeFileSync } from "node:fs"
import type { Folder } from "./folder/folder.ts"
import { tryFile } from "./start-error.ts"

/** Writes the setup link to the data directory, readable only by its owner, or removes it. */
export function saveSetupLink(folder: Folder, link: string | undefined): void {
  tryFile(folder.setupLink, () => {
    rmSync(folder.setupLink, { force: true })
    if (link) writeFileSync(folder.setupLink, `${link}\n`, { mode: 0o600, flag: "wx" })
  })
}
