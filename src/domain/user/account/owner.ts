import { never } from "../../../kernel/crypto/signing-key.ts"
import type { Cx, Decision } from "../../../store/index.ts"
import {
  bestStanding,
  isLastOwner,
  keepOwner,
  type Standing,
  standings,
} from "../../instance/index.ts"
import { org } from "../../org/index.ts"
import { hasPasskey } from "../factor/ready.ts"
import { type Human, hasLeft, type Machine, type User, user } from "../model.ts"

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

/** When nobody can administer an instance any more, in words; undefined for never. */
export async function whenOwnerless(cx: Cx): Promise<string | undefined> {
  const { value } = await cx.store.transact(cx, (tx) =>
    bestStanding(tx, (userId) => standingOf(tx, userId)),
  )
  if (value >= standings.lasting) return undefined
  return value === standings.none ? "now" : "when their keys, tokens and invitations expire"
}

/**
 * Warns where nobody owns the instance for good: its owners were given nothing but what expires, or
 * nothing. To take from them what lasts is refused; what an instance began with is not.
 */
export async function warnOfLeaving(cx: Cx): Promise<void> {
  const when = await whenOwnerless(cx)
  if (when === undefined) return
  cx.warn(
    `nobody can administer instance ${cx.instance} ${when}: give one of its owners a password or ` +
      "a secret, or a key that does not expire",
  )
}

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
