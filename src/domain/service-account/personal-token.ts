import { Fault } from "../../kernel/fault.ts"
import { parseOptionalText } from "../../protocol/user-field.ts"
import type { Cx, Receipt, Transaction } from "../../store/index.ts"
import { type CredentialKind, createRemoval, requireExpiry } from "../family/index.ts"
import { requireExists } from "../user/index.ts"
import { isAbsent, type Machine, requireOtherOwner, user } from "../user-model/index.ts"

/** Lets secret scanners recognize leaked tokens. */
const tokenPrefix = "latchkey_pat_"

/** Scopes of personal access tokens: the identity of the user and access to the management API. */
const tokenScopes = ["openid", "profile", "urn:core:iam:org:project:id:core:aud"]

const personalTokenKind = {
  noun: "token",
  holder: "a service account",
  errorIds: { expired: "user.token_expired", tooMany: "user.too_many_tokens" },
} as const satisfies CredentialKind

type AddTokenInput = { readonly id: string; readonly expires: number; readonly name?: string }

const addTokenEvent = user.command<AddTokenInput>((state, { id, expires, name }, { now }) => {
  const present = requireExists(state)
  if (present.kind !== "machine") {
    throw new Fault(
      "failed_precondition",
      "user.not_machine",
      "only service accounts have personal access tokens; human users sign in",
    )
  }
  const count = Object.keys(present.personalTokens).length
  const data = {
    tokenId: id,
    expires: requireExpiry(personalTokenKind, { expires, now, count }),
    scopes: tokenScopes,
  }
  return [{ type: "user.pat.added", data, private: { name: parseOptionalText("name", name) } }]
})

/** Creates a token for a service account, returned only here. */
export async function createPersonalToken(
  cx: Cx,
  userId: string,
  expires: number,
  name?: string,
): Promise<{ readonly receipt: Receipt; readonly id: string; readonly token: string }> {
  const id = cx.ids.next()
  const receipt = await addTokenEvent(cx, userId, { id, expires, ...(name && { name }) })
  const sealed = cx.secrets.seal("token", JSON.stringify([userId, id]), tokenContext(cx))
  return { receipt, id, token: tokenPrefix + sealed }
}

/** Creates a token in a transaction, also for a service account created in it. */
export function addPersonalToken(
  tx: Transaction,
  userId: string,
  expires: number,
): { readonly id: string; readonly token: string } {
  const id = tx.ids.next()
  addTokenEvent.within(tx, userId, { id, expires })
  return {
    id,
    token: tokenPrefix + tx.secrets.seal("token", JSON.stringify([userId, id]), tokenContext(tx)),
  }
}

/** Removes a token. Returns undefined if it doesn't exist. */
export const removePersonalToken = createRemoval(user)<string>((state, tokenId, tx, userId) => {
  const present = requireExists(state)
  if (present.kind !== "machine" || !Object.hasOwn(present.personalTokens, tokenId))
    return undefined
  const { [tokenId]: _, ...personalTokens } = present.personalTokens
  requireOtherOwner(tx, userId, { ...present, personalTokens })
  return { type: "user.pat.removed", data: { tokenId } }
})

type PersonalToken = Machine["personalTokens"][string]

/** A personal access token that exists; times are ms UTC. */
export type PersonalTokenDetails = PersonalToken & { readonly id: string; readonly userId: string }

/** Finds the token; undefined for any other text. Does not check its expiration. */
export function parsePersonalToken(cx: Cx, token: string): PersonalTokenDetails | undefined {
  const plain = decryptToken(cx, token)
  if (plain === undefined) return undefined
  const [userId, id] = JSON.parse(plain)
  const state = cx.store.state(cx, user, userId)
  if (isAbsent(state) || state.kind !== "machine") return undefined
  const stored = Object.hasOwn(state.personalTokens, id) ? state.personalTokens[id] : undefined
  return stored && { ...stored, id, userId }
}

/** Whether a text is a personal access token of this instance, removed or not. */
export const isPersonalToken = (cx: Cx, token: string): boolean =>
  decryptToken(cx, token) !== undefined

const decryptToken = (cx: Cx, token: string): string | undefined =>
  token.startsWith(tokenPrefix)
    ? cx.secrets.open("token", token.slice(tokenPrefix.length), tokenContext(cx))
    : undefined

/** IDs can repeat across instances: a token of one must be invalid in others. */
const tokenContext = (cx: Pick<Cx, "instance">) => `personal_access_token/${cx.instance}`
