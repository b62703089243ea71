import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import type { PersonalAccessTokenSchema } from "../../../gen/core/user/v2/user_pb.ts"
import {
  type AddPersonalAccessTokenRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at, deletion } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { type UserTokenRow, userTokens } from "../../user-lookup/index.ts"
import { generateMachineSecret, removeMachineSecret } from "../machine-secret.ts"
import { createPersonalToken, removePersonalToken } from "../personal-token.ts"
import { credentialList, holderAndDates } from "./v2-key.ts"

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
  ...holderAndDates(row),
})

const list = credentialList({ table: userTokens, id: "id", shown: toToken })
