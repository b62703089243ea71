import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { basename } from "node:path"
import { run } from "../step.ts"

/**
 * Packs a folder, bit by bit the same each time: sorted, of nobody, as old as what it was made from
 * (https://reproducible-builds.org/docs/archives/). `seconds` is since the epoch.
 */
export async function packFolder(
  { folder, below }: { readonly folder: string; readonly below: string },
  to: string,
  seconds: number,
): Promise<void> {
  const packed = await run([
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
  if (!packed.ok) throw new Error(`${to} could not be packed:\n${packed.output}`)
}

/** Lines as `sha256sum --check` reads them, by name. */
export async function sumsOf(files: readonly string[]): Promise<string> {
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
