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

/** What set-up is told of the service user's key: everything but the private half. */
export const registeredKey = z.lazy(() =>
  z.strictObject({
    userId: z.string().check(z.regex(/^\d{1,18}$/)),
    keyId: z.string().check(z.regex(/^\d{1,18}$/)),
    publicKey: z.string(),
  }),
)
export type RegisteredKey = Readonly<z.output<typeof registeredKey>>

const content = z.lazy(() =>
  z.strictObject({
    type: z.literal("serviceaccount"),
    keyId: z.string(),
    key: z.string(),
    userId: z.string(),
  }),
)

/** A key that lies on disk, under a name of its own until it is registered. */
export type KeyFile = {
  readonly registered: RegisteredKey
  /** Where it lies until then. */
  readonly part: string
  /** It is registered: from now on the file is there. */
  readonly finish: () => void
  /** It will never be. */
  readonly discard: () => void
}

/**
 * Makes the key of a service user and writes it to disk, before anybody registers it: whatever is
 * cut off afterwards, the key is not lost. One that an earlier run has left is taken up again.
 * Refuses a file that exists.
 */
export async function keyFileAt(path: string, ids: Ids): Promise<KeyFile> {
  refuseExisting(path)
  const part = `${path}.part`
  if (isEmptyOwn(part)) rmSync(part)
  const text = existsSync(part) ? readOwn(part) : await writeNew(part, ids)
  return {
    registered: registeredOf(text, part),
    part,
    finish: () => {
      refuseExisting(path, `; the key is in ${part}`)
      renameSync(part, path)
      syncFolder(path)
    },
    discard: () => rmSync(part, { force: true }),
  }
}

function refuseExisting(path: string, more = ""): void {
  if (existsSync(path)) throw unusable(path, `it exists already${more}`)
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
    syncFolder(part)
    return text
  } catch (error) {
    throw unusable(part, systemCode(error), error)
  }
}

/** Cut off before a key was written, so nobody has registered one. */
function isEmptyOwn(part: string): boolean {
  const found = lstatSync(part, { throwIfNoEntry: false })
  return found?.size === 0 && found.uid === process.getuid?.()
}

/** What somebody else has put there would make them the owner of everything. */
function readOwn(part: string): string {
  try {
    const descriptor = openSync(part, constants.O_RDONLY | constants.O_NOFOLLOW)
    const { uid, mode } = fstatSync(descriptor)
    const isOwn = uid === process.getuid?.() && (mode & 0o077) === 0
    const text = isOwn ? readFileSync(descriptor, "utf8") : ""
    closeSync(descriptor)
    return text
  } catch (error) {
    throw unusable(part, systemCode(error), error)
  }
}

function registeredOf(text: string, part: string): RegisteredKey {
  try {
    const { userId, keyId, key } = content.parse(JSON.parse(text))
    const publicKey = createPublicKey(key).export({ format: "pem", type: "spki" }).toString()
    return registeredKey.parse({ userId, keyId, publicKey })
  } catch (error) {
    const because = "it is no key that an earlier set-up has left here; remove it"
    throw startError("key_file_unusable", `${part} can't be used: ${because}`, error)
  }
}

/** A name is on disk when its folder is. */
function syncFolder(path: string): void {
  const descriptor = openSync(dirname(path), constants.O_RDONLY)
  fsyncSync(descriptor)
  closeSync(descriptor)
}

const unusable = (path: string, because: string, cause?: unknown) =>
  startError("key_file_unusable", `${path} can't be made: ${because}`, cause)
