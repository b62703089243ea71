import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import type {
  KeySchema,
  KeysSearchFilter,
  PersonalAccessTokensSearchFilter,
} from "../../../gen/core/user/v2/user_pb.ts"
import { type AddKeyRequest, UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toDeletion, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx, Filter, Searchable } from "../../../store/index.ts"
import { listOf, timeFilter } from "../../family/api.ts"
import { type UserKeyRow, userKeys } from "../../user-lookup/index.ts"
import {
  addServiceKey,
  createServiceKey,
  importServiceKey,
  removeServiceKey,
  type ServiceKey,
} from "../service-key.ts"

/** Operations on keys of service accounts. */
export const v2key = bindHandlers<Cx>()(UserService, {
  addKey: async (req, cx) => {
    return registerKey(cx, req, await serviceKeyFrom(cx, req))
  },
  removeKey: async (req, cx) => toDeletion(await removeServiceKey(cx, req.userId, req.keyId)),
  listKeys: async (req, cx) => {
    const { rows, pagination } = await list(cx, req)
    return { pagination, result: rows }
  },
})

const serviceKeyFrom = (
  cx: Cx,
  { userId, publicKey }: AddKeyRequest,
): ServiceKey | Promise<ServiceKey> =>
  publicKey.length > 0
    ? importServiceKey(cx, Buffer.from(publicKey).toString())
    : createServiceKey(cx, userId)

async function registerKey(cx: Cx, req: AddKeyRequest, { content, ...key }: ServiceKey) {
  if (!req.expirationDate) {
    throw invalidError("user.key_expiration_missing", "expiration_date is required")
  }
  const expires = timestampMs(req.expirationDate)
  const { changed } = await addServiceKey(cx, req.userId, { ...key, expires })
  return { creationDate: toTimestamp(changed), keyId: key.keyId, keyContent: Buffer.from(content) }
}

const toKey = (row: UserKeyRow): MessageInitShape<typeof KeySchema> => ({
  id: row.key_id,
  ...holderAndDates(row),
})

type CredentialRow = {
  readonly user_id: string
  readonly org: string
  readonly created: number
  readonly changed: number
  readonly expires: number
}

/** The service account and the times of a key or token. */
export const holderAndDates = (row: CredentialRow) => ({
  userId: row.user_id,
  organizationId: row.org,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  expirationDate: toTimestamp(row.expires),
})

type ListOptions<Row, Resource> = {
  readonly table: Searchable
  /** Column with the ID of the key or token. */
  readonly idColumn: string
  readonly toMessage: (row: Row) => Resource
}

type Filters = KeysSearchFilter["filter"] | PersonalAccessTokensSearchFilter["filter"]

/** Lists keys or tokens of service accounts; both have the same sort fields. */
export const credentialList = <Row extends CredentialRow, Resource>({
  table,
  idColumn: id,
  toMessage: shown,
}: ListOptions<Row, Resource>) =>
  listOf({
    table,
    columns: ["created", "created", id, "user_id", "org", "expires"],
    filterOf: (condition: { readonly filter: Filters }) => toFilter(id, condition),
    shown,
  })

const list = credentialList({ table: userKeys, idColumn: "key_id", toMessage: toKey })

function toFilter(id: string, { filter }: { readonly filter: Filters }): Filter {
  switch (filter.case) {
    case "keyIdFilter":
    case "tokenIdFilter":
      return { equals: id, value: filter.value.id }
    case "userIdFilter":
      return { equals: "user_id", value: filter.value.id }
    case "organizationIdFilter":
      return { equals: "org", value: filter.value.id }
    case "createdDateFilter":
      return timeFilter("created", filter.value, emptyFilterError)
    case "expirationDateFilter":
      return timeFilter("expires", filter.value, emptyFilterError)
    case undefined:
      throw emptyFilterError()
  }
}

const emptyFilterError = () =>
  invalidError("user.filter_empty", "a filter is empty; set one of its fields")

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
