import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import {
  PersonalAccessTokenFieldName,
  type PersonalAccessTokenSchema,
  type PersonalAccessTokensSearchFilter,
} from "../../../gen/core/user/v2/user_pb.ts"
import {
  type AddPersonalAccessTokenRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at, deletion } from "../../../protocol/api/answer.ts"
import type { Cx, Filter } from "../../../store/index.ts"
import { listOf, timeFilter } from "../../family/api.ts"
import { type UserTokenRow, userTokens } from "../../user-lookup/index.ts"
import { generateMachineSecret, removeMachineSecret } from "../machine-secret.ts"
import { createPersonalToken, removePersonalToken } from "../personal-token.ts"
import { emptyFilter } from "./v2-key.ts"

/** Secrets and personal access tokens of service users. */
export const v2token = share<Cx>()(UserService, {
  addSecret: async (req, cx) => {
    const { secret, receipt } = await generateMachineSecret(cx, req.userId)
    return { clientSecret: secret, creationDate: at(receipt.changed) }
  },
  removeSecret: async (req, cx) => deletion(await removeMachineSecret(cx, req.userId)),
  addPersonalAccessToken: async (req, cx) => {
    return create(cx, req)
  },
  removePersonalAccessToken: async (req, cx) =>
    deletion(await removePersonalToken(cx, req.userId, req.tokenId)),
  listPersonalAccessTokens: async (req, cx) => {
    const { rows, pagination } = await list(cx, req)
    return { pagination, result: rows }
  },
})

async function create(cx: Cx, { userId, expirationDate, name }: AddPersonalAccessTokenRequest) {
  if (!expirationDate) {
    throw new Fault(
      "invalid_argument",
      "user.token_expiration_missing",
      "say until when the token is good: expiration_date",
    )
  }
  const made = await createPersonalToken(cx, userId, timestampMs(expirationDate), name)
  return { tokenId: made.id, token: made.token, creationDate: at(made.receipt.changed) }
}

const toToken = (row: UserTokenRow): MessageInitShape<typeof PersonalAccessTokenSchema> => ({
  id: row.id,
  name: row.name,
  userId: row.user_id,
  organizationId: row.org,
  creationDate: at(row.created),
  changeDate: at(row.changed),
  expirationDate: at(row.expires),
})

const columns: Readonly<Record<number, string>> = {
  [PersonalAccessTokenFieldName.UNSPECIFIED]: "created",
  [PersonalAccessTokenFieldName.CREATED_DATE]: "created",
  [PersonalAccessTokenFieldName.ID]: "id",
  [PersonalAccessTokenFieldName.USER_ID]: "user_id",
  [PersonalAccessTokenFieldName.ORGANIZATION_ID]: "org",
  [PersonalAccessTokenFieldName.EXPIRATION_DATE]: "expires",
}

const list = listOf({ table: userTokens, columns, filterOf: condition, shown: toToken })

function condition({ filter }: PersonalAccessTokensSearchFilter): Filter {
  switch (filter.case) {
    case "tokenIdFilter":
      return { equals: "id", value: filter.value.id }
    case "userIdFilter":
      return { equals: "user_id", value: filter.value.id }
    case "organizationIdFilter":
      return { equals: "org", value: filter.value.id }
    case "createdDateFilter":
      return timeFilter("created", filter.value, emptyFilter)
    case "expirationDateFilter":
      return timeFilter("expires", filter.value, emptyFilter)
    case undefined:
      throw emptyFilter()
  }
}
