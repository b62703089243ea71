import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { type KeySchema, KeyType } from "../../../gen/core/authn/v1/key_pb.ts"
import {
  type AddMachineKeyRequest,
  ManagementService,
} from "../../../gen/core/management/v1/management_service_pb.ts"
import type { PersonalAccessTokenSchema } from "../../../gen/core/user/v1/user_pb.ts"
import { neverExpires } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import { type Cx, type Receipt, type Searchable, search } from "../../../store/index.ts"
import {
  findUserName,
  type UserKeyRow,
  type UserTokenRow,
  userKeys,
  userTokens,
} from "../../user-lookup/index.ts"
import { generateMachineSecret, removeMachineSecret } from "../machine-secret.ts"
import { createPersonalToken, removePersonalToken } from "../personal-token.ts"
import {
  addServiceKey,
  createServiceKey,
  importServiceKey,
  removeServiceKey,
} from "../service-key.ts"

/**
 * Operations on credentials of service accounts; in version 1, removing an unknown one is an error.
 */
export const managementCredentials = bindHandlers<Cx>()(ManagementService, {
  generateMachineSecret: async (req, cx) => {
    const { secret, receipt } = await generateMachineSecret(cx, req.userId)
    const clientId = findUserName(cx, req.userId) ?? ""
    return { clientId, clientSecret: secret, details: toDetails(receipt) }
  },
  removeMachineSecret: async (req, cx) =>
    removedResponse(await removeMachineSecret(cx, req.userId)),
  getMachineKeyByIDs: async (req, cx) => {
    const { rows } = await listOfUser<UserKeyRow>(cx, userKeys, { ...req, id: req.keyId })
    return { key: toKey(rows[0] ?? throwNotFound()) }
  },
  listMachineKeys: async (req, cx) => {
    const result = await listOfUser<UserKeyRow>(cx, userKeys, req)
    return { details: listDetails(cx, result.total), result: result.rows.map(toKey) }
  },
  addMachineKey: async (req, cx) => {
    return addKey(cx, req)
  },
  removeMachineKey: async (req, cx) =>
    removedResponse(await removeServiceKey(cx, req.userId, req.keyId)),
  getPersonalAccessTokenByIDs: async (req, cx) => {
    const { rows } = await listOfUser<UserTokenRow>(cx, userTokens, { ...req, id: req.tokenId })
    return { token: toToken(rows[0] ?? throwNotFound()) }
  },
  listPersonalAccessTokens: async (req, cx) => {
    const result = await listOfUser<UserTokenRow>(cx, userTokens, req)
    return { details: listDetails(cx, result.total), result: result.rows.map(toToken) }
  },
  addPersonalAccessToken: async (req, cx) => {
    const created = await createPersonalToken(cx, req.userId, expiryFrom(req.expirationDate))
    return { tokenId: created.id, token: created.token, details: toDetails(created.receipt) }
  },
  removePersonalAccessToken: async (req, cx) =>
    removedResponse(await removePersonalToken(cx, req.userId, req.tokenId)),
})

async function addKey(cx: Cx, req: AddMachineKeyRequest) {
  valueOfEnum(keyTypes, req.type)
  const { userId, publicKey } = req
  const { content, ...key } =
    publicKey.length > 0
      ? importServiceKey(cx, Buffer.from(publicKey).toString())
      : await createServiceKey(cx, userId)
  const receipt = await addServiceKey(cx, userId, {
    ...key,
    expires: expiryFrom(req.expirationDate),
  })
  return { keyId: key.keyId, keyDetails: Buffer.from(content), details: toDetails(receipt) }
}

/** The only key file format. */
const keyTypes: Readonly<Record<number, "json">> = { [KeyType.JSON]: "json" }

const expiryFrom = (date: Timestamp | undefined): number =>
  date ? timestampMs(date) : neverExpires

type ListOptions = {
  readonly userId: string
  readonly query?: Parameters<typeof parsePage>[0]
  /** ID of a single credential. */
  readonly id?: string
}

/** The access rule has already authorized the caller for this user. */
function listOfUser<Row>(cx: Cx, table: Searchable, { userId, query, id: only }: ListOptions) {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const named = only === undefined ? [] : [{ equals: table.key, value: only }]
  return search<Row>({ ...cx, scope }, table, {
    page: parsePage(query),
    filters: [{ equals: "user_id", value: userId }, ...named],
  })
}

const listDetails = (cx: Cx, total: number) => ({
  totalResult: BigInt(total),
  processedSequence: BigInt(cx.store.log.durable()),
  viewTimestamp: toTimestamp(cx.clock.now()),
})

const toKey = (row: UserKeyRow): MessageInitShape<typeof KeySchema> => ({
  id: row.key_id,
  details: toDetails({ ...row, owner: row.org }),
  type: KeyType.JSON,
  expirationDate: toTimestamp(row.expires),
})

const toToken = (row: UserTokenRow): MessageInitShape<typeof PersonalAccessTokenSchema> => ({
  id: row.id,
  details: toDetails({ ...row, owner: row.org }),
  expirationDate: toTimestamp(row.expires),
  scopes: [...row.scopes],
})

const removedResponse = (receipt: Receipt | undefined) => ({
  details: toDetails(receipt ?? throwNotFound()),
})

function throwNotFound(): never {
  throw new Fault("not_found", "user.credential_missing", "credential not found")
}
