import { GroupService } from "../../../gen/core/group/v2/group_service_pb.ts"
import { AccessTokenType, Gender } from "../../../gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import type { AnyEvent, Recorded } from "../../../store/index.ts"
import { group, groupUser } from "../../group/index.ts"
import {
  type Human,
  type Machine,
  type User,
  type UserEvent,
  user,
} from "../../user-model/index.ts"
import { type Asked, type Past, type Reason, undoing } from "../undo/way.ts"
import { ask, back, given } from "./v2-undo-ask.ts"

const {
  updateUser,
  reactivateUser,
  deactivateUser,
  lockUser,
  unlockUser,
  setUserMetadata,
  deleteUserMetadata,
} = UserService.method

const genders = {
  unspecified: Gender.UNSPECIFIED,
  female: Gender.FEMALE,
  male: Gender.MALE,
  diverse: Gender.DIVERSE,
} as const

const tokenTypes = { bearer: AccessTokenType.BEARER, jwt: AccessTokenType.JWT } as const

type PastUser = Past<UserEvent, User>

function profileBack({ id: userId, before, after }: PastUser): Asked | Reason {
  if (!isHuman(before) || !isHuman(after)) return "parts"
  const { gender, ...names } = back(before.profile, after.profile)
  const profile = { ...names, ...(gender && { gender: genders[gender] }) }
  return ask(updateUser, { userId, userType: { case: "human", value: { profile } } })
}

function nameBack({ id: userId, before }: PastUser): Asked | Reason {
  if (!isHuman(before) && !isMachine(before)) return "parts"
  return ask(updateUser, { userId, username: before.userName })
}

function machineBack({ id: userId, before, after }: PastUser): Asked | Reason {
  if (!isMachine(before) || !isMachine(after)) return "parts"
  const { name, description, accessTokenType: type } = back(before, after)
  const value = given({
    name,
    description,
    accessTokenType: type && tokenTypes[type],
    accessTokenJwtType: before.jwtType === after.jwtType ? undefined : (before.jwtType ?? ""),
    accessTokenSigningAlgorithm:
      before.jwtAlgorithm === after.jwtAlgorithm ? undefined : (before.jwtAlgorithm ?? ""),
  })
  return ask(updateUser, { userId, userType: { case: "machine", value } })
}

const isHuman = (state: User): state is Human => "kind" in state && state.kind === "human"
const isMachine = (state: User): state is Machine => "kind" in state && state.kind === "machine"

/** The bytes that an event has noted; undefined where they are erased, or it has noted none. */
export function bytesIn(
  event: Recorded<AnyEvent> | undefined,
): Uint8Array<ArrayBuffer> | undefined {
  const noted = event?.private
  const value = noted && "value" in noted ? noted.value : undefined
  return typeof value === "string" ? Uint8Array.from(Buffer.from(value, "base64")) : undefined
}

export const users = undoing(user, {
  "user.human.added": "creation",
  "user.machine.added": "creation",
  "user.username.changed": nameBack,
  "user.username.released": "removal",
  "user.domain.claimed": "cascade",
  "user.human.profile.changed": profileBack,
  "user.human.email.changed": "address",
  "user.human.email.verified": "address",
  "user.human.email.code.added": "proof",
  "user.human.phone.changed": "address",
  "user.human.phone.verified": "address",
  "user.human.phone.code.added": "proof",
  "user.human.phone.removed": "address",
  "user.human.invite.code.added": "proof",
  "user.human.invite.check.succeeded": "proof",
  "user.human.code.viewed": "proof",
  "user.human.avatar.added": "file",
  "user.human.avatar.removed": "file",
  "user.human.password.changed": "proof",
  "user.human.password.code.added": "proof",
  "user.human.password.hash.updated": "proof",
  "user.machine.changed": machineBack,
  "user.machine.key.added": "secret",
  "user.machine.key.removed": "secret",
  "user.machine.secret.set": "secret",
  "user.machine.secret.removed": "secret",
  "user.pat.added": "secret",
  "user.pat.removed": "secret",
  "user.metadata.set": {
    part: ({ key }) => key,
    ask: ({ id: userId, event }, earlier) => {
      const { key } = event.data
      if (!earlier || earlier.type === "user.metadata.removed") {
        return ask(deleteUserMetadata, { userId, keys: [key] })
      }
      const value = bytesIn(earlier)
      return value ? ask(setUserMetadata, { userId, metadata: [{ key, value }] }) : "parts"
    },
  },
  "user.metadata.removed": "removal",
  "user.deactivated": ({ id: userId }) => ask(reactivateUser, { userId }),
  "user.reactivated": ({ id: userId }) => ask(deactivateUser, { userId }),
  "user.locked": ({ id: userId }) => ask(unlockUser, { userId }),
  "user.unlocked": ({ id: userId }) => ask(lockUser, { userId }),
  "user.removed": "removal",
  "user.recovery.started": "proof",
  "user.human.mfa.otp.added": "proof",
  "user.human.mfa.otp.verified": "proof",
  "user.human.mfa.otp.removed": "proof",
  "user.human.mfa.otp.email.added": "proof",
  "user.human.mfa.otp.email.removed": "proof",
  "user.human.mfa.otp.sms.added": "proof",
  "user.human.mfa.otp.sms.removed": "proof",
  "user.human.mfa.recoverycode.added": "proof",
  "user.human.mfa.recoverycode.used": "proof",
  "user.human.mfa.recoverycode.removed": "proof",
  "user.human.mfa.init.skipped": "fact",
  "user.human.mfa.u2f.token.added": "proof",
  "user.human.mfa.u2f.token.verified": "proof",
  "user.human.mfa.u2f.token.removed": "proof",
  "user.human.mfa.u2f.token.signcount.changed": "proof",
  "user.human.passwordless.token.added": "proof",
  "user.human.passwordless.token.verified": "proof",
  "user.human.passwordless.token.renamed": "proof",
  "user.human.passwordless.token.removed": "proof",
  "user.human.passwordless.token.signcount.changed": "proof",
  "user.human.passwordless.initialization.code.added": "proof",
  "user.human.passwordless.initialization.code.used": "proof",
  "user.human.externalidp.added": "proof",
  "user.human.externalidp.removed": "proof",
})

export const groups = undoing(group, {
  "group.added": "creation",
  "group.changed": ({ id, before, after }) => {
    const { name, description } = back(before, after)
    return ask(GroupService.method.updateGroup, { id, ...given({ name, description }) })
  },
  "group.removed": "removal",
})

type Pair = { readonly groupId: string; readonly userId: string }

/** Whom the event that put them in has named. */
function pairIn(event: Recorded<AnyEvent> | undefined): Pair | undefined {
  const data = event?.data
  if (!data || !("groupId" in data) || !("userId" in data)) return undefined
  const { groupId, userId } = data
  return typeof groupId === "string" && typeof userId === "string" ? { groupId, userId } : undefined
}

export const groupUsers = undoing(groupUser, {
  "group.user.added": ({ event: { data } }) =>
    ask(GroupService.method.removeUsersFromGroup, { id: data.groupId, userIds: [data.userId] }),
  "group.user.removed": {
    part: () => "",
    ask: (_, earlier) => {
      const pair = pairIn(earlier)
      if (!pair) return "parts"
      return ask(GroupService.method.addUsersToGroup, { id: pair.groupId, userIds: [pair.userId] })
    },
  },
})
