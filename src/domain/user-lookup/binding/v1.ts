import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import {
  AccessTokenType,
  Gender,
  type UserSchema,
  UserState,
} from "../../../gen/core/user/v1/user_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { toDetails, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { avatarUrl, canRename } from "../../user/index.ts"
import { displayNames } from "../find-name.ts"
import { requireUserRow } from "../query.ts"
import type { UserRow } from "../view.ts"

export const management = bindHandlers<Cx>()(ManagementService, {
  getUserByID: (req, cx) => ({ user: toUser(cx, requireUserRow(cx, req.id)) }),
})

export const auth = bindHandlers<Cx>()(AuthService, {
  getMyUser: (_, cx) => {
    const row = requireUserRow(cx, requireUserId(cx))
    return { user: toUser(cx, row), canRename: canRename(cx, row.org) }
  },
})

export const toUser = (cx: Cx, row: UserRow): MessageInitShape<typeof UserSchema> => ({
  id: row.id,
  details: toDetails({ ...row, owner: row.org }),
  state: stateMessages[row.status],
  userName: row.user_name,
  ...displayNames(cx, row),
  type:
    row.kind === "human"
      ? { case: "human", value: toHuman(cx, row) }
      : { case: "machine", value: toMachine(row) },
})

export const toHuman = (cx: Cx, row: UserRow) => ({
  profile: {
    firstName: row.given_name,
    lastName: row.family_name,
    nickName: row.nick_name,
    displayName: row.display_name,
    preferredLanguage: row.preferred_language,
    gender: genderMessages[row.gender],
    avatarUrl: avatarUrl(cx, row.id),
  },
  email: { email: row.email, isEmailVerified: row.email_verified },
  ...(row.phone ? { phone: { phone: row.phone, isPhoneVerified: row.phone_verified } } : {}),
  ...(row.password_changed ? { passwordChanged: toTimestamp(row.password_changed) } : {}),
})

const toMachine = (row: UserRow) => ({
  name: row.display_name,
  description: row.description,
  hasSecret: row.has_secret,
  accessTokenType: row.token_type === "jwt" ? AccessTokenType.JWT : AccessTokenType.BEARER,
})

const stateMessages = {
  active: UserState.ACTIVE,
  inactive: UserState.INACTIVE,
  locked: UserState.LOCKED,
} as const

const genderMessages = {
  unspecified: Gender.UNSPECIFIED,
  female: Gender.FEMALE,
  male: Gender.MALE,
  diverse: Gender.DIVERSE,
} as const
