import { neverExpires } from "../../kernel/crypto/signing-key.ts"
import type { DecisionContext } from "../../store/index.ts"
import {
  isLastOwner,
  requireRemainingOwner,
  type SignInAbility,
  signInAbilities,
} from "../instance/index.ts"
import { org } from "../org/index.ts"
import { user } from "./model.ts"
import { hasPasskey } from "./read.ts"
import { type Human, isAbsent, type Machine, type User } from "./state.ts"

/**
 * Throws if the instance would have no owner left who can sign in. `left` is the user's state after
 * the change.
 */
export const requireOtherOwner = (cx: DecisionContext, id: string, remaining?: User): void =>
  requireRemainingOwner(cx, id, {
    abilityOf: (each) => signInStatusOf(cx, each),
    remaining: remaining ? signInStatusFor(cx, id, remaining) : signInAbilities.none,
  })

/**
 * Whether this is the only human user who can administer the instance. Service accounts are not
 * counted, because the holder of the key may be unaware.
 */
export const isOnlyOwner = (cx: DecisionContext, id: string): boolean =>
  isLastOwner(cx, id, {
    abilityOf: (each) =>
      isServiceAccount(cx.state(user, each)) ? signInAbilities.none : signInStatusOf(cx, each),
  })

const isServiceAccount = (state: User): boolean => !isAbsent(state) && state.kind === "machine"

/** How a user can sign in, which determines whether an owner counts. */
export const signInStatusOf = (cx: DecisionContext, id: string): SignInAbility =>
  signInStatusFor(cx, id, cx.state(user, id))

function signInStatusFor(cx: DecisionContext, id: string, state: User): SignInAbility {
  if (isAbsent(state) || state.status !== "active") return signInAbilities.none
  if (cx.state(org, cx.owner(user, id)).status !== "active") return signInAbilities.none
  return state.kind === "machine"
    ? machineSignInStatus(state, cx.now)
    : humanSignInStatus(state, cx.now)
}

/**
 * Without a password or passkey, only an invitation can be used, and only an owner can renew it.
 */
function humanSignInStatus(person: Human, now: number): SignInAbility {
  const { password, invite } = person
  if (password || hasPasskey(person)) return signInAbilities.lasting
  return invite && invite.expires > now ? signInAbilities.expiring : signInAbilities.none
}

/** A service account without credentials can't call the API. */
function machineSignInStatus(
  { secret, keys, personalTokens }: Machine,
  now: number,
): SignInAbility {
  const tokens = Object.values(personalTokens).map(({ expires }) => expires)
  const ends = [...Object.values(keys), ...tokens]
  if (secret !== null || ends.some((expires) => expires >= neverExpires))
    return signInAbilities.lasting
  return ends.some((expires) => expires > now) ? signInAbilities.expiring : signInAbilities.none
}
