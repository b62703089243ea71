import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import type {
  KeySchema,
  KeysSearchFilter,
  PersonalAccessTokensSearchFilter,
} from "../../../gen/core/user/v2/user_pb.ts"
import { type AddKeyRequest, UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at, deletion } from "../../../protocol/api/answer.ts"
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

/** Keys of service users. */
export const v2key = share<Cx>()(UserService, {
  addKey: async (req, cx) => {
    return register(cx, req, await keyOf(cx, req))
  },
  removeKey: async (req, cx) => deletion(await removeServiceKey(cx, req.userId, req.keyId)),
  listKeys: async (req, cx) => {
    const { rows, pagination } = await list(cx, req)
    return { pagination, result: rows }
  },
})

const keyOf = (cx: Cx, { userId, publicKey }: AddKeyRequest): ServiceKey | Promise<ServiceKey> =>
  publicKey.length > 0
    ? importServiceKey(cx, Buffer.from(publicKey).toString())
    : createServiceKey(cx, userId)

async function register(cx: Cx, req: AddKeyRequest, { content, ...key }: ServiceKey) {
  if (!req.expirationDate) {
    throw invalidError(
      "user.key_expiration_missing",
      "say until when the key is good: expiration_date",
    )
  }
  const expires = timestampMs(req.expirationDate)
  const { changed } = await addServiceKey(cx, req.userId, { ...key, expires })
  return { creationDate: at(changed), keyId: key.keyId, keyContent: Buffer.from(content) }
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

/** The service user that has a key or a token, and when it begins and ends. */
export const holderAndDates = (row: CredentialRow) => ({
  userId: row.user_id,
  organizationId: row.org,
  creationDate: at(row.created),
  changeDate: at(row.changed),
  expirationDate: at(row.expires),
})

type List<Row, Shown> = {
  readonly table: Searchable
  /** The column of the ID of a key or a token. */
  readonly id: string
  readonly shown: (row: Row) => Shown
}

type Filters = KeysSearchFilter["filter"] | PersonalAccessTokensSearchFilter["filter"]

/** A list of keys or of tokens of service users; both number the fields to sort by alike. */
export const credentialList = <Row extends CredentialRow, Shown>({
  table,
  id,
  shown,
}: List<Row, Shown>) =>
  listOf({
    table,
    columns: ["created", "created", id, "user_id", "org", "expires"],
    filterOf: (condition: { readonly filter: Filters }) => filterBy(id, condition),
    shown,
  })

const list = credentialList({ table: userKeys, id: "key_id", shown: toKey })

function filterBy(id: string, { filter }: { readonly filter: Filters }): Filter {
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
  invalidError("user.filter_empty", "a filter is empty; say what it looks for")

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
