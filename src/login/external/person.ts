import {
  type Found,
  type Identity,
  type Intent,
  idpById,
  type Scripted,
} from "../../domain/idp/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { memberships } from "../../domain/member/index.ts"
import {
  addLink,
  addUser,
  candidatesFor,
  createCode,
  linkedUser,
  mayVouch,
  type NewHuman,
  updateUser,
  user,
} from "../../domain/user/index.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import type { LoginContext } from "../context.ts"
import { type Verdict, verdictOn } from "./rule.ts"

/** Somebody who has come from a provider, and the provider. */
export type Newcomer = {
  readonly intent: Intent
  readonly found: Found
  readonly identity: Identity
}

/** Decides whose account it is. */
export function judged(cx: Cx, { intent, found, identity }: Newcomer): Verdict {
  const known = linkedUser(cx, { idpId: intent.idpId, externalId: identity.externalId })
  const home = known === undefined ? "" : (cx.store.receipt(cx, user, known)?.owner ?? "")
  const isTheirs = known !== undefined && mayVouch(cx, found.idp.id, home)
  const { email, emailVerified, givenName, familyName } = identity
  return verdictOn({
    options: found.idp.options,
    identity: {
      email,
      emailVerified,
      isComplete: email !== "" && givenName !== "" && familyName !== "",
    },
    ...(isTheirs && { linkedUser: known }),
    candidates: candidatesFor(cx, found.idp.id, identity)
      .filter(({ userId }) => isWithin(cx, userId, intent.answered.scripted))
      .map((candidate) => ({
        ...candidate,
        isAdministrator: memberships(cx, candidate.userId).length > 0,
      })),
  })
}

/** Whose address a script has said is known by it to its own organisation alone. */
const isWithin = (cx: Cx, userId: string, scripted: Scripted | undefined): boolean =>
  !scripted?.isAddressChanged || cx.store.receipt(cx, user, userId)?.owner === scripted.orgId

/** The newcomer of an intent of this browser; undefined where it is over, or the provider gone. */
export function newcomerOf(cx: Cx, intent: Intent | undefined): Newcomer | undefined {
  const found = intent && idpById(cx, intent.idpId)
  return intent && found && { intent, found, identity: intent.answered.identity }
}

/** What a person may say otherwise than their provider. */
export type Said = Pick<Identity, "givenName" | "familyName" | "email" | "userName">

/** A new person, as the provider tells of them; an address that they type is not verified. */
export function personOf(
  { cx, waiting }: LoginContext,
  userId: string,
  { found, identity, said }: Newcomer & { readonly said: Said },
): NewHuman {
  const verified = identity.emailVerified && said.email === identity.email
  const { nickName, displayName, preferredLanguage } = identity
  const { defaultOrgId } = requireInstance(cx)
  return {
    kind: "human",
    orgId: found.place ?? waiting?.asked.home ?? defaultOrgId,
    userName: said.userName || said.email,
    profile: {
      givenName: said.givenName,
      familyName: said.familyName,
      nickName,
      displayName,
      preferredLanguage,
    },
    email: {
      value: said.email,
      verified,
      ...(!verified && { code: createCode(cx, userId, { of: "email", returned: false }) }),
    },
  }
}

/** Adds a person and links them, as a part of a step. */
export function addPerson(
  tx: Transaction,
  userId: string,
  { newcomer, person }: { readonly newcomer: Newcomer; readonly person: NewHuman },
): void {
  addUser(tx, userId, person)
  link(tx, userId, newcomer)
}

/** Links somebody who is there already. */
export function link(tx: Transaction, userId: string, { found, identity }: Newcomer): void {
  const { externalId, userName, email } = identity
  const name = userName || email || externalId
  addLink(tx, userId, { idpId: found.idp.id, externalId, name })
}

/** Has a profile follow what the provider says, where it is set up so; what it leaves out stays. */
export function follow(tx: Transaction, userId: string, { found, identity }: Newcomer): void {
  if (!found.idp.options.isAutoUpdate) return
  const { givenName, familyName, nickName, displayName, preferredLanguage } = identity
  const told = { givenName, familyName, nickName, displayName, preferredLanguage }
  const profile = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== ""))
  const { email, emailVerified } = identity
  updateUser.within(tx, userId, {
    human: { profile, ...(email && emailVerified && { email: { value: email, verified: true } }) },
  })
}
