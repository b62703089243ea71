import type { ImportHumanUserRequest } from "../../../gen/core/management/v1/data_pb.ts"
import { AccessTokenType, Gender, UserState } from "../../../gen/core/user/v1/user_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import { valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { firstPasswordIn, importPassword, type NewPassword } from "../../credential/index.ts"
import {
  addOtp,
  importRecoveryCodes,
  importTotp,
  secondFactorsOf,
  totpSecret,
} from "../../factor/index.ts"
import { addServiceKey } from "../../service-account/index.ts"
import {
  deactivateUser,
  importUser,
  listMetadata,
  lockUser,
  type NewHuman,
  parseJwtFormat,
  requireHigherRank,
  setMetadata,
  toJwtFormatFields,
} from "../../user/index.ts"
import { addLink, type ExternalAccount, validateLink } from "../../user-link/index.ts"
import { genders, type Human, isAbsent, linksOf, type User, user } from "../../user-model/index.ts"
import { idsIn, machineKeysOf } from "../list.ts"
import type { IncludedSecrets } from "../model.ts"
import { formatKey, parseKey, requireNewKey } from "./v1-app.ts"
import { itemKind, permissionsFor } from "./v1-item-kind.ts"
import { emptyMessageError } from "./v1-project.ts"

const states = {
  active: UserState.ACTIVE,
  inactive: UserState.INACTIVE,
  locked: UserState.LOCKED,
} as const

/**
 * The initial state of other servers becomes active, because it does not exist here and such users
 * have no credentials.
 */
const importedStatus = {
  [UserState.UNSPECIFIED]: "active",
  [UserState.ACTIVE]: "active",
  [UserState.INITIAL]: "active",
  [UserState.INACTIVE]: "inactive",
  [UserState.SUSPEND]: "inactive",
  [UserState.LOCKED]: "locked",
} as const

const genderNumbers = {
  unspecified: Gender.UNSPECIFIED,
  female: Gender.FEMALE,
  male: Gender.MALE,
  diverse: Gender.DIVERSE,
} as const

const findHuman = (cx: Cx, id: string): Human | undefined => {
  const state = cx.store.state(cx, user, id)
  return !isAbsent(state) && state.kind === "human" ? state : undefined
}

export const humanRow = itemKind({
  field: "humanUsers",
  needs: permissionsFor("user", "user.credential.write"),
  from: ({ humanUsers }) => humanUsers,
  async *read(cx, orgId, carried) {
    for await (const userId of idsIn(cx, "people", orgId)) {
      const state = findHuman(cx, userId)
      if (!state) continue
      const factors = secondFactorsOf(state)
      const ours = {
        otpSms: factors.includes("otp_sms"),
        otpEmail: factors.includes("otp_email"),
      }
      const notified = { ...personFields(state), ...credentialsOf(cx, userId, { state, carried }) }
      yield { humanUsers: [{ userId, user: notified, state: states[state.status], ...ours }] }
    }
  },
  write: async (cx, orgId, { userId, user: userInput, state, otpSms, otpEmail }) => {
    if (!userInput) throw emptyMessageError("user")
    const id = parseResourceId(cx.ids, "user_id", userId)
    const input = await toNewHuman(cx, orgId, userInput)
    await cx.store.transact(cx, (tx) => {
      importUser(tx, id, input)
      if (userInput.otpCode !== "") importTotp(tx, id, userInput.otpCode)
      if (otpSms) addOtp.within(tx, id, "sms")
      if (otpEmail) addOtp.within(tx, id, "email")
      if (userInput.recoveryCodes.length > 0) importRecoveryCodes(tx, id, recoveryCodes(userInput))
      setStatus(tx, id, valueOfEnum<User["status"]>(importedStatus, state))
    })
  },
  lane: ({ userId }) => userId,
  idOf: ({ userId, user: userInput }) => userId || userInput?.userName || "",
  successOf: ({ userId }) => ({ humanUserIds: [userId] }),
})

const personFields = ({ userName, profile, email, phone }: Human) => {
  const { givenName: firstName, familyName: lastName, gender, ...names } = profile
  return {
    userName,
    profile: { ...names, firstName, lastName, gender: genderNumbers[gender] },
    email: { email: email.address, isEmailVerified: email.verified },
    ...(phone && { phone: { phone: phone.number, isPhoneVerified: phone.verified } }),
  }
}

/** The credentials that the export includes. */
function credentialsOf(
  cx: Cx,
  userId: string,
  { state: { password }, carried }: { readonly state: Human; readonly carried: IncludedSecrets },
) {
  return {
    ...(carried.withPasswords &&
      password && {
        hashedPassword: { value: password.hash },
        passwordChangeRequired: password.changeRequired,
      }),
    ...(carried.withOtp && { otpCode: totpSecret(cx, userId) ?? "" }),
  }
}

async function toNewHuman(
  cx: Cx,
  orgId: string,
  userInput: ImportHumanUserRequest,
): Promise<NewHuman> {
  const { userName, profile, email, phone } = userInput
  if (!profile) throw emptyMessageError("profile")
  if (!email) throw emptyMessageError("email address")
  if (userInput.requestPasswordlessRegistration) throw linkNotSupportedError()
  const { firstName: givenName, lastName: familyName, gender, ...names } = profile
  return {
    kind: "human",
    orgId,
    userName,
    profile: { ...names, givenName, familyName, gender: valueOfEnum(genders, gender) },
    email: { value: email.email, verified: email.isEmailVerified },
    ...(phone?.phone && { phone: { value: phone.phone, verified: phone.isPhoneVerified } }),
    password: await parsePassword(cx, orgId, userInput),
    links: userInput.idps.map(({ configId, externalUserId, displayName }) =>
      parseLink(cx, orgId, {
        idpId: configId,
        externalId: externalUserId,
        name: displayName || externalUserId,
      }),
    ),
  }
}

async function parsePassword(
  cx: Cx,
  orgId: string,
  { password, hashedPassword, passwordChangeRequired: changeRequired, ...userInput }: Passwords,
): Promise<NewPassword | undefined> {
  if (hashedPassword?.value) return importPassword(hashedPassword.value, changeRequired)
  if (password === "") return undefined
  const names = [userInput.userName, userInput.email?.email ?? ""]
  return firstPasswordIn(cx, orgId, password, { names, changeRequired })
}

type Passwords = Pick<
  ImportHumanUserRequest,
  "password" | "hashedPassword" | "passwordChangeRequired" | "userName" | "email"
>

const recoveryCodes = ({ recoveryCodes: userInput }: ImportHumanUserRequest): readonly string[] =>
  userInput.map(({ codeType }) => {
    if (codeType.case === "raw") return codeType.value
    throw new Fault(
      "invalid_argument",
      "transfer.recovery_code_hashed",
      "recovery codes must be plain codes, not hashes; omit the hashes",
    )
  })

function setStatus(tx: Transaction, id: string, status: User["status"]): void {
  if (status === "inactive") deactivateUser.within(tx, id)
  if (status === "locked") lockUser.within(tx, id)
}

function parseLink(cx: Cx, orgId: string, link: ExternalAccount): ExternalAccount {
  validateLink(cx, orgId, link)
  return link
}

export const machineRow = itemKind({
  field: "machineUsers",
  needs: permissionsFor("user"),
  from: ({ machineUsers }) => machineUsers,
  async *read(cx, orgId) {
    for await (const userId of idsIn(cx, "machines", orgId)) {
      const state = cx.store.state(cx, user, userId)
      if (isAbsent(state) || state.kind !== "machine") continue
      const { userName, name, description } = state
      const isJwt = state.accessTokenType === "jwt"
      const accessTokenType = isJwt ? AccessTokenType.JWT : AccessTokenType.BEARER
      const notified = { userName, name, description, accessTokenType, ...toJwtFormatFields(state) }
      yield { machineUsers: [{ userId, user: notified, state: states[state.status] }] }
    }
  },
  write: async (cx, orgId, { userId, user: userInput, state }) => {
    if (!userInput) throw emptyMessageError("user")
    const id = parseResourceId(cx.ids, "user_id", userId || userInput.userId)
    const { userName, name, description } = userInput
    const accessTokenType = valueOfEnum(["bearer", "jwt"] as const, userInput.accessTokenType)
    const jwtFormat = parseJwtFormat(userInput)
    const machine = { name, description, accessTokenType, jwtFormat }
    const input = { kind: "machine", orgId, userName, ...machine } as const
    await cx.store.transact(cx, (tx) => {
      importUser(tx, id, input)
      setStatus(tx, id, valueOfEnum<User["status"]>(importedStatus, state))
    })
  },
  lane: ({ userId }) => userId,
  idOf: ({ userId, user: userInput }) => userId || userInput?.userName || "",
  successOf: ({ userId }) => ({ machineUserIds: [userId] }),
})

export const metadataRow = itemKind({
  field: "userMetadata",
  needs: permissionsFor("user"),
  from: ({ userMetadata }) => userMetadata,
  async *read(cx, orgId) {
    for (const list of ["people", "machines"] as const) {
      for await (const id of idsIn(cx, list, orgId)) {
        for (const [key, value] of listMetadata(cx, id)) {
          yield { userMetadata: [{ id, key, value: new Uint8Array(value) }] }
        }
      }
    }
  },
  write: async (cx, orgId, { id, key, value }) => {
    requireUserOf(cx, orgId, id)
    if (listMetadata(cx, id).has(key)) throw metadataExistsError()
    await setMetadata(cx, id, [{ key, value }])
  },
  lane: ({ id }) => id,
  idOf: ({ id, key }) => `${id}/${key}`,
  successOf: ({ id, key }) => ({ userMetadata: [{ userId: id, key }] }),
})

export const linkRow = itemKind({
  field: "userLinks",
  needs: permissionsFor("user", "user.credential.write"),
  from: ({ userLinks }) => userLinks,
  async *read(cx, orgId) {
    for await (const userId of idsIn(cx, "people", orgId)) {
      for (const link of linksOf(cx.store.state(cx, user, userId))) {
        const { idpId, externalId: providedUserId, name: providedUserName } = link
        yield { userLinks: [{ userId, idpId, providedUserId, providedUserName }] }
      }
    }
  },
  write: async (cx, orgId, { userId, idpId, providedUserId: externalId, providedUserName }) => {
    requireUserOf(cx, orgId, userId)
    const name = providedUserName || externalId
    const link = parseLink(cx, orgId, { idpId, externalId, name })
    const existingLinks = linksOf(cx.store.state(cx, user, userId))
    if (existingLinks.some((each) => each.idpId === idpId && each.externalId === externalId)) {
      throw linkExistsError()
    }
    await cx.store.transact(cx, (tx) => addLink(tx, userId, { ...link, isFirst: true }))
  },
  lane: ({ userId }) => userId,
  idOf: ({ userId, idpId }) => `${userId}/${idpId}`,
  successOf: ({ userId, idpId, providedUserId, providedUserName }) => ({
    userLinks: [{ userId, idpId, externalUserId: providedUserId, displayName: providedUserName }],
  }),
})

export const machineKeyRow = itemKind({
  field: "machineKeys",
  needs: permissionsFor("user"),
  from: ({ machineKeys }) => machineKeys,
  async *read(cx, orgId) {
    for await (const userId of idsIn(cx, "machines", orgId)) {
      for (const { id: keyId, publicKey, expires } of machineKeysOf(cx, userId)) {
        yield { machineKeys: [{ keyId, userId, ...formatKey(publicKey, expires) }] }
      }
    }
  },
  write: async (cx, orgId, userInput) => {
    const { userId } = userInput
    requireUserOf(cx, orgId, userId)
    const key = parseKey(userInput)
    const keyId = parseResourceId(cx.ids, "key_id", userInput.keyId)
    requireNewKey(machineKeysOf(cx, userId), keyId)
    await addServiceKey(cx, userId, { keyId, ...key })
  },
  lane: ({ userId }) => userId,
  idOf: ({ keyId }) => keyId,
  successOf: ({ keyId }) => ({ machineKeys: [keyId] }),
})

/**
 * The data of an organization can refer only to its own users. Imported keys and links give access
 * to a user, so the rank of existing users is checked.
 */
function requireUserOf(cx: Cx, orgId: string, userId: string): void {
  const isThere = !isAbsent(cx.store.state(cx, user, userId))
  if (!isThere || cx.store.receipt(cx, user, userId)?.owner !== orgId) {
    throw new Fault("not_found", "user.missing", "user not found in this organization")
  }
  requireHigherRank(cx, userId)
}

const metadataExistsError = () =>
  new Fault("already_exists", "transfer.exists", "the user already has metadata with this key")

const linkExistsError = () =>
  new Fault("already_exists", "transfer.exists", "the user is already linked to this account")

const linkNotSupportedError = () =>
  new Fault(
    "unimplemented",
    "transfer.passkey_link",
    "an import sends no links: omit request_passwordless_registration, and send the link " +
      "with CreatePasskeyRegistrationLink after the import",
  )
