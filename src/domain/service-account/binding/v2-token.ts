import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import type { PersonalAccessTokenSchema } from "../../../gen/core/user/v2/user_pb.ts"
import {
  type AddPersonalAccessTokenRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toDeletion, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { type UserTokenRow, userTokens } from "../../user-lookup/index.ts"
import { generateMachineSecret, removeMachineSecret } from "../machine-secret.ts"
import { createPersonalToken, removePersonalToken } from "../personal-token.ts"
import { credentialList, holderAndDates } from "./v2-key.ts"

/** Operations on secrets and personal access tokens of service accounts. */
export const v2token = bindHandlers<Cx>()(UserService, {
  addSecret: async (req, cx) => {
    const { secret, receipt } = await generateMachineSecret(cx, req.userId)
    return { clientSecret: secret, creationDate: toTimestamp(receipt.changed) }
  },
  removeSecret: async (req, cx) => toDeletion(await removeMachineSecret(cx, req.userId)),
  addPersonalAccessToken: async (req, cx) => {
    return createToken(cx, req)
  },
  removePersonalAccessToken: async (req, cx) =>
    toDeletion(await removePersonalToken(cx, req.userId, req.tokenId)),
  listPersonalAccessTokens: async (req, cx) => {
    const { rows, pagination } = await list(cx, req)
    return { pagination, result: rows }
  },
})

async function createToken(
  cx: Cx,
  { userId, expirationDate, name }: AddPersonalAccessTokenRequest,
) {
  if (!expirationDate) {
    throw new Fault(
      "invalid_argument",
      "user.token_expiration_missing",
      "expiration_date is required",
    )
  }
  const created = await createPersonalToken(cx, userId, timestampMs(expirationDate), name)
  return {
    tokenId: created.id,
    token: created.token,
    creationDate: toTimestamp(created.receipt.changed),
  }
}

const toToken = (row: UserTokenRow): MessageInitShape<typeof PersonalAccessTokenSchema> => ({
  id: row.id,
  name: row.name,
  ...holderAndDates(row),
})

const list = credentialList({ table: userTokens, idColumn: "id", toMessage: toToken })
