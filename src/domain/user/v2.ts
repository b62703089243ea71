import { share } from "../../api/method.ts"
import {
  AccessTokenType as AccessTokenTypes,
  Gender as Genders,
  type SetHumanEmail,
  type SetHumanPhone,
  type SetPassword,
} from "../../gen/core/user/v2/user_pb.ts"
import {
  type CreateUserRequest,
  type CreateUserRequest_Human,
  type SetPasswordRequest,
  type UpdateUserRequest,
  UserService,
} from "../../gen/core/user/v2/user_service_pb.ts"
import { at, details, meaning } from "../../kernel/answer.ts"
import { Fault } from "../../kernel/fault.ts"
import { givenId } from "../../kernel/given.ts"
import type { Cx } from "../../store/index.ts"
import { type CodeOf, createCode } from "./code.ts"
import {
  deactivateUser,
  lockUser,
  reactivateUser,
  removeUser,
  type UserChange,
  unlockUser,
  updateUser,
} from "./commands.ts"
import { createUser, type NewContact, type NewHuman, type NewUser } from "./create.ts"
import {
  changedPassword,
  createPassword,
  importPassword,
  mustOutrank,
  type NewPassword,
  type PasswordChange,
  setPassword,
} from "./credential.ts"
import { type Metadata, noteMetadata } from "./metadata.ts"
import { type AccessTokenType, type Gender, user } from "./model.ts"

/** Changing users; looking at them is in v2search.ts, their keys are in v2key.ts. */
export const v2 = share<Cx>()(UserService, {
  createUser: (req, cx) => create(cx, givenId(cx.ids, "user_id", req.userId), req),
  updateUser: (req, cx) => update(cx, req),
  deactivateUser: async (req, cx) => ({ details: details(await deactivateUser(cx, req.userId)) }),
  reactivateUser: async (req, cx) => ({ details: details(await reactivateUser(cx, req.userId)) }),
  lockUser: async (req, cx) => ({ details: details(await lockUser(cx, req.userId)) }),
  unlockUser: async (req, cx) => ({ details: details(await unlockUser(cx, req.userId)) }),
  deleteUser: async (req, cx) => ({ details: details(await removeUser(cx, req.userId)) }),
  setPassword: async (req, cx) => ({
    details: details(await setPassword(cx, req.userId, await wantedPassword(cx, req))),
  }),
})

async function create(cx: Cx, id: string, req: CreateUserRequest) {
  const input = await newUser(cx, id, req)
  const { created } = await createUser(cx, id, input)
  return { id, creationDate: at(created), ...(input.kind === "human" ? codesOf(input) : {}) }
}

async function newUser(cx: Cx, id: string, req: CreateUserRequest): Promise<NewUser> {
  const { organizationId: orgId, username: userName, metadata } = req
  const { case: kind, value } = req.userType
  if (kind === "human") {
    const human = await newHuman(cx, id, value, userName)
    return { orgId, userName, ...human, metadata: [...metadata, ...value.metadata] }
  }
  if (kind === undefined) throw invalid("user.kind_missing", "say what the user is: human, machine")
  const { name, description } = value
  const accessTokenType = meaning(accessTokenTypes, value.accessTokenType)
  return { orgId, userName, kind, name, description, accessTokenType, metadata }
}

/** Reads a new person from any request that describes one. */
export async function newHuman(
  cx: Cx,
  id: string,
  human: Omit<CreateUserRequest_Human, "$typeName" | "metadata"> & {
    readonly metadata: readonly Metadata[]
  },
  userName = "",
): Promise<Omit<NewHuman, "orgId" | "userName">> {
  refuseUnbuilt("idp_links", human.idpLinks.length > 0)
  refuseUnbuilt("totp_secret", human.totpSecret !== undefined)
  const { profile, email, phone, passwordType } = human
  if (!profile) throw invalid("user.profile_missing", "a person needs a profile")
  if (!email) throw invalid("user.email_missing", "a person needs an e-mail address")
  return {
    kind: "human",
    profile: { ...profile, gender: genderOf(profile.gender) },
    email: emailContact(cx, id, email),
    phone: phone?.phone
      ? contact(cx, id, { of: "phone", value: phone.phone, ...phone })
      : undefined,
    password: await firstPassword(passwordType, [userName, email.email]),
    metadata: human.metadata,
  }
}

async function firstPassword(
  { case: form, value }: CreateUserRequest_Human["passwordType"],
  names: readonly string[],
): Promise<NewPassword | undefined> {
  if (form === undefined) return undefined
  if (form === "hashedPassword") return importPassword(value.hash, value.changeRequired)
  return createPassword(value.password, { names, changeRequired: value.changeRequired })
}

async function update(cx: Cx, req: UpdateUserRequest) {
  const change = await userChange(cx, req)
  const { userId, metadata } = req
  const step = await cx.store.transact(cx, (tx) => {
    updateUser.within(tx, userId, change)
    noteMetadata(cx, tx, userId, metadata)
  })
  const { changed } = step.receipt(user, userId)
  return { changeDate: at(changed), ...codesOf(change.human ?? {}) }
}

async function userChange(cx: Cx, req: UpdateUserRequest): Promise<UserChange> {
  const { userId, username: userName } = req
  const { case: kind, value } = req.userType
  if (kind === undefined) return { userName }
  if (kind === "machine") {
    const { name, description, accessTokenType: type } = value
    const accessTokenType = type === undefined ? undefined : meaning(accessTokenTypes, type)
    return { userName, machine: { name, description, accessTokenType } }
  }
  const { profile, email, phone, password } = value
  return {
    userName,
    human: {
      profile: profile && { ...profile, gender: genderOf(profile.gender) },
      email: email && notOneself(cx, userId, emailContact(cx, userId, email)),
      phone:
        phone &&
        notOneself(cx, userId, contact(cx, userId, { of: "phone", value: phone.phone, ...phone })),
      // user.write opens this door, which is less than what writes another's credentials.
      password: password && (await changedPassword(cx, userId, wish(password, false))),
    },
  }
}

/** Nobody vouches for their own address, whatever they may do to others'. */
function notOneself(cx: Cx, id: string, contact: NewContact): NewContact {
  const isOwn = cx.caller.kind === "user" && cx.caller.userId === id
  if (!isOwn || !contact.verified) return contact
  throw new Fault(
    "permission_denied",
    "user.verify_own",
    "nobody can call their own address verified; ask for a code",
  )
}

function wantedPassword(cx: Cx, req: SetPasswordRequest): Promise<NewPassword> {
  const { newPassword: value, verification, userId } = req
  if (!value) throw passwordMissing()
  if (verification.case === undefined) mustOutrank(cx, userId)
  // Who comes here for somebody else has user.credential.write: the access rule says so.
  const asked = wish({ passwordType: { case: "password", value }, verification }, true)
  return changedPassword(cx, userId, asked)
}

function wish(
  { passwordType, verification }: Pick<SetPassword, "passwordType" | "verification">,
  permitted: boolean,
): PasswordChange {
  const { case: form, value } = passwordType
  if (form === undefined) throw passwordMissing()
  const { changeRequired } = value
  return {
    permitted,
    wanted:
      form === "password"
        ? { plain: value.password, changeRequired }
        : { hash: value.hash, changeRequired },
    proof: proofOf(verification),
  }
}

function proofOf({ case: by, value }: SetPassword["verification"]): PasswordChange["proof"] {
  if (by === undefined) return undefined
  return by === "currentPassword" ? { current: value } : { code: value }
}

function emailContact(cx: Cx, id: string, { email, verification }: SetHumanEmail): NewContact {
  const template = verification.case === "sendCode" ? verification.value.urlTemplate : undefined
  return contact(cx, id, { of: "email", value: email, verification, urlTemplate: template ?? "" })
}

/** Without a word a code is sent. */
function contact(
  cx: Cx,
  id: string,
  asked: {
    of: CodeOf
    value: string
    verification: SetHumanPhone["verification"] | SetHumanEmail["verification"]
    urlTemplate?: string
  },
): NewContact {
  const { of, value, verification, urlTemplate = "" } = asked
  if (verification.case === "isVerified") return { value, verified: verification.value }
  const returned = verification.case === "returnCode"
  return { value, verified: false, code: createCode(cx, id, { of, returned, urlTemplate }) }
}

type Contacts = { email?: NewContact | undefined; phone?: NewContact | undefined }

/** The codes that the caller asked to have returned; those that are sent stay secret. */
export function codesOf({ email, phone }: Contacts): { emailCode?: string; phoneCode?: string } {
  return {
    ...(email?.code?.returned ? { emailCode: email.code.plain } : {}),
    ...(phone?.code?.returned ? { phoneCode: phone.code.plain } : {}),
  }
}

/** Says so where the book knows a field that nothing here reads yet. */
function refuseUnbuilt(field: string, given: boolean): void {
  if (!given) return
  const message = `${field} is not supported yet; leave it out`
  throw new Fault("unimplemented", "user.field_not_built", message)
}

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

const passwordMissing = () => invalid("user.password_missing", "say the new password")

const invalid = (id: string, message: string) => new Fault("invalid_argument", id, message)
