import { timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import {
  PublicKeyFieldName,
  type PublicKeySearchFilter,
} from "../../../gen/core/action/v2/target_pb.ts"
import { TimestampFilterMethod } from "../../../gen/core/filter/v2/filter_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import {
  filterMissingError,
  toDeletion,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, paginate } from "../../../store/index.ts"
import { requireExists } from "../commands.ts"
import { type PublicKey, target } from "../model.ts"
import { addPublicKey, removePublicKey, setPublicKeyActive } from "../public-key.ts"

export const v2 = bindHandlers<Cx>()(ActionService, {
  addPublicKey: async ({ targetId, publicKey: bytes, expirationDate }, cx) => {
    const expires = expirationDate ? timestampMs(expirationDate) : 0
    const { keyId, created } = await addPublicKey(cx, targetId, { bytes, expires })
    return { keyId, creationDate: toTimestamp(created) }
  },
  activatePublicKey: async ({ targetId, keyId }, cx) => ({
    changeDate: toTimestamp(await setPublicKeyActive(cx, targetId, { keyId, active: true })),
  }),
  deactivatePublicKey: async ({ targetId, keyId }, cx) => ({
    changeDate: toTimestamp(await setPublicKeyActive(cx, targetId, { keyId, active: false })),
  }),
  removePublicKey: async ({ targetId, keyId }, cx) =>
    toDeletion(await removePublicKey(cx, targetId, keyId)),
  listPublicKeys: ({ targetId, sortingColumn, filters, ...req }, cx) => {
    const state = cx.store.state(cx, target, targetId)
    requireExists(state)
    const sort = valueOfEnum(columns, sortingColumn)
    const fitting = filters.map(filterOf)
    const rows = Object.entries(state.keys)
      .map(([keyId, key]) => ({ keyId, ...key }))
      .filter((row) => fitting.every((fits) => fits(row)))
    const found = paginate(cx, rows, {
      page: parsePage(req.pagination),
      requested: ["target_keys", targetId, sort, filters.map(({ filter }) => filter)],
      by: (row) => [row[sort], row.keyId],
    })
    return { pagination: toPagination(found), publicKeys: found.rows.map(toKey) }
  },
})

type Row = PublicKey & { readonly keyId: string }

const columns = {
  [PublicKeyFieldName.UNSPECIFIED]: "created",
  [PublicKeyFieldName.CREATION_DATE]: "created",
  [PublicKeyFieldName.CHANGE_DATE]: "changed",
  [PublicKeyFieldName.EXPIRATION_DATE]: "expires",
} as const

const toKey = ({ keyId, active, pem, fingerprint, expires, created, changed }: Row) => ({
  keyId,
  active,
  fingerprint,
  publicKey: new Uint8Array(Buffer.from(pem)),
  ...(expires !== 0 && { expirationDate: toTimestamp(expires) }),
  creationDate: toTimestamp(created),
  changeDate: toTimestamp(changed),
})

function filterOf({ filter }: PublicKeySearchFilter): (row: Row) => boolean {
  switch (filter.case) {
    case "keyIdsFilter": {
      const { ids } = filter.value
      return ({ keyId }) => ids.includes(keyId)
    }
    case "activeFilter": {
      const isActive = filter.value
      return ({ active }) => active === isActive
    }
    case "expirationDateFilter": {
      const { timestamp, method } = filter.value
      const time = timestamp ? timestampMs(timestamp) : 0
      const compare = valueOfEnum(comparisons, method)
      return ({ expires }) => expires !== 0 && compare(expires, time)
    }
    default:
      throw filterMissingError()
  }
}

const comparisons = {
  [TimestampFilterMethod.EQUALS]: (a: number, b: number) => a === b,
  [TimestampFilterMethod.AFTER]: (a: number, b: number) => a > b,
  [TimestampFilterMethod.AFTER_OR_EQUALS]: (a: number, b: number) => a >= b,
  [TimestampFilterMethod.BEFORE]: (a: number, b: number) => a < b,
  [TimestampFilterMethod.BEFORE_OR_EQUALS]: (a: number, b: number) => a <= b,
} as const
