import { formatFullName, isPhone, isSameEmail, isSamePhone } from "../../../protocol/user-field.ts"
import type { Cx } from "../../../store/index.ts"
import { createCode } from "../../credential/index.ts"
import {
  type AuthenticatedAnswer,
  type Identity,
  type ScriptResult,
  withoutScripts,
} from "../../idp/index.ts"
import type { Metadata, NewHuman } from "../../user/index.ts"
import { genders } from "../../user-model/index.ts"
import type { Effect } from "../script/messages.ts"
import { effectError, lastByKey, parseMetadata, textArgument } from "./effect.ts"
import { runScripts, scriptsFor } from "./run.ts"
import { canEditScripts, humanForScript } from "./script-user.ts"
import type { NewAccount, ScriptRequest } from "./sign-in.ts"

const textFields = {
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

const flagFields = {
  setEmailVerified: "emailVerified",
  setPhoneVerified: "phoneVerified",
} as const satisfies Readonly<Record<string, keyof Identity>>

/** The profile change of an effect. */
export function parseChange(effect: Effect): Partial<Identity> {
  const [kind, value] = effect
  const text = Object.entries(textFields).find(([name]) => name === kind)?.[1]
  if (text === "phone" && value !== "" && !isPhone(textArgument(effect))) {
    throw effectError(`${kind} requires an international phone number such as +41791234567`)
  }
  if (text) return { [text]: textArgument(effect) }
  const flag = Object.entries(flagFields).find(([name]) => name === kind)?.[1]
  if (flag && typeof value === "boolean") return { [flag]: value }
  throw effectError(flag ? `${kind} requires true or false` : `${kind} is not available here`)
}

export type ExternalSignIn = {
  readonly orgId: string
  /** The user's ID if known; empty for a new user. */
  readonly userId: string
  readonly idpId: string
  readonly answered: AuthenticatedAnswer
  readonly scene: ScriptRequest
}

/**
 * Runs the scripts after a sign-in with an identity provider; returns the identity with the changes
 * of the scripts. Throws if a script rejects the sign-in, but never for a user who can edit the
 * scripts.
 */
export async function runAfterExternal(
  cx: Cx,
  { orgId, userId, idpId, answered: fromProvider, scene }: ExternalSignIn,
): Promise<AuthenticatedAnswer> {
  const moment = { orgId, ...(userId && { userId }), flowType: 1, triggerType: 1 } as const
  const answered = withoutScripts(fromProvider)
  if (scriptsFor(cx, moment).length === 0) return answered
  const { identity, raw, accessToken, idToken } = answered
  let original = identity
  const addedMetadata: Metadata[] = []
  await runScripts(cx, moment, {
    input: () => ({
      shape: "external",
      data: {
        ...scene,
        accessToken,
        idToken,
        claims: raw,
        providerInfo: raw,
        authError: "none",
        externalUser: externalForScript(idpId, original),
      },
    }),
    applyEffect: (effect) => {
      if (effect[0] === "metadata") addedMetadata.push(parseMetadata(effect))
      else original = applyIdentityChange(original, parseChange(effect))
    },
    isLenient: () => userId !== "" && canEditScripts(cx, userId, orgId),
  })
  const metadata = lastByKey(addedMetadata).map(
    ({ key, value }) => [key, Buffer.from(value).toString()] as const,
  )
  return { ...answered, identity: original, scripted: { orgId, userId, said: identity, metadata } }
}

/**
 * A changed email address or phone number is verified only if the script also sets that. Names set
 * by a script are not guesses.
 */
const applyIdentityChange = (original: Identity, change: Partial<Identity>): Identity => ({
  ...original,
  ...((change.givenName ?? change.familyName) !== undefined && { isNameDivided: false }),
  ...(isChangedEmail(change.email, original.email) && { emailVerified: false }),
  ...(isChangedPhone(change.phone, original.phone) && { phoneVerified: false }),
  ...change,
})

const isChangedEmail = (newValue: string | undefined, currentValue: string): boolean =>
  newValue !== undefined && !isSameEmail(newValue, currentValue)

const isChangedPhone = (newValue: string | undefined, currentValue: string): boolean =>
  newValue !== undefined && !isSamePhone(newValue, currentValue)

/** The identity from a provider as scripts receive it. */
export const externalForScript = (externalIdpId: string, original: Identity) => ({
  externalId: original.externalId,
  externalIdpId,
  preferredUsername: original.userName,
  human: {
    firstName: original.givenName,
    lastName: original.familyName,
    nickName: original.nickName,
    displayName: original.displayName,
    preferredLanguage: original.preferredLanguage,
    email: original.email,
    isEmailVerified: original.emailVerified,
    phone: original.phone,
    isPhoneVerified: original.phoneVerified,
  },
})

/** The metadata that scripts have set for a user from a provider. */
export const metadataFrom = ({ metadata }: ScriptResult): readonly Metadata[] =>
  metadata.map(([key, json]) => ({ key, value: Buffer.from(json) }))

/** Runs the scripts before an account is created; returns the user with their changes. */
export async function runBeforeCreation(
  cx: Cx,
  userId: string,
  { person, flowType, orgId, scene }: NewAccount & { readonly person: NewHuman },
): Promise<NewHuman> {
  const moment = { orgId, flowType, triggerType: 2 } as const
  if (scriptsFor(cx, moment).length === 0) return person
  const addedMetadata: Metadata[] = [...(person.metadata ?? [])]
  let now = person
  await runScripts(cx, moment, {
    input: () => ({ shape: "before", data: { ...scene, user: newUserForScript(userId, now) } }),
    applyEffect: (effect) => {
      if (effect[0] === "metadata") addedMetadata.push(parseMetadata(effect))
      else now = applyToNewUser(effect, now)
    },
  })
  const { email } = now
  const needsCode = !email.verified && email.value !== person.email.value
  const code = needsCode ? createCode(cx, userId, { of: "email", returned: false }) : email.code
  return { ...now, email: { ...email, code }, metadata: lastByKey(addedMetadata) }
}

/** A new user with the change of an effect. */
export const applyToNewUser = (effect: Effect, person: NewHuman): NewHuman =>
  effect[0] === "setGender" ? applyGender(person, effect) : applyChange(person, parseChange(effect))

/** A new user as scripts receive it. */
export const newUserForScript = (id: string, person: NewHuman) => ({
  id,
  resourceOwner: person.orgId,
  username: person.userName ?? person.email.value,
  human: humanForScript({
    profile: {
      nickName: "",
      preferredLanguage: "",
      gender: "unspecified",
      ...omitEmpty(person.profile),
      givenName: person.profile.givenName,
      familyName: person.profile.familyName,
      displayName: person.profile.displayName || formatFullName(person.profile),
    },
    email: { address: person.email.value, verified: person.email.verified },
    phone: person.phone ? { number: person.phone.value, verified: person.phone.verified } : null,
  }),
})

/** Omits empty fields. */
const omitEmpty = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

function applyGender(person: NewHuman, [, value]: Effect): NewHuman {
  const gender = genders[Number(value)]
  if (gender === undefined)
    throw effectError(`setGender requires a number from 0 to ${genders.length - 1}`)
  return { ...person, profile: { ...person.profile, gender } }
}

function applyChange(person: NewHuman, change: Partial<Identity>): NewHuman {
  const { userName, email, emailVerified, phone, phoneVerified, ...names } = change
  const profile = { ...person.profile, ...names }
  const { value: before = "", verified: wasVerified = false } = person.phone ?? {}
  const number = phone ?? before
  const isVerified = phoneVerified ?? (wasVerified && !isChangedPhone(phone, before))
  return {
    ...person,
    ...(userName !== undefined && { userName }),
    profile,
    email: {
      ...person.email,
      ...(email !== undefined && { value: email }),
      // A changed email address is verified only if the script also sets that.
      ...(isChangedEmail(email, person.email.value) && {
        verified: false,
        verifier: undefined,
        code: undefined,
      }),
      // The organization counts as the verifier of addresses that a script marks as verified.
      ...(emailVerified !== undefined && { verified: emailVerified, verifier: undefined }),
    },
    phone:
      number === ""
        ? undefined
        : {
            value: number,
            verified: isVerified,
            ...(phoneVerified === undefined &&
              !isChangedPhone(phone, before) && { verifier: person.phone?.verifier }),
          },
  }
}
