import { never } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import { optionalTextOf } from "../../kernel/text/user-field.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { existing } from "../user/index.ts"
import { hasLeft, keepAnOwner, type Machine, type UserEvent, user } from "../user-model/index.ts"

/** So that whoever looks for lost secrets knows one when they see it. */
const prefix = "latchkey_pat_"

/** What such a token is good for: to say who its user is, and to call the management interface. */
const scopes = ["openid", "profile", "urn:core:iam:org:project:id:core:aud"]

const tokensMax = 100

type NewToken = { readonly id: string; readonly expires: number; readonly name?: string }

const addToken = user.command<NewToken>((state, { id, expires, name }, cx) => {
  const present = existing(state)
  if (present.kind !== "machine") {
    throw new Fault(
      "failed_precondition",
      "user.not_machine",
      "only service users have personal access tokens; people sign in themselves",
    )
  }
  if (expires <= cx.now) {
    throw new Fault(
      "invalid_argument",
      "user.token_expired",
      "the token's expiration date must lie in the future",
    )
  }
  if (Object.keys(present.personalTokens).length >= tokensMax) {
    throw new Fault(
      "resource_exhausted",
      "user.too_many_tokens",
      `a service user has at most ${tokensMax} tokens; remove one that is no longer used`,
    )
  }
  const data = { tokenId: id, expires: Math.min(expires, never), scopes }
  return [{ type: "user.pat.added", data, private: { name: optionalTextOf("name", name) } }]
})

/** Makes a token for a service user, which is answered this once. */
export async function createPersonalToken(
  cx: Cx,
  userId: string,
  expires: number,
  name?: string,
): Promise<{ readonly receipt: Receipt; readonly id: string; readonly token: string }> {
  const id = cx.ids.next()
  const receipt = await addToken(cx, userId, { id, expires, ...(name && { name }) })
  const sealed = cx.secrets.seal("token", JSON.stringify([userId, id]), aboutOf(cx))
  return { receipt, id, token: prefix + sealed }
}

/** Makes a token within a larger step, for a service user who begins in it, too. */
export function addPersonalToken(
  tx: Transaction,
  userId: string,
  expires: number,
): { readonly id: string; readonly token: string } {
  const id = tx.ids.next()
  addToken.within(tx, userId, { id, expires })
  return { id, token: prefix + tx.secrets.seal("token", JSON.stringify([userId, id]), aboutOf(tx)) }
}

/** Ends a token; answers undefined where there is no such one. */
export async function removePersonalToken(
  cx: Cx,
  userId: string,
  tokenId: string,
): Promise<Receipt | undefined> {
  const step = await cx.store.transact(cx, (tx) => {
    const present = existing(tx.state(user, userId))
    if (present.kind !== "machine" || !Object.hasOwn(present.personalTokens, tokenId)) return false
    const { [tokenId]: _, ...personalTokens } = present.personalTokens
    keepAnOwner(tx, userId, { ...present, personalTokens })
    const removed: Draft<UserEvent> = { type: "user.pat.removed", data: { tokenId } }
    tx.append(user, userId, [removed])
    return true
  })
  return step.value ? step.receipt(user, userId) : undefined
}

type PersonalToken = Machine["personalTokens"][string]

/** A personal access token that was made here and not removed; times are ms UTC. */
export type KnownToken = PersonalToken & { readonly id: string; readonly userId: string }

/** Reads such a token; undefined for anything else. Whether it has expired is not looked at. */
export function readPersonalToken(cx: Cx, token: string): KnownToken | undefined {
  const plain = plainOf(cx, token)
  if (plain === undefined) return undefined
  const [userId, id] = JSON.parse(plain)
  const state = cx.store.state(cx, user, userId)
  if (hasLeft(state) || state.kind !== "machine") return undefined
  const known = Object.hasOwn(state.personalTokens, id) ? state.personalTokens[id] : undefined
  return known && { ...known, id, userId }
}

/** Whether a personal access token was made here, removed or not. */
export const isPersonalToken = (cx: Cx, token: string): boolean => plainOf(cx, token) !== undefined

const plainOf = (cx: Cx, token: string): string | undefined =>
  token.startsWith(prefix)
    ? cx.secrets.open("token", token.slice(prefix.length), aboutOf(cx))
    : undefined

/** Ids may repeat across instances: a token of one must not open in another. */
const aboutOf = (cx: Pick<Cx, "instance">) => `personal_access_token/${cx.instance}`
