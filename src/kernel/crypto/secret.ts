import {
  createHash,
  createHmac,
  createPrivateKey,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto"
import { Fault } from "../fault.ts"
import type { Random } from "./random.ts"
import { type Cipher, createXaes, nonceLength } from "./xaes.ts"

export const purposes = ["seal", "hash", "cookie", "token"] as const

/** What a data key is for; each purpose has its own keys. */
export type Purpose = (typeof purposes)[number]

/**
 * Keyed operations with the data keys. Every result begins with the ID of its key, so that keys can
 * be rotated while old values stay readable. All are synchronous and safe inside a decision.
 */
export type Secrets = {
  /** Encrypts and authenticates; the same `context` is required to decrypt. */
  readonly seal: (purpose: Purpose, plain: string, context: string) => string
  /** Returns undefined for anything that `seal` did not create with the same `context`. */
  readonly open: (purpose: Purpose, sealed: string, context: string) => string | undefined
  /** A keyed hash for high-entropy secrets that we generated. Not for passwords. */
  readonly hash: (plain: string, context: string) => string
  /** Compares in constant time. */
  readonly matches: (hashed: string, plain: string, context: string) => boolean
  /**
   * The private Ed25519 key for signing in a context; deterministic. Its ID is that of a
   * data key: the active one, unless `id` is given. Undefined for an unknown ID.
   */
  readonly signer: (context: string, id?: string) => Signer | undefined
}

/** A private key for signatures that others verify (RFC 8032), and the ID of its data key. */
export type Signer = { readonly id: string; readonly key: KeyObject }

/** A data key as it is stored: only the master key can unwrap it. */
export type DataKey = { readonly id: string; readonly purpose: Purpose; readonly wrapped: string }

/** One active key per purpose creates new values; the others only read old ones. */
export type DataKeyRow = DataKey & { readonly active: boolean }

export const keyLength = 32

/** Creates a data key for `purpose` and wraps it with the master key. */
export function createDataKey(random: Random, master: Uint8Array, purpose: Purpose): DataKey {
  const id = Buffer.from(random.bytes(6)).toString("base64url")
  const key = random.bytes(keyLength)
  return { id, purpose, wrapped: wrap(random, master, { id, purpose, key }) }
}

/**
 * Unwraps the data keys and returns their operations. Rejects a master key that can't unwrap them,
 * and a purpose without exactly one active key.
 */
export function secretsOf(
  random: Random,
  master: Uint8Array,
  rows: readonly DataKeyRow[],
): Secrets {
  const keys = new Map(rows.map((row) => [row.id, prepareKey(row, unwrap(master, row))]))
  const active = activeKeysByPurpose(rows, keys)

  return {
    seal: (purpose, plain, context) => {
      const key = active[purpose]
      const ciphertext = key.cipher.encrypt(random.bytes(nonceLength), Buffer.from(plain), context)
      return `${key.id}.${ciphertext.toString("base64url")}`
    },
    open: (purpose, sealed, context) => {
      const dot = sealed.indexOf(".")
      const key = keys.get(sealed.slice(0, dot))
      const ciphertext = decodeBase64Url(sealed.slice(dot + 1))
      if (dot < 0 || key?.purpose !== purpose || !ciphertext) return undefined
      return key.cipher.decrypt(ciphertext, context)?.toString()
    },
    hash: (plain, context) => active.hash.hash(plain, context),
    matches: (hashed, plain, context) => {
      const key = keys.get(hashed.slice(0, hashed.indexOf(".")))
      if (key?.purpose !== "hash") return false
      return constantTimeEquals(hashed, key.hash(plain, context))
    },
    signer: (context, id = active.hash.id) => {
      const key = keys.get(id)
      return key?.purpose === "hash" ? { id, key: key.signing(context) } : undefined
    },
  }
}

/** Rewraps every data key with a new master key; the values that they encrypt don't change. */
export function rewrap(
  random: Random,
  from: Uint8Array,
  to: Uint8Array,
  rows: readonly DataKeyRow[],
): DataKeyRow[] {
  return rows.map((row) => {
    const { id, purpose } = row
    return { ...row, wrapped: wrap(random, to, { id, purpose, key: unwrap(from, row) }) }
  })
}

/** Whether a master key can unwrap all of these data keys. */
export const canUnwrapAll = (master: Uint8Array, rows: readonly DataKey[]): boolean =>
  rows.every((row) => tryUnwrap(master, row) !== undefined)

/** Identifies a master key without revealing anything about it. */
export function fingerprint(master: Uint8Array): string {
  return createHash("sha256").update(derive(master, "fingerprint")).digest("base64url")
}

/**
 * Whether `plain` matches one of `hashes`. Compares with all of them, and takes the same time
 * without any, so that the duration reveals nothing.
 */
export function matchesAny(
  secrets: Pick<Secrets, "hash" | "matches">,
  hashes: readonly string[],
  { plain, about }: { readonly plain: string; readonly about: string },
): boolean {
  if (hashes.length > 0) {
    return hashes.filter((hash) => secrets.matches(hash, plain, about)).length > 0
  }
  const none = secrets.hash(plain, about)
  return !constantTimeEquals(none, none)
}

/** Compares two texts in a time that depends only on their lengths. */
export function constantTimeEquals(left: string, right: string): boolean {
  const a = Buffer.from(left)
  const b = Buffer.from(right)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Decodes base64url in its canonical form: no padding, no spare bits, no other characters. */
export function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url")
  return bytes.toString("base64url") === text ? bytes : undefined
}

type UnwrappedKey = {
  readonly id: string
  readonly purpose: Purpose
  readonly cipher: Cipher
  readonly hash: (plain: string, context: string) => string
  readonly signing: (context: string) => KeyObject
}

/** RFC 8410 §7: the PKCS #8 prefix of an Ed25519 private key seed. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")

function prepareKey({ id, purpose }: DataKey, key: Uint8Array): UnwrappedKey {
  const mac = createSecretKey(derive(key, "hash"))
  return {
    id,
    purpose,
    cipher: createXaes(derive(key, "seal")),
    signing: (context) => {
      const pair = Buffer.concat([pkcs8Prefix, derive(key, `sign ${context}`)])
      return createPrivateKey({ key: pair, format: "der", type: "pkcs8" })
    },
    hash: (plain, subject) => {
      const context = Buffer.byteLength(subject)
      const input = Buffer.allocUnsafe(4 + context + Buffer.byteLength(plain))
      // The length first: context "a" with text "bc" must not hash like "ab" with "c".
      input.writeUInt32BE(context)
      input.write(subject, 4)
      input.write(plain, 4 + context)
      return `${id}.${createHmac("sha256", mac).update(input).digest("base64url")}`
    },
  }
}

function activeKeysByPurpose(
  rows: readonly DataKeyRow[],
  keys: ReadonlyMap<string, UnwrappedKey>,
): Readonly<Record<Purpose, UnwrappedKey>> {
  const one = (purpose: Purpose) => {
    const [row, ...others] = rows.filter((each) => each.active && each.purpose === purpose)
    const key = row && keys.get(row.id)
    if (!key || others.length > 0) {
      throw new Error(`exactly one active data key is required for "${purpose}"`)
    }
    return key
  }
  return { seal: one("seal"), hash: one("hash"), cookie: one("cookie"), token: one("token") }
}

function wrap(
  random: Random,
  master: Uint8Array,
  { id, purpose, key }: { id: string; purpose: Purpose; key: Uint8Array },
): string {
  const cipher = createXaes(derive(master, "wrap"))
  return cipher.encrypt(random.bytes(nonceLength), key, `${purpose} ${id}`).toString("base64url")
}

function tryUnwrap(master: Uint8Array, { id, purpose, wrapped }: DataKey): Uint8Array | undefined {
  const ciphertext = decodeBase64Url(wrapped)
  const key =
    ciphertext && createXaes(derive(master, "wrap")).decrypt(ciphertext, `${purpose} ${id}`)
  return key?.length === keyLength ? key : undefined
}

function unwrap(master: Uint8Array, row: DataKey): Uint8Array {
  const key = tryUnwrap(master, row)
  if (key) return key
  throw new Fault(
    "failed_precondition",
    "start.master_key_wrong",
    "the master key can't decrypt the keys in the database; start with the key they were " +
      "created with",
  )
}

/**
 * Derives a separate key for each use of `key`, so that values of one use are invalid in another.
 */
function derive(key: Uint8Array, use: string): Uint8Array {
  if (key.length !== keyLength) throw new Error(`a key has ${keyLength} bytes, not ${key.length}`)
  return new Uint8Array(hkdfSync("sha256", key, "", `latchkey ${use}`, keyLength))
}
