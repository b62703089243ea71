import { createPublicKey } from "node:crypto"
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import * as z from "zod/mini"
import { createSigningPair } from "../../kernel/crypto/signing-key.ts"
import type { Ids } from "../../kernel/id.ts"
import { startError, systemCode } from "../start-error.ts"

/** The public part of a service account's key, for the setup. */
export const registeredKey = z.lazy(() =>
  z.strictObject({
    userId: z.string().check(z.regex(/^\d{1,18}$/)),
    keyId: z.string().check(z.regex(/^\d{1,18}$/)),
    publicKey: z.string(),
  }),
)
export type RegisteredKey = Readonly<z.output<typeof registeredKey>>

const keyFileSchema = z.lazy(() =>
  z.strictObject({
    type: z.literal("serviceaccount"),
    keyId: z.string(),
    key: z.string(),
    userId: z.string(),
  }),
)

/** A key on disk, under a temporary name until it is registered. */
export type KeyFile = {
  readonly registered: RegisteredKey
  /** The temporary path. */
  readonly part: string
  /** Renames the file to its final name after the key is registered. */
  readonly finish: () => void
  /** Deletes the file if the key is not registered. */
  readonly discard: () => void
}

/**
 * Creates the key of a service account and writes it to disk before it is registered, so that a
 * crash can't lose it. Reuses a key that an earlier run left. Throws if the file exists.
 */
export async function createKeyFile(path: string, ids: Ids): Promise<KeyFile> {
  requireNewFile(path)
  const part = `${path}.part`
  if (isEmptyLeftover(part)) rmSync(part)
  const text = existsSync(part) ? readOwnFile(part) : await writeNew(part, ids)
  return {
    registered: parseKeyFile(text, part),
    part,
    finish: () => {
      requireNewFile(path, `; the key is in ${part}`)
      renameSync(part, path)
      syncDirectory(path)
    },
    discard: () => rmSync(part, { force: true }),
  }
}

function requireNewFile(path: string, more = ""): void {
  if (existsSync(path)) throw unusableError(path, `it already exists${more}`)
}

async function writeNew(part: string, ids: Ids): Promise<string> {
  const { privateKey: key } = await createSigningPair()
  const file = { type: "serviceaccount", keyId: ids.next(), key, userId: ids.next() }
  const text = `${JSON.stringify(file)}\n`
  try {
    const descriptor = openSync(part, "wx", 0o600)
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
    closeSync(descriptor)
    syncDirectory(part)
    return text
  } catch (error) {
    throw unusableError(part, systemCode(error), error)
  }
}

/** An empty file of an interrupted run, whose key was never registered. */
function isEmptyLeftover(part: string): boolean {
  const found = lstatSync(part, { throwIfNoEntry: false })
  return found?.size === 0 && found.uid === process.getuid?.()
}

/** Throws unless this user owns the file, because a foreign key would own the instance. */
function readOwnFile(part: string): string {
  try {
    const descriptor = openSync(part, constants.O_RDONLY | constants.O_NOFOLLOW)
    const { uid, mode } = fstatSync(descriptor)
    const isOwn = uid === process.getuid?.() && (mode & 0o077) === 0
    const text = isOwn ? readFileSync(descriptor, "utf8") : ""
    closeSync(descriptor)
    return text
  } catch (error) {
    throw unusableError(part, systemCode(error), error)
  }
}

function parseKeyFile(text: string, part: string): RegisteredKey {
  try {
    const { userId, keyId, key } = keyFileSchema.parse(JSON.parse(text))
    const publicKey = createPublicKey(key).export({ format: "pem", type: "spki" }).toString()
    return registeredKey.parse({ userId, keyId, publicKey })
  } catch (error) {
    const reason = "it is not a key from an earlier setup; delete it"
    throw startError("key_file_unusable", `${part} can't be used: ${reason}`, error)
  }
}

/** A rename is durable only after the directory is synced. */
function syncDirectory(path: string): void {
  const descriptor = openSync(dirname(path), constants.O_RDONLY)
  fsyncSync(descriptor)
  closeSync(descriptor)
}

const unusableError = (path: string, reason: string, cause?: unknown) =>
  startError("key_file_unusable", `${path} can't be created: ${reason}`, cause)
