import { createHash, pbkdf2, scrypt } from "node:crypto"
import { promisify } from "node:util"
import { sameText } from "../../../kernel/crypto/secret.ts"
import { md5Crypt, portable, roundsOf, shaCrypt } from "./crypt.ts"

/** A hash of another system that is understood. */
export type Foreign = {
  /** Whether looking at it costs more than anybody may be made to wait for. */
  readonly isTooCostly: boolean
  readonly verify: (plain: string) => Promise<boolean>
}

type Parts = readonly string[]
type Form = {
  readonly pattern: RegExp
  /** Reads what the pattern has found; undefined for what nobody could compute. */
  readonly read: (parts: Parts, whole: string) => Foreign | undefined
}

/** About as much work as the dearest hash of ours that may be imported. */
const mostOf = {
  bcryptCost: 14,
  /** RFC 7914 §2: 128 bytes for each of N times r. */
  scryptBytes: 128 * 1024 * 1024,
  scryptLanes: 4,
  pbkdf2Rounds: 1_300_000,
  cryptRounds: 200_000,
  /** Each round of crypt reads the password once or twice: bytes of it, in all rounds. */
  cryptBytes: 40_000_000,
} as const

const forms: readonly Form[] = [
  {
    // Blowfish, of Niels Provos and David Mazières; $2y$ is PHP's name for what others call $2b$.
    pattern: /^\$2[aby]\$(\d\d)\$([./A-Za-z0-9]{22})([./A-Za-z0-9]{31})$/,
    read: ([cost = "", salt = "", output = ""]) => {
      if (Number(cost) < 4 || Number(cost) > 31) return undefined
      const hash = `$2b$${cost}$${withoutSpareBits(salt, 4)}${withoutSpareBits(output, 2)}`
      return {
        isTooCostly: Number(cost) > mostOf.bcryptCost,
        verify: (plain) => Bun.password.verify(firstBytes(plain, 72), hash),
      }
    },
  },
  {
    pattern: /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([^$]+)\$([^$]+)$/,
    read: ([ln, r, p, salt = "", output = ""]) => {
      const [n, blockSize, parallelization] = [2 ** Number(ln), Number(r), Number(p)]
      if (Number(ln) < 1 || blockSize < 1 || parallelization < 1) return undefined
      const bytes = 128 * n * blockSize
      return {
        isTooCostly: bytes > mostOf.scryptBytes || parallelization > mostOf.scryptLanes,
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
    // As passlib writes them; without a word for the hash it is SHA-1.
    pattern: /^\$pbkdf2(?:-(sha1|sha224|sha256|sha384|sha512))?\$(\d{1,8})\$([^$]+)\$([^$]+)$/,
    read: ([algorithm = "sha1", count = "", salt = "", output = ""]) => ({
      isTooCostly: Number(count) > mostOf.pbkdf2Rounds,
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
    read: ([salt = "", output = ""]) =>
      cheap(async (plain) => [await md5Crypt(plain, salt), output]),
  },
  {
    pattern: /^\$([56])\$(?:rounds=(\d{4,9})\$)?([^$]{0,16})\$([./A-Za-z0-9]{43,86})$/,
    read: ([kind, given, salt = "", output = ""]) => {
      const algorithm = kind === "5" ? "sha256" : "sha512"
      const rounds = Number(given || 5000)
      return {
        ...cheap(async (plain) =>
          // Nobody has chosen so long a one for so dear a hash; who tries it would only cost time.
          rounds * Buffer.byteLength(plain) > mostOf.cryptBytes
            ? ["", output]
            : [await shaCrypt(algorithm, plain, { salt, rounds }), output],
        ),
        isTooCostly: rounds > mostOf.cryptRounds,
      }
    },
  },
  {
    // phpass, of WordPress and phpBB.
    pattern: /^\$[PH]\$([5-9A-Za-z./])(.{8})([./A-Za-z0-9]{22})$/,
    read: ([letter = "", salt = "", output = ""]) =>
      portableOf("md5", { letter, salt, output, isCut: false }),
  },
  {
    // Drupal 7 keeps 55 characters of it all.
    pattern: /^\$S\$([5-9A-Za-z./])(.{8})([./A-Za-z0-9]{43})$/,
    read: ([letter = "", salt = "", output = ""]) =>
      portableOf("sha512", { letter, salt, output, isCut: true }),
  },
  {
    pattern: /^\$(md5|sha1|sha256|sha512)salted-(prefix|suffix)\$([^$]{0,64})\$([0-9a-fA-F]+)$/,
    read: ([algorithm = "", place, salt = "", output = ""]) =>
      cheap(async (plain) => [
        hex(algorithm, place === "prefix" ? salt + plain : plain + salt),
        output.toLowerCase(),
      ]),
  },
  {
    // The same with a salt of any bytes, which stands there in base64.
    pattern:
      /^\$(md5|sha1|sha256|sha512)salted-(prefix|suffix)-b64\$([\w+/=-]{0,96})\$([0-9a-fA-F]+)$/,
    read: ([algorithm = "", place, text = "", output = ""]) =>
      cheap(async (plain) => {
        const [salt, bytes] = [Buffer.from(text, "base64"), Buffer.from(plain)]
        const both = place === "prefix" ? [salt, bytes] : [bytes, salt]
        return [hex(algorithm, Buffer.concat(both)), output.toLowerCase()]
      }),
  },
  {
    pattern: /^([0-9a-fA-F]{32})$/,
    read: ([output = ""]) => cheap(async (plain) => [hex("md5", plain), output.toLowerCase()]),
  },
]

/**
 * Reads a hash of another system: bcrypt, scrypt, PBKDF2, md5crypt, sha-crypt, phpass, Drupal 7,
 * and MD5 or SHA sums with a salt before or behind; undefined for any other text.
 */
export function foreignHash(hashed: string): Foreign | undefined {
  for (const { pattern, read } of forms) {
    const [whole, ...parts] = pattern.exec(hashed) ?? []
    if (whole !== undefined) return read(parts, whole)
  }
  return undefined
}

const scryptOf = promisify<string, Buffer, number, object, Buffer>(scrypt)
const pbkdf2Of = promisify(pbkdf2)

const hex = (algorithm: string, text: string | Uint8Array): string =>
  createHash(algorithm).update(text).digest("hex")

/** What costs next to nothing: two texts that are to be the same. */
const cheap = (compute: (plain: string) => Promise<readonly [string, string]>): Foreign => ({
  isTooCostly: false,
  verify: async (plain) => sameText(...(await compute(plain))),
})

type Portable = {
  readonly letter: string
  readonly salt: string
  readonly output: string
  readonly isCut: boolean
}

function portableOf(algorithm: "md5" | "sha512", hash: Portable): Foreign {
  const { letter, salt, output, isCut } = hash
  const rounds = roundsOf(letter)
  return {
    isTooCostly: rounds > mostOf.cryptRounds,
    verify: async (plain) => {
      const text = await portable(algorithm, plain, { salt, rounds })
      return sameText(isCut ? text.slice(0, output.length) : text, output)
    },
  }
}

/** Six bits each, in the order of bcrypt; crypt(3) has another one. */
const bcryptLetters = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/**
 * The last letter has bits that stand for nothing: four after the 128 bits of a salt, two after the
 * 184 of an output. Some libraries wrote salts with random ones; the runtime would throw.
 */
function withoutSpareBits(text: string, count: number): string {
  const last = bcryptLetters.indexOf(text.at(-1) ?? "")
  return text.slice(0, -1) + (bcryptLetters[(last >> count) << count] ?? "")
}

/** bcrypt looks at 72 bytes; the runtime would hash what is longer beforehand, others don't. */
const firstBytes = (plain: string, count: number): Uint8Array =>
  Buffer.from(plain).subarray(0, count)

/** Base64 with or without padding, in the alphabets that are in use: "." stands for "+". */
const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll(".", "+"), "base64")

async function isOutput(
  output: string,
  compute: (length: number) => Promise<Buffer>,
): Promise<boolean> {
  const wanted = bytesOf(output)
  if (wanted.length < 12 || wanted.length > 64) return false
  return sameText((await compute(wanted.length)).toString("hex"), wanted.toString("hex"))
}
