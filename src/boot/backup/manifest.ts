import * as z from "zod/mini"
import type { Snapshot } from "../../store/index.ts"
import { version } from "../version.ts"

// A backup is a tar archive, compressed with zstd and optionally encrypted with age. Each layer can
// be opened with standard tools, and the unpacked archive is a data directory. The first entry
// describes the backup. The last entry contains the checksums of all others, so truncation is
// detected.

/** The parts of a data directory, in the order in which they are restored. */
export const parts = [
  "master.key.fingerprint",
  "master.key",
  "latchkey.toml",
  "certificates.json",
  "latchkey.db",
] as const
export type Part = (typeof parts)[number]

export const aboutName = "latchkey-backup.txt"
export const manifestName = "latchkey-backup.json"

export const aboutText = `A backup of Latchkey ${version}. Restore it with: latchkey restore FILE`

/** The exact size and checksum of a file. */
export type Sum = { readonly size: number; readonly sha256: string }

const schema = z.object({
  format: z.literal(1),
  /** The version of Latchkey that created the backup, and when. */
  latchkey: z.string(),
  made: z.string(),
  /** The position of the last event in the backup. */
  position: z.int(),
  /** When that event was written; null if there are no events. */
  newest: z.nullable(z.string()),
  /** The version of the database schema. */
  schema: z.int(),
  /** Whether the file ends with a checksum of its content; absent in backups of older versions. */
  sealed: z.optional(z.literal(true)),
  files: z.array(z.object({ name: z.enum(parts), size: z.int(), sha256: z.string() })),
})
export type Manifest = Readonly<z.output<typeof schema>>

/** Returns undefined if the text is not a manifest that this version can read. */
export function parseManifest(text: string): Manifest | undefined {
  try {
    const read = schema.safeParse(JSON.parse(text))
    return read.success ? read.data : undefined
  } catch {
    // Text that is not JSON is not a manifest.
    return undefined
  }
}

/** The manifest of a backup; `now` is in ms since the epoch. */
export function createManifest(
  { position, newest, schema }: Snapshot,
  sums: ReadonlyMap<Part, Sum>,
  now: number,
): Manifest {
  const files = [...sums].map(([name, sum]) => ({ name, ...sum }))
  return {
    format: 1,
    latchkey: version,
    made: new Date(now).toISOString(),
    position,
    newest: newest === null ? null : new Date(newest).toISOString(),
    schema,
    sealed: true,
    files,
  }
}

export const hasPart = ({ files }: Manifest, part: Part): boolean =>
  files.some(({ name }) => name === part)
