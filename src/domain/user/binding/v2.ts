import { share } from "../../../api/method.ts"
import {
  AccessTokenType as AccessTokenTypes,
  Gender as Genders,
  type IDPLink,
  type SetHumanEmail,
  type SetHumanPhone,
} from "../../../gen/core/user/v2/user_pb.ts"
import {
  type AddHumanUserRequest,
  type CreateUserRequest,
  type CreateUserRequest_Human,
  type UpdateHumanUserRequest,
  type UpdateUserRequest,
  type UpdateUserRequest_Human,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { homeOrg } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { givenId } from "../../../kernel/text/given.ts"
import { at, details, meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { passwordWish } from "../../credential/api.ts"
import {
  changedPassword,
  codeOf,
  firstPasswordIn,
  importPassword,
  type NewPassword,
} from "../../credential/index.ts"
import type { CodeOf } from "../../lockout/index.ts"
import { orgWithDomain } from "../../org/index.ts"
import { checkLink, type External } from "../../user-link/index.ts"
import { type AccessTokenType, type Gender, type User, user } from "../../user-model/index.ts"
import {
  deactivateUser,
  type HumanChange,
  lockUser,
  reactivateUser,
  releaseLoginName,
  removeUser,
  type UserChange,
  unlockUser,
} from "../commands.ts"
import { changeUser } from "../contact.ts"
import { createUser, type NewContact, type NewHuman, type NewUser } from "../create.ts"
import { jwtFormatOf } from "../jwt-format.ts"
import { type Metadata, noteMetadata } from "../metadata.ts"
import { mustOutrank } from "../outrank.ts"
import { contact, notOneself } from "./v2-contact.ts"

/** Changing users; looking at them is in v2search.ts, their addresses are in v2contact.ts. */
export const v2 = share<Cx>()(UserService, {
  createUser: (req, cx) => create(cx, givenId(cx.ids, "user_id", req.userId), req),
  addHumanUser: (req, cx) => addHuman(cx, givenId(cx.ids, "user_id", req.userId), req),
  updateUser: async (req, cx) => {
    const { receipt, codes } = await update(cx, req.userId, await userChange(cx, req))
    return { changeDate: at(receipt.changed), ...codes }
  },
  updateHumanUser: async (req, cx) => {
    const { userId, username: userName } = req
    const human = await humanChange(cx, userId, req)
    const { receipt, codes } = await update(cx, userId, { userName, human })
    return { details: details(receipt), ...codes }
  },
  releaseLoginName: async ({ userId, loginName }, cx) => ({
    details: details(await releaseLoginName(cx, userId, loginName)),
  }),
  deactivateUser: async (req, cx) => ({ details: details(await deactivateUser(cx, req.userId)) }),
  reactivateUser: async (req, cx) => ({ details: details(await reactivateUser(cx, req.userId)) }),
  lockUser: async (req, cx) => ({ details: details(await lockUser(cx, req.userId)) }),
  unlockUser: async (req, cx) => ({ details: details(await unlockUser(cx, req.userId)) }),
  deleteUser: async (req, cx) => ({ details: details(await removeUser(cx, req.userId)) }),
})

async function create(cx: Cx, id: string, req: CreateUserRequest) {
  const input = await newUser(cx, id, req)
  const { created } = await createUser(cx, id, input, { isMade: !req.userId })
  return { id, creationDate: at(created), ...(input.kind === "human" ? codesOf(input) : {}) }
}

async function addHuman(cx: Cx, id: string, req: AddHumanUserRequest) {
  const { username: userName, organization } = req
  const { case: by, value = homeOrg(cx) } = organization?.org ?? {}
  const orgId = by === "orgDomain" ? (orgWithDomain(cx, value) ?? "") : value
  const input: NewHuman = { orgId, userName, ...(await newHuman(cx, id, req, { orgId, userName })) }
  const receipt = await createUser(cx, id, input, { isMade: !req.userId })
  return { userId: id, details: details(receipt), ...codesOf(input) }
}

async function newUser(cx: Cx, id: string, req: CreateUserRequest): Promise<NewUser> {
  const { organizationId: orgId, username: userName, metadata } = req
  const { case: kind, value } = req.userType
  if (kind === "human") {
    const human = await newHuman(cx, id, value, { orgId, userName })
    return { orgId, userName, ...human, metadata: [...metadata, ...value.metadata] }
  }
  if (kind === undefined)
    throw invalidError("user.kind_missing", "say what the user is: human, machine")
  const { name, description } = value
  const accessTokenType = meaning(accessTokenTypes, value.accessTokenType)
  const jwtFormat = jwtFormatOf(value)
  return { orgId, userName, kind, name, description, accessTokenType, jwtFormat, metadata }
}

/** Reads a new person from any request that describes one. */
export async function newHuman(
  cx: Cx,
  id: string,
  human: Omit<CreateUserRequest_Human, "$typeName" | "metadata"> & {
    readonly metadata: readonly Metadata[]
  },
  { orgId, userName = "" }: { readonly orgId: string; readonly userName?: string | undefined },
): Promise<Omit<NewHuman, "orgId" | "userName">> {
  refuseSecret(human.totpSecret)
  const { profile, email, phone, passwordType } = human
  if (!profile) throw invalidError("user.profile_missing", "a person needs a profile")
  if (!email) throw invalidError("user.email_missing", "a person needs an e-mail address")
  return {
    kind: "human",
    profile: { ...profile, gender: genderOf(profile.gender) },
    email: contact(cx, id, { of: "email", value: email.email, orgId, ...email }),
    phone: phone?.phone
      ? contact(cx, id, { of: "phone", value: phone.phone, orgId, ...phone })
      : undefined,
    password: await firstPassword(cx, orgId, passwordType, [userName, email.email]),
    metadata: human.metadata,
    links: linksIn(cx, orgId, human.idpLinks),
  }
}

async function firstPassword(
  cx: Cx,
  orgId: string,
  { case: form, value }: CreateUserRequest_Human["passwordType"],
  names: readonly string[],
): Promise<NewPassword | undefined> {
  if (form === undefined) return undefined
  if (form === "hashedPassword") return importPassword(value.hash, value.changeRequired)
  return firstPasswordIn(cx, orgId, value.password, { names, changeRequired: value.changeRequired })
}

/** A change that was read, and what is to be noted with it. */
async function update(
  cx: Cx,
  id: string,
  { metadata = [], ...change }: UserChange & { readonly metadata?: readonly Metadata[] },
) {
  const { userName, human } = change
  // Whoever has a person's name or address can have their password set anew.
  if (userName !== undefined || human?.email || human?.phone || human?.password) mustOutrank(cx, id)
  const step = await cx.store.transact(cx, (tx) => {
    changeUser(tx, id, change)
    noteMetadata(cx, tx, id, metadata)
    return keptCodes(tx.state(user, id), human ?? {})
  })
  return { receipt: step.receipt(user, id), codes: step.value }
}

async function userChange(cx: Cx, req: UpdateUserRequest) {
  const { userId, username: userName, metadata } = req
  const { case: kind, value } = req.userType
  if (kind === undefined) return { userName, metadata }
  if (kind === "human") {
    return { userName, metadata, human: await humanChange(cx, userId, value) }
  }
  const { name, description, accessTokenType: type } = value
  const accessTokenType = type === undefined ? undefined : meaning(accessTokenTypes, type)
  const machine = { name, description, accessTokenType, jwtFormat: value }
  return { userName, metadata, machine }
}

/** What is to become of a person, as any request says it. */
type RequestedHuman =
  | Pick<UpdateUserRequest_Human, "profile" | "email" | "phone" | "password">
  | Pick<UpdateHumanUserRequest, "profile" | "email" | "phone" | "password">

async function humanChange(cx: Cx, id: string, requested: RequestedHuman): Promise<HumanChange> {
  const { profile, email, phone, password } = requested
  const given = (of: CodeOf, value: string, how: SetHumanEmail | SetHumanPhone) =>
    notOneself(cx, id, contact(cx, id, { of, value, verification: how.verification }))
  return {
    profile: profile && { ...profile, gender: genderOf(profile.gender) },
    email: email && given("email", email.email, email),
    phone: phone && given("phone", phone.phone, phone),
    password: password && (await changedPassword(cx, id, passwordWish(password))),
  }
}

type Contacts = { email?: NewContact | undefined; phone?: NewContact | undefined }

/** The codes that the caller asked to have returned; those that are sent stay secret. */
export function codesOf({ email, phone }: Contacts): { emailCode?: string; phoneCode?: string } {
  return {
    ...(email?.code?.returned ? { emailCode: email.code.plain } : {}),
    ...(phone?.code?.returned ? { phoneCode: phone.code.plain } : {}),
  }
}

/** The same, of what has been kept: a verified address that stays as it is needs no code. */
function keptCodes(state: User, { email, phone }: Contacts) {
  const kept = (of: CodeOf, given: NewContact | undefined) =>
    codeOf(state, of)?.sealed === given?.code?.sealed ? given : undefined
  return codesOf({ email: kept("email", email), phone: kept("phone", phone) })
}

/**
 * A secret counts once a code of it was shown, which nobody has done of one that was made
 * elsewhere.
 */
function refuseSecret(totpSecret: string | undefined): void {
  if (totpSecret === undefined) return
  throw new Fault(
    "failed_precondition",
    "user.totp_unavailable",
    "the secret of an authenticator app can't be taken over; leave totp_secret out, and call " +
      "RegisterTOTP",
  )
}

/** What a new person signs in with elsewhere. */
const linksIn = (cx: Cx, orgId: string, given: readonly IDPLink[]): readonly External[] =>
  given.map(({ idpId, userId: externalId, userName: name }) => {
    const external = { idpId, externalId, name }
    checkLink(cx, orgId, external)
    return external
  })

const genderOf = (gender: Genders | undefined): Gender | undefined =>
  gender === undefined ? undefined : meaning(genders, gender)

const genders: Readonly<Record<number, Gender>> = {
  [Genders.UNSPECIFIED]: "unspecified",
  [Genders.FEMALE]: "female",
  [Genders.MALE]: "male",
  [Genders.DIVERSE]: "diverse",
}

const accessTokenTypes: Readonly<Record<number, AccessTokenType>> = {
  [AccessTokenTypes.BEARER]: "bearer",
  [AccessTokenTypes.JWT]: "jwt",
}

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
