import { Fault } from "../../kernel/fault.ts"
import { optionalTextOf } from "../../protocol/user-field.ts"
import type { Cx, Receipt, Transaction } from "../../store/index.ts"
import { type CredentialKind, expiryOf, removalFrom } from "../family/index.ts"
import { existing } from "../user/index.ts"
import { hasLeft, keepAnOwner, type Machine, user } from "../user-model/index.ts"

/** So that whoever looks for lost secrets knows one when they see it. */
const prefix = "latchkey_pat_"

/** What such a token is good for: to say who its user is, and to call the management interface. */
const scopes = ["openid", "profile", "urn:core:iam:org:project:id:core:aud"]

const personalTokens = {
  noun: "token",
  holder: "a service user",
  errorIds: { expired: "user.token_expired", tooMany: "user.too_many_tokens" },
} as const satisfies CredentialKind

type NewToken = { readonly id: string; readonly expires: number; readonly name?: string }

const addToken = user.command<NewToken>((state, { id, expires, name }, { now }) => {
  const present = existing(state)
  if (present.kind !== "machine") {
    throw new Fault(
      "failed_precondition",
      "user.not_machine",
      "only service users have personal access tokens; people sign in themselves",
    )
  }
  const count = Object.keys(present.personalTokens).length
  const data = { tokenId: id, expires: expiryOf(personalTokens, { expires, now, count }), scopes }
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
export const removePersonalToken = removalFrom(user)<string>((state, tokenId, tx, userId) => {
  const present = existing(state)
  if (present.kind !== "machine" || !Object.hasOwn(present.personalTokens, tokenId))
    return undefined
  const { [tokenId]: _, ...personalTokens } = present.personalTokens
  keepAnOwner(tx, userId, { ...present, personalTokens })
  return { type: "user.pat.removed", data: { tokenId } }
})

type PersonalToken = Machine["personalTokens"][string]

/** A personal access token that was made here and not removed; times are ms UTC. */
export type PersonalTokenDetails = PersonalToken & { readonly id: string; readonly userId: string }

/** Reads such a token; undefined for anything else. Whether it has expired is not looked at. */
export function readPersonalToken(cx: Cx, token: string): PersonalTokenDetails | undefined {
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
