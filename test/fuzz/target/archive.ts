import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdCompressSync } from "node:zlib"
import { createSealLine, hashOfLine, publicJwkOf } from "../../../src/boot/audit/chain.ts"
import { verifyEvents } from "../../../src/boot/audit/verify.ts"
import { pack, unpack } from "../../../src/boot/backup/archive.ts"
import { type Bytes, discard } from "../../../src/boot/backup/bytes.ts"
import { createManifest, parts } from "../../../src/boot/backup/manifest.ts"
import { addChecksum } from "../../../src/boot/backup/seal.ts"
import { edKey } from "../engine/keys.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

const streamOf = (bytes: Uint8Array): Bytes => new Blob([new Uint8Array(bytes)]).stream()

async function compressedBackup(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const sources = Object.entries(files).map(([name, content]) => ({
    name: name as (typeof parts)[number],
    size: content.length,
    bytes: () => streamOf(Buffer.from(content)),
  }))
  const snapshot = { position: 1, newest: null, schema: 1 } as Parameters<typeof createManifest>[0]
  const packed = await pack(sources, (sums) => createManifest(snapshot, sums, 0), undefined)
  return Buffer.from(await new Response(packed).arrayBuffer())
}

const tarBackup = async (files: Readonly<Record<string, string>>): Promise<Buffer> =>
  Buffer.from(Bun.zstdDecompressSync(await compressedBackup(files)))

/** Backups as decompressed tar files; after "raw:" the compressed file. */
export const backupArchive = fuzzTarget({
  name: "backup-archive",
  seeds: async () => {
    const files = { "latchkey.db": "database", "latchkey.toml": "a = 1" }
    const tar = await tarBackup(files)
    const raw = Buffer.concat([Buffer.from("raw:"), await compressedBackup(files)])
    return [tar, await tarBackup({ "latchkey.db": "" }), raw, "raw:age-encryption.org/v1\n-> X"]
  },
  tokens: [
    "latchkey.db",
    "../latchkey.db",
    "master.key",
    "latchkey-backup.json",
    "ustar",
    "0000000",
    "77777777777",
    "path=",
    "size=",
    "20 path=/etc/passwd\n",
    "sha256",
    "raw:",
    "L",
    "x",
    "5",
  ],
  parse: async (input) => {
    const isRaw = input.subarray(0, 4).equals(Buffer.from("raw:"))
    const bytes = isRaw
      ? streamOf(input.subarray(4))
      : addChecksum(streamOf(zstdCompressSync(input)))
    const placed: string[] = []
    const manifest = await unpack(bytes, {}, async (part, fill) => {
      placed.push(part)
      return fill(discard)
    })
    return { placed, files: manifest.files.map(({ name }) => name) }
  },
  check: ({ placed, files }) => {
    requireProperty(placed.includes("latchkey.db"), "there is a database")
    for (const part of placed)
      requireProperty((parts as readonly string[]).includes(part), "known parts only")
    requireEqual([...new Set(placed)].sort(), [...files].sort(), "exactly what the list says")
  },
})

function sealedLines(): string {
  const key = edKey("audit")
  const head = { latchkey: "events", version: 1, instance: "1", after: 0, key: publicJwkOf(key) }
  const lines = [JSON.stringify(head)]
  let events = 0
  for (const count of [2, 1]) {
    for (let each = 0; each < count; each++) {
      const previous = hashOfLine(lines.at(-1) ?? "")
      lines.push(JSON.stringify({ previous, position: ++events, type: "user.added" }))
    }
    const hash = hashOfLine(lines.at(-1) ?? "")
    const seal = { instance: "1", position: events, events, hash, iat: 1_767_000_000 }
    lines.push(createSealLine({ id: "1", key }, seal))
  }
  return `${lines.join("\n")}\n`
}

type Folder = { readonly path: string; readonly file: string }

/** Exports of events, whose seals reveal a changed line. */
export const auditFile = fuzzTarget<Awaited<ReturnType<typeof verifyEvents>>, Folder>({
  name: "audit-file",
  open: async () => {
    const path = mkdtempSync(join(tmpdir(), "latchkey-fuzz-"))
    writeFileSync(join(path, "key"), JSON.stringify(publicJwkOf(edKey("audit"))))
    return { path, file: join(path, "events") }
  },
  close: async ({ path }) => rmSync(path, { recursive: true }),
  seeds: () => [sealedLines(), sealedLines().split("\n").slice(0, 4).join("\n")],
  tokens: ["previous", "position", "seal", "instance", "\n", "\u2028", "}", '{"seal":"', "."],
  parse: (input, { path, file }) => {
    writeFileSync(file, input)
    return verifyEvents(file, join(path, "key"))
  },
  check: ({ wrong }, input) => {
    if (wrong !== "") return
    // A file can end after any seal; everything else must be unchanged.
    const lines = input.toString().replace(/\n$/, "")
    requireProperty(sealedLines().startsWith(`${lines}\n`), "an altered file is not verified")
  },
})
