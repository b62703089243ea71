import { instanceIds } from "../../domain/instance/index.ts"
import { type Random, randomToken } from "../../kernel/crypto/random.ts"
import { constantTimeEquals } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Channel } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/**
 * The one-time secret for the setup, until there is an owner. It exists only in this process, and
 * worker processes query it; each printed link invalidates the previous one. Nodes that share a log
 * derive the same secret from their key.
 */
export type SetupToken = SetupAccess & {
  /** Creates a new secret. Throws after the setup. */
  readonly renew: () => string
  readonly matches: (secret: string) => boolean
}

/** The part that the setup pages need. */
export type SetupAccess = {
  readonly isOpen: () => boolean
  readonly matches: (secret: string) => boolean | Promise<boolean>
  /** Closes the setup. */
  readonly close: () => void
}

export function createToken(
  random: Random,
  options: {
    /** Whether there is no owner yet; another node may have created one. */
    readonly open: () => boolean
    readonly closed: () => void
    readonly secret?: string | undefined
  },
): SetupToken {
  let isClosed = false
  let secret = options.secret
  const isOpen = () => {
    if (!isClosed && !options.open()) close()
    return !isClosed
  }
  const close = () => {
    isClosed = true
    options.closed()
  }
  isOpen()
  return {
    isOpen,
    renew: () => {
      if (!isOpen()) throw setupCompletedError()
      secret = options.secret ?? randomToken(random, 24)
      return secret
    },
    matches: (candidate) =>
      isOpen() && secret !== undefined && constantTimeEquals(secret, candidate),
    close,
  }
}

/** The token of this process, or of all nodes. */
export const createSetupToken = (
  { store, random, secrets }: Pick<ServerServices, "store" | "random" | "secrets">,
  closed: () => void,
): SetupToken =>
  createToken(random, {
    open: () => instanceIds(store).length === 0,
    closed,
    // A link of any node works on all nodes.
    secret: store.node && secrets.hash("set-up", "setup-link"),
  })

/** The token of the writer process, for a worker. */
export const createWorkerSetupAccess = (
  { store }: Pick<ServerServices, "store">,
  request: Channel["ask"],
): SetupAccess => ({
  isOpen: () => instanceIds(store).length === 0,
  matches: (secret) => request<boolean>("setupMatches", secret),
  // The writer also closes the setup on its own; a stopped process needs no notice.
  close: () => void request("setupDone").catch(() => undefined),
})

/** The handlers of the writer for workers. */
export const setupHandlers = ({ isOpen, matches }: SetupToken) => ({
  setupMatches: (secret: string) => matches(secret),
  setupDone: () => void isOpen(),
})

const setupCompletedError = () =>
  new Fault(
    "failed_precondition",
    "setup.done",
    "the setup is already completed; sign in as the owner",
  )
