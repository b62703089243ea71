import { type Random, randomToken } from "../../kernel/crypto/random.ts"
import { sameText } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"

/**
 * The one-time way in to set-up, as long as there is no owner. Its secret lives in this process
 * only; each link that is printed makes the one before it void.
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
  options: { readonly open: boolean; readonly closed: () => void },
): SetupToken {
  let open = options.open
  let secret: string | undefined
  if (!open) options.closed()
  return {
    isOpen: () => open,
    renew: () => {
      if (!open) throw setUpDoneError()
      secret = randomToken(random, 24)
      return secret
    },
    matches: (given) => open && secret !== undefined && sameText(secret, given),
    close: () => {
      open = false
      options.closed()
    },
  }
}

const setUpDoneError = () =>
  new Fault(
    "failed_precondition",
    "setup.done",
    "set-up has been done; sign in with the owner's account",
  )
