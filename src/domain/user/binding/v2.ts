import { bindHandlers } from "../../../api/method.ts"
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
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { passwordChangeFrom } from "../../credential/api.ts"
import {
  codeOf,
  firstPasswordIn,
  importPassword,
  type NewPassword,
  preparePasswordChange,
} from "../../credential/index.ts"
import type { ContactKind } from "../../lockout/index.ts"
import { orgWithDomain } from "../../org/index.ts"
import { type ExternalAccount, validateLink } from "../../user-link/index.ts"
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
import { parseJwtFormat } from "../jwt-format.ts"
import { type Metadata, noteMetadata } from "../metadata.ts"
import { requireHigherRank } from "../require-higher-rank.ts"
import { newContact, requireVerifiable } from "./v2-contact.ts"

/**
 * Operations that change users; those that read users are in user-lookup, contacts in
 * v2-contact.ts.
 */
export const v2 = bindHandlers<Cx>()(UserService, {
  createUser: (req, cx) => createUserFrom(cx, parseResourceId(cx.ids, "user_id", req.userId), req),
  addHumanUser: (req, cx) => addHumanUser(cx, parseResourceId(cx.ids, "user_id", req.userId), req),
  updateUser: async (req, cx) => {
    const { receipt, codes } = await updateUserFrom(cx, req.userId, await userChangeFrom(cx, req))
    return { changeDate: toTimestamp(receipt.changed), ...codes }
  },
  updateHumanUser: async (req, cx) => {
    const { userId, username: userName } = req
    const human = await humanChangeFrom(cx, userId, req)
    const { receipt, codes } = await updateUserFrom(cx, userId, { userName, human })
    return { details: toDetails(receipt), ...codes }
  },
  releaseLoginName: async ({ userId, loginName }, cx) => ({
    details: toDetails(await releaseLoginName(cx, userId, loginName)),
  }),
  deactivateUser: async (req, cx) => ({ details: toDetails(await deactivateUser(cx, req.userId)) }),
  reactivateUser: async (req, cx) => ({ details: toDetails(await reactivateUser(cx, req.userId)) }),
  lockUser: async (req, cx) => ({ details: toDetails(await lockUser(cx, req.userId)) }),
  unlockUser: async (req, cx) => ({ details: toDetails(await unlockUser(cx, req.userId)) }),
  deleteUser: async (req, cx) => ({ details: toDetails(await removeUser(cx, req.userId)) }),
})

async function createUserFrom(cx: Cx, id: string, req: CreateUserRequest) {
  const input = await newUserFrom(cx, id, req)
  const { created } = await createUser(cx, id, input, { isMade: !req.userId })
  return {
    id,
    creationDate: toTimestamp(created),
    ...(input.kind === "human" ? returnedCodesOf(input) : {}),
  }
}

async function addHumanUser(cx: Cx, id: string, req: AddHumanUserRequest) {
  const { username: userName, organization } = req
  const { case: by, value = homeOrg(cx) } = organization?.org ?? {}
  const orgId = by === "orgDomain" ? (orgWithDomain(cx, value) ?? "") : value
  const input: NewHuman = {
    orgId,
    userName,
    ...(await newHumanFrom(cx, id, req, { orgId, userName })),
  }
  const receipt = await createUser(cx, id, input, { isMade: !req.userId })
  return { userId: id, details: toDetails(receipt), ...returnedCodesOf(input) }
}

async function newUserFrom(cx: Cx, id: string, req: CreateUserRequest): Promise<NewUser> {
  const { organizationId: orgId, username: userName, metadata } = req
  const { case: kind, value } = req.userType
  if (kind === "human") {
    const human = await newHumanFrom(cx, id, value, { orgId, userName })
    return { orgId, userName, ...human, metadata: [...metadata, ...value.metadata] }
  }
  if (kind === undefined)
    throw invalidError("user.kind_missing", "one of human and machine is required")
  const { name, description } = value
  const accessTokenType = valueOfEnum(accessTokenTypeByMessage, value.accessTokenType)
  const jwtFormat = parseJwtFormat(value)
  return { orgId, userName, kind, name, description, accessTokenType, jwtFormat, metadata }
}

/** Reads a new human user from any request that contains one. */
export async function newHumanFrom(
  cx: Cx,
  id: string,
  human: Omit<CreateUserRequest_Human, "$typeName" | "metadata"> & {
    readonly metadata: readonly Metadata[]
  },
  { orgId, userName = "" }: { readonly orgId: string; readonly userName?: string | undefined },
): Promise<Omit<NewHuman, "orgId" | "userName">> {
  rejectTotpSecret(human.totpSecret)
  const { profile, email, phone, passwordType } = human
  if (!profile) throw invalidError("user.profile_missing", "profile is required for a human user")
  if (!email) throw invalidError("user.email_missing", "email is required for a human user")
  return {
    kind: "human",
    profile: { ...profile, gender: parseGender(profile.gender) },
    email: newContact(cx, id, { of: "email", value: email.email, orgId, ...email }),
    phone: phone?.phone
      ? newContact(cx, id, { of: "phone", value: phone.phone, orgId, ...phone })
      : undefined,
    password: await initialPassword(cx, orgId, passwordType, [userName, email.email]),
    metadata: human.metadata,
    links: linksFrom(cx, orgId, human.idpLinks),
  }
}

async function initialPassword(
  cx: Cx,
  orgId: string,
  { case: form, value }: CreateUserRequest_Human["passwordType"],
  names: readonly string[],
): Promise<NewPassword | undefined> {
  if (form === undefined) return undefined
  if (form === "hashedPassword") return importPassword(value.hash, value.changeRequired)
  return firstPasswordIn(cx, orgId, value.password, { names, changeRequired: value.changeRequired })
}

/** Applies a change and sets metadata with it. */
async function updateUserFrom(
  cx: Cx,
  id: string,
  { metadata = [], ...change }: UserChange & { readonly metadata?: readonly Metadata[] },
) {
  const { userName, human } = change
  // Changing the user name or an address lets the caller reset the user's password.
  if (userName !== undefined || human?.email || human?.phone || human?.password)
    requireHigherRank(cx, id)
  const step = await cx.store.transact(cx, (tx) => {
    changeUser(tx, id, change)
    noteMetadata(cx, tx, id, metadata)
    return storedCodesOf(tx.state(user, id), human ?? {})
  })
  return { receipt: step.receipt(user, id), codes: step.value }
}

async function userChangeFrom(cx: Cx, req: UpdateUserRequest) {
  const { userId, username: userName, metadata } = req
  const { case: kind, value } = req.userType
  if (kind === undefined) return { userName, metadata }
  if (kind === "human") {
    return { userName, metadata, human: await humanChangeFrom(cx, userId, value) }
  }
  const { name, description, accessTokenType: type } = value
  const accessTokenType =
    type === undefined ? undefined : valueOfEnum(accessTokenTypeByMessage, type)
  const machine = { name, description, accessTokenType, jwtFormat: value }
  return { userName, metadata, machine }
}

/** Changes of a human user, as in any request. */
type RequestedHuman =
  | Pick<UpdateUserRequest_Human, "profile" | "email" | "phone" | "password">
  | Pick<UpdateHumanUserRequest, "profile" | "email" | "phone" | "password">

async function humanChangeFrom(
  cx: Cx,
  id: string,
  requested: RequestedHuman,
): Promise<HumanChange> {
  const { profile, email, phone, password } = requested
  const newContactOf = (of: ContactKind, value: string, request: SetHumanEmail | SetHumanPhone) =>
    requireVerifiable(cx, id, newContact(cx, id, { of, value, verification: request.verification }))
  return {
    profile: profile && { ...profile, gender: parseGender(profile.gender) },
    email: email && newContactOf("email", email.email, email),
    phone: phone && newContactOf("phone", phone.phone, phone),
    password: password && (await preparePasswordChange(cx, id, passwordChangeFrom(password))),
  }
}

type Contacts = { email?: NewContact | undefined; phone?: NewContact | undefined }

/** The codes to return to the caller; codes that are sent are not included. */
export function returnedCodesOf({ email, phone }: Contacts): {
  emailCode?: string
  phoneCode?: string
} {
  return {
    ...(email?.code?.returned ? { emailCode: email.code.plain } : {}),
    ...(phone?.code?.returned ? { phoneCode: phone.code.plain } : {}),
  }
}

/**
 * The returned codes that were actually stored: an address that is already verified and unchanged
 * needs no code.
 */
function storedCodesOf(state: User, { email, phone }: Contacts) {
  const storedCode = (of: ContactKind, newContactOf: NewContact | undefined) =>
    codeOf(state, of)?.sealed === newContactOf?.code?.sealed ? newContactOf : undefined
  return returnedCodesOf({ email: storedCode("email", email), phone: storedCode("phone", phone) })
}

/**
 * An authenticator app secret must be verified with a code, which can't be done for one created
 * elsewhere.
 */
function rejectTotpSecret(totpSecret: string | undefined): void {
  if (totpSecret === undefined) return
  throw new Fault(
    "failed_precondition",
    "user.totp_unavailable",
    "totp_secret is not supported; omit it and call RegisterTOTP instead",
  )
}

/** External accounts of a new user. */
const linksFrom = (
  cx: Cx,
  orgId: string,
  newContactOf: readonly IDPLink[],
): readonly ExternalAccount[] =>
  newContactOf.map(({ idpId, userId: externalId, userName: name }) => {
    const external = { idpId, externalId, name }
    validateLink(cx, orgId, external)
    return external
  })

const parseGender = (gender: Genders | undefined): Gender | undefined =>
  gender === undefined ? undefined : valueOfEnum(genderByMessage, gender)

const genderByMessage: Readonly<Record<number, Gender>> = {
  [Genders.UNSPECIFIED]: "unspecified",
  [Genders.FEMALE]: "female",
  [Genders.MALE]: "male",
  [Genders.DIVERSE]: "diverse",
}

const accessTokenTypeByMessage: Readonly<Record<number, AccessTokenType>> = {
  [AccessTokenTypes.BEARER]: "bearer",
  [AccessTokenTypes.JWT]: "jwt",
}

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
