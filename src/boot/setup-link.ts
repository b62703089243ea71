import { rmSync, writeFileSync } from "node:fs"
import type { Folder } from "./folder/folder.ts"
import { withFile } from "./start-error.ts"

/** Keeps the set-up link in the data folder as long as there is one, for its owner only. */
export function keepSetupLink(folder: Folder, link: string | undefined): void {
  withFile(folder.setupLink, () => {
    rmSync(folder.setupLink, { force: true })
    if (link) writeFileSync(folder.setupLink, `${link}\n`, { mode: 0o600, flag: "wx" })
  })
}
