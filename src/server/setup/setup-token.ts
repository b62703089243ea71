import { instanceIds } from "../../domain/instance/index.ts"
import { type Random, randomToken } from "../../kernel/crypto/random.ts"
import { sameText } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Channel } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/**
 * The one-time way in to set-up, as long as there is no owner. Its secret lives in this process
 * only, which others that answer beside it ask; each link that is printed makes the one before it
 * void. That of nodes which share a log is one for all, made with their key.
 */
export type SetupToken = SetupDoor & {
  /** A new secret. Faults when set-up has been done. */
  readonly renew: () => string
  readonly matches: (secret: string) => boolean
}

/** What the pages of set-up need of it. */
export type SetupDoor = {
  readonly isOpen: () => boolean
  readonly matches: (secret: string) => boolean | Promise<boolean>
  /** Set-up has been done. */
  readonly close: () => void
}

export function openSetupToken(
  random: Random,
  options: {
    /** Whether there is no owner yet: one may come by another node. */
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
      if (!isOpen()) throw setUpDoneError()
      secret = options.secret ?? randomToken(random, 24)
      return secret
    },
    matches: (given) => isOpen() && secret !== undefined && sameText(secret, given),
    close,
  }
}

/** That of this process, or of all nodes. */
export const setupTokenOf = (
  { store, random, secrets }: Pick<ServerServices, "store" | "random" | "secrets">,
  closed: () => void,
): SetupToken =>
  openSetupToken(random, {
    open: () => instanceIds(store).length === 0,
    closed,
    // Whichever of several is asked, the link of any of them leads in.
    secret: store.node && secrets.hash("set-up", "setup-link"),
  })

/** That of the process that writes, for one that answers beside it. */
export const setupDoorBeside = (
  { store }: Pick<ServerServices, "store">,
  ask: Channel["ask"],
): SetupDoor => ({
  isOpen: () => instanceIds(store).length === 0,
  matches: (secret) => ask<boolean>("setupMatches", secret),
  // The other one finds that out by itself, later: a process that is gone has nothing to close.
  close: () => void ask("setupDone").catch(() => undefined),
})

/** What the others may ask of it. */
export const setupHandlers = ({ isOpen, matches }: SetupToken) => ({
  setupMatches: (secret: string) => matches(secret),
  setupDone: () => void isOpen(),
})

const setUpDoneError = () =>
  new Fault(
    "failed_precondition",
    "setup.done",
    "set-up has been done; sign in with the owner's account",
  )
