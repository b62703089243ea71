import { createHash, pbkdf2, scrypt } from "node:crypto"
import { promisify } from "node:util"
import { constantTimeEquals } from "../../../kernel/crypto/secret.ts"
import { md5Crypt, phpass, roundsOf, shaCrypt } from "./crypt.ts"

/** A supported password hash of another system. */
export type ForeignHash = {
  /** Whether checking the hash takes too long for sign-in. */
  readonly isTooCostly: boolean
  readonly verify: (plain: string) => Promise<boolean>
}

type Parts = readonly string[]
type HashFormat = {
  readonly pattern: RegExp
  /** Parses the matched text. Returns undefined if the hash can't be computed. */
  readonly parse: (parts: Parts, whole: string) => ForeignHash | undefined
}

/** Limits comparable to the most expensive argon2 hash that can be imported. */
const costLimits = {
  bcryptCost: 14,
  /** RFC 7914 §2: 128 bytes for each of N times r. */
  scryptBytes: 128 * 1024 * 1024,
  scryptLanes: 4,
  pbkdf2Rounds: 1_300_000,
  cryptRounds: 200_000,
  /**
   * Each round of crypt reads the password once or twice; the limit is bytes read in all rounds.
   */
  cryptBytes: 40_000_000,
} as const

const hashFormats: readonly HashFormat[] = [
  {
    // Blowfish hash by Niels Provos and David Mazières; $2y$ is PHP's name for $2b$.
    pattern: /^\$2[aby]\$(\d\d)\$([./A-Za-z0-9]{22})([./A-Za-z0-9]{31})$/,
    parse: ([cost = "", salt = "", output = ""]) => {
      if (Number(cost) < 4 || Number(cost) > 31) return undefined
      const hash = `$2b$${cost}$${clearSpareBits(salt, 4)}${clearSpareBits(output, 2)}`
      return {
        isTooCostly: Number(cost) > costLimits.bcryptCost,
        verify: (plain) => Bun.password.verify(firstBytes(plain, 72), hash),
      }
    },
  },
  {
    pattern: /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([^$]+)\$([^$]+)$/,
    parse: ([ln, r, p, salt = "", output = ""]) => {
      const [n, blockSize, parallelization] = [2 ** Number(ln), Number(r), Number(p)]
      if (Number(ln) < 1 || blockSize < 1 || parallelization < 1) return undefined
      const bytes = 128 * n * blockSize
      return {
        isTooCostly: bytes > costLimits.scryptBytes || parallelization > costLimits.scryptLanes,
        verify: (plain) =>
          isOutput(output, (length) =>
            scryptOf(plain, bytesOf(salt), length, {
              N: n,
              r: blockSize,
              p: parallelization,
              maxmem: 2 * bytes + 1024 * 1024,
            }),
          ),
      }
    },
  },
  {
    // The format of passlib; SHA-1 if no hash is named.
    pattern: /^\$pbkdf2(?:-(sha1|sha224|sha256|sha384|sha512))?\$(\d{1,8})\$([^$]+)\$([^$]+)$/,
    parse: ([algorithm = "sha1", count = "", salt = "", output = ""]) => ({
      isTooCostly: Number(count) > costLimits.pbkdf2Rounds,
      verify: (plain) =>
        Number(count) < 1
          ? Promise.resolve(false)
          : isOutput(output, (length) =>
              pbkdf2Of(plain, bytesOf(salt), Number(count), length, algorithm || "sha1"),
            ),
    }),
  },
  {
    pattern: /^\$1\$([^$]{0,8})\$([./A-Za-z0-9]{22})$/,
    parse: ([salt = "", output = ""]) =>
      plainDigest(async (plain) => [await md5Crypt(plain, salt), output]),
  },
  {
    pattern: /^\$([56])\$(?:rounds=(\d{4,9})\$)?([^$]{0,16})\$([./A-Za-z0-9]{43,86})$/,
    parse: ([kind, roundsText, salt = "", output = ""]) => {
      const algorithm = kind === "5" ? "sha256" : "sha512"
      const rounds = Number(roundsText || 5000)
      return {
        ...plainDigest(async (plain) =>
          // Reject passwords that exceed the work limit: no one has such a long password with such
          // an expensive hash.
          rounds * Buffer.byteLength(plain) > costLimits.cryptBytes
            ? ["", output]
            : [await shaCrypt(algorithm, plain, { salt, rounds }), output],
        ),
        isTooCostly: rounds > costLimits.cryptRounds,
      }
    },
  },
  {
    // phpass, used by WordPress and phpBB.
    pattern: /^\$[PH]\$([5-9A-Za-z./])(.{8})([./A-Za-z0-9]{22})$/,
    parse: ([letter = "", salt = "", output = ""]) =>
      phpassFormat("md5", { letter, salt, output, isCut: false }),
  },
  {
    // Drupal 7 truncates the hash to 55 characters.
    pattern: /^\$S\$([5-9A-Za-z./])(.{8})([./A-Za-z0-9]{43})$/,
    parse: ([letter = "", salt = "", output = ""]) =>
      phpassFormat("sha512", { letter, salt, output, isCut: true }),
  },
  {
    pattern: /^\$(md5|sha1|sha256|sha512)salted-(prefix|suffix)\$([^$]{0,64})\$([0-9a-fA-F]+)$/,
    parse: ([algorithm = "", saltPlacement, salt = "", output = ""]) =>
      plainDigest(async (plain) => [
        hexDigest(algorithm, saltPlacement === "prefix" ? salt + plain : plain + salt),
        output.toLowerCase(),
      ]),
  },
  {
    // A salted digest whose salt is base64.
    pattern:
      /^\$(md5|sha1|sha256|sha512)salted-(prefix|suffix)-b64\$([\w+/=-]{0,96})\$([0-9a-fA-F]+)$/,
    parse: ([algorithm = "", saltPlacement, text = "", output = ""]) =>
      plainDigest(async (plain) => {
        const [salt, bytes] = [Buffer.from(text, "base64"), Buffer.from(plain)]
        const both = saltPlacement === "prefix" ? [salt, bytes] : [bytes, salt]
        return [hexDigest(algorithm, Buffer.concat(both)), output.toLowerCase()]
      }),
  },
  {
    pattern: /^([0-9a-fA-F]{32})$/,
    parse: ([output = ""]) =>
      plainDigest(async (plain) => [hexDigest("md5", plain), output.toLowerCase()]),
  },
]

/**
 * Parses a password hash of another system: bcrypt, scrypt, PBKDF2, md5crypt, sha-crypt, phpass,
 * Drupal 7, or an MD5 or SHA digest with a salt prefix or suffix. Returns undefined for any other
 * text.
 */
export function parseForeignHash(hashed: string): ForeignHash | undefined {
  for (const { pattern, parse: read } of hashFormats) {
    const [whole, ...parts] = pattern.exec(hashed) ?? []
    if (whole !== undefined) return read(parts, whole)
  }
  return undefined
}

const scryptOf = promisify<string, Buffer, number, object, Buffer>(scrypt)
const pbkdf2Of = promisify(pbkdf2)

const hexDigest = (algorithm: string, text: string | Uint8Array): string =>
  createHash(algorithm).update(text).digest("hex")

/** A format that costs almost nothing to check: compares two digests. */
const plainDigest = (
  compute: (plain: string) => Promise<readonly [string, string]>,
): ForeignHash => ({
  isTooCostly: false,
  verify: async (plain) => constantTimeEquals(...(await compute(plain))),
})

type PhpassHash = {
  readonly letter: string
  readonly salt: string
  readonly output: string
  readonly isCut: boolean
}

function phpassFormat(algorithm: "md5" | "sha512", hash: PhpassHash): ForeignHash {
  const { letter, salt, output, isCut } = hash
  const rounds = roundsOf(letter)
  return {
    isTooCostly: rounds > costLimits.cryptRounds,
    verify: async (plain) => {
      const text = await phpass(algorithm, plain, { salt, rounds })
      return constantTimeEquals(isCut ? text.slice(0, output.length) : text, output)
    },
  }
}

/** The base64 alphabet of bcrypt; crypt(3) uses another order. */
const bcryptLetters = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/**
 * Clears the unused bits of the last character: four after the 128 bits of a salt, two after the
 * 184 bits of an output. Some libraries set them randomly, which the runtime rejects.
 */
function clearSpareBits(text: string, count: number): string {
  const last = bcryptLetters.indexOf(text.at(-1) ?? "")
  return text.slice(0, -1) + (bcryptLetters[(last >> count) << count] ?? "")
}

/**
 * bcrypt uses the first 72 bytes; the runtime would hash longer passwords first, other
 * implementations don't.
 */
const firstBytes = (plain: string, count: number): Uint8Array =>
  Buffer.from(plain).subarray(0, count)

/** Decodes base64 with or without padding, in any common alphabet: "." means "+". */
const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll(".", "+"), "base64")

async function isOutput(
  output: string,
  compute: (length: number) => Promise<Buffer>,
): Promise<boolean> {
  const expected = bytesOf(output)
  if (expected.length < 12 || expected.length > 64) return false
  return constantTimeEquals(
    (await compute(expected.length)).toString("hex"),
    expected.toString("hex"),
  )
}
