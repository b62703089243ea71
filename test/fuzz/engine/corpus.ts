import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export const corpusFolder = join(import.meta.dirname, "../corpus")

/** The maximum number of files for a target; more would only slow down the replay. */
export const filesMax = 60

/** The maximum size of a file in bytes, to limit the corpus. */
export const fileBytesMax = 4096

/** The maximum size of all files of a target in bytes. */
export const targetBytesMax = 25_000

/** The maximum size of all files in bytes. */
export const corpusBytesMax = 500_000

export type CorpusFile = { readonly name: string; readonly bytes: Buffer }

/** The stored inputs of a target, by file name. */
export function readCorpus(target: string): readonly CorpusFile[] {
  const folder = join(corpusFolder, target)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }))
}

/** Stores an input under its hash; returns the path. */
export function storeInput(target: string, input: Uint8Array, prefix = ""): string {
  const folder = join(corpusFolder, target)
  mkdirSync(folder, { recursive: true })
  const hash = createHash("sha256").update(input).digest("hex").slice(0, 16)
  const path = join(folder, prefix + hash)
  writeFileSync(path, input)
  return path
}
