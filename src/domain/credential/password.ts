import { Fault } from "../../kernel/fault.ts"
import { normalForm } from "../../kernel/text/name.ts"
import { availableCores } from "../../runtime/cores.ts"
import { createQueue, type QueueLoad } from "../../runtime/queue.ts"
import { trace } from "../../runtime/trace.ts"
import { waitingMax } from "../lockout/index.ts"
import { parseForeignHash } from "./foreign/formats.ts"

/** Argon2id parameters recommended by OWASP: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const bytesMax = 1024

/** Limit of the queue for imported hashes, which can be slow and share one lane. */
const foreignWaitingMax = 32

/** PHC prefix of hashes made by this server. */
const ownPrefix = "$argon2id$v=19$m=19456,t=2,p=1$"

/** A PHC hash without a known password, with the cost of a real one. */
const dummyHash = `${ownPrefix}bm9ib2R5IGhhcyB0aGlzIQ$O5sMBLgLiT0H8oc9PMuxjZDxDWzGRhBVbXwwQJcFqIY`

/** The hashing library. */
export type HashEngine = {
  readonly name: string
  readonly hash: (plain: string) => Promise<string>
  readonly verify: (hashed: string, plain: string) => Promise<boolean>
}

/** Whether a hash has the format and cost of this server; others were imported. */
export const isOwnHash = (hashed: string): boolean => hashed.startsWith(ownPrefix)

type VerifyOptions = {
  /** Called with the reason if the library rejects the hash. */
  readonly onUnsupported?: (cause: unknown) => void
  /** See `hash`. */
  readonly queueKey?: string | undefined
  /** Number of failed attempts of the account; accounts with more failures have lower priority. */
  readonly failures?: number | undefined
}

export type PasswordHasher = {
  /**
   * Returns a PHC string. Rejects an empty password and one longer than 1024 bytes. Requests with
   * the same queue key run in order, and queues take turns; the default queue is that of sign-ins.
   */
  readonly hash: (plain: string, queueKey?: string) => Promise<string>
  /**
   * Whether a password matches a hash. Imported hashes don't delay others. An unsupported hash
   * never matches, but takes the time of a regular check.
   */
  readonly verify: (hashed: string, plain: string, options?: VerifyOptions) => Promise<boolean>
  /** Takes the time of `verify` for an account that doesn't exist, to prevent user enumeration. */
  readonly verifyNothing: (plain: string, failures?: number) => Promise<false>
  /** Loads the library in advance to keep the first sign-in fast. Returns its name. */
  readonly warm: () => Promise<string>
  /** Number of running and waiting operations, for this server's hashes and imported ones. */
  readonly load: () => { readonly own: QueueLoad; readonly foreign: QueueLoad }
}

/**
 * Hashes passwords with at most `lanes` concurrent operations, to leave CPU for other work.
 * Imported hashes have one additional lane. Rejects a request if 256 are waiting in its queue, or
 * 32 for imported hashes.
 */
export function createPasswordHasher(
  load: () => Promise<HashEngine>,
  lanes: number | (() => number),
): PasswordHasher {
  const queue = createQueue(lanes, waitingMax, tooManyError)
  const foreign = createQueue(1, foreignWaitingMax, tooManyError)
  const engine = memoize(load)
  const verify: PasswordHasher["verify"] = async (
    hashed,
    plain,
    { onUnsupported: refused, queueKey, failures } = {},
  ) => {
    const normal = normalizePassword(plain)
    if (lengthError(normal)) return false
    const inLane = isOwnHash(hashed) ? queue : foreign
    const check = async () => {
      const library = await engine()
      try {
        const other = isOwnHash(hashed) ? undefined : parseForeignHash(hashed)
        return other ? await other.verify(normal) : await library.verify(hashed, normal)
      } catch (cause) {
        // A stored hash can't be repaired here; the caller receives the same response as for a
        // wrong password.
        refused?.(cause)
        await library.verify(dummyHash, normal)
        return false
      }
    }
    return trace("password", () => inLane(check, { line: queueKey, weight: failures }))
  }
  return {
    hash: async (plain, queueKey) => {
      const normal = normalizePassword(plain)
      const refused = lengthError(normal)
      if (refused) throw refused
      return trace("password", () =>
        queue(async () => (await engine()).hash(normal), { line: queueKey }),
      )
    },
    verify,
    verifyNothing: async (plain, failures) => {
      await verify(dummyHash, plain, { failures })
      return false
    },
    warm: async () => (await engine()).name,
    load: () => ({ own: queue.load(), foreign: foreign.load() }),
  }
}

/** The password hasher of this process; all callers share its CPU. */
export const {
  hash: hashPassword,
  verify: verifyPassword,
  verifyNothing,
  warm: warmPasswords,
  load: passwordLoad,
} = createPasswordHasher(loadEngine, availableCores)

/**
 * Loads the native library, which hashes more than twice as fast as the runtime. It is unpacked
 * from the binary into the temporary directory; if that fails, the runtime hashes and startup logs
 * a message.
 */
export async function loadEngine(): Promise<HashEngine> {
  try {
    const { hash, verify } = await import("@node-rs/argon2")
    return { name: "@node-rs/argon2", hash: (plain) => hash(plain, cost), verify }
  } catch {
    return runtimeEngine
  }
}

export const runtimeEngine: HashEngine = {
  name: "Bun.password",
  hash: (plain) => Bun.password.hash(plain, { algorithm: "argon2id", ...cost }),
  verify: (hashed, plain) => Bun.password.verify(plain, hashed),
}

/**
 * NIST SP 800-63B §5.1.1.2: different keyboards can produce different bytes for the same password.
 */
const normalizePassword = (plain: string) => normalForm(plain, "NFKC")

function lengthError(plain: string): Fault | undefined {
  const bytes = Buffer.byteLength(plain)
  if (bytes === 0) return invalidError("password.empty", "password is required")
  if (bytes <= bytesMax) return undefined
  return invalidError("password.too_long", `password must be at most ${bytesMax} bytes`)
}

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)

function tooManyError(): Fault {
  return new Fault(
    "resource_exhausted",
    "password.busy",
    "too many passwords are being checked at the moment; try again shortly",
  )
}

/** Calls `load` on first use and caches the result. */
function memoize<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined
  return () => {
    loaded ??= load()
    return loaded
  }
}
