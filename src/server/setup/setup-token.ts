import { type Random, randomToken } from "../../kernel/crypto/random.ts"
import { sameText } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"

/**
 * The one-time way in to set-up, as long as there is no owner. Its secret lives in this process
 * only; each link that is printed makes the one before it void. That of nodes which share a log is
 * one for all, made with their key.
 */
export type SetupToken = {
  readonly isOpen: () => boolean
  /** A new secret. Faults when set-up has been done. */
  readonly renew: () => string
  readonly matches: (secret: string) => boolean
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

const setUpDoneError = () =>
  new Fault(
    "failed_precondition",
    "setup.done",
    "set-up has been done; sign in with the owner's account",
  )
