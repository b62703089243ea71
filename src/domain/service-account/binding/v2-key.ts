import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { TimestampFilterMethod } from "../../../gen/core/filter/v2/filter_pb.ts"
import {
  KeyFieldName,
  type KeySchema,
  type KeysSearchFilter,
} from "../../../gen/core/user/v2/user_pb.ts"
import { type AddKeyRequest, UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { type Found, pageOf } from "../../../kernel/page.ts"
import { at, meaning } from "../../../protocol/api/answer.ts"
import { type Cx, type Filter, type Receipt, search } from "../../../store/index.ts"
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
  removeKey: async (req, cx) => ended(await removeServiceKey(cx, req.userId, req.keyId)),
  listKeys: async (req, cx) =>
    listed(
      await search(cx, userKeys, {
        page: pageOf(req.pagination),
        sort: meaning(columns, req.sortingColumn ?? KeyFieldName.UNSPECIFIED),
        filters: req.filters.map(condition),
      }),
    ),
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

/** Without a date where there was nothing to end. */
export const ended = (receipt: Receipt | undefined) =>
  receipt ? { deletionDate: at(receipt.changed) } : {}

const listed = (found: Found<UserKeyRow>) => ({
  pagination: { totalResult: BigInt(found.total), appliedLimit: BigInt(found.limit) },
  result: found.rows.map(toKey),
})

const toKey = (row: UserKeyRow): MessageInitShape<typeof KeySchema> => ({
  id: row.key_id,
  userId: row.user_id,
  organizationId: row.org,
  creationDate: at(row.created),
  changeDate: at(row.changed),
  expirationDate: at(row.expires),
})

const columns: Readonly<Record<number, string>> = {
  [KeyFieldName.UNSPECIFIED]: "created",
  [KeyFieldName.CREATED_DATE]: "created",
  [KeyFieldName.ID]: "key_id",
  [KeyFieldName.USER_ID]: "user_id",
  [KeyFieldName.ORGANIZATION_ID]: "org",
  [KeyFieldName.KEY_EXPIRATION_DATE]: "expires",
}

function condition({ filter }: KeysSearchFilter): Filter {
  switch (filter.case) {
    case "keyIdFilter":
      return { equals: "key_id", value: filter.value.id }
    case "userIdFilter":
      return { equals: "user_id", value: filter.value.id }
    case "organizationIdFilter":
      return { equals: "org", value: filter.value.id }
    case "createdDateFilter":
      return moment("created", filter.value)
    case "expirationDateFilter":
      return moment("expires", filter.value)
    case undefined:
      throw emptyFilter()
  }
}

export function moment(
  column: string,
  { timestamp, method }: { timestamp?: Timestamp | undefined; method: TimestampFilterMethod },
): Filter {
  if (!timestamp) throw emptyFilter()
  const value = timestampMs(timestamp)
  const by = meaning(comparisons, method)
  return by === "=" ? { equals: column, value } : { compare: column, by, value }
}

const comparisons: Readonly<Record<number, "=" | "<" | "<=" | ">" | ">=">> = {
  [TimestampFilterMethod.EQUALS]: "=",
  [TimestampFilterMethod.AFTER]: ">",
  [TimestampFilterMethod.AFTER_OR_EQUALS]: ">=",
  [TimestampFilterMethod.BEFORE]: "<",
  [TimestampFilterMethod.BEFORE_OR_EQUALS]: "<=",
}

export const emptyFilter = () =>
  invalidError("user.filter_empty", "a filter is empty; say what it looks for")

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
