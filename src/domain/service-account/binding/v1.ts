import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { type KeySchema, KeyType } from "../../../gen/core/authn/v1/key_pb.ts"
import {
  type AddMachineKeyRequest,
  ManagementService,
} from "../../../gen/core/management/v1/management_service_pb.ts"
import type { PersonalAccessTokenSchema } from "../../../gen/core/user/v1/user_pb.ts"
import { never } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, details, meaning } from "../../../protocol/api/answer.ts"
import { type Cx, type Receipt, type Searchable, search } from "../../../store/index.ts"
import {
  type UserKeyRow,
  type UserTokenRow,
  userKeys,
  userNameOf,
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

/** What service users prove themselves with; v1 says where nothing was to be removed. */
export const managementCredentials = share<Cx>()(ManagementService, {
  generateMachineSecret: async (req, cx) => {
    const { secret, receipt } = await generateMachineSecret(cx, req.userId)
    const clientId = userNameOf(cx, req.userId) ?? ""
    return { clientId, clientSecret: secret, details: details(receipt) }
  },
  removeMachineSecret: async (req, cx) => removed(await removeMachineSecret(cx, req.userId)),
  getMachineKeyByIDs: async (req, cx) => {
    const { rows } = await ofUser<UserKeyRow>(cx, userKeys, { ...req, only: req.keyId })
    return { key: toKey(rows[0] ?? missing()) }
  },
  listMachineKeys: async (req, cx) => {
    const found = await ofUser<UserKeyRow>(cx, userKeys, req)
    return { details: listDetails(cx, found.total), result: found.rows.map(toKey) }
  },
  addMachineKey: async (req, cx) => {
    return addKey(cx, req)
  },
  removeMachineKey: async (req, cx) => removed(await removeServiceKey(cx, req.userId, req.keyId)),
  getPersonalAccessTokenByIDs: async (req, cx) => {
    const { rows } = await ofUser<UserTokenRow>(cx, userTokens, { ...req, only: req.tokenId })
    return { token: toToken(rows[0] ?? missing()) }
  },
  listPersonalAccessTokens: async (req, cx) => {
    const found = await ofUser<UserTokenRow>(cx, userTokens, req)
    return { details: listDetails(cx, found.total), result: found.rows.map(toToken) }
  },
  addPersonalAccessToken: async (req, cx) => {
    const made = await createPersonalToken(cx, req.userId, endOf(req.expirationDate))
    return { tokenId: made.id, token: made.token, details: details(made.receipt) }
  },
  removePersonalAccessToken: async (req, cx) =>
    removed(await removePersonalToken(cx, req.userId, req.tokenId)),
})

async function addKey(cx: Cx, req: AddMachineKeyRequest) {
  meaning(keyTypes, req.type)
  const { userId, publicKey } = req
  const { content, ...key } =
    publicKey.length > 0
      ? importServiceKey(cx, Buffer.from(publicKey).toString())
      : await createServiceKey(cx, userId)
  const receipt = await addServiceKey(cx, userId, { ...key, expires: endOf(req.expirationDate) })
  return { keyId: key.keyId, keyDetails: Buffer.from(content), details: details(receipt) }
}

/** There is one form of key file. */
const keyTypes: Readonly<Record<number, "json">> = { [KeyType.JSON]: "json" }

const endOf = (date: Timestamp | undefined): number => (date ? timestampMs(date) : never)

type Asked = {
  readonly userId: string
  readonly query?: Parameters<typeof pageOf>[0]
  /** The id of the one that is wanted. */
  readonly only?: string
}

/** The rule has let the caller see all that this one user has. */
function ofUser<Row>(cx: Cx, what: Searchable, { userId, query, only }: Asked) {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const named = only === undefined ? [] : [{ equals: what.key, value: only }]
  return search<Row>({ ...cx, scope }, what, {
    page: pageOf(query),
    filters: [{ equals: "user_id", value: userId }, ...named],
  })
}

const listDetails = (cx: Cx, total: number) => ({
  totalResult: BigInt(total),
  processedSequence: BigInt(cx.store.log.durable()),
  viewTimestamp: at(cx.clock.now()),
})

const toKey = (row: UserKeyRow): MessageInitShape<typeof KeySchema> => ({
  id: row.key_id,
  details: details({ ...row, owner: row.org }),
  type: KeyType.JSON,
  expirationDate: at(row.expires),
})

const toToken = (row: UserTokenRow): MessageInitShape<typeof PersonalAccessTokenSchema> => ({
  id: row.id,
  details: details({ ...row, owner: row.org }),
  expirationDate: at(row.expires),
  scopes: [...row.scopes],
})

const removed = (receipt: Receipt | undefined) => ({ details: details(receipt ?? missing()) })

function missing(): never {
  throw new Fault(
    "not_found",
    "user.credential_missing",
    "there is no such credential of this user",
  )
}
