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
import { type Cipher, nonceLength, xaesOf } from "./xaes.ts"

export const purposes = ["seal", "hash", "cookie", "token"] as const

/** What a data key is for; each purpose has its own keys. */
export type Purpose = (typeof purposes)[number]

/**
 * Keyed operations with the data keys. Every result begins with the id of its key, so keys can be
 * rotated while old values stay readable. All are synchronous and safe inside a decision.
 */
export type Secrets = {
  /** Encrypts and authenticates; `about` is bound in and must be given again to open. */
  readonly seal: (purpose: Purpose, plain: string, about: string) => string
  /** Answers undefined for anything that is not, bit for bit, what `seal` made with `about`. */
  readonly open: (purpose: Purpose, sealed: string, about: string) => string | undefined
  /** A keyed hash for high-entropy secrets that we generated. Not for passwords. */
  readonly hash: (plain: string, about: string) => string
  /** Compares in constant time. */
  readonly matches: (hashed: string, plain: string, about: string) => boolean
  /**
   * The private key (Ed25519) for signing what is `about` something; the same each time. Its id is
   * that of a data key: the active one, unless one is named; undefined where there is no such key.
   */
  readonly signer: (about: string, id?: string) => Signer | undefined
}

/** A key pair for signatures that others check (RFC 8032), and by what it is found again. */
export type Signer = { readonly id: string; readonly key: KeyObject }

/** A data key as it is stored: only the master key can unwrap it. */
export type DataKey = { readonly id: string; readonly purpose: Purpose; readonly wrapped: string }

/** One active key per purpose makes new values; the others still read old ones. */
export type DataKeyRow = DataKey & { readonly active: boolean }

export const keyLength = 32

/** Makes a data key for `purpose` and wraps it with the master key. */
export function createDataKey(random: Random, master: Uint8Array, purpose: Purpose): DataKey {
  const id = Buffer.from(random.bytes(6)).toString("base64url")
  const key = random.bytes(keyLength)
  return { id, purpose, wrapped: wrap(random, master, { id, purpose, key }) }
}

/**
 * Unwraps the data keys and answers what they can do. Refuses a master key that does not open
 * them, and a purpose with more or less than one active key.
 */
export function secretsOf(
  random: Random,
  master: Uint8Array,
  rows: readonly DataKeyRow[],
): Secrets {
  const keys = new Map(rows.map((row) => [row.id, readyKey(row, unwrap(master, row))]))
  const active = activeKeys(rows, keys)

  return {
    seal: (purpose, plain, about) => {
      const key = active[purpose]
      const box = key.cipher.encrypt(random.bytes(nonceLength), Buffer.from(plain), about)
      return `${key.id}.${box.toString("base64url")}`
    },
    open: (purpose, sealed, about) => {
      const dot = sealed.indexOf(".")
      const key = keys.get(sealed.slice(0, dot))
      const box = bytesOf(sealed.slice(dot + 1))
      if (dot < 0 || key?.purpose !== purpose || !box) return undefined
      return key.cipher.decrypt(box, about)?.toString()
    },
    hash: (plain, about) => active.hash.hash(plain, about),
    matches: (hashed, plain, about) => {
      const key = keys.get(hashed.slice(0, hashed.indexOf(".")))
      if (key?.purpose !== "hash") return false
      return sameText(hashed, key.hash(plain, about))
    },
    signer: (about, id = active.hash.id) => {
      const key = keys.get(id)
      return key?.purpose === "hash" ? { id, key: key.signing(about) } : undefined
    },
  }
}

/** Wraps every data key anew, so that the master key can be replaced without touching any value. */
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

/** Whether a master key is the one that all of these are wrapped with. */
export const opensAll = (master: Uint8Array, rows: readonly DataKey[]): boolean =>
  rows.every((row) => unwrapped(master, row) !== undefined)

/** Tells master keys apart and reveals nothing about them. */
export function fingerprint(master: Uint8Array): string {
  return createHash("sha256").update(derive(master, "fingerprint")).digest("base64url")
}

/**
 * Whether `plain` is what one of `hashes` was made of. Looks at all of them, and works as long
 * where there is none, so that the time tells nothing.
 */
export function isOneOf(
  secrets: Pick<Secrets, "hash" | "matches">,
  hashes: readonly string[],
  { plain, about }: { readonly plain: string; readonly about: string },
): boolean {
  if (hashes.length > 0) {
    return hashes.filter((hash) => secrets.matches(hash, plain, about)).length > 0
  }
  const none = secrets.hash(plain, about)
  return !sameText(none, none)
}

/** Compares two texts in a time that depends on their lengths only. */
export function sameText(left: string, right: string): boolean {
  const a = Buffer.from(left)
  const b = Buffer.from(right)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Reads base64url in its one spelling: no padding, no spare bits, no foreign characters. */
export function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url")
  return bytes.toString("base64url") === text ? bytes : undefined
}

type ReadyKey = {
  readonly id: string
  readonly purpose: Purpose
  readonly cipher: Cipher
  readonly hash: (plain: string, about: string) => string
  readonly signing: (about: string) => KeyObject
}

/** RFC 8410 §7: what stands before the seed of a private key of Ed25519 in PKCS #8. */
const beforeSeed = Buffer.from("302e020100300506032b657004220420", "hex")

function readyKey({ id, purpose }: DataKey, key: Uint8Array): ReadyKey {
  const mac = createSecretKey(derive(key, "hash"))
  return {
    id,
    purpose,
    cipher: xaesOf(derive(key, "seal")),
    signing: (about) => {
      const pair = Buffer.concat([beforeSeed, derive(key, `sign ${about}`)])
      return createPrivateKey({ key: pair, format: "der", type: "pkcs8" })
    },
    hash: (plain, about) => {
      const context = Buffer.byteLength(about)
      const input = Buffer.allocUnsafe(4 + context + Buffer.byteLength(plain))
      // The length first: "a" about "bc" must not hash like "ab" about "c".
      input.writeUInt32BE(context)
      input.write(about, 4)
      input.write(plain, 4 + context)
      return `${id}.${createHmac("sha256", mac).update(input).digest("base64url")}`
    },
  }
}

function activeKeys(
  rows: readonly DataKeyRow[],
  keys: ReadonlyMap<string, ReadyKey>,
): Readonly<Record<Purpose, ReadyKey>> {
  const one = (purpose: Purpose) => {
    const [row, ...others] = rows.filter((each) => each.active && each.purpose === purpose)
    const key = row && keys.get(row.id)
    if (!key || others.length > 0) {
      throw new Error(`there must be exactly one active data key for "${purpose}"`)
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
  const cipher = xaesOf(derive(master, "wrap"))
  return cipher.encrypt(random.bytes(nonceLength), key, `${purpose} ${id}`).toString("base64url")
}

function unwrapped(master: Uint8Array, { id, purpose, wrapped }: DataKey): Uint8Array | undefined {
  const box = bytesOf(wrapped)
  const key = box && xaesOf(derive(master, "wrap")).decrypt(box, `${purpose} ${id}`)
  return key?.length === keyLength ? key : undefined
}

function unwrap(master: Uint8Array, row: DataKey): Uint8Array {
  const key = unwrapped(master, row)
  if (key) return key
  throw new Fault(
    "failed_precondition",
    "start.master_key_wrong",
    "the master key does not open the keys in the database; start with the key it was made with",
  )
}

/** A key of its own for each use of `key`, so that no two uses can be played against each other. */
function derive(key: Uint8Array, use: string): Uint8Array {
  if (key.length !== keyLength) throw new Error(`a key has ${keyLength} bytes, not ${key.length}`)
  return new Uint8Array(hkdfSync("sha256", key, "", `latchkey ${use}`, keyLength))
}
