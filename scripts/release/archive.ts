import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { basename } from "node:path"
import { run } from "../step.ts"

/**
 * Packs a folder reproducibly: sorted entries, no owner, fixed modification times
 * (https://reproducible-builds.org/docs/archives/). `seconds` is since the epoch.
 */
export async function packFolder(
  { folder, below }: { readonly folder: string; readonly below: string },
  to: string,
  seconds: number,
): Promise<void> {
  const result = await run([
    "tar",
    "--create",
    "--format=ustar",
    "--sort=name",
    `--mtime=@${seconds}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--use-compress-program=gzip -9n",
    "--file",
    to,
    "--directory",
    folder,
    below,
  ])
  if (!result.ok) throw new Error(`${to} could not be packed:\n${result.output}`)
}

/** Checksums in the format of `sha256sum --check`, sorted by name. */
export async function formatChecksums(files: readonly string[]): Promise<string> {
  const lines = await Promise.all(
    [...files].sort().map(async (file) => `${await sha256(file)}  ${basename(file)}\n`),
  )
  return lines.join("")
}

async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest("hex")
}
