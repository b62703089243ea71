import { Fault } from "../../kernel/fault.ts"
import { normalForm } from "../../kernel/text/name.ts"
import { ownCores } from "../../runtime/cores.ts"
import { type QueueLoad, queueOf } from "../../runtime/queue.ts"
import { traced } from "../../runtime/trace.ts"
import { waitingMax } from "../lockout/index.ts"
import { foreignHash } from "./foreign/list.ts"

/** OWASP's argon2id setting: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const bytesMax = 1024

/** Those that wait for a foreign hash, which may take long, wait on one lane. */
const foreignWaitingMax = 32

/** How each hash of ours begins, in the PHC format. */
const own = "$argon2id$v=19$m=19456,t=2,p=1$"

/** A hash in the PHC format that nobody has the password of; it costs what a real one costs. */
const nobody = `${own}bm9ib2R5IGhhcyB0aGlzIQ$O5sMBLgLiT0H8oc9PMuxjZDxDWzGRhBVbXwwQJcFqIY`

/** The library that hashes. */
export type Engine = {
  readonly name: string
  readonly hash: (plain: string) => Promise<string>
  readonly verify: (hashed: string, plain: string) => Promise<boolean>
}

/** Whether a hash has the form and the cost of our own; any other was imported. */
export const isOwn = (hashed: string): boolean => hashed.startsWith(own)

type Verifying = {
  /** Hears why the library refuses a hash. */
  readonly refused?: (cause: unknown) => void
  /** See `hash`. */
  readonly line?: string | undefined
  /** Tries of an account come behind those of others by how many of them have failed. */
  readonly failures?: number | undefined
}

export type Passwords = {
  /**
   * Answers a PHC string. Refuses an empty password and one beyond 1024 bytes. Those of one line
   * wait for each other alone, and lines take turns; without one it is that of all who sign in.
   */
  readonly hash: (plain: string, line?: string) => Promise<string>
  /**
   * Whether a password is that of a hash. A foreign hash holds up nobody who has one of ours. One
   * that the library refuses is nobody's, at the cost of one of ours.
   */
  readonly verify: (hashed: string, plain: string, how?: Verifying) => Promise<boolean>
  /** The work of `verify` for an account that does not exist, so that time tells nothing. */
  readonly verifyNothing: (plain: string, failures?: number) => Promise<false>
  /** Loads the library, so that the first sign-in does not wait for it; answers its name. */
  readonly warm: () => Promise<string>
  /** What is hashed now and what waits for it: passwords of ours, and with imported hashes. */
  readonly load: () => { readonly own: QueueLoad; readonly foreign: QueueLoad }
}

/**
 * Hashes passwords, at most `lanes` at once: more would only starve everything else of its cores.
 * Foreign hashes have one more lane, however dear they are. Whoever comes when 256 are waiting in
 * their line, or 32 for a foreign one, is refused.
 */
export function passwordsOf(
  load: () => Promise<Engine>,
  lanes: number | (() => number),
): Passwords {
  const queue = queueOf(lanes, waitingMax, tooManyError)
  const foreign = queueOf(1, foreignWaitingMax, tooManyError)
  const engine = once(load)
  const verify: Passwords["verify"] = async (hashed, plain, { refused, line, failures } = {}) => {
    const normal = normalise(plain)
    if (refusalOf(normal)) return false
    const inLane = isOwn(hashed) ? queue : foreign
    const check = async () => {
      const library = await engine()
      try {
        const other = isOwn(hashed) ? undefined : foreignHash(hashed)
        return other ? await other.verify(normal) : await library.verify(hashed, normal)
      } catch (cause) {
        // What was stored can't be mended here; who tries it learns no more than of any other.
        refused?.(cause)
        await library.verify(nobody, normal)
        return false
      }
    }
    return traced("password", () => inLane(check, { line, weight: failures }))
  }
  return {
    hash: async (plain, line) => {
      const normal = normalise(plain)
      const refused = refusalOf(normal)
      if (refused) throw refused
      return traced("password", () => queue(async () => (await engine()).hash(normal), { line }))
    },
    verify,
    verifyNothing: async (plain, failures) => {
      await verify(nobody, plain, { failures })
      return false
    },
    warm: async () => (await engine()).name,
    load: () => ({ own: queue.load(), foreign: foreign.load() }),
  }
}

/** The passwords of this process; they share its cores. */
export const {
  hash: hashPassword,
  verify: verifyPassword,
  verifyNothing,
  warm: warmPasswords,
  load: passwordLoad,
} = passwordsOf(loadEngine, ownCores)

/**
 * The native library hashes more than twice as fast as the runtime's own. It is unpacked from the
 * binary into the temporary folder: where that can't be, the runtime hashes, and start says so.
 */
export async function loadEngine(): Promise<Engine> {
  try {
    const { hash, verify } = await import("@node-rs/argon2")
    return { name: "@node-rs/argon2", hash: (plain) => hash(plain, cost), verify }
  } catch {
    return runtimeEngine
  }
}

export const runtimeEngine: Engine = {
  name: "Bun.password",
  hash: (plain) => Bun.password.hash(plain, { algorithm: "argon2id", ...cost }),
  verify: (hashed, plain) => Bun.password.verify(plain, hashed),
}

/** NIST SP 800-63B §5.1.1.2: the same password typed on two keyboards may differ in its bytes. */
const normalise = (plain: string) => normalForm(plain, "NFKC")

function refusalOf(plain: string): Fault | undefined {
  const bytes = Buffer.byteLength(plain)
  if (bytes === 0) return invalidError("password.empty", "the password is empty; choose one")
  if (bytes <= bytesMax) return undefined
  return invalidError("password.too_long", `the password is longer than ${bytesMax} bytes`)
}

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)

function tooManyError(): Fault {
  return new Fault(
    "resource_exhausted",
    "password.busy",
    "too many passwords are being checked right now; try again in a moment",
  )
}

/** Calls `load` at the first use. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined
  return () => {
    loaded ??= load()
    return loaded
  }
}
