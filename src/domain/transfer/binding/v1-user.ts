import type { ImportHumanUserRequest } from "../../../gen/core/management/v1/data_pb.ts"
import { AccessTokenType, Gender, UserState } from "../../../gen/core/user/v1/user_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { givenId } from "../../../kernel/text/given.ts"
import { meaning } from "../../../protocol/api/answer.ts"
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
  heldMetadata,
  importUser,
  jwtFormatFields,
  jwtFormatOf,
  lockUser,
  mustOutrank,
  type NewHuman,
  setMetadata,
} from "../../user/index.ts"
import { addLink, checkLink, type External } from "../../user-link/index.ts"
import { genders, type Human, hasLeft, linksOf, type User, user } from "../../user-model/index.ts"
import { idsIn, machineKeysOf } from "../list.ts"
import type { Carried } from "../model.ts"
import { keyOf, mustNotHave, readKey } from "./v1-app.ts"
import { emptyError } from "./v1-project.ts"
import { needs, row } from "./v1-row.ts"

const states = {
  active: UserState.ACTIVE,
  inactive: UserState.INACTIVE,
  locked: UserState.LOCKED,
} as const

/** Who was only begun elsewhere is active here: there is no such state, and nobody can sign in. */
const wanted = {
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

const person = (cx: Cx, id: string): Human | undefined => {
  const state = cx.store.state(cx, user, id)
  return !hasLeft(state) && state.kind === "human" ? state : undefined
}

export const humanRow = row({
  field: "humanUsers",
  needs: needs("user", "user.credential.write"),
  from: ({ humanUsers }) => humanUsers,
  async *read(cx, orgId, carried) {
    for await (const userId of idsIn(cx, "people", orgId)) {
      const state = person(cx, userId)
      if (!state) continue
      const factors = secondFactorsOf(state)
      const ours = {
        otpSms: factors.includes("otp_sms"),
        otpEmail: factors.includes("otp_email"),
      }
      const told = { ...shownPerson(state), ...carriedOf(cx, userId, { state, carried }) }
      yield { humanUsers: [{ userId, user: told, state: states[state.status], ...ours }] }
    }
  },
  write: async (cx, orgId, { userId, user: given, state, otpSms, otpEmail }) => {
    if (!given) throw emptyError("user")
    const id = givenId(cx.ids, "user_id", userId)
    const input = await newPerson(cx, orgId, given)
    await cx.store.transact(cx, (tx) => {
      importUser(tx, id, input)
      if (given.otpCode !== "") importTotp(tx, id, given.otpCode)
      if (otpSms) addOtp.within(tx, id, "sms")
      if (otpEmail) addOtp.within(tx, id, "email")
      if (given.recoveryCodes.length > 0) importRecoveryCodes(tx, id, recoveryCodes(given))
      turn(tx, id, meaning<User["status"]>(wanted, state))
    })
  },
  lane: ({ userId }) => userId,
  idOf: ({ userId, user: given }) => userId || given?.userName || "",
  taken: ({ userId }) => ({ humanUserIds: [userId] }),
})

const shownPerson = ({ userName, profile, email, phone }: Human) => {
  const { givenName: firstName, familyName: lastName, gender, ...names } = profile
  return {
    userName,
    profile: { ...names, firstName, lastName, gender: genderNumbers[gender] },
    email: { email: email.address, isEmailVerified: email.verified },
    ...(phone && { phone: { phone: phone.number, isPhoneVerified: phone.verified } }),
  }
}

/** What somebody signs in with, as far as it is asked for. */
function carriedOf(
  cx: Cx,
  userId: string,
  { state: { password }, carried }: { readonly state: Human; readonly carried: Carried },
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

async function newPerson(cx: Cx, orgId: string, given: ImportHumanUserRequest): Promise<NewHuman> {
  const { userName, profile, email, phone } = given
  if (!profile) throw emptyError("profile")
  if (!email) throw emptyError("e-mail address")
  if (given.requestPasswordlessRegistration) throw registrationError()
  const { firstName: givenName, lastName: familyName, gender, ...names } = profile
  return {
    kind: "human",
    orgId,
    userName,
    profile: { ...names, givenName, familyName, gender: meaning(genders, gender) },
    email: { value: email.email, verified: email.isEmailVerified },
    ...(phone?.phone && { phone: { value: phone.phone, verified: phone.isPhoneVerified } }),
    password: await passwordIn(cx, orgId, given),
    links: given.idps.map(({ configId, externalUserId, displayName }) =>
      checkedLink(cx, orgId, {
        idpId: configId,
        externalId: externalUserId,
        name: displayName || externalUserId,
      }),
    ),
  }
}

async function passwordIn(
  cx: Cx,
  orgId: string,
  { password, hashedPassword, passwordChangeRequired: changeRequired, ...given }: Passwords,
): Promise<NewPassword | undefined> {
  if (hashedPassword?.value) return importPassword(hashedPassword.value, changeRequired)
  if (password === "") return undefined
  const names = [given.userName, given.email?.email ?? ""]
  return firstPasswordIn(cx, orgId, password, { names, changeRequired })
}

type Passwords = Pick<
  ImportHumanUserRequest,
  "password" | "hashedPassword" | "passwordChangeRequired" | "userName" | "email"
>

const recoveryCodes = ({ recoveryCodes: given }: ImportHumanUserRequest): readonly string[] =>
  given.map(({ codeType }) => {
    if (codeType.case === "raw") return codeType.value
    throw new Fault(
      "invalid_argument",
      "transfer.recovery_code_hashed",
      "recovery codes can be taken over as they are, not as hashes; leave them out",
    )
  })

function turn(tx: Transaction, id: string, status: User["status"]): void {
  if (status === "inactive") deactivateUser.within(tx, id)
  if (status === "locked") lockUser.within(tx, id)
}

function checkedLink(cx: Cx, orgId: string, link: External): External {
  checkLink(cx, orgId, link)
  return link
}

export const machineRow = row({
  field: "machineUsers",
  needs: needs("user"),
  from: ({ machineUsers }) => machineUsers,
  async *read(cx, orgId) {
    for await (const userId of idsIn(cx, "machines", orgId)) {
      const state = cx.store.state(cx, user, userId)
      if (hasLeft(state) || state.kind !== "machine") continue
      const { userName, name, description } = state
      const isJwt = state.accessTokenType === "jwt"
      const accessTokenType = isJwt ? AccessTokenType.JWT : AccessTokenType.BEARER
      const told = { userName, name, description, accessTokenType, ...jwtFormatFields(state) }
      yield { machineUsers: [{ userId, user: told, state: states[state.status] }] }
    }
  },
  write: async (cx, orgId, { userId, user: given, state }) => {
    if (!given) throw emptyError("user")
    const id = givenId(cx.ids, "user_id", userId || given.userId)
    const { userName, name, description } = given
    const accessTokenType = meaning(["bearer", "jwt"] as const, given.accessTokenType)
    const jwtFormat = jwtFormatOf(given)
    const machine = { name, description, accessTokenType, jwtFormat }
    const input = { kind: "machine", orgId, userName, ...machine } as const
    await cx.store.transact(cx, (tx) => {
      importUser(tx, id, input)
      turn(tx, id, meaning<User["status"]>(wanted, state))
    })
  },
  lane: ({ userId }) => userId,
  idOf: ({ userId, user: given }) => userId || given?.userName || "",
  taken: ({ userId }) => ({ machineUserIds: [userId] }),
})

export const metadataRow = row({
  field: "userMetadata",
  needs: needs("user"),
  from: ({ userMetadata }) => userMetadata,
  async *read(cx, orgId) {
    for (const list of ["people", "machines"] as const) {
      for await (const id of idsIn(cx, list, orgId)) {
        for (const [key, value] of heldMetadata(cx, id)) {
          yield { userMetadata: [{ id, key, value: new Uint8Array(value) }] }
        }
      }
    }
  },
  write: async (cx, orgId, { id, key, value }) => {
    mustBeOf(cx, orgId, id)
    if (heldMetadata(cx, id).has(key)) throw notedError()
    await setMetadata(cx, id, [{ key, value }])
  },
  lane: ({ id }) => id,
  idOf: ({ id, key }) => `${id}/${key}`,
  taken: ({ id, key }) => ({ userMetadata: [{ userId: id, key }] }),
})

export const linkRow = row({
  field: "userLinks",
  needs: needs("user", "user.credential.write"),
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
    mustBeOf(cx, orgId, userId)
    const name = providedUserName || externalId
    const link = checkedLink(cx, orgId, { idpId, externalId, name })
    const held = linksOf(cx.store.state(cx, user, userId))
    if (held.some((each) => each.idpId === idpId && each.externalId === externalId)) {
      throw linkedError()
    }
    await cx.store.transact(cx, (tx) => addLink(tx, userId, { ...link, isFirst: true }))
  },
  lane: ({ userId }) => userId,
  idOf: ({ userId, idpId }) => `${userId}/${idpId}`,
  taken: ({ userId, idpId, providedUserId, providedUserName }) => ({
    userLinks: [{ userId, idpId, externalUserId: providedUserId, displayName: providedUserName }],
  }),
})

export const machineKeyRow = row({
  field: "machineKeys",
  needs: needs("user"),
  from: ({ machineKeys }) => machineKeys,
  async *read(cx, orgId) {
    for await (const userId of idsIn(cx, "machines", orgId)) {
      for (const { id: keyId, publicKey, expires } of machineKeysOf(cx, userId)) {
        yield { machineKeys: [{ keyId, userId, ...keyOf(publicKey, expires) }] }
      }
    }
  },
  write: async (cx, orgId, given) => {
    const { userId } = given
    mustBeOf(cx, orgId, userId)
    const key = readKey(given)
    const keyId = givenId(cx.ids, "key_id", given.keyId)
    mustNotHave(machineKeysOf(cx, userId), keyId)
    await addServiceKey(cx, userId, { keyId, ...key })
  },
  lane: ({ userId }) => userId,
  idOf: ({ keyId }) => keyId,
  taken: ({ keyId }) => ({ machineKeys: [keyId] }),
})

/**
 * What stands in an organisation's data is said of its own users, and of nobody else's. They may
 * have been there before: a key or a link of theirs is a way to act as them.
 */
function mustBeOf(cx: Cx, orgId: string, userId: string): void {
  const isThere = !hasLeft(cx.store.state(cx, user, userId))
  if (!isThere || cx.store.receipt(cx, user, userId)?.owner !== orgId) {
    throw new Fault("not_found", "user.missing", "the organisation has no such user")
  }
  mustOutrank(cx, userId)
}

const notedError = () =>
  new Fault("already_exists", "transfer.exists", "the user has metadata with this key already")

const linkedError = () =>
  new Fault("already_exists", "transfer.exists", "the user is linked to this account already")

const registrationError = () =>
  new Fault(
    "unimplemented",
    "transfer.passkey_link",
    "an import sends no links: leave request_passwordless_registration out, and send the link " +
      "with CreatePasskeyRegistrationLink once the person is there",
  )
