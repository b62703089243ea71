import { never } from "../../kernel/crypto/signing-key.ts"
import type { Decision } from "../../store/index.ts"
import { isLastOwner, keepOwner, type Standing, standings } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { user } from "./model.ts"
import { hasPasskey } from "./read.ts"
import { type Human, hasLeft, type Machine, type User } from "./state.ts"

/**
 * An instance is never left without an owner who can still sign in. `left` is what remains of a
 * user whose credential goes.
 */
export const keepAnOwner = (cx: Decision, id: string, left?: User): void =>
  keepOwner(cx, id, {
    standingOf: (each) => standingOf(cx, each),
    left: left ? standingAs(cx, id, left) : standings.none,
  })

/**
 * Whether no person could administer the instance if this one were kept out. A service user might,
 * but whoever has its key need not know of it, nor know what to do.
 */
export const isOnlyOwner = (cx: Decision, id: string): boolean =>
  isLastOwner(cx, id, {
    standingOf: (each) => (isMachine(cx.state(user, each)) ? standings.none : standingOf(cx, each)),
  })

const isMachine = (state: User): boolean => !hasLeft(state) && state.kind === "machine"

/** How well a user can sign in: what makes an owner count. */
export const standingOf = (cx: Decision, id: string): Standing =>
  standingAs(cx, id, cx.state(user, id))

function standingAs(cx: Decision, id: string, state: User): Standing {
  if (hasLeft(state) || state.status !== "active") return standings.none
  if (cx.state(org, cx.owner(user, id)).status !== "active") return standings.none
  return state.kind === "machine" ? wayIn(state, cx.now) : signInOf(state, cx.now)
}

/**
 * Without a password or a passkey only an invitation leads in, and nobody below an owner can renew
 * that.
 */
function signInOf(person: Human, now: number): Standing {
  const { password, invite } = person
  if (password || hasPasskey(person)) return standings.lasting
  return invite && invite.expires > now ? standings.expiring : standings.none
}

/** A service user without anything to show can't call anybody, and nobody asks it to. */
function wayIn({ secret, keys, personalTokens }: Machine, now: number): Standing {
  const tokens = Object.values(personalTokens).map(({ expires }) => expires)
  const ends = [...Object.values(keys), ...tokens]
  if (secret !== null || ends.some((expires) => expires >= never)) return standings.lasting
  return ends.some((expires) => expires > now) ? standings.expiring : standings.none
}
