import { fullName, isPhone, isSameEmail, isSamePhone } from "../../../protocol/user-field.ts"
import type { Cx } from "../../../store/index.ts"
import { createCode } from "../../credential/index.ts"
import { type Answered, type Identity, type Scripted, unscripted } from "../../idp/index.ts"
import type { Metadata, NewHuman } from "../../user/index.ts"
import { genders } from "../../user-model/index.ts"
import type { Effect } from "../script/wire.ts"
import { effectError, lastOfEach, metadataIn, textIn } from "./effect.ts"
import { mayMend, shownHuman } from "./person.ts"
import { play, scriptsAt } from "./run.ts"
import type { Arriving, Scene } from "./sign-in.ts"

const texts = {
  setFirstName: "givenName",
  setLastName: "familyName",
  setNickName: "nickName",
  setDisplayName: "displayName",
  setPreferredLanguage: "preferredLanguage",
  setPreferredUsername: "userName",
  setUsername: "userName",
  setEmail: "email",
  setPhone: "phone",
} as const satisfies Readonly<Record<string, keyof Identity>>

const flags = {
  setEmailVerified: "emailVerified",
  setPhoneVerified: "phoneVerified",
} as const satisfies Readonly<Record<string, keyof Identity>>

/** The change that an effect is. */
export function changeIn(effect: Effect): Partial<Identity> {
  const [kind, value] = effect
  const text = Object.entries(texts).find(([name]) => name === kind)?.[1]
  if (text === "phone" && value !== "" && !isPhone(textIn(effect))) {
    throw effectError(`${kind} takes an international number such as +41791234567`)
  }
  if (text) return { [text]: textIn(effect) }
  const flag = Object.entries(flags).find(([name]) => name === kind)?.[1]
  if (flag && typeof value === "boolean") return { [flag]: value }
  throw effectError(flag ? `${kind} takes true or false` : `${kind} can't be done here`)
}

export type External = {
  readonly orgId: string
  /** Who comes, as far as that is known; empty for somebody whom nobody knows here. */
  readonly userId: string
  readonly idpId: string
  readonly answered: Answered
  readonly scene: Scene
}

/**
 * Runs what is to run when somebody comes back from a provider; answers what becomes of what that
 * has said, whatever scripts have made of it before. Faults where a script keeps them out, but
 * never who may mend it.
 */
export async function afterExternal(
  cx: Cx,
  { orgId, userId, idpId, answered: given, scene }: External,
): Promise<Answered> {
  const moment = { orgId, ...(userId && { userId }), flowType: 1, triggerType: 1 } as const
  const answered = unscripted(given)
  if (scriptsAt(cx, moment).length === 0) return answered
  const { identity, raw, accessToken, idToken } = answered
  let told = identity
  const noted: Metadata[] = []
  await play(cx, moment, {
    input: () => ({
      shape: "external",
      data: {
        ...scene,
        accessToken,
        idToken,
        claims: raw,
        providerInfo: raw,
        authError: "none",
        externalUser: shownExternal(idpId, told),
      },
    }),
    take: (effect) => {
      if (effect[0] === "metadata") noted.push(metadataIn(effect))
      else told = toldOtherwise(told, changeIn(effect))
    },
    isLenient: () => userId !== "" && mayMend(cx, userId, orgId),
  })
  const metadata = lastOfEach(noted).map(
    ({ key, value }) => [key, Buffer.from(value).toString()] as const,
  )
  return { ...answered, identity: told, scripted: { orgId, userId, said: identity, metadata } }
}

/**
 * Another address or number is verified only where the script says that, too. Names that it sets
 * are no guess.
 */
const toldOtherwise = (told: Identity, change: Partial<Identity>): Identity => ({
  ...told,
  ...((change.givenName ?? change.familyName) !== undefined && { isNameDivided: false }),
  ...(isOtherEmail(change.email, told.email) && { emailVerified: false }),
  ...(isOtherPhone(change.phone, told.phone) && { phoneVerified: false }),
  ...change,
})

const isOtherEmail = (said: string | undefined, known: string): boolean =>
  said !== undefined && !isSameEmail(said, known)

const isOtherPhone = (said: string | undefined, known: string): boolean =>
  said !== undefined && !isSamePhone(said, known)

/** Who has come from a provider, as scripts are shown them. */
export const shownExternal = (externalIdpId: string, told: Identity) => ({
  externalId: told.externalId,
  externalIdpId,
  preferredUsername: told.userName,
  human: {
    firstName: told.givenName,
    lastName: told.familyName,
    nickName: told.nickName,
    displayName: told.displayName,
    preferredLanguage: told.preferredLanguage,
    email: told.email,
    isEmailVerified: told.emailVerified,
    phone: told.phone,
    isPhoneVerified: told.phoneVerified,
  },
})

/** What scripts have noted about who came from a provider. */
export const notedBy = ({ metadata }: Scripted): readonly Metadata[] =>
  metadata.map(([key, json]) => ({ key, value: Buffer.from(json) }))

/** Runs what is to run before an account is made; answers the person as scripts want them. */
export async function beforeCreation(
  cx: Cx,
  userId: string,
  { person, flowType, orgId, scene }: Arriving & { readonly person: NewHuman },
): Promise<NewHuman> {
  const moment = { orgId, flowType, triggerType: 2 } as const
  if (scriptsAt(cx, moment).length === 0) return person
  const noted: Metadata[] = [...(person.metadata ?? [])]
  let now = person
  await play(cx, moment, {
    input: () => ({ shape: "before", data: { ...scene, user: shownNew(userId, now) } }),
    take: (effect) => {
      if (effect[0] === "metadata") noted.push(metadataIn(effect))
      else now = takeOfNew(effect, now)
    },
  })
  const { email } = now
  const needsCode = !email.verified && email.value !== person.email.value
  const code = needsCode ? createCode(cx, userId, { of: "email", returned: false }) : email.code
  return { ...now, email: { ...email, code }, metadata: lastOfEach(noted) }
}

/** Somebody who is not there yet, as an effect wants them. */
export const takeOfNew = (effect: Effect, person: NewHuman): NewHuman =>
  effect[0] === "setGender" ? withGender(person, effect) : changed(person, changeIn(effect))

/** Somebody who is not there yet. */
export const shownNew = (id: string, person: NewHuman) => ({
  id,
  resourceOwner: person.orgId,
  username: person.userName ?? person.email.value,
  human: shownHuman({
    profile: {
      nickName: "",
      preferredLanguage: "",
      gender: "unspecified",
      ...defined(person.profile),
      givenName: person.profile.givenName,
      familyName: person.profile.familyName,
      displayName: person.profile.displayName || fullName(person.profile),
    },
    email: { address: person.email.value, verified: person.email.verified },
    phone: person.phone ? { number: person.phone.value, verified: person.phone.verified } : null,
  }),
})

/** Fields that say nothing are left out. */
const defined = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

function withGender(person: NewHuman, [, value]: Effect): NewHuman {
  const gender = genders[Number(value)]
  if (gender === undefined) throw effectError(`setGender takes 0 to ${genders.length - 1}`)
  return { ...person, profile: { ...person.profile, gender } }
}

function changed(person: NewHuman, change: Partial<Identity>): NewHuman {
  const { userName, email, emailVerified, phone, phoneVerified, ...names } = change
  const profile = { ...person.profile, ...names }
  const { value: before = "", verified: wasVerified = false } = person.phone ?? {}
  const number = phone ?? before
  const isVerified = phoneVerified ?? (wasVerified && !isOtherPhone(phone, before))
  return {
    ...person,
    ...(userName !== undefined && { userName }),
    profile,
    email: {
      ...person.email,
      ...(email !== undefined && { value: email }),
      // Another address is verified only where the script says that, too.
      ...(isOtherEmail(email, person.email.value) && {
        verified: false,
        verifier: undefined,
        code: undefined,
      }),
      // What a script says is verified was verified by the organization.
      ...(emailVerified !== undefined && { verified: emailVerified, verifier: undefined }),
    },
    phone:
      number === ""
        ? undefined
        : {
            value: number,
            verified: isVerified,
            ...(phoneVerified === undefined &&
              !isOtherPhone(phone, before) && { verifier: person.phone?.verifier }),
          },
  }
}
